//! PFC (IEEE 802.1Qbb) in rates: the switches whose ingress ports pause their neighbours, and the law of a pause.
//!
//! An ingress port counts the bytes that came by it and wait in its switch. In packets it sends Xoff above a threshold, and Xon once they
//! have fallen below that by the hysteresis; while that goes on the neighbour sends as much as the ingress drains, on average over such
//! cycles. Here it sends that average: the rate at which the ingress drains, and what moves the count to the mean of the cycle. Each link
//! reacts after the time that an Xoff needs to have an effect.

use crate::link::BYTES_PER_PS;
use crate::paths::Paths;
use crate::plan::ps;
use farloop_network::ids::PortNumber;
use farloop_network::link::LinkEnd;
use farloop_network::result::PauseRow;
use farloop_network::spec::{LinkSpec, NodeKind, PfcSpec, SwitchSpec, XoffSpec};
use farloop_network::{Network, PFC_FRAME, required_headroom};
use farloop_units::{Bytes, Delta, Rate};
use std::collections::BTreeMap;

/// No switch, or no port.
pub(crate) const NONE: u32 = u32::MAX;

/// The rate at which an ingress drains is averaged over so many times its reaction.
const CYCLES: f64 = 16.0;

/// Threshold of an ingress port.
#[derive(Clone, Copy, Debug)]
enum Xoff {
    /// In bytes.
    Static(f64),
    /// So many times the free buffer.
    Dynamic(f64),
}

impl Xoff {
    /// At a port of this rate.
    fn at(pfc: &PfcSpec, rate: Rate) -> Xoff {
        match pfc.xoff {
            XoffSpec::Static(bytes) => Xoff::Static(bytes.as_f64()),
            XoffSpec::Dynamic(alpha) => Xoff::Dynamic(pfc.alpha_at(rate).unwrap_or(alpha)),
        }
    }
}

/// The shared buffer of a switch, in bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SharedBuffer {
    pub bytes: f64,
    /// Of what waits; more than there are while some of it is yet to be counted as headroom.
    pub used: f64,
}

impl SharedBuffer {
    /// Bytes that are free.
    pub fn free(self) -> f64 {
        (self.bytes - self.used).max(0.0)
    }

    /// Most bytes that an ingress may have there, which has so many.
    fn room_of(self, own: f64) -> f64 {
        if self.used <= self.bytes { own + self.bytes - self.used } else { own * (self.bytes / self.used) }
    }
}

/// An ingress port of a switch with PFC.
#[derive(Clone, Debug)]
pub(crate) struct Ingress {
    /// The link that comes to it.
    pub link: u32,
    /// Rate of that link in bytes per picosecond.
    pub line: f64,
    /// Time in picoseconds until an Xoff or Xon of it changes what arrives.
    pub reaction: f64,
    /// `None` where the neighbour obeys no pauses: what comes by it is dropped where no buffer is left.
    xoff: Option<Xoff>,
    pfc: Option<PfcSpec>,
    hysteresis: f64,
    /// Bytes that came by it and wait, at this look.
    pub waiting: f64,
    /// The same as its thresholds count them.
    pub held: f64,
    /// Bytes of that which take headroom: they came above the threshold.
    pub headroom: f64,
    /// Rate in bytes per picosecond at which these leave.
    pub drain: f64,
    /// The same over some cycles.
    pub mean_drain: f64,
    /// Share of its line rate that the neighbour may send: 1 without a pause.
    pub open: f64,
}

impl Ingress {
    /// Bytes at which it pauses its neighbour, and how far below them it lets that go on; `None` where it never pauses it.
    ///
    /// Where the shared buffer is full, what comes takes headroom whatever the threshold is, and pauses the neighbour until that is free.
    pub fn threshold(&self, pool: SharedBuffer) -> Option<(f64, f64)> {
        let threshold = match self.xoff? {
            Xoff::Static(bytes) => bytes.min(pool.bytes),
            Xoff::Dynamic(alpha) => alpha * pool.free(),
        };
        let own = pool.room_of(self.in_shared());
        Some(if own < threshold { (own, 0.0) } else { (threshold, self.hysteresis) })
    }

    /// Returns true if its neighbour obeys its pauses.
    pub fn pauses_neighbour(&self) -> bool {
        self.xoff.is_some()
    }

    /// The share of the line rate that the neighbour may send from now on, at this threshold.
    ///
    /// A cycle goes from `threshold + (line - drain) reaction` down to `threshold - hysteresis - drain reaction`. Above the threshold the
    /// neighbour gets the rate that brings the count to the mean of the two within `relaxation`; below all of the cycle it is free.
    pub fn next_share(&self, (threshold, hysteresis): (f64, f64), relaxation: f64) -> f64 {
        let lowest = threshold - hysteresis - self.drain * self.reaction;
        let limited = if self.open < 1.0 { self.held > lowest } else { self.held >= threshold };
        if !limited || self.held <= 0.0 {
            return 1.0;
        }
        let highest = threshold + (self.line - self.drain).max(0.0) * self.reaction;
        let mean = (lowest + highest) / 2.0;
        ((self.drain + (mean - self.held) / relaxation) / self.line).clamp(0.0, 1.0)
    }

    /// Bytes that wait at this look and take shared buffer: what came while some were in headroom is there as well.
    pub fn in_shared(&self) -> f64 {
        if self.headroom > 0.0 { self.waiting.min(self.held - self.headroom) } else { self.waiting }
    }

    /// Counts what waits from now on: what comes above the threshold takes headroom, and what leaves frees that first.
    pub fn hold(&mut self, held: f64, threshold: f64) {
        let change = held - self.held;
        let room = if self.headroom > 0.0 { 0.0 } else { (threshold - self.held).max(0.0) };
        self.headroom =
            if change > 0.0 { self.headroom + (change - room).max(0.0) } else { (self.headroom + change).max(0.0) };
        self.held = held;
    }

    /// Averages the rate at which it drains over the last cycles, of which so many picoseconds are over.
    pub fn average_drain(&mut self, elapsed: f64) {
        let part = elapsed / (elapsed + CYCLES * self.reaction);
        self.mean_drain += (self.drain - self.mean_drain) * part;
    }

    /// Xoff frames in so many picoseconds in which it drains at its rate: one in each cycle.
    pub fn pauses_in(&self, elapsed: f64) -> f64 {
        let (on, off) = ((self.line - self.drain).max(0.0), self.drain);
        elapsed * on * off / (self.line * (self.hysteresis + self.line * self.reaction))
    }
}

/// A switch with PFC.
#[derive(Clone, Debug)]
pub(crate) struct PausingSwitch {
    /// Its node.
    pub node: u32,
    /// Its links out, and its ingress ports.
    pub egress: Vec<u32>,
    pub ingress: Vec<Ingress>,
    /// Bytes of its buffer, and of the part that is no headroom.
    pub buffer: f64,
    pub shared: f64,
    /// α of packets without PFC, and the most bytes of a queue in which they find a place.
    pub alpha: f64,
    /// By link out and ingress: bytes that wait.
    pub held: Vec<f64>,
    /// By link out and ingress: the rate of what comes, in bytes per picosecond, at the last look and now.
    pub coming: Vec<f64>,
    pub came: Vec<f64>,
    /// By link out: its counters of bytes that have come and left, at the last look.
    pub arrived: Vec<f64>,
    pub sent: Vec<f64>,
    /// True while its queues are long enough to be followed.
    pub active: bool,
    /// When it was looked at last, and is looked at next: infinite for never.
    pub at: f64,
    pub due: f64,
    /// Interval between two looks where pauses are near.
    pub interval: f64,
    /// Bytes of all queues from which on it is followed.
    pub watched: f64,
    /// Most bytes that have waited in it.
    pub most: f64,
}

/// The pauses of a link, so far.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Pauses {
    /// In picoseconds.
    pub paused: f64,
    /// Xoff frames.
    pub frames: f64,
    /// Why the pause is that holds: the link out of the pausing switch that most of the bytes wait for, where the chain of causes ends,
    /// and how many links away that is.
    pub cause: u32,
    pub root: u32,
    pub depth: u32,
}

impl Pauses {
    const NEVER: Pauses = Pauses { paused: 0.0, frames: 0.0, cause: NONE, root: NONE, depth: 0 };
}

/// PFC in all switches that have it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Pfc {
    pub switches: Vec<PausingSwitch>,
    /// By link: the switch with PFC that sends by it, and the one that it leads to, with the number of the ingress there.
    sender: Vec<u32>,
    pub receiver: Vec<(u32, u32)>,
    pub pauses: Vec<Pauses>,
    pub paths: Paths,
    /// By (paused link, cause, root): depth, picoseconds and frames.
    reasons: BTreeMap<(u32, u32, u32), (u32, f64, f64)>,
    /// When the first switch is due.
    pub next: f64,
}

impl Pfc {
    /// Of the switches of a network.
    pub fn new(network: &Network) -> Pfc {
        let mut pfc = Pfc { next: f64::INFINITY, ..Pfc::default() };
        let mut links: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (number, end) in network.ends.iter() {
            if network.node_specs[end.node as usize].switch().is_some_and(|switch| switch.pfc.is_some()) {
                links.entry(end.node).or_default().push(number.0);
            }
        }
        if links.is_empty() {
            return pfc;
        }
        let all = network.ends.len();
        (pfc.sender, pfc.receiver) = (vec![NONE; all], vec![(NONE, NONE); all]);
        pfc.pauses = vec![Pauses::NEVER; all];
        pfc.paths = Paths::new(all);
        for (node, egress) in links {
            let number = pfc.switches.len() as u32;
            let switch = PausingSwitch::new(network, node, egress);
            switch.egress.iter().for_each(|link| pfc.sender[*link as usize] = number);
            for (place, ingress) in switch.ingress.iter().enumerate() {
                pfc.receiver[ingress.link as usize] = (number, place as u32);
            }
            pfc.switches.push(switch);
        }
        pfc
    }

    /// The switch with PFC that sends by a link.
    pub fn sender(&self, link: usize) -> Option<usize> {
        self.sender.get(link).filter(|switch| **switch != NONE).map(|switch| *switch as usize)
    }

    /// The switch with PFC that a link leads to, and the number of its ingress there.
    pub fn receiver(&self, link: u32) -> Option<(usize, usize)> {
        let (switch, ingress) = self.receiver.get(link as usize)?;
        (*switch != NONE).then_some((*switch as usize, *ingress as usize))
    }

    /// A flow takes these links between switches, one after the other.
    pub fn note_path(&mut self, links: impl Iterator<Item = u32>) {
        let mut before = None;
        for link in links {
            let pauses = self
                .receiver(link)
                .filter(|(switch, ingress)| self.switches[*switch].ingress[*ingress].pauses_neighbour());
            if let (Some(before), Some(_)) = (before, pauses) {
                self.paths.note(before, link);
            }
            before = pauses.map(|_| link);
        }
    }

    /// Returns true if a pause holds a link back.
    pub fn is_paused(&self, link: u32) -> bool {
        self.receiver(link).is_some_and(|(switch, ingress)| self.switches[switch].ingress[ingress].open < 1.0)
    }

    /// The part of its rate that a link may send: 1 without a pause.
    pub fn share(&self, link: u32) -> f64 {
        self.receiver(link).map_or(1.0, |(switch, ingress)| self.switches[switch].ingress[ingress].open)
    }

    /// A link has another rate from now on.
    pub fn change_rate(&mut self, link: u32, rate: Rate) {
        if let Some((switch, ingress)) = self.receiver(link) {
            self.switches[switch].ingress[ingress].line = rate.as_bps() as f64 * BYTES_PER_PS;
        }
        // An ingress has the threshold of its port's own rate.
        if let Some((switch, ingress)) = self.receiver(link ^ 1) {
            let ingress = &mut self.switches[switch].ingress[ingress];
            ingress.xoff = ingress.pfc.as_ref().map(|pfc| Xoff::at(pfc, rate));
        }
    }

    /// A link is so many picoseconds later from now on.
    pub fn change_delay(&mut self, link: u32, later: f64) {
        for link in [link, link ^ 1] {
            if let Some((switch, ingress)) = self.receiver(link) {
                self.switches[switch].ingress[ingress].reaction += later;
            }
        }
    }

    /// A link was paused for a part of the time up to now.
    pub fn note_pause(&mut self, link: u32, paused: f64, frames: f64) {
        let pauses = &mut self.pauses[link as usize];
        pauses.paused += paused;
        pauses.frames += frames;
        let row = self.reasons.entry((link, pauses.cause, pauses.root)).or_default();
        *row = (row.0.max(pauses.depth), row.1 + paused, row.2 + frames);
    }

    /// Pauses by link, cause and root.
    pub fn rows(&self) -> Vec<PauseRow> {
        let row = |(&(port, cause, root), &(depth, paused, frames)): (&(u32, u32, u32), &(u32, f64, f64))| PauseRow {
            port,
            cause,
            root,
            depth,
            pauses: (frames + 0.5) as u64,
            paused: Delta::from_ps(paused as u64),
        };
        self.reasons.iter().map(row).collect()
    }
}

impl PausingSwitch {
    /// Most bytes that come to it between two looks where a threshold is near.
    pub fn largest_step(&self) -> f64 {
        self.line_rates() * self.interval
    }

    /// Bytes per picosecond that may come to it.
    pub fn line_rates(&self) -> f64 {
        self.ingress.iter().map(|ingress| ingress.line).sum()
    }

    /// Returns true if it has held more than its buffer, but for what comes between two looks at it.
    pub fn overflows(&self) -> bool {
        self.most > self.buffer + self.largest_step()
    }

    /// The switch at a node, with these links out.
    fn new(network: &Network, node: u32, egress: Vec<u32>) -> PausingSwitch {
        let NodeKind::Switch(spec @ SwitchSpec { pfc: Some(pfc), .. }) = &network.node_specs[node as usize].kind else {
            unreachable!("a switch with PFC")
        };
        let formats = network.formats.iter();
        let largest = formats.map(|format| format.packet.max(format.ack_wire)).max().unwrap_or(0);
        let (mut shared, mut ingress) = (spec.buffer.as_f64(), Vec::new());
        for link in egress.iter().map(|link| link ^ 1) {
            let end = &network.ends[PortNumber(link)];
            let plain = LinkSpec::plain(end.node, node, end.rate, end.delay);
            let pauses = plain.pauses(&network.node_specs[node as usize], &network.node_specs[end.node as usize]);
            if pauses {
                let computed = || required_headroom(&plain, Bytes::new(largest.into()));
                shared -= pfc.headroom.unwrap_or_else(computed).as_f64();
            }
            ingress.push(Ingress::new(end, link, pauses.then_some(pfc), largest.into()));
        }
        let cells = egress.len() * ingress.len();
        let pausing = || ingress.iter().filter(|ingress| ingress.xoff.is_some());
        // Bytes of all queues at which the first ingress might pause its neighbour.
        let first = |ingress: &Ingress| match ingress.xoff {
            Some(Xoff::Static(bytes)) => bytes.min(shared),
            Some(Xoff::Dynamic(alpha)) => shared * alpha / (1.0 + alpha),
            None => f64::MAX,
        };
        PausingSwitch {
            node,
            buffer: spec.buffer.as_f64(),
            shared,
            alpha: spec.alpha,
            held: vec![0.0; cells],
            coming: vec![0.0; cells],
            came: vec![0.0; cells],
            arrived: vec![0.0; egress.len()],
            sent: vec![0.0; egress.len()],
            active: false,
            at: 0.0,
            due: f64::INFINITY,
            interval: pausing().map(|ingress| ingress.reaction).fold(f64::MAX, f64::min),
            watched: pausing().map(first).fold(f64::MAX, f64::min) / 4.0,
            most: 0.0,
            egress,
            ingress,
        }
    }
}

impl Ingress {
    fn new(end: &LinkEnd, link: u32, pfc: Option<&PfcSpec>, largest: f64) -> Ingress {
        let line = end.rate.as_bps() as f64 * BYTES_PER_PS;
        Ingress {
            link,
            line,
            // There and back, half a packet that the frame waits for, the frame, and half a packet that has begun to leave.
            reaction: 2.0 * ps(end.delay) + (largest + f64::from(PFC_FRAME)) / line,
            xoff: pfc.map(|pfc| Xoff::at(pfc, end.rate)),
            pfc: pfc.cloned(),
            hysteresis: pfc.map_or(0.0, |pfc| pfc.hysteresis.as_f64()),
            waiting: 0.0,
            held: 0.0,
            headroom: 0.0,
            drain: 0.0,
            mean_drain: line,
            open: 1.0,
        }
    }
}
