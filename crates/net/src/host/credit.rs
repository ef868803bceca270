//! Receiver credit: grants of a host to the flows that arrive there.
//!
//! The half of an algorithm at the host ([`Granter`]) sees each packet that arrives, and decides on the flow, the size and the time of
//! each grant; here grants become control packets ([`PacketKind::Credit`]). The granter is made when the first flow comes that needs
//! credit, so that others pay for nothing. Data packets carry their sender's demand as their one note.

use super::host_context::{HostContext, HostCredit};
use super::timers::{Deadlines, Due, Side, Which};
use crate::ids::{FlowId, Slot};
use crate::packet::{MARKED, Packet, PacketKind, pack_number};
use crate::part_context::PartContext;
use farloop_cc::FlowInfo;
use farloop_cc::credit::{GrantCtx, Granter, HostInfo};
use farloop_cc::paths::Entropy;
use farloop_units::{Bytes, Time};

/// The first packet of a flow that needs credit has come.
#[cold]
pub(super) fn on_begin(cx: &PartContext, host_cx: &mut HostContext, flow: FlowId, info: &FlowInfo) {
    if host_cx.credit.is_none() {
        let network = &cx.network;
        let host = HostInfo {
            line_rate: network.ends[network.host_ports[network.destination(flow)].other_end()].rate,
            mss: info.mss,
            base_rtt: info.base_rtt.max(network.intra_rtt),
            oversubscription: network.oversubscription,
        };
        let granter = network.algorithms[usize::from(network.flows.algorithm(flow))].granter(&host);
        host_cx.credit = granter.map(|granter| Box::new(HostCredit { granter, deadlines: Deadlines::default() }));
    }
    if let Some(credit) = &mut host_cx.credit {
        credit.granter.on_begin(flow.0, info.bdp(), info.packet);
    }
}

/// A data packet of such a flow has come, whole or trimmed.
pub(super) fn on_packet(cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) {
    let packet = &cx.packets[slot];
    let (flow, marked) = (packet.flow.0, packet.flags & MARKED != 0);
    let trimmed = (packet.kind == PacketKind::Trimmed).then_some(packet.value != 0);
    let wanted = cx.packets.notes(slot).first().map(|note| Bytes::new(*note as u64));
    call_granter(cx, host_cx, |granter, ctx| {
        if let Some(total) = wanted {
            granter.on_wanted(ctx, flow, total);
        }
        granter.on_data(ctx, marked);
        if let Some(last_hop) = trimmed {
            granter.on_trimmed(ctx, flow, last_hop);
        }
    });
}

/// A flow that needs credit has arrived whole.
pub(super) fn on_finish(cx: &mut PartContext, host_cx: &mut HostContext, flow: FlowId) {
    call_granter(cx, host_cx, |granter, _| granter.on_finish(flow.0));
}

/// The host's timer entry of `at` has come due: sends the credit granted by now.
pub(super) fn on_timer(cx: &mut PartContext, host_cx: &mut HostContext, at: Time) {
    let Some(credit) = &mut host_cx.credit else { return };
    match credit.deadlines.resolve(Which::TRANSPORT, at) {
        Due::Stale => return,
        Due::Later(_) => return call_granter(cx, host_cx, |_, _| {}),
        Due::Fire => {}
    }
    let mut grant = None;
    call_granter(cx, host_cx, |granter, ctx| {
        if granter.next_pull().is_some_and(|due| due <= ctx.now) {
            grant = granter.pull(ctx);
        }
    });
    let Some(grant) = grant else { return };
    // Any path will do: the packet names none, so the sender learns of none.
    let entropy = host_cx.random.below(1 << Entropy::BITS) as Entropy;
    let seq = pack_number(grant.total.get().min(u64::MAX >> Entropy::BITS), entropy);
    let packet = Packet { seq, sent: cx.now, ..cx.control_packet(PacketKind::Credit, FlowId(grant.flow)) };
    cx.counters.totals.credits += 1;
    cx.counters.totals.credit_bytes += u64::from(packet.wire);
    let slot = cx.inject(packet);
    host_cx.outgoing.push(slot);
}

/// Calls the host's half, and has it called again when it wants to be.
fn call_granter(cx: &mut PartContext, host_cx: &mut HostContext, f: impl FnOnce(&mut dyn Granter, &mut GrantCtx<'_>)) {
    let Some(mut credit) = host_cx.credit.take() else { return };
    f(&mut *credit.granter, &mut GrantCtx { now: cx.now, random: &mut host_cx.random });
    let next = credit.granter.next_pull().map_or(Time::NEVER, |at| at.max(cx.now));
    host_cx.arm(cx, &mut credit.deadlines, FlowId::NONE, Side::Host, Which::TRANSPORT, next);
    host_cx.credit = Some(credit);
}
