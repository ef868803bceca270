//! A flow in motion.

use crate::changes::Changes;
use crate::history::{History, SentCurve};
use crate::jobs::Stream;
use crate::link::{BYTES_PER_PS, Counters, round_up};
use crate::receiver::ReceiverHalf;
use crate::tcp::Tcp;
use farloop_cc::int::RateCode;
use farloop_cc::{AnySender, Effect, TimerId};
use farloop_network::ids::FlowId;

/// Counters of a link, as an ACK tells of them.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Told {
    /// Marks and losses by the time when its byte was there, bytes sent and queue by the time of its telemetry.
    pub counters: Counters,
    /// Bytes that had come when its byte was there, and that time in picoseconds.
    pub arrived: f64,
    pub found_at: f64,
}

/// A link with a queue on a flow's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub link: u32,
    /// Rate that the flow puts in, in bit/s.
    pub input: i64,
    /// Propagation delay of long links before it: its counters at a byte's passage are those of so much later.
    pub shift: f64,
    /// Counters that the flow's ACKs have told of, and those of the ACKs that are back at the current look.
    pub reported: Told,
    pub newest: Told,
    /// Its telemetry; `None` if it stamps none.
    pub telemetry: Option<RateCode>,
}

/// The stage of a flow's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It has data to send.
    Sending,
    /// Its last byte is about to come to this hop.
    LastByteAt(usize),
}

/// A flow that has begun, and whose last byte has not arrived.
pub(crate) struct Flow {
    pub number: FlowId,
    pub stage: Stage,
    pub sender: AnySender,
    /// Its receiver, unless that only echoes marks.
    pub receiver: Option<Box<ReceiverHalf>>,
    /// Its connection; `None` over RDMA.
    pub tcp: Option<Box<Tcp>>,
    /// Its messages, if it is a queue pair of a job.
    pub stream: Option<Box<Stream>>,
    /// When each timer is due; infinite for never.
    pub timers: [f64; TimerId::COUNT],
    /// When the first of them is due.
    pub timer_due: f64,
    // Path.
    /// Number of its host.
    pub nic: u32,
    pub hops: Vec<Hop>,
    /// Changes of rate that are on their way.
    pub changes: Changes,
    pub back: Vec<u32>,
    /// Rate of its ACKs that the links back count, in bit/s.
    pub ack_rate: i64,
    // Formats.
    pub mss: f64,
    /// Bytes on the wire of one of payload.
    pub framing: f64,
    /// Bytes of ACKs on the wire for one of data on the wire.
    pub ack_share: f64,
    // Sending. Bytes on the wire, rates in bit/s.
    pub line_rate: i64,
    pub want: i64,
    pub rate: i64,
    /// Rate with which what it sends now leaves the hops before the first long link.
    pub exit: i64,
    pub sent: f64,
    pub left: f64,
    /// Bytes that it may send until its next look; infinite where its rate holds it back.
    pub budget: f64,
    /// Until when these are counted.
    pub at: f64,
    pub curve: SentCurve,
    // Looks.
    pub history: History,
    /// Round-trip time of the empty network.
    pub base_rtt: f64,
    /// Latest round-trip time that an ACK has told.
    pub rtt: f64,
    pub acked: f64,
    /// The same in payload, as its algorithm has been told.
    pub ack_seq: u64,
    /// Payload that had left when its algorithm was told of ACKs last, or of departures.
    pub sent_seq: u64,
    /// When the last acknowledged byte had left.
    pub acked_left: f64,
    /// Time of the telemetry that was told last.
    pub telemetry_at: f64,
    pub looked: f64,
    pub next_look: f64,
    /// Looks for each round-trip time.
    pub looks: f64,
    /// When the repair of the last loss is over.
    pub recovered: f64,
    /// Window in bytes on the wire; infinite for none.
    pub window: f64,
    pub has_telemetry: bool,
    pub wants_on_send: bool,
    /// Most ACKs at a look.
    pub acks: u32,
    /// Bytes that the link where its last byte waits will have sent when that byte leaves; zero where it waits for none.
    pub waits_until: f64,
    // Result.
    pub start: f64,
    pub stop: f64,
    /// Payload; infinite for a flow without an end.
    pub size: f64,
    /// Time of the last byte on its way beyond what the walk of the last byte adds.
    pub rest: f64,
    /// Time of an ACK on its way back in the empty network.
    pub ack_return: f64,
    /// Bytes on the wire that were lost, and sent again.
    pub lost: f64,
    /// Losses that its algorithm was told of, over RDMA.
    pub losses: u32,
    /// Packets whose marks were echoed.
    pub marked: u64,
}

impl Flow {
    /// Counts what it has sent up to `now`.
    #[inline]
    pub fn advance(&mut self, now: f64) {
        let bytes = self.rate as f64 * BYTES_PER_PS * (now - self.at);
        self.sent += bytes;
        self.left -= bytes;
        self.budget -= bytes;
        self.at = now;
    }

    /// Takes over the timers that a handler armed at `now` or disarmed.
    #[inline]
    pub fn set_timers(&mut self, effects: &mut Vec<Effect>, now: f64) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.timers[usize::from(timer.0)] = (at.as_ps() as f64).max(now + 1.0),
                Effect::Cancel(timer) => self.timers[usize::from(timer.0)] = f64::INFINITY,
                Effect::Emit(_)
                | Effect::EmitTo(..)
                | Effect::ReturnTelemetry
                | Effect::RemoveTelemetry
                | Effect::Pace(_) => {}
            }
        }
        self.timer_due = self.timers.iter().copied().fold(f64::INFINITY, f64::min);
    }

    /// When its event comes: the next look, or nothing left to send, or no room in the window.
    #[inline]
    pub fn next_event(&self) -> f64 {
        let mut next = self.next_look.min(self.stop);
        if self.rate > 0 {
            let bytes = self.left.min(self.budget).max(0.0);
            next = next.min(round_up(self.at + bytes / (self.rate as f64 * BYTES_PER_PS)));
        }
        next
    }

    /// True if it is a queue pair that has nothing to send, and has heard of all that it sent.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.asleep)
    }

    /// True if it is a queue pair that has nothing to send now.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.left <= 0.5 && self.stream.as_ref().is_some_and(|stream| stream.is_empty())
    }

    /// Payload that has arrived at `now`.
    pub fn delivered_at(&self, now: f64) -> f64 {
        let back = now + self.ack_return;
        let messages = self.stream.as_ref().map_or(0.0, |stream| stream.delivered as f64);
        self.curve.acked_at(back).map_or(0.0, |(bytes, _)| bytes / self.framing).min(self.size).max(messages)
    }

    /// Full packets of what was lost.
    pub fn lost_packets(&self) -> u64 {
        (self.lost / (self.mss * self.framing)) as u64
    }

    /// Rate that it puts into a hop, and the link by which that comes there; `None` where it puts nothing in.
    pub fn input_at(&self, place: usize) -> Option<(u32, i64)> {
        let input = self.hops[place].input;
        (input > 0).then(|| (if place > 0 { self.hops[place - 1].link } else { self.nic }, input))
    }

    /// Adds what it puts into links, and what its ACKs take of hosts' links, each by link.
    pub fn add_inputs(&self, inputs: &mut [i64], acks: &mut [i64]) {
        for hop in &self.hops {
            inputs[hop.link as usize] += hop.input;
        }
        for (place, link) in self.back.iter().enumerate() {
            let of = if place == 0 { &mut *acks } else { &mut *inputs };
            of[*link as usize] += self.ack_rate;
        }
    }
}
