//! Headroom: the part of a switch's buffer that PFC keeps for the bytes that still arrive after a pause.

use crate::spec::{ClockOffset, FlowSpec, LinkSpec, NetworkSpec, NodeId, NodeKind, SwitchSpec};
use farloop_units::{Bytes, Delta};

/// A PFC frame: 64 bytes of Ethernet frame, 20 of preamble and gap (IEEE 802.1Qbb).
pub const PFC_FRAME: u16 = 84;

/// Headroom of one class that no arrival pattern exceeds: the bytes that can still arrive after the threshold is crossed.
///
/// The packet that crosses it; the largest packet that may delay the Xoff frame on the reverse link; two PFC frames (another
/// class' and this one); one round trip of the link; the largest packet that the neighbour had just started.
pub fn required_headroom(link: &LinkSpec, largest_packet: Bytes) -> Bytes {
    link.rate.bytes_in(link.delay * 2 + Delta::from_ps(1)) + largest_packet * 3 + Bytes::new(2 * PFC_FRAME as u64 + 1)
}

impl NetworkSpec {
    /// Returns the clock offset of a node.
    pub fn clock_offset(&self, node: NodeId) -> ClockOffset {
        self.clock_offsets.get(node as usize).copied().unwrap_or_default()
    }

    /// Headroom of `node`'s ingress port at the end of `link` whose other end is `peer`, for each class; `None` without PFC.
    pub fn headroom(&self, link: &LinkSpec, node: u32, peer: u32, largest: Bytes) -> Option<Bytes> {
        let NodeKind::Switch(SwitchSpec { pfc: Some(pfc), .. }) = &self.nodes[node as usize].kind else { return None };
        let sent = LinkSpec { rate: self.clock_offset(peer).fastest_rate(link.rate), ..*link };
        let computed = || required_headroom(&self.transport.with_noise(&sent, &self.nodes), largest);
        let pauses = self.nodes[node as usize].pauses(&self.nodes[peer as usize]);
        pauses.then(|| pfc.headroom.unwrap_or_else(computed))
    }

    /// Headroom is reserved for each class that carries traffic.
    pub fn classes_with_traffic(&self) -> u64 {
        (0..FlowSpec::CLASSES)
            .filter(|c| self.flows.iter().any(|f| f.class == *c) || self.jobs.iter().any(|j| j.class == *c))
            .count()
            .max(1) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Rate;

    #[test]
    fn headroom_by_hand() {
        // 100 Gbps, 1 us: 25 000 B of round trip, three packets of 1538 B, two frames of 84 B, rounded up.
        let link = LinkSpec::plain(0, 1, Rate::from_gbps(100), Delta::from_us(1));
        assert_eq!(required_headroom(&link, Bytes::new(1538)), Bytes::new(25_000 + 3 * 1538 + 168 + 1));
    }
}
