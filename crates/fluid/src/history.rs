//! The past of a flow that its ACKs bring back: what it had sent when, and what the links of its path had counted.

use crate::link::Counters;

/// Returns true if entries that are no longer needed are many enough to be removed: each entry moves once at most.
#[inline]
fn is_worth_removing(forgotten: usize, all: usize) -> bool {
    forgotten >= 32 && 2 * forgotten >= all
}

/// `part` of the way from one number to another.
#[inline]
pub(crate) fn mix(from: f64, to: f64, part: f64) -> f64 {
    from + (to - from) * part
}

/// A point of the curve of what a flow has sent.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// When the byte left, in picoseconds.
    left: f64,
    /// Bytes on the wire until then.
    bytes: f64,
    /// When its ACK is back: by the round-trip time that this byte sees.
    back: f64,
    /// That round-trip time once nothing changes it any more: the byte has passed every queue.
    rtt: Option<f64>,
}

/// Bytes that a flow has sent, by time; linear between the points where its rate changes.
#[derive(Clone, Default, Debug)]
pub(crate) struct SentCurve {
    points: Vec<Point>,
    /// The first point that is still needed.
    first: usize,
    /// Points before this one have the return of their ACK that they keep.
    settled: usize,
}

impl SentCurve {
    /// At `now` the flow has sent `bytes`, and what it sends now has this round-trip time. ACKs do not overtake each other: where a link
    /// has become faster, what left before is back by then.
    #[inline]
    pub fn push(&mut self, now: f64, bytes: f64, rtt: f64) {
        let back = now + rtt;
        if self.points.last().is_some_and(|last| last.left == now) {
            return;
        }
        let mut kept = self.points.len();
        for point in self.points[self.first..].iter_mut().rev() {
            if point.back <= back {
                break;
            }
            point.back = back;
            kept -= 1;
        }
        self.settled = self.settled.min(kept);
        self.points.push(Point { left: now, bytes, back, rtt: None });
    }

    /// Bytes whose ACKs are back at `now`, and when the last of them had left; `None` before the first ACK. It takes as long as there are
    /// points that are needed and before.
    #[inline]
    pub fn acked_at(&self, now: f64) -> Option<(f64, f64)> {
        let points = self.points.get(self.first..)?;
        let later = points.iter().position(|point| point.back > now).unwrap_or(points.len());
        let before = points.get(later.checked_sub(1)?)?;
        let Some(after) = points.get(later) else { return Some((before.bytes, before.left)) };
        let part = (now - before.back) / (after.back - before.back);
        Some((mix(before.bytes, after.bytes, part), mix(before.left, after.left, part)))
    }

    /// Bytes that had been sent at `time`, and that time; `None` before the first.
    pub fn sent_at(&self, time: f64) -> Option<(f64, f64)> {
        let points = self.points.get(self.first..)?;
        let later = points.partition_point(|point| point.left <= time);
        let before = points.get(later.checked_sub(1)?)?;
        let Some(after) = points.get(later) else { return Some((before.bytes, before.left)) };
        let part = (time - before.left) / (after.left - before.left);
        Some((mix(before.bytes, after.bytes, part), time))
    }

    /// Corrects when ACKs come back that are still on their way: `rtt` is the round-trip time of a byte that left then, and whether it
    /// stays so. ACKs do not overtake each other. It takes as long as there are points that may still change.
    pub fn correct(&mut self, now: f64, rtt: impl Fn(f64) -> (f64, bool)) {
        let from = self.settled.max(self.first);
        let mut before = if from > self.first { self.points[from - 1].back } else { 0.0 };
        let mut settled = from;
        for (number, point) in self.points.iter_mut().enumerate().skip(from) {
            let mut stays = true;
            if point.back > now {
                let (own, known) = point.rtt.map_or_else(|| rtt(point.left), |own| (own, true));
                if known {
                    point.rtt = Some(own);
                }
                (point.back, stays) = (before.max(point.left + own), known);
            }
            if stays && settled == number {
                settled += 1;
            }
            before = point.back;
        }
        self.settled = settled;
    }

    /// When the ACKs of so many bytes are back; `None` where they have not left.
    pub fn back_of(&self, bytes: f64) -> Option<f64> {
        let points = self.points.get(self.first..)?;
        let later = points.partition_point(|point| point.bytes < bytes);
        let after = points.get(later)?;
        let Some(before) = later.checked_sub(1).and_then(|at| points.get(at)) else { return Some(after.back) };
        Some(before.back + (after.back - before.back) * (bytes - before.bytes) / (after.bytes - before.bytes))
    }

    /// The stretches of time after `now` in which ACKs come back at one rate: the end of each, and bytes per picosecond. Before the first
    /// ACK, and while none is on its way back, that rate is zero.
    pub fn ack_rates(&self, now: f64) -> impl Iterator<Item = (f64, f64)> + '_ {
        let points = self.points.get(self.first..).unwrap_or_default();
        let later = points.partition_point(|point| point.back <= now);
        (later..points.len()).map(move |at| {
            let after = points[at];
            let rate = match at.checked_sub(1).map(|before| points[before]) {
                Some(before) => (after.bytes - before.bytes) / (after.back - before.back).max(1.0),
                None => 0.0,
            };
            (after.back, rate)
        })
    }

    /// Forgets what came before the last point whose ACK is back at `now`.
    #[inline]
    pub fn forget_before(&mut self, now: f64) {
        while self.points.get(self.first + 1).is_some_and(|second| second.back <= now) {
            self.first += 1;
        }
        if is_worth_removing(self.first, self.points.len()) {
            self.points.drain(..self.first);
            self.settled = self.settled.saturating_sub(self.first);
            self.first = 0;
        }
    }

    /// For another flow.
    pub fn clear(&mut self) {
        self.points.clear();
        (self.first, self.settled) = (0, 0);
    }
}

/// A time between two entries of a [`History`].
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Place {
    /// The first counters of the entries before and after it; the same one beyond the oldest and the newest.
    before: usize,
    after: usize,
    /// The way from the one to the other.
    pub part: f64,
}

impl Place {
    /// Returns true if it is between two entries: what comes later does not change what was there.
    #[inline]
    pub fn is_between(&self) -> bool {
        self.before != self.after
    }
}

/// Counters of the links of a path, at the looks of its flow.
#[derive(Clone, Default, Debug)]
pub(crate) struct History {
    times: Vec<f64>,
    /// One after the other, `hops` for each time.
    counters: Vec<Counters>,
    hops: usize,
    /// The first entry that is still needed.
    first: usize,
}

impl History {
    /// For another flow, whose path has so many links with a queue.
    pub fn reset(&mut self, hops: usize) {
        self.times.clear();
        self.counters.clear();
        (self.hops, self.first) = (hops, 0);
    }

    /// Begins the entry of `now`; one [`History::push`] for each hop follows.
    #[inline]
    pub fn begin(&mut self, now: f64) {
        self.times.push(now);
    }

    /// The counters of the next hop.
    #[inline]
    pub fn push(&mut self, counters: Counters) {
        self.counters.push(counters);
    }

    /// The time of the newest entry, and its counters by hop.
    #[inline]
    pub fn newest(&self) -> (f64, &[Counters]) {
        (self.times.last().copied().unwrap_or(0.0), &self.counters[self.counters.len() - self.hops..])
    }

    /// The place of a time; the oldest or the newest entry beyond. It takes as long as there are entries that are needed and before.
    #[inline]
    pub fn place(&self, time: f64) -> Place {
        let times = &self.times[self.first..];
        self.place_before(times.iter().position(|t| *t > time).unwrap_or(times.len()), time)
    }

    /// The same; it takes as long as there are entries after it.
    #[inline]
    pub fn late_place(&self, time: f64) -> Place {
        let times = &self.times[self.first..];
        self.place_before(times.iter().rposition(|t| *t <= time).map_or(0, |before| before + 1), time)
    }

    /// The place of a time before entry `later` of those that are needed, and after the one before that.
    #[inline]
    fn place_before(&self, later: usize, time: f64) -> Place {
        let times = &self.times[self.first..];
        let start = |entry: usize| (self.first + entry) * self.hops;
        if later == 0 || later == times.len() {
            let only = start(later.saturating_sub(1));
            return Place { before: only, after: only, part: 0.0 };
        }
        let (from, to) = (times[later - 1], times[later]);
        Place { before: start(later - 1), after: start(later), part: (time - from) / (to - from) }
    }

    /// The counters of a hop before and after a place.
    #[inline]
    pub fn around(&self, place: Place, hop: usize) -> (&Counters, &Counters) {
        (&self.counters[place.before + hop], &self.counters[place.after + hop])
    }

    /// Forgets what is older than the last entry before `oldest`.
    #[inline]
    pub fn forget_before(&mut self, oldest: f64) {
        while self.times.get(self.first + 1).is_some_and(|second| *second < oldest) {
            self.first += 1;
        }
        if is_worth_removing(self.first, self.times.len()) {
            self.times.drain(..self.first);
            self.counters.drain(..self.first * self.hops);
            self.first = 0;
        }
    }
}
