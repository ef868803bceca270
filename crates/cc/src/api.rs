//! The seam: one trait per place where an algorithm acts, and the signals that pass through it.
//!
//! | place | trait | examples |
//! | --- | --- | --- |
//! | source host, per flow | [`Sender`] | all algorithms |
//! | destination host, per flow | [`Receiver`] | DCQCN's congestion notification packets |
//! | destination host, for all flows | [`Granter`] | receiver credit of RCCC |
//! | switch, per egress port | [`PortAgent`] | QCN sampling of Annulus |
//!
//! Handlers get a [`Ctx`] with clock, randomness and a buffer of effects (timers to arm, signals to send). An emitted signal
//! becomes a real packet that takes bandwidth and time. [`Algorithm`] ties the halves of one algorithm together.

use crate::credit::{Granter, HostInfo};
use crate::int::IntRecord;
pub use crate::needs::Needs;
pub use crate::preset::{Listed, Preset, Setting, Shipped};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Params, Rate, Time};

/// The limits on a sender: at most `cwnd` payload bytes in flight, at most `pacing` bits per second on the wire.
///
/// [`Bytes::MAX`] and [`Rate::MAX`] mean "no limit" (the NIC's line rate always holds). A window below one packet still
/// lets one packet be in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// Congestion window in payload bytes.
    pub cwnd: Bytes,
    /// Pacing rate in bits per second on the wire, headers and framing included.
    pub pacing: Rate,
}

/// A flow at its start, as an algorithm sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowInfo {
    /// Round-trip time of a full-size packet and its ACK in the empty network, as a handshake would measure it.
    pub base_rtt: Delta,
    /// The same between two far-apart hosts of one datacenter of this network (IRTT in Gear).
    pub intra_rtt: Delta,
    /// Rate of the NIC that the flow leaves by.
    pub line_rate: Rate,
    /// Rate of the receiver's NIC.
    pub peer_rate: Rate,
    /// Rate to start at, at most `line_rate`.
    pub initial_rate: Rate,
    /// Window to start with where the scenario sets one; otherwise the algorithm's own rule holds.
    pub initial_cwnd: Option<Bytes>,
    /// Slow start threshold to start with, where an earlier connection between the same hosts left one: for windows that begin in
    /// slow start.
    pub ssthresh: Option<Bytes>,
    /// Payload of a full-size packet (the maximum segment size).
    pub mss: Bytes,
    /// Size on the wire of a full-size packet, headers and framing included.
    pub packet: Bytes,
    /// True if its ends are in different datacenters, as their addresses show.
    pub crosses: bool,
    /// Its transport repairs a loss by sending everything again from the gap: a repair lasts for as long as the window that was out takes
    /// at the rate of the repair, not for one round trip.
    pub go_back_n: bool,
    /// Switches on its way trim packets that find no room, instead of dropping them.
    pub trims: bool,
}

impl FlowInfo {
    /// Bandwidth-delay product of the NIC's rate and the base round-trip time.
    pub fn bdp(&self) -> Bytes {
        self.line_rate.bytes_in(self.base_rtt)
    }
}

/// An acknowledgement as it reaches the sender, with the echo of one data packet's marks and telemetry. One per data
/// packet, but where the endpoint coalesces ACKs: a marked packet still has its own.
///
/// Where packets may overtake each other (multipath), [`Ack::ack_seq`] and [`Ack::snd_nxt`] count distinct bytes delivered and distinct
/// bytes sent, whichever they are: a round is over when as much has been delivered as had been sent at its beginning, and a gap stops no
/// round.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Payload bytes acknowledged for the first time by this ACK; zero for a duplicate.
    pub acked: Bytes,
    /// Cumulative acknowledgement: offset of the first byte that the receiver still waits for.
    pub ack_seq: Bytes,
    /// Offset of the next new byte to send.
    pub snd_nxt: Bytes,
    /// Payload bytes in flight after this ACK.
    pub in_flight: Bytes,
    /// From sending the data packet to receiving this ACK; `None` where the ACK is no sample: it acknowledges data that was
    /// sent more than once, or nothing.
    pub rtt: Option<Delta>,
    /// The data packet was marked Congestion Experienced; where the endpoint counts marks ([`Ack::ce`]), at least one of those that this
    /// ACK newly reports.
    pub ecn_echo: bool,
    /// Marked packets that this ACK newly reports; `None` where the endpoint does not count them but echoes. TCP counts them with Accurate
    /// ECN (RFC 9768).
    pub ce: Option<Marked>,
    /// The sender is repairing a loss: windows must not grow (RFC 5681, §3.2), but for laws that telemetry drives over go-back-N.
    pub in_recovery: bool,
    /// The sender has less to send than its window and rate allow.
    pub app_limited: bool,
    /// Rate at which data is being delivered, from an endpoint that measures it ([`Needs::delivery_rate`]).
    pub delivery: Option<Delivery>,
    /// In-band telemetry stamped on the data packet, in path order.
    pub int: &'a [IntRecord],
    /// The header fields of the algorithm's own ([`Needs::fields`]) as the ACK brings them.
    pub fields: &'a [Field],
}

impl Ack<'_> {
    /// Payload of the marked packets among those that this ACK acknowledges: as counted, or all where a mark is echoed.
    pub fn marked(&self) -> Bytes {
        match self.ce {
            Some(ce) => ce.bytes,
            None if self.ecn_echo => self.acked,
            None => Bytes::ZERO,
        }
    }
}

/// Packets that arrived marked Congestion Experienced, as counted by the receiver. During the repair of a loss they may be of packets that
/// no ACK acknowledges cumulatively yet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Marked {
    /// Number of packets.
    pub packets: u32,
    /// Their payload.
    pub bytes: Bytes,
}

impl Marked {
    /// None.
    pub const NONE: Marked = Marked { packets: 0, bytes: Bytes::ZERO };
}

/// A header field that an algorithm owns: 16 bytes whose meaning the algorithm defines. [`Needs::header_bytes`]
/// counts its bytes on the wire.
pub type Field = u128;

/// Most header fields of one algorithm.
pub const MAX_FIELDS: usize = 2;

/// Header fields of one packet, at most [`MAX_FIELDS`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fields {
    count: u8,
    fields: [Field; MAX_FIELDS],
}

impl Fields {
    /// No field.
    pub const NONE: Fields = Fields { count: 0, fields: [0; MAX_FIELDS] };

    /// These fields.
    ///
    /// # Panics
    /// They are more than [`MAX_FIELDS`].
    pub fn new(fields: &[Field]) -> Fields {
        assert!(fields.len() <= MAX_FIELDS, "{} header fields; at most {MAX_FIELDS}", fields.len());
        let mut all = Fields { count: fields.len() as u8, ..Fields::NONE };
        all.fields[..fields.len()].copy_from_slice(fields);
        all
    }

    /// In order.
    pub fn as_slice(&self) -> &[Field] {
        &self.fields[..usize::from(self.count)]
    }

    /// The same, to be changed in place.
    pub fn as_mut_slice(&mut self) -> &mut [Field] {
        &mut self.fields[..usize::from(self.count)]
    }
}

/// A delivery-rate sample: payload delivered between two ACKs, over the time that it took
/// (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Payload delivered in the flow's life, this ACK's included, in order or not.
    pub delivered: Bytes,
    /// Of the packets that this ACK newly acknowledges, the one sent last left when this much had been delivered.
    pub prior_delivered: Bytes,
    /// The longer of the times that sending and acknowledging the difference took; zero where there is no valid sample.
    pub interval: Delta,
    /// That packet was sent while the sender had less to send than it might.
    pub app_limited: bool,
    /// Payload that this ACK shows to be lost.
    pub lost: Bytes,
}

impl Delivery {
    /// The rate of the sample, in bits of payload per second; `None` without a valid one.
    pub fn rate(&self) -> Option<Rate> {
        let bits = u128::from((self.delivered - self.prior_delivered).get()) * 8;
        let ps = u128::from(self.interval.as_ps());
        (ps > 0).then(|| Rate::from_bps((bits * 1_000_000_000_000 / ps).min(u128::from(u64::MAX)) as u64))
    }
}

/// A packet that was just sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Offset of its first payload byte.
    pub seq: Bytes,
    /// Its payload.
    pub payload: Bytes,
    /// Payload bytes in flight, this packet included.
    pub in_flight: Bytes,
    /// Sent before.
    pub retransmission: bool,
}

/// The kind of a loss, as the endpoint concluded it. Each is its own event: algorithms treat them differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossKind {
    /// Duplicate ACKs or a negative acknowledgement: something was lost, ACKs still flow.
    FastRetransmit,
    /// The retransmission timer fired.
    Timeout,
    /// An earlier retransmission turns out to have been unnecessary.
    Spurious,
}

/// A loss event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    /// The kind of loss.
    pub kind: LossKind,
    /// Payload bytes that were in flight when the loss was detected.
    pub in_flight: Bytes,
    /// Offset of the next new byte to send.
    pub snd_nxt: Bytes,
}

/// The way by which an endpoint that repairs packet by packet learned of a lost packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketLossKind {
    /// A switch cut off its payload for want of room, and the receiver requested it again: congestion.
    Trimmed,
    /// Packets sent later have arrived.
    Overtaken,
    /// Its retransmission timer fired.
    Timeout,
}

/// A packet that has to be sent again, from an endpoint that repairs packet by packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketLoss {
    /// The way by which the endpoint learned of it.
    pub kind: PacketLossKind,
    /// Its payload.
    pub payload: Bytes,
    /// Payload bytes in flight, this packet no longer among them.
    pub in_flight: Bytes,
    /// Of a trimmed packet: from sending it to learning of it.
    pub rtt: Option<Delta>,
    /// Of a trimmed packet: the last hop before the receiver trimmed it, so that no other path would have helped.
    pub last_hop: bool,
}

/// A message that an algorithm's halves send each other; each becomes a control packet on the wire.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Signal {
    /// Congestion notification packet of DCQCN (SIGCOMM 2015, §3.1).
    Cnp,
    /// Quantized feedback of a QCN congestion point (IEEE 802.1Qau): how severe, 0 (none) to 63.
    Quantized {
        /// |Fb| quantized to six bits.
        feedback: u8,
    },
    /// Notification of PCN (NSDI 2020): the flow is congested, and arrives at this rate.
    ReceiveRate {
        /// Rate of arrival on the wire, headers and framing included.
        rate: Rate,
    },
}

/// One of a flow's (or port's) timers: algorithms number their own, from 0 to [`TimerId::COUNT`] - 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerId(pub u8);

impl TimerId {
    /// Number of timers of a half.
    pub const COUNT: usize = 4;
}

/// A request of a handler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// Call `on_timer` at the given time; replaces an earlier setting of the same timer.
    Arm(TimerId, Time),
    /// Forget the timer.
    Cancel(TimerId),
    /// Send a signal to the flow's source (from a receiver or a port agent: the source of the current packet).
    Emit(Signal),
    /// Send a signal to the source of this flow, without a packet of it at hand. Of port agents only; from others it is nothing, as are
    /// the three below.
    EmitTo(u32, Signal),
    /// Send the telemetry of the current packet to its source, in a control packet ([`Sender::on_telemetry`]).
    ReturnTelemetry,
    /// Take the telemetry off the current packet.
    RemoveTelemetry,
    /// The queue of the current packet's flow, where the port has queues of flows ([`PortAgent::flow_queues`]), gives out
    /// its packets at this rate on the wire from now on.
    Pace(Rate),
}

/// Clock, randomness and effects for one call of a handler.
pub struct Ctx<'a> {
    now: Time,
    random: &'a mut RandomStream,
    effects: &'a mut Vec<Effect>,
}

impl<'a> Ctx<'a> {
    /// A context at `now`; effects are appended to `effects`.
    pub fn new(now: Time, random: &'a mut RandomStream, effects: &'a mut Vec<Effect>) -> Self {
        Ctx { now, random, effects }
    }
    /// The simulated time.
    pub fn now(&self) -> Time {
        self.now
    }
    /// The random stream of this half's host or switch.
    pub fn random(&mut self) -> &mut RandomStream {
        self.random
    }
    /// Have `on_timer(timer)` called at `at`, instead of whenever it was armed for before.
    pub fn arm(&mut self, timer: TimerId, at: Time) {
        self.effects.push(Effect::Arm(timer, at));
    }
    /// Disarm `timer`.
    pub fn cancel(&mut self, timer: TimerId) {
        self.effects.push(Effect::Cancel(timer));
    }
    /// Send `signal` to the flow's source.
    pub fn emit(&mut self, signal: Signal) {
        self.effects.push(Effect::Emit(signal));
    }
    /// Send `signal` to the source of `flow`: [`Effect::EmitTo`].
    pub fn emit_to(&mut self, flow: u32, signal: Signal) {
        self.effects.push(Effect::EmitTo(flow, signal));
    }
    /// Send the telemetry of the current packet to its source: [`Effect::ReturnTelemetry`].
    pub fn return_telemetry(&mut self) {
        self.effects.push(Effect::ReturnTelemetry);
    }
    /// Take the telemetry off the current packet: [`Effect::RemoveTelemetry`].
    pub fn remove_telemetry(&mut self) {
        self.effects.push(Effect::RemoveTelemetry);
    }
    /// Set the rate of the queue of the current packet's flow: [`Effect::Pace`].
    pub fn pace(&mut self, rate: Rate) {
        self.effects.push(Effect::Pace(rate));
    }
}

/// The half at the source host of a flow.
pub trait Sender: Send {
    /// The window and rate that hold now; read after every other call.
    fn control(&self) -> Control;
    /// The slow start threshold in payload bytes, where the algorithm has one ([`Bytes::MAX`] as long as nothing has set it): TCP
    /// paces faster below it.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }
    /// The connection is established: the round-trip time that its handshake measured, queues included. Called before
    /// [`Sender::on_start`], over a TCP endpoint with a handshake only. It is the first sample of an algorithm that keeps
    /// the smallest one as its base round-trip time.
    fn on_established(&mut self, _rtt: Delta) {}
    /// The flow starts.
    fn on_start(&mut self, _ctx: &mut Ctx<'_>) {}
    /// The header fields of a data packet that is about to leave. Called only where [`Needs::fields`] is not zero; returns
    /// exactly that many. They reach the port agents on the way, which may change them, and the receiver.
    fn fields(&mut self, _ctx: &mut Ctx<'_>, _sent: &Sent) -> Fields {
        Fields::NONE
    }
    /// A data packet was handed to the wire. The endpoint may skip the call unless [`Sender::wants_on_send`] returns true.
    fn on_send(&mut self, _ctx: &mut Ctx<'_>, _sent: &Sent) {}
    /// Returns true if the endpoint must call [`Sender::on_send`], which takes time for each packet: an algorithm that has that handler
    /// says so here. The answer never changes.
    fn wants_on_send(&self) -> bool {
        false
    }
    /// An acknowledgement arrived.
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>);
    /// The endpoint detected a loss, or that one was none.
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss);
    /// A packet has to be sent again. Only multipath endpoints report it, for each packet, beside [`Sender::on_loss`],
    /// which they call once per round trip and loss kind: algorithms that count events hear those, algorithms that count
    /// bytes these.
    fn on_packet_loss(&mut self, _ctx: &mut Ctx<'_>, _loss: &PacketLoss) {}
    /// The connection was idle, and its next data goes out now: nothing is in flight. `idle` is the time since the last packet left,
    /// `rto` the retransmission timeout: hosts that validate windows shrink them by it (RFC 2861), others give [`Delta::MAX`]. Called
    /// before that data is sent; an algorithm that measures its path afresh after silence begins here.
    fn on_idle_restart(&mut self, _ctx: &mut Ctx<'_>, _idle: Delta, _rto: Delta) {}
    /// A signal from the receiver or a switch arrived.
    fn on_signal(&mut self, _ctx: &mut Ctx<'_>, _signal: &Signal) {}
    /// Credit arrived: bytes on the wire that the receiving host granted in the flow's life, so that the next makes up for a lost one.
    fn on_credit(&mut self, _ctx: &mut Ctx<'_>, _total: Bytes) {}
    /// Credit in the flow's life that a packet leaving now requests, where `backlog` bytes on the wire have yet to be sent.
    fn credit_demand(&mut self, _backlog: Bytes) -> Bytes {
        Bytes::new(0)
    }
    /// The receiver asks for a smaller window: Rcv_Cwnd_Pend of the acknowledgement whose [`Sender::on_ack`] follows, 0 to 127, and 0
    /// to restore the window before the first one (Ultra Ethernet 1.0, §3.6.13). Called where it is not 0, and once where it is again.
    fn on_receiver_penalty(&mut self, _penalty: u8) {}
    /// Telemetry that a switch on the way took off a data packet and sent back arrived: of the hops up to that switch, in path order.
    fn on_telemetry(&mut self, _ctx: &mut Ctx<'_>, _int: &[IntRecord]) {}
    /// An armed timer fired.
    fn on_timer(&mut self, _ctx: &mut Ctx<'_>, _timer: TimerId) {}
}

/// A data packet as it reaches the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// Offset of its first payload byte.
    pub seq: Bytes,
    /// Its payload.
    pub payload: Bytes,
    /// It was marked Congestion Experienced.
    pub ecn_marked: bool,
    /// In-band telemetry stamped on it, in path order.
    pub int: &'a [IntRecord],
    /// The header fields of the algorithm's own, as they arrive.
    pub fields: &'a [Field],
}

/// The answer of a receiver, which its ACK carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// Echo a Congestion Experienced mark.
    pub ecn_echo: bool,
}

/// The half at the destination host of a flow.
pub trait Receiver: Send {
    /// A data packet arrived. Returns the answer that its ACK carries.
    fn on_data(&mut self, _ctx: &mut Ctx<'_>, data: &Data<'_>) -> Feedback {
        Feedback { ecn_echo: data.ecn_marked }
    }
    /// The header fields of the ACK that answers `data`. Called after [`Receiver::on_data`], only where [`Needs::fields`]
    /// is not zero; returns exactly that many. ACKs that TCP's delayed ACKs merge carry the last ones.
    fn fields(&mut self, data: &Data<'_>) -> Fields {
        Fields::new(data.fields)
    }
    /// An armed timer fired.
    fn on_timer(&mut self, _ctx: &mut Ctx<'_>, _timer: TimerId) {}
}

/// The plain receiver: echoes marks and telemetry.
#[derive(Clone, Copy, Default, Debug)]
pub struct EchoReceiver;
impl Receiver for EchoReceiver {}

/// The datacenters that an egress port connects. A switch is at the border of its datacenter where a link joins it to a
/// switch that is not in the same one: a datacenter-interconnect (DCI) switch, or a core or spine where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Border {
    /// The switch is at no border.
    #[default]
    Inside,
    /// From a switch at the border out of its datacenter.
    Outward,
    /// From a switch at the border into its datacenter.
    Inward,
}

/// A switch's egress port, as an algorithm sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PortInfo {
    /// Rate of the port.
    pub rate: Rate,
    /// Buffer of the switch, shared by its ports.
    pub buffer: Bytes,
    /// Number of the switch in its network.
    pub switch: u32,
    /// Number of the port in its switch.
    pub port: u16,
    /// Where it leads.
    pub border: Border,
    /// Round-trip time inside a datacenter, as [`FlowInfo::intra_rtt`]; zero where the caller only needs to know if
    /// there is an agent.
    pub intra_rtt: Delta,
}

/// The head of a packet that passes a port agent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Head {
    /// Flow that the packet belongs to.
    pub flow: u32,
    /// Size on the wire.
    pub wire: Bytes,
    /// It carries data (and is no ACK or signal).
    pub data: bool,
    /// Its ECN field says Congestion Experienced; an agent may set or clear it. Of an ACK: it echoes a mark.
    pub ecn_marked: bool,
    /// The header fields that the algorithm of its flow owns; an agent may change them.
    pub fields: Fields,
    /// Bytes in the queue of its flow, where the port has queues of flows: as `queue` of [`PortAgent`], without the
    /// current packet.
    pub flow_queue: Bytes,
}

/// A port's decision on an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admit {
    /// Into the queue.
    Enqueue,
    /// Drop it (counted as an agent's drop).
    Drop,
}

/// The half at an egress port of a switch.
///
/// `queue` is the number of data bytes that wait at the port: for `on_enqueue` without the current packet, for `on_dequeue`
/// after it left. Signals go to the source of the current packet; `on_pause` and `on_timer` have none, and name a flow
/// ([`Ctx::emit_to`]).
pub trait PortAgent: Send {
    /// The port keeps the data of each flow in a queue of its own, which gives out packets at a rate that the agent sets ([`Ctx::pace`]). A
    /// queue is assigned when a packet of a flow without one comes, and free again when it is empty and its rate would let a packet go. A
    /// flow that finds none free shares one queue, without a rate, with others as unlucky, until it has nothing there any more.
    fn flow_queues(&self) -> bool {
        false
    }
    /// Initial rate of a queue that is assigned to `flow`.
    fn initial_rate(&mut self, _flow: u32) -> Rate {
        Rate::MAX
    }
    /// A packet is about to join the queue.
    fn on_enqueue(&mut self, _ctx: &mut Ctx<'_>, _head: &mut Head, _queue: Bytes) -> Admit {
        Admit::Enqueue
    }
    /// A packet leaves the queue for the wire.
    fn on_dequeue(&mut self, _ctx: &mut Ctx<'_>, _head: &mut Head, _queue: Bytes) {}
    /// An ACK or signal that entered the switch by this port passes on towards its source.
    fn on_reverse(&mut self, _ctx: &mut Ctx<'_>, _head: &mut Head, _queue: Bytes) {}
    /// The neighbour paused the port by PFC (`paused`), or lets it go on in all classes again.
    fn on_pause(&mut self, _ctx: &mut Ctx<'_>, _paused: bool, _queue: Bytes) {}
    /// An armed timer fired.
    fn on_timer(&mut self, _ctx: &mut Ctx<'_>, _timer: TimerId, _queue: Bytes) {}
}

/// For algorithms that leave switches alone.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoPortAgent;
impl PortAgent for NoPortAgent {}

/// One algorithm: its halves, needs and source.
pub trait Algorithm: 'static {
    /// Its name in scenarios and on the command line: lower case.
    const NAME: &'static str;
    /// One line: what it is.
    const SUMMARY: &'static str;
    /// Where it is specified.
    const SOURCE: &'static str;
    /// Features that the network must offer, with the default parameters.
    const NEEDS: Needs;
    /// The reason for [`Algorithm::NEEDS`].
    const NEEDS_REASON: &'static str = "losses and round-trip times are enough";
    /// The hosts that have it or a preset of it without somebody writing it: names, and where each is.
    const SHIPPED: &'static [(&'static str, Shipped)] = &[];
    /// Its place in the README.
    const LISTED: Listed = Listed::No;
    /// Its parameters.
    type Params: Params;
    /// Its half at the source.
    type Sender: Sender + 'static;
    /// Its half at the destination; [`EchoReceiver`] where there is nothing to do.
    type Receiver: Receiver + 'static;
    /// Its half at switch ports; [`NoPortAgent`] where there is none.
    type Port: PortAgent + 'static;

    /// Named variants of the algorithm: the same code with other parameters.
    const PRESETS: &'static [Preset] = &[];
    /// Parameters as the hosts have them that a scenario's `[transport] preset` names: "linux-4.9" or "linux-6".
    const HOSTS: &'static [Preset] = &[];

    /// Features that the network must offer with these parameters. It differs from [`Algorithm::NEEDS`] where a
    /// parameter uses more.
    fn needs(_params: &Self::Params) -> Needs {
        Self::NEEDS
    }
    /// Returns true if its senders act on a congestion notification packet ([`Signal::Cnp`]) that a switch sends
    /// ([`agents`](crate::agents)).
    fn hears_cnp(_params: &Self::Params) -> bool {
        false
    }
    /// A sender for a flow that starts now.
    fn sender(params: &Self::Params, flow: &FlowInfo) -> Self::Sender;
    /// The receiver of a flow.
    fn receiver(params: &Self::Params, flow: &FlowInfo) -> Self::Receiver;
    /// The agent for a switch port, where [`Needs::port_agent`] says that there is one.
    fn port(_params: &Self::Params, _port: &PortInfo) -> Option<Self::Port> {
        None
    }
    /// The half of a receiving host, which grants credit to all flows that arrive there, where [`Needs::credit`] says that there is one.
    fn granter(_params: &Self::Params, _host: &HostInfo) -> Option<Box<dyn Granter>> {
        None
    }
}
