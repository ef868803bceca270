//! The outputs of a run, declared once: each column of its tables, each metric of its series, each total, with type,
//! unit and meaning.
//!
//! A declaration makes a list of [`Declared`]. With `declare_table!` the value of each column stands beside its meaning. With
//! `declare!`, for what a loop fills, it makes a struct with one field for each column, so the compiler refuses a column that is left
//! out. Python reads [`outputs`]: metadata of Parquet files, `docs/outputs.md`, and what stands in for columns that a testbed does not
//! measure.

mod circuits;
mod declaration;
mod flows;
mod jobs;
mod ports;
mod rows;
mod series;
mod totals;

pub use circuits::{CIRCUITS, QUEUES};
pub(crate) use circuits::{circuits, queues};
pub(crate) use declaration::Words;
pub use declaration::{Column, Declared, Gears, Table};
pub use flows::FLOWS;
pub(crate) use flows::flows;
pub use jobs::{ITERATIONS, RANKS};
pub(crate) use jobs::{iterations, ranks};
pub use ports::{PAUSES, PORTS};
pub(crate) use ports::{pauses, ports};
pub(crate) use rows::Rows;
pub use series::{FLOW_METRICS, PORT_METRICS, QUEUE_METRICS, SERIES};
pub(crate) use series::{FlowMetrics, PortMetrics, QueueMetrics, SeriesColumns};
pub use totals::TOTALS;
pub(crate) use totals::{Counted, totals};

use farloop_net::result::Gear;
use serde_json::{Map, Value as Json, json};

/// All that is declared, as JSON: `tables` and `metrics` (by kind of object) by name, and `totals`; each item is [name, unit, meaning,
/// kind, nullable, gears that do not have it].
pub fn outputs() -> Json {
    let rows = |declared: &[Declared]| -> Json {
        declared.iter().map(|d| json!([d.name, d.unit, d.meaning, d.kind, d.nullable, without(d.gears)])).collect()
    };
    let named = |all: &[(&str, &[Declared])]| -> Json {
        all.iter().map(|(name, declared)| (name.to_string(), rows(declared))).collect::<Map<_, _>>().into()
    };
    json!({"tables": named(&TABLES), "metrics": named(&METRICS), "totals": rows(TOTALS)})
}

/// The words of the gears that are not among these.
fn without(gears: Gears) -> Vec<&'static str> {
    let words = [(Gear::Packets, "packets"), (Gear::Fluid, "fluid"), (Gear::MaxMin, "max-min")];
    words.into_iter().filter(|(gear, _)| !gears.has(*gear)).map(|(_, word)| word).collect()
}

/// The tables of a run.
pub const TABLES: [(&str, &[Declared]); 8] = [
    ("flows", FLOWS),
    ("series", SERIES),
    ("ports", PORTS),
    ("pauses", PAUSES),
    ("circuits", CIRCUITS),
    ("queues", QUEUES),
    ("iterations", ITERATIONS),
    ("ranks", RANKS),
];

/// The metrics of the series, by kind of object; ports that turned out to be the worst have those of ports.
pub const METRICS: [(&str, &[Declared]); 4] =
    [("flow", FLOW_METRICS), ("port", PORT_METRICS), ("queue", QUEUE_METRICS), ("worst", PORT_METRICS)];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_stands_once_in_its_list_and_has_unit_and_meaning() {
        for (list, declared) in TABLES.into_iter().chain(METRICS).chain([("totals", TOTALS)]) {
            let names: BTreeSet<&str> = declared.iter().map(|d| d.name).collect();
            assert_eq!(names.len(), declared.len(), "{list}");
            for d in declared {
                assert!(!d.unit.is_empty() && d.meaning.ends_with('.') && !d.meaning.contains("  "), "{list}: {d:?}");
                assert!(
                    !d.nullable || d.meaning.to_lowercase().contains("null"),
                    "{list}: {} does not say when it is null",
                    d.name
                );
            }
        }
    }
}
