//! Reads sections: every key checked against its declaration, nothing ignored.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::document::{Document, Item, Location, Node, Table, element_names};
use farloop_cc::Catalog;
use farloop_units::{Kind, ParamError, ParamSpec, ParamType, Params, Value};

/// A table of a scenario, or the place where one could be.
pub(crate) struct Section<'d> {
    pub document: &'d Document,
    /// The algorithms and presets that names mean.
    pub catalog: &'d Catalog,
    /// Dotted path, for messages; empty for the top level.
    pub path: String,
    pub place: Location,
    pub table: Option<&'d Table>,
}

impl<'d> Section<'d> {
    /// The top level.
    pub fn root(document: &'d Document, catalog: &'d Catalog) -> Section<'d> {
        Section { document, catalog, path: String::new(), place: Location::Text(0), table: Some(&document.root) }
    }

    /// The table `[name]`; an error where `name` is no table.
    pub fn section(&self, name: &str) -> Result<Section<'d>, Diagnostic> {
        let path = self.key(name);
        let Some(entry) = self.table.and_then(|t| t.get(name)) else {
            return Ok(Section { path, table: None, ..*self });
        };
        match &entry.item.node {
            Node::Table(table) => Ok(Section { path, place: entry.place, table: Some(table), ..*self }),
            other => {
                let problem = format!("is {}", other.describe());
                Err(self.document.diagnostic(entry.place, &path, problem, format!("expected a table: [{path}]")))
            }
        }
    }

    /// The tables `[[name]]`, each with its name.
    pub fn sections(&self, name: &str) -> Result<Vec<(String, Section<'d>)>, Diagnostic> {
        let Some(entry) = self.table.and_then(|t| t.get(name)) else { return Ok(Vec::new()) };
        let path = self.key(name);
        let wrong = |item: &Item| {
            let problem = format!("is {}", item.node.describe());
            // In an element of a list TOML names both lists, and not the element.
            let list = self.path.split_once('.').map_or(name.to_string(), |(outer, _)| format!("{outer}.{name}"));
            self.document.diagnostic(item.place, &path, problem, format!("expected tables: [[{list}]]"))
        };
        let Node::List(elements) = &entry.item.node else { return Err(wrong(&entry.item)) };
        let read = |(element_name, element): (String, &'d Item)| match &element.node {
            Node::Table(table) => {
                let path = format!("{path}.{element_name}");
                let section = Section { path, place: element.place, table: Some(table), ..*self };
                Ok((element_name, section))
            }
            _ => Err(wrong(element)),
        };
        element_names(name, elements).into_iter().zip(elements).map(read).collect()
    }

    /// Returns true if `name` is a list, such as tables `[[name]]`.
    pub fn is_list(&self, name: &str) -> bool {
        self.table.and_then(|t| t.get(name)).is_some_and(|entry| matches!(entry.item.node, Node::List(_)))
    }

    /// The dotted path of `key` in this section.
    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) }
    }

    /// A diagnostic about `key`: where its value was written, else where the section begins.
    pub fn diagnostic(&self, key: &str, problem: impl Into<String>, expected: impl Into<String>) -> Diagnostic {
        let place = self.table.and_then(|t| t.get(key)).map_or(self.place, |e| e.item.place);
        self.document.diagnostic(place, &self.key(key), problem, expected)
    }

    /// Returns true if the file has the section.
    pub fn is_written(&self) -> bool {
        self.table.is_some()
    }

    /// Reads the keys of `P`. `required` must be there; `elsewhere` are keys of the same table that are read on their own.
    pub fn read<P: Params>(&self, required: &[&str], elsewhere: &[&str]) -> Result<P, Diagnostic> {
        self.read_onto(P::default(), required, elsewhere)
    }

    /// As [`Section::read`]; keys that are not written keep their values in `params`.
    pub fn read_onto<P: Params>(&self, mut params: P, required: &[&str], elsewhere: &[&str]) -> Result<P, Diagnostic> {
        let specs = P::spec_table();
        self.check_keys(specs.iter().map(|s| &*s.name).chain(elsewhere.iter().copied()))?;
        for (spec, item) in self.written_values(specs) {
            // What must be there can be declared as optional, but "none" will not do.
            let no_none = |d: Diagnostic| match required.contains(&&*spec.name) {
                true => Diagnostic { expected: d.expected.replace(", or \"none\"", ""), ..d },
                false => d,
            };
            self.set(spec, item, |value| params.set(&spec.name, value)).map_err(no_none)?;
        }
        for name in required {
            if params.get(name).flatten().is_none() {
                let spec = specs.iter().find(|s| s.name == *name);
                let expected =
                    spec.map_or_else(String::new, |s| format!("expected {}: {}", describe_accepted(s), s.doc));
                let written = self.table.is_some_and(|t| t.get(name).is_some());
                let problem = if written { "\"none\" is not accepted" } else { "missing" };
                return Err(self.diagnostic(name, problem, expected));
            }
        }
        Ok(params)
    }

    /// The values that were written for `specs`.
    fn written_values<'s>(&self, specs: &'s [ParamSpec]) -> impl Iterator<Item = (&'s ParamSpec, &'d Item)> {
        let table = self.table;
        specs.iter().filter_map(move |s| Some((s, &table?.get(&s.name)?.item)))
    }

    /// Sets the parameter that `spec` describes from `item`.
    pub fn set(
        &self,
        spec: &ParamSpec,
        item: &Item,
        set: impl FnOnce(&Value) -> Result<(), ParamError>,
    ) -> Result<(), Diagnostic> {
        let fail = |problem: String, expected: String| {
            self.document.diagnostic(item.place, &self.key(&spec.name), problem, expected)
        };
        let value = match value_of(&item.node) {
            Some(value) => value,
            None => {
                return Err(fail(
                    format!("is {}", item.node.describe()),
                    format!("expected {}", describe_accepted(spec)),
                ));
            }
        };
        let texts = match &value {
            Value::Text(text) => std::slice::from_ref(text),
            Value::List(texts) => texts,
            _ => &[],
        };
        if texts.iter().flat_map(|t| t.chars()).any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            let expected = format!("expected {}", describe_accepted(spec));
            return Err(fail(format!("{value} has a control character"), expected));
        }
        set(&value).map_err(|e| match e {
            ParamError::UnknownName => self.unknown(&spec.name, item.place, [].into_iter()),
            ParamError::OutOfRange(range) => {
                fail(format!("{value} is outside the accepted range"), format!("expected {range}"))
            }
            ParamError::BadValue(message) => match (&spec.kind, &value) {
                (Kind::Choice(words), Value::Text(text)) => Diagnostic {
                    suggestion: nearest(text, words.iter()),
                    ..fail(format!("\"{text}\" is not accepted"), format!("expected {}", describe_accepted(spec)))
                },
                _ => {
                    let (problem, expected) = message.split_once("; expected ").unwrap_or((&message, ""));
                    let expected = if expected.is_empty() { String::new() } else { format!("expected {expected}") };
                    fail(problem.to_string(), expected)
                }
            },
        })
    }

    /// Refuses every key that is not among `known`.
    pub fn check_keys<'k>(&self, known: impl Iterator<Item = &'k str> + Clone) -> Result<(), Diagnostic> {
        for entry in self.table.iter().flat_map(|t| &t.0) {
            if !known.clone().any(|k| k == entry.key) {
                return Err(self.unknown(&entry.key, entry.place, known));
            }
        }
        Ok(())
    }

    /// "unknown key" with the nearest of the known ones.
    fn unknown<'k>(&self, key: &str, place: Location, known: impl Iterator<Item = &'k str> + Clone) -> Diagnostic {
        let keys: Vec<&str> = known.clone().collect();
        Diagnostic {
            suggestion: nearest(key, known),
            ..self.document.diagnostic(
                place,
                &self.key(key),
                "unknown key",
                format!("accepted keys: {}", keys.join(", ")),
            )
        }
    }
}

/// The word by which a scenario writes a choice.
pub(crate) fn word(choice: &impl ParamType) -> String {
    match choice.to_value() {
        Some(Value::Text(word)) => word,
        _ => String::new(),
    }
}

/// The default of `P` with only `key` read.
pub(crate) fn read_one<P: Params>(section: &Section<'_>, key: &str) -> Result<P, Diagnostic> {
    let mut params = P::default();
    let spec = P::specs().into_iter().find(|s| s.name == key);
    if let (Some(spec), Some(entry)) = (spec, section.table.and_then(|t| t.get(key))) {
        section.set(&spec, &entry.item, |value| params.set(key, value))?;
    }
    Ok(params)
}

/// The keys that `specs` describe.
pub(crate) fn names(specs: &[ParamSpec]) -> Vec<&str> {
    specs.iter().map(|s| &*s.name).collect()
}

/// Refuses keys that belong to another alternative of the table, which `key` chose by `word`: they deserve a better answer than "unknown".
pub(crate) fn refuse_others(
    section: &Section<'_>,
    key: &str,
    word: &str,
    alternatives: &[(&'static str, Vec<ParamSpec>)],
) -> Result<(), Diagnostic> {
    let keys = alternatives.iter().find(|(w, _)| *w == word).map(|(_, specs)| names(specs)).unwrap_or_default();
    for entry in section.table.iter().flat_map(|t| &t.0) {
        let of_other = alternatives.iter().any(|(_, specs)| specs.iter().any(|s| s.name == entry.key));
        if of_other && !keys.contains(&&*entry.key) {
            let problem = format!("is no key of {key} \"{word}\"");
            let expected = format!("accepted keys: {key}, {}", keys.join(", "));
            return Err(section.document.diagnostic(entry.place, &section.key(&entry.key), problem, expected));
        }
    }
    Ok(())
}

/// The value of a parameter: a scalar or a list of texts.
fn value_of(node: &Node) -> Option<Value> {
    match node {
        Node::Scalar(value) => Some(value.clone()),
        Node::List(items) => {
            let text = |item: &Item| match &item.node {
                Node::Scalar(Value::Text(t)) => Some(t.clone()),
                _ => None,
            };
            items.iter().map(text).collect::<Option<Vec<String>>>().map(Value::List)
        }
        Node::Datetime(_) | Node::Table(_) => None,
    }
}

/// Describes the values that a parameter accepts.
pub(crate) fn describe_accepted(spec: &ParamSpec) -> String {
    let kind = match &spec.kind {
        Kind::Bool => "true or false".to_string(),
        Kind::Integer => "a whole number".to_string(),
        Kind::Float => "a real number".to_string(),
        Kind::Time => "a time with its unit, such as \"25ms\"".to_string(),
        Kind::Bytes => "a size with its unit, such as \"10MB\"".to_string(),
        Kind::Rate => "a rate with its unit, such as \"100Gbps\"".to_string(),
        Kind::Text => "a text in quotes".to_string(),
        Kind::Choice(words) => format!("one of {}", listing(words.iter())),
        Kind::Texts => "a text in quotes, or a list of texts, such as [\"a\", \"b\"]".to_string(),
        Kind::TextList(words) if words.is_empty() => "a list of texts, such as [\"a\", \"b\"]".to_string(),
        Kind::TextList(words) => {
            format!("a list of texts, such as [\"a\", \"b\"], or one of {}", listing(words.iter()))
        }
    };
    let range = if spec.range.is_empty() { String::new() } else { format!(", from {}", spec.range) };
    format!("{kind}{range}")
}
