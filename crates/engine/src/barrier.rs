//! The barrier at which the threads of a run wait for the last one, in every window.
//!
//! A waiting thread spins for some microseconds, and then sleeps in the kernel (a condition variable of the standard
//! library, which is a futex on Linux). Short windows need spinning: it answers within 50 ns, where a sleeper wakes in some
//! 50 us. A shared machine needs sleeping: a thread that spins, or yields, keeps a processor from the very thread that it
//! waits for.

use crate::clock::Instant;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A barrier for the threads of a run: every thread waits at it once per window. Each stretch of a run owns one.
pub(crate) struct Barrier {
    parties: usize,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// Parties that sleep, or are about to.
    asleep: AtomicUsize,
    gate: Mutex<()>,
    opened: Condvar,
    /// A thread panicked and will never arrive.
    abandoned: AtomicBool,
}

impl Barrier {
    pub fn new(parties: usize) -> Barrier {
        Barrier {
            parties,
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            gate: Mutex::new(()),
            opened: Condvar::new(),
            abandoned: AtomicBool::new(false),
        }
    }

    /// Returns when all parties have come.
    ///
    /// # Panics
    /// A party panicked.
    pub fn wait(&self, patience: &mut Patience) {
        if self.parties == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            // Either a thread about to sleep sees this, or this thread sees it sleep: all of these operations have
            // one order.
            self.round.store(round.wrapping_add(1), Ordering::SeqCst);
            if self.asleep.load(Ordering::SeqCst) > 0 {
                self.wake();
            }
            return;
        }
        let is_over = || self.round.load(Ordering::SeqCst) != round || self.abandoned.load(Ordering::SeqCst);
        patience.wait(is_over, || {
            let mut gate = self.gate();
            self.asleep.fetch_add(1, Ordering::SeqCst);
            while !is_over() {
                gate = self.opened.wait(gate).unwrap_or_else(PoisonError::into_inner);
            }
            self.asleep.fetch_sub(1, Ordering::SeqCst);
        });
        assert!(!self.abandoned.load(Ordering::Relaxed), "another part of the simulation panicked");
    }

    /// Wakes the sleepers. Taking the gate first is enough: a sleeper has released it, and a thread about to sleep
    /// holds it until it sleeps.
    #[cold]
    fn wake(&self) {
        drop(self.gate());
        self.opened.notify_all();
    }

    fn gate(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time for which one party spins before it sleeps: longer where its waits are short, zero where they are not.
pub(crate) struct Patience {
    limit: Duration,
    most: Duration,
}

impl Patience {
    /// Longest wait that is worth spinning for: about the cost of sleeping and being woken.
    const MAX: Duration = Duration::from_micros(100);
    /// A sleep costs more, so this is always worth it.
    const MIN: Duration = Duration::from_micros(2);
    /// Before any wait is known.
    const FIRST: Duration = Duration::from_micros(20);
    /// Looks between two looks at the clock.
    const LOOKS: u32 = 16;

    /// On a `crowded` machine there are fewer free processors than parties, and a thread that spins keeps another
    /// from working.
    pub fn new(crowded: bool) -> Patience {
        match crowded {
            true => Patience { limit: Duration::ZERO, most: Duration::ZERO },
            false => Patience { limit: Patience::FIRST, most: Patience::MAX },
        }
    }

    /// Looks until `is_over`, or sleeps.
    fn wait(&mut self, is_over: impl Fn() -> bool, sleep: impl FnOnce()) {
        let begin = Instant::now();
        while begin.elapsed() < self.limit {
            for _ in 0..Self::LOOKS {
                if is_over() {
                    return self.learn(begin.elapsed());
                }
                std::hint::spin_loop();
            }
        }
        sleep();
        self.learn(begin.elapsed());
    }

    /// Learns from a wait of this duration.
    fn learn(&mut self, waited: Duration) {
        self.limit = if waited > self.most {
            self.limit / 2
        } else {
            // Twice the usual wait, forgotten slowly.
            (2 * waited).max(self.limit - self.limit / 8).max(Self::MIN)
        };
        self.limit = self.limit.min(self.most);
    }
}

/// Tells the other parties when this one panics: they would wait for ever.
pub(crate) struct Abandon<'a>(pub &'a Barrier);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandoned.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processor time of this thread; 0 where the system does not tell.
    fn processor_time() -> Duration {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        Duration::from_nanos(text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0))
    }

    #[test]
    fn who_waits_long_sleeps() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let (before, mut patience) = (processor_time(), Patience::new(false));
                for _ in 0..3 {
                    barrier.wait(&mut patience);
                }
                assert_eq!(patience.limit, Patience::FIRST / 8, "long waits are not worth looking for");
                processor_time() - before
            });
            let mut patience = Patience::new(false);
            for _ in 0..3 {
                std::thread::sleep(Duration::from_millis(100));
                barrier.wait(&mut patience);
            }
            let used = waiter.join().expect("no panic");
            assert!(used < Duration::from_millis(30), "{used:?} of processor time in waits of 300 ms");
        });
    }

    #[test]
    fn who_waits_is_woken_in_every_round() {
        // Both ways of waiting, and changes between them.
        for crowded in [[true, true, true], [false, false, false], [true, false, true]] {
            let barrier = Barrier::new(3);
            let count = AtomicUsize::new(0);
            let party = |me: usize| {
                let mut patience = Patience::new(crowded[me]);
                for round in 0..300 {
                    if (round + me).is_multiple_of(31) {
                        std::thread::sleep(Duration::from_micros(150));
                    }
                    count.fetch_add(1, Ordering::Relaxed);
                    barrier.wait(&mut patience);
                    assert!(count.load(Ordering::Relaxed) >= 3 * (round + 1), "somebody went on too early");
                    barrier.wait(&mut patience);
                }
            };
            std::thread::scope(|scope| {
                for me in 1..3 {
                    scope.spawn(move || party(me));
                }
                party(0);
            });
            assert_eq!(count.into_inner(), 900);
        }
    }

    #[test]
    fn short_waits_are_looked_for_and_a_crowded_machine_is_left_to_others() {
        let us = Duration::from_micros;
        let mut patience = Patience::new(false);
        for _ in 0..10 {
            patience.learn(us(40));
        }
        assert_eq!(patience.limit, us(80));
        for _ in 0..100 {
            patience.learn(us(1));
        }
        assert_eq!(patience.limit, Patience::MIN);
        for _ in 0..20 {
            patience.learn(us(5000));
        }
        assert!(patience.limit < us(1));
        patience.learn(us(60));
        assert_eq!(patience.limit, Patience::MAX, "120 us are too long");
        let mut patience = Patience::new(true);
        patience.learn(us(1));
        assert_eq!(patience.limit, Duration::ZERO);
    }

    #[test]
    fn a_panic_wakes_who_sleeps() {
        let barrier = Barrier::new(2);
        let asleep = std::thread::scope(|scope| {
            let asleep = scope.spawn(|| barrier.wait(&mut Patience::new(true)));
            let panics = scope.spawn(|| {
                let _abandon = Abandon(&barrier);
                std::thread::sleep(Duration::from_millis(50));
                panic!("as the test wants it");
            });
            assert!(panics.join().is_err());
            asleep.join()
        });
        assert!(asleep.is_err());
    }
}
