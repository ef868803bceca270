//! TOML files that are no scenarios, such as studies: their values, the line of each key, and a table of a file as a text of its own.

use crate::diagnostic::display_clipped;
use crate::document::{Document, Entry, Item, Location, Node, Table};
use crate::toml_outline::{TomlError, statements};
use farloop_units::Value;
use std::ops::RangeInclusive;

/// Tables and lists in one another, whether by headings, dotted keys or brackets.
const MAX_DEPTH: usize = 100;

/// Numbers beyond 64 bits of a file that are looked for.
const MAX_BEYOND: usize = 100;

const BEYOND: &str = "a number beyond 64 bits; expected one from -2^63 to 2^63-1";

/// A value of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum TomlValue {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A text.
    Text(String),
    /// A date, a time of day, or both, as it is written.
    Datetime(String),
    /// A list, or the tables under a heading in two brackets.
    List(Vec<TomlValue>),
    /// Keys with values, in their order.
    Table(Vec<(String, TomlValue)>),
}

/// A part of the way to a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TomlKey {
    /// The name of a key.
    Name(String),
    /// The number of an element, from 0.
    Element(usize),
}

/// A TOML file.
#[derive(Debug)]
pub struct TomlFile {
    text: String,
    document: Document,
    /// The lines of its headings and keys with values, from 0.
    statements: Vec<RangeInclusive<usize>>,
}

impl TomlFile {
    /// Reads a text; `expected` says in errors what kind of file is accepted.
    pub fn parse(text: &str, expected: &str) -> Result<TomlFile, TomlError> {
        let statements = statements(text)?;
        let mut readable = text.to_string();
        let mut beyond = None;
        for _ in 0..MAX_BEYOND {
            let error = match Document::try_parse(&readable, "") {
                Ok(document) => {
                    let file = TomlFile { text: text.to_string(), document, statements };
                    return file.check_place(beyond);
                }
                Err(error) => error,
            };
            let span = error.span().unwrap_or(0..0);
            if error.message() == "integer number overflowed" && !span.is_empty() {
                // The key of the number is known when the rest can be read.
                beyond.get_or_insert(span.start);
                let blank = format!("{:<1$}", 0, span.len());
                readable.replace_range(span, &blank);
                continue;
            }
            let is_repeated = error.message() == "duplicate key";
            let expected = if is_repeated { "each key once" } else { expected };
            let problem = display_clipped(&error.message().replace('\n', "; "), 80).into_owned();
            let problem = format!("is not valid TOML: {problem}; expected {expected}");
            return Err(TomlError { is_syntax: true, ..TomlError::new(line_at(text, span.start), problem) });
        }
        Err(TomlError::new(line_at(text, beyond.unwrap_or(0)), BEYOND))
    }

    fn check_place(self, beyond: Option<usize>) -> Result<TomlFile, TomlError> {
        if let Some(offset) = beyond {
            let way = find(&self.document.root, Location::Text(offset)).unwrap_or_default();
            return Err(self.error(&way, BEYOND));
        }
        match self.document.root.0.iter().find(|entry| depth(&entry.item) >= MAX_DEPTH) {
            Some(entry) => {
                let problem = format!("more than {MAX_DEPTH} tables and lists in one another; expected fewer");
                Err(self.error(&[TomlKey::Name(entry.key.clone())], &problem))
            }
            None => Ok(self),
        }
    }

    /// Its values: a table.
    pub fn value(&self) -> TomlValue {
        table(&self.document.root)
    }

    /// The line, from 1, on which a key or its nearest table stands; 1 where there is none. Of what is in a value the line is the value's.
    pub fn line(&self, way: &[TomlKey]) -> usize {
        let (mut place, mut node): (Location, Option<&Node>) = (Location::Text(0), None);
        for key in way {
            let inner = match (key, node) {
                (TomlKey::Name(name), None) => self.document.root.get(name),
                (TomlKey::Name(name), Some(Node::Table(table))) => table.get(name),
                (TomlKey::Element(number), Some(Node::List(elements))) => {
                    let Some(element) = elements.get(*number).filter(|element| self.begins_with(element, "[[")) else {
                        break;
                    };
                    (place, node) = (element.place, Some(&element.node));
                    continue;
                }
                _ => None,
            };
            let Some(entry) = inner else { break };
            place = begin(entry);
            if self.begins_with(&entry.item, "{") {
                break;
            }
            node = Some(&entry.item.node);
        }
        self.document.diagnostic(place, "", "", "").line as usize
    }

    fn begins_with(&self, item: &Item, mark: &str) -> bool {
        matches!(item.place, Location::Text(offset) if self.text[offset..].starts_with(mark))
    }

    fn error(&self, way: &[TomlKey], problem: &str) -> TomlError {
        let names: Vec<String> = way.iter().map(TomlKey::to_string).collect();
        TomlError::new(self.line(way), format!("{}: {problem}", display_clipped(&names.join("."), 80)))
    }

    /// The text of the file with one of its tables as the whole: `[base.run]` becomes `[run]`, and all else empty lines. Lines keep their
    /// numbers, so that messages about what is left name the right ones.
    ///
    /// Refuses a table that has no heading.
    pub fn part(&self, name: &str) -> Result<String, TomlError> {
        let lines: Vec<&str> = self.text.split('\n').collect();
        let mut kept = vec![String::new(); lines.len()];
        let mut at: Vec<String> = Vec::new();
        let own = |names: &[String]| names.first().is_some_and(|first| first == name);
        for span in &self.statements {
            let (first, is_heading) = (*span.start(), lines[*span.start()].trim_start().starts_with('['));
            if is_heading {
                at = names(&lines[span.clone()].join("\n"));
                if own(&at) && at.len() > 1 {
                    kept[first] = bare_heading(lines[first], name).ok_or_else(|| {
                        let problem = format!("expected a heading such as [{name}.run]");
                        TomlError::new(first + 1, format!("{}: {problem}", display_clipped(&at.join("."), 80)))
                    })?;
                }
            } else if own(&at) {
                for line in span.clone() {
                    kept[line] = lines[line].to_string();
                }
            } else if at.is_empty() && own(&names(&lines[span.clone()].join("\n"))) {
                let problem = format!("expected the name of a scenario file, or tables such as [{name}.run]");
                return Err(self.error(&[TomlKey::Name(name.to_string())], &problem));
            }
        }
        Ok(kept.join("\n"))
    }
}

impl std::fmt::Display for TomlKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TomlKey::Name(name) => name.fmt(f),
            TomlKey::Element(number) => (number + 1).fmt(f),
        }
    }
}

/// Where a key is written first: `[a]` may come after `[a.b]`.
fn begin(entry: &Entry) -> Location {
    let Node::Table(table) = &entry.item.node else { return entry.place };
    let places = table.0.iter().map(begin).chain([entry.place]);
    let offset = |place: &Location| if let Location::Text(offset) = place { *offset } else { 0 };
    places.min_by_key(offset).unwrap_or(entry.place)
}

/// The line of an offset, from 1: empty ones at the end do not count.
fn line_at(text: &str, offset: usize) -> usize {
    let end = text.trim_end().len();
    text[..offset.min(end)].matches('\n').count() + 1
}

/// A heading without the table that it begins with; `None` if it is written in another way.
fn bare_heading(line: &str, name: &str) -> Option<String> {
    let bare = line.replacen(name, "", 1);
    let (opening, rest) = bare.split_once('.')?;
    let is_plain = opening.trim_matches([' ', '\t', '[', '"', '\'']).is_empty();
    is_plain.then(|| format!("{}{rest}", "[".repeat(opening.matches('[').count())))
}

/// The names of the nested tables of a statement, of which each has one key.
fn names(statement: &str) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(document) = Document::try_parse(statement, "") else { return names };
    let mut table = &document.root;
    while let [entry] = &table.0[..] {
        names.push(entry.key.clone());
        table = match &entry.item.node {
            Node::Table(inner) => inner,
            Node::List(elements) => match elements.first().map(|element| &element.node) {
                Some(Node::Table(inner)) => inner,
                _ => break,
            },
            _ => break,
        };
    }
    names
}

/// Tables and lists below an item.
fn depth(item: &Item) -> usize {
    match &item.node {
        Node::Table(table) => table.0.iter().map(|entry| depth(&entry.item) + 1).max().unwrap_or(0),
        Node::List(elements) => elements.iter().map(|element| depth(element) + 1).max().unwrap_or(0),
        Node::Scalar(_) | Node::Datetime(_) => 0,
    }
}

/// The way to the number that is written at a place.
fn find(table: &Table, place: Location) -> Option<Vec<TomlKey>> {
    fn inside(item: &Item, place: Location) -> Option<Vec<TomlKey>> {
        match &item.node {
            Node::Table(inner) => find(inner, place),
            Node::List(elements) => elements.iter().enumerate().find_map(|(number, element)| {
                inside(element, place).map(|way| [vec![TomlKey::Element(number)], way].concat())
            }),
            Node::Scalar(Value::Int(_)) if item.place == place => Some(Vec::new()),
            Node::Scalar(_) | Node::Datetime(_) => None,
        }
    }
    table
        .0
        .iter()
        .find_map(|entry| inside(&entry.item, place).map(|way| [vec![TomlKey::Name(entry.key.clone())], way].concat()))
}

fn table(table: &Table) -> TomlValue {
    TomlValue::Table(table.0.iter().map(|entry| (entry.key.clone(), value(&entry.item.node))).collect())
}

fn value(node: &Node) -> TomlValue {
    match node {
        Node::Scalar(Value::Bool(value)) => TomlValue::Bool(*value),
        Node::Scalar(Value::Int(value)) => TomlValue::Int(*value),
        Node::Scalar(Value::Float(value)) => TomlValue::Float(*value),
        Node::Scalar(Value::Text(value)) => TomlValue::Text(value.clone()),
        // The reader makes lists of nodes.
        Node::Scalar(Value::List(_)) => TomlValue::List(Vec::new()),
        Node::Datetime(value) => TomlValue::Datetime(value.clone()),
        Node::List(elements) => TomlValue::List(elements.iter().map(|element| value(&element.node)).collect()),
        Node::Table(inner) => table(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(file: &TomlFile, way: &str) -> usize {
        let key = |part: &str| part.parse().map_or_else(|_| TomlKey::Name(part.into()), TomlKey::Element);
        file.line(&way.split('/').map(key).collect::<Vec<_>>())
    }

    fn refused(text: &str) -> (usize, String) {
        let error = TomlFile::parse(text, "a study (TOML)").expect_err(text);
        (error.line, error.problem)
    }

    #[test]
    fn keys_know_the_lines_of_their_statements() {
        let text = "base = \"b.toml\"\n\n# [grid]\ncollect = [\n  \"x\", # one\n  {y = 1},\n]\n[grid]\ntitle = \"\"\"\n[grid]\nx = 1\n\"\"\"\n\
            \"a.b\" = [\n[1,\n2],\n]\n[[list]]\nq = 1\n[[list]]\nr.s = { t = 1 }\n";
        let file = TomlFile::parse(text, "").expect("TOML");
        for (way, expected) in [
            ("collect/1/y", 4),
            ("grid", 8),
            ("grid/title", 9),
            ("grid/a.b/1", 13),
            ("list/0/q", 18),
            ("list/1", 19),
            ("list/1/r/s/t", 20),
            ("list/1/absent", 19),
            ("absent", 1),
        ] {
            assert_eq!(line(&file, way), expected, "{way}");
        }
        let TomlValue::Table(entries) = file.value() else { panic!("a table") };
        assert_eq!(
            entries.iter().map(|entry| entry.0.as_str()).collect::<Vec<_>>(),
            ["base", "collect", "grid", "list"]
        );
    }

    #[test]
    fn a_table_begins_with_the_first_heading_that_names_it() {
        let file = TomlFile::parse("x = 1\n[a.b]\nc = 1\n[a]\nd = 1\n", "").expect("TOML");
        assert_eq!((line(&file, "a"), line(&file, "a/b"), line(&file, "a/d")), (2, 2, 5));
    }

    #[test]
    fn a_table_stands_alone_on_the_same_lines() {
        let text =
            "title = \"x\"\n[base]\na = 1\n[base.run] # first\nb = [\n1]\n[grid]\nc = 1\n[[ base . flow ]]\nd = 1\n";
        let file = TomlFile::parse(text, "").expect("TOML");
        assert_eq!(file.part("base").expect("tables"), "\n\na = 1\n[run] # first\nb = [\n1]\n\n\n[[ flow ]]\nd = 1\n");
        let inline =
            TomlFile::parse("x = 1\nbase = { run = 1 }\n", "").expect("TOML").part("base").expect_err("inline");
        assert!(inline.line == 2 && inline.problem.starts_with("base: expected the name of a scenario"), "{inline:?}");
        let escaped = TomlFile::parse("[\"b\\u0061se\".run]\n", "").expect("TOML").part("base").expect_err("escaped");
        assert_eq!(escaped.problem, "base.run: expected a heading such as [base.run]");
    }

    #[test]
    fn errors_name_the_line_and_what_is_accepted() {
        for (text, at, problem) in [
            ("x = 1\n[grid\n", 2, "is not valid TOML: what begins here does not end; expected a \"]\" or a \"}\""),
            ("x = 1\n\nbase =\n\n", 3, "is not valid TOML: "),
            ("a = 1\na = 2\n", 2, "is not valid TOML: duplicate key; expected each key once"),
            ("x = 9223372036854775808", 1, "x: a number beyond 64 bits; expected one from"),
            ("[a]\nb = [1, 0xffffffffffffffffffff, 99999999999999999999]", 2, "a.b.2: a number beyond 64 bits"),
            ("x = 99999999999999999999\ny =", 2, "is not valid TOML: "),
        ] {
            let (line, message) = refused(text);
            assert!(line == at && message.starts_with(problem), "{line} {message}");
        }
        let deep = |key: &str| vec![key; 35].join(".");
        let (line, message) = refused(&format!("x = 1\n[{}]\n{} = {{{} = 1}}", deep("a"), deep("b"), deep("c")));
        assert_eq!((line, &message[..24]), (2, "a: more than 100 tables "));
    }
}
