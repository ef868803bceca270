//! Chores of ranks, done when they are due, and the messages that ranks send.

use crate::engine::{CHORES, Engine};
use farloop_job::{Input, Message, Output, Work};
use farloop_network::chores::Chore;
use farloop_units::Time;
use std::collections::VecDeque;

impl Engine<'_> {
    /// All of a message that was sent then is there at a time from now on.
    pub(crate) fn receive(&mut self, (job, to): (u32, u32), message: Message, sent: Time, at: Time) {
        let place = self.ranks.place(job, to);
        self.ranks.chores.set(at, place, Chore::Received(message, sent));
        self.schedule_chores();
    }

    /// Waits for the next chore.
    pub(crate) fn schedule_chores(&mut self) {
        match self.ranks.chores.next() {
            Some(at) => self.calendar.set(CHORES, at),
            None => self.calendar.cancel(CHORES),
        }
    }

    /// Does all that ranks have to do now.
    pub(crate) fn do_chores(&mut self, now: Time) {
        while let Some((rank, chore)) = self.ranks.chores.take_due(now) {
            let (input, sent) = chore.input();
            self.run_rank(rank, input, sent, now);
        }
        self.schedule_chores();
    }

    /// Gives a rank an input, and does what it asks for. `sent` is when its message was, if that is a message.
    fn run_rank(&mut self, place: u32, input: Input, sent: Option<Time>, now: Time) {
        let network = self.network;
        let mut inputs = VecDeque::from([(input, sent)]);
        while let Some((input, sent)) = inputs.pop_front() {
            let mut out = std::mem::take(&mut self.ranks.out);
            let running = &mut self.ranks.running[place as usize];
            let (number, rank) = (running.job, running.rank);
            let job = &network.jobs[number as usize];
            running.meter.note_input(now, job, &input, sent);
            running.program.handle(now, input, &mut out);
            for output in out.drain(..) {
                match output {
                    Output::Timer { operation, after } => {
                        let of = &job.job.programs[rank as usize].operations()[operation as usize];
                        if let Work::Compute(_) = of.work {
                            self.ranks.running[place as usize].meter.computes(now, operation, of.phase);
                        }
                        self.ranks.chores.set(now.saturating_add(after), place, Chore::Timer(operation));
                    }
                    Output::Send { to, message } => {
                        inputs.push_back((Input::Sent(message.operation), None));
                        if job.hosts[to as usize] == job.hosts[rank as usize] {
                            self.ranks.send_in_domain(network, place, (number, to), message, now);
                        } else {
                            self.post((number, rank, to), message, now);
                        }
                    }
                    Output::Matched { .. } => {}
                    Output::IterationOver { iteration } => {
                        self.ranks.running[place as usize].meter.end_iteration(now, iteration);
                    }
                }
            }
            self.ranks.out = out;
        }
    }
}
