//! The order in which a host's flows send.

/// The rule for the next flow of a host, of those that may send; one packet each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum NicOrder {
    /// The one that has waited longest: a flow that becomes ready goes behind all others. NICs keep such a queue of ready flows.
    #[default]
    Ready,
    /// The next one in the fixed cycle of all flows of the host, by their numbers (ns-3's `RdmaEgressQueue` of the HPCC paper).
    Cycle,
    /// The one that was handed its message first: messages of a host leave one after the other, as from one queue. A flow outside of jobs
    /// counts from its start.
    InOrder,
}
