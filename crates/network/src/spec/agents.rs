//! Agents that a network has at its switches, whatever the hosts run.

use farloop_cc::agents::AgentParams;

/// An agent at some switches. Each port takes one agent, be it this or an algorithm's own.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSpec {
    /// The agent, with its parameters.
    pub params: AgentParams,
    /// The numbers of the nodes that have it.
    pub switches: Vec<u32>,
}
