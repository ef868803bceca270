//! Ranks of jobs at the hosts of a part: their programs run, their messages go into queue pairs or the host's scale-up domain.
//!
//! A rank that sends appends the message to the stream of a queue pair, whose sender then has more to send. A boundary carries the end and
//! the identity of the message to the part of the receiver. It changes nothing there until bytes arrive: when the receiver has the stream
//! up to a boundary, its rank has the message. Between parts, boundaries go with the mail after a window. No byte of the message can be
//! there sooner, since it crosses at least one link that is cut.

pub(crate) mod path;

use super::receiver::Receivers;
use crate::ids::{FlowId, HostId, HostNumber, Key};
use crate::part_context::PartContext;
use crate::partition::Partition;
use crate::trace::Traced;
use farloop_job::{Input, Message, Output, Rank, Work};
use farloop_network::Network;
use farloop_network::chores::{Chore, Chores};
use farloop_network::meter::{DomainInterface, Meter};
use farloop_network::queue_pairs::{QueuePair, stream_bytes};
use farloop_network::result::RankRow;
use farloop_units::Time;
use path::{JobPath, PathLog, Way};
use std::collections::{BTreeMap, VecDeque};

/// Where a message ends in the stream of its queue pair, and when it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Boundary {
    pub flow: FlowId,
    pub end: u64,
    pub sent: Time,
    pub message: Message,
}

/// A rank that runs.
struct Running {
    job: u32,
    rank: u32,
    host: HostId,
    program: Rank,
    meter: Meter,
    domain: DomainInterface,
}

/// The ranks of a part.
#[derive(Default)]
pub(crate) struct Ranks {
    ranks: Vec<Running>,
    /// By job and rank: its place in `ranks`, where the part has it.
    places: BTreeMap<(u32, u32), u32>,
    /// By host; empty where the part has no ranks.
    chores: Vec<Chores>,
    /// By queue pair: bytes sent into it.
    streams: BTreeMap<FlowId, u64>,
    /// By queue pair: the messages that are not all there.
    boundaries: BTreeMap<FlowId, VecDeque<Boundary>>,
    /// By job and rank: its part, where that is another one.
    elsewhere: BTreeMap<(u32, u32), usize>,
    /// For the receivers in other parts.
    outbox: BTreeMap<usize, Vec<Boundary>>,
    out: Vec<Output>,
    /// The log of a job whose path is requested.
    log: Option<Box<PathLog>>,
}

/// Bytes to be sent, by flow.
pub(crate) type Posted = Vec<(FlowId, u64)>;

impl Ranks {
    /// The part's own of all ranks.
    pub fn new(network: &Network, partition: &Partition, part: usize) -> Ranks {
        let mut ranks = Ranks::default();
        for (number, job) in (0..).zip(&network.jobs) {
            for (rank, host) in (0..).zip(&job.hosts) {
                let its = partition.part_of[*host as usize];
                if its != part {
                    ranks.elsewhere.insert((number, rank), its);
                }
            }
        }
        ranks
    }

    /// Parts that may be sent to.
    pub fn recipients(&self) -> impl Iterator<Item = usize> {
        self.elsewhere.values().copied()
    }

    /// Schedules the begin of all ranks at the part's `hosts`, each with its node.
    pub fn begin(&mut self, network: &Network, cx: &mut PartContext, hosts: &[(u32, HostNumber)]) {
        if network.jobs.is_empty() {
            return;
        }
        self.chores = hosts.iter().map(|_| Chores::default()).collect();
        // The first port of a host comes first.
        let mut own: BTreeMap<u32, usize> = BTreeMap::new();
        hosts.iter().enumerate().for_each(|(at, (node, _))| _ = own.entry(*node).or_insert(at));
        for (number, job) in (0..).zip(&network.jobs) {
            for (rank, node) in (0..).zip(&job.hosts) {
                let Some(&at) = own.get(node) else { continue };
                let place = self.ranks.len() as u32;
                let program = Rank::new(&job.job, rank, job.host, job.iterations, false);
                let host = HostId::new(at);
                let meter = Meter::new(job.start);
                let domain = DomainInterface::default();
                self.ranks.push(Running { job: number, rank, host, program, meter, domain });
                self.places.insert((number, rank), place);
                self.set(cx, host, job.start, place, Chore::Start);
            }
        }
    }

    /// Registers the log of a job; to be called before the first event.
    pub fn watch(&mut self, log: PathLog) {
        for running in self.ranks.iter_mut().filter(|running| running.job == log.job()) {
            running.program.keep_records();
        }
        self.log = Some(Box::new(log));
    }

    /// Returns true if the path that [`Ranks::watch`] logs is known.
    pub fn knows_path(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.is_known())
    }

    /// The path, if it is known.
    pub fn take_path(&mut self) -> Option<JobPath> {
        self.log.as_mut()?.take()
    }

    fn log_of(&mut self, job: u32) -> Option<&mut PathLog> {
        self.log.as_deref_mut().filter(|log| log.job() == job)
    }

    /// Logs the end of an iteration at a rank, if there is a log.
    #[cold]
    fn log_over(&mut self, now: Time, place: u32) {
        let running = &mut self.ranks[place as usize];
        let (job, rank) = (running.job, running.rank);
        let Some(mut log) = self.log.take_if(|log| log.job() == job) else { return };
        if let Some(records) = running.program.take_records() {
            let current = |rank| self.ranks[*self.places.get(&(job, rank))? as usize].program.records();
            log.end_iteration(now, rank, records, &current);
        }
        self.log = Some(log);
    }

    /// When the next chore of a host is due.
    pub fn next(&self, host: HostId) -> Option<Time> {
        if self.ranks.is_empty() {
            return None;
        }
        self.chores[host.index()].next()
    }

    fn set(&mut self, cx: &mut PartContext, host: HostId, at: Time, rank: u32, chore: Chore) {
        self.chores[host.index()].set(at, rank, chore);
        let event = cx.events.agenda(host);
        if cx.calendar.time_of(event).is_none_or(|due| due > at) {
            cx.calendar.set(event, at);
        }
    }

    /// Does all that is due at a host now; `posted` gets the queue pairs that have more to send, and up to which byte.
    pub fn run(&mut self, cx: &mut PartContext, host: HostId, receivers: &mut Receivers, posted: &mut Posted) {
        if self.ranks.is_empty() {
            return;
        }
        let arrived: Vec<FlowId> = cx.notices.take_delivered(host).collect();
        for flow in arrived {
            self.deliver_messages(cx, flow, receivers, posted);
        }
        while let Some((rank, chore)) = self.chores[host.index()].take_due(cx.now) {
            let (input, sent) = chore.input();
            self.handle(cx, rank, input, sent, receivers, posted);
        }
    }

    /// More of a queue pair's stream has arrived: gives its rank the messages that are complete.
    fn deliver_messages(&mut self, cx: &mut PartContext, flow: FlowId, receivers: &mut Receivers, posted: &mut Posted) {
        let Some(QueuePair { job, to, .. }) = cx.network.pairs.pair(flow) else { return };
        let Some(&place) = self.places.get(&(job, to)) else { return };
        let there = receivers.in_order(&cx.network, flow);
        loop {
            let next = self.boundaries.get(&flow).and_then(|queue| queue.front()).copied();
            receivers.set_turn(flow, next.map_or(u64::MAX, |boundary| boundary.end));
            let Some(boundary) = next.filter(|boundary| boundary.end <= there) else { return };
            self.boundaries.get_mut(&flow).and_then(VecDeque::pop_front);
            cx.trace_received(flow, boundary.end);
            self.handle(cx, place, Input::Received(boundary.message), Some(boundary.sent), receivers, posted);
        }
    }

    /// Takes a boundary: of a sender in this part, or by mail.
    pub fn take(&mut self, boundary: Boundary, receivers: &mut Receivers) {
        let queue = self.boundaries.entry(boundary.flow).or_default();
        if queue.is_empty() {
            receivers.set_turn(boundary.flow, boundary.end);
        }
        queue.push_back(boundary);
    }

    /// Moves the boundaries for the receivers of another part into `mail`.
    pub fn mail(&mut self, part: usize, mail: &mut Vec<Boundary>) {
        if let Some(own) = self.outbox.get_mut(&part) {
            mail.append(own);
        }
    }

    fn handle(
        &mut self,
        cx: &mut PartContext,
        place: u32,
        input: Input,
        sent: Option<Time>,
        receivers: &mut Receivers,
        posted: &mut Posted,
    ) {
        let mut inputs = VecDeque::from([(input, sent)]);
        while let Some((input, sent)) = inputs.pop_front() {
            let mut out = std::mem::take(&mut self.out);
            let running = &mut self.ranks[place as usize];
            let network = cx.network.clone();
            let job = &network.jobs[running.job as usize];
            running.meter.note_input(cx.now, job, &input, sent);
            running.program.handle(cx.now, input, &mut out);
            let (number, rank, host) = (running.job, running.rank, running.host);
            if let (Input::Received(message), Some(log)) = (input, self.log_of(number)) {
                log.note_arrival(cx.now, rank, &message);
            }
            for output in out.drain(..) {
                match output {
                    Output::Timer { operation, after } => {
                        let of = &job.job.programs[rank as usize].operations()[operation as usize];
                        if let Work::Compute(_) = of.work {
                            self.ranks[place as usize].meter.computes(cx.now, operation, of.phase);
                        }
                        self.set(cx, host, cx.now.saturating_add(after), place, Chore::Timer(operation));
                    }
                    Output::Send { to, message } => {
                        inputs.push_back((Input::Sent(message.operation), None));
                        let way = if job.hosts[to as usize] == job.hosts[rank as usize] {
                            self.send_in_domain(cx, place, (number, to), message)
                        } else {
                            self.post(cx, (number, rank, to), message, receivers, posted)
                        };
                        if let (Some(way), Some(log)) = (way, self.log_of(number)) {
                            log.note_sent(cx.now, to, &message, way);
                        }
                    }
                    Output::Matched { message, .. } => {
                        if let Some(log) = self.log_of(number) {
                            log.note_taken(rank, &message);
                        }
                    }
                    Output::IterationOver { iteration } => {
                        self.ranks[place as usize].meter.end_iteration(cx.now, iteration);
                        if self.log.is_some() {
                            self.log_over(cx.now, place);
                        }
                    }
                }
            }
            self.out = out;
        }
    }

    /// A message takes the scale-up domain of its host: the interface of its sender, then that of its receiver, each for its bytes.
    fn send_in_domain(&mut self, cx: &mut PartContext, place: u32, to: (u32, u32), message: Message) -> Option<Way> {
        let &other = self.places.get(&to)?;
        let level = cx.network.jobs[to.0 as usize].domain;
        let departs = self.ranks[place as usize].domain.send(cx.now, message.bytes, &level);
        let receiver = &mut self.ranks[other as usize];
        let (taken, at) = receiver.domain.receive(departs, message.bytes, &level);
        let host = receiver.host;
        self.set(cx, host, at, other, Chore::Received(message, cx.now));
        Some(Way::Domain { departs, latency: level.latency, taken })
    }

    /// A message goes into its queue pair.
    fn post(
        &mut self,
        cx: &mut PartContext,
        (job, from, to): (u32, u32, u32),
        message: Message,
        receivers: &mut Receivers,
        posted: &mut Posted,
    ) -> Option<Way> {
        let network = &cx.network;
        let interface = network.jobs[job as usize].interface(from, message.operation);
        let flow = network.pairs.flow(QueuePair { job, from, to, interface })?;
        let unit = network.message_unit(network.flows.algorithm(flow));
        let end = self.streams.entry(flow).or_insert(0);
        let begin = *end;
        *end += stream_bytes(message.bytes, unit);
        let boundary = Boundary { flow, end: *end, sent: cx.now, message };
        match self.elsewhere.get(&(job, to)) {
            Some(part) => self.outbox.entry(*part).or_default().push(boundary),
            None => self.take(boundary, receivers),
        }
        posted.push((flow, boundary.end));
        Some(Way::Queue { flow: flow.0, begin, end: boundary.end })
    }

    /// Returns the rows of the ranks' iterations.
    pub fn rows(&mut self, network: &Network) -> Vec<RankRow> {
        let mut rows = Vec::new();
        for running in &mut self.ranks {
            let host = network.jobs[running.job as usize].hosts[running.rank as usize];
            rows.extend(running.meter.take_rows((running.job, running.rank, host)));
        }
        rows
    }
}
