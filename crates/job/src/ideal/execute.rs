//! Runs the ranks of a job over the ideal network.

use super::Network;
use super::path::{CriticalPath, Flight, critical_path};
use crate::error::JobError;
use crate::job::{Job, Work};
use crate::rank::{Input, Message, Output, Rank};
use farloop_units::{Delta, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The outcome of an execution.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Duration of each iteration: from the end of the last one at the last rank to its own.
    pub iterations: Vec<Delta>,
    /// When the last rank was done.
    pub end: Time,
    /// By rank.
    pub ranks: Vec<RankTimes>,
    /// Messages sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The critical path, where it was requested.
    pub path: Option<CriticalPath>,
}

/// Times of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankTimes {
    /// When it was done.
    pub end: Time,
    /// Time in which at least one of its streams computed.
    pub computing: Delta,
    /// The rest until the job's end: communication that no computing hides, and waiting.
    pub exposed: Delta,
}

/// A run that does not come to its end.
pub type Stuck = JobError;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Happening {
    Timer(u32),
    Sent(u32),
    First(u32),
    Last(u32),
}

#[derive(Clone, Copy, Default)]
struct Interface {
    send: Time,
    receive: Time,
}

struct Run<'a> {
    job: &'a Job,
    network: &'a Network,
    ranks: Vec<Rank>,
    /// (time, sequence, rank, what)
    events: BinaryHeap<Reverse<(Time, u64, u32, Happening)>>,
    sequence: u64,
    interfaces: Vec<[Interface; 2]>,
    nics: usize,
    /// Messages on their way; a free place is used again.
    flying: Vec<(Message, u32)>,
    free: Vec<u32>,
    /// Sends that wait for their receivers, by rank and operation: when their last byte has left. Nobody goes through it in its order.
    held: HashMap<(u32, u32), Time>,
    /// By rank and operation of the sender.
    flights: Option<Vec<Vec<Option<Flight>>>>,
    messages: u64,
    bytes: u64,
    over: Vec<(u32, Time)>,
    ends: Vec<Time>,
    /// The first operation that ends at no time that 64 bits of picoseconds hold.
    beyond: Option<(u32, u32)>,
}

/// Runs a job whose collectives are expanded, `iterations` times; `path` requests the critical path of the last.
///
/// `go_on(operations done, operations in all)` is called now and then, and stops the run with `false`. The error of a job that cannot end
/// names an operation that waits for ever.
pub fn run(
    job: &Job,
    network: &Network,
    iterations: u32,
    path: bool,
    go_on: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Outcome, Stuck> {
    let ranks: Vec<Rank> = (0..job.ranks()).map(|r| Rank::new(job, r, network.host, iterations, path)).collect();
    let all_operations = job.programs.iter().flat_map(|p| p.operations());
    let nics = all_operations.map(|o| usize::from(o.nic) + 1).max().unwrap_or(1);
    let flights = path.then(|| job.programs.iter().map(|p| vec![None; p.operations().len()]).collect());
    let mut run = Run {
        job,
        network,
        events: BinaryHeap::new(),
        sequence: 0,
        interfaces: vec![[Interface::default(); 2]; ranks.len() * nics],
        nics,
        flying: Vec::new(),
        free: Vec::new(),
        held: HashMap::new(),
        flights,
        messages: 0,
        bytes: 0,
        over: vec![(0, Time::ZERO); iterations as usize],
        ends: vec![Time::ZERO; ranks.len()],
        beyond: None,
        ranks,
    };
    run.go(go_on)?;
    Ok(run.outcome(iterations))
}

impl Run<'_> {
    fn go(&mut self, go_on: &mut dyn FnMut(u64, u64) -> bool) -> Result<(), Stuck> {
        let all = self.job.operations() * self.over.len() as u64;
        let mut out = Vec::new();
        for rank in 0..self.ranks.len() as u32 {
            self.handle(Time::ZERO, rank, Input::Start, &mut out);
        }
        let mut events = 0u64;
        while let Some(Reverse((now, _, rank, happening))) = self.events.pop() {
            if let Some((rank, operation)) = self.beyond {
                let text = "it ends more than 213 days after the job's start; expected shorter computations, fewer bytes or more rate";
                return Err(self.job.error(rank, operation, text));
            }
            events += 1;
            if events.is_multiple_of(1 << 16) && !go_on(events.min(all), all) {
                return Err(JobError::new_cancelled());
            }
            match happening {
                Happening::Timer(operation) => self.handle(now, rank, Input::Timer(operation), &mut out),
                Happening::Sent(operation) => self.handle(now, rank, Input::Sent(operation), &mut out),
                Happening::First(place) => self.first_byte(now, rank, place),
                Happening::Last(place) => {
                    let (message, _) = self.flying[place as usize];
                    self.free.push(place);
                    self.handle(now, rank, Input::Received(message), &mut out);
                }
            }
        }
        match self.ranks.iter().position(|r| !r.is_done()) {
            None => Ok(()),
            Some(_) => Err(self.find_stuck()),
        }
    }

    fn schedule(&mut self, time: Time, rank: u32, happening: Happening) {
        self.events.push(Reverse((time, self.sequence, rank, happening)));
        self.sequence += 1;
    }

    fn handle(&mut self, now: Time, rank: u32, input: Input, out: &mut Vec<Output>) {
        self.ranks[rank as usize].handle(now, input, out);
        for output in out.drain(..) {
            match output {
                Output::Timer { operation, after } => {
                    let end = self.check_time(now.saturating_add(after), rank, operation);
                    self.schedule(end, rank, Happening::Timer(operation));
                }
                Output::Send { to, message } => self.send(now, to, message),
                Output::Matched { operation, message } => self.record_receive(now, operation, &message),
                Output::IterationOver { iteration } => {
                    let (count, last) = &mut self.over[iteration as usize];
                    (*count, *last) = (*count + 1, (*last).max(now));
                    self.ends[rank as usize] = now;
                }
            }
        }
    }

    /// The time, which the operation of a rank must not take beyond [`Time::NEVER`].
    fn check_time(&mut self, time: Time, rank: u32, operation: u32) -> Time {
        if time == Time::NEVER {
            self.beyond.get_or_insert((rank, operation));
        }
        time
    }

    fn interface(&mut self, rank: u32, message: &Message, domain: bool) -> &mut Interface {
        let operation = &self.job.programs[message.from as usize].operations()[message.operation as usize];
        &mut self.interfaces[rank as usize * self.nics + usize::from(operation.nic)][usize::from(domain)]
    }

    fn send(&mut self, now: Time, to: u32, message: Message) {
        let (cost, domain) = self.network.cost(message.from, to, message.bytes);
        let (serialisation, gap) = (cost.sending, self.network.gap);
        let interface = self.interface(message.from, &message, domain);
        let departed = interface.send.max(now);
        interface.send = departed.saturating_add(gap).saturating_add(serialisation);
        let first = self.check_time(departed.saturating_add(cost.first), message.from, message.operation);
        if let Some(flights) = &mut self.flights {
            let (taken, crossing) = (first, Delta::ZERO);
            let flight = Flight { emitted: now, departed, first, taken, to, receive: None, serialisation, crossing };
            flights[message.from as usize][message.operation as usize] = Some(flight);
        }
        (self.messages, self.bytes) = (self.messages + 1, self.bytes + message.bytes);
        let place = match self.free.pop() {
            Some(place) => {
                self.flying[place as usize] = (message, to);
                place
            }
            None => {
                self.flying.push((message, to));
                self.flying.len() as u32 - 1
            }
        };
        self.schedule(first, to, Happening::First(place));
        if message.bytes <= self.network.eager {
            self.schedule(now, message.from, Happening::Sent(message.operation));
        } else {
            let left = departed.saturating_add(serialisation);
            self.held.insert((message.from, message.operation), left);
        }
    }

    fn first_byte(&mut self, now: Time, rank: u32, place: u32) {
        let (message, _) = self.flying[place as usize];
        let (cost, domain) = self.network.cost(message.from, rank, message.bytes);
        let gap = self.network.gap;
        let interface = self.interface(rank, &message, domain);
        let taken = interface.receive.max(now);
        interface.receive = taken.saturating_add(gap).saturating_add(cost.receiving);
        // Its bytes pass the interface one after the other, and not before they can be there.
        let alone = now.saturating_add(cost.last.saturating_sub(cost.first));
        let passed = taken.saturating_add(cost.receiving).max(alone);
        let last = if self.network.host.received_byte_fs > 0 { taken } else { passed };
        let last = self.check_time(last, message.from, message.operation);
        if let Some(flight) = self.flight(&message) {
            (flight.taken, flight.crossing) = (taken, last.since(taken));
        }
        if message.bytes > self.network.eager && self.ranks[rank as usize].expects(&message) {
            self.release(now, &message);
        }
        self.schedule(last, rank, Happening::Last(place));
    }

    fn flight(&mut self, message: &Message) -> Option<&mut Flight> {
        self.flights.as_mut()?[message.from as usize][message.operation as usize].as_mut()
    }

    /// A receive has taken the message.
    fn record_receive(&mut self, now: Time, operation: u32, message: &Message) {
        if let Some(flight) = self.flight(message) {
            flight.receive = Some(operation);
        }
        self.release(now, message);
    }

    /// Lets the sender of a message go on that has waited for its receiver.
    fn release(&mut self, now: Time, message: &Message) {
        if let Some(left) = self.held.remove(&(message.from, message.operation)) {
            self.schedule(now.max(left), message.from, Happening::Sent(message.operation));
        }
    }

    fn find_stuck(&self) -> Stuck {
        let waits = |rank: &usize| self.ranks[*rank].first_waiting().is_some();
        let undone = || (0..self.ranks.len()).filter(|&r| !self.ranks[r].is_done());
        let Some(rank) = undone().find(waits) else {
            let rank = undone().next().unwrap_or(0) as u32;
            // Without a posted receive: its operations wait for one another, or a send for a receiver that never comes.
            let text = format!("{} operations wait for ever", self.ranks[rank as usize].undone());
            return self.job.error(rank, 0, text);
        };
        let operation = self.ranks[rank].first_waiting().unwrap_or(0);
        let Work::Receive { from, tag, .. } = self.job.programs[rank].operations()[operation as usize].work else {
            return self.job.error(rank as u32, operation, "waits for ever");
        };
        let text = format!(
            "this receive waits for ever: rank {from} never comes to send it (tag {tag}), because operations of both wait for one another"
        );
        self.job.error(rank as u32, operation, text)
    }

    fn outcome(self, iterations: u32) -> Outcome {
        let end = self.ends.iter().copied().max().unwrap_or(Time::ZERO);
        let path = self.flights.as_ref().map(|flights| critical_path(self.job, self.network, &self.ranks, flights));
        let mut last = Time::ZERO;
        let mut times = Vec::with_capacity(iterations as usize);
        for &(_, over) in &self.over {
            times.push(over.since(last));
            last = over;
        }
        let of = |(rank, &own): (&Rank, &Time)| {
            let computing = rank.computing_time();
            RankTimes { end: own, computing, exposed: end.since(Time::ZERO).saturating_sub(computing) }
        };
        let ranks = self.ranks.iter().zip(&self.ends).map(of).collect();
        Outcome { iterations: times, end, ranks, messages: self.messages, bytes: self.bytes, path }
    }
}
