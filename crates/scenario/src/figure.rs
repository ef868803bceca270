//! A figure, as a file under `papers/` describes it: its cases (`cases` reads them) and the claims that are checked against it.

use crate::diagnostic::{Diagnostic, listing};
use crate::document::{Item, Node, Table};
use crate::glob::matches;
use crate::json::json;
use crate::names::MAX_NAME_LENGTH;
use crate::reader::Section;
use farloop_units::{Value, choice, params};
use serde_json::Value as Json;
use std::collections::HashSet;

/// Most patterns for the names of a claim's numbers: each number is held against all of them.
const MAX_PATTERNS: usize = 100;

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
    /// The typed keys of `[[case]]`; `set` holds the overrides, `extends` names what it begins with.
    pub struct CaseKeys {
        /// Unique name; "none" for the names in `extends`, with ", " between them.
        name: Option<String> = None;
        /// Algorithms to run; "none" for the figure's.
        algorithms: Option<Vec<String>> = None;
        /// The case belongs to the quick scale.
        quick: bool = true;
    }
}

params! {
    /// The typed keys of an entry of `[template]`, which has `set` and `extends` as cases do.
    pub struct TemplateKeys {
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
        /// Its statements follow from the setting alone, such as the rate of seven planes of eight: they count apart.
        by_construction: bool = false;
    }
}

choice! {
    /// The evidence that chose a reading of a paper.
    pub enum ChosenBy {
        /// The words of the text, or of a work that it cites.
        Text = "text",
        /// The paper's other figures.
        OtherFigures = "other figures",
        /// The numbers of this figure, so that agreement confirms nothing.
        ThisFigure = "this figure",
    }
}

params! {
    /// The keys of `[[claim.reading]]`: a parameter of the claim's runs that the paper does not give.
    pub struct ReadingKeys {
        /// The parameter and its value.
        what: Option<String> = None;
        /// Evidence that chose it. "text": its words, or a work that it cites; "other figures": the paper's; "this figure": its own
        /// numbers.
        by: Option<ChosenBy> = None;
        /// Section, citation or figure.
        source: Option<String> = None;
        /// Texts of the statements that rest on it; "none" for all of the claim's.
        statements: Option<Vec<String>> = None;
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
    /// Its statements follow from the setting alone.
    pub by_construction: bool,
    /// Unpublished parameters that its runs rest on.
    pub readings: Vec<ReadingKeys>,
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
    if !section.is_written() {
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

/// Reads every `[[claim]]`.
pub(crate) fn read_claims(root: &Section<'_>) -> Result<Vec<Claim>, Diagnostic> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut seen = HashSet::new();
    for (id, section) in root.sections("claim")? {
        if section.table.is_some_and(|table| table.get("calibrated").is_some()) {
            let expected = "expected [[claim.reading]] below the claim, with what, by = \"this figure\" and source";
            return Err(section.diagnostic("calibrated", "is a reading now", expected));
        }
        let keys: ClaimKeys = section.read(&["id", "what"], &["paper", "tolerance", "reading"])?;
        if id.trim().is_empty() || id.chars().count() > MAX_NAME_LENGTH || id.contains(['\n', '\r', '\t']) {
            let expected = format!("expected 1 to {MAX_NAME_LENGTH} characters on one line");
            return Err(section.diagnostic("id", format!("\"{id}\" cannot be an identifier"), expected));
        }
        if !seen.insert(id.clone()) {
            return Err(section.diagnostic("id", "used twice", "expected a unique id"));
        }
        let paper = section.section("paper")?;
        let paper = paper.table.map_or(Ok(serde_json::Map::new()), |table| free_form(&paper, table))?;
        claims.push(Claim {
            id,
            what: keys.what.unwrap_or_default(),
            by_construction: keys.by_construction,
            readings: read_readings(&section)?,
            tolerance: read_tolerance(&section, &paper)?,
            paper: paper.into(),
        });
    }
    Ok(claims)
}

/// Reads every `[[claim.reading]]` of a claim.
fn read_readings(claim: &Section<'_>) -> Result<Vec<ReadingKeys>, Diagnostic> {
    let read = |section: Section<'_>| {
        let keys: ReadingKeys = section.read(&["what", "by", "source"], &[])?;
        for (key, text) in [("what", &keys.what), ("source", &keys.source)] {
            if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
                return Err(section.diagnostic(key, "is empty", "expected a text"));
            }
        }
        if keys.statements.as_ref().is_some_and(Vec::is_empty) {
            let expected = "expected the texts of one or more statements, or no such key for all of the claim's";
            return Err(section.diagnostic("statements", "is empty", expected));
        }
        Ok(keys)
    };
    claim.sections("reading")?.into_iter().map(|(_, section)| read(section)).collect()
}

/// Reads the tolerances of a claim, each by the name of its published number. One number is that of all of them, and a name with "*" or "?"
/// stands for those that it matches, of which one by its own name is excepted, and one that a later pattern matches.
fn read_tolerance(section: &Section<'_>, paper: &serde_json::Map<String, Json>) -> Result<Json, Diagnostic> {
    let Some(entry) = section.table.and_then(|table| table.get("tolerance")) else {
        return Ok(Json::Object(Default::default()));
    };
    let numbers = || paper.iter().filter(|(_, value)| value.is_number()).map(|(name, _)| name.as_str());
    if let Node::Scalar(value @ (Value::Int(_) | Value::Float(_))) = &entry.item.node {
        let part = json(value).ok_or_else(|| {
            section.diagnostic("tolerance", format!("{value} is not finite"), "expected a number, such as 0.1")
        })?;
        return Ok(numbers().map(|name| (name.to_string(), part.clone())).collect::<serde_json::Map<_, _>>().into());
    }
    let Node::Table(table) = &entry.item.node else {
        let problem = format!("is {}", entry.item.node.describe());
        let expected =
            "expected a number for all published ones, or a table: names of published numbers, such as { ratio = 0.1 }";
        return Err(section.diagnostic("tolerance", problem, expected));
    };
    let inner = section.section("tolerance")?;
    let written = free_form(&inner, table)?;
    let is_pattern = |name: &str| name.contains(['*', '?']) && !paper.contains_key(name);
    if !written.keys().any(|name| is_pattern(name)) {
        return Ok(written.into());
    }
    if written.keys().filter(|name| is_pattern(name)).count() > MAX_PATTERNS {
        let expected = format!("expected at most {MAX_PATTERNS} names with \"*\" or \"?\"");
        return Err(section.diagnostic("tolerance", "one pattern too many", expected));
    }
    let mut each = serde_json::Map::new();
    for name in numbers() {
        let last = written.iter().rfind(|(pattern, _)| is_pattern(pattern) && matches(pattern, name));
        if let Some(part) = written.get(name).or(last.map(|(_, part)| part)) {
            each.insert(name.to_string(), part.clone());
        }
    }
    for (name, part) in written {
        if !is_pattern(&name) {
            each.entry(name).or_insert(part);
        } else if !numbers().any(|number| matches(&name, number)) {
            let expected = format!("names: {}", listing(numbers()));
            return Err(inner.diagnostic(&name, "matches no published number", expected));
        }
    }
    Ok(each.into())
}

/// Numbers, texts, lists and tables of them.
fn free_form(section: &Section<'_>, table: &Table) -> Result<serde_json::Map<String, Json>, Diagnostic> {
    let mut object = serde_json::Map::new();
    for entry in &table.0 {
        object.insert(entry.key.clone(), free_value(section, &entry.key, &entry.item)?);
    }
    Ok(object)
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
        Node::Table(table) => free_form(section, table).map(Json::Object),
    }
}
