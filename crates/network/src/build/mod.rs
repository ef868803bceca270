//! Builds networks from their specifications.

mod circuits;
mod flow_paths;
mod topology;

pub use topology::Topology;
