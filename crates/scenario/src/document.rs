//! A scenario file as a tree of values that know where they were written, with overrides applied.

use crate::diagnostic::{Diagnostic, OVERRIDES, listing, nearest};
use crate::parallel::neighbour_name;
use farloop_units::Value;
use std::collections::HashMap;
use toml_edit::{Item as TomlItem, TableLike, Value as TomlValue};

/// Most parts of an override's dotted path; no key lies deeper, and each is a step of a recursion.
const DEEPEST: usize = 16;

/// Where something was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// At this byte of the file.
    Text(usize),
    /// In the override with this number, from 1.
    Override(usize),
}

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub place: Location,
    pub node: Node,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Scalar(Value),
    /// A date or time: no key takes one.
    Datetime(String),
    List(Vec<Item>),
    Table(Table),
}

/// Keys with values, in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table(pub Vec<Entry>);

/// One key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Location,
    pub item: Item,
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|e| e.key == key)
    }

    /// The text at `key`, if there is one.
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.item.node {
            Node::Scalar(Value::Text(t)) => Some(t),
            _ => None,
        }
    }
}

impl Node {
    /// The kind of this node, for messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Node::Scalar(Value::Bool(_)) => "a boolean",
            Node::Scalar(Value::Int(_)) => "a whole number",
            Node::Scalar(Value::Float(_)) => "a real number",
            Node::Scalar(Value::Text(_)) => "a text",
            Node::Datetime(_) => "a date or time of day",
            Node::Scalar(Value::List(_)) | Node::List(_) => "a list",
            Node::Table(_) => "a table",
        }
    }
}

/// A scenario file.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    file: String,
    text: String,
    pub root: Table,
}

impl Document {
    /// Parses TOML.
    pub fn parse(text: &str, file: &str) -> Result<Document, Diagnostic> {
        Document::try_parse(text, file).map_err(|e| {
            let document = Document { file: file.to_string(), text: text.to_string(), root: Table::default() };
            let place = Location::Text(e.span().map_or(0, |s| s.start));
            let expected = if e.message() == "duplicate key" { "expected each key once" } else { "" };
            document.diagnostic(place, "", format!("not valid TOML: {}", e.message().replace('\n', "; ")), expected)
        })
    }

    /// Parses TOML, with the errors of its reader.
    pub fn try_parse(text: &str, file: &str) -> Result<Document, toml_edit::TomlError> {
        let toml = toml_edit::Document::parse(text)?;
        let root = table(toml.as_table(), &|span| Location::Text(span.map_or(0, |s| s.start)));
        Ok(Document { file: file.to_string(), text: text.to_string(), root })
    }

    /// The name that the file was given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// A diagnostic about something at `place`.
    pub fn diagnostic(
        &self,
        place: Location,
        key: &str,
        problem: impl Into<String>,
        expected: impl Into<String>,
    ) -> Diagnostic {
        let (file, line, column) = match place {
            Location::Text(offset) => {
                let before = self.text.get(..offset).unwrap_or(&self.text);
                let line_start = before.rfind('\n').map_or(0, |i| i + 1);
                (&*self.file, before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
            }
            Location::Override(number) => (OVERRIDES, number, 1),
        };
        Diagnostic {
            file: file.into(),
            // A place beyond four billion lines would be shown as the last of them.
            line: line.try_into().unwrap_or(u32::MAX),
            column: column.try_into().unwrap_or(u32::MAX),
            key: key.to_string(),
            problem: problem.into(),
            expected: expected.into(),
            suggestion: None,
        }
    }

    /// Where the value at `path` was written, or the innermost table around it that was.
    pub fn place_of(&self, path: &[&str]) -> Location {
        let mut place = Location::Text(0);
        let mut table = &self.root;
        let mut segments = path.iter();
        while let Some(segment) = segments.next() {
            let Some(entry) = table.get(segment) else { break };
            place = entry.place;
            let item = match &entry.item.node {
                Node::List(elements) => {
                    let Some(name) = segments.next() else { break };
                    let names = element_names(segment, elements);
                    let Some((_, element)) = names.iter().zip(elements).find(|(n, _)| n == name) else { break };
                    place = element.place;
                    element
                }
                _ => &entry.item,
            };
            match &item.node {
                Node::Table(inner) => table = inner,
                _ => {
                    place = item.place;
                    break;
                }
            }
        }
        place
    }

    /// Applies one `--set key=value`: the dotted path `key` gets `value`, read as a TOML value, else as text.
    pub fn set(&mut self, key: &str, value: &str, number: usize) -> Result<(), Diagnostic> {
        let place = Location::Override(number);
        let node = match value.trim().parse::<TomlValue>() {
            Ok(TomlValue::Datetime(_)) | Err(_) => Node::Scalar(Value::Text(value.to_string())),
            Ok(value) => scalar(&value, &|_| place),
        };
        self.put(key, Item { place, node })
    }

    /// Puts `item` at the dotted path `key`. Elements of lists of tables are addressed by their names.
    pub fn put(&mut self, key: &str, item: Item) -> Result<(), Diagnostic> {
        let place = item.place;
        let path: Vec<String> = match toml_edit::Key::parse(key) {
            Ok(keys) => keys.iter().map(|k| k.get().to_string()).collect(),
            // Names such as "left->right" are no bare TOML keys, but plain enough.
            Err(_) => key.split('.').map(str::to_string).collect(),
        };
        if path.len() > DEEPEST {
            return Err(self.diagnostic(place, key, "too many dots", "expected a dotted path, such as network.rate"));
        }
        if path.iter().any(String::is_empty) {
            let expected = "expected a dotted path, such as network.rate or flow.f1.start";
            return Err(self.diagnostic(place, key, "not a key", expected));
        }
        if path == ["algorithm", "name"]
            && let Some(scope) = self.replace_scopes()
        {
            let problem = format!("algorithm.{scope} was set before it");
            return Err(self.diagnostic(
                place,
                key,
                problem,
                "expected one of the two, or a pair such as \"dctcp/bbr\"",
            ));
        }
        // The borrow of the tree must end before a diagnostic is made.
        put(&mut self.root, &path, item).map_err(|(problem, expected, suggestion)| Diagnostic {
            suggestion,
            ..self.diagnostic(place, key, problem, expected)
        })
    }
}

impl Document {
    /// Removes `[algorithm] intra` and `cross` of the file: a name from outside is that of all flows that do not name their own. Returns
    /// the first of the two that was set from outside as well.
    fn replace_scopes(&mut self) -> Option<String> {
        let entry = self.root.0.iter_mut().find(|entry| entry.key == "algorithm")?;
        let Node::Table(table) = &mut entry.item.node else { return None };
        let is_scope = |entry: &Entry| ["intra", "cross"].contains(&entry.key.as_str());
        let outside = |entry: &&Entry| is_scope(entry) && matches!(entry.item.place, Location::Override(_));
        let twice = table.0.iter().find(outside).map(|entry| entry.key.clone());
        table.0.retain(|entry| !is_scope(entry));
        twice
    }
}

/// The names by which the elements of a list of tables are addressed in overrides and named in messages.
pub(crate) fn element_names(list: &str, elements: &[Item]) -> Vec<String> {
    match list {
        "link" => link_names(elements),
        _ => elements.iter().enumerate().map(|(i, e)| element_name(list, i, e)).collect(),
    }
}

/// Those of links are what tables call the first port of each: "a->b", of further parallel links "a->b#2".
fn link_names(elements: &[Item]) -> Vec<String> {
    let mut parallel: HashMap<(&str, &str), u32> = HashMap::new();
    let mut names = Vec::with_capacity(elements.len());
    for (number, element) in (1..).zip(elements) {
        let table = if let Node::Table(table) = &element.node { Some(table) } else { None };
        let ends = table.and_then(|table| table.text("a").zip(table.text("b")));
        let Some((table, (a, b))) = table.zip(ends) else {
            names.push(format!("{number}"));
            continue;
        };
        let links = match table.get("links").map(|entry| &entry.item.node) {
            // What is out of range is refused elsewhere.
            Some(Node::Scalar(Value::Int(links))) => u32::try_from(*links).unwrap_or(1).max(1),
            _ => 1,
        };
        let before = parallel.entry((a.min(b), a.max(b))).or_default();
        names.push(format!("{a}->{}", neighbour_name(b, before.saturating_add(1))));
        *before = before.saturating_add(links);
    }
    names
}

fn element_name(list: &str, index: usize, element: &Item) -> String {
    let Node::Table(table) = &element.node else { return format!("{}", index + 1) };
    let name = match list {
        "flow" => Some(table.text("name").map_or_else(|| format!("f{}", index + 1), str::to_string)),
        "claim" => table.text("id").map(str::to_string),
        "switch_override" => table.text("match").map(str::to_string),
        "detour" => table.text("switch").zip(table.text("destination")).map(|(a, b)| format!("{a}->{b}")),
        _ => table.text("name").map(str::to_string),
    };
    name.unwrap_or_else(|| format!("{}", index + 1))
}

/// Problem, expectation, suggestion.
type Refusal = (String, String, Option<String>);

fn put(table: &mut Table, path: &[String], item: Item) -> Result<(), Refusal> {
    let [first, rest @ ..] = path else { return Ok(()) };
    let place = item.place;
    let at = match table.0.iter().position(|e| e.key == *first) {
        Some(at) => at,
        None => {
            let empty = Item { place, node: Node::Table(Table::default()) };
            table.0.push(Entry { key: first.clone(), place, item: empty });
            table.0.len() - 1
        }
    };
    let entry = &mut table.0[at];
    if rest.is_empty() {
        (entry.place, entry.item) = (place, item);
        return Ok(());
    }
    match &mut entry.item.node {
        Node::Table(inner) => put(inner, rest, item),
        Node::List(elements) => {
            let names = element_names(first, elements);
            let Some(index) = names.iter().position(|n| *n == rest[0]) else {
                let known = || names.iter().map(String::as_str);
                if rest.len() == 1 && !matches!(item.node, Node::Table(_)) && !names.is_empty() {
                    // What is set is a value, so that its key is meant: the name of the table before it is missing.
                    return Err((
                        format!("the scenario calls its [[{first}]] tables by name"),
                        format!("write {first}.{}.{} (names: {})", names[0], rest[0], listing(known())),
                        None,
                    ));
                }
                return Err((
                    format!("there is no [[{first}]] with the name \"{}\"", rest[0]),
                    format!("names: {}", listing(known())),
                    nearest(&rest[0], known()),
                ));
            };
            if rest.len() == 1 {
                elements[index] = item;
                return Ok(());
            }
            match &mut elements[index].node {
                Node::Table(inner) => put(inner, &rest[1..], item),
                other => {
                    Err((format!("{first}.{} is {}, not a table", rest[0], other.describe()), String::new(), None))
                }
            }
        }
        other => Err((format!("\"{first}\" is {}, not a table", other.describe()), String::new(), None)),
    }
}

type Placing<'a> = &'a dyn Fn(Option<std::ops::Range<usize>>) -> Location;

fn table(toml: &dyn TableLike, place: Placing<'_>) -> Table {
    let entries = toml.iter().filter_map(|(key, value)| {
        let node = match value {
            TomlItem::None => return None,
            TomlItem::Value(value) => scalar(value, place),
            TomlItem::Table(inner) => Node::Table(table(inner, place)),
            TomlItem::ArrayOfTables(tables) => Node::List(
                tables.iter().map(|t| Item { place: place(t.span()), node: Node::Table(table(t, place)) }).collect(),
            ),
        };
        let written = toml.key(key).and_then(|k| k.span());
        let key_place = place(written.or_else(|| value.span()));
        let value_place = value.span().map_or(key_place, |span| place(Some(span)));
        Some(Entry { key: key.to_string(), place: key_place, item: Item { place: value_place, node } })
    });
    Table(entries.collect())
}

fn scalar(value: &TomlValue, place: Placing<'_>) -> Node {
    match value {
        TomlValue::String(s) => Node::Scalar(Value::Text(s.value().clone())),
        TomlValue::Integer(i) => Node::Scalar(Value::Int(*i.value())),
        TomlValue::Float(x) => Node::Scalar(Value::Float(*x.value())),
        TomlValue::Boolean(b) => Node::Scalar(Value::Bool(*b.value())),
        TomlValue::Datetime(d) => Node::Datetime(d.value().to_string()),
        TomlValue::Array(array) => {
            Node::List(array.iter().map(|v| Item { place: place(v.span()), node: scalar(v, place) }).collect())
        }
        TomlValue::InlineTable(inner) => Node::Table(table(inner, place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "title = \"x\"\n[network]\n  rate = \"1Gbps\"\n[[flow]]\nname = \"intra\"\nfrom = \"s1\"\n[[flow]]\n";

    fn document() -> Document {
        Document::parse(TEXT, "a.toml").expect("valid")
    }
    fn position(document: &Document, path: &[&str]) -> (u32, u32) {
        let d = document.diagnostic(document.place_of(path), "", "", "");
        (d.line, d.column)
    }

    #[test]
    fn every_value_knows_its_line() {
        let d = document();
        assert_eq!(position(&d, &["title"]), (1, 9));
        assert_eq!(position(&d, &["network", "rate"]), (3, 10));
        assert_eq!(position(&d, &["network", "absent"]).0, 2);
        assert_eq!(position(&d, &["flow", "intra", "from"]), (6, 8));
        assert_eq!(position(&d, &["flow", "f2", "from"]).0, 7);
        assert_eq!(position(&d, &["absent", "key"]), (1, 1));
    }

    #[test]
    fn overrides_reach_tables_and_named_elements() {
        let mut d = document();
        d.set("network.rate", "10Gbps", 1).expect("a key");
        d.set("flow.f2.start", "\"1s\"", 2).expect("a flow");
        d.set("switch.int", "true", 3).expect("a new table");
        let Node::Table(network) = &d.root.get("network").expect("there").item.node else { panic!("a table") };
        assert_eq!(network.text("rate"), Some("10Gbps"));
        assert_eq!(d.place_of(&["flow", "f2", "start"]), Location::Override(2));
        assert_eq!(d.place_of(&["switch", "int"]), Location::Override(3));
    }

    #[test]
    fn overrides_that_lead_nowhere_are_refused() {
        let mut d = document();
        let e = d.set("flow.inta.start", "1s", 1).expect_err("no such flow");
        assert_eq!((&*e.file, &*e.key, e.suggestion.as_deref()), ("--set", "flow.inta.start", Some("intra")));
        assert!(d.set("title.x", "1", 1).expect_err("a text").problem.contains("not a table"));
        assert!(d.set("", "1", 1).expect_err("empty").problem.contains("not a key"));
        assert!(d.set(&"a.".repeat(100_000), "1", 1).expect_err("deep").problem.contains("too many dots"));
        assert!(d.set("a..b", "1", 1).expect_err("a gap").problem.contains("not a key"));
    }
}
