//! A figure, as a file under `papers/` describes it: its cases and the claims that are checked against it.

use crate::diagnostic::Diagnostic;
use crate::document::{Item, Node, Table};
use crate::json::json;
use crate::names::MAX_NAME_LENGTH;
use crate::reader::Section;
use farloop_units::{Value, params};
use serde_json::Value as Json;
use std::collections::HashSet;

/// Most cases of a scenario: each is checked as a scenario of its own.
const MAX_CASES: usize = 1000;

params! {
    /// `[figure]`: the figure of a paper that this scenario reproduces.
    pub struct Figure {
        /// Identifier PAPER/FIGURE, such as "gear/fig09": letters, digits, "_" and "-".
        id: Option<String> = None;
        /// What the figure shows.
        title: String = String::new();
        /// The paper, and where in it.
        source: String = String::new();
        /// Algorithms that every case runs unless it names its own.
        algorithms: Vec<String> = Vec::new();
        /// What a reader must know: omissions and deviations from the paper.
        note: String = String::new();
        /// How often `farloop reproduce` runs every simulation: with seeds 1 to this number, where seed k also uses the variation
        /// k of ties and starts (`run.jitter`). Verdicts use all of them. 1: once, with the scenario's own seed.
        replicas: u32 = 1, in 1 => 100;
    }
}

params! {
    /// The typed keys of `[[case]]`; `set` holds the overrides.
    pub struct CaseKeys {
        /// Unique name.
        name: Option<String> = None;
        /// Algorithms to run; "none" for the figure's.
        algorithms: Option<Vec<String>> = None;
        /// The case belongs to the quick scale.
        quick: bool = true;
    }
}

params! {
    /// The typed keys of `[[claim]]`; `paper` and `tolerance` hold numbers and texts.
    pub struct ClaimKeys {
        /// Identifier, such as "gear/fig09".
        id: Option<String> = None;
        /// What the paper says, in words.
        what: Option<String> = None;
        /// Which parameter we fitted to this figure, so that agreement confirms nothing; "none" if none was.
        calibrated: Option<String> = None;
    }
}

/// Dotted keys with the text of their values, as `--set key=value` gives them.
pub type Overrides = Vec<(String, String)>;

/// `[[case]]`: the scenario with some keys set differently.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Unique name.
    pub name: String,
    /// Algorithms to run.
    pub algorithms: Vec<String>,
    /// It belongs to the quick scale.
    pub quick: bool,
    /// Dotted keys with the text of their TOML values.
    pub set: Overrides,
}

/// `[[claim]]`: a published result to compare with.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Identifier.
    pub id: String,
    /// What the paper says, in words.
    pub what: String,
    /// Which parameter was chosen by what this figure shows.
    pub calibrated: Option<String>,
    /// The published numbers.
    pub paper: Json,
    /// Accepted distance of a measurement from them.
    pub tolerance: Json,
}

/// A `[[case]]` and where its overrides were written.
pub(crate) struct LocatedCase {
    pub case: Case,
    pub set: Vec<(String, Item)>,
    pub algorithms: Vec<Item>,
}

/// Reads `[figure]`.
pub(crate) fn read_figure(root: &Section<'_>) -> Result<Option<Figure>, Diagnostic> {
    let section = root.section("figure")?;
    if !section.written() {
        return Ok(None);
    }
    let figure = section.read::<Figure>(&["id"], &[])?;
    let id = figure.id.as_deref().unwrap_or_default();
    let plain = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphanumeric())
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if id.len() > MAX_NAME_LENGTH || id.split('/').count() != 2 || !id.split('/').all(plain) {
        let expected = format!(
            "expected PAPER/FIGURE, such as \"gear/fig09\": letters, digits, \"_\" and \"-\", at most {MAX_NAME_LENGTH} characters"
        );
        return Err(section.diagnostic("id", format!("\"{id}\" cannot be the name of a figure"), expected));
    }
    Ok(Some(figure))
}

/// Reads every `[[case]]`; without any, a figure has one case that sets nothing.
pub(crate) fn read_cases(root: &Section<'_>, figure: Option<&Figure>) -> Result<Vec<LocatedCase>, Diagnostic> {
    let figure_algorithms = match root.section("figure")?.table.and_then(|t| t.get("algorithms")) {
        Some(entry) => texts(&entry.item),
        None => Vec::new(),
    };
    let default_algorithms = figure.map(|f| f.algorithms.clone()).unwrap_or_default();
    let mut cases: Vec<LocatedCase> = Vec::new();
    let mut seen = HashSet::new();
    for (name, section) in root.sections("case")? {
        let keys: CaseKeys = section.read(&["name"], &["set"])?;
        if name.trim().is_empty() || name.chars().count() > MAX_NAME_LENGTH || name.contains(['\n', '\r', '\t']) {
            let expected = format!("expected 1 to {MAX_NAME_LENGTH} characters on one line");
            return Err(section.diagnostic("name", format!("\"{name}\" cannot be a name"), expected));
        }
        if seen.len() == MAX_CASES {
            return Err(section.diagnostic("name", "one case too many", format!("expected at most {MAX_CASES}")));
        }
        if !seen.insert(name.clone()) {
            return Err(section.diagnostic("name", "used twice", "expected a unique name"));
        }
        let set_section = section.section("set")?;
        let mut set = Vec::new();
        set_section.table.iter().for_each(|table| flatten(table, "", &mut set));
        let own = section.table.and_then(|t| t.get("algorithms")).filter(|_| keys.algorithms.is_some());
        let texts_of_set = set.iter().map(|(key, item)| (key.clone(), toml_text(&item.node))).collect();
        let algorithms = own.map_or_else(|| figure_algorithms.clone(), |entry| texts(&entry.item));
        let case = Case {
            name,
            algorithms: keys.algorithms.unwrap_or_else(|| default_algorithms.clone()),
            quick: keys.quick,
            set: texts_of_set,
        };
        cases.push(LocatedCase { case, set, algorithms });
    }
    if cases.is_empty() && figure.is_some() {
        let case = Case { name: "main".into(), algorithms: default_algorithms, quick: true, set: Vec::new() };
        cases.push(LocatedCase { case, set: Vec::new(), algorithms: figure_algorithms });
    }
    Ok(cases)
}

/// Reads every `[[claim]]`.
pub(crate) fn read_claims(root: &Section<'_>) -> Result<Vec<Claim>, Diagnostic> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut seen = HashSet::new();
    for (id, section) in root.sections("claim")? {
        let keys: ClaimKeys = section.read(&["id", "what"], &["paper", "tolerance"])?;
        if id.trim().is_empty() || id.chars().count() > MAX_NAME_LENGTH || id.contains(['\n', '\r', '\t']) {
            let expected = format!("expected 1 to {MAX_NAME_LENGTH} characters on one line");
            return Err(section.diagnostic("id", format!("\"{id}\" cannot be an identifier"), expected));
        }
        if !seen.insert(id.clone()) {
            return Err(section.diagnostic("id", "used twice", "expected a unique id"));
        }
        let free = |name: &str| {
            let inner = section.section(name)?;
            inner.table.map_or(Ok(Json::Object(Default::default())), |table| free_form(&inner, table))
        };
        claims.push(Claim {
            id,
            what: keys.what.unwrap_or_default(),
            calibrated: keys.calibrated,
            paper: free("paper")?,
            tolerance: free("tolerance")?,
        });
    }
    Ok(claims)
}

fn texts(item: &Item) -> Vec<Item> {
    match &item.node {
        Node::List(items) => items.clone(),
        _ => Vec::new(),
    }
}

/// `{ "run.seed" = 2, network.rate = "1Gbps" }` as dotted keys.
fn flatten(table: &Table, prefix: &str, out: &mut Vec<(String, Item)>) {
    for entry in &table.0 {
        let key = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
        match &entry.item.node {
            Node::Table(inner) => flatten(inner, &key, out),
            _ => out.push((key, entry.item.clone())),
        }
    }
}

/// A value as TOML writes it.
fn toml_text(node: &Node) -> String {
    match node {
        Node::Scalar(Value::Bool(b)) => b.to_string(),
        Node::Scalar(Value::Int(i)) => i.to_string(),
        Node::Scalar(Value::Float(x)) => toml_edit::Value::from(*x).to_string(),
        Node::Scalar(Value::Text(t)) => toml_edit::Value::from(t.as_str()).to_string(),
        Node::Scalar(Value::List(texts)) => toml_edit::Array::from_iter(texts.iter().map(String::as_str)).to_string(),
        Node::Datetime(t) => t.clone(),
        Node::List(items) => {
            format!("[{}]", items.iter().map(|i| toml_text(&i.node)).collect::<Vec<_>>().join(", "))
        }
        Node::Table(table) => {
            let entry = |e: &crate::document::Entry| {
                format!("{} = {}", toml_edit::Value::from(e.key.as_str()), toml_text(&e.item.node))
            };
            format!("{{ {} }}", table.0.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Numbers, texts, lists and tables of them.
fn free_form(section: &Section<'_>, table: &Table) -> Result<Json, Diagnostic> {
    let mut object = serde_json::Map::new();
    for entry in &table.0 {
        object.insert(entry.key.clone(), free_value(section, &entry.key, &entry.item)?);
    }
    Ok(Json::Object(object))
}

fn free_value(section: &Section<'_>, key: &str, item: &Item) -> Result<Json, Diagnostic> {
    let refused = |problem: String| {
        let expected = "expected numbers, texts, true or false, and lists or tables of them";
        section.document.diagnostic(item.place, &section.key(key), problem, expected)
    };
    match &item.node {
        Node::Scalar(value) => json(value).ok_or_else(|| refused(format!("{value} is not finite"))),
        Node::Datetime(_) => Err(refused(format!("is {}", item.node.describe()))),
        Node::List(items) => {
            items.iter().map(|i| free_value(section, key, i)).collect::<Result<_, _>>().map(Json::Array)
        }
        Node::Table(table) => free_form(section, table),
    }
}
