//! Losses: which packets of a flow they meet, and how its sender finds out and repairs them.
//!
//! A full queue, or a link that marks by dropping, takes a share of what comes. Of a flow that is a number of packets, of which whole ones
//! are lost: the first where a random part of a packet has gathered, then one for each packet that gathers, at the bytes at which they do
//! (systematic sampling: as many as expected, whatever a flow's size, and as even as a queue's that is full).

use super::{EndpointTimers, Hole, Phase, Repair, Tcp};
use crate::acks::Reported;
use crate::engine::{Engine, time};
use crate::flow::{Flow, Hop};
use farloop_cc::{Ctx, Loss, LossKind, Sender};
use farloop_tcp::Recovery;
use farloop_units::Bytes;

/// Most holes that a look makes; more packets share them.
const MAX_HOLES: u64 = 16;

impl Engine<'_> {
    /// Notes what was lost of the bytes that have come back since the last look, in whole packets; `reported` has these then.
    pub(super) fn note_losses(&mut self, flow: &mut Flow, tcp: &mut Tcp, reported: &mut Reported, now: f64) {
        if reported.lost <= 0.0 {
            if tcp.holes.is_empty() && tcp.stuck <= 0.0 {
                tcp.progress = now;
            }
            return;
        }
        let packet = flow.mss * flow.framing;
        let news = reported.acked - flow.acked;
        let (from, span) = self.lossy_span(flow, reported, news);
        let before = match tcp.owed {
            Some(owed) => owed,
            None => self.random.uniform() * packet,
        };
        let gathered = before + reported.lost;
        // Of the end of a flow a smaller packet may be lost.
        let count = (gathered / packet).min(news / packet + 0.5) as u64;
        tcp.owed = Some(gathered - count as f64 * packet);
        if count == 0 {
            reported.lost = 0.0;
            if tcp.holes.is_empty() && tcp.stuck <= 0.0 {
                tcp.progress = now;
            }
            return;
        }
        let holes = count.min(MAX_HOLES);
        for hole in 0..holes {
            // The packets of a hole are spread around its middle.
            let nth = (hole as f64 + 0.5) * (count as f64 / holes as f64) + 0.5;
            let part = ((nth * packet - before) / reported.lost).clamp(0.0, 1.0);
            let at = from + part * span;
            if tcp.holes.is_empty() && tcp.stuck <= 0.0 {
                tcp.progress = flow.looked + (at - flow.acked) / news * (now - flow.looked);
            }
            tcp.holes.push_back(Hole { at, bytes: count as f64 / holes as f64 * packet });
        }
        reported.lost = count as f64 * packet;
        flow.lost += reported.lost;
    }

    /// The bytes among which losses are, and how many they are: those that came while the queue was full. What a queue grows by and what it
    /// loses are together what it gets in excess of its rate, so the share that it loses while it is full follows from both.
    fn lossy_span(&self, flow: &Flow, reported: &Reported, news: f64) -> (f64, f64) {
        let lost = |hop: &&Hop| hop.newest.counters.lost - hop.reported.counters.lost;
        let Some(hop) = flow.hops.iter().max_by(|a, b| lost(a).total_cmp(&lost(b))) else {
            return (flow.acked, news);
        };
        let (before, after) = (&hop.reported.counters, &hop.newest.counters);
        let excess = after.queue - before.queue + lost(&hop);
        let share = excess / (hop.newest.arrived - hop.reported.arrived).max(1.0);
        if flow.has_telemetry || share <= 0.0 {
            return (flow.acked, news);
        }
        let span = (reported.lost / share.min(1.0)).clamp(reported.lost, news);
        let full = 0.999 * self.facts[hop.link as usize].limit;
        if after.queue >= full {
            (reported.acked - span, span)
        } else if before.queue >= full {
            (flow.acked, span)
        } else {
            (flow.acked, news)
        }
    }

    /// Finds the losses behind which enough packets have arrived: `acked` bytes have come back or are lost.
    pub(super) fn find_losses(&mut self, flow: &mut Flow, tcp: &mut Tcp, acked: f64, now: f64) {
        let enough = f64::from(tcp.config.dup_ack_threshold) * flow.mss * flow.framing;
        let mut lost: f64 = tcp.holes.iter().map(|hole| hole.bytes).sum();
        while let Some(hole) = tcp.holes.front().copied() {
            // Packets behind a lost one arrive, but for those that are lost with it.
            if acked - hole.at - (lost - hole.bytes) < enough {
                return;
            }
            tcp.holes.pop_front();
            lost -= hole.bytes;
            self.find_loss(flow, tcp, hole, now);
        }
    }

    /// The sender finds out about a loss.
    pub(super) fn find_loss(&mut self, flow: &mut Flow, tcp: &mut Tcp, hole: Hole, now: f64) {
        let again = tcp.repairs.iter().find(|repair| hole.at >= repair.from && hole.at < repair.to).copied();
        if again.is_some() && tcp.config.recovery != Recovery::Rack {
            // RFC 6675 takes what it has sent again for on its way: a timeout repairs it.
            tcp.stuck += hole.bytes;
            if tcp.timers.rto == f64::INFINITY {
                tcp.timers.rto = self.expiry(tcp, tcp.progress.max(now - flow.rtt));
            }
            return;
        }
        let old = again.map_or(hole.at < tcp.recover, |repair| repair.old);
        if tcp.phase == Phase::Open {
            tcp.lose(flow, hole.bytes, true);
            self.begin_recovery(flow, tcp, hole.at, now);
        } else {
            tcp.lose(flow, hole.bytes, old);
        }
    }

    /// A loss that ACKs revealed, of what follows byte `at`.
    fn begin_recovery(&mut self, flow: &mut Flow, tcp: &mut Tcp, at: f64, now: f64) {
        tcp.phase = Phase::Recovery;
        tcp.counts.recoveries += 1;
        tcp.recover = flow.sent;
        tcp.forced = true;
        let before = flow.window;
        self.tell_reduction(flow, LossKind::FastRetransmit, at, now);
        let after = flow.sender.control().cwnd.as_f64() * flow.framing;
        tcp.reduction = tcp.config.prr.then_some((after / before.max(1.0)).min(1.0));
    }

    /// Ends a phase in which everything is repaired that had left when it began. What was lost since then is a loss of its own.
    pub(super) fn end_phase(&mut self, flow: &mut Flow, tcp: &mut Tcp, now: f64) {
        let olds = tcp.repairs.iter().filter(|repair| repair.old);
        let until = olds.map(|repair| repair.to).fold(tcp.recover, f64::max);
        let open = tcp.holes.iter().any(|hole| hole.at < until);
        if tcp.phase == Phase::Open || tcp.due[0] > 0.0 || tcp.stuck > 0.0 || open || flow.acked < until - 0.5 {
            return;
        }
        tcp.phase = Phase::Open;
        tcp.reduction = None;
        tcp.timers = EndpointTimers::NONE;
        tcp.repairs.retain(|repair| repair.to > flow.acked);
        for repair in &mut tcp.repairs {
            repair.old = true;
        }
        let due = std::mem::take(&mut tcp.due[1]);
        if due > 0.0 {
            tcp.due[0] = due;
            self.begin_recovery(flow, tcp, flow.acked, now);
        }
    }

    /// Tells the algorithm of a loss at a byte.
    pub(super) fn tell_reduction(&mut self, flow: &mut Flow, kind: LossKind, at: f64, now: f64) {
        let loss = Loss {
            kind,
            in_flight: Bytes::from_f64((flow.sent - at).max(0.0) / flow.framing),
            snd_nxt: Bytes::new(flow.sent_seq.max(flow.ack_seq)),
        };
        flow.sender.on_loss(&mut Ctx::new(time(now), &mut self.random, &mut self.effects), &loss);
        flow.set_timers(&mut self.effects, now);
    }
}

impl Tcp {
    /// Bytes are known to be lost, and to be sent again; `old` if they had left when the phase began.
    pub(super) fn lose(&mut self, flow: &mut Flow, bytes: f64, old: bool) {
        flow.left += bytes;
        self.due[usize::from(!old)] += bytes;
        self.last_byte = None;
        if let Some(delivery) = &mut self.delivery {
            delivery.lose((bytes / flow.framing) as u64);
        }
    }

    /// Counts what has left since the last look: lost bytes first.
    pub(super) fn count_repairs(&mut self, flow: &Flow) {
        let mut from = self.counted;
        self.counted = flow.sent;
        for (due, old) in self.due.iter_mut().zip([true, false]) {
            let repaired = due.min(flow.sent - from);
            if repaired <= 0.0 {
                continue;
            }
            let to = from + repaired;
            *due -= repaired;
            if *due <= 0.5 {
                *due = 0.0;
            }
            self.counts.resent += repaired;
            match self.repairs.back_mut().filter(|last| last.to == from && last.old == old) {
                Some(last) => last.to = to,
                None => self.repairs.push_back(Repair { from, to, old }),
            }
            from = to;
        }
    }
}
