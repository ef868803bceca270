//! The time of a flow under each limit ([`farloop_network::limits`]): one store when its sender begins to wait, one addition when it goes
//! on.

use farloop_cc::FlowInfo;
use farloop_network::limits::{Limit, Times};
use farloop_units::{Bytes, Delta, Rate, Time};

/// The account of a flow.
pub(crate) struct Account {
    /// Since when its sender has waited in its place.
    pub since: Time,
    /// TCP with segmentation offload: the part of the windows that it left unused then, in 1/65536.
    pub unused: Option<u32>,
    /// True if TCP uses segmentation offload.
    pub offloads: bool,
    /// The limit that its pacing rate is: pacing below the rate of its path, [`Limit::Path`] below that of its host's link, or none.
    pub paces: Option<Limit>,
    /// Time of a full packet at the rate of the host's link, and of the slowest link of its path.
    pub gaps: [Delta; 2],
    /// The time up to which all is accounted for, and the number of packets sent by then.
    pub settled: Time,
    pub packets: u64,
    /// TCP: the time under pacing when the last wait for a window was over.
    pub paced: u64,
    /// Payload that the slowest link of its path carries in a base round-trip time: a window of that holds a flow back only for flows that
    /// are in the way.
    pub bdp: u64,
    /// Go-back-N: highest byte sent at the last loss, until all before it is acknowledged; otherwise zero.
    pub repairs_to: u64,
    /// Since when it repairs.
    pub repairs_since: Time,
    /// When the flow began.
    pub begin: Time,
    pub spent: Times,
}

impl Account {
    /// The account of a flow that begins; `slowest` is the rate of the slowest link of its path.
    pub fn new(now: Time, info: &FlowInfo, slowest: Rate, offloads: bool) -> Account {
        let bdp = slowest.bytes_in(info.base_rtt).get() / info.packet.get().max(1) * info.mss.get();
        Account {
            since: now,
            unused: None,
            offloads,
            paces: None,
            gaps: [info.line_rate, slowest].map(|rate| rate.time_to_send(info.packet)),
            settled: now,
            packets: 0,
            paced: 0,
            bdp,
            repairs_to: 0,
            repairs_since: Time::NEVER,
            begin: now,
            spent: Times::default(),
        }
    }

    /// The time since then was spent under `limit`.
    #[inline(always)]
    pub fn add(&mut self, limit: Limit, until: Time) {
        if self.repairs_to == 0 {
            self.spent[limit as usize] += until.as_ps().saturating_sub(self.since.as_ps());
        }
        (self.since, self.settled) = (until, until);
    }

    /// A wait for a window is over. A window that is too small for the path also holds the burst that leaves when it opens: the link is
    /// busy with that, and idle afterwards.
    #[inline(always)]
    pub fn add_window(&mut self, limit: Limit, packets: u64, until: Time) {
        if limit != Limit::Path {
            let burst = self.since.as_ps().saturating_sub(self.settled.as_ps());
            let own = packets.saturating_sub(self.packets).saturating_mul(self.gaps[0].as_ps());
            self.since = Time::from_ps(self.since.as_ps() - burst.min(own));
        }
        self.packets = packets;
        self.add(limit, until);
    }

    /// A window of `size` bytes that was full as a limit.
    #[inline(always)]
    pub fn window(&self, size: Bytes, limit: Limit) -> Limit {
        if size.get() < self.bdp { limit } else { Limit::Path }
    }
}
