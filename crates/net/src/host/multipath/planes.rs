//! A sender with its choosers. Of a sprayed flow each plane has its own chooser, so that equally many entropy values belong to each.

use super::entries::Entries;
use super::mrc::{MrcSender, Probe, state_of_mut};
use super::sender::{Next, SelectiveRepeat};
use farloop_cc::paths::{AnyChooser, Entropy, PathChooser, PathCtx, PathFeedback};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Time};

/// A sender and the chooser of its paths.
pub(crate) struct MultipathSender {
    pub packets: SelectiveRepeat,
    /// Of the first plane.
    pub chooser: AnyChooser,
    /// Where its host sprays.
    pub planes: Option<Box<Planes>>,
    /// The last time at which it began to have a packet that its window allows, where packets are paced from their entry into the host's
    /// queue; `None` where they are paced from their departure.
    pub allowed: Option<Time>,
    /// When its packets enter the queue of their host, where they count from then on.
    pub entries: Option<Box<Entries>>,
    /// Where the chooser is `mrc`.
    pub mrc: Option<Box<MrcSender>>,
}

/// The turn of a flow's next packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// When the packet's time begins: as it leaves, or entered its host's queue.
    pub sent: Time,
    /// From where pacing goes on.
    pub paced_from: Time,
    /// A new packet goes although one is lost: it was in the queue before.
    pub new: bool,
}

impl MultipathSender {
    /// Returns true if there is a packet that a window of `cwnd` allows.
    #[inline]
    pub fn can_send(&self, limit: u64, cwnd: Bytes) -> bool {
        self.packets.can_send(limit, cwnd)
    }

    /// Sends the next packet of a flow of `limit` bytes on a path that the chooser names.
    pub fn next(
        &mut self,
        now: Time,
        (limit, new): (u64, bool),
        (cwnd, plane): (Bytes, u8),
        random: &mut RandomStream,
    ) -> Next {
        let in_flight = Bytes::new(self.packets.in_flight());
        self.packets.plane = plane;
        if let Some(mrc) = self.mrc.as_mut().filter(|_| self.packets.is_idle()) {
            mrc.begin(now);
        }
        let chooser = chooser_of(&mut self.chooser, &mut self.planes, plane);
        let entropy = chooser.next(&mut PathCtx { now, cwnd, in_flight, random });
        self.packets.next(now, (limit, new), cwnd, entropy)
    }

    /// The turn of a packet that leaves at `now` and might have left at `due` as far as pacing goes.
    #[inline]
    pub fn turn(&mut self, due: Time, now: Time, limit: u64, cwnd: Bytes) -> Turn {
        if self.entries.is_none() {
            return Turn { sent: now, paced_from: self.paced_from(due, now), new: false };
        }
        self.turn_in_queue(due, now, limit, cwnd)
    }

    #[cold]
    fn turn_in_queue(&mut self, due: Time, now: Time, limit: u64, cwnd: Bytes) -> Turn {
        let (room, sent) = (self.packets.room_end(cwnd), self.packets.sent_bytes());
        if let Some(entries) = &mut self.entries {
            if sent == 0 {
                entries.note(room, self.allowed.unwrap_or(now));
            }
            entries.forget(sent);
        }
        let (entered, new) = self.entry(due, limit);
        let entered = entered.min(now);
        Turn { sent: entered, paced_from: entered, new }
    }

    /// When the next packet entered its host's queue, if pacing allowed it at `due`; and whether it is a new one that goes before a lost
    /// one. Of lost packets the time counts at which the first was found.
    pub fn entry(&self, due: Time, limit: u64) -> (Time, bool) {
        let earliest = self.allowed.map_or(due, |allowed| due.max(allowed));
        let room = self.packets.new_end(limit).and_then(|end| self.entries.as_ref()?.time(end));
        let new = room.map(|room| earliest.max(room));
        match (new, self.packets.lost_since()) {
            (Some(new), Some(lost)) if new < lost => (new, true),
            (_, Some(lost)) => (earliest.max(lost), false),
            (new, None) => (new.unwrap_or(earliest), false),
        }
    }

    /// The window is `cwnd` now, after an answer or a timer.
    #[inline]
    pub fn note_room(&mut self, now: Time, cwnd: Bytes) {
        if let Some(entries) = &mut self.entries {
            entries.note(self.packets.room_end(cwnd), now);
        }
    }

    /// The time from which pacing goes on, after a packet that leaves at `now` and might have left at `due` as far as pacing goes.
    ///
    /// A packet enters its host's queue when pacing and window allow it. While earlier packets of its flow wait there, its window is looked
    /// at when they have left: it may have been full a little longer than that.
    pub fn paced_from(&self, due: Time, now: Time) -> Time {
        self.allowed.map_or(now, |allowed| due.max(allowed).min(now))
    }

    /// Passes the feedback on packets to the chooser.
    pub fn tell_chooser(&mut self, now: Time, cwnd: Bytes, random: &mut RandomStream) {
        if self.mrc.is_some() {
            return self.tell_evs(now, cwnd, random);
        }
        let in_flight = Bytes::new(self.packets.in_flight());
        for (plane, entropy, fate) in self.packets.fates.drain(..) {
            let chooser = chooser_of(&mut self.chooser, &mut self.planes, plane);
            chooser.feedback(&mut PathCtx { now, cwnd, in_flight, random: &mut *random }, entropy, fate);
        }
    }

    /// When [`crate::host::endpoint::Endpoint::on_timer`] is due.
    #[inline]
    pub fn timer(&self) -> Time {
        let timer = self.packets.timer();
        self.mrc.as_ref().map_or(timer, |mrc| timer.min(mrc.due))
    }

    /// As [`MultipathSender::tell_chooser`] with `mrc`, where the EVs of all planes count together.
    #[inline(never)]
    fn tell_evs(&mut self, now: Time, cwnd: Bytes, random: &mut RandomStream) {
        let in_flight = Bytes::new(self.packets.in_flight());
        let fates = std::mem::take(&mut self.packets.fates);
        for &(plane, entropy, fate) in &fates {
            let others = if fate == PathFeedback::Good { 0 } else { self.in_use_beside(plane) };
            let chooser = chooser_of(&mut self.chooser, &mut self.planes, plane);
            if let Some(state) = state_of_mut(chooser) {
                state.set_elsewhere(others);
            }
            chooser.feedback(&mut PathCtx { now, cwnd, in_flight, random: &mut *random }, entropy, fate);
        }
        self.packets.fates = fates;
        self.packets.fates.clear();
        self.update_planes(now);
    }

    /// Number of EVs in use in all planes but this one.
    fn in_use_beside(&self, plane: u8) -> u32 {
        let others = self.choosers().enumerate().filter(|(other, _)| *other != usize::from(plane));
        others.filter_map(|(_, chooser)| super::mrc::state_of(chooser)).map(|state| state.in_use()).sum()
    }

    /// The state of an entropy value, where paths have states.
    pub fn path_state(&self, (plane, entropy): (u8, Entropy)) -> Option<&'static str> {
        let state = super::mrc::state_of(self.choosers().nth(usize::from(plane))?)?.state(entropy)?;
        Some(state.name())
    }

    fn choosers(&self) -> impl Iterator<Item = &AnyChooser> {
        std::iter::once(&self.chooser).chain(self.planes.iter().flat_map(|planes| &planes.choosers))
    }

    fn update_planes(&mut self, now: Time) {
        let waits = !self.packets.is_idle();
        let choosers = std::iter::once(&self.chooser).chain(self.planes.iter().flat_map(|planes| &planes.choosers));
        if let Some(mrc) = &mut self.mrc {
            mrc.update(now, choosers, waits);
        }
    }

    /// The probes that are due, which are sent now by all planes but those of `down` ports.
    pub fn due_probes(&mut self, now: Time, down: u64, random: &mut RandomStream) -> Vec<Probe> {
        let mut probes = Vec::new();
        let Some(mrc) = self.mrc.as_mut().filter(|mrc| mrc.due <= now) else { return probes };
        let asks = !self.packets.is_idle() && mrc.take_silence(now);
        let places = self.planes.as_ref().map_or(1, |planes| planes.places);
        for plane in 0..places {
            let Some(state) = state_of_mut(chooser_of(&mut self.chooser, &mut self.planes, plane)) else { break };
            while let Some(entropy) = state.due_probe(now) {
                if down >> plane & 1 == 0 {
                    probes.push(Probe { plane, entropy, reliability: false });
                }
            }
        }
        self.update_planes(now);
        let usable = (0..places).filter(|plane| down >> plane & 1 == 0);
        let open = |plane: &u8| self.mrc.as_ref().is_some_and(|mrc| mrc.closed >> plane & 1 == 0);
        // By the last plane, which begins with the least chance of having had the last packet.
        let plane = usable.clone().rev().find(open).or(usable.clone().next_back());
        if let Some(plane) = plane.filter(|_| asks) {
            let entropy = self.any_good(plane, random);
            probes.push(Probe { plane, entropy, reliability: true });
        }
        probes
    }

    /// An EV of a plane that works, as far as is known.
    pub fn any_good(&mut self, plane: u8, random: &mut RandomStream) -> Entropy {
        let chooser = chooser_of(&mut self.chooser, &mut self.planes, plane);
        state_of_mut(chooser).map_or(0, |state| state.any_good(random))
    }

    /// A probe of an EV of this plane was answered.
    pub fn on_probe_answer(&mut self, now: Time, (plane, entropy): (u8, Entropy), marked: bool) {
        if let Some(state) = state_of_mut(chooser_of(&mut self.chooser, &mut self.planes, plane)) {
            state.on_probe_answer(now, entropy, marked);
        }
        self.update_planes(now);
    }

    /// Planes by which packets leave, of those that lead to the destination: all of these where none is open.
    pub fn open_planes(&self, leading: u64) -> u64 {
        let closed = self.mrc.as_ref().map_or(0, |mrc| mrc.closed);
        if leading & !closed == 0 { leading } else { leading & !closed }
    }
}

/// The planes of a sprayed flow: the NIC ports that lead to its destination, by their places.
pub(crate) struct Planes {
    /// Number of ports of the host.
    pub places: u8,
    /// Those that lead there, a bit each, by the routes with this number.
    pub leading: u64,
    pub routing: usize,
    /// Choosers of all planes but the first.
    pub choosers: Vec<AnyChooser>,
}

impl Planes {
    /// Number of planes that lead there.
    pub fn count(&self) -> u32 {
        self.leading.count_ones().max(1)
    }
}

/// The chooser of a plane.
#[inline]
fn chooser_of<'a>(first: &'a mut AnyChooser, planes: &'a mut Option<Box<Planes>>, plane: u8) -> &'a mut AnyChooser {
    if plane == 0 {
        return first;
    }
    match planes {
        Some(planes) => &mut planes.choosers[usize::from(plane) - 1],
        None => first,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sender::Setting;
    use super::*;
    use farloop_cc::paths::{PathInfo, chooser};
    use farloop_units::Delta;

    const MSS: u64 = 1000;

    /// Four packets left by 4 µs and are lost at 75 µs, a new one may follow by the pacing at `due`, and the window had room for `room`
    /// packets from the start. Returns when the next packet entered, its number, and what leaves after it.
    fn next_two(due: u64, room: u64) -> (Time, [u64; 2]) {
        let us = |n| Time::ZERO + Delta::from_us(n);
        let (base_rtt, rto, cwnd) = (Delta::from_us(10), Delta::from_us(71), Bytes::new(room * MSS));
        let (bdp, rto_growth, whole_packets, overtaken, code) = (20 * MSS, false, true, None, None);
        let setting = Setting { mss: MSS, base_rtt, bdp, rto, rto_growth, whole_packets, overtaken, code };
        let mut random = RandomStream::new(1, "paths", 0);
        let info = PathInfo { base_rtt, bdp_packets: 20, mss: Bytes::new(MSS), planes: 1 };
        let mut own = MultipathSender {
            packets: SelectiveRepeat::new(&setting),
            chooser: chooser("single").expect("a chooser").start(&info, &mut random),
            planes: None,
            allowed: Some(Time::ZERO),
            entries: Some(Box::default()),
            mrc: None,
        };
        let limit = 100 * MSS;
        for at in 1..=4 {
            let turn = own.turn(us(at), us(at), limit, cwnd);
            assert_eq!(turn, Turn { sent: us(at), paced_from: us(at), new: false });
            own.next(us(at), (limit, turn.new), (cwnd, 0), &mut random);
        }
        own.packets.on_timer(us(75), limit);
        own.note_room(us(75), cwnd);
        let turns = [us(due), us(due + 30)].map(|due| {
            let turn = own.turn(due, us(200), limit, cwnd);
            (turn.sent, own.next(us(200), (limit, turn.new), (cwnd, 0), &mut random).number)
        });
        (turns[0].0, turns.map(|(_, number)| number))
    }

    #[test]
    fn a_repair_goes_behind_packets_that_entered_before_the_loss_was_found() {
        let us = |n| Time::ZERO + Delta::from_us(n);
        assert_eq!(next_two(60, 10), (us(60), [4, 0]), "a new one was there, then the repair");
        assert_eq!(next_two(80, 10), (us(80), [0, 1]), "pacing lets the next one in after the loss");
        assert_eq!(next_two(60, 4), (us(75), [0, 1]), "the window had no room for a new one before");
    }
}
