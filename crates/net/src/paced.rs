//! Flows of a host that wait for their pacing time: a binary heap whose entries know their flow and vice versa.

use crate::sender::{Place, SenderState};
use crate::slab::Slab;
use farloop_units::Time;

/// An entry: when the flow may send, which flow (breaks ties independently of memory layout), where its state lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub at: Time,
    pub flow: u32,
    pub slot: u32,
}

/// The heap. Each operation keeps [`SenderState::place`] of the flows it moves up to date.
#[derive(Default)]
pub(crate) struct PacedHeap(Vec<Entry>);

impl PacedHeap {
    /// When the first flow may send.
    #[inline]
    pub fn next(&self) -> Time {
        self.0.first().map_or(Time::NEVER, |e| e.at)
    }

    /// Slots of the flows that may send at `now`, in no useful order.
    pub fn due(&self, now: Time) -> impl Iterator<Item = u32> {
        self.0.iter().filter(move |e| e.at <= now).map(|e| e.slot)
    }

    #[inline]
    pub fn insert(&mut self, senders: &mut Slab<SenderState>, entry: Entry) {
        self.0.push(entry);
        self.up(senders, self.0.len() - 1);
    }

    /// Removes and returns the first entry.
    #[inline]
    pub fn pop(&mut self, senders: &mut Slab<SenderState>) -> Option<Entry> {
        let first = *self.0.first()?;
        self.remove(senders, 0);
        Some(first)
    }

    /// Removes the entry at `position`.
    #[inline]
    pub fn remove(&mut self, senders: &mut Slab<SenderState>, position: usize) {
        let last = self.0.pop().expect("an entry to remove");
        if position < self.0.len() {
            self.0[position] = last;
            self.settle(senders, position);
        }
    }

    /// Changes the time of the entry at `position`.
    #[inline]
    pub fn retime(&mut self, senders: &mut Slab<SenderState>, position: usize, at: Time) {
        self.0[position].at = at;
        self.settle(senders, position);
    }

    fn settle(&mut self, senders: &mut Slab<SenderState>, position: usize) {
        if self.up(senders, position) == position {
            self.down(senders, position);
        }
    }

    fn up(&mut self, senders: &mut Slab<SenderState>, mut i: usize) -> usize {
        let entry = self.0[i];
        while i > 0 && entry < self.0[(i - 1) / 2] {
            self.place(senders, i, self.0[(i - 1) / 2]);
            i = (i - 1) / 2;
        }
        self.place(senders, i, entry);
        i
    }

    fn down(&mut self, senders: &mut Slab<SenderState>, mut i: usize) {
        let entry = self.0[i];
        loop {
            let mut child = 2 * i + 1;
            if child + 1 < self.0.len() && self.0[child + 1] < self.0[child] {
                child += 1;
            }
            if child >= self.0.len() || entry <= self.0[child] {
                break;
            }
            self.place(senders, i, self.0[child]);
            i = child;
        }
        self.place(senders, i, entry);
    }

    #[inline]
    fn place(&mut self, senders: &mut Slab<SenderState>, i: usize, entry: Entry) {
        self.0[i] = entry;
        senders[entry.slot].place = Place::Paced(i as u32);
    }
}
