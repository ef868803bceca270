//! On how many threads the processes of a run are executed, and which on which. No result depends on it.
//!
//! A run is a sequence of *stretches*: as long as one lasts, each lane (a thread) has its processes. Between two stretches nothing is on
//! its way, so the processes may be grouped again. A run that may choose measures: it compares the work done in a second by
//! one lane and by two, stays with what is faster, and tries again now and then, ever more rarely, because machines and
//! traffic change. Short trials bound what a wrong guess costs; a machine on which somebody else is busy is not tried.

use crate::RandomStream;
use crate::clock::Instant;
use crate::load::Load;
use std::time::Duration;

/// The number of threads that a run may use, and the measurements of them so far: keep it from call to call of
/// [`run_conservatively`](crate::run_conservatively).
pub struct Lanes {
    policy: Policy,
    load: Load,
    now: Stretch,
    /// Of the current stretch.
    spent: Duration,
    work: u64,
    windows: u64,
}

enum Policy {
    /// As many as the caller says.
    Exactly(usize),
    /// As many as pay.
    Measured(Governor),
    /// For tests: anything, again and again.
    Shuffled { most: usize, random: RandomStream },
}

/// For how long which lanes are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub lanes: usize,
    /// Wall time and windows, whichever is over first.
    time: Duration,
    windows: u64,
}

impl Stretch {
    fn for_time(lanes: usize, time: Duration) -> Stretch {
        Stretch { lanes, time, windows: u64::MAX }
    }
}

/// A stretch that changes nothing: after it the machine is looked at again.
const STEADY: Duration = Duration::from_millis(100);

impl Lanes {
    /// So many, as long as there are processes for them.
    pub fn fixed(lanes: usize) -> Lanes {
        Lanes::from_policy(Policy::Exactly(lanes.max(1)), Stretch::for_time(lanes.max(1), STEADY))
    }

    /// As many as make the run faster, at most `most`, and no more than there are free processors.
    pub fn adaptive(most: usize) -> Lanes {
        let governor = Governor::new(most);
        let first = governor.stretch();
        Lanes::from_policy(Policy::Measured(governor), first)
    }

    /// For tests: processes are dealt again, to any number of lanes up to `most`, after any few windows.
    pub fn shuffle(most: usize, seed: u64) -> Lanes {
        let random = RandomStream::new(seed, "lanes", 0);
        Lanes::from_policy(
            Policy::Shuffled { most: most.max(1), random },
            Stretch { windows: 1, ..Stretch::for_time(1, STEADY) },
        )
    }

    fn from_policy(policy: Policy, now: Stretch) -> Lanes {
        Lanes { policy, load: Load::new(), now, spent: Duration::ZERO, work: 0, windows: 0 }
    }

    /// The lane of each of so many processes, and the number of lanes.
    pub(crate) fn deal(&mut self, processes: usize) -> (Vec<usize>, usize) {
        let lanes = self.now.lanes.min(processes).max(1);
        let lane_of = match &mut self.policy {
            Policy::Shuffled { random, .. } => (0..processes).map(|_| random.below(lanes as u64) as usize).collect(),
            // Neighbours stay together.
            _ => (0..processes).map(|process| process * lanes / processes).collect(),
        };
        (lane_of, lanes)
    }

    /// There are fewer free processors than these lanes.
    pub(crate) fn is_crowded(&self, lanes: usize) -> bool {
        lanes > 1 && self.load.free() < lanes
    }

    /// Notes the end of a window of a stretch that began at `begin` with this number of lanes; returns true if the
    /// stretch is over.
    pub(crate) fn is_over(&mut self, begin: Instant, lanes: usize) -> bool {
        let now = Instant::now();
        self.windows += 1;
        let measured = matches!(self.policy, Policy::Measured(_));
        if measured || lanes > 1 {
            self.load.look(now, lanes);
        }
        let leave = measured && self.is_crowded(lanes);
        leave || self.windows >= self.now.windows || self.spent + now.saturating_duration_since(begin) >= self.now.time
    }

    /// Notes the work done since `begin` on this number of lanes; chooses the next stretch if this one is over.
    pub(crate) fn account(&mut self, begin: Instant, work: u64, lanes: usize, is_over: bool) {
        self.spent += begin.elapsed();
        self.work += work;
        if !is_over {
            return;
        }
        self.now = match &mut self.policy {
            Policy::Exactly(lanes) => Stretch::for_time(*lanes, STEADY),
            Policy::Measured(governor) => {
                governor.learn(lanes, self.work, self.spent, self.load.free());
                governor.stretch()
            }
            Policy::Shuffled { most, random } => {
                let lanes = 1 + random.below(*most as u64) as usize;
                Stretch { windows: 1 + random.below(20), ..Stretch::for_time(lanes, STEADY) }
            }
        };
        (self.spent, self.work, self.windows) = (Duration::ZERO, 0, 0);
    }
}

/// Compares numbers of lanes by the work that they do in a second.
struct Governor {
    /// 1, 2, 4 and so on up to the most.
    rungs: Vec<usize>,
    /// The rung in use, and the rung on trial.
    home: usize,
    trial: Option<usize>,
    /// Work in a second on each rung when it was used last; 0 where that is not known.
    rates: Vec<f64>,
    /// Until the next trial, and how long it is from one to the next.
    rest: Duration,
    settle: Duration,
    /// The next trial is of more lanes.
    upwards: bool,
}

impl Governor {
    /// Duration of a trial: some hundred windows, or one.
    const TRIAL: Duration = Duration::from_millis(4);
    /// From one trial to the next at first; twice as long after each that changes nothing.
    const SETTLE: Duration = Duration::from_millis(60);
    const MAX_SETTLE: Duration = Duration::from_millis(2000);
    /// More lanes are worth it from here on.
    const GAIN: f64 = 1.1;

    fn new(most: usize) -> Governor {
        let mut rungs: Vec<usize> =
            std::iter::successors(Some(1), |n: &usize| n.checked_mul(2)).take_while(|n| *n < most).collect();
        rungs.push(most.max(1));
        let rates = vec![0.0; rungs.len()];
        // One lane first, just as long as to be compared with two.
        let rest = Duration::ZERO;
        Governor { rungs, home: 0, trial: None, rates, rest, settle: Self::SETTLE, upwards: true }
    }

    fn stretch(&self) -> Stretch {
        match self.trial {
            Some(rung) => Stretch::for_time(self.rungs[rung], Self::TRIAL),
            None => Stretch::for_time(self.rungs[self.home], self.rest.clamp(Self::TRIAL, STEADY)),
        }
    }

    /// Notes the end of a stretch on a number of lanes, and the number of processors that are free now.
    fn learn(&mut self, lanes: usize, work: u64, spent: Duration, free: usize) {
        let rung = self.trial.unwrap_or(self.home);
        let rate = work as f64 / spent.as_secs_f64().max(1e-9);
        // Of fewer processes than lanes nothing is learnt, and of nothing neither.
        if lanes == self.rungs[rung] && work > 0 {
            self.rates[rung] = rate;
        }
        let has_room = |rung: usize| self.rungs[rung] <= free;
        match self.trial.take() {
            Some(tried) => {
                let gain = self.rates[tried.max(self.home)] / self.rates[tried.min(self.home)].max(f64::MIN_POSITIVE);
                let more = gain > Self::GAIN;
                if has_room(tried) && more == (tried > self.home) {
                    self.go_to(tried);
                    // A rung further up may be better still; one down is where this came from.
                    let further = more && tried + 1 < self.rungs.len();
                    (self.upwards, self.rest) = (further, if further { Duration::ZERO } else { self.settle });
                } else {
                    self.settle = (self.settle * 2).min(Self::MAX_SETTLE);
                    self.rest = self.settle;
                }
            }
            None if !has_room(self.home) => {
                let down = self.rungs.iter().rposition(|lanes| *lanes <= free).unwrap_or(0);
                self.go_to(down);
            }
            None if self.home > 0 && rate < self.rates[self.home - 1] => self.go_to(self.home - 1),
            None => {
                self.rest = self.rest.saturating_sub(spent);
                if self.rest.is_zero() {
                    let up = Some(self.home + 1).filter(|up| *up < self.rungs.len() && has_room(*up));
                    let down = self.home.checked_sub(1);
                    self.trial = if self.upwards { up.or(down) } else { down.or(up) };
                    self.upwards = !self.upwards;
                    self.rest = self.settle;
                }
            }
        }
    }

    fn go_to(&mut self, rung: usize) {
        (self.home, self.settle, self.rest, self.upwards) = (rung, Self::SETTLE, Self::SETTLE, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Runs for this time on a machine that does `rate(lanes, time)` work in a second and has `free(time)` processors free:
    /// work done over what one lane would have done, and the lanes of each stretch.
    fn run(
        most: usize,
        time: Duration,
        rate: impl Fn(usize, Duration) -> f64,
        free: impl Fn(Duration) -> usize,
    ) -> (f64, Vec<usize>) {
        let mut governor = Governor::new(most);
        let (mut now, mut done, mut alone, mut lanes) = (Duration::ZERO, 0.0, 0.0, Vec::new());
        while now < time {
            let stretch = governor.stretch();
            let work = rate(stretch.lanes, now) * stretch.time.as_secs_f64();
            (done, alone) = (done + work, alone + rate(1, now) * stretch.time.as_secs_f64());
            now += stretch.time;
            lanes.push(stretch.lanes);
            governor.learn(stretch.lanes, work as u64, stretch.time, free(now));
        }
        (done / alone, lanes)
    }

    #[test]
    fn where_two_are_faster_two_are_used() {
        let rate = |lanes, _| if lanes == 2 { 1.7e7 } else { 1e7 };
        let (gain, _) = run(2, 200 * MS, rate, |_| 2);
        assert!(gain > 1.6, "{gain} in 200 ms");
        let (gain, _) = run(2, 5000 * MS, rate, |_| 2);
        assert!(gain > 1.68, "{gain} in 5 s");
    }

    #[test]
    fn as_many_as_bring_something() {
        for best in [1, 2, 4, 8, 12] {
            let rate =
                |lanes: usize, _| 1e7 * (lanes.min(best) as f64).powf(0.9) / if lanes > best { 1.5 } else { 1.0 };
            let (gain, lanes) = run(12, 2000 * MS, rate, |_| 12);
            assert!(gain > 0.95 * (best as f64).powf(0.9), "{gain} where {best} lanes are best: {lanes:?}");
        }
    }

    #[test]
    fn where_two_are_slower_hardly_anything_is_lost() {
        // Each window costs a slice of the scheduler: a hundredth of what one lane does.
        for slow in [0.01, 0.3, 0.9, 1.05] {
            let rate = |lanes, _| if lanes == 2 { slow * 1e7 } else { 1e7 };
            let (least, _) = run(2, 150 * MS, rate, |_| 2);
            let (long, lanes) = run(2, 5000 * MS, rate, |_| 2);
            assert!(least > 0.9 && long > 0.98, "{least} of 150 ms, {long} of 5 s at {slow}");
            assert!(lanes.iter().filter(|lanes| **lanes == 2).count() < 15, "tried ever more rarely: {lanes:?}");
        }
    }

    #[test]
    fn a_machine_without_free_processors_is_not_tried() {
        let rate = |lanes, _| if lanes == 2 { 2e7 } else { 1e7 };
        let (gain, lanes) = run(2, 2000 * MS, rate, |_| 1);
        assert!(gain == 1.0 && lanes.iter().all(|lanes| *lanes == 1), "{lanes:?}");
    }

    #[test]
    fn a_run_follows_its_machine() {
        // Others come after a second and go after another; while they are there, a window of two lanes takes for ever.
        let busy = |now: Duration| (1000 * MS..2000 * MS).contains(&now);
        let rate = |lanes, now| match lanes {
            2 if busy(now) => 1e5,
            2 => 1.7e7,
            _ => 1e7,
        };
        for seen in [true, false] {
            let (gain, _) = run(2, 3000 * MS, rate, |now| if seen && busy(now) { 1 } else { 2 });
            // Two thirds at 1.7 and one at 1 are 1.47.
            assert!(gain > 1.38, "{gain}, load can be seen: {seen}");
        }
    }

    #[test]
    fn lanes_that_are_ordered_are_used() {
        let mut lanes = Lanes::fixed(3);
        for _ in 0..5 {
            assert_eq!(lanes.deal(6), (vec![0, 0, 1, 1, 2, 2], 3));
            assert_eq!(lanes.deal(2), (vec![0, 1], 2), "a lane has a process");
            lanes.account(Instant::now(), 0, 3, true);
        }
    }
}
