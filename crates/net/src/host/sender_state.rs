//! The state of an active flow at its source: its data, its window and pacing, and its algorithm.

use super::account::Account;
use super::endpoint::Endpoint;
use super::nic::Place;
use super::tcp::{Chunk, TcpSender};
use super::timers::Deadlines;
use crate::counters::FlowRecord;
use crate::ids::{FlowId, HostNumber};
use crate::packet::DATA;
use crate::trace::{Seen, Sending};
use farloop_cc::{AnySender, Control, FlowInfo, Sender};
use farloop_network::Network;
use farloop_network::spec::TransportKind;
use farloop_trace::why::Source;
use farloop_units::{Bytes, Delta, Rate, Time};

/// State of an active flow at its source.
pub(crate) struct SenderState {
    /// The flow, which its packets carry; of a persistent connection the one that opened it. The flow that uses it is in `counts`.
    pub flow: FlowId,
    pub dst: HostNumber,
    /// The NIC port that it uses, by its place among those of its host.
    pub port: u8,
    pub place: Place,
    pub class: u8,
    pub mss: u16,
    /// Headers and framing of a data packet.
    pub overhead: u16,
    /// Size of a segment without payload on the wire.
    pub bare_wire: u16,
    /// 16-byte header fields that the algorithm owns.
    pub fields: u8,
    /// True if its packets carry its credit demand to the receiving host.
    pub credit: bool,
    /// True if its algorithm sees packets that leave, or TCP paces by the data in flight at that time.
    pub wants_on_send: bool,
    /// Payload to send in all; `u64::MAX` for unlimited flows; shrinks to the bytes sent when stopped.
    pub limit: u64,
    /// Offset of the flow's first byte: on a persistent connection, the bytes that earlier flows have sent.
    pub begin: u64,
    /// True for a persistent connection that no flow uses.
    pub idle: bool,
    /// Number of connections that had been opened before this one; zero without persistent ones.
    pub opened: u32,
    pub endpoint: Endpoint,
    pub control: Control,
    /// Pacing gap after a full packet at the current rate.
    pub gap: Delta,
    pub chunk: Chunk,
    /// When the last packet left; from where pacing goes on, it may be before ([`MultipathSender::paced_from`]).
    pub last_send: Time,
    pub last_wire: u16,
    pub deadlines: Deadlines,
    pub latest_rtt: Delta,
    pub account: Account,
    pub record: FlowRecord,
    pub cc: AnySender,
}

impl SenderState {
    /// The state of a flow that starts.
    pub fn new(
        network: &Network,
        flow: FlowId,
        (info, slowest): (&FlowInfo, Rate),
        endpoint: Endpoint,
        cc: AnySender,
        now: Time,
    ) -> SenderState {
        let (control, format) = (cc.control(), network.format(flow));
        let offloads = network.transport.kind == TransportKind::Tcp && network.transport.tcp.segmentation_offload;
        let mut sender = SenderState {
            flow,
            dst: match network.sprays {
                true => network.nics.first(network.destination(flow)),
                false => network.destination(flow),
            },
            port: network.nics.place(network.source(flow)),
            place: Place::Blocked,
            class: DATA + network.flows.class(flow),
            mss: info.mss.get() as u16,
            overhead: (info.packet - info.mss).get() as u16,
            bare_wire: format.ack_wire,
            fields: format.fields,
            wants_on_send: cc.wants_on_send()
                || network.transport.kind == TransportKind::Tcp && network.transport.tcp.pacing.is_some(),
            credit: network.needs_credit(flow),
            // A queue pair gets to know of its messages one by one.
            limit: if network.pairs.contains(flow) { 0 } else { network.flows.size(flow).get() },
            begin: 0,
            idle: false,
            opened: 0,
            endpoint,
            control: Control { cwnd: Bytes::ZERO, pacing: Rate::ZERO },
            gap: Delta::ZERO,
            chunk: Chunk::default(),
            last_send: Time::ZERO,
            last_wire: 0,
            deadlines: Deadlines::default(),
            latest_rtt: Delta::ZERO,
            account: Account::new(now, info, slowest, offloads),
            record: FlowRecord::new(flow),
            cc,
        };
        sender.take_control(control, now);
        sender
    }

    /// Returns true if a queue pair will have messages that it does not know of yet.
    pub fn has_more(&self, network: &Network) -> bool {
        self.limit < network.flows.size(self.flow).get()
    }

    pub fn data_class(&self) -> usize {
        usize::from(self.class - DATA)
    }

    #[inline]
    pub fn take_control(&mut self, control: Control, now: Time) {
        let cc = &self.cc;
        let control = self.endpoint.take_control(control, || cc.ssthresh());
        if control.pacing != self.control.pacing {
            let full = Bytes::new(u64::from(self.mss) + u64::from(self.overhead));
            self.gap = if control.pacing == Rate::MAX { Delta::ZERO } else { control.pacing.time_to_send(full) };
            self.chunk.size = self.endpoint.chunk(control.pacing, self.mss);
            self.pace_by(self.gap, now);
        }
        self.control = control;
    }

    /// Returns the state that traces show.
    #[inline(always)]
    pub fn view(&self) -> Seen<'_> {
        let SenderState { begin, control, latest_rtt, .. } = self;
        Seen { flow: self.record.flow, begin: *begin, control, latest_rtt: *latest_rtt, state: self }
    }

    /// Window and rate that hold now.
    pub fn control(&self) -> Control {
        self.control
    }

    /// When pacing allows the next packet: re-timed from the last one whenever the rate changes.
    #[inline(always)]
    pub fn next_send(&self) -> Time {
        if self.last_wire == 0 {
            return Time::ZERO;
        }
        if self.chunk.left > 0 {
            return self.last_send;
        }
        if self.chunk.wire > 0 && self.control.pacing != Rate::MAX {
            let wire = Bytes::new(u64::from(self.chunk.wire));
            return self.chunk.began.saturating_add(self.control.pacing.time_to_send(wire));
        }
        let full = self.mss + self.overhead;
        if self.last_wire == full {
            return self.last_send.saturating_add(self.gap);
        }
        let wire = Bytes::new(u64::from(self.last_wire));
        let gap = if self.control.pacing == Rate::MAX { Delta::ZERO } else { self.control.pacing.time_to_send(wire) };
        self.last_send.saturating_add(gap)
    }

    /// Its window may have changed: notes the room that packets enter their host's queue by.
    #[inline]
    pub fn note_room(&mut self, now: Time) {
        if let Endpoint::Multipath(own) = &mut self.endpoint {
            own.note_room(now, self.control.cwnd);
        }
    }

    /// Recomputes the payload that segmentation offload allows until the next ACK.
    pub fn offload(&mut self, now: Time) {
        let (control, cc) = (self.control, &self.cc);
        if let Some(tcp) = self.endpoint.tcp_mut() {
            tcp.offload(now, self.last_send, control, || cc.ssthresh(), self.mss);
        }
    }
}

impl Sending for SenderState {
    fn source(&self) -> Source {
        Source {
            packets: self.record.counts.packets,
            payload: u32::from(self.last_wire.saturating_sub(self.overhead)),
            in_flight: self.endpoint.progress().2.get(),
            acknowledged: self.endpoint.acknowledged_bytes(),
            window: self.control.cwnd,
            next: self.next_send(),
            turn: self.endpoint.tcp().map(TcpSender::turn),
        }
    }
}
