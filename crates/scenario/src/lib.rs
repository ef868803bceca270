//! Scenario files: typed TOML, validated, built into networks.
//!
//! [`parse`] reads a file and refuses whatever it does not understand, with a [`Diagnostic`] that names file, line, key, problem and
//! what would be accepted. [`Scenario::build`] makes the [`farloop_net::spec::NetworkSpec`] to simulate; what can only be known of
//! the whole network is checked there; [`Scenario::run`] simulates it. [`schema()`] describes the format to editors. The format is
//! explained in `docs/scenario-format.md`.
//!
//! The way of a key, from text to network, file by file; each imports only those before it:
//!
//! 1. `document`: TOML as a tree of values that know their lines, with `--set` applied. `diagnostic`: error messages.
//! 2. [`sections`], [`figure`]: every key declared once, with default, range and documentation. `reader` checks a table against them,
//!    `csv_rows` files of rows.
//! 3. `topology`: every topology declared once, from its keys to nodes and links by name. `network`, `switch`, `transport` (with
//!    `host_presets`), `algorithms`, `flow`, `workload`: sections beyond their keys.
//! 4. `scenario`: all sections of a file. `parse`: from text to scenario, with every case of its figure checked.
//! 5. `build/`: settings of single switches, flows, series, and the specification of it all; what the network model refuses comes back as
//!    a message about the key (`build/error_mapping.rs`).
//! 6. [`columns`]: every column of a result declared once. [`tables`]: a result as columns. `resolved`: the scenario as JSON. `trace`: what
//!    names mean in a trace. `run`: from text to
//!    tables; [`Prepared`] is a parsed scenario, whose network is built once for all its methods.
//!
//! ```
//! use farloop_scenario::parse;
//!
//! let text = r#"
//! run.duration = "1ms"
//! network.topology = "dumbbell"
//! algorithm.name = "dctcp"
//! [[flow]]
//! from = "s1"
//! to = "d1"
//! size = "1MB"
//! "#;
//! let scenario = parse(text, "example.toml", &[]).unwrap();
//! assert_eq!(scenario.build().unwrap().spec.flows.len(), 1);
//! let outcome = scenario.run(&Default::default(), &mut |_| true).unwrap();
//! assert_eq!(outcome.totals.finished, 1);
//!
//! let wrong = parse(&text.replace("size", "sise"), "example.toml", &[]).unwrap_err();
//! assert!(wrong.to_string().starts_with("example.toml:8: flow.f1.sise: unknown key; did you mean \"size\"?"));
//! ```
//!
//! Algorithms of other crates are named in scenarios like those that come with farloop: register them in a [`farloop_cc::Catalog`] and hand
//! it to [`parse_with`].

pub mod bench;
pub mod columns;
pub mod diagnostic;
pub mod figure;
pub mod sections;
pub mod tables;

mod acceltor;
mod agent;
mod algorithms;
mod build;
mod cases;
mod circuits;
mod csv_rows;
mod document;
mod emulation;
mod error;
mod estimate;
mod events;
mod files;
mod flow;
mod gear;
mod glob;
mod host_presets;
mod job;
mod job_facts;
mod job_path;
mod jobs;
mod json;
mod names;
mod network;
mod outcome;
mod parallel;
mod parse;
mod reader;
mod resolved;
mod run;
mod run_names;
mod scenario;
mod schema;
mod slices;
mod switch;
mod testbed;
mod toml_file;
mod toml_outline;
mod topology;
mod trace;
mod transport;
mod why;
mod workload;

pub use build::{Built, CircuitFacts, Demand, EventFact};
pub use diagnostic::Diagnostic;
pub use error::RunError;
pub use estimate::MemoryShare;
pub use farloop_job::memory::MemoryLimit;
pub use farloop_net::{Cores, available_memory, total_memory};
pub use farloop_trace::{SpecError, TraceSpec};
pub use figure::{Case, Claim, Figure, Overrides};
pub use files::read;
pub use job::{JobSection, accepted_for};
pub use job_path::JOB_CAUSES;
pub use outcome::{Outcome, Progress};
pub use parse::{parse, parse_while, parse_with, parse_within};
pub use run::{Prepared, Settings, run, run_with};
pub use scenario::Scenario;
pub use schema::{schema, schema_with};
pub use switch::SwitchOverride;
pub use toml_file::{TomlFile, TomlKey, TomlValue};
pub use toml_outline::TomlError;
pub use topology::{
    Example, KeyTable, NetworkAlternative, NetworkKeys, Page, TopologyInfo, network_alternatives, topologies,
};
pub use trace::Traced;
pub use transport::EndpointKeys;
pub use workload::{Workload, WorkloadKeys};

use farloop_workload::{SizeDistribution, TableInfo};

/// Every flow-size distribution that a scenario may name, with its mean in bytes.
pub fn workload_list() -> Vec<(TableInfo, f64)> {
    let mean = |info: &TableInfo| SizeDistribution::by_name(info.name).map_or(0.0, |d| d.mean());
    SizeDistribution::tables().map(|info| (info, mean(&info))).collect()
}
