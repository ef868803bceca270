//! The sending half: tracks packets in flight, delivered or lost, and collects the feedback for algorithm and chooser.
//!
//! Rules by which a packet is found lost (uet-htsim, htsim/sim/uec.cpp, commit 40ccb05, unless a rule names another source):
//!
//! - trimmed: a NACK names it (`processNack`);
//! - overtaken: at least min(f·cwnd, 1.5 BDP) of payload, five packets at least, has been delivered beyond the first gap. From then on,
//!   until all that had been sent by then is delivered, the packets of one window from the gap on are lost that are not delivered and that
//!   a later sending has overtaken (`runSleek`, which that simulator runs on demand, with f = 1.5; the condition that the packets were
//!   sent before is only here);
//! - timeout: the packet sent longest ago is not delivered for the timeout (`rtxTimerExpired`). It doubles for packets sent from then on,
//!   until something new is delivered (RFC 6298, §5.5): packets of one window that is lost wait for the same timeout, and only one that is
//!   sent again and lost again for a longer one. The timeout is at least one and a half times the round-trip times that are being
//!   measured. Neither is in that simulator, whose queues bound the time of a packet.
//!
//! A lost packet goes before new ones, the lowest number first. One that was only late is delivered by whichever copy comes first.
//!
//! [`flight`] computes the bytes in flight where ACKs count packets that they do not name.

mod flight;

use super::delivery::DeliverySamples;
use super::wire::{Answer, Received, Trimmed};
use farloop_cc::paths::{Entropy, PathFeedback};
use farloop_cc::{Loss, LossKind, PacketLoss, PacketLossKind};
use farloop_network::code::Code;
use farloop_tcp::Meaning;
use farloop_units::{Bytes, Delta, Time};
use std::collections::{BTreeSet, VecDeque};

/// Fewest packets beyond a gap that overtake (uet-htsim, `min_retx_config`).
const MIN_OVERTAKING: u64 = 5;
/// Most doublings of the timeout, as in go-back-N.
const MAX_DOUBLINGS: u8 = 6;

/// Where a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    InFlight,
    Delivered,
    Lost,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
    /// When, the last time.
    sent: Time,
    entropy: Entropy,
    place: Place,
    /// By which plane.
    plane: u8,
}

const _: () = assert!(size_of::<Packet>() == 16);

/// A repair that began because later packets overtook a gap.
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// It is over when all packets before this one are delivered.
    until: u64,
    /// The first packet that has not been looked at.
    next: u64,
}

/// One event of a kind in a round trip.
#[derive(Clone, Copy, Default, Debug)]
struct Gate {
    /// Distinct bytes that must be delivered before the next one.
    until: u64,
    /// Or the time that must have passed.
    or_from: Time,
}

/// State of a selective-repeat sender. Numbers count packets from zero; bytes are payload.
pub(crate) struct SelectiveRepeat {
    mss: u64,
    base_rtt: Delta,
    /// Most payload that overtakes: 1.5 BDP.
    max_window: u64,
    overtaken: Option<f64>,
    rto: Delta,
    rto_growth: bool,
    /// Room that the window must have for a new packet, less a byte.
    room: u64,
    /// The first packet that is not delivered.
    base: u64,
    /// The packets from there to the last one that was sent.
    packets: VecDeque<Packet>,
    /// Sendings in their order: number and time. Their packets may have been delivered or lost since: look them up.
    flight: VecDeque<(u64, Time)>,
    lost: BTreeSet<u64>,
    /// When the first of them was found.
    lost_since: Time,
    /// Payload of the packets in flight, as far as it is known which are.
    outstanding: u64,
    /// Payload of the packets that are named as delivered, and of those that are presumed to be.
    identified: u64,
    /// Packets that are presumed to be delivered, lost or sent again.
    presumed: BTreeSet<u64>,
    /// Payload in flight of presumed packets, sent again.
    repeats: u64,
    /// Payload that the receiver has, by its count.
    delivered: u64,
    /// The state of the receiver in the last ACK.
    latest: Received,
    /// Distinct bytes sent.
    sent: u64,
    repair: Option<Repair>,
    /// One for NACKs and overtaken packets, one for timeouts.
    gates: [Gate; 2],
    /// The largest of recent round-trip times: falls by 1/64 of the difference with each sample.
    largest_rtt: Delta,
    backoff: u8,
    /// The time of the last doubling of the timeout: packets sent before wait for the shorter one.
    doubled: Time,
    /// When something last happened: no timer is due before.
    now: Time,
    /// The time at which it last requested an ACK.
    last_request: Option<Time>,
    /// Feedback that the choosers have not received yet, with its plane.
    pub fates: Vec<(u8, Entropy, PathFeedback)>,
    /// The plane of the packet that leaves, or that is answered.
    pub plane: u8,
    /// Losses that the algorithm has not received yet.
    pub losses: Vec<PacketLoss>,
    /// Number of packets that turned out to have been sent again in vain.
    pub spurious: u32,
    /// The flow has blocks.
    pub code: Option<Code>,
    /// Its application has stopped: all that is sent of a flow with blocks, repair packets included.
    stopped: Option<u64>,
    /// Where the algorithm asks for delivery rates.
    pub samples: DeliverySamples,
}

/// Facts about its flow that a sender needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Payload of a full packet.
    pub mss: u64,
    pub base_rtt: Delta,
    /// Bandwidth-delay product in bytes.
    pub bdp: u64,
    /// Least timeout, or the timeout itself without `rto_growth`.
    pub rto: Delta,
    pub rto_growth: bool,
    pub whole_packets: bool,
    /// Number of windows that must overtake a gap; `None` for no such repair.
    pub overtaken: Option<f64>,
    pub code: Option<Code>,
}

/// A packet that a sender sends next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    pub number: u64,
    pub entropy: Entropy,
    /// Offset of its first byte.
    pub offset: u64,
    pub payload: u64,
    /// True if it was sent before.
    pub again: bool,
    /// Plane and entropy value of that sending.
    pub before: (u8, Entropy),
    /// True if the receiver is to answer at once.
    pub wants_ack: bool,
}

impl SelectiveRepeat {
    /// State before the first packet.
    pub fn new(setting: &Setting) -> SelectiveRepeat {
        let &Setting { mss, base_rtt, bdp, rto, rto_growth, whole_packets, overtaken, code } = setting;
        SelectiveRepeat {
            mss,
            base_rtt,
            max_window: bdp.saturating_add(bdp / 2),
            overtaken,
            rto,
            rto_growth,
            room: if whole_packets { mss - 1 } else { 0 },
            base: 0,
            packets: VecDeque::new(),
            flight: VecDeque::new(),
            lost: BTreeSet::new(),
            lost_since: Time::ZERO,
            outstanding: 0,
            identified: 0,
            presumed: BTreeSet::new(),
            repeats: 0,
            delivered: 0,
            latest: Received::default(),
            sent: 0,
            repair: None,
            gates: [Gate::default(); 2],
            largest_rtt: Delta::ZERO,
            backoff: 0,
            doubled: Time::ZERO,
            now: Time::ZERO,
            last_request: None,
            fates: Vec::new(),
            plane: 0,
            losses: Vec::new(),
            spurious: 0,
            code,
            stopped: None,
            samples: DeliverySamples::default(),
        }
    }

    /// The plane of the sending of a packet at this time, if it is the latest.
    pub fn plane_of(&self, number: u64, sent: Time) -> Option<u8> {
        self.packet(number).filter(|packet| packet.sent == sent).map(|packet| packet.plane)
    }

    /// Payload that the receiver has, each byte once.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// Returns the offset of the first byte that is not delivered.
    pub fn in_order(&self) -> u64 {
        self.base * self.mss
    }

    /// Returns true if nothing is in flight, so that no timer runs.
    pub fn is_idle(&self) -> bool {
        self.flight.is_empty()
    }

    /// Distinct bytes that have been sent.
    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// Payload of a flow of `limit` bytes that is yet to be sent, for the first time or again.
    pub fn backlog(&self, limit: u64) -> u64 {
        self.end(limit).saturating_sub(self.sent).saturating_add(self.lost.len() as u64 * self.mss)
    }

    /// Payload in flight: without bytes that the receiver counts, even if ACKs do not name their packets.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.outstanding.saturating_sub(self.unnamed_bytes())
    }

    /// Returns true if losses are being repaired.
    pub fn is_repairing(&self) -> bool {
        self.backoff > 0 || self.repair.is_some() || !self.lost.is_empty()
    }

    /// The end of the payload that a window of `cwnd` has room for, as new packets after all that are to be sent again.
    pub fn room_end(&self, cwnd: Bytes) -> u64 {
        let unsettled = self.in_flight().saturating_add(self.lost.len() as u64 * self.mss);
        self.sent.saturating_add(cwnd.get()).saturating_sub(unsettled)
    }

    /// The least end of room that the next new packet needs; `None` if there is none.
    pub fn new_end(&self, limit: u64) -> Option<u64> {
        (self.sent < self.end(limit)).then_some(self.sent + self.room + 1)
    }

    /// When the first lost packet was found, if some are to be sent again.
    pub fn lost_since(&self) -> Option<Time> {
        (!self.lost.is_empty()).then_some(self.lost_since)
    }

    /// As [`super::super::rdma::GoBackN::can_send`].
    #[inline]
    pub fn can_send(&self, limit: u64, cwnd: Bytes) -> bool {
        let limit = self.end(limit);
        let in_flight = self.in_flight();
        let room = if self.lost.is_empty() { self.room } else { 0 };
        (!self.lost.is_empty() || self.sent < limit) && (in_flight == 0 || in_flight + room < cwnd.get())
    }

    /// Sends the next packet of a flow of `limit` bytes, with this entropy value; there is one, and a `new` one where that is asked for.
    pub fn next(&mut self, now: Time, (limit, new): (u64, bool), cwnd: Bytes, entropy: Entropy) -> Next {
        let limit = self.end(limit);
        self.now = now;
        let packet = Packet { sent: now, entropy, place: Place::InFlight, plane: self.plane };
        let again = if self.lost.is_empty() || new { None } else { self.lost.pop_first() };
        let mut before = (0, 0);
        let number = match again {
            Some(number) => {
                let old = std::mem::replace(&mut self.packets[(number - self.base) as usize], packet);
                before = (old.plane, old.entropy);
                self.repeat(number, limit);
                number
            }
            None => {
                self.packets.push_back(packet);
                self.base + self.packets.len() as u64 - 1
            }
        };
        let payload = self.payload(number, limit);
        self.samples.note_sent(now, number, self.outstanding);
        self.outstanding += payload;
        self.sent += if again.is_none() { payload } else { 0 };
        self.flight.push_back((number, now));
        // As there: the last one, one that was sent again, one behind which the window is full. Once in a base round-trip time besides: a
        // slow flow would wait for the threshold longer than for its timeout.
        let last = self.sent >= limit && self.lost.is_empty();
        let full = self.in_flight().saturating_add(self.mss) > cwnd.get();
        let due = self.last_request.is_none_or(|at| now.since(at) >= self.base_rtt);
        let wants_ack = again.is_some() || last || full || due;
        if wants_ack {
            self.last_request = Some(now);
        }
        if last && !full {
            self.samples.mark_app_limited(self.outstanding);
        }
        Next { number, entropy, offset: number * self.mss, payload, again: again.is_some(), before, wants_ack }
    }

    /// An ACK arrived.
    pub fn on_ack(&mut self, now: Time, limit: u64, cwnd: Bytes, answer: &Answer) -> Meaning {
        self.now = now;
        let limit = self.end(limit);
        let rtt = now.since(answer.sent);
        self.sample(rtt);
        // A whole block is delivered, and so may be packets of it that are yet to leave.
        let bytes = if self.code.is_some() { answer.received.bytes.min(self.sent) } else { answer.received.bytes };
        let acked = bytes.saturating_sub(self.delivered);
        self.delivered += acked;
        let snapshot = self.samples.snapshot(answer.number);
        let answered = snapshot.and_then(|then| Some((self.packet(answer.number)?.sent, then)));
        for number in self.base..answer.received.cumulative {
            self.deliver(number, limit);
        }
        // Most of a bitmap was in the one before.
        let news = answer.received.news_since(&self.latest);
        self.latest = answer.received;
        for number in news.selected_packets() {
            self.deliver(number, limit);
        }
        self.deliver(answer.number, limit);
        if self.identified > self.delivered {
            self.withdraw(limit);
        }
        self.advance();
        self.spurious += u32::from(answer.duplicate);
        self.fates.push((
            self.plane,
            answer.entropy,
            if answer.marked { PathFeedback::Ecn } else { PathFeedback::Good },
        ));
        if acked > 0 {
            self.backoff = 0;
        }
        let overtaken = self.find_overtaken(limit, cwnd, answer.sent);
        let delivery = self.samples.on_ack(now, (acked, answered), rtt, self.base);
        Meaning {
            is_ack: true,
            acked: Bytes::new(acked),
            rtt: Some(rtt),
            ecn_echo: answer.marked,
            in_recovery: self.delivered < self.gates[0].until,
            app_limited: self.sent >= limit && self.lost.is_empty(),
            delivery,
            loss: if overtaken { self.event(now, LossKind::FastRetransmit) } else { None },
            finished: acked > 0 && self.delivered >= limit
                || self.code.is_some_and(|code| answer.received.cumulative >= code.packets()),
            ..Meaning::default()
        }
    }

    /// A NACK arrived: a switch has trimmed a packet.
    pub fn on_nack(&mut self, now: Time, limit: u64, nack: &Trimmed) -> Meaning {
        self.now = now;
        let rtt = now.since(nack.sent);
        self.sample(rtt);
        // Where only the destination lay behind no other path would have helped (`processNack`).
        let fate = match (nack.last_hop, nack.marked) {
            (false, _) => PathFeedback::Nack,
            (true, true) => PathFeedback::Ecn,
            (true, false) => PathFeedback::Good,
        };
        self.fates.push((self.plane, nack.entropy, fate));
        let current = self.packet(nack.number).is_some_and(|p| p.place == Place::InFlight && p.sent == nack.sent);
        let mut meaning = Meaning::default();
        if current {
            self.lose(nack.number, limit, PacketLossKind::Trimmed, Some(rtt), nack.last_hop);
            meaning.loss = self.event(now, LossKind::FastRetransmit);
        }
        meaning
    }

    /// Handles a request for a block, whose last packet is `last` (`processParityNack` of spcl/Uno_SC25, sim/lcp.cpp). Packets of it that
    /// the receiver does not have are lost, but for those that left too late for it to know.
    pub fn on_block(&mut self, now: Time, limit: u64, last: u64, received: &Received) -> Meaning {
        self.now = now;
        let Some(code) = self.code else { return Meaning::default() };
        let first = code.blocks.first_packet(code.blocks.place(last).0);
        let (limit, before) = (self.end(limit), self.losses.len());
        for number in first.max(self.base).max(received.cumulative)..=last {
            let Some(&Packet { sent, entropy, place, plane }) = self.packet(number) else { break };
            let has = received.selected_packets().any(|other| other == number);
            if place == Place::InFlight && !has && sent.saturating_add(self.base_rtt) <= now {
                self.fates.push((plane, entropy, PathFeedback::Timeout));
                self.lose(number, limit, PacketLossKind::Overtaken, None, false);
            }
        }
        let is_lost = self.losses.len() > before;
        Meaning { loss: if is_lost { self.event(now, LossKind::FastRetransmit) } else { None }, ..Meaning::default() }
    }

    /// The application of a flow of `limit` bytes stops: the payload of the flow that was sent, and whether all that was sent is delivered.
    pub fn stop(&mut self, limit: u64) -> (u64, bool) {
        let Some(code) = self.code else { return (self.sent, self.delivered >= limit.min(self.sent)) };
        self.stopped = Some(self.sent);
        let packets = self.base + self.packets.len() as u64;
        let (block, place) = code.blocks.place(packets);
        let data = block * code.blocks.data() + u64::from(place.min(code.blocks.needs(block)));
        (data.saturating_mul(self.mss).min(limit), self.delivered >= self.sent)
    }

    /// The retransmission timer fired: all packets that were sent longer ago than the timeout are lost.
    pub fn on_timer(&mut self, now: Time, limit: u64) -> Meaning {
        self.now = now;
        let (mut doubles, before) = (false, self.losses.len());
        while let Some((number, sent)) =
            self.oldest_in_flight().filter(|(_, sent)| sent.saturating_add(self.wait(*sent)) <= now)
        {
            debug_assert!(sent <= now);
            doubles |= sent >= self.doubled;
            if let Some(packet) = self.packet(number) {
                self.fates.push((packet.plane, packet.entropy, PathFeedback::Timeout));
            }
            self.presume(number, limit);
            self.lose(number, limit, PacketLossKind::Timeout, None, false);
            self.forget_stale();
        }
        let mut meaning = Meaning::default();
        if self.losses.len() > before {
            meaning.loss = self.event(now, LossKind::Timeout);
        }
        if doubles {
            self.backoff = (self.backoff + 1).min(MAX_DOUBLINGS);
            self.doubled = now;
        }
        meaning
    }

    /// When [`SelectiveRepeat::on_timer`] is due: a timeout that has become shorter may be over already.
    #[inline]
    pub fn timer(&self) -> Time {
        self.oldest_in_flight().map_or(Time::NEVER, |(_, sent)| sent.saturating_add(self.wait(sent)).max(self.now))
    }

    /// Payload of a packet of a flow of `limit` bytes.
    #[inline]
    fn payload(&self, number: u64, limit: u64) -> u64 {
        if let Some(code) = &self.code {
            return code.payload(number);
        }
        limit.saturating_sub(number * self.mss).min(self.mss)
    }

    /// Payload to send in all of a flow of `limit` bytes: with the repair packets of its blocks.
    #[inline]
    fn end(&self, limit: u64) -> u64 {
        self.code.map_or(limit, |code| self.stopped.unwrap_or(code.bytes()))
    }

    fn packet(&self, number: u64) -> Option<&Packet> {
        let place = number.checked_sub(self.base)?;
        self.packets.get(place as usize)
    }

    /// Timeout of a packet that was sent at `sent`.
    fn wait(&self, sent: Time) -> Delta {
        if !self.rto_growth {
            return self.rto;
        }
        let doublings = if sent >= self.doubled { self.backoff } else { self.backoff.saturating_sub(1) };
        self.rto.max(self.largest_rtt * 3 / 2) * (1 << doublings)
    }

    fn sample(&mut self, rtt: Delta) {
        self.largest_rtt = match self.largest_rtt > rtt {
            true => self.largest_rtt - (self.largest_rtt - rtt) / 64,
            false => rtt,
        };
    }

    /// The packet in flight that was sent longest ago, and when; [`SelectiveRepeat::forget_stale`] goes before.
    #[inline]
    fn oldest_in_flight(&self) -> Option<(u64, Time)> {
        self.flight.front().copied()
    }

    /// Forgets the oldest sendings whose packets are no longer in flight, or were sent again.
    fn forget_stale(&mut self) {
        while let Some(&(number, sent)) = self.flight.front() {
            if self.packet(number).is_some_and(|p| p.place == Place::InFlight && p.sent == sent) {
                return;
            }
            self.flight.pop_front();
        }
    }

    /// A packet is known to have arrived.
    #[inline]
    fn deliver(&mut self, number: u64, limit: u64) {
        let Some(packet) = number.checked_sub(self.base).and_then(|i| self.packets.get_mut(i as usize)) else { return };
        let place = std::mem::replace(&mut packet.place, Place::Delivered);
        if place == Place::Delivered {
            return;
        }
        let payload = self.payload(number, limit);
        match place {
            Place::Lost => drop(self.lost.remove(&number)),
            _ => self.outstanding -= payload,
        }
        if self.presumed.is_empty() {
            self.identified += payload;
        } else {
            self.identify(number, payload, place);
        }
    }

    /// Forgets the packets before the first one that is not delivered.
    fn advance(&mut self) {
        while self.packets.front().is_some_and(|p| p.place == Place::Delivered) {
            self.packets.pop_front();
            self.base += 1;
        }
        self.forget_stale();
    }

    /// A packet in flight is lost.
    fn lose(&mut self, number: u64, limit: u64, kind: PacketLossKind, rtt: Option<Delta>, last_hop: bool) {
        let payload = self.payload(number, limit);
        self.packets[(number - self.base) as usize].place = Place::Lost;
        self.outstanding -= payload;
        self.samples.note_lost(payload);
        if self.presumed.contains(&number) {
            self.repeats -= payload;
        }
        if self.lost.is_empty() {
            self.lost_since = self.now;
        }
        self.lost.insert(number);
        self.forget_stale();
        let in_flight = Bytes::new(self.in_flight());
        self.losses.push(PacketLoss { kind, payload: Bytes::new(payload), in_flight, rtt, last_hop });
    }

    /// A loss of this kind, where it is the first in a round trip: since the one before as much has been delivered as had been sent, or a
    /// timeout has passed.
    fn event(&mut self, now: Time, kind: LossKind) -> Option<Loss> {
        let (sent, wait) = (self.sent, self.wait(self.now));
        let gate = &mut self.gates[usize::from(kind == LossKind::Timeout)];
        if self.delivered < gate.until && now < gate.or_from {
            return None;
        }
        *gate = Gate { until: sent, or_from: now.saturating_add(wait) };
        if kind == LossKind::Timeout {
            // Windows may grow again (RFC 5681, §3.1).
            self.gates[0].until = self.gates[0].until.min(self.delivered);
        }
        Some(Loss { kind, in_flight: Bytes::new(self.in_flight()), snd_nxt: Bytes::new(sent) })
    }

    /// Loses the packets that were overtaken by one that was sent at `sent`; returns true if there are any.
    fn find_overtaken(&mut self, limit: u64, cwnd: Bytes, sent: Time) -> bool {
        let Some(factor) = self.overtaken else { return false };
        if self.repair.is_some_and(|repair| self.base >= repair.until) {
            self.repair = None;
        }
        let mut repair = match self.repair {
            Some(repair) => repair,
            None => {
                let beyond = self.delivered.saturating_sub((self.base * self.mss).min(limit));
                let windows = (cwnd.as_f64() * factor).min(self.max_window as f64) as u64;
                if beyond < windows.max(MIN_OVERTAKING * self.mss) || !self.lost.is_empty() {
                    return false;
                }
                Repair { until: self.base + self.packets.len() as u64, next: self.base }
            }
        };
        let window = (cwnd.get().min(self.max_window) / self.mss).max(1);
        let end = repair.until.min(self.base.saturating_add(window));
        let before = self.losses.len();
        for number in repair.next.max(self.base)..end {
            let Some(&Packet { sent: own, entropy, place, plane }) = self.packet(number) else { break };
            if place == Place::InFlight && own < sent {
                self.fates.push((plane, entropy, PathFeedback::Timeout));
                self.presume(number, limit);
                self.lose(number, limit, PacketLossKind::Overtaken, None, false);
            }
        }
        repair.next = repair.next.max(end);
        self.repair = Some(repair);
        self.losses.len() > before
    }
}

#[cfg(test)]
mod tests;
