//! Path state that hosts keep for later connections: the slow start threshold (Linux 4.9, `tcp_update_metrics`, `tcp_init_metrics`).
//!
//! The kernel keeps more: the reordering that it has seen, which is not modelled, the round-trip time, which can only lengthen the first
//! timeout, and a window that counts only where an administrator locks it. It forgets after an hour.

use farloop_units::Bytes;
use std::collections::BTreeMap;

/// State of a connection when it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub cwnd: Bytes,
    /// [`Bytes::MAX`] in its first slow start.
    pub ssthresh: Bytes,
    /// True if it repairs no loss (`TCP_CA_Open`).
    pub open: bool,
}

/// Slow start thresholds by source and destination node.
#[derive(Default)]
pub(crate) struct Thresholds(BTreeMap<(u32, u32), Bytes>);

impl Thresholds {
    /// The threshold that a connection between these nodes begins with, if one is known.
    pub fn threshold(&self, ends: (u32, u32)) -> Option<Bytes> {
        self.0.get(&ends).copied()
    }

    /// A connection between these nodes ends, or could end.
    pub fn keep(&mut self, ends: (u32, u32), left: Left) {
        let Left { cwnd, ssthresh, open } = left;
        let (known, half) = (self.threshold(ends), Bytes::new(cwnd.get() / 2));
        let now = if ssthresh == Bytes::MAX {
            // Slow start never ended: the window shows only that the path can take this much.
            known.map(|known| known.max(half))
        } else if cwnd >= ssthresh && open {
            Some(ssthresh.max(half))
        } else {
            known.map(|known| known.max(ssthresh))
        };
        if let Some(now) = now {
            self.0.insert(ends, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn avoidance_decides_all_else_can_only_raise() {
        let mut kept = Thresholds::default();
        let mut after = |cwnd, ssthresh, open| {
            kept.keep((1, 2), Left { cwnd: Bytes::new(cwnd), ssthresh: Bytes::new(ssthresh), open });
            kept.threshold((1, 2)).map(Bytes::get)
        };
        let first = u64::MAX;
        // Nothing is known: neither the first slow start nor one that an old threshold cut short makes it so.
        assert_eq!([after(90_000, first, true), after(20_000, 30_000, true), after(40_000, 30_000, false)], [None; 3]);
        // In avoidance: the threshold, or half of the window where that is more; also down again.
        assert_eq!([after(40_000, 30_000, true), after(80_000, 30_000, true)], [Some(30_000), Some(40_000)]);
        assert_eq!(after(20_000, 20_000, true), Some(20_000));
        // Slow start, the first or a later one, and losses under repair: up only.
        assert_eq!([after(30_000, first, true), after(60_000, first, true)], [Some(20_000), Some(30_000)]);
        assert_eq!([after(10_000, 25_000, true), after(10_000, 35_000, true)], [Some(30_000), Some(35_000)]);
        assert_eq!([after(90_000, 25_000, false), after(90_000, 36_000, false)], [Some(35_000), Some(36_000)]);
        assert_eq!(kept.threshold((2, 1)), None, "the other way");
    }
}
