//! Conservative parallel execution: logical processes, lookahead, windows.
//!
//! A model is cut into logical processes that share nothing and talk only by messages. A message takes at least `lookahead`
//! of simulated time to arrive, so all processes may run independently up to (earliest pending event of all) + lookahead:
//! nothing sent in that window can arrive in it (Chandy and Misra, 1979; the windows are those of Lubachevsky's bounded lag, 1989).
//! What one process sends another lies in a mailbox of its own, in the order of sending, and is handed over between windows in the order of
//! the senders, which no scheduling of threads can change. Hence the same bytes come out for any number of threads.
//!
//! ```text
//!             window k                                     window k + 1
//!   thread 0  run ─► post (parity 0) ─► barrier ─► collect (parity 0) ─► run ─► post (parity 1) ─► barrier ─► ...
//!   thread 1  run ─► post (parity 0) ─► barrier ─► collect (parity 0) ─► run ─► post (parity 1) ─► barrier ─► ...
//! ```
//!
//! Threads live as long as the run. Mailboxes are doubled, so one barrier a window is enough: who is fast posts into the one half while
//! who is slow still collects from the other, and cannot come round again before all have passed the next barrier. Windows may be microseconds long:
//! the barrier spins before it lets others have the processor.

use farloop_units::{Delta, Time};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A part of a model that runs on its own between messages.
pub trait LogicalProcess: Send {
    /// What one process leaves for another in a window. Empty when it is new.
    type Mail: Default + Send;

    /// The time of the earliest pending event; [`Time::NEVER`] when there is none.
    fn next_event(&mut self) -> Time;

    /// Executes all events before `end`.
    fn run_until(&mut self, end: Time);

    /// The processes that this one may ever send to.
    fn recipients(&self) -> Vec<usize>;

    /// Moves what was sent to process `to` since the last call into `mail`, which is empty (but keeps its memory), and gives the time
    /// of its earliest effect there: at least the lookahead after the event that sent it; [`Time::NEVER`] if nothing was sent.
    fn post(&mut self, to: usize, mail: &mut Self::Mail) -> Time;

    /// Takes what process `from` sent, and leaves the mail empty.
    fn collect(&mut self, from: usize, mail: &mut Self::Mail);
}

/// The caller asked for the run to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Runs `processes` until `end` (exclusive) on at most `threads` threads, of which the caller's is one.
///
/// `watch` is called on the caller's thread after each window with the time up to which everything has happened; it returns `false` to stop.
/// The result is the same for any number of threads. With a single process there is one window.
///
/// # Errors
/// [`Stopped`]: `watch` said so.
///
/// # Panics
/// If `lookahead` is zero while there are several processes (no window would ever advance), and when a process panics.
pub fn run_conservatively<P: LogicalProcess>(
    processes: &mut [P],
    lookahead: Delta,
    end: Time,
    threads: usize,
    watch: &mut dyn FnMut(Time) -> bool,
) -> Result<(), Stopped> {
    assert!(processes.len() < 2 || lookahead > Delta::ZERO, "several processes need a lookahead");
    let size = processes.len().div_ceil(threads.max(1)).max(1);
    let lanes = processes.len().div_ceil(size);
    let boxes = Mailboxes::new(processes);
    let shared = Shared {
        boxes: &boxes,
        lookahead: if processes.len() > 1 { lookahead } else { Delta::MAX },
        end,
        barrier: Barrier::new(lanes),
        earliest: (0..2 * lanes).map(|_| AtomicU64::new(0)).collect(),
        stop: [AtomicBool::new(false), AtomicBool::new(false)],
    };
    let mut groups = processes.chunks_mut(size).enumerate();
    let Some((_, own)) = groups.next() else { return Ok(()) };
    std::thread::scope(|scope| {
        for (lane, group) in groups {
            let shared = &shared;
            scope.spawn(move || shared.run(lane, lane * size, group, &mut |_| true));
        }
        shared.run(0, 0, own, watch)
    })
}

/// What one process sent another, by parity of the window.
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

/// What the threads of a run share.
struct Shared<'a, M> {
    boxes: &'a Mailboxes<M>,
    lookahead: Delta,
    end: Time,
    barrier: Barrier,
    /// Earliest pending event of each lane, mail included, by parity and lane, in picoseconds.
    earliest: Vec<AtomicU64>,
    /// The caller wants no more windows, by parity.
    stop: [AtomicBool; 2],
}

impl<M: Default + Send> Shared<'_, M> {
    /// Runs the processes of one lane, of which the first is number `first`.
    fn run<P: LogicalProcess<Mail = M>>(
        &self,
        lane: usize,
        first: usize,
        group: &mut [P],
        watch: &mut dyn FnMut(Time) -> bool,
    ) -> Result<(), Stopped> {
        let _abandon = Abandon(&self.barrier);
        let lanes = self.barrier.parties;
        // Nothing happens in the first window: it finds out where the earliest event is.
        let (mut window, mut parity) = (Time::ZERO, 0);
        loop {
            let mut earliest = Time::NEVER;
            for (process, row) in group.iter_mut().zip(&self.boxes.out[first..]) {
                process.run_until(window);
                for (to, mailbox) in row {
                    let mut mail = mailbox[parity].lock().expect("a process that panicked ends the run");
                    earliest = earliest.min(process.post(*to, &mut mail));
                }
                earliest = earliest.min(process.next_event());
            }
            self.earliest[parity * lanes + lane].store(earliest.as_ps(), Ordering::Relaxed);
            if lane == 0 && !watch(window) {
                self.stop[parity].store(true, Ordering::Relaxed);
            }
            // What was stored before the barrier is seen by all behind it.
            self.barrier.wait();
            for (process, senders) in group.iter_mut().zip(&self.boxes.into[first..]) {
                for (from, at) in senders {
                    let mailbox = &self.boxes.out[*from][*at].1[parity];
                    process.collect(*from, &mut mailbox.lock().expect("a process that panicked ends the run"));
                }
            }
            if self.stop[parity].load(Ordering::Relaxed) {
                return Err(Stopped);
            }
            let all = &self.earliest[parity * lanes..][..lanes];
            let next = all.iter().map(|ps| ps.load(Ordering::Relaxed)).min().map_or(Time::NEVER, Time::from_ps);
            if next >= self.end {
                return Ok(());
            }
            window = next.saturating_add(self.lookahead).min(self.end);
            parity ^= 1;
        }
    }
}

/// Where all threads wait for the last one, again and again.
struct Barrier {
    parties: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread panicked and will never arrive.
    abandoned: AtomicBool,
}

impl Barrier {
    /// How often to look before the processor is offered to others: some microseconds, which is what a window of a busy fabric takes.
    const SPINS: u32 = 4_000;

    fn new(parties: usize) -> Barrier {
        Barrier { parties, arrived: AtomicUsize::new(0), round: AtomicUsize::new(0), abandoned: AtomicBool::new(false) }
    }

    fn wait(&self) {
        if self.parties == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut looks = 0;
        while self.round.load(Ordering::Acquire) == round {
            assert!(!self.abandoned.load(Ordering::Relaxed), "another part of the simulation panicked");
            looks += 1;
            if looks < Self::SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// Tells the other threads when this one panics: they would wait for ever.
struct Abandon<'a>(&'a Barrier);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandoned.store(true, Ordering::Relaxed);
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

    fn logs(threads: usize) -> Vec<Vec<Token>> {
        let mut ring = ring(Time::NEVER);
        run_conservatively(&mut ring, HOP, END, threads, &mut |_| true).expect("nobody stops it");
        ring.into_iter().map(|p| p.log).collect()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_history_in_time_order() {
        let one = logs(1);
        assert!(one.iter().all(|log| log.len() > 1000 && log.is_sorted_by_key(|(t, _)| *t)));
        for threads in [2, 3, 4, 5, 8] {
            assert_eq!(one, logs(threads), "{threads} threads");
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
            let stopped = run_conservatively(&mut ring, HOP, END, threads, &mut watch);
            assert_eq!(stopped, Err(Stopped));
            assert!(seen >= Time::from_ps(500_000_000) && seen < END);
            assert!(ring.iter().flat_map(|p| &p.log).all(|(t, _)| *t < seen));
        }
    }

    #[test]
    fn a_process_that_panics_ends_the_run_instead_of_hanging_it() {
        for threads in [1, 2, 5] {
            let mut ring = ring(Time::from_ps(700_000_000));
            let run = std::panic::AssertUnwindSafe(|| run_conservatively(&mut ring, HOP, END, threads, &mut |_| true));
            assert!(std::panic::catch_unwind(run).is_err(), "{threads} threads");
        }
    }
}
