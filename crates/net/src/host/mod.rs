//! Hosts: the way of packets between the link and the endpoints of flows.
//!
//! | file | what |
//! | --- | --- |
//! | here | receives, sends, starts flows, fires timers |
//! | [`nic`] | the next flow to send, with [`paced`] and [`send_order`] |
//! | [`agenda`] | starts and stops of flows |
//! | [`sender`] with [`sender_state`], [`receiver`] | the two ends of flows, and the events that algorithms receive |
//! | [`account`], [`accounting`] | the limit of a flow, and its time under each |
//! | [`endpoint`], [`rdma`], [`tcp`], [`multipath`] | repair of losses: one contract, three transports |
//! | [`host_context`], [`timers`], [`slab`] | state that the endpoints of a host share; states that come and go |
//! | [`credit`] | grants of a receiving host to the flows that arrive there |
//! | [`connections`], [`dependent_flows`] | TCP connections that outlive their flows; flows that begin when others are over |
//! | [`ranks`] | training jobs: ranks, and messages in queue pairs |
//! | [`noise`], [`stalls`] | delay noise; times in which a host handles nothing |
//! | [`sprayed_ports`], [`spraying`], [`failover`], [`probing`] | flows that send by whichever NIC port is free; links that fail; probes |
//!
//! PFC frames and control packets go first, then data in the order of the NIC. Calls run down: endpoints never call the host, they return
//! the work that is left for it ([`sender::After`], [`HostContext::outgoing`](host_context::HostContext::outgoing)).

pub(crate) mod account;
pub(crate) mod accounting;
mod agenda;
pub(crate) mod connections;
pub(crate) mod credit;
pub(crate) mod departure;
pub(crate) mod dependent_flows;
pub(crate) mod endpoint;
pub(crate) mod failover;
pub(crate) mod host_context;
pub(crate) mod message_order;
pub(crate) mod multipath;
pub(crate) mod nic;
pub(crate) mod noise;
pub(crate) mod paced;
mod probing;
pub(crate) mod ranks;
pub(crate) mod rdma;
pub(crate) mod receiver;
pub(crate) mod send_order;
pub(crate) mod sender;
pub(crate) mod sender_state;
pub(crate) mod slab;
mod sprayed_ports;
mod spraying;
pub(crate) mod stalls;
pub(crate) mod tcp;
pub(crate) mod thresholds;
pub(crate) mod timers;

use crate::departures;
use crate::ids::{FlowId, HostId, HostNumber, PortId, PortNumber, Slot, Table};
use crate::livelock::{Livelock, MAX_EVENTS, Offender};
use crate::packet::{CUT, DATA, Packet, PacketKind};
use crate::part_context::{PartContext, PauseChange};
use crate::partition::Partition;
pub(crate) use agenda::Agenda;
use dependent_flows::DependentFlows;
use farloop_engine::RandomStream;
use farloop_network::Network;
use farloop_units::{Delta, Time};
use host_context::HostContext;
use nic::Nic;
use noise::Noise;
use ranks::Ranks;
use receiver::{Quietly, Receivers};
use sender::{After, Senders};
use sprayed_ports::SprayedPorts;
use stalls::Stalls;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use timers::{Side, Timers};

/// A host, or one of its NIC ports where it has several. Flows that are pinned to a port live there; the first port of a host has what the
/// host has in common: its agenda, its ranks, the flows that wait for others, and sprayed flows.
pub(crate) struct Host {
    number: HostNumber,
    /// Its egress port; where it sprays, that of the NIC port at which something happens.
    port: PortId,
    /// The link of its port is down.
    is_down: bool,
    /// Its flows may move to other ports of the host.
    moves: bool,
    /// It sprays: each of its ports takes packets of its flows, which live with the first port.
    sprays: bool,
    nic: Nic,
    /// All ports, where it sprays and this is the first.
    ports: Option<Box<SprayedPorts>>,
    host_cx: HostContext,
    /// Starts and stops of its flows, latest first.
    agenda: Vec<Agenda>,
    /// Starts that have come of others' ends.
    late: BinaryHeap<Reverse<(Time, FlowId)>>,
    noise: Noise,
    stalls: Option<Box<Stalls>>,
}

/// The hosts of a part, with the ends of flows that they have.
pub(crate) struct Hosts {
    hosts: Table<HostId, Host>,
    /// Ports of hosts may be late ([`crate::departures`]).
    pub late: bool,
    pub senders: Senders,
    pub receivers: Receivers,
    pub dependent_flows: DependentFlows,
    pub ranks: Ranks,
}

impl Hosts {
    /// Hosts without flows.
    pub fn new(network: &Network, partition: &Partition, part: usize) -> Hosts {
        let flows = network.flows.len();
        Hosts {
            hosts: Table::new(),
            late: true,
            senders: Senders::new(flows, network.persistent, network.nic_order),
            receivers: Receivers::new(flows),
            dependent_flows: DependentFlows::new(network),
            ranks: Ranks::new(network, partition, part),
        }
    }

    /// Adds a host, or the next of its NIC ports, with the randomness of the run with `seed`.
    pub fn add(&mut self, network: &Network, number: HostNumber, port: PortId, seed: u64) -> HostId {
        let id = HostId(self.hosts.len() as u32);
        let first = HostId(id.0 - u32::from(network.nics.place(number)));
        let random = |name, of: HostNumber| RandomStream::new(seed, name, u64::from(of.0));
        // A host stalls with all of its ports.
        let stalls = |spec| Box::new(Stalls::new(spec, random("stalls", network.nics.first(number))));
        self.hosts.push(Host {
            number,
            port,
            is_down: false,
            moves: network.moves_flows() && network.nics.count(number) > 1,
            sprays: network.sprays_from(number),
            nic: Nic::new(network.nic_order),
            ports: None,
            host_cx: HostContext::new(first, id, random("host", number)),
            agenda: Vec::new(),
            late: BinaryHeap::new(),
            noise: Noise::new(random("delay noise", number)),
            stalls: network.stalls.map(stalls),
        });
        if network.sprays_from(number) {
            let ports = self.hosts[first].ports.get_or_insert_default();
            ports.add(port, network.ends[network.host_ports[number]].rate);
        }
        id
    }

    /// The NIC port of the host `first` that sends a flow.
    #[inline]
    fn port_of(cx: &PartContext, first: HostId, flow: FlowId) -> HostId {
        let network = &cx.network;
        if network.nics.are_single() || network.sprays {
            return first;
        }
        let place = if network.moves_flows() { network.place_by(cx.routing, flow) } else { network.flows.port(flow) };
        HostId(first.0 + u32::from(place) % network.nics.count(network.source(flow)) as u32)
    }

    /// Gives a host its starts and stops, in any order, and schedules the first.
    pub fn set_agenda(&mut self, cx: &mut PartContext, host: HostId, mut agenda: Vec<Agenda>) {
        agenda.sort_unstable_by_key(|entry| std::cmp::Reverse((entry.time(&cx.network), *entry)));
        agenda.shrink_to_fit();
        if let Some(first) = agenda.last() {
            // Ranks may begin sooner.
            let at = self.ranks.next(host).into_iter().chain([first.time(&cx.network)]).min();
            at.into_iter().for_each(|at| cx.calendar.set(cx.events.agenda(host), at));
        }
        self.hosts[host].agenda = agenda;
    }

    /// A packet arrived at a host; no PFC frame.
    #[inline(never)]
    pub fn receive<const FAST: bool>(&mut self, cx: &mut PartContext, id: HostId, slot: Slot) {
        let id = if !FAST && self.hosts[id].sprays { self.turn_to(cx, id) } else { id };
        let Hosts { hosts, senders, receivers, .. } = self;
        let host = &mut hosts[id];
        host.catch_up::<FAST>(cx, senders);
        let Packet { kind, dst, .. } = cx.packets[slot];
        debug_assert_eq!(cx.network.host_ports[dst], cx.numbers[host.port], "misrouted packet");
        cx.counters.totals.delivered += 1;
        let home = if FAST || !host.moves { id } else { host.home_of(cx, senders, id, cx.packets[slot].flow) };
        let after = match kind {
            PacketKind::Data | PacketKind::Bare => {
                match if FAST || cx.fast_path.quiet { receivers.take_quietly(cx, slot) } else { Quietly::Not } {
                    Quietly::Answered => return host.reply(cx, senders, slot),
                    Quietly::Kept => return,
                    Quietly::Not => {}
                }
                receivers.on_packet(cx, &mut host.host_cx, slot);
                host.post::<FAST>(cx, senders);
                return;
            }
            PacketKind::Ack | PacketKind::Nack => senders.on_ack(cx, &mut host.host_cx, slot),
            _ if kind == PacketKind::Trimmed => {
                cx.counters.totals.trimmed_delivered += 1;
                receivers.on_packet(cx, &mut host.host_cx, slot);
                host.post::<FAST>(cx, senders);
                return;
            }
            PacketKind::Probe => {
                let after = match probing::is_to_source(&cx.packets[slot]) {
                    true => senders.on_probe(cx, &mut host.host_cx, slot),
                    false => {
                        receivers.on_probe(cx, &mut host.host_cx, slot);
                        After::Nothing
                    }
                };
                host.post::<FAST>(cx, senders);
                after
            }
            _ => senders.on_signal(cx, &mut host.host_cx, slot),
        };
        hosts[home].settle::<FAST>(cx, senders, after);
    }

    /// Keeps a packet that arrives at a host, if the host stalls; returns true if so.
    pub fn keep(&mut self, cx: &mut PartContext, id: HostId, slot: Slot) -> bool {
        let kept = self.hosts[id].stalls.as_mut().and_then(|stalls| stalls.keep(slot, cx.now));
        let Some(until) = kept else { return false };
        let event = cx.events.agenda(id);
        if cx.calendar.time_of(event).is_none_or(|at| at > until) {
            cx.calendar.set(event, until);
        }
        true
    }

    /// Handles the packets that waited for the end of a stall.
    #[inline(never)]
    fn release(&mut self, cx: &mut PartContext, id: HostId) {
        let waited = self.hosts[id].stalls.as_mut().map(|stalls| stalls.take(cx.now)).unwrap_or_default();
        for slot in waited {
            self.receive::<false>(cx, id, slot);
        }
    }

    /// Sends the packets that were due at a host by now, each at its time ([`crate::departures`]).
    pub fn send_due(&mut self, cx: &mut PartContext, host: HostId) {
        if cx.fast_path.hosts {
            return self.hosts[host].send_due::<true>(cx, &mut self.senders);
        }
        let port = if self.hosts[host].sprays { self.turn_to(cx, host) } else { host };
        self.hosts[port].send_due::<false>(cx, &mut self.senders);
    }

    /// Something happens at a NIC port of a host that sprays: the first port, which has its flows, turns to it.
    #[inline(never)]
    fn turn_to(&mut self, cx: &PartContext, port: HostId) -> HostId {
        let place = cx.network.nics.place(self.hosts[port].number);
        let first = HostId(port.0 - u32::from(place));
        self.hosts[first].turn_to(place);
        first
    }

    /// Sends the packets that were due at all hosts by `until`.
    pub fn catch_up_all(&mut self, cx: &mut PartContext, until: Time) {
        if !self.late {
            return;
        }
        let now = std::mem::replace(&mut cx.now, until);
        for host in self.hosts.keys() {
            self.hosts[host].catch_up::<false>(cx, &mut self.senders);
        }
        cx.now = now;
    }

    /// A PFC frame stopped a host, or let it go on.
    pub fn on_pause_change(&mut self, cx: &mut PartContext, host: HostId, change: &PauseChange) {
        let host = if self.hosts[host].sprays { self.turn_to(cx, host) } else { host };
        let Hosts { hosts, senders, .. } = self;
        let host = &mut hosts[host];
        // A sprayed flow is held by no single port.
        if let Some(root) = change.ended.filter(|_| !host.sprays) {
            host.note_held(cx, senders, change.data_class, root);
        }
        host.kick::<false>(cx, senders);
    }

    /// The next start or stop on a host's agenda is due.
    pub fn agenda_due(&mut self, cx: &mut PartContext, id: HostId) {
        if self.hosts[id].stalls.is_some() {
            self.release(cx, id);
        }
        if cx.notices.has_over() {
            self.follow(cx, id);
        }
        if !cx.network.jobs.is_empty() {
            self.run_ranks(cx, id);
        }
        let Hosts { hosts, senders, ranks, .. } = self;
        let host = &mut hosts[id];
        let due = host.take_due(&cx.network, cx.now);
        let event = cx.events.agenda(id);
        let stalled = host.stalls.as_ref().and_then(|stalls| stalls.release_time());
        match host.next_due(&cx.network).into_iter().chain(stalled).chain(ranks.next(id)).min() {
            Some(at) => cx.calendar.set(event, at),
            None => cx.calendar.cancel(event),
        }
        let port = due.as_ref().map_or(id, |entry| Hosts::port_of(cx, id, entry.flow()));
        let host = &mut hosts[port];
        host.catch_up::<false>(cx, senders);
        let Some(entry) = due else { return };
        let after = match entry.is_stop() {
            true => senders.stop(cx, &mut host.host_cx, entry.flow()),
            false => senders.start(cx, &mut host.host_cx, entry.flow()),
        };
        host.settle::<false>(cx, senders, after);
    }

    /// Runs the ranks at a host, and sends the messages that they post.
    #[inline(never)]
    fn run_ranks(&mut self, cx: &mut PartContext, id: HostId) {
        let Hosts { hosts, senders, receivers, ranks, .. } = self;
        hosts[id].catch_up::<false>(cx, senders);
        let mut posted = Vec::new();
        ranks.run(cx, id, receivers, &mut posted);
        for (flow, end) in posted {
            let host = &mut hosts[Hosts::port_of(cx, id, flow)];
            host.catch_up::<false>(cx, senders);
            let after = senders.extend(cx, &mut host.host_cx, flow, end);
            host.settle::<false>(cx, senders, after);
        }
    }

    /// Lets flows begin that waited for those which are over at this host now.
    #[inline(never)]
    fn follow(&mut self, cx: &mut PartContext, id: HostId) {
        let host = &mut self.hosts[id];
        for flow in cx.notices.take_over(id) {
            let begin = &mut |flow, at| host.late.push(Reverse((at, flow)));
            self.dependent_flows.note_over(&cx.network, host.number, flow, cx.now, begin);
        }
    }

    /// The first timers of a host have come due.
    pub fn timers_due(&mut self, cx: &mut PartContext, id: HostId) {
        let Hosts { hosts, senders, receivers, .. } = self;
        hosts[id].turn_to_any();
        hosts[id].catch_up::<false>(cx, senders);
        let mut due = 0;
        while let Some(entry) = hosts[id].host_cx.timers.pop_due(cx.now) {
            let host = &mut hosts[id];
            due += 1;
            if due == MAX_EVENTS {
                // They would be due for ever, within this one event.
                let offender = if entry.flow.exists() { Offender::Flow(entry.flow.0) } else { Offender::Other };
                cx.livelock = Some(Livelock { now: cx.now, offender });
                host.host_cx.timers = Timers::default();
                break;
            }
            match entry.side {
                Side::Sender => {
                    // A flow that has moved leaves its timers where they were set.
                    let home = if host.moves { host.home_of(cx, senders, id, entry.flow) } else { id };
                    let after = senders.on_timer(cx, &mut host.host_cx, entry.flow, entry.which, entry.at);
                    host.post::<false>(cx, senders);
                    hosts[home].settle::<false>(cx, senders, after);
                }
                Side::Receiver => {
                    receivers.on_timer(cx, &mut host.host_cx, entry.flow, entry.which, entry.at);
                    Hosts::move_answers(cx, hosts, id, entry.flow).post::<false>(cx, senders);
                }
                Side::Host => {
                    credit::on_timer(cx, &mut host.host_cx, entry.at);
                    host.post::<false>(cx, senders);
                }
            }
        }
        let event = cx.events.timer(id);
        match hosts[id].host_cx.timers.next() {
            Some(at) => cx.calendar.set(event, at),
            None => cx.calendar.cancel(event),
        }
    }

    /// Brings answers that a timer at the NIC port `id` has caused to the port that their flow uses now, and returns it: the flow may have
    /// moved since the timer was set.
    fn move_answers<'a>(
        cx: &PartContext,
        hosts: &'a mut Table<HostId, Host>,
        id: HostId,
        flow: FlowId,
    ) -> &'a mut Host {
        let place = cx.network.nics.place(hosts[id].number);
        let now = if hosts[id].moves { cx.network.place_by(cx.routing, flow) } else { place };
        let answers = std::mem::take(&mut hosts[id].host_cx.outgoing);
        let home = &mut hosts[HostId(id.0 - u32::from(place) + u32::from(now))];
        debug_assert!(home.host_cx.outgoing.is_empty(), "answers are posted at once");
        home.host_cx.outgoing = answers;
        home
    }

    /// The flow whose timer is the next one of a host.
    pub fn next_timer_of(&self, id: HostId) -> Option<FlowId> {
        self.hosts[id].host_cx.timers.first_entry().map(|entry| entry.flow).filter(|flow| flow.exists())
    }

    /// Payload that reached the destination of a flow (but over multipath endpoints: in order), as far as the hosts of this part know:
    /// those that have its destination.
    pub fn delivered_bytes(&self, network: &Network, flow: FlowId) -> u64 {
        let connections = &self.senders.connections;
        let size = network.flows.size(flow).get();
        if !connections.are_persistent() {
            return self.receivers.received_bytes(flow).unwrap_or(size);
        }
        let Some(number) = connections.connection(flow) else { return 0 };
        if let Some(delivered) = connections.stopped_bytes(flow) {
            return delivered;
        }
        let begin = self.senders.state_now(flow).map(|s| s.begin).or_else(|| connections.abandoned_byte(flow));
        begin.map_or(size, |begin| self.receivers.received_bytes(number).unwrap_or(0).saturating_sub(begin).min(size))
    }
}

impl Host {
    /// When the next start or stop is due.
    fn next_due(&self, network: &Network) -> Option<Time> {
        let planned = self.agenda.last().map(|entry| entry.time(network));
        let late = self.late.peek().map(|Reverse((at, _))| *at);
        planned.into_iter().chain(late).min()
    }

    /// Takes it, if that is now; at one time those first that were planned.
    fn take_due(&mut self, network: &Network, now: Time) -> Option<Agenda> {
        if self.next_due(network).is_none_or(|at| at > now) {
            return None;
        }
        let planned = self.agenda.last().map(|entry| entry.time(network));
        match self.late.peek() {
            Some(Reverse((at, _))) if planned.is_none_or(|planned| *at < planned) => {
                self.late.pop().map(|Reverse((_, flow))| Agenda::start(flow))
            }
            _ => self.agenda.pop(),
        }
    }

    /// Carries out the work that an end of a flow left for the host.
    #[inline]
    fn settle<const FAST: bool>(&mut self, cx: &mut PartContext, senders: &mut Senders, after: After) {
        match after {
            After::Nothing => return,
            After::Changed(sender) => self.nic.place(senders, sender, cx.now),
            After::Over(sender, place, data_class) => senders.leave(&mut self.nic, sender, place, data_class),
        }
        if !FAST && self.sprays {
            return self.kick_all(cx, senders);
        }
        self.kick::<FAST>(cx, senders);
    }

    /// Queues the ACKs and signals that endpoints have written.
    #[inline(always)]
    fn post<const FAST: bool>(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        if !self.host_cx.outgoing.is_empty() {
            self.post_all::<FAST>(cx, senders);
        }
    }

    fn post_all<const FAST: bool>(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        let place = self.host_cx.plane;
        for at in 0..self.host_cx.outgoing.len() {
            let slot = self.host_cx.outgoing[at];
            if FAST {
                self.reply(cx, senders, slot);
                continue;
            }
            if self.sprays {
                self.address_reply(cx, slot, place);
            } else if self.moves {
                let (nics, dst) = (&cx.network.nics, &mut cx.packets[slot].dst);
                *dst = nics.address(nics.first(*dst), nics.place(self.number));
            }
            cx.enqueue::<false>(self.port, slot);
            self.kick::<false>(cx, senders);
        }
        self.host_cx.outgoing.clear();
    }

    /// Sends the packets that were due by now, each at its time.
    #[inline]
    fn catch_up<const FAST: bool>(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        if cx.lags(self.port) {
            self.send_due::<FAST>(cx, senders);
        }
    }

    fn send_due<const FAST: bool>(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        let now = cx.now;
        while let Some(at) = departures::take_due(&mut cx.ports[self.port], now) {
            cx.now = at;
            self.transmit::<FAST>(cx, senders);
        }
        cx.now = now;
        if cx.ports[self.port].armed_at == Time::NEVER {
            cx.let_sleep(self.port);
        }
    }

    /// Sends an answer, at once where the transmitter is free: as [`Host::post`] on the fast path.
    #[inline(always)]
    fn reply(&mut self, cx: &mut PartContext, senders: &mut Senders, slot: Slot) {
        let class = cx.packets[slot].class;
        if class < DATA && cx.ports[self.port].passes(class, cx.now) {
            cx.launch::<true>(self.port, slot);
            return self.arm::<true>(cx);
        }
        cx.enqueue::<true>(self.port, slot);
        self.kick::<true>(cx, senders);
    }

    /// Something may have become ready.
    #[inline]
    fn kick<const FAST: bool>(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        if cx.ports[self.port].busy_until <= cx.now {
            self.transmit::<FAST>(cx, senders);
        } else {
            self.arm::<FAST>(cx);
        }
    }

    /// Schedules the next call of the transmitter, if there will be something to send.
    #[inline]
    fn arm<const FAST: bool>(&mut self, cx: &mut PartContext) {
        if !FAST && self.sprays {
            return self.arm_sprayed(cx);
        }
        let port = &cx.ports[self.port];
        let free = port.busy_until.max(cx.now);
        let at = if port.ready_classes() != 0 { free } else { self.nic.next(free, port.paused) };
        cx.arm(self.port, at);
    }

    /// Sends the next packet; the transmitter must be free.
    fn transmit<const FAST: bool>(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        if !FAST && self.sprays {
            // Others may be free from this moment on as well.
            return self.kick_all(cx, senders);
        }
        let port = &cx.ports[self.port];
        let ready = port.ready_classes();
        if ready != 0 {
            let slot = cx.dequeue::<false>(self.port, ready.trailing_zeros() as u8);
            self.launch::<FAST>(cx, slot);
        } else if let Some(sender) = self.nic.take(senders, port.paused, cx.now) {
            if (FAST || cx.fast_path.quiet)
                && let Some(slot) = senders.depart_quietly(cx, &mut self.host_cx, sender)
            {
                cx.launch::<true>(self.port, slot);
            } else if let Some(departure) = senders.depart(cx, &mut self.host_cx, sender) {
                let slot = departure.inject(cx);
                self.launch::<FAST>(cx, slot);
                if let Some(sent) = &departure.sent {
                    senders.note_departure(cx, &mut self.host_cx, sender, sent);
                }
            }
            self.nic.note_sent(senders, sender, cx.now);
        }
        self.arm::<FAST>(cx);
    }

    /// Puts a packet on the wire.
    #[inline]
    fn launch<const FAST: bool>(&mut self, cx: &mut PartContext, slot: Slot) {
        if FAST || cx.fast_path.quiet {
            return cx.launch::<true>(self.port, slot);
        }
        if self.is_down {
            cx.packets[slot].flags |= CUT;
        }
        let late = if cx.network.noisy { self.lateness(cx, slot) } else { Delta::ZERO };
        cx.launch_late(self.port, slot, late);
    }

    /// Draws the delay that noise adds to the link's delay for a packet that is sent now.
    #[inline(never)]
    fn lateness(&mut self, cx: &PartContext, slot: Slot) -> Delta {
        let packet = &cx.packets[slot];
        let tcp = &cx.network.transport.tcp;
        let sigma = match cx.network.crosses(packet.flow) {
            false => tcp.delay_noise_intra,
            true => tcp.delay_noise_cross,
        };
        let port = &cx.ports[self.port];
        let time = port.transmission_time(packet.wire);
        self.noise.delay(cx.now + time + port.delay, time, sigma)
    }

    /// Notes the flows that a pause kept from sending, whose cause lay at `root`.
    fn note_held(&self, cx: &mut PartContext, senders: &Senders, data_class: usize, root: PortNumber) {
        let held: Vec<_> = self.nic.waiting_senders(senders, data_class, cx.now).map(|s| senders.heads(s)).collect();
        for (flow, dst) in held {
            if !cx.network.leads_over(cx.routing, cx.numbers[self.port], dst, flow, root) {
                cx.counters.count_victim(flow);
            }
        }
    }
}
