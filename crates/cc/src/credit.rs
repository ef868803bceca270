//! Receiver credit: the bytes that a receiving host allows arriving flows to send.
//!
//! A sender may only send granted bytes. A host with one link grants at just below the rate of that link, to its flows in
//! turn, so arrivals never exceed it. A [`Granter`] is pure, like the other halves: it takes flows' demands and arrivals,
//! and says whom to grant how much and when. Its grants become control packets, which carry totals: one that is lost costs
//! nothing once the next arrives.
//!
//! [`PullPacer`] is the granter of Ultra Ethernet's RCCC ([`rccc`](crate::algorithms::rccc)), [`CoreControl`] slows it
//! where the network is oversubscribed. Source of both: ultraethernet/uet-htsim, htsim/sim/uec.cpp (`UecPullPacer`,
//! `UecSink::pull`) and oversubscribed_cc.cpp, commit 40ccb05. Equation numbers are those of `spec/rccc.md`.

#[cfg(test)]
mod tests;

use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::{BTreeMap, VecDeque};

/// The host and network of a granter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostInfo {
    /// Rate of the link by which data arrives.
    pub line_rate: Rate,
    /// Payload of a full-size packet.
    pub mss: Bytes,
    /// Largest unloaded round-trip time of the network.
    pub base_rtt: Delta,
    /// Rate towards the hosts below the network's switches over the rate towards its core: 1 where nothing is oversubscribed.
    pub oversubscription: f64,
}

/// Clock and randomness for one call of a granter.
pub struct GrantCtx<'a> {
    /// The simulated time.
    pub now: Time,
    /// The random stream of the host.
    pub random: &'a mut RandomStream,
}

/// Credit for one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The flow, by its number in the network.
    pub flow: u32,
    /// Bytes on the wire granted in the flow's life, this grant included.
    pub total: Bytes,
}

/// The half at a receiving host, for all flows that arrive there.
pub trait Granter: Send {
    /// The first packet of `flow` arrived, trimmed or not, before all else about that flow: its bandwidth-delay product and the size of its
    /// packets, as its sender knows them.
    fn on_begin(&mut self, flow: u32, bdp: Bytes, packet: Bytes);
    /// A packet of `flow` says that its sender wants `total` bytes on the wire in the flow's life.
    fn on_wanted(&mut self, ctx: &mut GrantCtx<'_>, flow: u32, total: Bytes);
    /// A data packet of any flow arrived, trimmed ones included; `marked` if it was marked Congestion Experienced.
    fn on_data(&mut self, ctx: &mut GrantCtx<'_>, marked: bool);
    /// A trimmed packet of `flow` arrived, so that it will send again; `last_hop`: the switch at this host's own link trimmed it. Beside
    /// [`Granter::on_data`] and [`Granter::on_wanted`].
    fn on_trimmed(&mut self, ctx: &mut GrantCtx<'_>, flow: u32, last_hop: bool);
    /// The flow has arrived whole.
    fn on_finish(&mut self, flow: u32);
    /// Time of the next call of [`Granter::pull`]; `None`: not before something arrives.
    fn next_pull(&self) -> Option<Time>;
    /// The time of [`Granter::next_pull`] has come: whom to grant what.
    fn pull(&mut self, ctx: &mut GrantCtx<'_>) -> Option<Grant>;
}

/// Numbers of a [`PullPacer`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PullLimits {
    /// Credit of one pull.
    pub per_pull: Bytes,
    /// Part of the link's rate that is granted.
    pub share: f64,
    /// Most credit that a flow holds beyond its demand, in its bandwidth-delay products.
    pub cap: f64,
    /// Limits that slow it where the network is oversubscribed.
    pub core: Option<CoreLimits>,
}

/// Credit of one time unit of the pacer, in bytes (UEC_PULL_QUANTUM).
pub const QUANTUM: u64 = 256;
/// Pacer time that a pull without a grant takes, in bytes of credit.
const EMPTY_PULL: u64 = 1024;

/// Where a flow waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    /// It wants more than it was granted.
    Active,
    /// It wants nothing more, and gets credit ahead where no other flow wants any.
    Idle,
    /// Neither.
    None,
}

#[derive(Clone, Debug)]
struct Flow {
    granted: u64,
    wanted: u64,
    most: u64,
    line: Line,
}

/// RCCC's granter: flows that want credit in turn, then those that may want some soon; at most a share of the link's rate.
#[derive(Clone, Debug)]
pub struct PullPacer {
    limits: PullLimits,
    rate: Rate,
    flows: BTreeMap<u32, Flow>,
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    next: Option<Time>,
    /// Until when the last pull takes.
    busy_until: Time,
    core: Option<CoreControl>,
}

impl PullPacer {
    /// Without flows.
    pub fn new(limits: PullLimits, host: &HostInfo) -> PullPacer {
        PullPacer {
            limits,
            rate: host.line_rate,
            flows: BTreeMap::new(),
            active: VecDeque::new(),
            idle: VecDeque::new(),
            next: None,
            busy_until: Time::ZERO,
            core: limits.core.map(CoreControl::new),
        }
    }

    /// The part of the link's rate that the network's core allows.
    pub fn core_rate(&self) -> f64 {
        self.core.as_ref().map_or(1.0, |core| core.rate)
    }

    fn observe(&mut self, ctx: &mut GrantCtx<'_>, what: Option<Arrival>) {
        if let Some(core) = &mut self.core {
            core.catch_up(ctx);
            if let Some(arrival) = what {
                core.observe(arrival);
            }
        }
    }

    fn leave_line(&mut self, flow: u32) {
        self.active.retain(|f| *f != flow);
        self.idle.retain(|f| *f != flow);
    }

    fn activate(&mut self, now: Time, flow: u32) {
        let Some(entry) = self.flows.get_mut(&flow) else { return };
        if entry.line == Line::Active {
            return;
        }
        entry.line = Line::Active;
        self.idle.retain(|f| *f != flow);
        self.active.push_back(flow);
        if self.next.is_none() {
            self.next = Some(self.busy_until.max(now));
        }
    }
}

impl Granter for PullPacer {
    fn on_begin(&mut self, flow: u32, bdp: Bytes, packet: Bytes) {
        let most = ((bdp.as_f64() * self.limits.cap) as u64).max(packet.get());
        self.flows.insert(flow, Flow { granted: 0, wanted: 0, most, line: Line::None });
    }

    fn on_wanted(&mut self, ctx: &mut GrantCtx<'_>, flow: u32, total: Bytes) {
        let Some(entry) = self.flows.get_mut(&flow) else { return };
        if total.get() > entry.wanted {
            entry.wanted = total.get();
            self.activate(ctx.now, flow);
        }
    }

    fn on_data(&mut self, ctx: &mut GrantCtx<'_>, marked: bool) {
        self.observe(ctx, Some(if marked { Arrival::Marked } else { Arrival::Plain }));
    }

    fn on_trimmed(&mut self, ctx: &mut GrantCtx<'_>, flow: u32, last_hop: bool) {
        self.observe(ctx, Some(if last_hop { Arrival::TrimmedHere } else { Arrival::TrimmedElsewhere }));
        self.activate(ctx.now, flow);
    }

    fn on_finish(&mut self, flow: u32) {
        self.leave_line(flow);
        self.flows.remove(&flow);
        if self.active.is_empty() && self.idle.is_empty() {
            self.next = None;
        }
    }

    fn next_pull(&self) -> Option<Time> {
        self.next
    }

    fn pull(&mut self, ctx: &mut GrantCtx<'_>) -> Option<Grant> {
        self.observe(ctx, None);
        let per_pull = self.limits.per_pull.get();
        let (flow, credit) = if let Some(flow) = self.active.pop_front() {
            let entry = self.flows.get_mut(&flow).expect("flows in a line are known");
            let credit = per_pull.min(entry.wanted.saturating_sub(entry.granted)); // (3)
            entry.granted += credit;
            if entry.wanted > entry.granted {
                self.active.push_back(flow);
            } else {
                entry.line = Line::Idle;
                self.idle.push_back(flow);
            }
            (flow, credit)
        } else if let Some(flow) = self.idle.pop_front() {
            let entry = self.flows.get_mut(&flow).expect("flows in a line are known");
            entry.granted += per_pull; // (4)
            if entry.granted.saturating_sub(entry.wanted) < entry.most {
                self.idle.push_back(flow);
            } else {
                entry.line = Line::None;
            }
            (flow, per_pull)
        } else {
            self.next = None;
            return None;
        };
        let paid = if credit == 0 { EMPTY_PULL } else { credit };
        let rate = self.rate.as_f64() * self.limits.share * self.core_rate();
        let seconds = paid as f64 * 8.0 / rate.max(1.0); // (2)
        self.busy_until = ctx.now.saturating_add(Delta::from_secs_f64(seconds).max(Delta::from_ps(1)));
        let waits = !self.active.is_empty() || !self.idle.is_empty();
        self.next = waits.then_some(self.busy_until);
        let total = Bytes::new(self.flows[&flow].granted);
        Some(Grant { flow, total })
    }
}

/// Numbers of a [`CoreControl`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CoreLimits {
    /// Largest unloaded round-trip time of the network.
    pub base_rtt: Delta,
    /// Part of marked packets above which the rate falls.
    pub target: f64,
    /// Part of the excess by which it falls.
    pub decrease: f64,
    /// Growth step.
    pub increase: f64,
    /// Weight of a new part of marked packets.
    pub weight: f64,
    /// Smallest rate, as a part of the link's.
    pub least: f64,
}

/// A data packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    Plain,
    Marked,
    /// Counted beside the packet itself, which is one of the former.
    TrimmedHere,
    TrimmedElsewhere,
}

/// Periods of a long silence whose lengths are drawn: their sum has a standard deviation of more than a period.
const DRAWN_PERIODS: u64 = 64;

/// Total grants of a receiving host where the network's core is oversubscribed: less after marks and trims, more without.
#[derive(Clone, Debug)]
pub struct CoreControl {
    limits: CoreLimits,
    /// Part of the link's rate.
    rate: f64,
    /// Average part of marked packets (g).
    marked: f64,
    /// Increases in a row.
    increases: u32,
    next: Option<Time>,
    packets: u64,
    marks: u64,
    trimmed_here: u64,
    trimmed_elsewhere: u64,
}

impl CoreControl {
    /// The whole rate.
    pub fn new(limits: CoreLimits) -> CoreControl {
        CoreControl {
            limits,
            rate: 1.0,
            marked: 0.0,
            increases: 0,
            next: None,
            packets: 0,
            marks: 0,
            trimmed_here: 0,
            trimmed_elsewhere: 0,
        }
    }

    fn observe(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Plain => self.packets += 1,
            Arrival::Marked => {
                self.packets += 1;
                self.marks += 1;
            }
            Arrival::TrimmedHere => self.trimmed_here += 1,
            Arrival::TrimmedElsewhere => self.trimmed_elsewhere += 1,
        }
    }

    /// Does what was due before now. Periods follow each other from the simulation's beginning on, so that the first packet meets one that
    /// is under way (`OversubscribedCC::OversubscribedCC`). A control that had nothing to see for long grows back to the whole rate, and
    /// rests there; of a longer silence the last periods alone are drawn, which forget where the one before ended.
    fn catch_up(&mut self, ctx: &mut GrantCtx<'_>) {
        let longest = self.limits.base_rtt.mul_f64(1.5 * 1.25);
        while self.next.is_none_or(|due| due <= ctx.now) {
            let mut from = Time::ZERO;
            if let Some(due) = self.next {
                self.step();
                from = due;
            }
            let rests = self.rate >= 1.0 && self.marked < 1e-9;
            if rests && ctx.now.since(from) > longest * DRAWN_PERIODS {
                from = ctx.now - longest * DRAWN_PERIODS;
            }
            let pause = self.limits.base_rtt.mul_f64(1.5 * (0.75 + ctx.random.uniform() / 2.0)); // (5)
            self.next = Some(from.saturating_add(pause.max(Delta::from_ps(1))));
        }
    }

    /// One period is over (6) to (9).
    fn step(&mut self) {
        let CoreLimits { target, decrease, increase, weight, least, .. } = self.limits;
        let whole = self.packets.saturating_sub(self.trimmed_here + self.trimmed_elsewhere);
        let fraction = if whole > 0 { (self.marks as f64 / whole as f64).min(1.0) } else { 0.0 };
        let mut falls = false;
        if self.trimmed_elsewhere > 0 {
            self.rate -= self.trimmed_elsewhere as f64 / self.packets.max(1) as f64; // (6)
            falls = true;
        }
        self.marked = self.marked * (1.0 - weight) + weight * fraction; // (7)
        if self.marked > target && decrease > 0.0 {
            self.rate *= 1.0 - (self.marked - target) * decrease; // (8)
            falls = true;
        }
        if falls {
            self.increases = 0;
        } else {
            let times = if self.marks == 0 { libm::exp2(f64::from(self.increases.min(64))) } else { 1.0 };
            self.rate += increase * times; // (9)
            self.increases = self.increases.saturating_add(1);
        }
        self.rate = self.rate.clamp(least, 1.0);
        (self.packets, self.marks, self.trimmed_here, self.trimmed_elsewhere) = (0, 0, 0, 0);
    }
}
