//! The simulation: its state, its event loop, what it gives back.
//!
//! Events, in the order in which they happen at equal times (each kind by the number of its port or host): transmissions,
//! arrivals, flow starts and stops, timers, agents' timers, samples, the watch for deadlock. That order depends on the scenario alone.

use crate::agent::Agent;
use crate::connections::Connections;
use crate::flows::{Flows, Outcome};
use crate::host::{Agenda, Host};
use crate::memory::{Memory, OutOfMemory};
use crate::packet::{NIL, PacketKind, Packets};
use crate::path;
use crate::pauses::Pauses;
use crate::port::{NodeRef, Port, PortStats};
use crate::receiver::ReceiverState;
use crate::result::{FlowRow, Invariant, RunResult, Totals};
use crate::routing::Routes;
use crate::sample::Recorder;
use crate::sender::{Endpoint, GoBackN, Plan, SenderState};
use crate::slab::Slab;
use crate::spec::{FlowSpec, NetworkSpec, NodeSpec, TransportKind, TransportSpec};
use crate::switch::{Ingress, Switch};
use crate::tcp::TcpSender;
use farloop_cc::{AnyParams, Effect, FlowInfo, IntRecord, Sender};
use farloop_engine::{Calendar, LogicalProcess};
use farloop_tcp::Config;
use farloop_units::{Bytes, Delta, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A flow has no state yet.
pub(crate) const NONE: u32 = NIL;
/// A flow has no state any more.
pub(crate) const DONE: u32 = NIL - 1;
/// Slots from here on are no slots.
pub(crate) const GONE: u32 = DONE;

/// Sizes of an algorithm's packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Payload of a full packet.
    pub mss: u16,
    /// A full packet on the wire.
    pub packet: u16,
    /// An ACK or signal on the wire.
    pub ack_wire: u16,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Where the simulation ends at the latest.
    pub end: Time,
    /// Packets that arrived at a node so far.
    pub packet_hops: u64,
}

/// Why a run came to no end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The caller asked for it.
    Cancelled,
    /// More packets are in flight than memory has room for.
    OutOfMemory(OutOfMemory),
}

/// A network in motion. Build it with [`Simulation::new`], move it with [`Simulation::run`].
pub struct Simulation {
    pub(crate) now: Time,
    pub(crate) end: Time,
    pub(crate) calendar: Calendar,
    pub(crate) packets: Packets,
    pub(crate) ports: Vec<Port>,
    pub(crate) stats: Vec<PortStats>,
    pub(crate) ingress: Vec<Ingress>,
    pub(crate) nodes: Vec<NodeRef>,
    pub(crate) node_specs: Vec<NodeSpec>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) routes: Routes,
    pub(crate) transport: TransportSpec,
    /// Hosts have delay noise.
    pub(crate) noisy: bool,
    pub(crate) algorithms: Vec<AnyParams>,
    pub(crate) formats: Vec<Format>,
    /// What the endpoints of each algorithm's flows are set to, where they are TCP.
    pub(crate) tcp_configs: Vec<Arc<Config>>,
    pub(crate) intra_rtt: Delta,
    pub(crate) flows: Flows,
    pub(crate) connections: Connections,
    /// By the number of the flow that packets carry: of a persistent connection the one that opened it.
    pub(crate) sender_of: Vec<u32>,
    pub(crate) receiver_of: Vec<u32>,
    pub(crate) senders: Slab<SenderState>,
    pub(crate) receivers: Slab<ReceiverState>,
    /// Of the flows that are over, in that order.
    pub(crate) outcomes: Vec<Outcome>,
    /// Packets dropped although they entered by a port with PFC, by that port.
    pub(crate) lossless_drops: Vec<u64>,
    pub(crate) pauses: Pauses,
    /// PFC frames in queues and on links.
    pub(crate) frames_in_flight: u64,
    pub(crate) recorder: Recorder,
    pub(crate) totals: Totals,
    pub(crate) effects: Vec<Effect>,
    pub(crate) scratch: Vec<IntRecord>,
    /// Event ids: transmissions are 0.., then these.
    pub(crate) arrival_base: u32,
    /// Slow start thresholds that connections left behind, by source and destination node.
    pub(crate) remembered: BTreeMap<(u32, u32), Bytes>,
    pub(crate) agenda_base: u32,
    pub(crate) timer_base: u32,
    pub(crate) agent_base: u32,
    pub(crate) sample_event: u32,
    pub(crate) watch_event: u32,
}

impl Simulation {
    /// Runs to the end and gives the result. `progress` is called every few hundred thousand events; it returns `false` to cancel.
    // A function of its own, so that the guard of instruction counts (scripts/guard.py) can tell it from building the network.
    #[inline(never)]
    pub fn run(mut self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<RunResult, Stopped> {
        while self.step(self.end, 400_000) {
            if !progress(Progress { now: self.now, end: self.end, packet_hops: self.totals.packet_hops }) {
                return Err(Stopped::Cancelled);
            }
            if !self.packets.fit() {
                let (packets, bytes) = (self.packets.live() as u64, self.packets.memory());
                return Err(Stopped::OutOfMemory(OutOfMemory { now: self.now, packets, bytes }));
            }
        }
        Ok(self.finish())
    }

    /// Packets in queues and on links may take this many bytes of memory, instead of what the machine has.
    pub fn limit_memory(&mut self, bytes: u64) {
        self.packets.memory_limit = Memory::Bytes(bytes);
    }

    /// Executes events before or at `end`, at most `limit` of them; `false` when none is left.
    fn step(&mut self, end: Time, limit: u64) -> bool {
        for _ in 0..limit {
            let Some((time, event)) = self.calendar.peek().filter(|(time, _)| *time <= end) else { return false };
            assert!(time >= self.now, "time runs backwards: {} after {}", time, self.now);
            self.now = time;
            self.totals.events += 1;
            self.execute(event);
        }
        true
    }

    #[inline]
    fn execute(&mut self, event: u32) {
        if event >= self.arrival_base && event < self.agenda_base {
            self.arrive(event - self.arrival_base);
        } else if event < self.arrival_base {
            self.ports[event as usize].armed_at = Time::NEVER;
            match self.ports[event as usize].owner {
                NodeRef::Switch(_) => {
                    self.transmit_switch(event);
                    if self.ports[event as usize].armed_at == Time::NEVER {
                        self.calendar.cancel(event);
                    }
                }
                NodeRef::Host(h) => {
                    self.transmit_host(h, event);
                    if self.ports[event as usize].armed_at == Time::NEVER {
                        self.calendar.cancel(event);
                    }
                }
            }
        } else if event < self.timer_base {
            self.next_on_agenda(event - self.agenda_base);
        } else if event < self.agent_base {
            self.host_timers(event - self.timer_base);
        } else if event < self.sample_event {
            self.agent_timer(event - self.agent_base);
        } else if event == self.sample_event {
            self.sample();
        } else {
            self.watch_pauses();
        }
    }

    /// The first packet on the link of port `p` arrives at its other end.
    #[inline]
    fn arrive(&mut self, p: u32) {
        let port = &mut self.ports[p as usize];
        let (slot, next) = port.land(&mut self.packets);
        match next {
            Some(next) => self.calendar.set(self.arrival_base + p, next),
            None => self.calendar.cancel(self.arrival_base + p),
        }
        let (peer, unreliable) = (port.peer, port.unreliable);
        if unreliable && self.vanishes(p, slot) {
            return;
        }
        self.totals.packet_hops += 1;
        // Ports are numbered in pairs: the other end of this link is the receiving node's own port.
        let own = p ^ 1;
        match peer {
            NodeRef::Switch(s) => self.switch_receive(s, own, slot),
            NodeRef::Host(h) => self.host_receive(h, own, slot),
        }
    }

    /// Draws whether the link of port `p` loses or damages the packet. PFC frames are exempt: real ones are refreshed.
    fn vanishes(&mut self, p: u32, slot: u32) -> bool {
        if matches!(self.packets[slot].kind, PacketKind::Xoff | PacketKind::Xon) {
            return false;
        }
        let stats = &mut self.stats[p as usize];
        let u = stats.random.uniform();
        if u >= stats.loss + stats.corruption {
            return false;
        }
        if u < stats.loss {
            stats.row.lost += 1;
            self.totals.lost += 1;
        } else {
            stats.row.corrupted += 1;
            self.totals.corrupted += 1;
        }
        self.discard(slot);
        true
    }

    /// Forgets a packet that will not arrive.
    pub(crate) fn discard(&mut self, slot: u32) {
        let packet = &self.packets[slot];
        if packet.kind == PacketKind::Data {
            let sender = self.sender_of[packet.flow as usize];
            if sender < GONE {
                self.senders[sender].outcome.dropped += 1;
            }
        }
        self.packets.remove(slot);
    }

    /// Puts a packet into its queue at port `p`, and keeps account of the data queue.
    #[inline]
    pub(crate) fn enqueue(&mut self, p: u32, slot: u32) {
        let (port, stats) = (&mut self.ports[p as usize], &mut self.stats[p as usize]);
        let before = port.data_queue;
        port.enqueue(&mut self.packets, slot);
        if port.data_queue != before {
            stats.integrate(self.now, before);
            stats.note_queue(port.data_queue);
        }
    }

    /// Something may have become ready at port `p`.
    pub(crate) fn kick(&mut self, p: u32) {
        match self.ports[p as usize].owner {
            NodeRef::Switch(_) => self.kick_switch_port(p),
            NodeRef::Host(h) => self.kick_host(h, p),
        }
    }

    /// Has port `p` transmit at `at` ([`Time::NEVER`]: not).
    #[inline]
    pub(crate) fn arm(&mut self, p: u32, at: Time) {
        let port = &mut self.ports[p as usize];
        if port.armed_at == at {
            return;
        }
        port.armed_at = at;
        if at == Time::NEVER {
            self.calendar.cancel(p);
        } else {
            self.calendar.set(p, at);
        }
    }

    /// The next start or stop on a host's agenda.
    fn next_on_agenda(&mut self, host: u32) {
        let Some(entry) = self.hosts[host as usize].agenda.pop() else { return };
        match self.hosts[host as usize].agenda.last() {
            Some(next) => self.calendar.set(self.agenda_base + host, self.agenda_time(*next)),
            None => self.calendar.cancel(self.agenda_base + host),
        }
        if entry.is_stop() {
            self.stop_flow(entry.flow());
        } else {
            self.start_flow(host, entry.flow());
        }
    }

    /// When an entry of an agenda is due.
    pub(crate) fn agenda_time(&self, entry: Agenda) -> Time {
        let flow = self.flows.get(entry.flow());
        if entry.is_stop() { flow.stop } else { flow.start }
    }

    fn start_flow(&mut self, host: u32, flow: u32) {
        let spec = self.flows.get(flow);
        if let Some(slot) = self.connections.take(flow, &spec) {
            return self.next_request(slot, flow);
        }
        let info = self.flow_info(flow);
        let cc = self.algorithms[spec.algorithm as usize].sender(&info);
        let limit = spec.size.get();
        let endpoint = match self.transport.kind {
            TransportKind::Rdma if self.crosses(flow) => Endpoint::Rdma(GoBackN::new(self.transport.rto_cross)),
            TransportKind::Rdma => Endpoint::Rdma(GoBackN::new(self.transport.rto_intra)),
            TransportKind::Tcp => {
                let config = self.tcp_configs[spec.algorithm as usize].clone();
                let wire_per_payload = info.packet.as_f64() / info.mss.as_f64();
                let even = self.algorithms[spec.algorithm as usize].needs().even_pacing;
                let tcp = TcpSender::new(config, &self.transport.tcp, wire_per_payload, even);
                Endpoint::Tcp(Box::new(tcp))
            }
        };
        let plan = Plan { host, dst: self.host_of(spec.dst), class: spec.class, limit, endpoint };
        let slot = self.senders.insert(SenderState::new(plan, &info, flow, cc));
        self.sender_of[flow as usize] = slot;
        self.senders[slot].opened = self.connections.open(flow);
        if self.transport.kind == TransportKind::Tcp {
            return self.tcp_open(slot, info.base_rtt);
        }
        self.with_sender(slot, |cc, ctx| cc.on_start(ctx));
        self.reschedule(slot);
    }

    /// The flow's application has no more to send.
    fn stop_flow(&mut self, flow: u32) {
        if let Some(slot) = self.sender_now(flow) {
            self.stop_sender(slot);
        }
    }

    /// Whether a flow leaves its datacenter.
    pub(crate) fn crosses(&self, flow: u32) -> bool {
        let spec = self.flows.get(flow);
        let datacenter = |node: u32| self.node_specs[node as usize].datacenter;
        datacenter(spec.src).is_none() || datacenter(spec.src) != datacenter(spec.dst)
    }

    /// Index of the host at `node`.
    pub(crate) fn host_of(&self, node: u32) -> u32 {
        match self.nodes[node as usize] {
            NodeRef::Host(h) => h,
            NodeRef::Switch(_) => unreachable!("flows end at hosts; checked when the network is built"),
        }
    }

    /// Egress ports from host to host, in order.
    pub(crate) fn path(&self, src: u32, dst: u32, flow: u32) -> Vec<&Port> {
        self.path_ports(src, dst, flow).into_iter().map(|p| &self.ports[p as usize]).collect()
    }

    /// Numbers of the egress ports from host to host, in order.
    pub(crate) fn path_ports(&self, src: u32, dst: u32, flow: u32) -> Vec<u32> {
        let mut port = self.hosts[src as usize].port;
        let mut path = vec![port];
        while let NodeRef::Switch(s) = self.ports[port as usize].peer {
            port = self.routes.next(s, dst, flow).expect("paths are checked when the network is built");
            path.push(port);
        }
        path
    }

    /// What the flow's algorithm is told.
    pub(crate) fn flow_info(&self, flow: u32) -> FlowInfo {
        let spec = self.flows.get(flow);
        let format = self.formats[spec.algorithm as usize];
        let packets = self.transport.tcp.initial_cwnd.filter(|_| self.transport.kind == TransportKind::Tcp);
        let default_cwnd = packets
            .filter(|_| spec.initial_rate.is_none())
            .map(|packets| Bytes::new(u64::from(packets) * u64::from(format.mss)));
        let line_rate = self.ports[self.hosts[self.host_of(spec.src) as usize].port as usize].rate;
        FlowInfo {
            base_rtt: self.base_rtt(flow),
            intra_rtt: self.intra_rtt,
            line_rate,
            initial_rate: spec.initial_rate.map_or(line_rate, |r| r.min(line_rate)),
            initial_cwnd: spec.initial_cwnd.or(default_cwnd),
            ssthresh: self.remembered.get(&(spec.src, spec.dst)).copied(),
            mss: Bytes::new(u64::from(format.mss)),
            packet: Bytes::new(u64::from(format.packet)),
        }
    }

    /// Round-trip time of a full packet and its ACK in the empty network.
    pub(crate) fn base_rtt(&self, flow: u32) -> Delta {
        let spec = self.flows.get(flow);
        let (src, dst) = (self.host_of(spec.src), self.host_of(spec.dst));
        let format = self.formats[spec.algorithm as usize];
        let number = self.connections.number(flow);
        path::base_rtt(&self.path(src, dst, number), &self.path(dst, src, number), format.packet, format.ack_wire)
    }

    /// Completion time of the flow alone in the empty network, a handshake included; zero for unlimited flows.
    fn ideal_completion(&self, flow: u32) -> Delta {
        let spec = self.flows.get(flow);
        if spec.size == Bytes::MAX {
            return Delta::ZERO;
        }
        let format = self.formats[spec.algorithm as usize];
        let (full, rest) = path::split(spec.size, format.mss);
        let last = if rest > 0 { rest + (format.packet - format.mss) } else { 0 };
        let (src, dst) = (self.host_of(spec.src), self.host_of(spec.dst));
        let number = self.connections.number(flow);
        let path = self.path(src, dst, number);
        let opens = self.transport.kind == TransportKind::Tcp && self.transport.tcp.handshake && number == flow;
        let handshake = if opens {
            path::base_rtt(&path, &self.path(dst, src, number), format.ack_wire, format.ack_wire)
        } else {
            Delta::ZERO
        };
        path::plus(handshake, path::ideal_time(&path, full, format.packet, last))
    }

    /// What the simulation gives back, as of the end of its specification, and the checks of its invariants. For who moves
    /// it as a [`LogicalProcess`]; [`Simulation::run`] does both.
    pub fn finish(mut self) -> RunResult {
        let end = if self.end == Time::NEVER { self.now } else { self.end };
        self.now = end;
        // What receivers keep for an ACK has been delivered.
        let held: Vec<u32> = self.receivers.iter().filter_map(|r| r.tcp.as_ref()).map(|tcp| tcp.held()).collect();
        for slot in held.into_iter().filter(|slot| *slot != NIL) {
            self.packets.remove(slot);
        }
        let flows = self.flow_rows();
        let mut ports = Vec::with_capacity(self.ports.len());
        let offered = self.offered();
        for ((port, stats), offered) in self.ports.iter().zip(&mut self.stats).zip(offered) {
            stats.integrate(end, port.data_queue);
            let mut row = stats.row.clone();
            row.paused = stats.paused_until(end);
            row.tx = Bytes::new(port.tx_bytes);
            row.offered = offered;
            row.packets = port.tx_packets;
            ports.push(row);
        }
        let mut totals = self.totals;
        totals.end = end;
        // PFC frames belong to links, not to the end-to-end ledger.
        totals.in_flight = self.packets.live() as u64 - self.frames_in_flight;
        totals.max_in_flight = self.packets.max_live() as u64;
        totals.bytes_per_packet = (self.packets.max_memory() as u64).checked_div(totals.max_in_flight).unwrap_or(0);
        let invariants = self.invariants(&totals, &ports);
        self.find_deadlocks(Delta::ZERO);
        let (pauses, deadlocks) = self.pauses.into_results(end);
        RunResult {
            flows,
            ports,
            pauses,
            deadlocks,
            flow_series: self.recorder.flow_series,
            port_series: self.recorder.port_series,
            totals,
            invariants,
        }
    }

    /// One row per flow, whether it has begun or not.
    fn flow_rows(&mut self) -> Vec<FlowRow> {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        outcomes.extend(self.senders.iter().filter(|s| !s.idle).map(|s| s.outcome));
        outcomes.sort_unstable_by_key(|o| o.flow);
        let mut begun = outcomes.iter().peekable();
        let row = |(flow, spec): (u32, FlowSpec)| {
            let outcome = begun.next_if(|o| o.flow == flow).copied().unwrap_or(Outcome::new(flow));
            let delivered = Bytes::new(self.delivered(flow));
            outcome.row(spec.start, delivered, self.ideal_completion(flow), self.base_rtt(flow))
        };
        (0..).zip(self.flows.iter()).map(row).collect()
    }

    fn invariants(&self, totals: &Totals, ports: &[crate::result::PortRow]) -> Vec<Invariant> {
        let dropped =
            totals.dropped_buffer + totals.dropped_limit + totals.dropped_agent + totals.lost + totals.corrupted;
        let accounted = totals.delivered + dropped + totals.in_flight;
        let conservation = Invariant {
            name: "conservation",
            ok: totals.injected == accounted,
            detail: format!(
                "{} packets injected = {} delivered + {dropped} dropped + {} in flight",
                totals.injected, totals.delivered, totals.in_flight
            ),
        };
        let lossless = self.lossless_drops.iter().enumerate().filter(|(_, n)| **n > 0);
        let worst: Vec<String> = lossless
            .map(|(p, n)| {
                let (node, peer) = (&ports[p].node, &ports[p].peer);
                let name = |n: &u32| self.node_specs[*n as usize].name.clone();
                format!("{n} packets that entered {} from {}", name(node), name(peer))
            })
            .collect();
        let lossless = Invariant {
            name: "lossless",
            ok: worst.is_empty(),
            detail: if worst.is_empty() {
                "no drop where priority flow control holds".into()
            } else {
                format!("dropped for lack of headroom: {}", worst.join(", "))
            },
        };
        let over: Vec<String> = self
            .ports
            .iter()
            .zip(ports)
            .filter(|(port, _)| {
                // Bytes whose transmission began by the end, less the packet still on the transmitter.
                let allowed = port.rate.bytes_in(totals.end.since(Time::ZERO));
                Bytes::new(port.tx_bytes) > allowed + Bytes::new(u64::from(u16::MAX))
            })
            .map(|(_, row)| format!("{} to {}", row.node, row.peer))
            .collect();
        let line_rate = Invariant {
            name: "line rate",
            ok: over.is_empty(),
            detail: if over.is_empty() { "no link above its rate".into() } else { over.join(", ") },
        };
        vec![conservation, lossless, line_rate]
    }
}

/// A simulation is one logical process: nothing leaves it.
impl LogicalProcess for Simulation {
    type Mail = ();

    fn next_event(&mut self) -> Time {
        self.calendar.peek().map(|(time, _)| time).filter(|time| *time <= self.end).unwrap_or(Time::NEVER)
    }
    fn run_until(&mut self, end: Time) {
        if end > Time::ZERO {
            let last = (end - Delta::from_ps(1)).min(self.end);
            while self.step(last, u64::MAX) {}
        }
    }
    fn recipients(&self) -> Vec<usize> {
        Vec::new()
    }
    fn post(&mut self, _: usize, (): &mut ()) -> Time {
        Time::NEVER
    }
    fn collect(&mut self, _: usize, (): &mut ()) {}
}

/// Builds and runs `spec` without progress reports.
///
/// # Panics
/// There is not enough memory for its packets.
pub fn simulate(spec: NetworkSpec) -> Result<RunResult, crate::build::BuildError> {
    let simulation = Simulation::new(spec)?;
    Ok(simulation.run(&mut |_| true).unwrap_or_else(|stopped| panic!("{stopped:?}")))
}
