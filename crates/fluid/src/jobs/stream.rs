//! Messages in queue pairs, and their last bytes on their way.

use farloop_job::Message;
use farloop_network::Network;
use farloop_network::path::MessagePaths;
use farloop_network::queue_pairs::QueuePair;
use farloop_units::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No time at all.
pub(crate) const NEVER: (f64, f64) = (f64::INFINITY, f64::INFINITY);

/// A message that is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub message: Message,
    pub sent: Time,
    /// Bytes of the stream, and those on the wire.
    pub payload: u64,
    pub wire: f64,
    /// Time of its last byte on its way beyond what the walk of that byte adds.
    pub rest: f64,
}

/// The messages of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub pair: QueuePair,
    /// Those whose last byte has not left; the first is being sent.
    pub waiting: VecDeque<Posted>,
    /// Payload of all that were posted, and of those that have arrived.
    pub posted: u64,
    pub delivered: u64,
    /// When the newest of them had arrived, in picoseconds.
    pub arrived: f64,
    /// Nothing waits, and all is acknowledged.
    pub asleep: bool,
    /// Since when nothing waits, and when the next message was posted; infinite for not yet.
    pub drained: (f64, f64),
}

impl Stream {
    /// Bytes on the wire of the message that is being sent.
    pub fn first(&self) -> f64 {
        self.waiting.front().map_or(0.0, |posted| posted.wire)
    }

    /// True if nothing waits to be sent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// True if all that was posted at a time had left then: its ACKs come to a sender that its application holds back.
    #[inline]
    pub fn is_drained_at(&self, time: f64) -> bool {
        (self.drained.0..self.drained.1).contains(&time)
    }
}

/// The last byte of a message on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walker {
    pub due: u64,
    order: u64,
    pub slot: u32,
    /// The hop that it is about to come to.
    pub place: usize,
    /// Bytes that the link before will have sent when it leaves; zero where it waits for none.
    pub waits_until: f64,
    pub posted: Posted,
}

impl Walker {
    /// The last byte of a message of the flow in this slot, before its first hop.
    pub fn new(slot: u32, posted: Posted) -> Walker {
        Walker { due: 0, order: 0, slot, place: 0, waits_until: 0.0, posted }
    }
}

impl PartialEq for Walker {
    fn eq(&self, other: &Walker) -> bool {
        (self.due, self.order) == (other.due, other.order)
    }
}
impl Eq for Walker {}
impl PartialOrd for Walker {
    fn partial_cmp(&self, other: &Walker) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Walker {
    fn cmp(&self, other: &Walker) -> std::cmp::Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}

/// The messages on their way, and the queue pairs that have begun.
#[derive(Default)]
pub(crate) struct Messages {
    pub walkers: BinaryHeap<Reverse<Walker>>,
    order: u64,
    /// By queue pair: its slot.
    pub slots: Vec<Option<u32>>,
    /// By job: costs of messages in the empty network.
    pub paths: Vec<MessagePaths>,
}

impl Messages {
    /// No message is posted yet.
    pub fn new(network: &Network) -> Messages {
        let jobs = 0..network.jobs.len() as u32;
        Messages {
            slots: vec![None; network.flows.len() - network.pairs.first_flow()],
            paths: jobs.map(|job| network.message_paths(job)).collect(),
            ..Messages::default()
        }
    }

    /// A last byte goes on at a time in picoseconds.
    pub fn set(&mut self, walker: Walker, due: f64) {
        self.order += 1;
        self.walkers.push(Reverse(Walker { due: due as u64, order: self.order, ..walker }));
    }
}
