//! The simulation: its parts, run side by side, and their joined counters.

use crate::build::{Built, build};
use crate::counters::{FlowRecord, InFlightSampler};
use crate::deadlock::{WATCH_INTERVAL, Watch};
use crate::host::ranks::path::{JobPath, PathLog};
use crate::ids::{FlowId, HostNumber, Key, PortNumber, Table};
use crate::invariants;
use crate::livelock::{Livelock, SLICE};
use crate::memory::{LOOK_EVERY, Memory, OutOfMemory, Pace};
use crate::part::{Gauge, Part};
use crate::partition::{Cores, MAX_WINDOW, Partition};
use crate::port::Owner;
use crate::port::circuit_queues::Queue;
use crate::queue_names::name_queues;
use crate::sample::{Samples, final_sample, join};
use crate::watched::flow_ends;
use crate::worst;
use farloop_engine::clock::Instant;
use farloop_engine::{Lanes, LogicalProcess, run_conservatively};
use farloop_job::ideal::Paths;
use farloop_network::BuildError;
use farloop_network::limit_groups::Limits;
use farloop_network::result::{DayRow, FlowRow, Gear, PortRow, QueueName, QueueRow, RunResult, Totals};
use farloop_network::schedule::Circuits;
use farloop_network::spec::{NetworkSpec, NodeId};
use farloop_network::starts::Starts;
use farloop_network::{Network, NodeRef};
use farloop_trace::why::{Journals, Wanted};
use farloop_trace::{Filter, Trace, Tracer};
use farloop_units::{Bytes, Delta, Time};
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Where the simulation ends; of a network that carries jobs alone, when they are over, by the packets that are left to send.
    pub end: Time,
    /// Packets that arrived at a node so far.
    pub packet_hops: u64,
}

/// Why a run came to no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The caller stopped it.
    Cancelled,
    /// More packets are in flight than memory has room for.
    OutOfMemory(OutOfMemory),
    /// Simulated time does not go on.
    Livelock(Livelock),
}

/// A network in motion. Build it with [`Simulation::new`], move it with [`Simulation::run`].
pub struct Simulation {
    network: Arc<Network>,
    parts: Vec<Part>,
    lookahead: Delta,
    lanes: Lanes,
    part_of_host: Table<HostNumber, usize>,
    /// True if some switch does PFC.
    pauses: bool,
    watch: Watch,
    /// Events until the next look at whether to go on, of a network in one part.
    events_left: u64,
    /// Wall time until that look, of a network in several parts, whose windows may be microseconds long.
    pace: Pace,
    /// Packet-hops of all messages of jobs, where nothing else is carried; counted at the first look.
    hops_of_jobs: OnceCell<Option<u64>>,
}

/// When jobs are over, if packets go on as until now: `all` packet-hops are to be made; `end` at the latest.
fn end_of_jobs(now: Time, end: Time, packet_hops: u64, all: u64) -> Time {
    let ps = u128::from(now.as_ps()) * u128::from(all.max(packet_hops)) / u128::from(packet_hops.max(1));
    u64::try_from(ps).map_or(end, Time::from_ps).min(end).max(now)
}

/// Events of a part between two looks at whether to go on.
const EVENTS: u64 = SLICE;

impl Simulation {
    /// Builds a network from its specification, for one thread.
    pub fn new(spec: NetworkSpec) -> Result<Simulation, BuildError> {
        Simulation::build(spec, Cores::ONE, &mut || true)
    }

    /// As [`Simulation::new`], for the threads of `cores`; `go_on` is called often enough for every wish to stop, and answers `false` to
    /// have [`BuildError::Cancelled`].
    pub fn build(spec: NetworkSpec, cores: Cores, go_on: &mut dyn FnMut() -> bool) -> Result<Simulation, BuildError> {
        let Built { network, parts, partition, part_of_host, pauses } = build(spec, cores, go_on)?;
        let Partition { lookahead, .. } = partition;
        let (lanes, watch) = (cores.lanes(), Watch::default());
        let (events_left, pace) = (EVENTS, Pace::new(LOOK_EVERY, Instant::now()));
        let hops_of_jobs = OnceCell::new();
        Ok(Simulation {
            network,
            parts,
            lookahead,
            lanes,
            part_of_host,
            pauses,
            watch,
            events_left,
            pace,
            hops_of_jobs,
        })
    }

    /// Costs of a job's messages alone in this network: for the time of the job on an ideal one.
    pub fn message_paths(&self, job: u32) -> Arc<dyn Paths> {
        Arc::new(self.network.message_paths(job))
    }

    /// Runs to the end and gives the result. `progress` is called every few hundred thousand events, of a network in parts
    /// every few milliseconds; it returns `false` to cancel.
    #[inline(always)]
    pub fn run(self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<RunResult, Stopped> {
        Ok(self.run_traced(progress)?.0)
    }

    /// As [`Simulation::run`], with the trace ([`Simulation::trace`]); it is empty where none was to be.
    // A function of its own, so that the guard of instruction counts (scripts/guard.py) can tell it from building the network.
    #[inline(never)]
    pub fn run_traced(mut self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<(RunResult, Trace), Stopped> {
        self.advance_to_end(progress)?;
        let tracers = self.parts.iter_mut().filter_map(|part| part.context.observers.as_mut()?.tracer.take());
        let mut trace = farloop_trace::join(tracers);
        trace.messages = self.parts.iter_mut().flat_map(Part::take_messages).collect();
        let journals = self.parts.iter_mut().find_map(|part| part.context.observers.as_mut()?.journals.take());
        let end = self.network.end;
        trace.why = journals.and_then(|journals| journals.answer(end));
        Ok((self.finish(), trace))
    }

    /// Runs to the end, or until all questions are answered ([`crate::why`]).
    fn advance_to_end(&mut self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<(), Stopped> {
        while let Some(border) = self.next_border() {
            self.advance(border.min(self.network.end), progress)?;
            if self.parts.iter().any(Part::knows_why) {
                break;
            }
            if border < self.network.end {
                for part in &mut self.parts {
                    part.observe(border, Time::ZERO);
                    part.catch_up(border - Delta::from_ps(1));
                }
                self.watch.look(&self.parts, border, WATCH_INTERVAL);
            }
        }
        Ok(())
    }

    /// Returns the result of no run: flows and ports with the values that follow from network and traffic alone, such as base round-trip
    /// times and the load offered to each port; all counters are zero.
    pub fn unrun(self) -> RunResult {
        let end = self.network.end;
        self.result(if end == Time::NEVER { Time::ZERO } else { end }, Time::ZERO)
    }

    /// Traces chosen packets and flows; to be called before the run. The result stays the same.
    ///
    /// Ports have the numbers 2i and 2i + 1 (from and to the first node of link i of the specification), hosts and flows their places among
    /// the specification's hosts and flows.
    pub fn trace(&mut self, filter: &Filter) {
        for part in &mut self.parts {
            part.context.observe().tracer = Some(Tracer::new(filter.clone()));
        }
    }

    /// Explains, in one part, the time of `flow` ([`farloop_trace::why`]); to be called before the run. The run ends soon after the flow
    /// does, so only the answer is worth looking at: [`Trace::why`]. Nothing that happens until then changes.
    ///
    /// # Panics
    /// There is no such flow, several parts, or connections outlive their flows.
    pub fn watch_flow(&mut self, flow: u32) {
        assert!(!self.network.persistent, "flows have connections of their own");
        let ends = flow_ends(&self.network, FlowId(flow));
        self.only_part().context.observe().journals = Some(Journals::of_flow(flow, ends));
    }

    /// Finds, in one part, the path of the time of an iteration of a job, by number from zero; `None` for its slowest one. To be called
    /// before [`Simulation::run_for_path`].
    ///
    /// # Panics
    /// There is no such job, or several parts.
    pub fn watch_job(&mut self, job: u32, iteration: Option<u32>) {
        let log = PathLog::new(job, &self.network.jobs[job as usize], iteration);
        self.only_part().hosts.ranks.watch(log);
    }

    /// Runs until the path of [`Simulation::watch_job`] is known; `None` where no such iteration is over when the run ends.
    pub fn run_for_path(mut self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Option<JobPath>, Stopped> {
        self.advance_to_end(progress)?;
        Ok(self.only_part().hosts.ranks.take_path())
    }

    /// Explains, in one part, the time of the messages of a path, in the order of time; to be called before the run. The run ends when
    /// they have arrived: [`Trace::messages`].
    ///
    /// # Panics
    /// There are several parts.
    pub fn why_messages(&mut self, wanted: &[Wanted]) {
        let journals = Journals::of_messages(wanted, |flow| flow_ends(&self.network, FlowId(flow)));
        self.only_part().context.observe().journals = Some(journals);
    }

    /// Its only part.
    fn only_part(&mut self) -> &mut Part {
        let [part] = &mut self.parts[..] else { panic!("in one part") };
        part
    }

    /// Limits the memory of packets in queues and on links to this many bytes, instead of the machine's.
    pub fn limit_memory(&mut self, bytes: u64) {
        let each = bytes / self.parts.len() as u64;
        for part in &mut self.parts {
            part.context.packets.memory_limit = Memory::Bytes(each);
        }
    }

    /// Number of parts that the network was cut into.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The egress ports (node, neighbour) that the data packets of `flow` leave by, from its source to its destination.
    ///
    /// # Panics
    /// There is no such flow.
    pub fn path_of(&self, flow: u32) -> Vec<(NodeId, NodeId)> {
        let (network, flow) = (&self.network, FlowId(flow));
        let path = network.path(network.source(flow), network.destination(flow), flow);
        let ends = path.into_iter().flatten().map(|p| network.ends[p]);
        ends.map(|end| (end.node, end.peer_node)).collect()
    }

    /// As [`Simulation::path_of`], of the messages from rank `from` of a job to rank `to`, by the first of their interfaces; `None` where
    /// there are none between hosts.
    pub fn path_of_pair(&self, job: u32, from: u32, to: u32) -> Option<Vec<(NodeId, NodeId)>> {
        self.network.pairs.between(job, from, to).next().map(|flow| self.path_of(flow.0))
    }

    /// The neighbours of the switch `node` among which it spreads flows to the host `destination` (equal-cost multi-path), in the
    /// order of its ports; of a host with several ports the nearest counts. Empty where there is no path, and for nodes that are no
    /// switch and destinations that are no host.
    pub fn next_hops(&self, node: NodeId, destination: NodeId) -> Vec<NodeId> {
        let network = &self.network;
        match (network.nodes.get(node as usize), network.nodes.get(destination as usize)) {
            (Some(NodeRef::Switch(switch)), Some(NodeRef::Host(host))) => {
                match network.detours.get(&(*switch, *host)) {
                    Some(detour) => vec![network.ends[*detour].peer_node],
                    None => {
                        let addresses =
                            (0..network.nics.count(*host)).map(|port| network.nics.address(*host, port as u8));
                        let groups = addresses.flat_map(|address| network.routes[0].group(*switch, address));
                        let ports: BTreeSet<PortNumber> = groups.collect();
                        let next: Vec<NodeId> = ports.into_iter().map(|p| network.ends[p].peer_node).collect();
                        // A port of the host at this switch is the nearest one.
                        let here = next.contains(&destination);
                        next.into_iter().filter(|node| !here || *node == destination).collect()
                    }
                }
            }
            _ => Vec::new(),
        }
    }

    /// Up to when to run next: to the end, or where pauses are to be examined; `None` when nothing is left to happen.
    fn next_border(&mut self) -> Option<Time> {
        let next = self.parts.iter_mut().map(LogicalProcess::next_event).min()?;
        if next == Time::NEVER || next > self.network.end {
            return None;
        }
        if !self.pauses {
            return Some(self.network.end);
        }
        let watches = next.since(Time::ZERO).as_ps() / WATCH_INTERVAL.as_ps() + 1;
        Some(Time::ZERO.saturating_add(WATCH_INTERVAL * watches))
    }

    /// Executes all events before `border`; those at the end of the simulation, too.
    fn advance(&mut self, border: Time, progress: &mut dyn FnMut(Progress) -> bool) -> Result<(), Stopped> {
        let end = self.network.end;
        let last = if border == end { end } else { border - Delta::from_ps(1) };
        let gauges: Vec<Arc<Gauge>> = self.parts.iter().map(|part| part.gauge.clone()).collect();
        let packet_hops = || gauges.iter().map(|g| g.packet_hops.load(Ordering::Relaxed)).sum();
        let memory = self.parts.first().map_or(Memory::Bytes(u64::MAX), |part| part.context.packets.memory_limit);
        let used_up = Cell::new(false);
        let exhausted = || used_up.get() || gauges.iter().any(|g| g.exhausted.load(Ordering::Relaxed));
        let stands_still = || gauges.iter().any(|g| g.stands_still.load(Ordering::Relaxed));
        let goes_on = || !exhausted() && !stands_still();
        // Steps that take longer than a short window: a call of the caller, who may be an interpreter, and a look at the machine's memory.
        let (network, hops_of_jobs) = (&self.network, &self.hops_of_jobs);
        let mut ask = |now| {
            used_up.set(memory.is_used_up());
            let packet_hops = packet_hops();
            let all = *hops_of_jobs.get_or_init(|| network.hops_of_jobs());
            let end = all.map_or(end, |all| end_of_jobs(now, end, packet_hops, all));
            progress(Progress { now, end, packet_hops }) && goes_on()
        };
        let stopped = match &mut self.parts[..] {
            [part] => loop {
                if !part.step(last, &mut self.events_left) {
                    break false;
                }
                self.events_left = EVENTS;
                part.stands_still();
                part.show();
                if part.knows_why() {
                    break false;
                }
                if !ask(part.context.now) {
                    break true;
                }
            },
            parts => {
                let window = self.lookahead.min(MAX_WINDOW);
                let until = last.saturating_add(Delta::from_ps(1));
                let pace = &mut self.pace;
                let mut watch = |now| if pace.is_due(Instant::now()) { ask(now) } else { goes_on() };
                run_conservatively(parts, window, until, &mut self.lanes, &mut watch).is_err()
            }
        };
        // Also where nothing was left to happen before the next look.
        if let Some(livelock) = self.parts.iter().find_map(|part| part.context.livelock) {
            return Err(Stopped::Livelock(livelock));
        }
        match stopped {
            false => Ok(()),
            true if exhausted() => Err(Stopped::OutOfMemory(self.out_of_memory())),
            true => Err(Stopped::Cancelled),
        }
    }

    fn out_of_memory(&self) -> OutOfMemory {
        let sum = |f: &dyn Fn(&Part) -> u64| self.parts.iter().map(f).sum();
        OutOfMemory {
            now: self.parts.iter().map(|part| part.context.now).max().unwrap_or(Time::ZERO),
            packets: sum(&|part| part.context.packets.live_packets() as u64),
            bytes: sum(&|part| part.context.packets.memory()),
        }
    }

    /// Builds the result as of the end of the specification, and checks its invariants.
    fn finish(mut self) -> RunResult {
        let last = self.parts.iter().map(|part| part.context.now).max().unwrap_or(Time::ZERO);
        let end = if self.network.end == Time::NEVER { last } else { self.network.end };
        let interval = self.parts.first().map_or(Delta::ZERO, |part| part.recorder.interval());
        let last_sample = if self.network.end == Time::NEVER { final_sample(interval, last) } else { end };
        for part in &mut self.parts {
            part.observe(last_sample.max(end).saturating_add(Delta::from_ps(1)), Time::ZERO);
            part.catch_up(end);
            // Packets that receivers keep for an ACK have been delivered.
            part.hosts.receivers.drop_held(&mut part.context);
        }
        self.watch.look(&self.parts, end, Delta::ZERO);
        self.result(end, last_sample)
    }

    /// The result as of `end`, with samples up to `last_sample`.
    fn result(mut self, end: Time, last_sample: Time) -> RunResult {
        let mut flows = self.flow_rows(end);
        let queue_pairs = {
            let network = &self.network;
            network.pairs.rows(flows.split_off(network.pairs.first_flow()), |flow| network.flows.size(flow))
        };
        let network = &self.network;
        let mut ranks: Vec<_> = self.parts.iter_mut().flat_map(|p| p.hosts.ranks.rows(network)).collect();
        ranks.sort_by_key(|row| (row.job, row.rank, row.iteration));
        let connections = &self.parts[0].hosts.senders.connections;
        let capped = network.capped_rows(&flows, &|flow| connections.number(flow));
        let ports = self.port_rows(end);
        let totals = self.totals(end);
        let days = self.day_rows(end);
        let queues = self.queue_rows();
        let invariants = invariants::check_all(&self.network, &self.parts, &totals, &ports, &days);
        let most = self.parts.first().map_or(0, |part| part.recorder.worst_count());
        let (mut pauses, mut samples) = (Vec::new(), Vec::new());
        let (mut starts, mut limits) = (Starts::default(), Limits::default());
        for part in self.parts {
            starts.add(&part.context.counters.starts);
            limits.add(&part.context.counters.limits);
            pauses.extend(part.context.pauses.into_rows(part.context.numbers.table(), end));
            samples.push(part.samples);
        }
        pauses.sort_unstable_by_key(|row| (row.port, row.cause, row.root));
        let watched = samples.iter_mut().flat_map(|samples: &mut Samples| std::mem::take(&mut samples.watched));
        let worst_series = worst::series(watched, &ports, most, last_sample);
        let (flow_series, port_series, queue_series) = join(samples, last_sample);
        let deadlocks = self.watch.deadlocks;
        let ports = ports.into_rows();
        RunResult {
            gear: Gear::Packets,
            flows,
            ports,
            pauses,
            days,
            queues,
            deadlocks,
            flow_series,
            port_series,
            worst_series,
            queue_series,
            starts: starts.rows(),
            limits: limits.rows(),
            capped,
            ranks,
            queue_pairs,
            totals,
            invariants,
        }
    }

    /// One row per flow, whether it has begun or not.
    fn flow_rows(&mut self, end: Time) -> Vec<FlowRow> {
        let mut records: Vec<FlowRecord> = Vec::new();
        let mut received: BTreeMap<FlowId, Time> = BTreeMap::new();
        for part in &mut self.parts {
            records.append(&mut part.context.counters.records);
            records.extend(part.hosts.senders.final_records(&self.network, &mut part.context.counters, end));
            for (flow, at) in part.context.counters.received.drain(..) {
                received.entry(flow).or_insert(at);
            }
        }
        records.sort_unstable_by_key(|record| record.flow);
        let mut begun = records.iter().peekable();
        let row = |flow: FlowId| {
            let own = begun.next_if(|record| record.flow == flow).copied().unwrap_or(FlowRecord::new(flow));
            self.flow_row(&own, received.get(&flow).copied())
        };
        (0..self.network.flows.len()).map(FlowId::new).map(row).collect()
    }

    fn flow_row(&self, record: &FlowRecord, received: Option<Time>) -> FlowRow {
        let (network, flow) = (&self.network, record.flow);
        // Connections that outlive flows are in one part.
        let number = self.parts[0].hosts.senders.connections.number(flow);
        let (here, there) = (network.source(flow), network.destination(flow));
        let [here, there] = [here, there].map(|host| &self.parts[self.part_of_host[host]].hosts);
        let unbegun = network.flow_row(flow, number);
        let sum = |f: &dyn Fn(&Part) -> u64| self.parts.iter().map(f).sum();
        FlowRow {
            start: here.dependent_flows.begin(flow).unwrap_or(unbegun.start),
            finish: (record.finish != Time::NEVER).then_some(record.finish),
            delivered: Bytes::new(there.delivered_bytes(network, flow)),
            received,
            counts: record.counts,
            victim_packets: sum(&|part| part.context.counters.victims(flow)),
            dropped: sum(&|part| part.context.counters.dropped_packets(flow)),
            gave_up: record.gave_up,
            first_limit: record.first_limit,
            ..unbegun
        }
    }

    /// One row per port: joins the counters of its owner's part with the arrivals in its neighbour's part.
    fn port_rows(&mut self, end: Time) -> Table<PortNumber, PortRow> {
        let connections = &self.parts[0].hosts.senders.connections;
        let offered = self.network.offered_load(&|flow| connections.number(flow));
        let mut rows: Table<PortNumber, Option<PortRow>> = offered.rows().map(|_| None).collect();
        let mut elsewhere = Vec::new();
        for cx in self.parts.iter_mut().map(|part| &mut part.context) {
            for (p, port) in cx.ports.iter() {
                let stats = &mut cx.stats[p];
                if port.owner == Owner::Elsewhere {
                    elsewhere.push((cx.numbers[p], stats.row.drops));
                    continue;
                }
                stats.integrate(end, port.data_queue);
                let mut row = stats.row.clone();
                row.paused = stats.pause_time(end);
                row.tx = Bytes::new(port.tx_bytes);
                row.offered = offered[cx.numbers[p]];
                row.packets = port.tx_packets();
                rows[cx.numbers[p]] = Some(row);
            }
        }
        let mut rows: Table<PortNumber, PortRow> =
            rows.into_rows().into_iter().map(|row| row.expect("each port is in one part")).collect();
        for (port, seen) in elsewhere {
            rows[port].drops.add(&seen);
        }
        rows
    }

    /// The queues of switches that schedule.
    fn queue_rows(&self) -> Vec<QueueRow> {
        let mut rows = Vec::new();
        for cx in self.parts.iter().map(|part| &part.context) {
            for (p, port) in cx.ports.iter().filter(|(_, port)| port.discipline.exists()) {
                let number = cx.numbers[p];
                let row = |(queue, of): (QueueName, &Queue)| {
                    let (max_bytes, full, expired) = (Bytes::new(of.max_bytes), of.dropped, of.expired);
                    QueueRow { port: number.0, queue, max_bytes, full, expired }
                };
                rows.extend(name_queues(&self.network, number, &cx.disciplines[port.discipline]).into_iter().map(row));
            }
        }
        rows.sort_by_key(|row| (row.port, row.queue));
        rows
    }

    /// Returns the traffic of the circuits until `end`.
    fn day_rows(&self, end: Time) -> Vec<DayRow> {
        let mut rows = Vec::new();
        for switch in self.parts.iter().flat_map(|part| part.circuits.rows()) {
            let Circuits { schedule, ports, .. } = &*switch.circuits;
            let own = |port: u32| &self.network.ends[ports[port as usize]];
            rows.extend(switch.days(end).map(|(slot, from, to, tx)| {
                let (start, over) = schedule.day(slot);
                let (circuit, from, to) = (own(to).node, own(from).peer_node, own(to).peer_node);
                DayRow { circuit, from, to, slot, start, day: over - start, tx }
            }));
        }
        rows.sort_by_key(|row| row.circuit);
        rows
    }

    fn totals(&self, end: Time) -> Totals {
        let mut totals = Totals { end, ..Totals::default() };
        let (mut live, mut frames, mut memory) = (0, 0, 0);
        let mut samplers: Vec<InFlightSampler> = Vec::new();
        for cx in self.parts.iter().map(|part| &part.context) {
            totals.add(&cx.counters.totals);
            live += cx.packets.live_packets() as u64;
            memory += cx.packets.max_memory() as u64;
            frames += cx.counters.frames_sent;
            samplers.push(cx.counters.in_flight.clone());
        }
        // PFC frames belong to links, not to the end-to-end account.
        let received: u64 = self.parts.iter().map(|part| part.context.counters.frames_received).sum();
        totals.in_flight = live - (frames - received);
        totals.max_in_flight = InFlightSampler::max_in_flight(&samplers, end, live);
        totals.packet_memory = memory;
        totals
    }
}
