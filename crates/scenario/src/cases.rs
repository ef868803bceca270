//! Reads the cases of a figure: what each sets itself, and what it has from the cases and templates that it extends.

use crate::algorithms;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::document::{Item, Location, Node, Table};
use crate::figure::{Case, CaseKeys, Figure, LocatedCase, TemplateKeys};
use crate::names::MAX_NAME_LENGTH;
use crate::reader::Section;
use farloop_units::Value;
use std::collections::{HashMap, HashSet};

/// Most cases of a scenario: each is checked as a scenario of its own.
const MAX_CASES: usize = 1000;

/// Most steps from a case to the last of what it extends.
const MAX_STEPS: usize = 16;

/// Most settings that cases and templates have from others, all of them together: a few lines could multiply one long template.
const MAX_INHERITED: usize = 100_000;

/// A name in `extends`, and where it was written.
#[derive(Clone)]
struct Name {
    text: String,
    place: Location,
}

/// The keys of a case; those that were not written are `None`.
#[derive(Clone, Default)]
struct Settings {
    algorithms: Option<Vec<Item>>,
    quick: Option<bool>,
    set: Vec<(String, Item)>,
}

impl Settings {
    /// Takes the keys of `other`, which replace its own.
    fn take_from(&mut self, other: &Settings) {
        self.algorithms = other.algorithms.clone().or(self.algorithms.take());
        self.quick = other.quick.or(self.quick);
        let mut positions: HashMap<String, usize> = self.set.iter().map(|(k, _)| k.clone()).zip(0..).collect();
        for (key, item) in &other.set {
            let end = self.set.len();
            match *positions.entry(key.clone()).or_insert(end) {
                at if at == end => self.set.push((key.clone(), item.clone())),
                at => self.set[at].1 = item.clone(),
            }
        }
    }

    /// The number of its settings and algorithms.
    fn size(&self) -> usize {
        self.set.len() + self.algorithms.as_ref().map_or(0, Vec::len)
    }
}

/// A case or a template as it is written. A `[[case]]` with alternatives is several.
struct Part<'d> {
    name: String,
    section: Section<'d>,
    extends: Vec<Name>,
    own: Settings,
    is_case: bool,
}

/// Reads every `[[case]]`; without any, a figure has one case that sets nothing.
pub(crate) fn read_cases(root: &Section<'_>, figure: Option<&Figure>) -> Result<Vec<LocatedCase>, Diagnostic> {
    let figure_algorithms = root.section("figure")?.table.and_then(|t| t.get("algorithms"));
    let figure_algorithms = figure_algorithms.map_or_else(Vec::new, |entry| texts(&entry.item));
    let located = |name: &str, settings: Settings| {
        let algorithms = settings.algorithms.unwrap_or_else(|| figure_algorithms.clone());
        let set = settings.set.iter().map(|(key, item)| (key.clone(), toml_text(&item.node))).collect();
        let quick = settings.quick.unwrap_or(true);
        let case =
            Case { name: name.to_string(), algorithms: algorithms.iter().filter_map(text).collect(), quick, set };
        LocatedCase { case, set: settings.set, algorithms }
    };
    let parts = read_parts(root, &figure_algorithms)?;
    let index = parts.iter().map(|part| part.name.as_str()).zip(0..).collect();
    let mut resolver =
        Resolver { parts: &parts, index, resolved: vec![None; parts.len()], way: Vec::new(), inherited: 0 };
    let mut cases = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let settings = resolver.resolve(at)?;
        if part.is_case {
            cases.push(located(&part.name, settings));
        }
    }
    if cases.is_empty() && figure.is_some() {
        cases.push(located("main", Settings::default()));
    }
    Ok(cases)
}

/// Reads the entries of `[template]` and every `[[case]]`, of which one with alternatives becomes several.
fn read_parts<'d>(root: &Section<'d>, figure_algorithms: &[Item]) -> Result<Vec<Part<'d>>, Diagnostic> {
    let mut parts: Vec<Part<'d>> = Vec::new();
    let mut names: HashSet<String> = HashSet::new();
    let templates = root.section("template")?;
    for entry in templates.table.iter().flat_map(|table| &table.0) {
        let section = templates.section(&entry.key)?;
        check_label(&section, "", &entry.key)?;
        let keys: TemplateKeys = section.read(&[], &["set", "extends"])?;
        let own = read_settings(&section, keys.algorithms.as_deref(), keys.quick, figure_algorithms)?;
        let mut extends = Vec::new();
        for mut alternatives in read_extends(&section)? {
            let name = alternatives.pop().filter(|_| alternatives.is_empty());
            extends.push(name.ok_or_else(|| {
                let expected = "expected one name at each place; a [[case]] may have a list of alternatives";
                section.diagnostic("extends", "has alternatives", expected)
            })?);
        }
        names.insert(entry.key.clone());
        parts.push(Part { name: entry.key.clone(), section, extends, own, is_case: false });
    }
    let mut count = 0;
    for (_, section) in root.sections("case")? {
        let extends = read_extends(&section)?;
        let required: &[&str] = if extends.is_empty() { &["name"] } else { &[] };
        let keys: CaseKeys = section.read(required, &["set", "extends"])?;
        let own = read_settings(&section, keys.algorithms.as_deref(), keys.quick, figure_algorithms)?;
        let number = extends.iter().try_fold(1_usize, |all, alternatives| all.checked_mul(alternatives.len()));
        let number = number.filter(|number| number + count <= MAX_CASES).ok_or_else(|| {
            let key = if extends.is_empty() { "name" } else { "extends" };
            section.diagnostic(key, "one case too many", format!("expected at most {MAX_CASES}"))
        })?;
        count += number;
        if number > 1 && keys.name.is_some() {
            let problem = format!("is the name of {number} cases");
            return Err(section.diagnostic("name", problem, "expected no name: each is called by what it extends"));
        }
        let key = if keys.name.is_some() { "name" } else { "extends" };
        for chosen in combinations(&extends, number) {
            let joined = || chosen.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(", ");
            let name = keys.name.clone().unwrap_or_else(joined);
            check_label(&section, key, &name)?;
            if !names.insert(name.clone()) {
                let problem =
                    if key == "name" { "used twice".to_string() } else { format!("\"{name}\" is there twice") };
                return Err(section.diagnostic(key, problem, "expected a unique name"));
            }
            parts.push(Part {
                name,
                section: Section { path: section.path.clone(), ..section },
                extends: chosen,
                own: own.clone(),
                is_case: true,
            });
        }
    }
    Ok(parts)
}

/// One of the alternatives at each place, in all combinations; those of the last place change fastest.
fn combinations(extends: &[Vec<Name>], number: usize) -> Vec<Vec<Name>> {
    let chosen = |mut rest: usize| {
        let mut names: Vec<Name> = Vec::new();
        for alternatives in extends.iter().rev() {
            names.push(alternatives[rest % alternatives.len()].clone());
            rest /= alternatives.len();
        }
        names.reverse();
        names
    };
    (0..number).map(chosen).collect()
}

/// Gathers what cases and templates have from others.
struct Resolver<'p, 'd> {
    parts: &'p [Part<'d>],
    index: HashMap<&'p str, usize>,
    resolved: Vec<Option<Settings>>,
    /// The parts that are being resolved, each of which extends the next.
    way: Vec<usize>,
    inherited: usize,
}

impl Resolver<'_, '_> {
    /// The settings of a part: of what it extends, later ones before earlier ones, and before these its own.
    fn resolve(&mut self, at: usize) -> Result<Settings, Diagnostic> {
        if let Some(settings) = &self.resolved[at] {
            return Ok(settings.clone());
        }
        let part = &self.parts[at];
        let key = part.section.key("extends");
        let refused = |place: Location, problem: String, expected: String| {
            part.section.document.diagnostic(place, &key, problem, expected)
        };
        self.way.push(at);
        let mut settings = Settings::default();
        for name in &part.extends {
            let Some(&next) = self.index.get(name.text.as_str()) else {
                let names = || self.parts.iter().map(|part| part.name.as_str()).filter(|name| *name != part.name);
                let problem = format!("there is no case or template \"{}\"", name.text);
                let suggestion = nearest(&name.text, names());
                return Err(Diagnostic {
                    suggestion,
                    ..refused(name.place, problem, format!("names: {}", listing(names())))
                });
            };
            if let Some(first) = self.way.iter().position(|&part| part == next) {
                let circle = self.way[first..].iter().chain([&next]).map(|&part| self.parts[part].name.as_str());
                let problem = format!("leads back to where it began: {}", listing(circle));
                return Err(refused(name.place, problem, "expected names that do not extend this one".into()));
            }
            if self.way.len() > MAX_STEPS {
                let expected = format!("expected at most {MAX_STEPS} steps to the last of them");
                return Err(refused(name.place, "too many cases and templates extend one another".into(), expected));
            }
            let inherited = self.resolve(next)?;
            self.inherited += inherited.size();
            if self.inherited > MAX_INHERITED {
                let expected =
                    format!("expected at most {MAX_INHERITED} settings in all, each counted where it is extended");
                return Err(refused(name.place, "one setting too many".into(), expected));
            }
            settings.take_from(&inherited);
        }
        settings.take_from(&part.own);
        self.way.pop();
        self.resolved[at] = Some(settings.clone());
        Ok(settings)
    }
}

/// The names in `extends`: one alternative or several at each place.
fn read_extends(section: &Section<'_>) -> Result<Vec<Vec<Name>>, Diagnostic> {
    let Some(entry) = section.table.and_then(|t| t.get("extends")) else { return Ok(Vec::new()) };
    let name = |item: &Item| text(item).map(|text| Name { text, place: item.place });
    let alternatives = |item: &Item| match &item.node {
        Node::List(items) if !items.is_empty() => items.iter().map(name).collect::<Option<Vec<_>>>(),
        _ => name(item).map(|name| vec![name]),
    };
    let names = match &entry.item.node {
        Node::List(items) => items.iter().map(alternatives).collect(),
        _ => name(&entry.item).map(|name| vec![vec![name]]),
    };
    names.ok_or_else(|| {
        let expected =
            "expected the name of a case or template, or a list of names, in which a list of names has alternatives";
        section.diagnostic("extends", "has something else than names", expected)
    })
}

/// The keys that a case or template has itself.
fn read_settings(
    section: &Section<'_>,
    names: Option<&[String]>,
    quick: bool,
    figure_algorithms: &[Item],
) -> Result<Settings, Diagnostic> {
    let written = |key: &str| section.table.and_then(|t| t.get(key));
    let algorithms = written("algorithms").map(|entry| match names {
        Some(_) => texts(&entry.item),
        None => figure_algorithms.to_vec(),
    });
    if let (Some(names), Some(items)) = (names, &algorithms) {
        algorithms::check_names(section, "algorithms", names, items)?;
    }
    let set_section = section.section("set")?;
    let mut set = Vec::new();
    set_section.table.iter().for_each(|table| flatten(table, "", &mut set));
    Ok(Settings { algorithms, quick: written("quick").map(|_| quick), set })
}

/// Refuses names of cases and templates that would not fit into one line of a message.
fn check_label(section: &Section<'_>, key: &str, name: &str) -> Result<(), Diagnostic> {
    if !name.trim().is_empty() && name.chars().count() <= MAX_NAME_LENGTH && !name.contains(['\n', '\r', '\t']) {
        return Ok(());
    }
    let problem = format!("\"{name}\" cannot be a name");
    let expected = format!("expected 1 to {MAX_NAME_LENGTH} characters on one line");
    // The key of a template is its name.
    match key {
        "" => Err(section.document.diagnostic(section.place, &section.path, problem, expected)),
        _ => Err(section.diagnostic(key, problem, expected)),
    }
}

fn text(item: &Item) -> Option<String> {
    match &item.node {
        Node::Scalar(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
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
