//! Networks as every simulator of them needs them, whatever it moves through them: packets or rates.
//!
//! A [`NetworkSpec`] goes in, and [`Network::build`] checks it and makes a [`Network`]: nodes, links, routes, flows, and what follows from
//! these alone, such as base round-trip times and the load offered to each port. A simulator runs it, and returns a [`RunResult`], whose
//! rows are declared here as well ([`result`]).
//!
//! | module | what |
//! | --- | --- |
//! | [`spec`] | the specification: indices, no names; nothing left open |
//! | [`NetworkSpec::check`] | refuses what cannot be simulated ([`BuildError`]) |
//! | [`ids`] | numbers of flows, ports and nodes, and the tables that they index |
//! | [`Topology`] | nodes, links and routes, before there are flows |
//! | [`link`], [`routing`], [`timeline`], [`schedule`] | ends of links, routes, changes of links, circuits |
//! | [`flows`], [`flow_dependencies`], [`queue_pairs`] | the flows, those that wait for others, those that carry messages of jobs |
//! | [`path`], [`code`] | closed forms over a path; packets of flows with blocks |
//! | [`recorded`] | the objects with series |
//! | [`chores`] | actions of the ranks of jobs at times that are known |
//! | [`meter`] | where the time of the ranks of jobs goes, and their interfaces to scale-up domains |
//! | [`result`], [`limits`], [`starts`], [`limit_groups`] | rows of a result, and what sums them up |
//!
//! `docs/network-model.md` describes the model.

mod build;
mod check;
pub mod chores;
mod drops;
mod headroom;
pub mod ids;
pub mod limit_groups;
pub mod limits;
pub mod meter;
mod network;
pub mod recorded;
pub mod result;
pub mod spec;
pub mod starts;
mod table;

pub use build::Topology;
pub use check::{BuildError, CircuitPart, border_switches, check_links, event_ids, port_infos};
pub use headroom::{PFC_FRAME, required_headroom};
pub use network::link::{LinkEnd, NodeRef};
pub use network::{Format, Network};
pub use network::{code, flow_dependencies, flows, link, path, queue_pairs, routing, schedule, timeline};
pub use result::RunResult;
pub use spec::NetworkSpec;
pub use timeline::route_tables;
