//! Conservative parallel execution: logical processes, lookahead, windows.
//!
//! A model is cut into logical processes that share nothing and talk only by messages. A message takes at least `lookahead`
//! of simulated time to arrive, so all processes may run independently up to (earliest pending event of all) + lookahead:
//! nothing sent in that window can arrive in it. Between windows messages are handed over in the order of (sender, order of
//! sending), which no scheduling of threads can change. Hence the same bytes come out for any number of threads.

use farloop_units::{Delta, Time};
use std::sync::Mutex;

/// A part of a model that runs on its own between messages.
pub trait LogicalProcess: Send {
    /// What processes send each other.
    type Message: Send;

    /// The time of the earliest pending event; [`Time::NEVER`] when there is none.
    fn next_event(&mut self) -> Time;

    /// Executes all events before `end`. `send(to, message)` queues a message for process `to`; by contract its effect there
    /// comes at least the lookahead after the event that sends it.
    fn run_until(&mut self, end: Time, send: &mut dyn FnMut(usize, Self::Message));

    /// Takes a message from process `from`; called only between windows.
    fn receive(&mut self, from: usize, message: Self::Message);
}

/// What a process sent in a window: (recipient, message), in the order of sending.
type Outbox<M> = Vec<(usize, M)>;

/// Runs `processes` until `end` on `threads` threads (at least one; more than there are processes is of no use).
///
/// With a single process there is one window and no hand-over. The result is the same for any number of threads.
///
/// # Panics
/// If `lookahead` is zero while there are several processes: no window would ever advance.
pub fn run_conservatively<P: LogicalProcess>(processes: &mut [P], lookahead: Delta, end: Time, threads: usize) {
    assert!(processes.len() < 2 || lookahead > Delta::ZERO, "several processes need a lookahead");
    let lanes = threads.clamp(1, processes.len().max(1));
    loop {
        let next = processes.iter_mut().map(P::next_event).min().unwrap_or(Time::NEVER);
        if next >= end {
            return;
        }
        let window = if processes.len() == 1 { end } else { next.saturating_add(lookahead).min(end) };
        let mut sent: Vec<Outbox<P::Message>> = Vec::with_capacity(processes.len());
        if lanes == 1 {
            for process in processes.iter_mut() {
                let mut out = Vec::new();
                process.run_until(window, &mut |to, message| out.push((to, message)));
                sent.push(out);
            }
        } else {
            let size = processes.len().div_ceil(lanes);
            let slots: Vec<Mutex<Outbox<P::Message>>> = processes.iter().map(|_| Mutex::default()).collect();
            std::thread::scope(|scope| {
                for (lane, chunk) in processes.chunks_mut(size).enumerate() {
                    let slots = &slots;
                    scope.spawn(move || {
                        for (i, process) in chunk.iter_mut().enumerate() {
                            let mut out = Vec::new();
                            process.run_until(window, &mut |to, message| out.push((to, message)));
                            *slots[lane * size + i].lock().expect("each slot has one writer") = out;
                        }
                    });
                }
            });
            sent.extend(slots.into_iter().map(|slot| slot.into_inner().expect("each slot had one writer")));
        }
        for (from, messages) in sent.into_iter().enumerate() {
            for (to, message) in messages {
                processes[to].receive(from, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Calendar, RandomStream};

    const HOP: Delta = Delta::from_us(3);

    /// A process that passes tokens to random others, and logs what it sees.
    struct Ring {
        me: usize,
        n: usize,
        calendar: Calendar,
        tokens: Vec<Vec<(Time, u64)>>,
        random: RandomStream,
        log: Vec<(Time, u64)>,
    }

    impl LogicalProcess for Ring {
        type Message = (Time, u64);

        fn next_event(&mut self) -> Time {
            self.calendar.peek().map_or(Time::NEVER, |(t, _)| t)
        }
        fn run_until(&mut self, end: Time, send: &mut dyn FnMut(usize, Self::Message)) {
            while let Some((now, id)) = self.calendar.peek().filter(|(t, _)| *t < end) {
                let queue = &mut self.tokens[id as usize];
                let (_, token) = queue.remove(0);
                match queue.first() {
                    Some((t, _)) => self.calendar.set(id, *t),
                    None => self.calendar.cancel(id),
                }
                self.log.push((now, token));
                let to = self.random.below(self.n as u64) as usize;
                let delay = HOP + Delta::from_ps(self.random.below(5_000_000));
                send(to, (now + delay, token.wrapping_mul(31).wrapping_add(self.me as u64)));
            }
        }
        fn receive(&mut self, from: usize, (at, token): Self::Message) {
            let queue = &mut self.tokens[from];
            let place = queue.partition_point(|(t, _)| *t <= at);
            queue.insert(place, (at, token));
            self.calendar.set(from as u32, queue[0].0);
        }
    }

    fn logs(threads: usize) -> Vec<Vec<(Time, u64)>> {
        let n = 5;
        let mut ring: Vec<Ring> = (0..n)
            .map(|me| Ring {
                me,
                n,
                calendar: Calendar::new(n),
                tokens: vec![Vec::new(); n],
                random: RandomStream::new(9, "ring", me as u64),
                log: Vec::new(),
            })
            .collect();
        for i in 0..20u64 {
            ring[i as usize % n].receive(i as usize / n, (Time::from_ps(i * 1000), i));
        }
        run_conservatively(&mut ring, HOP, Time::from_ps(2_000_000_000), threads);
        ring.into_iter().map(|p| p.log).collect()
    }

    #[test]
    fn any_number_of_threads_gives_the_same_history_in_time_order() {
        let one = logs(1);
        assert!(one.iter().all(|log| log.len() > 1000 && log.is_sorted_by_key(|(t, _)| *t)));
        for threads in [2, 3, 8] {
            assert_eq!(one, logs(threads), "{threads} threads");
        }
    }
}
