//! Closed forms over a path: base round-trip time and ideal completion time.

use super::link::{LinkEnd, NodeRef};
use farloop_job::ideal::{Cost, Paths};
use farloop_units::{Bytes, Delta, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most switches on a path that stamp telemetry: as many hops as [`farloop_cc::IntRecord`]'s hop number can distinguish, bounded to the
/// paths of real networks.
pub const MAX_HOPS: usize = 16;

/// A link on a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Hop {
    /// Rate of the link.
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Delta,
    /// True if it is behind a circuit switch, which lets the bits pass as they come.
    circuit: bool,
}

impl From<&LinkEnd> for Hop {
    fn from(end: &LinkEnd) -> Hop {
        Hop { rate: end.rate, delay: end.delay, circuit: matches!(end.owner, NodeRef::Circuit(_)) }
    }
}

impl From<&Hop> for Hop {
    fn from(hop: &Hop) -> Hop {
        *hop
    }
}

impl Hop {
    /// Time to put `wire` bytes on the link; none behind a circuit switch.
    fn transmission_time(&self, wire: u16) -> Delta {
        if self.circuit { Delta::ZERO } else { self.rate.time_to_send(Bytes::new(u64::from(wire))) }
    }
}

/// Time from the start of the first bit at the source to the end of the last packet's last bit at the destination, for
/// `full` packets of `wire` bytes followed by one of `last` bytes (or none, if `last` is zero), alone in the empty network,
/// through store-and-forward nodes.
///
/// It saturates at [`Delta::MAX`], 213 days. The path is given by its hops, or by the ends of links that send.
///
/// With hop times t_i and delays d_i the k-th full packet leaves hop i at Σ_{j≤i} t_j + Σ_{j<i} d_j + (k-1)·max_{j≤i} t_j; the
/// last packet follows by D(i) = max(D_full(i), D(i-1) + d_{i-1}) + t_i(last).
pub fn ideal_time<E>(path: &[E], full: u64, wire: u16, last: u16) -> Delta
where
    Hop: for<'a> From<&'a E>,
{
    let mut before = Delta::ZERO; // when the last full packet has left hop i
    let mut slowest = Delta::ZERO;
    let mut sum = Delta::ZERO;
    let mut tail = Delta::ZERO; // when the last packet is complete at hop i's input
    for port in path.iter().map(Hop::from) {
        let t = port.transmission_time(wire);
        slowest = slowest.max(t);
        if full > 0 {
            sum = saturating_sum(sum, t);
            before = saturating_sum(sum, Delta::from_ps(slowest.as_ps().saturating_mul(full - 1)));
        }
        if last > 0 {
            tail = saturating_sum(saturating_sum(before.max(tail), port.transmission_time(last)), port.delay);
        }
        sum = saturating_sum(sum, port.delay);
    }
    let delay = path.last().map_or(Delta::ZERO, |p| Hop::from(p).delay);
    if last > 0 { tail } else { saturating_sum(before, delay) }
}

/// The least time of the same where each packet takes any of these ways, one after the other of each way.
pub(crate) fn ideal_time_of_ways(ways: &[Vec<LinkEnd>], full: u64, wire: u16, last: u16) -> Delta {
    let shapes: Vec<Vec<Hop>> = ways.iter().map(|way| way.iter().map(Hop::from).collect()).collect();
    let count = shapes.len() as u64;
    let Some(first) = shapes.first() else { return Delta::ZERO };
    if shapes.iter().all(|shape| shape == first) {
        let (full, last) = busiest_part((full, last), count);
        return ideal_time(first, full, wire, last);
    }
    // How many full packets each way brings there by a time grows with the time.
    let facts: Vec<(Delta, Delta)> = shapes
        .iter()
        .map(|shape| {
            let slowest = shape.iter().map(|hop| hop.transmission_time(wire)).max().unwrap_or(Delta::ZERO);
            (ideal_time(shape, 1, wire, 0), slowest.max(Delta::from_ps(1)))
        })
        .collect();
    let packets = full.max(1);
    let brought = |time: u64| {
        let of = |(first, each): &(Delta, Delta)| {
            time.checked_sub(first.as_ps()).map_or(0, |more| 1 + u128::from(more / each.as_ps()))
        };
        facts.iter().map(of).sum::<u128>()
    };
    let (mut low, mut high) = (0, Delta::MAX.as_ps());
    while low < high {
        let middle = low + (high - low) / 2;
        if brought(middle) >= u128::from(packets) { high = middle } else { low = middle + 1 }
    }
    if full > 0 {
        Delta::from_ps(low)
    } else {
        shapes.iter().map(|shape| ideal_time(shape, 0, wire, last)).min().unwrap_or(Delta::ZERO)
    }
}

/// The least time of the same where the packets take many paths at once, of which `path` is the shape: only the first link and the last
/// one, which all packets share, make them wait for one another.
fn ideal_time_over_many(path: &[Hop], full: u64, wire: u16, last: u16) -> Delta {
    let (Some(first), Some(end)) = (path.first(), path.last()) else { return Delta::ZERO };
    let ahead = if last > 0 { full } else { full.saturating_sub(1) };
    let alone = |wire: u16| if wire > 0 { ideal_time(path, 1, wire, 0) } else { Delta::ZERO };
    let busy = |port: &Hop| Delta::from_ps(port.transmission_time(wire).as_ps().saturating_mul(ahead));
    let by_first = saturating_sum(busy(first), alone(if last > 0 { last } else { wire }));
    // Of a last link behind others: the first packet is there, then all others pass.
    let begin = alone(if full > 0 { wire } else { last });
    let behind = if full > 0 && last > 0 { end.transmission_time(last) } else { Delta::ZERO };
    let others = end.transmission_time(wire).as_ps().saturating_mul(full.saturating_sub(1));
    by_first.max(saturating_sum(begin, saturating_sum(Delta::from_ps(others), behind)))
}

/// A path of messages, and the packets that they are cut into.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MessagePath {
    /// The links.
    pub hops: Vec<Hop>,
    /// Payload of a full packet.
    pub mss: u16,
    /// A full packet on the wire.
    pub packet: u16,
    /// A message takes whole multiples of this many bytes.
    pub unit: u64,
    /// True if packets take many paths.
    pub many: bool,
    /// Number of such paths, from different ports of the hosts, that the packets of a message are spread over.
    pub planes: u64,
}

impl MessagePath {
    /// The cost of a message. Interfaces are busy as long as full packets with these bytes would keep them: a small message may share a
    /// packet with the one before it.
    pub fn cost(&self, bytes: u64) -> Cost {
        let bytes = super::queue_pairs::stream_bytes(bytes, self.unit);
        let (full, rest) = busiest_part(split(Bytes::new(bytes), self.mss), self.planes);
        let header = self.packet - self.mss;
        let last = if rest > 0 { rest + header } else { 0 };
        let alone = if self.many { ideal_time_over_many } else { ideal_time };
        let busy = |hop: Option<&Hop>| {
            let rate = hop.map_or(u64::MAX, |hop| hop.rate.as_bps()).max(1);
            let bits = u128::from(bytes) * u128::from(self.packet) * 8 / u128::from(self.planes);
            let ps = bits * 1_000_000_000_000 / (u128::from(self.mss) * u128::from(rate));
            u64::try_from(ps).map_or(Delta::MAX, Delta::from_ps)
        };
        let before = &self.hops[..self.hops.len().saturating_sub(1)];
        let of_first = ideal_time(before, 1, if full > 0 { self.packet } else { last }, 0);
        let first = saturating_sum(of_first, self.hops.last().map_or(Delta::ZERO, |end| end.delay));
        let last = alone(&self.hops, full, self.packet, last);
        Cost { first: first.min(last), last, sending: busy(self.hops.first()), receiving: busy(self.hops.last()) }
    }
}

/// Costs of a job's messages on the paths of its queue pairs: by sending and receiving rank.
#[derive(Clone, Debug)]
pub struct MessagePaths(pub BTreeMap<(u32, u32), Arc<MessagePath>>);

impl Paths for MessagePaths {
    fn cost(&self, from: u32, to: u32, bytes: u64) -> Option<Cost> {
        self.0.get(&(from, to)).map(|path| path.cost(bytes))
    }
}

/// The sum, or the longest time.
pub fn saturating_sum(a: Delta, b: Delta) -> Delta {
    Delta::from_ps(a.as_ps().saturating_add(b.as_ps()))
}

/// Round-trip time of one packet of `wire` bytes along `forward` and its ACK of `ack` bytes along `backward`.
pub fn base_rtt<E>(forward: &[E], backward: &[E], wire: u16, ack: u16) -> Delta
where
    Hop: for<'a> From<&'a E>,
{
    saturating_sum(ideal_time(forward, 1, wire, 0), ideal_time(backward, 1, ack, 0))
}

/// Splits `payload` bytes into full packets and the payload of a last, smaller one.
pub fn split(payload: Bytes, mss: u16) -> (u64, u16) {
    (payload.get() / u64::from(mss), (payload.get() % u64::from(mss)) as u16)
}

/// The packets of the busiest of so many equal ways over which these, full ones and a shorter one, are spread evenly.
fn busiest_part((full, last): (u64, u16), ways: u64) -> (u64, u16) {
    match full % ways {
        0 => (full / ways, last),
        // The short one goes another way.
        _ => (full / ways + 1, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(rate: Rate, us: u64) -> Hop {
        Hop { rate, delay: Delta::from_us(us), circuit: false }
    }

    fn port(gbps: u64, us: u64) -> Hop {
        end(Rate::from_gbps(gbps), us)
    }

    #[test]
    fn times_beyond_the_longest_saturate() {
        let packets = 1_000_000_000_000; // of 1000 B each: 10^15 B
        // At 1 Mbps they take 8·10^21 ps, 400 times the largest duration.
        let slow = end(Rate::from_mbps(1), 1);
        assert_eq!(ideal_time(&[slow, slow], packets, 1000, 0), Delta::MAX);
        assert_eq!(ideal_time(&[slow, slow], packets, 1000, 7), Delta::MAX);
        // At 10 Gbps 800,000 s, another hop of 0.8 us, and two delays.
        let fast = end(Rate::from_gbps(10), 1);
        assert_eq!(ideal_time(&[fast, fast], packets, 1000, 0), Delta::from_secs(800_000) + Delta::from_ns(2_800));
    }

    #[test]
    fn a_message_costs_its_packets_and_interfaces_its_bytes() {
        let (fast, slow) = (port(100, 1), port(10, 2));
        let of = |hops: Vec<Hop>, many, unit| MessagePath { hops, mss: 1000, packet: 1250, unit, many, planes: 1 };
        let path = of(vec![fast, slow, fast], false, 1);
        // A byte with its headers, 251 B: 20.08 ns at 100 Gbps, 200.8 ns at 10 Gbps.
        let byte = path.cost(1);
        assert_eq!(byte.last, Delta::from_ps(20_080 + 200_800 + 20_080 + 4_000_000));
        assert_eq!((byte.sending, byte.receiving), (Delta::from_ps(100), Delta::from_ps(100)));
        assert_eq!(byte.first, Delta::from_ps(20_080 + 200_800 + 4_000_000));
        // Nothing counts as a byte; of multipath endpoints a packet.
        assert_eq!(path.cost(0), byte);
        assert_eq!(of(path.hops.clone(), false, 1000).cost(1).last, path.cost(1000).last);
        // Ten full packets wait for the slow hop, or have ten of them.
        let ten = path.cost(10_000);
        assert_eq!(ten.last, Delta::from_ns(100 + 10 * 1000 + 100 + 4000));
        assert_eq!(ten.sending, Delta::from_ns(1000));
        let spread = of(path.hops.clone(), true, 1).cost(10_000);
        assert_eq!(spread.last, Delta::from_ns(10 * 100 + 1000 + 100 + 4000));
        let (down, rest) = (of(vec![fast, fast, slow], true, 1), of(vec![fast, slow, fast], true, 1).cost(10_001));
        assert_eq!(down.cost(10_000).last, Delta::from_ns(100 + 100 + 10 * 1000 + 4000));
        assert_eq!(rest.last, Delta::from_ps(5_200_000 + 9 * 100_000 + 20_080));
        for bytes in [1, 999, 1000, 1001, 12_345, 1_000_000] {
            let (single, many) = (path.cost(bytes), of(path.hops.clone(), true, 1).cost(bytes));
            assert!(
                many.last <= single.last && single.first + single.receiving <= single.last,
                "{bytes} {single:?} {many:?}"
            );
        }
    }

    #[test]
    fn one_packet_pays_every_hop() {
        let (a, b) = (port(100, 1), port(10, 2));
        // 1500 B: 120 ns at 100 Gbps, 1200 ns at 10 Gbps.
        assert_eq!(ideal_time(&[a, b], 1, 1500, 0), Delta::from_ns(120 + 1000 + 1200 + 2000));
    }

    #[test]
    fn many_packets_pay_the_slowest_hop() {
        let (a, b) = (port(100, 1), port(10, 2));
        assert_eq!(ideal_time(&[a, b], 10, 1500, 0), Delta::from_ns(120 + 1000 + 1200 + 2000 + 9 * 1200));
        assert_eq!(ideal_time(&[b, a], 10, 1500, 0), Delta::from_ns(1200 + 2000 + 120 + 1000 + 9 * 1200));
    }

    #[test]
    fn a_short_last_packet_waits_for_the_one_before() {
        let (a, b) = (port(100, 1), port(10, 2));
        // The last 150 B (120 ns at 10 Gbps) wait until the full ones have left the slow hop.
        let full = Delta::from_ns(120 + 1000 + 1200 + 9 * 1200);
        assert_eq!(ideal_time(&[a, b], 10, 1500, 150), full + Delta::from_ns(120 + 2000));
    }
}
