//! AccelToR's arithmetic (Chen, Tian and Zhang): how long before its circuit a flow is accelerated, how many days the calendar queue has,
//! and which timeouts its hosts need.

use farloop_units::{Bytes, Delta, Rate};

/// Round-trip times through the circuit in a day, `n` (§III-C).
pub fn rtts_per_day(day: Delta, circuit_rtt: Delta) -> u64 {
    day.as_ps() / circuit_rtt.as_ps().max(1)
}

/// Round-trip times for which a flow is accelerated, `m`: the one whose window `2^m` is the first of at least `n` packets (Theorem 1).
pub fn acceleration(n: u64) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

/// Days before that of its circuit from which on a flow's packets must be let in, `K1` (Eq. 1).
pub fn days_ahead(m: u32, packet_rtt: Delta, day: Delta, night: Delta) -> u64 {
    (u64::from(m + 1) * packet_rtt.as_ps()).div_ceil((day + night).as_ps().max(1))
}

/// Queues of the calendar: one for the day at hand, [`days_ahead`], and one more as a safe margin (§III-E).
pub fn calendar_queues(days_ahead: u64, safe_margin: bool) -> u64 {
    days_ahead + 1 + u64::from(safe_margin)
}

/// The lower bound of retransmission timeouts with which a flow that lost packets at the end of its day comes back when it is accelerated
/// next (Eq. 6). Zero where the week is shorter than that.
pub fn min_rto(week: Delta, day: Delta, m: u32, packet_rtt: Delta) -> Delta {
    let before = day.as_ps().saturating_add(u64::from(m + 1).saturating_mul(packet_rtt.as_ps()));
    Delta::from_ps(week.as_ps().saturating_sub(before))
}

/// The minimum timeout where flows wait for their circuit (Eq. 7).
pub fn min_rto_blocked(week: Delta, day: Delta) -> Delta {
    Delta::from_ps(week.as_ps().saturating_sub(day.as_ps()))
}

/// Returns the load that acceleration puts on a rack's links to the packet network: each of `flows` elephants of a rack pair sends windows
/// of 1, 2, ... `2^(m-1)` packets once in a slot (§III-F).
pub fn demand(flows: u64, m: u32, packet: Bytes, slot: Delta) -> Rate {
    let bits = u128::from(flows) * ((1u128 << m.min(63)) - 1) * u128::from(packet.get()) * 8;
    let bps = bits * 1_000_000_000_000 / u128::from(slot.as_ps().max(1));
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

/// Elephants of a rack pair whose first windows, of `2^m` packets each, the queue of a day has room for: `|F_i| <= B / 2^m` (§III-F).
pub fn most_elephants(queue: Bytes, m: u32, packet: Bytes) -> u64 {
    let window = (1u128 << m.min(63)) * u128::from(packet.get().max(1));
    (u128::from(queue.get()) / window) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growth of a window that begins with one packet (§III-D, Fig. 5).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Growth {
        /// The window at the end of the day, in packets.
        window: u64,
        /// Packets sent in the day.
        packets: u64,
    }

    /// Growth of an accelerated flow in a day of `n` round-trip times: it begins with `2^m` packets and adds one in each.
    fn accelerated(n: u64) -> Growth {
        let first = 1 << acceleration(n);
        Growth { window: first + n, packets: (first..first + n).sum() }
    }

    /// Growth of a flow that begins with the day: `x` round-trip times in slow start, `y` in congestion avoidance, `x + y = n` and
    /// `2^(x-1) < y <= 2^x` (Eq. 5). `None` if no whole numbers solve these.
    fn unaccelerated(n: u64) -> Option<Growth> {
        let x = (1..n.min(63)).find(|x| 1 << (x - 1) < n - x && n - x <= 1 << x)?;
        let y = n - x;
        Some(Growth { window: 2 * y, packets: (1 << x) - 1 + (y..2 * y).sum::<u64>() })
    }

    fn us(n: u64) -> Delta {
        Delta::from_us(n)
    }

    /// §III-C and D, Fig. 5: n = 8, RTT 30 us.
    #[test]
    fn the_worked_example() {
        assert_eq!(acceleration(8), 3);
        assert_eq!((accelerated(8).window, unaccelerated(8).map(|g| g.window)), (16, Some(10)));
        let (with, without) = (accelerated(8).packets, unaccelerated(8).expect("whole numbers").packets);
        assert_eq!((with, without), (92, 42));
        assert_eq!(format!("{:.2}", with as f64 / without as f64), "2.19");
        assert_eq!(days_ahead(3, us(30), us(240), us(20)), 1);
        assert_eq!((calendar_queues(1, true), calendar_queues(1, false)), (3, 2));
        assert_eq!(min_rto(us(12_740), us(240), 3, us(30)), us(12_380));
    }

    /// The largest m with m + n = x + y, m <= x and 2^(x-1) < y <= 2^x, by looking at all of them.
    #[test]
    fn theorem_1_by_exhaustive_search() {
        for n in 2..=64u64 {
            let mut solutions = Vec::new();
            for x in 1..=20u64 {
                let fits = |y: &u64| 1 << (x - 1) < *y && *y <= 1 << x && x + y > n && x + y - n <= x;
                solutions.extend((1..=2 * n).filter(fits).map(|y| (x + y - n, x, y)));
            }
            let most = solutions.iter().max().expect("there is one").0;
            let best: Vec<_> = solutions.into_iter().filter(|(m, ..)| *m == most).collect();
            let m = u64::from(acceleration(n));
            assert_eq!(best, [(m, m, n)], "n = {n}: one solution, x = m and y = n");
        }
    }

    /// §IV-B: days of 240 us, nights of 20 us, RTT 55 and 60 us.
    #[test]
    fn the_evaluation_s_parameters() {
        let n = rtts_per_day(us(240), us(55));
        let m = acceleration(n);
        assert_eq!((n, m, days_ahead(m, us(60), us(240), us(20))), (4, 2, 1));
        for (racks, rto) in [(8, 1_400), (16, 3_480), (32, 7_640), (50, 12_320), (72, 18_040)] {
            let week = us(260) * (racks - 1);
            assert_eq!(min_rto(week, us(240), m, us(60)), us(rto), "{racks} racks");
            assert_eq!(min_rto_blocked(week, us(240)), us(rto + 180));
        }
        assert_eq!(min_rto(us(260), us(240), m, us(60)), Delta::ZERO);
        // 80 flows to each rack, three packets of 1500 B each: more than one link of 10 Gbps.
        assert_eq!(demand(80, m, Bytes::new(1500), us(260)).as_bps() / 1_000_000, 11_076);
        // 500 kB hold the windows of 83 flows, more than the 80 of the evaluation, whose 2^m |F| = 480 kB.
        assert_eq!(most_elephants(Bytes::new(500_000), m, Bytes::new(1500)), 83);
        assert_eq!(most_elephants(Bytes::new(300_000), m, Bytes::new(1500)), 50);
        assert_eq!(most_elephants(Bytes::new(5999), m, Bytes::new(1500)), 0);
    }
}
