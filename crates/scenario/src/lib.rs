//! Scenario files: typed TOML, validated, built into networks.
//!
//! [`parse`] reads a file and refuses whatever it does not understand, with a [`Diagnostic`] that names file, line, key, problem and
//! what would be accepted. [`Scenario::build`] makes the [`farloop_net::spec::NetworkSpec`] to simulate; what can only be known of
//! the whole network is checked there. [`schema()`] describes the format to editors. The format is explained in
//! `docs/scenario-format.md`; every key is declared once, in [`sections`] and [`figure`].

pub mod diagnostic;
pub mod figure;
pub mod sections;

mod algorithms;
mod build;
mod document;
mod reader;
mod resolved;
mod scenario;
mod schema;
mod topology;
mod traffic;

pub use build::Built;
pub use diagnostic::Diagnostic;
pub use figure::{Case, Claim, Figure};
pub use scenario::{Network, Scenario, parse, read};
pub use schema::schema;
