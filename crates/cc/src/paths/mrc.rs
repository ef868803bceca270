//! `mrc`: a set of paths of which each is good, passed over once, taken for dead, or denied.
//!
//! Sources: the Multipath Reliable Connection specification of the Open Compute Project, revision 1.0 (§9.3, Fig. 5), as
//! anichol67/MRC-Client has it (core/ev_engine.py, core/probing.py, commit 986ded2), and "Resilient AI Supercomputer Networking using MRC
//! and SRv6" (§2.4), as segmentrouting/srv6-mrc-emulator keeps its text. Equation numbers are those of `spec/mrc.md`.
//!
//! The model in six lines:
//! - a queue pair has as many entropy values (EVs) in each of its planes as in any other, drawn at random, and some more as backups;
//! - packets take the EVs of their plane in an order that is drawn anew for each pass (E1);
//! - a mark or a trim before the last hop lets an EV be passed over: SKIP, until its turn has passed or a time (E2);
//! - a packet that is lost without a trim, or a receiver that says so, makes it ASSUMED_BAD: a backup of its plane takes its place (E3),
//!   unless fewer EVs than a floor would be left (E4);
//! - probes look at EVs that are assumed bad; enough answers in a row bring one back (E5);
//! - the controller denies an EV, and only it allows it again (E6).
//!
//! The sources leave open how long SKIP lasts, how often is probed and how many answers are enough. These are parameters.

#[cfg(test)]
mod tests;

use super::*;
use std::collections::VecDeque;

farloop_units::params! {
    /// Parameters of [`Mrc`].
    pub struct MrcParams {
        /// EVs of a queue pair over all of its planes, equally many in each (MRC 1.0: 128 to 256).
        evs: u32 = 256, in 1 => 4096;
        /// Backups over all planes, equally many in each (the paper has "a backup EV set" of no size: ours).
        backups: u32 = 64, in 0 => 4096;
        /// Fewest EVs of a queue pair that are in use; below that none becomes ASSUMED_BAD (MRC 1.0: ev_min_active, of no value: ours).
        min_active: u32 = 8, in 0 => 4096;
        /// Time that a marked EV is passed over; none: its next turn (none: a guide to the specification; 1 ms: MRC-Client).
        skip_time: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10));
        /// Time between probes of an EV that is assumed bad; none: a hundred base round-trip times (open in the sources: ours).
        probe_interval: Option<Delta> = None, in Some(Delta::from_ns(100)) => Some(Delta::from_secs(100));
        /// Probes in a row that must be answered before such an EV is used again (the paper: "enough"; its emulator: 5).
        probes: u32 = 5, in 1 => 1000;
        /// An EV whose last probe came back with a mark is passed over once; false: it is good (true: a guide; false: MRC-Client).
        probe_mark_skips: bool = true;
        /// EVs have states; false: all are used in turn, whatever they meet (ours, to compare with).
        states: bool = true;
        /// Time without any answer, in base round-trip times, after which data in flight is asked for by a reliability probe; none: never
        /// (MRC 1.0, §7.4.6, of no value: ours).
        reliability_probe: Option<f64> = Some(3.0), in Some(0.5) => Some(1000.0);
        /// Answers to trimmed packets are negotiated; false: the receiver sends none, and what is trimmed is lost (MRC 1.0: optional).
        trim_nacks: bool = true;
        /// Answers name the ports of their host that are down, and the sender leaves these planes (MRC 1.0, §7.4.8); false: its EVs alone
        /// find out.
        port_status: bool = true;
        /// Time after such news until the plane is left, or used again (open: the paper sees a few seconds with one NIC; ours: at once).
        remap_time: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(100);
        /// A receiver looks for a control EV that works by a probe in each round trip in which data or a reliability probe arrives (the
        /// paper, §2.4); false: it keeps those that it has drawn.
        control_probes: bool = true;
        /// Window penalty, Rcv_Cwnd_Pend, that receivers put into each SACK (MRC 1.0: 0 to 127, as the receiver sees fit: 0).
        penalty: u8 = 0, in 0 => 127;
    }
}

/// Paths with states: see the header of this file.
pub struct Mrc;

impl Chooser for Mrc {
    const NAME: &'static str = "mrc";
    const SUMMARY: &'static str = "packets take good paths in turn; lost ones are taken for dead, replaced and probed";
    const SOURCE: &'static str = "OCP Multipath Reliable Connection 1.0, §9.3, by anichol67/MRC-Client";
    type Params = MrcParams;
    type State = Box<MrcState>;
    fn start(params: &MrcParams, info: &PathInfo, random: &mut RandomStream) -> Box<MrcState> {
        Box::new(MrcState::new(params, info, random))
    }
}

/// The state of an entropy value (MRC 1.0, Fig. 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvState {
    /// It is used.
    Good,
    /// The controller forbids it.
    Denied,
    /// Its next turn is passed over.
    Skip,
    /// It is taken for dead, and probed.
    AssumedBad,
}

/// Something that happens to an entropy value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EvEvent {
    /// A SACK says SKIP_ONCE: its packet was marked.
    SkipOnce,
    /// Its packet was trimmed before the last hop.
    Trimmed,
    /// A SACK says ALWAYS_SKIP.
    AlwaysSkip,
    /// Its packet was lost, and neither trimmed nor acknowledged.
    Lost,
    /// Its turn has passed, or its time.
    Passed,
    /// Enough probes were answered, the last one with this mark.
    Probed {
        /// True if it was marked.
        marked: bool,
    },
    /// The controller denies it.
    Deny,
    /// The controller allows it.
    Allow,
}

impl EvState {
    /// The next state. `may_leave`: enough others are in use. `mark_skips`: an EV whose probe was marked is passed over first.
    pub fn after(self, event: EvEvent, may_leave: bool, mark_skips: bool) -> EvState {
        match (self, event) {
            (_, EvEvent::Deny) => EvState::Denied,
            (EvState::Denied, EvEvent::Allow) => EvState::Good, // (E6)
            (EvState::Good, EvEvent::SkipOnce | EvEvent::Trimmed) => EvState::Skip, // (E2)
            (EvState::Good | EvState::Skip, EvEvent::AlwaysSkip | EvEvent::Lost) if may_leave => EvState::AssumedBad, // (E3) (E4)
            (EvState::Skip, EvEvent::Passed) => EvState::Good,
            (EvState::AssumedBad, EvEvent::Probed { marked: true }) if mark_skips => EvState::Skip,
            (EvState::AssumedBad, EvEvent::Probed { .. }) => EvState::Good, // (E5)
            (same, _) => same,
        }
    }

    /// In words, for tables.
    pub fn name(self) -> &'static str {
        match self {
            EvState::Good => "good",
            EvState::Denied => "denied",
            EvState::Skip => "skip",
            EvState::AssumedBad => "assumed bad",
        }
    }

    /// Returns true if packets may take it, at once or in a turn or so.
    pub fn is_in_use(self) -> bool {
        matches!(self, EvState::Good | EvState::Skip)
    }
}

/// An entropy value of a plane.
#[derive(Clone, Copy, Debug)]
struct Ev {
    value: Entropy,
    state: EvState,
    /// Until when it is passed over, where that is a time.
    skip_until: Time,
    /// When it is probed next, whether the last probe has no answer yet, and how many in a row had one.
    probe_at: Time,
    asked: bool,
    answered: u32,
}

/// The EVs of a queue pair in one plane.
#[derive(Clone, Debug)]
pub struct MrcState {
    evs: Vec<Ev>,
    /// Their places among those, by value.
    by_value: Vec<(Entropy, u16)>,
    /// Those that packets take, in the order of this pass.
    order: Vec<u16>,
    /// The next of these.
    position: usize,
    /// Good ones that wait for a place.
    backups: VecDeque<u16>,
    /// Those of the order that are in use.
    in_use: u32,
    /// As many in all other planes of the queue pair.
    elsewhere: u32,
    /// When the first probe is due.
    next_probe: Time,
    min_active: u32,
    skip_time: Option<Delta>,
    interval: Delta,
    probes: u32,
    mark_skips: bool,
    states: bool,
}

impl MrcState {
    /// All EVs are good.
    pub fn new(params: &MrcParams, info: &PathInfo, random: &mut RandomStream) -> MrcState {
        let planes = info.planes.max(1);
        let (own, backups) = ((params.evs / planes).max(1), params.backups / planes);
        let mut values: Vec<Entropy> = Vec::new();
        while values.len() < (own + backups) as usize {
            let value = random.bits() as Entropy;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        MrcState::with_values(params, info.base_rtt, &values, own as usize)
    }

    /// These EVs, of which the first `own` are in use and the others backups. Each value is there once.
    pub fn with_values(params: &MrcParams, base_rtt: Delta, values: &[Entropy], own: usize) -> MrcState {
        let new = |value: &Entropy| Ev {
            value: *value,
            state: EvState::Good,
            skip_until: Time::ZERO,
            probe_at: Time::NEVER,
            asked: false,
            answered: 0,
        };
        let mut by_value: Vec<(Entropy, u16)> = values.iter().copied().zip(0..).collect();
        by_value.sort_unstable();
        MrcState {
            evs: values.iter().map(new).collect(),
            by_value,
            order: (0..own as u16).collect(),
            position: 0,
            backups: (own as u16..values.len() as u16).collect(),
            in_use: own as u32,
            elsewhere: 0,
            next_probe: Time::NEVER,
            min_active: params.min_active,
            skip_time: params.skip_time,
            interval: params.probe_interval.unwrap_or(base_rtt * 100).max(Delta::from_ps(1)),
            probes: params.probes,
            mark_skips: params.probe_mark_skips,
            states: params.states,
        }
    }

    /// Number of EVs that packets take.
    pub fn in_use(&self) -> u32 {
        self.in_use
    }

    /// Says how many EVs the other planes of the queue pair have in use.
    pub fn set_elsewhere(&mut self, count: u32) {
        self.elsewhere = count;
    }

    /// The state of an EV, if it is one of these.
    pub fn state(&self, entropy: Entropy) -> Option<EvState> {
        self.index(entropy).map(|index| self.evs[index].state)
    }

    /// The EVs that have a place, each with its state.
    pub fn placed(&self) -> impl Iterator<Item = (Entropy, EvState)> {
        self.order.iter().map(|index| self.evs[usize::from(*index)]).map(|ev| (ev.value, ev.state))
    }

    /// An EV that works, as far as is known: any that is good.
    pub fn any_good(&self, random: &mut RandomStream) -> Entropy {
        let first = random.below(self.order.len() as u64) as usize;
        let is_good = |index: &&u16| self.evs[usize::from(**index)].state == EvState::Good;
        let good = self.order[first..].iter().chain(&self.order[..first]).find(is_good);
        self.evs[usize::from(*good.unwrap_or(&self.order[first]))].value
    }

    /// When the first probe is due.
    pub fn next_probe(&self) -> Time {
        self.next_probe
    }

    /// An EV whose probe is due; it is sent now.
    pub fn due_probe(&mut self, now: Time) -> Option<Entropy> {
        if self.next_probe > now {
            return None;
        }
        let ev = self.evs.iter_mut().find(|ev| ev.probe_at <= now)?;
        if std::mem::replace(&mut ev.asked, true) {
            ev.answered = 0;
        }
        ev.probe_at = now.saturating_add(self.interval);
        let value = ev.value;
        self.note_probes();
        Some(value)
    }

    /// A probe of an EV was answered.
    pub fn on_probe_answer(&mut self, now: Time, entropy: Entropy, marked: bool) {
        let Some(index) = self.index(entropy) else { return };
        let ev = &mut self.evs[index];
        if ev.state != EvState::AssumedBad || !std::mem::replace(&mut ev.asked, false) {
            return;
        }
        ev.answered += 1;
        if ev.answered >= self.probes {
            self.tell(now, entropy, EvEvent::Probed { marked });
        }
    }

    /// Something happens to an EV.
    pub fn tell(&mut self, now: Time, entropy: Entropy, event: EvEvent) {
        let Some(index) = self.index(entropy) else { return };
        let may_leave = !self.backups.is_empty() || self.in_use.saturating_add(self.elsewhere) > self.min_active; // (E4)
        let before = self.evs[index].state;
        let after = before.after(event, may_leave, self.mark_skips);
        if after == before {
            return;
        }
        let ev = &mut self.evs[index];
        ev.state = after;
        match after {
            EvState::Skip => ev.skip_until = self.skip_time.map_or(Time::NEVER, |time| now.saturating_add(time)),
            EvState::AssumedBad => {
                (ev.asked, ev.answered) = (false, 0);
                ev.probe_at = now.saturating_add(self.interval);
            }
            EvState::Good | EvState::Denied => {}
        }
        if after != EvState::AssumedBad {
            ev.probe_at = Time::NEVER;
        }
        self.note_probes();
        if before.is_in_use() != after.is_in_use() {
            self.place(index as u16);
        }
    }

    fn index(&self, entropy: Entropy) -> Option<usize> {
        let place = self.by_value.binary_search_by_key(&entropy, |(value, _)| *value).ok()?;
        Some(usize::from(self.by_value[place].1))
    }

    fn note_probes(&mut self) {
        self.next_probe = self.evs.iter().map(|ev| ev.probe_at).min().unwrap_or(Time::NEVER);
    }

    /// An EV is in use again, or no longer: backups take places whose EVs are not.
    fn place(&mut self, index: u16) {
        self.backups.retain(|other| *other != index);
        if self.evs[usize::from(index)].state.is_in_use() && !self.order.contains(&index) {
            self.backups.push_back(index);
        }
        for place in &mut self.order {
            if self.evs[usize::from(*place)].state.is_in_use() {
                continue;
            }
            let Some(backup) = self.backups.pop_front() else { break };
            *place = backup;
        }
        let in_use = |index: &&u16| self.evs[usize::from(**index)].state.is_in_use();
        self.in_use = self.order.iter().filter(in_use).count() as u32;
    }

    /// The next of the order, which is drawn anew when it begins (E1).
    fn advance(&mut self, random: &mut RandomStream) -> usize {
        if self.position == 0 {
            for last in (1..self.order.len()).rev() {
                self.order.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        let index = self.order[self.position];
        self.position = (self.position + 1) % self.order.len();
        usize::from(index)
    }

    /// The EV of a packet where none is good: one that is passed over, else one that is assumed bad, else any.
    fn least_bad(&mut self, random: &mut RandomStream) -> Entropy {
        let first = self.advance(random);
        for wanted in [EvState::Skip, EvState::AssumedBad] {
            let is_wanted = |index: &&u16| self.evs[usize::from(**index)].state == wanted;
            if let Some(index) = self.order[self.position..].iter().chain(&self.order).find(is_wanted) {
                return self.evs[usize::from(*index)].value;
            }
        }
        self.evs[first].value
    }
}

impl PathChooser for Box<MrcState> {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        if !self.states {
            let index = self.advance(ctx.random);
            return self.evs[index].value;
        }
        for _ in 0..2 * self.order.len() {
            let index = self.advance(ctx.random);
            let ev = &mut self.evs[index];
            match ev.state {
                EvState::Good => return ev.value,
                EvState::Skip => {
                    let by_time = ev.skip_until != Time::NEVER;
                    if !by_time || ev.skip_until <= ctx.now {
                        ev.state = EvState::Good; // (E2): its turn has passed, or its time
                    }
                    if by_time && ev.state == EvState::Good {
                        return ev.value;
                    }
                }
                EvState::AssumedBad | EvState::Denied => {}
            }
        }
        self.least_bad(ctx.random)
    }

    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
        if !self.states {
            return;
        }
        let event = match feedback {
            PathFeedback::Good => return,
            PathFeedback::Ecn => EvEvent::SkipOnce,
            PathFeedback::Nack => EvEvent::Trimmed,
            PathFeedback::Timeout => EvEvent::Lost,
        };
        self.tell(ctx.now, entropy, event);
    }
}
