//! One direction of an emulated link: the port that sends into it with its queue, and what happens on the way. All of it in times that the
//! caller gives, so that the law holds whatever the processor does meanwhile.
//!
//! Packets wait in a first-in-first-out queue of finite length, are marked by the queue that they find, leave one after another at the rate
//! of the link, and arrive the delay later, as in the simulator (`docs/network-model.md`). Times are in ns since the start.

use crate::frame::{self, Frame, Kind};
use crate::impairments::{Bursts, Impairments};
use farloop_engine::random::RandomStream;
use farloop_units::Numbers;
use std::collections::{BTreeMap, VecDeque};

/// Settings of a direction at its start.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// In bit/s, at least 1.
    pub rate: u64,
    /// One-way, in ns.
    pub delay: u64,
    /// Bytes of a packet on the wire beyond those of its frame.
    pub framing: u64,
    /// The longest frame without its tags, in bytes.
    pub longest: usize,
    /// The longest queue, in bytes on the wire.
    pub limit: u64,
    /// The longest queue in packets; `None` for no such limit.
    pub limit_packets: Option<usize>,
    /// Congestion marks; `None` for none.
    pub marking: Option<Marking>,
    /// Losses and delays on the way.
    pub impairments: Impairments,
}

/// Congestion marks by the queue that a packet finds, in bytes on the wire: none up to `kmin`, all above `kmax`, and between them with a
/// probability that grows to `pmax`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Marking {
    /// No packet is marked at or below it.
    pub kmin: u64,
    /// All packets are marked above it.
    pub kmax: u64,
    /// The probability just below `kmax`.
    pub pmax: f64,
}

impl Marking {
    fn probability(&self, queue: u64) -> f64 {
        if queue <= self.kmin {
            0.0
        } else if queue > self.kmax {
            1.0
        } else {
            self.pmax * (queue - self.kmin) as f64 / (self.kmax - self.kmin) as f64
        }
    }
}

/// A change while it runs, as `[[event]]` of scenarios has them.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Packets on the way and in the queue are lost, and those that come.
    Down,
    /// It carries packets again.
    Up,
    /// For packets whose transmission begins from then on, in bit/s.
    Rate(u64),
    /// The same, in ns; packets do not overtake those before them.
    Delay(u64),
    /// Probability for packets that arrive from then on.
    Loss(f64),
    /// The same of damage, which the next node's check of the frame finds.
    Corruption(f64),
    /// Segments with payload that are lost, by their number among those that arrive from then on.
    LoseData(Numbers),
    /// The same for acknowledgements.
    LoseAcks(Numbers),
    /// Segments with payload that arrive so many ns later than others.
    LateData(Numbers, u64),
}

impl Change {
    /// True for what acts where a packet arrives, and not where it is sent.
    fn is_at_arrival(&self) -> bool {
        !matches!(self, Change::Down | Change::Up | Change::Rate(_) | Change::Delay(_))
    }
}

/// Packets by what became of them. All that came are in exactly one of the other numbers but `marked` and `late`, or still there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Packets that came.
    pub came: u64,
    /// Packets that left at the far end.
    pub left: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that got a mark here.
    pub marked: u64,
    /// Packets that found the queue full.
    pub dropped_queue: u64,
    /// Packets that came while the link was down, or waited when it went down.
    pub dropped_down: u64,
    /// Frames longer than the link takes, or that could not be cut into packets.
    pub dropped_long: u64,
    /// Packets on the way when the link went down.
    pub lost_down: u64,
    /// Packets lost at random.
    pub lost_random: u64,
    /// Packets lost in bursts.
    pub lost_burst: u64,
    /// Packets lost by their number.
    pub lost_numbered: u64,
    /// Packets damaged.
    pub damaged: u64,
    /// Packets that others could overtake.
    pub late: u64,
    /// Most bytes of a frame that came before it was cut into packets.
    pub longest: u64,
    /// The longest queue, in bytes on the wire.
    pub queue: u64,
}

impl Counts {
    /// Packets that are gone without having left.
    pub fn gone(&self) -> u64 {
        let at_port = self.dropped_queue + self.dropped_down + self.dropped_long;
        at_port + self.lost_down + self.lost_random + self.lost_burst + self.lost_numbered + self.damaged
    }
}

/// A direction at work.
#[derive(Debug)]
pub struct Direction {
    settings: Settings,
    changes: VecDeque<(u64, Change)>,
    /// Those that act at the far end.
    far_changes: VecDeque<(u64, Change)>,
    is_down: bool,
    waiting: VecDeque<(u64, Frame)>,
    queue: u64,
    /// When the port is free again, in ps.
    free: u64,
    on_way: VecDeque<(u64, Frame)>,
    /// Packets that others may overtake, by the time at which they are due and the order in which they came.
    late: BTreeMap<(u64, u64), Frame>,
    overtaken: u64,
    last_came: u64,
    last_due: u64,
    lose_data: Option<Numbers>,
    lose_acks: Option<Numbers>,
    late_data: Option<(Numbers, u64)>,
    arrived: [u64; 3],
    bursts: Bursts,
    random: RandomStream,
    counts: Counts,
    spare: Vec<Vec<u8>>,
}

/// Most buffers that are kept for reuse.
const SPARE: usize = 1 << 14;

impl Direction {
    /// A direction with its settings and changes, each with its time, in any order; `random` decides about marks, losses and delays.
    pub fn new(settings: Settings, changes: Vec<(u64, Change)>, random: RandomStream) -> Direction {
        let mut changes = changes;
        changes.sort_by_key(|(at, _)| *at);
        let (far, near): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(_, change)| change.is_at_arrival());
        Direction {
            settings,
            changes: near.into(),
            far_changes: far.into(),
            is_down: false,
            waiting: VecDeque::new(),
            queue: 0,
            free: 0,
            on_way: VecDeque::new(),
            late: BTreeMap::new(),
            overtaken: 0,
            last_came: 0,
            last_due: 0,
            lose_data: None,
            lose_acks: None,
            late_data: None,
            arrived: [0; 3],
            bursts: Bursts::default(),
            random,
            counts: Counts::default(),
            spare: Vec::new(),
        }
    }

    /// A packet comes at `at`; one that comes before the last one comes with that.
    pub fn arrive(&mut self, at: u64, mut packet: Frame) {
        let at = at.max(self.last_came);
        self.last_came = at;
        self.advance(at);
        self.counts.came += 1;
        self.counts.longest = self.counts.longest.max(packet.bytes.len() as u64);
        if self.is_down {
            self.counts.dropped_down += 1;
            return self.recycle(packet);
        }
        if packet.bytes.len() > self.settings.longest + frame::tags(&packet.bytes) {
            self.counts.dropped_long += 1;
            return self.recycle(packet);
        }
        let size = self.size(&packet);
        let is_idle = self.waiting.is_empty() && self.free <= at.saturating_mul(1000);
        if !is_idle {
            let is_full = self.queue + size > self.settings.limit
                || self.settings.limit_packets.is_some_and(|limit| self.waiting.len() >= limit);
            if is_full {
                self.counts.dropped_queue += 1;
                return self.recycle(packet);
            }
        }
        if let Some(marking) = self.settings.marking {
            let probability = marking.probability(self.queue);
            let hits = probability >= 1.0 || probability > 0.0 && self.random.chance(probability);
            if hits && frame::mark(&mut packet.bytes) {
                self.counts.marked += 1;
            }
        }
        self.queue += size;
        self.waiting.push_back((at, packet));
        self.advance(at);
        self.counts.queue = self.counts.queue.max(self.queue);
    }

    /// A frame came that no packet could be made of.
    pub fn refuse(&mut self) {
        self.counts.came += 1;
        self.counts.dropped_long += 1;
    }

    /// A frame of several packets came, of so many bytes.
    pub fn note_burst(&mut self, bytes: usize) {
        self.counts.longest = self.counts.longest.max(bytes as u64);
    }

    /// Lets happen at the port what happens until `now`: packets leave the queue, changes take effect.
    pub fn advance(&mut self, now: u64) {
        loop {
            let change = self.changes.front().map(|(at, _)| *at).filter(|at| *at <= now);
            let start = self.next_start().filter(|start| *start <= now);
            match (change, start) {
                (Some(at), start) if start.is_none_or(|start| at <= start) => {
                    if let Some((_, change)) = self.changes.pop_front() {
                        self.change(at, change);
                    }
                }
                (_, Some(_)) => self.transmit(),
                _ => return,
            }
        }
    }

    /// When the packet that waits first begins its transmission, rounded up.
    fn next_start(&self) -> Option<u64> {
        self.waiting.front().map(|(came, _)| (*came).max(self.free.div_ceil(1000)))
    }

    /// The first packet begins its transmission.
    fn transmit(&mut self) {
        let Some((came, packet)) = self.waiting.pop_front() else { return };
        let size = self.size(&packet);
        self.queue -= size;
        let start = self.free.max(came.saturating_mul(1000));
        let time = u128::from(size) * 8_000_000_000_000 / u128::from(self.settings.rate.max(1));
        self.free = start.saturating_add(u64::try_from(time).unwrap_or(u64::MAX));
        let jitter = match self.settings.impairments.jitter {
            0 => 0,
            most => self.random.below(most + 1),
        };
        let arrival = (self.free.div_ceil(1000)).saturating_add(self.settings.delay).saturating_add(jitter);
        self.last_due = arrival.max(self.last_due);
        self.on_way.push_back((self.last_due, packet));
    }

    fn change(&mut self, at: u64, change: Change) {
        match change {
            Change::Rate(rate) => self.settings.rate = rate,
            Change::Delay(delay) => self.settings.delay = delay,
            Change::Up => self.is_down = false,
            Change::Down => {
                self.is_down = true;
                self.queue = 0;
                self.free = self.free.min(at.saturating_mul(1000));
                while let Some((_, packet)) = self.waiting.pop_front() {
                    self.counts.dropped_down += 1;
                    self.recycle(packet);
                }
                while self.on_way.back().is_some_and(|(due, _)| *due >= at) {
                    if let Some((_, packet)) = self.on_way.pop_back() {
                        self.counts.lost_down += 1;
                        self.recycle(packet);
                    }
                }
                self.last_due = self.on_way.back().map_or(0, |(due, _)| *due);
                for (_, packet) in self.late.split_off(&(at, 0)) {
                    self.counts.lost_down += 1;
                    self.recycle(packet);
                }
            }
            _ => {}
        }
    }

    /// When the next packet arrives, or something else is to be done, as far as is known now.
    pub fn next_due(&self) -> Option<u64> {
        let first = self.on_way.front().map(|(due, _)| *due);
        let late = self.late.keys().next().map(|(due, _)| *due);
        // What waits leaves for the far end when its turn comes.
        let waits = self.next_start();
        let change = (!self.is_empty()).then(|| self.changes.front().map(|(at, _)| *at)).flatten();
        first.into_iter().chain(late).chain(waits.filter(|_| first.is_none())).chain(change).min()
    }

    /// The shortest time from a packet's coming to its leaving, as the link is now.
    pub fn shortest(&self) -> u64 {
        self.settings.delay
    }

    /// The next packet that arrives by `now`, and when it is due. `advance` to `now` comes before.
    pub fn take(&mut self, now: u64) -> Option<(u64, Frame)> {
        loop {
            let first = self.on_way.front().map(|(due, _)| *due);
            let late = self.late.keys().next().copied();
            let due = first.into_iter().chain(late.map(|(due, _)| due)).min().filter(|due| *due <= now)?;
            if first != Some(due) {
                let packet = self.late.remove(&late?)?;
                return Some(self.leave(due, packet));
            }
            let (_, packet) = self.on_way.pop_front()?;
            while self.far_changes.front().is_some_and(|(at, _)| *at <= due) {
                if let Some((_, change)) = self.far_changes.pop_front() {
                    self.change_far(change);
                }
            }
            match self.fate(&packet) {
                Fate::Lost => self.recycle(packet),
                Fate::Late(by) => {
                    self.counts.late += 1;
                    self.overtaken += 1;
                    self.late.insert((due.saturating_add(by), self.overtaken), packet);
                }
                Fate::Arrives => return Some(self.leave(due, packet)),
            }
        }
    }

    fn leave(&mut self, due: u64, packet: Frame) -> (u64, Frame) {
        self.counts.left += 1;
        self.counts.bytes += self.size(&packet);
        (due, packet)
    }

    fn change_far(&mut self, change: Change) {
        match change {
            Change::Loss(loss) => self.settings.impairments.loss = loss,
            Change::Corruption(corruption) => self.settings.impairments.corruption = corruption,
            Change::LoseData(numbers) => (self.lose_data, self.arrived[0]) = (Some(numbers), 0),
            Change::LoseAcks(numbers) => (self.lose_acks, self.arrived[1]) = (Some(numbers), 0),
            Change::LateData(numbers, by) => (self.late_data, self.arrived[2]) = (Some((numbers, by)), 0),
            _ => {}
        }
    }

    /// Decides on a packet that arrives.
    fn fate(&mut self, packet: &Frame) -> Fate {
        let looks = self.lose_data.is_some() || self.lose_acks.is_some() || self.late_data.is_some();
        let kind = if looks { frame::kind(&packet.bytes) } else { None };
        let mut hits = |index: usize, numbers: Option<&Numbers>| {
            self.arrived[index] += 1;
            numbers.is_some_and(|numbers| numbers.contains(self.arrived[index]))
        };
        let (mut is_lost, mut late_by) = (false, None);
        match kind {
            Some(Kind::Data) => {
                is_lost = hits(0, self.lose_data.as_ref());
                let late = self.late_data.as_ref();
                late_by = hits(2, late.map(|(numbers, _)| numbers)).then(|| late.map(|(_, by)| *by)).flatten();
            }
            Some(Kind::Ack) => is_lost = hits(1, self.lose_acks.as_ref()),
            None => {}
        }
        let impairments = &self.settings.impairments;
        let random = &mut self.random;
        let is_burst = impairments.bursts.is_some_and(|law| self.bursts.is_lost(&law, random));
        if is_lost {
            self.counts.lost_numbered += 1;
        } else if impairments.loss > 0.0 && random.chance(impairments.loss) {
            self.counts.lost_random += 1;
        } else if is_burst {
            self.counts.lost_burst += 1;
        } else if impairments.corruption > 0.0 && random.chance(impairments.corruption) {
            self.counts.damaged += 1;
        } else if let Some(by) = late_by {
            return Fate::Late(by);
        } else if let Some((_, by)) = impairments.reordering.filter(|(part, _)| random.chance(*part)) {
            return Fate::Late(by);
        } else {
            return Fate::Arrives;
        }
        Fate::Lost
    }

    /// True if no packet is here.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.on_way.is_empty() && self.late.is_empty()
    }

    /// Packets that are here.
    pub fn inside(&self) -> u64 {
        (self.waiting.len() + self.on_way.len() + self.late.len()) as u64
    }

    /// The packets that came, by their fate.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A buffer to fill.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back the buffer of a packet that is gone.
    pub fn recycle(&mut self, packet: Frame) {
        if self.spare.len() < SPARE {
            self.spare.push(packet.bytes);
        }
    }

    /// Bytes of a packet on the wire.
    fn size(&self, packet: &Frame) -> u64 {
        packet.bytes.len() as u64 + self.settings.framing
    }
}

/// The fate of a packet at the far end.
enum Fate {
    Arrives,
    Lost,
    Late(u64),
}

#[cfg(test)]
#[path = "direction_tests.rs"]
mod tests;
