//! [`Names`]: names for the numbers in records.

use std::borrow::Cow;

/// Names for the numbers in records. Writers ask once for each port, host and flow that a trace holds.
pub trait Names {
    /// A port's node and its neighbour.
    fn port(&self, port: u32) -> (Cow<'_, str>, Cow<'_, str>);
    /// A host.
    fn host(&self, host: u32) -> Cow<'_, str>;
    /// A flow.
    fn flow(&self, flow: u32) -> FlowName<'_>;
}

/// A flow's name, ends and transport.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowName<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Number of its source among the hosts.
    pub from: u32,
    /// Number of its destination among the hosts.
    pub to: u32,
    /// Protocol of its packets.
    pub protocol: Protocol,
}

/// A transport's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// RoCEv2.
    Rdma,
    /// TCP over IPv4.
    Tcp,
}
