//! Scenario files: typed TOML, validated, built into networks.
//!
//! [`parse`] reads a file and refuses whatever it does not understand, with a [`Diagnostic`] that names file, line, key, problem and
//! what would be accepted. [`Scenario::build`] makes the [`farloop_net::spec::NetworkSpec`] to simulate; what can only be known of
//! the whole network is checked there. [`schema()`] describes the format to editors. The format is explained in
//! `docs/scenario-format.md`; every key is declared once, in [`sections`] and [`figure`].

pub mod bench;
pub mod diagnostic;
pub mod figure;
pub mod sections;
pub mod tables;

mod agents;
mod algorithms;
mod build;
mod document;
mod flow_list;
mod glob;
mod hosts;
mod network;
mod random;
mod reader;
mod resolved;
mod run;
mod scenario;
mod schema;
mod switch_override;
mod topology;
mod traffic;
mod transport;
mod workload;

pub use build::Built;
pub use diagnostic::Diagnostic;
pub use figure::{Case, Claim, Figure};
pub use network::{FabricKeys, Network};
pub use run::{Outcome, RunError, resolve, run};
pub use scenario::{Overrides, Scenario, parse, parse_while, read};
pub use schema::schema;
pub use switch_override::SwitchOverride;
pub use transport::Endpoint;
pub use workload::{Traffic, Workload};

use farloop_cc::AlgorithmInfo;
use farloop_workload::{SizeDistribution, TableInfo};

/// Every algorithm and preset that a scenario may name.
pub fn algorithm_list() -> Vec<AlgorithmInfo> {
    farloop_cc::all()
}

/// Every flow-size distribution that a scenario may name, with its mean in bytes.
pub fn workload_list() -> Vec<(TableInfo, f64)> {
    let mean = |info: &TableInfo| SizeDistribution::named(info.name).map_or(0.0, |d| d.mean());
    SizeDistribution::tables().map(|info| (info, mean(&info))).collect()
}
