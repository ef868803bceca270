//! Agents that a network has at its switches, whatever the hosts run: `[[agent]]` of scenarios.
//!
//! An algorithm may have a half at switch ports ([`Algorithm::port`](crate::Algorithm::port)), which its senders know. The agents here are
//! chosen by the network instead, and speak to hosts by a signal that several algorithms hear
//! ([`Algorithm::hears_cnp`](crate::Algorithm::hears_cnp)). At a port both are the same to the simulator: a
//! [`PortAgent`](crate::PortAgent). Those here see flows that leave their datacenter, and no others, also where a switch at the border
//! carries both.
//!
//! One agent is one file here, and two lines below: its module, and its entry in `agents!`.

#[macro_use]
mod registry;
mod switch_agent;

pub mod themis;

pub use switch_agent::SwitchAgent;

use crate::algorithms::AnyPort;
use crate::api::PortInfo;
use farloop_units::{ParamError, ParamSpec, Params, Value};

agents! {
    Themis = themis::Themis,
}

/// The description of an agent.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentInfo {
    /// Its name.
    pub name: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its parameters with defaults.
    pub params: Vec<ParamSpec>,
}

/// Every agent, in registry order.
pub fn agents() -> impl Iterator<Item = AgentInfo> {
    prototypes().into_iter().map(|params| params.info())
}

/// The parameters of the agent `name`, at their defaults; `None` for an unknown name.
pub fn agent(name: &str) -> Option<AgentParams> {
    prototypes().into_iter().find(|params| params.info().name == name)
}
