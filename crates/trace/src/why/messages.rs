//! Messages of a queue pair: when they were handed over, and where the time of the requested ones went.

use super::Segment;
use farloop_units::Time;
use std::collections::VecDeque;

/// A requested message: bytes `begin` to `end` of its queue pair's stream, from a time on at which it has been handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The flow of the queue pair.
    pub flow: u32,
    /// From when on.
    pub from: Time,
    /// Its first byte.
    pub begin: u64,
    /// Where it ends.
    pub end: u64,
}

/// Where the time of a message went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explained {
    /// The message.
    pub wanted: Wanted,
    /// When its last byte was there.
    pub until: Time,
    /// In the order of time, each beginning where the one before ends: from [`Wanted::from`] on.
    pub segments: Vec<Segment>,
}

/// The messages of one queue pair. Its flow's journal owns them and hands them events.
pub(super) struct Messages {
    /// Where messages end that were handed over, and when they were: the event. Those that have begun to leave are forgotten.
    pub posted: VecDeque<(u64, u32)>,
    pub wanted: VecDeque<Wanted>,
    pub explained: Vec<Explained>,
    /// Events that are kept before they are looked through for the next time.
    pub most: usize,
}

/// Events below which it is not worth while to forget any.
pub(super) const FEW: usize = 4096;

impl Messages {
    /// The requested messages, in the order of time.
    pub fn new(wanted: VecDeque<Wanted>) -> Messages {
        Messages { posted: VecDeque::new(), wanted, explained: Vec::new(), most: FEW }
    }

    /// Returns true if all requested messages are explained.
    pub fn are_explained(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The event that handed over the message of this byte.
    pub fn post_event(&mut self, sequence: u64) -> Option<u32> {
        while self.posted.front().is_some_and(|(end, _)| *end <= sequence) {
            self.posted.pop_front();
        }
        self.posted.front().map(|(_, event)| *event)
    }

    /// Returns true if the next requested message waits for this byte.
    pub fn asks_for(&self, sequence: u64) -> bool {
        self.wanted.front().is_some_and(|wanted| sequence < wanted.end)
    }

    /// Time from which on the next one is requested.
    pub fn next(&self) -> Option<Time> {
        self.wanted.front().map(|wanted| wanted.from)
    }

    /// Takes the messages explained so far.
    pub fn take(&mut self) -> Vec<Explained> {
        std::mem::take(&mut self.explained)
    }
}
