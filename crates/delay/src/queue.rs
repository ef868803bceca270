//! Frames that wait until they are due; how late they left.

use std::collections::{BTreeMap, VecDeque};

/// A frame that leaves more than so many ns after it was due has met a processor that did not run: measurements around it
/// say nothing about the network.
pub const STALL: u64 = 10_000_000;

/// Largest burst of a link, in ns of its rate: as much as the kernel's shapers let through.
pub const BURST: u64 = 500_000;

/// The rate of a link, from which the time of frames on it follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// In bit/s, at least 1.
    pub rate: u64,
    /// Bytes that a frame has on the link beyond those that reach an interface.
    pub framing: u64,
}

impl Pace {
    fn time(&self, bytes: usize) -> u64 {
        let bits = 8 * (u128::from(self.framing) + bytes as u128);
        u64::try_from(bits * 1_000_000_000 / u128::from(self.rate.max(1))).unwrap_or(u64::MAX)
    }
}

/// Frames in one direction, each due a fixed time after it came. Times are in ns, of any clock that does not go back.
///
/// They leave no faster than the link carries them. Frames that come from a link are spaced already; but a processor that
/// did not run for a while finds many frames due at once, and would give the next switch a queue that no link can give it.
#[derive(Clone, Debug)]
pub struct Queue {
    delay: u64,
    room: usize,
    pace: Pace,
    held: usize,
    free: u64,
    frames: VecDeque<(u64, Vec<u8>)>,
    /// Frames that others may overtake, by the time at which they are due and the order in which they came.
    late: BTreeMap<(u64, u64), Vec<u8>>,
    lateness: Lateness,
}

impl Queue {
    /// For frames that wait `delay` ns, and have at most `room` bytes together.
    pub fn new(delay: u64, room: usize, pace: Pace) -> Queue {
        Queue {
            delay,
            room,
            pace,
            held: 0,
            free: 0,
            frames: VecDeque::new(),
            late: BTreeMap::new(),
            lateness: Lateness::default(),
        }
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

    /// Takes a frame that is due `later` ns after others that come with it; it holds up none of them.
    pub fn push_late(&mut self, arrived: u64, later: u64, frame: &[u8]) {
        if self.held + frame.len() > self.room {
            self.lateness.dropped += 1;
            return;
        }
        self.held += frame.len();
        let due = arrived.saturating_add(self.delay).saturating_add(later);
        let order = self.late.range((due, 0)..=(due, u64::MAX)).next_back().map_or(0, |((_, order), _)| order + 1);
        self.late.insert((due, order), frame.to_vec());
    }

    /// When the next frame leaves.
    pub fn due(&self) -> Option<u64> {
        self.next_due().map(|due| due.max(self.free))
    }

    /// When the next frame should leave.
    fn next_due(&self) -> Option<u64> {
        let late = self.late.keys().next().map(|(due, _)| *due);
        self.frames.front().map(|(due, _)| *due).into_iter().chain(late).min()
    }

    /// The frame that is due next, and when it is.
    fn take_next(&mut self) -> Option<(u64, Vec<u8>)> {
        let due = self.next_due()?;
        match self.frames.front() {
            Some((first, _)) if *first == due => self.frames.pop_front(),
            _ => self.late.pop_first().map(|(_, frame)| (due, frame)),
        }
    }

    /// The next frame, if it leaves by `now`.
    pub fn pop(&mut self, now: u64) -> Option<Vec<u8>> {
        let leaves = self.due().filter(|leaves| *leaves <= now)?;
        let (due, frame) = self.take_next()?;
        self.lateness.add(now - due);
        self.free = leaves.max(now.saturating_sub(BURST)).saturating_add(self.pace.time(frame.len()));
        self.held -= frame.len();
        Some(frame)
    }

    /// Lateness of the frames that left so far.
    pub fn lateness(&self) -> Lateness {
        self.lateness
    }
}

/// Lateness of frames that left, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Lateness {
    /// Frames that left.
    pub frames: u64,
    /// Sum over them.
    pub sum: u64,
    /// The largest.
    pub max: u64,
    /// Number of frames later than [`STALL`].
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
    use farloop_test_support::cases;
    use proptest::prelude::*;

    /// So fast that frames take no time.
    const FAST: Pace = Pace { rate: u64::MAX, framing: 0 };

    #[test]
    fn a_frame_leaves_when_it_is_due_and_not_before() {
        let mut queue = Queue::new(100, 3000, FAST);
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
        let mut queue = Queue::new(0, 4, FAST);
        queue.push(0, b"abc");
        queue.push(0, b"de");
        assert!(queue.pop(STALL + 1).is_some());
        assert!(queue.pop(u64::MAX).is_none());
        queue.push(0, b"de");
        assert!(queue.pop(STALL).is_some());
        assert_eq!((queue.lateness().stalls, queue.lateness().dropped, queue.lateness().frames), (1, 1, 2));
    }

    #[test]
    fn others_overtake_a_late_frame() {
        let mut queue = Queue::new(100, 3000, FAST);
        queue.push_late(0, 50, b"late");
        queue.push_late(10, 40, b"later");
        [20, 30, 60].into_iter().for_each(|at| queue.push(at, &at.to_string().into_bytes()));
        let mut left = Vec::new();
        while let Some(at) = queue.due() {
            left.push((at, String::from_utf8(queue.pop(at).expect("due")).expect("text")));
        }
        let expected = [(120, "20"), (130, "30"), (150, "late"), (150, "later"), (160, "60")];
        assert_eq!(left, expected.map(|(at, name)| (at, name.to_string())));
        assert_eq!(queue.lateness().frames, 5);
    }

    #[test]
    fn what_a_stall_has_held_up_leaves_at_the_rate_of_the_link() {
        // 1000 B and 12 B of framing take 80.96 us.
        let mut queue = Queue::new(1_000_000, 1 << 20, Pace { rate: 100_000_000, framing: 12 });
        (0..100).for_each(|i| queue.push(i * 100_000, &[0; 1000]));
        let stalled_until = 50_000_000;
        let mut at_once = 0;
        while queue.pop(stalled_until).is_some() {
            at_once += 1;
        }
        // The burst of 0.5 ms, and the frame that it begins with.
        assert_eq!(at_once, 7);
        let mut left = 0;
        while let Some(at) = queue.due() {
            assert!(at > stalled_until && queue.pop(at - 1).is_none() && queue.pop(at).is_some());
            left += 1;
            assert_eq!(at, stalled_until - BURST + (at_once + left - 1) * 80_960);
        }
        assert_eq!(left, 93);
    }

    #[test]
    fn what_comes_at_the_rate_of_the_link_is_as_late_as_the_processor_is_and_no_later() {
        let mut queue = Queue::new(5_000_000, 1 << 20, Pace { rate: 100_000_000, framing: 0 });
        let mut most = 0;
        for i in 0..2000u64 {
            queue.push(i * 80_000, &[0; 1000]);
            // Awake each 0.3 ms or so.
            let now = i * 80_000 / 300_000 * 300_000;
            while queue.pop(now).is_some() {}
            most = most.max(queue.lateness().max);
        }
        assert!(most <= 300_000, "{most}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// In any time no more leaves than the link carries in it, the burst, and a frame.
        #[test]
        fn no_faster_than_the_link(rate in 1_000_000..10_000_000_000u64, steps in prop::collection::vec((any::<bool>(), 0..3_000_000u64, 0..1500usize), 0..200)) {
            let pace = Pace { rate, framing: 20 };
            let mut queue = Queue::new(1000, 1 << 30, pace);
            let (mut now, mut left) = (0, Vec::new());
            for (arrives, later, size) in steps {
                now += later;
                if arrives {
                    queue.push(now, &vec![0; size]);
                } else {
                    while let Some(frame) = queue.pop(now) {
                        left.push((now, pace.time(frame.len())));
                    }
                }
            }
            for from in 0..left.len() {
                let mut sent = 0;
                for (at, takes) in &left[from..] {
                    prop_assert!(sent <= at - left[from].0 + BURST);
                    sent += takes;
                }
            }
        }

        /// Against a list: order, times and room, whatever comes when.
        #[test]
        fn queues_are_lists(delay in 0..1000u64, room in 0..200usize, steps in prop::collection::vec((any::<bool>(), 0..2000u64, 0..40usize), 0..200)) {
            let mut queue = Queue::new(delay, room, FAST);
            let mut model: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
            let (mut dropped, mut now) = (0, 0);
            for (number, (arrives, later, size)) in steps.into_iter().enumerate() {
                now += later;
                let time = now;
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
