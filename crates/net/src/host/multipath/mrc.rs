//! Additions of `mrc` to multipath endpoints: probes, control paths that work, and planes that are left (MRC 1.0; `spec/mrc.md`).
//!
//! A sender probes EVs that it takes for dead. After a silence it asks the receiver what has arrived. It leaves planes without an EV in
//! use, and those whose port is down at the other end. A receiver sends its answers by one EV in each plane, which it looks for by probes.

use super::wire::Reflected;
use farloop_cc::paths::mrc::{MrcParams, MrcState};
use farloop_cc::paths::{AnyChooser, Entropy};
use farloop_engine::RandomStream;
use farloop_units::{Delta, Time};

/// A probe of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Probe {
    pub plane: u8,
    pub entropy: Entropy,
    /// It asks the receiver what has arrived (a reliability probe), else only for an answer (an EV probe).
    pub reliability: bool,
}

/// The sender's part.
pub(crate) struct MrcSender {
    /// Planes that are not used as long as others are, a bit each.
    pub closed: u64,
    /// Ports of the other end that are down, as the last answer has it, from when on that counts, and what counts.
    news: (u64, Time),
    peer_down: u64,
    /// When something was last heard, or asked.
    heard: Time,
    silence: Option<Delta>,
    remap_time: Delta,
    /// When [`super::MultipathSender::due_probes`] has something to do.
    pub due: Time,
    /// The last penalty that an answer carried.
    penalty: u8,
}

impl MrcSender {
    pub fn new(params: &MrcParams, base_rtt: Delta) -> MrcSender {
        MrcSender {
            closed: 0,
            news: (0, Time::ZERO),
            peer_down: 0,
            heard: Time::ZERO,
            silence: params.reliability_probe.map(|factor| base_rtt.mul_f64(factor)),
            remap_time: params.remap_time,
            due: Time::NEVER,
            penalty: 0,
        }
    }

    /// Data is in flight from now on.
    pub fn begin(&mut self, now: Time) {
        self.heard = now;
        self.due = self.due.min(self.silence_ends());
    }

    /// An answer came; returns its penalty, if the algorithm is to hear of it.
    pub fn hear(&mut self, now: Time, reflected: Option<&Reflected>) -> Option<u8> {
        self.heard = now;
        let reflected = reflected?;
        if reflected.down != self.news.0 {
            self.news = (reflected.down, now.saturating_add(self.remap_time));
        }
        let before = std::mem::replace(&mut self.penalty, reflected.penalty);
        (before > 0 || self.penalty > 0).then_some(self.penalty)
    }

    /// When the silence has lasted long enough for a reliability probe.
    fn silence_ends(&self) -> Time {
        self.silence.map_or(Time::NEVER, |silence| self.heard.saturating_add(silence))
    }

    /// Returns true if a reliability probe is due, which is sent then.
    pub fn take_silence(&mut self, now: Time) -> bool {
        let over = self.silence_ends() <= now;
        if over {
            self.heard = now;
        }
        over
    }

    /// Closes and opens planes, by what their choosers know, and finds when something is due. `waits`: data is in flight.
    pub fn update<'a>(&mut self, now: Time, planes: impl Iterator<Item = &'a AnyChooser>, waits: bool) {
        if self.news.1 <= now {
            self.peer_down = self.news.0;
        }
        self.closed = self.peer_down;
        self.due = if waits { self.silence_ends() } else { Time::NEVER };
        if self.news.1 > now {
            self.due = self.due.min(self.news.1);
        }
        for (plane, state) in planes.enumerate().filter_map(|(plane, chooser)| Some((plane, state_of(chooser)?))) {
            if state.in_use() == 0 {
                self.closed |= 1 << plane;
            }
            self.due = self.due.min(state.next_probe());
        }
    }
}

/// The state of a chooser that is `mrc`.
pub(crate) fn state_of(chooser: &AnyChooser) -> Option<&MrcState> {
    if let AnyChooser::Mrc(state) = chooser { Some(state) } else { None }
}

/// As [`state_of`], to change it.
pub(crate) fn state_of_mut(chooser: &mut AnyChooser) -> Option<&mut MrcState> {
    if let AnyChooser::Mrc(state) = chooser { Some(state) } else { None }
}

/// The receiver's part: by which EVs answers go.
pub(crate) struct MrcReceiver {
    /// The control EV of each plane.
    evs: Vec<Entropy>,
    /// When it last sent a probe.
    probed: Option<Time>,
    period: Delta,
    probes: bool,
    /// It answers trimmed packets.
    pub trim_nacks: bool,
    port_status: bool,
    penalty: u8,
}

impl MrcReceiver {
    /// A receiver at a host with so many ports.
    pub fn new(params: &MrcParams, base_rtt: Delta, planes: usize, random: &mut RandomStream) -> MrcReceiver {
        MrcReceiver {
            evs: (0..planes).map(|_| random.bits() as Entropy).collect(),
            probed: None,
            period: base_rtt,
            probes: params.control_probes,
            trim_nacks: params.trim_nacks,
            port_status: params.port_status,
            penalty: params.penalty,
        }
    }

    /// The control EV of a plane.
    pub fn ev(&self, plane: u8) -> Entropy {
        self.evs[usize::from(plane) % self.evs.len()]
    }

    /// A probe by this EV was answered: it is the control EV of its plane.
    pub fn set_ev(&mut self, plane: u8, entropy: Entropy) {
        let count = self.evs.len();
        self.evs[usize::from(plane) % count] = entropy;
    }

    /// Data arrived: an EV to probe, once in a round-trip time.
    pub fn probe(&mut self, now: Time, random: &mut RandomStream) -> Option<Entropy> {
        let due = self.probes && self.probed.is_none_or(|at| now.since(at) >= self.period);
        if due {
            self.probed = Some(now);
        }
        due.then(|| random.bits() as Entropy)
    }

    /// Data of a packet with this EV is answered, at a host of whose ports these are down.
    pub fn reflect(&self, entropy: Entropy, down: u64) -> Reflected {
        Reflected { entropy, down: if self.port_status { down } else { 0 }, penalty: self.penalty }
    }
}
