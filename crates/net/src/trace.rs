//! Hooks that report the network's events to observers, if there are any ([`crate::Simulation::trace`]).
//!
//! Without an observer each hook costs one null check. Records depend only on the packet and the part's own ports and flows, so they are
//! the same however the network is cut. All records of a port come from the part that has its node, all records of a flow at a host from
//! the part that has the host. A packet that a link lost or damaged is therefore recorded where it should have arrived.
//!
//! Packets of a persistent connection count as those of the flow that uses it, from its first byte on.

use crate::counters::Request;
use crate::ids::{FlowId, HostNumber, PortId, PortNumber, Slot};
use crate::packet::{ANSWERS, CWR, DATA, FIN, MARKED, NOT_ECT, Packet, PacketKind, SYN};
use crate::watched::describe_passing;
use farloop_cc::{Control, TimerId};
use farloop_network::Network;
use farloop_network::spec::TransportKind;
use farloop_tcp::Meaning;
use farloop_trace::why::{Journals, Passing, Source};
use farloop_trace::{Cause, Ecn, Event, Place, Record, TcpFlags, Tracer};
use farloop_units::{Bytes, Delta, Time};

/// The class of ACKs and signals with priority: that of network control.
const CONTROL_CLASS: u8 = 7;

/// Timers of algorithms, by number.
const TIMERS: [&str; TimerId::COUNT] = ["algorithm 0", "algorithm 1", "algorithm 2", "algorithm 3"];

/// Timers of their receiving halves.
const RECEIVER_TIMERS: [&str; TimerId::COUNT] = ["receiver 0", "receiver 1", "receiver 2", "receiver 3"];

/// Registered observers. A single pointer, so a run without observers pays for one null check.
#[derive(Default)]
pub(crate) struct Observers {
    pub tracer: Option<Tracer>,
    /// Where the time of flows goes ([`crate::why`]).
    pub journals: Option<Journals>,
}

/// A sender, as hooks see it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// The flow that uses the connection.
    pub flow: FlowId,
    /// Offset of its first byte.
    pub begin: u64,
    pub control: &'a Control,
    pub latest_rtt: Delta,
    pub state: &'a dyn Sending,
}

/// The state of a sender.
pub(crate) trait Sending {
    /// The state that journals record.
    fn source(&self) -> Source;
}

/// Declares a method for each hook, which checks for observers, and calls a function that informs them, away from the path of packets.
macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident => $tell:ident($($name:ident: $kind:ty),*);)*) => {
        /// Access of the hooks to the part's context.
        pub(crate) trait Traced: Sized {
            fn observers(&self) -> Option<&Observers>;
            fn observers_mut(&mut self) -> Option<&mut Observers>;
            fn tracer(&self) -> Option<&Tracer> {
                self.observers()?.tracer.as_ref()
            }
            fn tracer_mut(&mut self) -> Option<&mut Tracer> {
                self.observers_mut()?.tracer.as_mut()
            }
            fn journals(&mut self) -> Option<&mut Journals> {
                self.observers_mut()?.journals.as_mut()
            }
            /// When the transmitter of a port is free, and the delay of its link.
            fn transmission(&self, p: PortId) -> (Time, Delta);
            fn now(&self) -> Time;
            fn network(&self) -> &Network;
            fn packet(&self, slot: Slot) -> &Packet;
            /// Bytes of data that wait at a port.
            fn data_queue(&self, p: PortId) -> u64;
            fn number(&self, p: PortId) -> PortNumber;
            /// The flow that packets with this number belong to.
            fn request(&self, number: FlowId) -> Request;
            $(
                $(#[$doc])*
                #[inline(always)]
                fn $hook(&mut self, $($name: $kind),*) {
                    if self.observers().is_some() {
                        $tell(self, $($name),*);
                    }
                }
            )*
        }
    };
}

hooks! {
    /// A packet is about to join the queue of port `p`.
    trace_enqueue => enqueue(p: PortId, slot: Slot);
    /// A packet begins to leave by port `p`, and waits there no more.
    trace_departure => departure(p: PortId, slot: Slot);
    /// It is on the link, and will arrive later by this time.
    trace_launch => launch(p: PortId, slot: Slot, late: Delta);
    /// A packet has been marked by port `p`.
    trace_mark => mark(p: PortId, slot: Slot);
    /// A packet is dropped that should have left by port `p`, or, of a link that lost or damaged it, arrived there.
    trace_drop => drop_at(p: PortId, slot: Slot, cause: Cause);
    /// A packet has arrived by the link whose own egress port is `p`.
    trace_arrival => arrival(p: PortId, slot: Slot);
    /// A PFC frame stops a data class of port `p`, or lets it go on.
    trace_pfc => pfc(p: PortId, frame: &Packet);
    /// All packets that waited at port `p` are gone: its link is down.
    trace_drain => drain(p: PortId);
    /// A flow begins.
    trace_start => start(flow: FlowId);
    /// A queue pair has messages up to this byte.
    trace_posted => post_message(flow: FlowId, end: u64);
    /// The message of a queue pair that ends at this byte has arrived.
    trace_received => receive_message(flow: FlowId, end: u64);
    /// A sender is about to make its next packet, which pacing allows since then.
    trace_turn => turn(flow: FlowId, since: Time);
    /// A sender is about to make a packet again. The entropy value by which that left before is in this state.
    trace_repeat => repeat(flow: FlowId, state: Option<&'static str>);
    /// The last byte of a flow has been acknowledged.
    trace_finish => finish(flow: FlowId);
    /// An ACK (in `slot`) or a timer has meant this to a sender, whose window and rate are those after it.
    trace_progress => progress(sender: Seen<'_>, meaning: &Meaning, slot: Option<Slot>);
    /// Something else may have changed a sender's window or rate.
    trace_change => change(sender: Seen<'_>);
    /// A timer of the algorithm at the source of a connection fires.
    trace_timer => algorithm_timer(number: FlowId, timer: TimerId);
    /// The timer of a sender's transport fires.
    trace_transport_timer => transport_timer(number: FlowId, timer: &'static str);
    /// A timer at the destination of a connection fires: one of the algorithm, or that of delayed ACKs.
    trace_receiver_timer => receiver_timer(number: FlowId, timer: Option<TimerId>);
}

#[cold]
#[inline(never)]
fn enqueue(cx: &mut impl Traced, p: PortId, slot: Slot) {
    tell_enqueue(cx, p, slot);
    let packet = cx.packet(slot);
    let own = if packet.class >= DATA { u64::from(packet.wire) } else { 0 };
    let queue = Bytes::new(cx.data_queue(p) + own);
    at_port(cx, p, slot, |packet| Event::Enqueue { packet, queue });
}

#[cold]
#[inline(never)]
fn departure(cx: &mut impl Traced, p: PortId, slot: Slot) {
    let queue = Bytes::new(cx.data_queue(p));
    at_port(cx, p, slot, |packet| Event::Dequeue { packet, queue });
}

#[cold]
#[inline(never)]
fn launch(cx: &mut impl Traced, p: PortId, slot: Slot, late: Delta) {
    tell_launch(cx, p, slot, late);
}

#[cold]
#[inline(never)]
fn drain(cx: &mut impl Traced, p: PortId) {
    tell_drain(cx, p);
}

#[cold]
#[inline(never)]
fn mark(cx: &mut impl Traced, p: PortId, slot: Slot) {
    let queue = Bytes::new(cx.data_queue(p));
    at_port(cx, p, slot, |packet| Event::Mark { packet, queue });
}

#[cold]
#[inline(never)]
fn drop_at(cx: &mut impl Traced, p: PortId, slot: Slot, cause: Cause) {
    tell_lost(cx, p, slot, cause);
    let queue = Bytes::new(cx.data_queue(p));
    at_port(cx, p, slot, |packet| Event::Drop { packet, queue, cause });
}

#[cold]
#[inline(never)]
fn arrival(cx: &mut impl Traced, p: PortId, slot: Slot) {
    tell_arrival(cx, p, slot);
    at_port(cx, p, slot, |packet| Event::Arrive { packet });
}

#[cold]
#[inline(never)]
fn pfc(cx: &mut impl Traced, p: PortId, frame: &Packet) {
    tell_pause(cx, p, frame);
    let (kind, class) = (frame.kind, frame.value);
    let event = if kind == PacketKind::Xoff { Event::Pause { class } } else { Event::Resume { class } };
    let place = Place::Port(cx.number(p).0);
    record(cx, place, None, event);
}

#[cold]
#[inline(never)]
fn start(cx: &mut impl Traced, flow: FlowId) {
    tell_start(cx, flow);
    let size = Some(cx.network().flows.size(flow)).filter(|size| *size != Bytes::MAX);
    at_source(cx, flow, Event::Start { size });
}

#[cold]
#[inline(never)]
fn post_message(cx: &mut impl Traced, flow: FlowId, end: u64) {
    tell_posted(cx, flow, end);
}

#[cold]
#[inline(never)]
fn receive_message(cx: &mut impl Traced, flow: FlowId, end: u64) {
    tell_received(cx, flow, end);
}

#[cold]
#[inline(never)]
fn turn(cx: &mut impl Traced, flow: FlowId, since: Time) {
    tell_turn(cx, flow, since);
}

#[cold]
#[inline(never)]
fn repeat(cx: &mut impl Traced, flow: FlowId, state: Option<&'static str>) {
    if let Some(journals) = cx.journals() {
        journals.repeats(flow.0, state);
    }
}

#[cold]
#[inline(never)]
fn finish(cx: &mut impl Traced, flow: FlowId) {
    tell_finish(cx, flow);
    at_source(cx, flow, Event::Finish);
}

#[cold]
#[inline(never)]
fn progress(cx: &mut impl Traced, sender: Seen<'_>, meaning: &Meaning, slot: Option<Slot>) {
    let Some(slot) = slot else { return change(cx, sender) };
    tell_control(cx, sender);
    let (packet, control) = (cx.packet(slot), sender.control);
    // The last ACK of a flow is not taken up any more.
    let rtt = if meaning.finished { meaning.rtt } else { meaning.rtt.map(|_| sender.latest_rtt) };
    let event = Event::Ack {
        sequence: offset(cx, packet, sender.begin),
        acked: meaning.acked,
        rtt,
        marked: packet.flags & MARKED != 0,
        cwnd: control.cwnd,
        rate: control.pacing,
    };
    at_source(cx, sender.flow, event);
}

#[cold]
#[inline(never)]
fn change(cx: &mut impl Traced, sender: Seen<'_>) {
    tell_control(cx, sender);
    let control = sender.control;
    at_source(cx, sender.flow, Event::Change { cwnd: control.cwnd, rate: control.pacing });
}

#[cold]
#[inline(never)]
fn algorithm_timer(cx: &mut impl Traced, number: FlowId, timer: TimerId) {
    tell_timer(cx, number, false);
    let flow = cx.request(number).flow;
    at_source(cx, flow, Event::Timer { timer: TIMERS[usize::from(timer.0)] });
}

#[cold]
#[inline(never)]
fn transport_timer(cx: &mut impl Traced, number: FlowId, timer: &'static str) {
    tell_timer(cx, number, true);
    let flow = cx.request(number).flow;
    at_source(cx, flow, Event::Timer { timer });
}

#[cold]
#[inline(never)]
fn receiver_timer(cx: &mut impl Traced, number: FlowId, timer: Option<TimerId>) {
    tell_timer_there(cx, number);
    let timer = timer.map_or("delayed ACK", |timer| RECEIVER_TIMERS[usize::from(timer.0)]);
    let flow = cx.request(number).flow;
    let place = Place::Host(cx.network().destination(flow).0);
    record(cx, place, Some(flow.0), Event::Timer { timer });
}

/// Something that happened to a packet.
fn at_port(cx: &mut impl Traced, p: PortId, slot: Slot, event: impl FnOnce(farloop_trace::Packet) -> Event) {
    let (packet, port) = (cx.packet(slot), cx.number(p).0);
    let (flow, begin) = match packet.kind {
        PacketKind::Xoff | PacketKind::Xon => (None, 0),
        _ => {
            let request = cx.request(packet.flow);
            (Some(request.flow.0), request.begin)
        }
    };
    let wanted = |tracer: &Tracer| match flow {
        Some(flow) => tracer.wants_packet(port, flow),
        None => tracer.wants_port(port),
    };
    if cx.tracer().is_some_and(wanted) {
        let event = event(describe(cx, packet, begin));
        record(cx, Place::Port(port), flow, event);
    }
}

/// Something that happened to a flow at its source.
fn at_source(cx: &mut impl Traced, flow: FlowId, event: Event) {
    if cx.tracer().is_some_and(|tracer| tracer.wants_flow(flow.0)) {
        let HostNumber(host) = cx.network().host_of(cx.network().flows.source(flow));
        record(cx, Place::Host(host), Some(flow.0), event);
    }
}

fn record(cx: &mut impl Traced, place: Place, flow: Option<u32>, event: Event) {
    let time = cx.now();
    if let Some(tracer) = cx.tracer_mut() {
        tracer.record(Record { time, place, flow, event });
    }
}

/// Offset of a packet in the data of its flow, which begins at `begin`, or that of the data that it answers.
fn offset(cx: &impl Traced, packet: &Packet, begin: u64) -> u64 {
    match packet.kind {
        PacketKind::Cnp | PacketKind::Quantized | PacketKind::ReceiveRate => packet.seq,
        PacketKind::Credit => packet.number(),
        PacketKind::Probe => u64::from(packet.entropy()),
        // No flow's: a link sends them.
        PacketKind::Xoff | PacketKind::Xon => 0,
        _ => packet.offset(cx.network()).saturating_sub(begin),
    }
}

/// Converts a packet for traces; `begin` is the offset of its flow's first byte.
fn describe(cx: &impl Traced, packet: &Packet, begin: u64) -> farloop_trace::Packet {
    use farloop_trace::PacketKind as Kind;
    let has = |bit: u8| packet.flags & bit != 0;
    let offset = offset(cx, packet, begin);
    let (kind, sequence) = match packet.kind {
        // Of a trimmed packet the headers are left.
        PacketKind::Data | PacketKind::Bare | PacketKind::Trimmed => (Kind::Data, offset),
        PacketKind::Ack => (Kind::Ack, offset),
        PacketKind::Nack => (Kind::Nack, offset),
        PacketKind::Cnp => (Kind::Cnp, packet.seq),
        PacketKind::Quantized => (Kind::Quantized, u64::from(packet.value)),
        PacketKind::ReceiveRate => (Kind::ReceiveRate, packet.seq),
        PacketKind::Telemetry => (Kind::Telemetry, 0),
        PacketKind::Credit => (Kind::Credit, packet.number()),
        PacketKind::Probe => (Kind::Probe, offset),
        PacketKind::Xoff => (Kind::Pause { class: packet.value }, 0),
        PacketKind::Xon => (Kind::Resume { class: packet.value }, 0),
    };
    let forward = packet.is_forward();
    let payload = match packet.kind {
        PacketKind::Data => {
            let format = cx.network().format(packet.flow);
            u32::from(packet.wire - (format.packet - format.mss))
        }
        _ => 0,
    };
    let tcp = cx.network().transport.kind == TransportKind::Tcp && (forward || kind == Kind::Ack);
    farloop_trace::Packet {
        sequence,
        wire: u32::from(packet.wire),
        payload,
        kind,
        class: packet.class.checked_sub(DATA).unwrap_or(CONTROL_CLASS),
        // On the way back the mark is an echo, and no ECN field.
        ecn: match (forward, has(NOT_ECT), has(MARKED)) {
            (true, false, true) => Ecn::Marked,
            (true, false, false) => Ecn::Capable,
            _ => Ecn::NotCapable,
        },
        flags: match (tcp, forward) {
            (false, _) => TcpFlags::default(),
            (true, true) => {
                // Accurate ECN: a SYN that asks for it has all three flags.
                let asks = has(SYN) && has(CWR);
                TcpFlags { syn: has(SYN), fin: has(FIN), ack: has(ANSWERS), ece: asks, cwr: has(CWR), ae: asks }
            }
            (true, false) => {
                let flag = |bit: u8| packet.value & bit != 0;
                let (ae, cwr, ece) = (flag(4), flag(2), flag(1) || has(MARKED));
                TcpFlags { syn: has(SYN), ack: true, ece, cwr, ae, ..TcpFlags::default() }
            }
        },
    }
}

// Events for journals (farloop_trace::why), where there are any: at the same places.

/// A packet at a port.
fn passing_at(cx: &impl Traced, p: PortId, slot: Slot) -> Passing {
    describe_passing(cx.network(), cx.number(p), slot, cx.packet(slot))
}

fn tell_enqueue(cx: &mut impl Traced, p: PortId, slot: Slot) {
    let (packet, now) = (passing_at(cx, p, slot), cx.now());
    if let Some(journals) = cx.journals() {
        journals.waits(now, &packet);
    }
}

fn tell_launch(cx: &mut impl Traced, p: PortId, slot: Slot, late: Delta) {
    let (packet, now, (until, delay)) = (passing_at(cx, p, slot), cx.now(), cx.transmission(p));
    if let Some(journals) = cx.journals() {
        journals.leaves(now, &packet, until, delay, late);
    }
}

/// A packet arrives by the link whose own egress port is `p`: journals know links by the port that sends.
fn tell_arrival(cx: &mut impl Traced, p: PortId, slot: Slot) {
    let (packet, now) = (Passing { port: cx.number(p).other_end().0, ..passing_at(cx, p, slot) }, cx.now());
    if let Some(journals) = cx.journals() {
        journals.arrives(now, &packet);
    }
}

fn tell_lost(cx: &mut impl Traced, p: PortId, slot: Slot, cause: Cause) {
    let behind = cause.is_behind_port();
    let own = cx.number(p);
    let port = if behind { own.other_end() } else { own };
    let packet = Passing { port: port.0, ..passing_at(cx, p, slot) };
    if let Some(journals) = cx.journals() {
        journals.record_loss(&packet, behind);
    }
}

fn tell_pause(cx: &mut impl Traced, p: PortId, frame: &Packet) {
    let (port, now) = (cx.number(p).0, cx.now());
    // The frame says where its chain begins: crate::pauses.
    let root = (frame.kind == PacketKind::Xoff).then_some(frame.flow.0);
    if let Some(journals) = cx.journals() {
        journals.pause(now, port, frame.value, root);
    }
}

fn tell_drain(cx: &mut impl Traced, p: PortId) {
    let (port, now) = (cx.number(p).0, cx.now());
    if let Some(journals) = cx.journals() {
        journals.end_pauses(now, port);
    }
}

fn tell_start(cx: &mut impl Traced, flow: FlowId) {
    let now = cx.now();
    if let Some(journals) = cx.journals() {
        journals.start(now, flow.0);
    }
}

fn tell_posted(cx: &mut impl Traced, flow: FlowId, end: u64) {
    let now = cx.now();
    if let Some(journals) = cx.journals() {
        journals.posts(now, flow.0, end);
    }
}

fn tell_received(cx: &mut impl Traced, flow: FlowId, end: u64) {
    let now = cx.now();
    if let Some(journals) = cx.journals() {
        journals.receive_message(now, flow.0, end);
    }
}

fn tell_finish(cx: &mut impl Traced, flow: FlowId) {
    let now = cx.now();
    if let Some(journals) = cx.journals() {
        journals.finish(now, flow.0);
    }
}

fn tell_turn(cx: &mut impl Traced, flow: FlowId, since: Time) {
    if let Some(journals) = cx.journals() {
        journals.turn(flow.0, since);
    }
}

/// An ACK, a timer, a signal or a departure has changed a sender's state.
fn tell_control(cx: &mut impl Traced, sender: Seen<'_>) {
    let now = cx.now();
    if let Some(journals) = cx.journals() {
        journals.control(now, sender.flow.0, &sender.state.source());
    }
}

fn tell_timer(cx: &mut impl Traced, number: FlowId, transport: bool) {
    let now = cx.now();
    if let Some(journals) = cx.journals() {
        journals.timer(now, number.0, transport);
    }
}

fn tell_timer_there(cx: &mut impl Traced, number: FlowId) {
    let now = cx.now();
    if let Some(journals) = cx.journals() {
        journals.timer_there(now, number.0);
    }
}
