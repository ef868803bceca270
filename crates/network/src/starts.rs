//! Beginnings of flows: for each algorithm and kind of path the window and rate that its flows had before the first ACK.

use crate::result::{Range, StartRow};
use farloop_units::{Bytes, Delta, Rate};
use std::collections::BTreeMap;

/// Window, rate and path of a flow that begins.
pub struct Beginning {
    /// Index of its algorithm.
    pub algorithm: u16,
    /// True if it goes to another datacenter.
    pub crosses: bool,
    /// In payload; [`Bytes::MAX`] for no limit.
    pub cwnd: Bytes,
    /// On the wire; [`Rate::MAX`] for no limit.
    pub pacing: Rate,
    /// Slow start threshold, in payload.
    pub ssthresh: Option<Bytes>,
    /// Rate of its host's link.
    pub line_rate: Rate,
    /// Base round-trip time of its path.
    pub base_rtt: Delta,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// A full packet on the wire.
    pub packet: Bytes,
}

/// The beginnings of the flows of a part.
#[derive(Default)]
pub struct Starts(BTreeMap<(u16, bool), StartRow>);

impl Starts {
    /// A flow has begun.
    pub fn note(&mut self, flow: &Beginning) {
        let &Beginning { algorithm, crosses, cwnd, pacing, .. } = flow;
        let (mss, packet) = (u128::from(flow.mss.get().max(1)), u128::from(flow.packet.get().max(1)));
        let bdp = u128::from(flow.line_rate.bytes_in(flow.base_rtt).get().max(1));
        // Bytes that the NIC's rate, the pacing rate and the window let out before the first ACK can be back.
        let paced = u128::from(pacing.min(flow.line_rate).bytes_in(flow.base_rtt).get());
        let wire = paced.min(u128::from(cwnd.get()) * packet / mss);
        let first = Bytes::new((wire * mss / packet) as u64);
        let own = StartRow {
            algorithm,
            crosses,
            flows: 1,
            slow_start: u64::from(flow.ssthresh.is_some_and(|threshold| cwnd < threshold)),
            cwnd: Range::from_value(cwnd),
            pacing: Range::from_value(pacing),
            first: Range::from_value(first),
            share_ppm: Range::from_value((wire * 1_000_000 / bdp) as u64),
            mss: flow.mss,
        };
        self.join(&own);
    }

    /// The flows of another part have begun, too.
    pub fn add(&mut self, other: &Starts) {
        other.0.values().for_each(|row| self.join(row));
    }

    /// Returns the rows by algorithm, those inside a datacenter first.
    pub fn rows(self) -> Vec<StartRow> {
        self.0.into_values().collect()
    }

    fn join(&mut self, row: &StartRow) {
        self.0.entry((row.algorithm, row.crosses)).and_modify(|known| known.join(row)).or_insert(*row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginning(cwnd: Bytes, pacing: Rate, ssthresh: Option<Bytes>) -> Beginning {
        let (line_rate, base_rtt) = (Rate::from_gbps(100), Delta::from_us(100));
        let (mss, packet) = (Bytes::new(1460), Bytes::new(1538));
        Beginning { algorithm: 1, crosses: true, cwnd, pacing, ssthresh, line_rate, base_rtt, mss, packet }
    }

    #[test]
    fn windows_and_rates_are_reported_alike_and_parts_are_joined() {
        let (mut here, mut there) = (Starts::default(), Starts::default());
        here.note(&beginning(Bytes::new(14_600), Rate::MAX, Some(Bytes::MAX)));
        there.note(&beginning(Bytes::MAX, Rate::from_gbps(50), None));
        here.add(&there);
        let [row] = here.rows()[..] else { panic!("one kind") };
        assert_eq!((row.flows, row.slow_start), (2, 1));
        assert_eq!((row.cwnd.least, row.cwnd.most), (Bytes::new(14_600), Bytes::MAX));
        // Ten packets of 1.25 MB on the wire, and half of it.
        assert_eq!((row.share_ppm.least, row.share_ppm.most), (12_304, 500_000));
        assert_eq!((row.first.least, row.first.most), (Bytes::new(14_600), Bytes::new(593_302)));
    }
}
