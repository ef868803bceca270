//! `[circuits]` and `[[circuit_slot]]`: the matchings of circuit switches and their times.

use crate::csv_rows::{self, CsvRows};
use crate::diagnostic::Diagnostic;
use crate::reader::{Section, word};
use crate::sections::{CircuitKeys, ElephantsChoice, SchedulingChoice, SlotKeys};
use crate::topology::NetworkKeys;
use farloop_units::{Kind, ParamSpec, Params, Value};

/// A scenario's settings of its circuit switches.
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
    if !network.has_circuits() {
        let written = [("circuits", section.is_written()), ("circuit_slot", !slots.is_empty())];
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
            "warm_up_few",
            keys.warm_up_few > 0 && keys.warm_up.is_none(),
            "elephants are accelerated by time with warm_up = \"none\"".to_string(),
            "warm_up, or warm_up_few = 0",
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
    if let Some((key, _, problem, expected)) = problems.into_iter().find(|(_, wrong, ..)| *wrong) {
        return Err(section.diagnostic(key, problem, format!("expected {expected}")));
    }
    let counters = u64::from(keys.sketch_rows) * u64::from(keys.sketch_width);
    if counters > MAX_COUNTERS {
        let (rows, width) = (keys.sketch_rows, keys.sketch_width);
        let problem = format!("{rows} rows of {width} counters are {:.3} GB in every switch", counters as f64 * 16e-9);
        let expected =
            format!("expected at most {MAX_COUNTERS} counters, 1 GiB: fewer sketch_rows or a smaller sketch_width");
        return Err(section.diagnostic("sketch_width", problem, expected));
    }
    for (choice, names) in OF_SCHEDULING.iter().filter(|(choice, _)| *choice != keys.scheduling) {
        // The room in the queue of a day bounds the sets that switches detect.
        let of_sets = |name: &str| !labelled && ["day_queue", "circuit_rtt"].contains(&name);
        if let Some(name) = names.iter().find(|name| keys.get(name) != default.get(name) && !of_sets(name)) {
            let problem = format!("nothing reads it with scheduling = \"{scheduling}\"");
            let expected = format!("expected scheduling = \"{}\", or the default of this key", word(choice));
            return Err(section.diagnostic(name, problem, expected));
        }
    }
    Ok(())
}

/// Most counters of a sketch.
const MAX_COUNTERS: u64 = 1 << 26;

/// The keys that belong to one way of scheduling.
const OF_SCHEDULING: [(SchedulingChoice, &[&str]); 3] = [
    (SchedulingChoice::Blocking, &["circuit_buffer", "rack_queue", "packet_queue"]),
    (SchedulingChoice::Unblocking, &["shared_queue"]),
    (
        SchedulingChoice::AccelToR,
        &[
            "high_queue",
            "low_queue",
            "day_queue",
            "packet_rtt",
            "circuit_rtt",
            "safe_margin",
            "days",
            "warm_up",
            "overflow",
        ],
    ),
];

/// Slots of a CSV file, each with its line; its columns are keys of `[[circuit_slot]]`, with spaces between several circuits.
pub(crate) fn from_csv(file: &str, text: &str) -> Result<Vec<(u32, SlotKeys)>, Diagnostic> {
    let specs = SlotKeys::spec_table();
    let mut columns: Option<Vec<&ParamSpec>> = None;
    let mut slots = Vec::new();
    let mut rows = CsvRows::new(file, text);
    while let Some((line, cells)) = rows.next()? {
        let Some(columns) = &columns else {
            columns = Some(csv_rows::header(file, line, &cells, specs, &["connect"])?);
            continue;
        };
        csv_rows::check_cells(file, line, columns, &cells)?;
        let mut slot = SlotKeys { connect: Some(Vec::new()), ..SlotKeys::default() };
        for (spec, cell) in columns.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty()) {
            let value = match &spec.kind {
                Kind::TextList(_) => Value::List(cell.split_whitespace().map(str::to_string).collect()),
                _ => Value::Text(cell.to_string()),
            };
            csv_rows::set(file, line, &mut slot, spec, &value)?;
        }
        slots.push((line, slot));
    }
    if slots.is_empty() {
        let expected = "expected a row of column names, such as \"day,night,connect\", and a row for each slot";
        return Err(csv_rows::column_diagnostic(file, 1, "", "the file has no slot", expected));
    }
    Ok(slots)
}
