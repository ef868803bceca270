//! Headroom: the part of a switch's buffer that PFC keeps for the bytes that still arrive after a pause.

use crate::spec::{BifrostSpec, ClockOffset, FlowSpec, LinkPfc, LinkSpec, NetworkSpec, NodeId, NodeKind, SwitchSpec};
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

    /// Headroom of `node`'s ingress port at the end of `link` whose other end is `peer`, for each class; `None` without PFC. With Bifrost
    /// it is all that the port may hold.
    pub fn headroom(&self, link: &LinkSpec, node: NodeId, peer: NodeId, largest: Bytes) -> Option<Bytes> {
        let NodeKind::Switch(SwitchSpec { pfc: Some(pfc), .. }) = &self.nodes[node as usize].kind else { return None };
        let sent = LinkSpec { rate: self.clock_offset(peer).fastest_rate(link.rate), ..*link };
        let computed = || required_headroom(&self.transport.with_noise(&sent, &self.nodes), largest);
        let pauses = link.pauses(&self.nodes[node as usize], &self.nodes[peer as usize]);
        pauses.then(|| match (link.pfc, self.bifrost(link, largest)) {
            (_, Some(bifrost)) => bifrost.buffer,
            (LinkPfc::On { headroom }, None) => headroom.unwrap_or_else(computed),
            (_, None) => pfc.headroom.unwrap_or_else(computed),
        })
    }

    /// Bifrost's settings at either end of a link that has it.
    pub fn bifrost(&self, link: &LinkSpec, largest: Bytes) -> Option<BifrostSpec> {
        let LinkPfc::Bifrost { buffer, slot } = link.pfc else { return None };
        let margin = link.rate.time_to_send(largest * 2 + Bytes::new(2 * u64::from(PFC_FRAME)));
        let (in_flight, lossy) = (required_headroom(link, largest), link.loss + link.corruption > 0.0);
        let bifrost = BifrostSpec { rate: link.rate, slot, in_flight, buffer: Bytes::ZERO, margin, lossy };
        Some(BifrostSpec { buffer: buffer.unwrap_or_else(|| bifrost.default_buffer()), ..bifrost })
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

    /// The authors' testbed (Section VI-A): 80 km, 400 us and 100 Gbps. They say a BDP of 9.5 MB and H = 9.72 MB = Δ + 3·R_s·T: BDP 9.54
    /// and H 9.9 in units of 2^20 B. Δ has three packets and two frames besides.
    #[test]
    fn bifrost_by_hand() {
        let pfc = LinkPfc::Bifrost { buffer: None, slot: LinkPfc::SLOT };
        let link = LinkSpec { pfc, ..LinkSpec::plain(0, 1, Rate::from_gbps(100), Delta::from_us(400)) };
        let plain = NetworkSpec::plain(Vec::new(), Vec::new(), farloop_cc::lookup("fixed").expect("known"), Vec::new());
        let bifrost = plain.bifrost(&link, Bytes::new(1538)).expect("it has it");
        assert_eq!(bifrost.slot_bytes(), Bytes::new(125_000));
        assert_eq!(bifrost.in_flight, Bytes::new(10_000_000 + 3 * 1538 + 168 + 1));
        assert_eq!(bifrost.buffer, bifrost.in_flight + Bytes::new(375_000));
        assert_eq!(bifrost.least_buffer(Bytes::new(1538)), bifrost.in_flight + Bytes::new(251_538));
        // Two packets and two frames: 3244 B at 80 ps.
        assert_eq!(bifrost.margin, Delta::from_ps(3244 * 80));
        assert_eq!(plain.bifrost(&LinkSpec { pfc: LinkPfc::Local, ..link }, Bytes::new(1538)), None);
    }
}
