//! `[circuits]` and `[[circuit_slot]]`: what circuit switches connect when.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::network::NetworkKeys;
use crate::reader::{Section, wanted, word};
use crate::sections::{CircuitKeys, ElephantsChoice, NodeRole, SchedulingChoice, SlotKeys};
use farloop_units::{Kind, ParamError, ParamSpec, Params, Value};

/// What a scenario says of its circuit switches.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CircuitSettings {
    /// `[circuits]`.
    pub keys: CircuitKeys,
    /// Every `[[circuit_slot]]`.
    pub slots: Vec<SlotKeys>,
}

/// Reads `[circuits]` and every `[[circuit_slot]]`, which only networks with circuit switches have.
pub(crate) fn read(root: &Section<'_>, network: &NetworkKeys) -> Result<Option<CircuitSettings>, Diagnostic> {
    let section = root.section("circuits")?;
    let slots = root.sections("circuit_slot")?;
    let has_circuits = match network {
        NetworkKeys::Links { nodes, .. } => nodes.iter().any(|node| node.kind == NodeRole::Circuit),
        NetworkKeys::Hybrid(_) => true,
        _ => false,
    };
    if !has_circuits {
        let written = [("circuits", section.written()), ("circuit_slot", !slots.is_empty())];
        return match written.into_iter().find(|(_, written)| *written) {
            Some((key, _)) => {
                let expected = "expected network.topology = \"hybrid\", or a [[node]] with kind = \"circuit\"";
                Err(root.diagnostic(key, "the network has no circuit switch", expected))
            }
            None => Ok(None),
        };
    }
    let keys: CircuitKeys = section.read(&[], &[])?;
    check(&section, &keys)?;
    if let (Some(_), Some((_, first))) = (&keys.slots, slots.first()) {
        let problem = "the slots are in the file that circuits.slots names";
        return Err(first.diagnostic("connect", problem, "expected no [[circuit_slot]], or circuits.slots = \"none\""));
    }
    let slots = slots.into_iter().map(|(_, section)| section.read(&["connect"], &[])).collect::<Result<_, _>>()?;
    Ok(Some(CircuitSettings { keys, slots }))
}

/// A key that another one makes meaningless is refused, not ignored.
fn check(section: &Section<'_>, keys: &CircuitKeys) -> Result<(), Diagnostic> {
    let default = CircuitKeys::default();
    let labelled = keys.elephants == ElephantsChoice::Labelled;
    let of_set = |key, set: bool| {
        let problem = "no switch finds elephants with elephants = \"labelled\"".to_string();
        (key, set && labelled, problem, "elephants = \"detected\", or the default of this key")
    };
    let scheduling = word(&keys.scheduling);
    let problems = [
        (
            "rescue",
            keys.rescue.is_some() && keys.scheduling != SchedulingChoice::AccelToR,
            format!("nothing is dropped for coming too early with scheduling = \"{scheduling}\""),
            "scheduling = \"acceltor\", or rescue = \"none\"",
        ),
        (
            "elephants",
            !labelled && keys.scheduling == SchedulingChoice::None,
            "no switch schedules circuits".to_string(),
            "circuits.scheduling, or elephants = \"labelled\"",
        ),
        of_set("elephant_limit", keys.elephant_limit.is_some()),
        of_set("elephant_idle", keys.elephant_idle.is_some()),
        of_set("elephant_bytes", keys.elephant_bytes != default.elephant_bytes),
        of_set("sketch_rows", keys.sketch_rows != default.sketch_rows),
        of_set("sketch_width", keys.sketch_width != default.sketch_width),
    ];
    match problems.into_iter().find(|(_, wrong, ..)| *wrong) {
        Some((key, _, problem, expected)) => Err(section.diagnostic(key, problem, format!("expected {expected}"))),
        None => Ok(()),
    }
}

/// Slots of a CSV file, each with its line: a first row with column names, which are keys of `[[circuit_slot]]`, then one row for each slot. An
/// empty cell leaves the key at its default; empty lines and lines that begin with `#` are skipped.
pub(crate) fn from_csv(file: &str, text: &str) -> Result<Vec<(u32, SlotKeys)>, Diagnostic> {
    let specs = SlotKeys::spec_table();
    let names = || specs.iter().map(|s| &*s.name);
    let at = |line: u32, key: &str, problem: String, expected: String| Diagnostic {
        line,
        key: key.to_string(),
        ..Diagnostic::of_file(file, problem, expected)
    };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let mut columns: Option<Vec<&ParamSpec>> = None;
    let mut slots = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| at(1, "", e.to_string(), String::new()))?;
        let line = record.position().map_or(1, |p| p.line() as u32);
        let Some(columns) = &columns else {
            let find = |cell: &str| {
                specs.iter().find(|s| s.name == cell).ok_or_else(|| Diagnostic {
                    suggestion: nearest(cell, names()),
                    ..at(line, cell, "unknown column".into(), format!("columns: {}", listing(names())))
                })
            };
            let found: Vec<&ParamSpec> = record.iter().map(find).collect::<Result<_, _>>()?;
            let twice = found.iter().enumerate().find(|(i, s)| found[..*i].iter().any(|other| other.name == s.name));
            if let Some((_, spec)) = twice {
                let problem = "two columns have this name".into();
                return Err(at(line, &spec.name, problem, "expected each column once".into()));
            }
            if !found.iter().any(|s| s.name == "connect") {
                let expected = format!("columns: {}", listing(names()));
                return Err(at(line, "connect", "the column is missing".into(), expected));
            }
            columns = Some(found);
            continue;
        };
        if record.len() != columns.len() {
            let expected = format!("expected {}, as many as columns", columns.len());
            return Err(at(line, "", format!("the row has {} cells", record.len()), expected));
        }
        let mut slot = SlotKeys { connect: Some(Vec::new()), ..SlotKeys::default() };
        for (spec, cell) in columns.iter().zip(&record).filter(|(_, cell)| !cell.is_empty()) {
            let value = match &spec.kind {
                Kind::TextList(_) => Value::List(cell.split_whitespace().map(str::to_string).collect()),
                _ => Value::Text(cell.to_string()),
            };
            slot.set(&spec.name, &value).map_err(|e| {
                let problem = match e {
                    ParamError::UnknownName => "unknown column".to_string(),
                    ParamError::OutOfRange(_) => format!("{value} is outside the accepted range"),
                    ParamError::BadValue(message) => {
                        message.split("; expected ").next().unwrap_or_default().to_string()
                    }
                };
                at(line, &spec.name, problem, format!("expected {}", wanted(spec)))
            })?;
        }
        slots.push((line, slot));
    }
    if slots.is_empty() {
        let expected = "expected a row of column names, such as \"day,night,connect\", and a row for each slot";
        return Err(at(1, "", "the file has no slot".into(), expected.into()));
    }
    Ok(slots)
}
