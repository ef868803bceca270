//! Payload in flight where ACKs count more packets than they name.
//!
//! An ACK counts all payload that has arrived, and names the packets before the first gap and 64 others. Payload that it counts without a
//! name has left the flight. If such a packet times out, or is overtaken, it must not leave the flight a second time, but the sender
//! cannot tell it from one that is lost. So while enough payload is unnamed, a packet that is taken for lost without proof is presumed to
//! be delivered: it is repeated like others, and its payload counts as named.
//!
//! ```text
//! in flight = sent - delivered - lost and not presumed + presumed and sent again
//! ```
//!
//! The answer to a reliability probe loses packets likewise.
//!
//! An ACK that names more than is left without a name shows that a presumption was wrong, and withdraws one. When all that is counted is
//! named, no packet is presumed.

use super::{Packet, Place, SelectiveRepeat};
use farloop_cc::paths::PathFeedback;
use farloop_cc::{Loss, LossKind, PacketLossKind};
use farloop_units::Time;

impl SelectiveRepeat {
    /// The receiver has answered a probe that left at `probed`: what left a base round-trip time before and has not arrived is lost.
    pub fn on_probe_answer(&mut self, now: Time, limit: u64, probed: Time) -> Option<Loss> {
        let (limit, before) = (self.end(limit), self.losses.len());
        for number in self.base..self.base + self.packets.len() as u64 {
            let Some(&Packet { sent, entropy, place, plane }) = self.packet(number) else { break };
            if place == Place::InFlight && sent.saturating_add(self.base_rtt) <= probed {
                self.fates.push((plane, entropy, PathFeedback::Timeout));
                self.presume(number, limit);
                self.lose(number, limit, PacketLossKind::Overtaken, None, false);
            }
        }
        if self.losses.len() > before { self.event(now, LossKind::FastRetransmit) } else { None }
    }

    /// Payload that the receiver counts, of packets that are neither named nor presumed.
    #[inline]
    pub(super) fn unnamed_bytes(&self) -> u64 {
        self.delivered - self.identified
    }

    /// A packet in flight is about to be lost without proof: presumes that it is delivered, where as much is unnamed.
    #[cold]
    pub(super) fn presume(&mut self, number: u64, limit: u64) {
        let payload = self.payload(number, limit);
        if self.unnamed_bytes() >= payload && self.presumed.insert(number) {
            self.identified += payload;
            self.repeats += payload;
        }
    }

    /// A lost packet is about to be sent again. Where more is unnamed than is in flight, a lost packet has been delivered late: this one.
    #[cold]
    pub(super) fn repeat(&mut self, number: u64, limit: u64) {
        let (payload, unnamed) = (self.payload(number, limit), self.unnamed_bytes());
        if unnamed >= payload && unnamed > self.outstanding - self.repeats && self.presumed.insert(number) {
            self.identified += payload;
        }
        if self.presumed.contains(&number) {
            self.repeats += payload;
        }
    }

    /// An ACK names a packet of this payload, which was lost or in flight `before`, while some packets are presumed to be delivered.
    #[cold]
    pub(super) fn identify(&mut self, number: u64, payload: u64, before: Place) {
        if !self.presumed.remove(&number) {
            self.identified += payload;
        } else if before == Place::InFlight {
            self.repeats -= payload;
        }
    }

    /// Withdraws presumptions until no more is named than is delivered.
    #[cold]
    pub(super) fn withdraw(&mut self, limit: u64) {
        while self.identified > self.delivered {
            let Some(number) = self.presumed.pop_last() else { return };
            let payload = self.payload(number, limit);
            self.identified -= payload;
            if self.packet(number).is_some_and(|p| p.place == Place::InFlight) {
                self.repeats -= payload;
            }
        }
    }
}
