//! The engine: flows, links, and the calendar of what happens to them.

use crate::acks::Telemetry;
use crate::changes::Changes;
use crate::crossing::Crossing;
use crate::flow::{Flow, Hop, Stage, Told};
use crate::history::{History, SentCurve};
use crate::jobs::{Messages, Ranks, Stream};
use crate::link::{BYTES_PER_PS, Link, LinkFacts, round_up};
use crate::mechanism::Mechanism;
use crate::nic::Nic;
use crate::pfc::Pfc;
use crate::plan::{FlowFacts, flow_facts, links, port, ps};
use crate::receiver::ReceiverHalf;
use crate::refusal::Refusal;
use crate::samples::Samples;
use crate::settings::Settings;
use crate::tcp::{Handshakes, Opening, Tcp};
use farloop_cc::{Control, Ctx, Effect, Sender, Signal, TimerId};
use farloop_engine::{Calendar, RandomStream};
use farloop_network::Network;
use farloop_network::ids::{FlowId, Key};
use farloop_network::recorded::Recorded;
use farloop_network::starts::{Beginning, Starts};
use farloop_units::{Bytes, Delta, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The end of a flow, or its state at the end of the run. Times in picoseconds, sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowEnd {
    /// Infinite where it has not started.
    pub start: f64,
    /// Completion time alone in the empty network, and base round-trip time; of flows that have started.
    pub ideal: Delta,
    pub base_rtt: Delta,
    /// When its last byte arrived; infinite where it has not.
    pub received: f64,
    /// When the last byte's acknowledgement came; infinite where it has not.
    pub finish: f64,
    /// Payload that has arrived.
    pub delivered: f64,
    /// Packets lost.
    pub lost: u64,
    /// Packets whose marks were echoed.
    pub marked: u64,
    /// Packets that were sent again.
    pub retransmitted: u64,
    pub timeouts: u32,
    pub recoveries: u32,
    /// TCP gave up.
    pub gave_up: bool,
}

impl FlowEnd {
    const NEVER: FlowEnd = FlowEnd {
        start: f64::INFINITY,
        ideal: Delta::ZERO,
        base_rtt: Delta::ZERO,
        received: f64::INFINITY,
        finish: f64::INFINITY,
        delivered: 0.0,
        lost: 0,
        marked: 0,
        retransmitted: 0,
        timeouts: 0,
        recoveries: 0,
        gave_up: false,
    };

    /// Takes over what the flow has counted so far.
    pub fn count(&mut self, flow: &Flow) {
        (self.lost, self.marked) = (flow.lost_packets(), flow.marked);
        (self.retransmitted, self.recoveries) = (flow.lost_packets(), flow.losses);
        if let Some(tcp) = &flow.tcp {
            self.retransmitted = (tcp.counts.resent / (flow.mss * flow.framing) + 0.5) as u64;
            (self.timeouts, self.recoveries) = (tcp.counts.timeouts, tcp.counts.recoveries);
        }
    }
}

/// Number of what the engine has done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Work {
    pub looks: u64,
    pub acks: u64,
    pub rate_changes: u64,
}

/// The calendar's entry of the next change of links, which comes before everything else.
pub(crate) const LINKS: u32 = 0;
/// The calendar's entry of the next start.
const START: u32 = 1;
/// The calendar's entry of the next sample.
const SAMPLE: u32 = 2;
/// The calendar's entry of the next look at switches with PFC.
pub(crate) const PAUSES: u32 = 3;
/// The calendar's entry of the next last byte of a message.
pub(crate) const MESSAGES: u32 = 4;
/// The calendar's entry of what ranks of jobs do next.
pub(crate) const CHORES: u32 = 5;
/// The calendar's entries that are no flow's: an even number.
const OTHERS: u32 = 6;
/// The first of the calendar's two entries of the flow in a slot: its next event, and the next change of rate on its way.
pub(crate) const fn own_event(slot: u32) -> u32 {
    OTHERS + 2 * slot
}

/// The picosecond of an event.
#[inline]
pub(crate) fn time(ps: f64) -> Time {
    Time::from_ps(ps as i64 as u64)
}

/// A running simulation.
pub(crate) struct Engine<'a> {
    pub network: &'a Network,
    pub settings: Settings,
    /// By algorithm: most ACKs at a look, where that is not as the settings say.
    acks: Vec<u32>,
    pub facts: Vec<LinkFacts>,
    pub links: Vec<Link>,
    pub nics: Vec<Nic>,
    pub flows: Vec<Option<Box<Flow>>>,
    /// Memory of flows that are over, for others.
    pub spare: Vec<(History, SentCurve, Changes)>,
    pub free: Vec<u32>,
    pub calendar: Calendar,
    capacity: usize,
    /// Flows that may start, by time.
    pub starts: BinaryHeap<Reverse<(u64, u32)>>,
    /// By flow that waits for others: how many, and when it may begin.
    pub waiting: Vec<(u32, f64)>,
    pub handshakes: Handshakes,
    pub random: RandomStream,
    pub effects: Vec<Effect>,
    pub signals: Vec<Signal>,
    pub telemetry: Telemetry,
    /// Rates that the flows of a host want, while they share its link.
    pub wants: Vec<i64>,
    pub ends: Vec<FlowEnd>,
    pub beginnings: Starts,
    pub samples: Samples,
    pub pfc: Pfc,
    pub crossing: Crossing,
    pub ranks: Ranks,
    pub messages: Messages,
    /// Number of changes of links that are over.
    pub changed: usize,
    pub work: Work,
    /// Why the run cannot go on.
    pub refused: Option<Refusal>,
    /// End of the run in picoseconds.
    pub end: f64,
}

impl<'a> Engine<'a> {
    /// An engine that has not begun.
    pub fn new(
        network: &'a Network,
        recorded: &Recorded,
        seed: u64,
        (settings, acks): (Settings, Vec<u32>),
    ) -> Engine<'a> {
        let capacity = 64;
        let facts = links(network);
        let mut engine = Engine {
            network,
            settings,
            acks,
            links: facts.iter().map(Link::new).collect(),
            nics: facts.iter().map(|facts| Nic::new(facts.rate as i64)).collect(),
            facts,
            flows: Vec::new(),
            spare: Vec::new(),
            free: Vec::new(),
            calendar: Calendar::new(own_event(capacity as u32) as usize),
            capacity,
            starts: BinaryHeap::new(),
            waiting: Vec::new(),
            handshakes: Handshakes::default(),
            random: RandomStream::new(seed, "fluid", settings.stream),
            effects: Vec::new(),
            signals: Vec::new(),
            telemetry: Telemetry::default(),
            wants: Vec::new(),
            ends: vec![FlowEnd::NEVER; network.flows.len()],
            beginnings: Starts::default(),
            samples: Samples::new(recorded),
            crossing: Crossing::new(network),
            ranks: Ranks::new(network),
            messages: Messages::new(network),
            changed: 0,
            pfc: if settings.ignore_pauses { Pfc::default() } else { Pfc::new(network) },
            work: Work::default(),
            refused: None,
            end: if network.end == Time::NEVER { f64::INFINITY } else { network.end.as_ps() as f64 },
        };
        if !network.flow_dependencies.is_empty() {
            engine.waiting = vec![(0, 0.0); network.flows.len()];
        }
        // Queue pairs of jobs begin with their first messages.
        for (number, spec) in network.flows.iter().enumerate().take(network.pairs.first_flow()) {
            let waits = network.flow_dependencies.waits_for(FlowId::new(number));
            if waits > 0 {
                engine.waiting[number] = (waits, spec.start.as_ps() as f64);
            } else {
                engine.starts.push(Reverse((spec.start.as_ps(), number as u32)));
            }
        }
        for link in engine.pfc.switches.iter().flat_map(|switch| &switch.egress) {
            engine.links[*link as usize].watched = true;
        }
        if let Some((at, ..)) = network.timeline.changes.first() {
            engine.calendar.set(LINKS, *at);
        }
        engine.schedule_start();
        engine.schedule_chores();
        if let Some(at) = engine.samples.next() {
            engine.calendar.set(SAMPLE, at);
        }
        engine
    }

    /// Handles the next event and returns its time; `None` when nothing is left to happen until the end.
    #[inline]
    pub fn step(&mut self) -> Option<f64> {
        let (at, event) = self.calendar.peek()?;
        let now = at.as_ps() as f64;
        if now > self.end {
            return None;
        }
        if event == SAMPLE && self.end == f64::INFINITY && self.is_idle() {
            return None;
        }
        self.handle(event, now);
        Some(now)
    }

    /// Returns true if no flow is in motion and none will start.
    pub fn is_idle(&self) -> bool {
        self.starts.is_empty() && self.free.len() == self.flows.len() && self.ranks.chores.next().is_none()
    }

    fn handle(&mut self, event: u32, now: f64) {
        match event {
            START => {
                let Some(Reverse((_, number))) = self.starts.pop() else { unreachable!("an event without a start") };
                self.schedule_start();
                self.begin(FlowId(number), None, now);
            }
            SAMPLE => {
                self.sample(now);
                match self.samples.next() {
                    Some(at) => self.calendar.set(SAMPLE, at),
                    None => self.calendar.cancel(SAMPLE),
                }
            }
            LINKS => self.change_links(now),
            PAUSES => self.look_at_switches(now),
            MESSAGES => self.walk_messages(now),
            CHORES => self.do_chores(time(now)),
            _ if !event.is_multiple_of(2) => self.pass_change((event - OTHERS) / 2, now),
            _ => {
                let slot = (event - OTHERS) / 2;
                match self.flow(slot).stage {
                    Stage::Sending => self.go_on(slot, now),
                    Stage::LastByteAt(_) => self.walk_last_byte(slot, now),
                }
            }
        }
    }

    /// The flow in a slot.
    #[inline]
    pub fn flow(&mut self, slot: u32) -> &mut Flow {
        self.flows[slot as usize].as_mut().expect("a flow in motion")
    }

    /// Takes the flow out of its slot, for as long as it changes with everything else.
    #[inline]
    pub fn take(&mut self, slot: u32) -> Box<Flow> {
        self.flows[slot as usize].take().expect("a flow in motion")
    }

    pub fn schedule_start(&mut self) {
        match self.starts.peek() {
            Some(Reverse((at, _))) => self.calendar.set(START, Time::from_ps(*at)),
            None => self.calendar.cancel(START),
        }
    }

    /// The flow's next event.
    #[inline]
    pub fn schedule(&mut self, slot: u32, at: f64) {
        if at < f64::INFINITY {
            self.calendar.set(own_event(slot), time(at));
        } else {
            self.calendar.cancel(own_event(slot));
        }
    }

    /// A slot for one more flow.
    fn take_slot(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let slot = self.flows.len();
        self.flows.push(None);
        if slot >= self.capacity {
            self.capacity *= 2;
            let mut larger = Calendar::new(own_event(self.capacity as u32) as usize);
            for id in 0..own_event(slot as u32) {
                if let Some(at) = self.calendar.time_of(id) {
                    larger.set(id, at);
                }
            }
            self.calendar = larger;
        }
        slot as u32
    }

    /// A flow begins, with its first message if it is a queue pair of a job; returns its slot, unless its handshake goes on.
    pub(crate) fn begin(&mut self, number: FlowId, stream: Option<Box<Stream>>, now: f64) -> Option<u32> {
        let facts = flow_facts(self.network, number);
        let opening = self.open(number, &facts, now)?;
        let mut flow = self.make_flow(number, &facts, opening, now);
        if let Some(stream) = stream {
            (flow.left, flow.stream) = (stream.first(), Some(stream));
        }
        let control = flow.sender.control();
        self.note_beginning(&flow, &facts, control);
        flow.window = wire_window(&flow, control.cwnd);
        // The first window leaves at the pacing rate, or at line rate: nothing is known before its ACKs.
        flow.budget = flow.window;
        let mut pacing = control.pacing.as_f64().min(flow.line_rate as f64) as i64;
        let end = &mut self.ends[number.index()];
        // A queue pair begins with its job, as with packets.
        let begun =
            if flow.stream.is_some() { self.network.flows.get(number).start.as_ps() as f64 } else { opening.start };
        (end.start, end.ideal, end.base_rtt) = (begun, facts.ideal, facts.info.base_rtt);
        let rtt = self.count_hops(&mut flow, now);
        flow.rtt = rtt;
        if self.settings.lacks(Mechanism::FirstWindow) {
            pacing = pacing.min((flow.window / (rtt * BYTES_PER_PS)) as i64);
        }
        for hop in &mut flow.hops {
            let counters = self.links[hop.link as usize].counters;
            hop.reported = Told { counters, arrived: counters.arrived(), found_at: now + hop.shift };
        }
        flow.next_look = round_up(now + rtt);
        let slot = self.take_slot();
        self.pfc.note_path(std::iter::once(flow.nic).chain(flow.hops.iter().map(|hop| hop.link)));
        self.crossing.add(slot, flow.hops.iter().map(|hop| hop.link));
        self.add_through(slot, &flow);
        self.nics[flow.nic as usize].add(slot);
        self.samples.note_start(number, slot);
        if flow.tcp.is_some() {
            self.begin_rounds(slot, flow, rtt, now);
        } else {
            self.set_want_of(slot, flow, pacing, (now, rtt));
        }
        Some(slot)
    }

    fn make_flow(&mut self, number: FlowId, facts: &FlowFacts, opening: Opening, now: f64) -> Box<Flow> {
        let (mut hops, mut shift) = (Vec::with_capacity(facts.path.len()), 0.0);
        for (place, link) in facts.path.iter().enumerate() {
            if place > 0 {
                let (reported, newest) = (Told::default(), Told::default());
                let telemetry = self.facts[*link as usize].telemetry;
                hops.push(Hop { link: *link, input: 0, shift, reported, newest, telemetry });
            }
            let delay = self.facts[*link as usize].delay;
            if delay > self.settings.long_delay && place + 1 < facts.path.len() {
                shift += delay;
            }
        }
        let wire = facts.size + (facts.size / facts.mss).ceil() * (facts.packet - facts.mss);
        let slowest = facts.slowest as f64 * BYTES_PER_PS;
        let params = &self.network.algorithms[usize::from(facts.algorithm)];
        let mut sender = params.sender(&facts.info);
        let receiver = params.receiver(&facts.info);
        self.effects.clear();
        if let Some(rtt) = opening.rtt {
            sender.on_established(Delta::from_ps(rtt as u64));
        }
        sender.on_start(&mut Ctx::new(time(now), &mut self.random, &mut self.effects));
        let (mut history, mut curve, mut changes) = self.spare.pop().unwrap_or_default();
        history.reset(hops.len());
        changes.reset(hops.len());
        curve.clear();
        let line_rate = self.facts[facts.path[0] as usize].rate as i64;
        let (there, back) = self.delays_since_start(&facts.path, &facts.back);
        let base_rtt = ps(facts.info.base_rtt) + there + back;
        let wants_on_send = sender.wants_on_send();
        let several = !self.settings.lacks(Mechanism::SeveralAcks);
        let acks = self.acks.get(usize::from(facts.algorithm)).copied().unwrap_or(self.settings.acks);
        let handshake = if self.network.transport.tcp.handshake { facts.handshake } else { 0.0 };
        let rest = if facts.size < f64::INFINITY { ps(facts.ideal) - handshake - wire / slowest + there } else { 0.0 };
        let tcp = Tcp::new(self.network, facts, &sender, (opening, rest), now);
        let mut flow = Box::new(Flow {
            number,
            stage: Stage::Sending,
            sender,
            stream: None,
            receiver: (!receiver.only_echoes()).then(|| Box::new(ReceiverHalf::new(receiver))),
            tcp,
            timers: [f64::INFINITY; TimerId::COUNT],
            timer_due: f64::INFINITY,
            nic: facts.path[0],
            hops,
            looks: self.settings.looks * if shift > 0.0 { self.settings.long_factor } else { 1.0 },
            changes,
            back: facts.back.clone(),
            ack_rate: 0,
            mss: facts.mss,
            framing: facts.packet / facts.mss,
            ack_share: facts.ack / facts.packet,
            line_rate,
            want: 0,
            rate: 0,
            exit: line_rate,
            sent: 0.0,
            left: wire,
            budget: 0.0,
            at: now,
            curve,
            history,
            base_rtt,
            rtt: base_rtt,
            acked: 0.0,
            ack_seq: 0,
            sent_seq: 0,
            acked_left: now,
            telemetry_at: now,
            looked: now,
            next_look: 0.0,
            recovered: 0.0,
            window: 0.0,
            wants_on_send,
            acks: if several { acks } else { 1 },
            has_telemetry: params.needs().int,
            waits_until: 0.0,
            start: now,
            stop: facts.stop,
            size: facts.size,
            rest,
            ack_return: facts.ack_return + back,
            lost: 0.0,
            losses: 0,
            marked: 0,
        });
        flow.set_timers(&mut self.effects, now);
        flow
    }

    fn note_beginning(&mut self, flow: &Flow, facts: &FlowFacts, control: Control) {
        self.beginnings.note(&Beginning {
            algorithm: facts.algorithm,
            crosses: facts.info.crosses,
            cwnd: control.cwnd,
            pacing: control.pacing,
            ssthresh: flow.sender.ssthresh(),
            line_rate: facts.info.line_rate,
            base_rtt: facts.info.base_rtt,
            mss: facts.info.mss,
            packet: facts.info.packet,
        });
    }

    /// Counts the links of the flow's path up to now, notes their counters, and returns the round-trip time of what leaves now.
    pub fn count_hops(&mut self, flow: &mut Flow, now: f64) -> f64 {
        let mut rtt = flow.base_rtt;
        flow.history.begin(now);
        for hop in &flow.hops {
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            flow.history.push(link.counters);
            rtt += link.wait();
        }
        rtt
    }

    /// The next look, or the end of what the window or the flow lets out.
    fn go_on(&mut self, slot: u32, now: f64) {
        let flow = self.flow(slot);
        flow.advance(now);
        if flow.tcp.is_some() {
            return self.go_on_rounds(slot, now);
        }
        if flow.left <= 0.5 || now >= flow.stop {
            if flow.stream.is_some() {
                return self.end_message(slot, now);
            }
            return self.end_sending(slot, now);
        }
        if now >= flow.next_look {
            return self.look(slot, now);
        }
        if flow.budget <= 0.5 {
            return self.set_want(slot, 0, now);
        }
        let next = flow.next_event();
        self.schedule(slot, next);
    }

    /// Nothing more leaves: the last byte is on its way.
    pub(crate) fn end_sending(&mut self, slot: u32, now: f64) {
        let flow = self.flow(slot);
        // Exactly all bytes: the rest of a picosecond's is none.
        flow.sent += flow.left.min(0.0);
        flow.left = 0.0;
        flow.stage = Stage::LastByteAt(0);
        let first = flow.hops.first().map_or(0.0, |hop| hop.shift);
        let nic = flow.nic as usize;
        let rate = std::mem::replace(&mut flow.rate, 0);
        let want = std::mem::replace(&mut flow.want, 0);
        self.schedule(slot, now + first);
        self.nics[nic].change_rate(-rate, now);
        self.nics[nic].remove(slot, want);
        self.share(nic, None, now);
    }

    /// Name of a port of the network: "left->right".
    pub fn port_name(&self, link: usize) -> String {
        let end = &self.network.ends[port(link)];
        let name = |node: u32| self.network.node_specs[node as usize].name.as_str();
        format!("{}->{}", name(end.node), name(end.peer_node))
    }
}

/// A window on the wire: one packet is always allowed.
pub(crate) fn wire_window(flow: &Flow, cwnd: Bytes) -> f64 {
    (cwnd.as_f64().min(1e15) * flow.framing).max(flow.mss * flow.framing)
}
