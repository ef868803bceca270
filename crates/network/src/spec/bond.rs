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
