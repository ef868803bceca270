//! Frames that wait until they are due; how late they left.

use std::collections::VecDeque;

/// A frame that leaves more than so many ns after it was due has met a processor that did not run: what was measured around it says nothing of the network.
pub const STALL: u64 = 10_000_000;

/// Frames in one direction, each due a fixed time after it came. Times are in ns, of any clock that does not go back.
#[derive(Clone, Debug)]
pub struct Queue {
    delay: u64,
    room: usize,
    held: usize,
    frames: VecDeque<(u64, Vec<u8>)>,
    lateness: Lateness,
}

impl Queue {
    /// For frames that wait `delay` ns, and have at most `room` bytes together.
    pub fn new(delay: u64, room: usize) -> Queue {
        Queue { delay, room, held: 0, frames: VecDeque::new(), lateness: Lateness::default() }
    }

    /// Takes a frame that came at `arrived`, unless there is no room for it. One that came before the last one leaves with that.
    pub fn push(&mut self, arrived: u64, frame: &[u8]) {
        if self.held + frame.len() > self.room {
            self.lateness.dropped += 1;
            return;
        }
        self.held += frame.len();
        let earliest = self.frames.back().map_or(0, |(due, _)| *due);
        self.frames.push_back((arrived.saturating_add(self.delay).max(earliest), frame.to_vec()));
    }

    /// When the next frame is due.
    pub fn due(&self) -> Option<u64> {
        self.frames.front().map(|(due, _)| *due)
    }

    /// The next frame, if it is due by `now`.
    pub fn pop(&mut self, now: u64) -> Option<Vec<u8>> {
        let (due, _) = self.frames.front().filter(|(due, _)| *due <= now)?;
        self.lateness.add(now - due);
        let (_, frame) = self.frames.pop_front()?;
        self.held -= frame.len();
        Some(frame)
    }

    /// How late frames left so far.
    pub fn lateness(&self) -> Lateness {
        self.lateness
    }
}

/// How late frames left, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lateness {
    /// Frames that left.
    pub frames: u64,
    /// Sum over them.
    pub sum: u64,
    /// The largest.
    pub max: u64,
    /// How many were later than [`STALL`].
    pub stalls: u64,
    /// Frames that found no room, and never left.
    pub dropped: u64,
}

impl Lateness {
    fn add(&mut self, late: u64) {
        self.frames += 1;
        self.sum = self.sum.saturating_add(late);
        self.max = self.max.max(late);
        self.stalls += u64::from(late > STALL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_leaves_when_it_is_due_and_not_before() {
        let mut queue = Queue::new(100, 3000);
        queue.push(50, b"first");
        queue.push(60, b"second");
        assert_eq!(queue.due(), Some(150));
        assert_eq!(queue.pop(149), None);
        assert_eq!(queue.pop(155).as_deref(), Some(&b"first"[..]));
        assert_eq!(queue.pop(155), None);
        assert_eq!(queue.pop(160).as_deref(), Some(&b"second"[..]));
        assert_eq!(queue.due(), None);
        let expected = Lateness { frames: 2, sum: 5, max: 5, stalls: 0, dropped: 0 };
        assert_eq!(queue.lateness(), expected);
    }

    #[test]
    fn a_late_frame_is_a_stall_and_one_without_room_is_counted() {
        let mut queue = Queue::new(0, 4);
        queue.push(0, b"abc");
        queue.push(0, b"de");
        assert!(queue.pop(STALL + 1).is_some());
        assert!(queue.pop(u64::MAX).is_none());
        queue.push(0, b"de");
        assert!(queue.pop(STALL).is_some());
        assert_eq!((queue.lateness().stalls, queue.lateness().dropped, queue.lateness().frames), (1, 1, 2));
    }

    proptest! {
        /// Against a list: order, times and room, whatever comes when.
        #[test]
        fn queues_are_lists(delay in 0..1000u64, room in 0..200usize, steps in prop::collection::vec((any::<bool>(), 0..2000u64, 0..40usize), 0..200)) {
            let mut queue = Queue::new(delay, room);
            let mut model: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
            let mut dropped = 0;
            for (number, (arrives, time, size)) in steps.into_iter().enumerate() {
                if arrives {
                    let frame = vec![number as u8; size];
                    queue.push(time, &frame);
                    if model.iter().map(|(_, f)| f.len()).sum::<usize>() + size > room {
                        dropped += 1;
                    } else {
                        let last = model.back().map_or(0, |(due, _)| *due);
                        model.push_back(((time + delay).max(last), frame));
                    }
                } else {
                    let expected = if model.front().is_some_and(|(due, _)| *due <= time) { model.pop_front() } else { None };
                    prop_assert_eq!(queue.pop(time), expected.map(|(_, frame)| frame));
                }
                prop_assert_eq!(queue.due(), model.front().map(|(due, _)| *due));
            }
            prop_assert_eq!(queue.lateness().dropped, dropped);
        }
    }
}
