//! The choice among the NIC ports of a host.

/// The rule by which a flow gets the NIC port that it uses at both ends, where its hosts have several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bond {
    /// Pinned by a hash of the flow, as a bond of Ethernet ports does (IEEE 802.1AX, `layer3+4` of Linux).
    Hash,
    /// Pinned in turn: the k-th flow or queue pair of a host uses port k mod n.
    Rail,
    /// Not pinned: each packet leaves by whichever port is free. Multipath endpoints only.
    Spray,
}

/// The rule by which messages of a job get the NIC port that they use at both ends, where their hosts have several. A port that does not
/// lead to the destination is replaced as [`Bond`] chooses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum JobPorts {
    /// The rule of all flows, for each pair of ranks.
    #[default]
    Bond,
    /// By the rank that sends: the k-th rank of a host uses port k mod n.
    Rank,
    /// By the message: [`Operation::nic`](farloop_job::Operation::nic), with a queue pair for each pair of ranks and interface.
    Interface,
}
