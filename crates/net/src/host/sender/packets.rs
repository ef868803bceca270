//! Flows over multipath endpoints: packets in and out, and the feedback of each for their algorithms and choosers.

use super::{After, Senders};
use crate::host::departure::Departure;
use crate::host::endpoint::Endpoint;
use crate::host::host_context::HostContext;
use crate::host::multipath::delivery::DeliverySamples;
use crate::host::multipath::mrc::MrcSender;
use crate::host::multipath::sender::Setting;
use crate::host::multipath::wire::{Answer, NOTES, Received, Reflected, Trimmed};
use crate::host::multipath::{MultipathSender, Planes, SelectiveRepeat};
use crate::host::probing;
use crate::ids::{SenderId, Slot};
use crate::packet::{ANSWERS, ASKS, DUPLICATE, MARKED, Note, Packet, PacketKind, pack_number};
use crate::part_context::PartContext;
use crate::trace::Traced;
use farloop_cc::paths::{ChooserParams, PathInfo};
use farloop_cc::{Fields, FlowInfo, Needs, Sender, Sent};
use farloop_engine::RandomStream;
use farloop_network::code::Code;
use farloop_network::spec::MultipathSpec;
use farloop_tcp::Meaning;
use farloop_units::{Bytes, Delta, Time};

/// The part of the default timeout that does not grow with the path (uet-htsim, main_uec.cpp).
pub(crate) const RTO_FLOOR: Delta = Delta::from_us(15);
/// And how many times a queue takes to drain: a queue of a bandwidth-delay product, that is a base round-trip time.
const RTO_QUEUES: u64 = 6;

/// The timeout of a flow: 15 µs and six base round-trip times, or the one that is set, at least one and a half of them, since a timeout
/// within a round trip would repeat every packet.
fn rto(spec: &MultipathSpec, base_rtt: Delta, crosses: bool) -> Delta {
    match spec.rto_across.filter(|_| crosses).or(spec.rto) {
        None => RTO_FLOOR + base_rtt * RTO_QUEUES,
        Some(own) if !spec.rto_growth => own.max(base_rtt),
        Some(least) => least.max(base_rtt * 3 / 2),
    }
}

/// The endpoint of a flow that begins, whose algorithm has these needs.
pub(super) fn endpoint(
    spec: &MultipathSpec,
    (info, needs): (&FlowInfo, Needs),
    code: Option<Code>,
    planes: Option<Planes>,
    random: &mut RandomStream,
) -> Endpoint {
    let (bdp, mss) = (info.bdp().get(), info.mss.get());
    let setting = Setting {
        mss,
        base_rtt: info.base_rtt,
        bdp,
        rto: rto(spec, info.base_rtt, info.crosses),
        rto_growth: spec.rto_growth,
        whole_packets: spec.whole_packets,
        overtaken: spec.overtaken,
        code,
    };
    let count = planes.as_ref().map_or(1, |planes| u64::from(planes.count()));
    // Each plane has a chooser of its own, with the entropy values that it would have alone.
    let bdp_packets = u32::try_from(bdp / mss / count).unwrap_or(u32::MAX).max(1);
    let planes_used = u32::try_from(count).unwrap_or(1);
    let paths = PathInfo { base_rtt: info.base_rtt, bdp_packets, mss: info.mss, planes: planes_used };
    let chooser = spec.paths.start(&paths, random);
    let planes = planes.map(|mut planes| {
        planes.choosers = (1..planes.places).map(|_| spec.paths.start(&paths, random)).collect();
        Box::new(planes)
    });
    let allowed = spec.entry_pacing.then_some(Time::ZERO);
    let entries = spec.entry_times.then(Box::default);
    let mrc = match &spec.paths {
        ChooserParams::Mrc(params) => Some(Box::new(MrcSender::new(params, info.base_rtt))),
        _ => None,
    };
    let mut packets = SelectiveRepeat::new(&setting);
    if needs.delivery_rate {
        packets.samples = DeliverySamples::begin();
    }
    let own = MultipathSender { packets, chooser, planes, allowed, entries, mrc };
    Endpoint::Multipath(Box::new(own))
}

impl Senders {
    /// The next packet of a multipath flow, whose turn it is. As [`Senders::depart`].
    #[inline(never)]
    pub(super) fn depart_by_path(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
    ) -> Option<Departure> {
        cx.trace_turn(self.states[id].record.flow, self.states[id].next_send());
        let (packet, sent) = self.next_by_path(cx, host_cx, id)?;
        let sender = &self.states[id];
        if sender.credit {
            // The credit that this packet uses counts in the flow's demand.
            self.note_departure(cx, host_cx, id, &sent);
            let fields = Fields::new(&[self.credit_demand(id)]);
            return Some(Departure { packet, fields, sent: None });
        }
        let fields = if sender.fields == 0 { Fields::NONE } else { self.fields(cx, host_cx, id, &sent) };
        Some(Departure { packet, fields, sent: Some(sent) })
    }

    /// As [`Senders::depart_quietly`], and under the same conditions.
    #[inline(never)]
    pub(super) fn depart_by_path_quietly(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
    ) -> Option<Slot> {
        let (packet, _) = self.next_by_path(cx, host_cx, id)?;
        Some(cx.inject(packet))
    }

    /// Makes the next packet of a multipath flow, and the record of it that its algorithm may receive.
    #[inline(always)]
    fn next_by_path(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
    ) -> Option<(Packet, Sent)> {
        let sender = &mut self.states[id];
        let due = match &sender.endpoint {
            Endpoint::Multipath(own) if own.allowed.is_some() => sender.next_send(),
            _ => cx.now,
        };
        let Endpoint::Multipath(own) = &mut sender.endpoint else { return None };
        let turn = own.turn(due, cx.now, sender.limit, sender.control.cwnd);
        let starts_timer = own.packets.is_idle();
        let plane = host_cx.plane;
        let data = (sender.limit, turn.new);
        let next = own.next(cx.now, data, (sender.control.cwnd, plane), &mut host_cx.random);
        if next.again && cx.observers().is_some() {
            cx.trace_repeat(sender.record.flow, own.path_state(next.before));
        }
        let sent = Sent {
            seq: Bytes::new(next.offset),
            payload: Bytes::new(next.payload),
            in_flight: Bytes::new(own.packets.in_flight()),
            retransmission: next.again,
        };
        let wire = next.payload as u16 + sender.overhead;
        if own.packets.code.is_some_and(|code| code.data(next.number) == 0) {
            cx.counters.totals.repairs += 1;
            cx.counters.totals.repair_bytes += u64::from(wire);
        }
        let dst = if plane == 0 { sender.dst } else { cx.network.nics.address(sender.dst, plane) };
        let mut packet = Packet::new(PacketKind::Data, sender.class, sender.flow, dst, wire);
        (packet.seq, packet.sent) = (pack_number(next.number, next.entropy), turn.sent);
        packet.flags = if next.wants_ack { ASKS } else { 0 };
        (sender.last_send, sender.last_wire) = (turn.paced_from, wire);
        sender.record.counts.packets += 1;
        sender.record.counts.retransmitted += u64::from(next.again);
        if starts_timer {
            self.arm_endpoint(cx, host_cx, id);
        }
        Some((packet, sent))
    }

    /// Returns the credit demand of a flow, which its packets carry to the receiving host.
    fn credit_demand(&mut self, id: SenderId) -> Note {
        let sender = &mut self.states[id];
        let Endpoint::Multipath(own) = &sender.endpoint else { return 0 };
        let packet = u128::from(sender.mss + sender.overhead);
        let wire = u128::from(own.packets.backlog(sender.limit)) * packet / u128::from(sender.mss);
        let backlog = u64::try_from(wire).unwrap_or(u64::MAX);
        Note::from(sender.cc.credit_demand(Bytes::new(backlog)).get())
    }

    /// Credit reached the source of a flow.
    pub(super) fn on_credit(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) -> After {
        let (flow, total) = (cx.packets[slot].flow, Bytes::new(cx.packets[slot].number()));
        cx.packets.remove(slot);
        let Some(id) = self.lives.active_key(flow) else { return After::Nothing };
        self.call(cx, host_cx, id, |cc, ctx| cc.on_credit(ctx, total));
        After::Changed(id)
    }

    /// An ACK or NACK reached the source of a flow.
    #[inline(never)]
    pub(super) fn on_packet_answer(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        slot: Slot,
    ) -> After {
        let (now, packet) = (cx.now, &cx.packets[slot]);
        let sender = &mut self.states[id];
        let (limit, cwnd) = (sender.limit, sender.control.cwnd);
        let Endpoint::Multipath(own) = &mut sender.endpoint else { return After::Nothing };
        let (number, mut entropy, sent) = (packet.number(), packet.entropy(), packet.sent);
        let mut penalty = None;
        if let Some(mrc) = &mut own.mrc {
            let behind = if packet.kind == PacketKind::Nack { 0 } else { usize::from(sender.fields) + NOTES };
            let reflected = Reflected::from_notes(cx.packets.notes(slot), behind);
            entropy = reflected.map_or(entropy, |reflected| reflected.entropy);
            penalty = mrc.hear(now, reflected.as_ref());
        }
        if own.planes.is_some() {
            // Most often that by which the answer has come; a host with fewer ports answers by others.
            own.packets.plane = own.packets.plane_of(number, sent).unwrap_or(host_cx.plane);
        }
        let mut meaning = if packet.kind == PacketKind::Nack && packet.flags & ASKS != 0 {
            let received = Received::from_notes(cx.packets.notes(slot), usize::from(sender.fields));
            own.packets.on_block(now, limit, number, &received)
        } else if packet.kind == PacketKind::Nack {
            let (marked, last_hop) = (packet.flags & MARKED != 0, packet.value != 0);
            own.packets.on_nack(now, limit, &Trimmed { number, entropy, sent, marked, last_hop })
        } else {
            let received = Received::from_notes(cx.packets.notes(slot), usize::from(sender.fields));
            let (marked, duplicate) = (packet.flags & MARKED != 0, packet.flags & DUPLICATE != 0);
            own.packets.on_ack(now, limit, cwnd, &Answer { number, entropy, sent, marked, duplicate, received })
        };
        if packet.kind == PacketKind::Ack && packet.flags & ASKS != 0 {
            meaning.loss = own.packets.on_probe_answer(now, limit, sent).or(meaning.loss);
        }
        if let Some(penalty) = penalty {
            sender.cc.on_receiver_penalty(penalty);
        }
        self.tell_of_packets(cx, host_cx, id);
        self.tell_once_more(cx, host_cx, id, &meaning, Some(slot))
    }

    /// Passes on the meaning of a timer of the endpoint, which may have been one for probes.
    pub(super) fn tell_of_timer(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        meaning: &Meaning,
    ) -> After {
        self.tell_of_packets(cx, host_cx, id);
        self.send_probes(cx, host_cx, id);
        self.tell_once_more(cx, host_cx, id, meaning, None)
    }

    /// Sends the probes of a flow that are due, as `mrc` has them.
    fn send_probes(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId) {
        let sender = &mut self.states[id];
        let Endpoint::Multipath(own) = &mut sender.endpoint else { return };
        for probe in own.due_probes(cx.now, host_cx.down, &mut host_cx.random) {
            let way = (probe.plane, probe.entropy);
            let mut packet = probing::request(cx, sender.flow, (sender.class, sender.dst), false, way);
            packet.flags = if probe.reliability { ASKS } else { 0 };
            let slot = cx.inject(packet);
            host_cx.outgoing.push(slot);
        }
    }

    /// A probe reached the source of a flow.
    #[cold]
    pub fn on_probe(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) -> After {
        if cx.packets[slot].flags & ANSWERS != 0 {
            return self.on_probe_answer(cx, host_cx, slot);
        }
        self.answer_probe(cx, host_cx, slot);
        After::Nothing
    }

    /// A receiver probes a control path: the answer goes by one of the data's.
    fn answer_probe(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) {
        let packet = &cx.packets[slot];
        let id = self.lives.active_key(packet.flow);
        let Some((id, Endpoint::Multipath(own))) = id.map(|id| (id, &mut self.states[id].endpoint)) else {
            return cx.packets.remove(slot);
        };
        let entropy = own.any_good(probing::plane(packet), &mut host_cx.random);
        probing::answer(cx, host_cx, slot, self.states[id].dst, entropy);
    }

    /// A probe of a flow's path was answered.
    fn on_probe_answer(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) -> After {
        let packet = cx.packets[slot];
        cx.packets.remove(slot);
        let Some(id) = self.lives.active_key(packet.flow) else { return After::Nothing };
        if let Endpoint::Multipath(own) = &mut self.states[id].endpoint {
            let way = (probing::plane(&packet), probing::subject(&packet));
            own.on_probe_answer(cx.now, way, packet.flags & MARKED != 0);
        }
        self.arm_endpoint(cx, host_cx, id);
        After::Changed(id)
    }

    /// Passes the feedback on packets to the chooser, and the losses to the algorithm.
    pub(super) fn tell_of_packets(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId) {
        let sender = &mut self.states[id];
        let Endpoint::Multipath(own) = &mut sender.endpoint else { return };
        own.tell_chooser(cx.now, sender.control.cwnd, &mut host_cx.random);
        sender.record.counts.spurious += std::mem::take(&mut own.packets.spurious);
        if own.packets.losses.is_empty() {
            return;
        }
        let mut losses = std::mem::take(&mut own.packets.losses);
        self.call(cx, host_cx, id, |cc, ctx| losses.iter().for_each(|loss| cc.on_packet_loss(ctx, loss)));
        losses.clear();
        // The list is kept, so that it need not grow anew.
        if let Endpoint::Multipath(own) = &mut self.states[id].endpoint {
            own.packets.losses = losses;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_grow_with_the_path_and_are_never_within_a_round_trip() {
        let (us, spec) = (Delta::from_us, MultipathSpec::default());
        assert_eq!(rto(&spec, us(10), false), us(75));
        let set = |least| MultipathSpec { rto: Some(least), ..MultipathSpec::default() };
        assert_eq!([us(100), us(9), us(15)].map(|least| rto(&set(least), us(10), true)), [us(100), us(15), us(15)]);
        // Flows across have their own; without growth it is the one that is set.
        let across = MultipathSpec { rto_across: Some(us(30)), rto_growth: false, ..set(us(12)) };
        assert_eq!([false, true].map(|crosses| rto(&across, us(10), crosses)), [us(12), us(30)]);
        assert_eq!(rto(&across, us(20), false), us(20), "never within a round trip");
    }
}
