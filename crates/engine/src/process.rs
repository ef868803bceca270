//! Conservative parallel execution: logical processes, lookahead, windows.
//!
//! A model is cut into logical processes that share nothing and talk only by messages. A message takes at least `lookahead`
//! of simulated time to arrive, so all processes may run independently up to (earliest pending event of all) + lookahead:
//! nothing sent in that window can arrive in it (Chandy and Misra, 1979; the windows are those of Lubachevsky's bounded lag, 1989).
//! Each pair of processes has a mailbox, which keeps the order of sending. Mail is handed over between windows in the order
//! of the senders, which no scheduling of threads can change. Hence the same bytes come out for any number of threads.
//!
//! ```text
//!             window k                                     window k + 1
//!   thread 0  run ─► post (parity 0) ─► barrier ─► collect (parity 0) ─► run ─► post (parity 1) ─► barrier ─► ...
//!   thread 1  run ─► post (parity 0) ─► barrier ─► collect (parity 0) ─► run ─► post (parity 1) ─► barrier ─► ...
//! ```
//!
//! Mailboxes are doubled, so one barrier a window is enough: a fast thread posts into the one half while a slow one still
//! collects from the other, and cannot come round again before all have passed the next barrier. Windows may be
//! microseconds long: the barrier looks for a while before it sleeps (`barrier.rs`). Threads live for a stretch of many
//! windows, then the processes may be grouped again, on more or fewer of them ([`crate::lanes`]).

use crate::barrier::{Abandon, Barrier, Patience};
use crate::clock::Instant;
use crate::lanes::Lanes;
use farloop_units::{Delta, Time};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::Builder;

/// A part of a model that runs on its own between messages.
pub trait LogicalProcess: Send {
    /// Mail that one process leaves for another in a window. Empty when it is new.
    type Mail: Default + Send;

    /// The time of the earliest pending event; [`Time::NEVER`] when there is none.
    fn next_event(&mut self) -> Time;

    /// Executes all events before `end`.
    fn run_until(&mut self, end: Time);

    /// The processes that this one may ever send to.
    fn recipients(&self) -> Vec<usize>;

    /// Moves mail sent to process `to` since the last call into `mail`, which is empty (but keeps its memory), and gives
    /// the time of its earliest effect there: at least the lookahead after the event that sent it; [`Time::NEVER`] if
    /// nothing was sent.
    fn post(&mut self, to: usize, mail: &mut Self::Mail) -> Time;

    /// Takes the mail of process `from`, and leaves it empty.
    fn collect(&mut self, from: usize, mail: &mut Self::Mail);

    /// Amount of work done so far, in any unit; the engine compares numbers of threads by it.
    fn work(&self) -> u64;
}

/// The caller stopped the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Runs `processes` until `end` (exclusive) on `lanes`, of which the caller's thread is one.
///
/// Where the system starts no thread more, the caller's thread does all of it.
///
/// `watch` is called on the caller's thread after each window with the time up to which everything has happened; it returns `false` to
/// stop. The result is the same on any lanes. With a single process there is one window.
///
/// # Errors
/// [`Stopped`]: `watch` returned `false`.
///
/// # Panics
/// If `lookahead` is zero while there are several processes (no window would ever advance), and when a process panics.
pub fn run_conservatively<P: LogicalProcess>(
    processes: &mut [P],
    lookahead: Delta,
    end: Time,
    lanes: &mut Lanes,
    watch: &mut dyn FnMut(Time) -> bool,
) -> Result<(), Stopped> {
    assert!(processes.len() < 2 || lookahead > Delta::ZERO, "several processes need a lookahead");
    let boxes = Mailboxes::new(processes);
    let lookahead = if processes.len() > 1 { lookahead } else { Delta::MAX };
    let work = |processes: &[P]| processes.iter().map(P::work).sum::<u64>();
    let mut alone = false;
    loop {
        let (lane_of, count) = if alone { (vec![0; processes.len()], 1) } else { lanes.deal(processes.len()) };
        let before = work(processes);
        let crowded = lanes.is_crowded(count);
        let shared = Shared::new(&boxes, lookahead, end, count, crowded);
        let begin = Instant::now();
        let left = shared.run(processes, &lane_of, &mut |window| match watch(window) {
            false => Verdict::Stop,
            true if !alone && lanes.is_over(begin, count) => Verdict::Regroup,
            true => Verdict::GoOn,
        });
        lanes.account(begin, work(processes) - before, count, left == Left::Regroup);
        match left {
            Left::AtTheEnd => return Ok(()),
            Left::Stopped => return Err(Stopped),
            Left::Regroup => {}
            Left::WithoutThreads => alone = true,
        }
    }
}

/// The decision after a window.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Verdict {
    GoOn,
    Stop,
    Regroup,
}

/// The reason why a stretch is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    AtTheEnd,
    Stopped,
    Regroup,
    /// The system starts no thread more; nothing has happened.
    WithoutThreads,
}

/// Mail from one process to another, by parity of the window.
type Mailbox<M> = [Mutex<M>; 2];

/// The mailboxes of all pairs that talk.
struct Mailboxes<M> {
    /// By sender, in the order in which it named its recipients.
    out: Vec<Vec<(usize, Mailbox<M>)>>,
    /// By recipient: (sender, position in the sender's row), in the order of the senders.
    into: Vec<Vec<(usize, usize)>>,
}

impl<M: Default> Mailboxes<M> {
    fn new<P: LogicalProcess<Mail = M>>(processes: &[P]) -> Mailboxes<M> {
        let out: Vec<Vec<_>> =
            processes.iter().map(|p| p.recipients().into_iter().map(|to| (to, Mailbox::default())).collect()).collect();
        let mut into = vec![Vec::new(); processes.len()];
        for (from, row) in out.iter().enumerate() {
            for (at, (to, _)) in row.iter().enumerate() {
                into[*to].push((from, at));
            }
        }
        Mailboxes { out, into }
    }
}

/// The state that the threads of a stretch share.
struct Shared<'a, M> {
    boxes: &'a Mailboxes<M>,
    lookahead: Delta,
    end: Time,
    lanes: usize,
    barrier: Barrier,
    /// There are fewer free processors than lanes.
    crowded: bool,
    /// Earliest pending event of each lane, mail included, by parity and lane, in picoseconds.
    earliest: Vec<AtomicU64>,
    /// The decision after the window, by parity.
    verdict: [AtomicU8; 2],
}

/// The processes of a lane, with their numbers.
type Group<'p, P> = Vec<(usize, &'p mut P)>;

impl<'a, M: Default + Send> Shared<'a, M> {
    fn new(boxes: &'a Mailboxes<M>, lookahead: Delta, end: Time, lanes: usize, crowded: bool) -> Shared<'a, M> {
        let earliest = (0..2 * lanes).map(|_| AtomicU64::new(0)).collect();
        let (barrier, verdict) = (Barrier::new(lanes), [AtomicU8::new(0), AtomicU8::new(0)]);
        Shared { boxes, lookahead, end, lanes, barrier, crowded, earliest, verdict }
    }

    /// Runs the processes, each on its lane, until `judge`, which is called after each window, decides otherwise, or
    /// all is done.
    fn run<P: LogicalProcess<Mail = M>>(
        &self,
        processes: &mut [P],
        lane_of: &[usize],
        judge: &mut dyn FnMut(Time) -> Verdict,
    ) -> Left {
        let mut groups: Vec<Group<P>> = (0..self.lanes).map(|_| Vec::new()).collect();
        for (process, lane) in processes.iter_mut().enumerate().zip(lane_of) {
            groups[*lane].push(process);
        }
        let mut groups = groups.into_iter().enumerate();
        let Some((_, own)) = groups.next() else { return Left::AtTheEnd };
        // Nobody begins before all threads are there: at the barrier they would wait for those that are not.
        let complete = &OnceLock::new();
        std::thread::scope(|scope| {
            for (lane, group) in groups {
                let work = move || {
                    if *complete.wait() {
                        self.run_lane(lane, group, None);
                    }
                };
                if Builder::new().spawn_scoped(scope, work).is_err() {
                    let _ = complete.set(false);
                    return Left::WithoutThreads;
                }
            }
            let _ = complete.set(true);
            self.run_lane(0, own, Some(judge))
        })
    }

    /// Runs the processes of one lane.
    fn run_lane<P: LogicalProcess<Mail = M>>(
        &self,
        lane: usize,
        mut group: Group<P>,
        mut judge: Option<&mut dyn FnMut(Time) -> Verdict>,
    ) -> Left {
        let _abandon = Abandon(&self.barrier);
        let mut patience = Patience::new(self.crowded);
        // Nothing happens in the first window: it finds out where the earliest event is.
        let (mut window, mut parity) = (Time::ZERO, 0);
        loop {
            let mut earliest = Time::NEVER;
            for (number, process) in &mut group {
                process.run_until(window);
                for (to, mailbox) in &self.boxes.out[*number] {
                    let mut mail = mailbox[parity].lock().expect("a process that panicked ends the run");
                    earliest = earliest.min(process.post(*to, &mut mail));
                }
                earliest = earliest.min(process.next_event());
            }
            self.earliest[parity * self.lanes + lane].store(earliest.as_ps(), Ordering::Relaxed);
            if let Some(judge) = &mut judge {
                self.verdict[parity].store(judge(window) as u8, Ordering::Relaxed);
            }
            // What was stored before the barrier is seen by all behind it.
            self.barrier.wait(&mut patience);
            for (number, process) in &mut group {
                for (from, at) in &self.boxes.into[*number] {
                    let mailbox = &self.boxes.out[*from][*at].1[parity];
                    process.collect(*from, &mut mailbox.lock().expect("a process that panicked ends the run"));
                }
            }
            // Then only the state at the end counts, also for a regrouping.
            let all = &self.earliest[parity * self.lanes..][..self.lanes];
            let next = all.iter().map(|ps| ps.load(Ordering::Relaxed)).min().map_or(Time::NEVER, Time::from_ps);
            match self.verdict[parity].load(Ordering::Relaxed) {
                verdict if verdict == Verdict::Stop as u8 => return Left::Stopped,
                _ if next >= self.end => return Left::AtTheEnd,
                verdict if verdict == Verdict::Regroup as u8 => return Left::Regroup,
                _ => {}
            }
            window = next.saturating_add(self.lookahead).min(self.end);
            parity ^= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Calendar, RandomStream};

    const HOP: Delta = Delta::from_us(3);

    type Token = (Time, u64);

    /// A process that passes tokens to random others, and logs what it sees.
    struct Ring {
        n: usize,
        me: usize,
        calendar: Calendar,
        /// Those on their way here, by sender.
        tokens: Vec<Vec<Token>>,
        out: Vec<Vec<Token>>,
        random: RandomStream,
        log: Vec<Token>,
        /// Where it breaks down.
        panics_at: Time,
    }

    impl Ring {
        fn take(&mut self, from: usize, token: Token) {
            let queue = &mut self.tokens[from];
            let place = queue.partition_point(|(t, _)| *t <= token.0);
            queue.insert(place, token);
            self.calendar.set(from as u32, queue[0].0);
        }
    }

    impl LogicalProcess for Ring {
        type Mail = Vec<Token>;

        fn next_event(&mut self) -> Time {
            self.calendar.peek().map_or(Time::NEVER, |(t, _)| t)
        }
        fn run_until(&mut self, end: Time) {
            while let Some((now, id)) = self.calendar.peek().filter(|(t, _)| *t < end) {
                assert!(now < self.panics_at, "as the test wants it");
                let queue = &mut self.tokens[id as usize];
                let (_, token) = queue.remove(0);
                match queue.first() {
                    Some((t, _)) => self.calendar.set(id, *t),
                    None => self.calendar.cancel(id),
                }
                self.log.push((now, token));
                let to = self.random.below(self.n as u64) as usize;
                let delay = HOP + Delta::from_ps(self.random.below(5_000_000));
                let next = (now + delay, token.wrapping_mul(31).wrapping_add(self.me as u64));
                if to == self.me { self.take(to, next) } else { self.out[to].push(next) }
            }
        }
        fn recipients(&self) -> Vec<usize> {
            (0..self.n).filter(|to| *to != self.me).collect()
        }
        fn post(&mut self, to: usize, mail: &mut Vec<Token>) -> Time {
            assert!(mail.is_empty(), "mail was not collected");
            std::mem::swap(&mut self.out[to], mail);
            mail.iter().map(|(at, _)| *at).min().unwrap_or(Time::NEVER)
        }
        fn collect(&mut self, from: usize, mail: &mut Vec<Token>) {
            for token in mail.drain(..) {
                self.take(from, token);
            }
        }
        fn work(&self) -> u64 {
            self.log.len() as u64
        }
    }

    fn ring(panics_at: Time) -> Vec<Ring> {
        let n = 5;
        let process = |me| Ring {
            n,
            me,
            calendar: Calendar::new(n),
            tokens: vec![Vec::new(); n],
            out: vec![Vec::new(); n],
            random: RandomStream::new(9, "ring", me as u64),
            log: Vec::new(),
            panics_at: if me == 3 { panics_at } else { Time::NEVER },
        };
        let mut ring: Vec<Ring> = (0..n).map(process).collect();
        for i in 0..20u64 {
            ring[i as usize % n].take(i as usize / n, (Time::from_ps(i * 1000), i));
        }
        ring
    }

    const END: Time = Time::from_ps(2_000_000_000);

    fn logs(mut lanes: Lanes) -> Vec<Vec<Token>> {
        let mut ring = ring(Time::NEVER);
        run_conservatively(&mut ring, HOP, END, &mut lanes, &mut |_| true).expect("nobody stops it");
        ring.into_iter().map(|p| p.log).collect()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_history_in_time_order() {
        let single = logs(Lanes::fixed(1));
        assert!(single.iter().all(|log| log.len() > 1000 && log.is_sorted_by_key(|(t, _)| *t)));
        for threads in [2, 3, 4, 5, 8] {
            assert_eq!(single, logs(Lanes::fixed(threads)), "{threads} threads");
            assert_eq!(single, logs(Lanes::adaptive(threads)), "up to {threads} threads");
        }
        for seed in 0..20 {
            assert_eq!(single, logs(Lanes::shuffle(1 + seed as usize % 6, seed)), "grouped anew, seed {seed}");
        }
    }

    #[test]
    fn a_run_stops_where_its_caller_says_and_nothing_later_has_happened() {
        for threads in [1, 3] {
            let mut ring = ring(Time::NEVER);
            let mut seen = Time::ZERO;
            let mut watch = |window: Time| {
                seen = window;
                window < Time::from_ps(500_000_000)
            };
            let stopped = run_conservatively(&mut ring, HOP, END, &mut Lanes::fixed(threads), &mut watch);
            assert_eq!(stopped, Err(Stopped));
            assert!(seen >= Time::from_ps(500_000_000) && seen < END);
            assert!(ring.iter().flat_map(|p| &p.log).all(|(t, _)| *t < seen));
        }
    }

    #[test]
    fn a_process_that_panics_ends_the_run_instead_of_hanging_it() {
        for threads in [1, 2, 5] {
            let mut ring = ring(Time::from_ps(700_000_000));
            let mut lanes = Lanes::fixed(threads);
            let run =
                std::panic::AssertUnwindSafe(|| run_conservatively(&mut ring, HOP, END, &mut lanes, &mut |_| true));
            assert!(std::panic::catch_unwind(run).is_err(), "{threads} threads");
        }
    }
}
