//! Trimming: a packet that finds no room loses its payload, and the rest goes on in the class of ACKs (NDP, SIGCOMM 2017, §3.2.4; Ultra
//! Ethernet 1.0).
//!
//! The arriving packet is trimmed, where uet-htsim (htsim/sim/compositequeue.cpp, commit 40ccb05) trims it or the newest one that waits,
//! each with probability 1/2. It is trimmed when the data queue of its port would exceed the limit, by whichever link it came, and when
//! there is no buffer for it. Its headers are dropped where more than twice the limit would wait in the class of ACKs, as there.

use super::Switches;
use crate::ids::{PortId, Slot, SwitchId};
use crate::packet::{CONTROL, MARKED, PacketKind};
use crate::part_context::PartContext;
use farloop_network::NodeRef;
use farloop_network::spec::{SwitchSpec, TransportSpec};
use farloop_trace::Cause;

/// Trimming settings of a switch.
#[derive(Clone, Copy)]
pub(crate) struct Trimming {
    /// A trimmed packet on the wire.
    wire: u16,
    /// Longest data queue of a port, in packets.
    limit_packets: u32,
    /// Flags that a trimmed packet keeps.
    kept: u8,
}

/// The class of ACKs may hold this many times the limit of the data.
const CONTROL_ROOM: u64 = 2;

impl Trimming {
    /// The settings of a switch; `None` where it drops.
    pub fn from_spec(switch: &SwitchSpec, transport: &TransportSpec) -> Option<Trimming> {
        let trim = switch.trim?;
        let wire = (trim.size + transport.framing).get();
        Some(Trimming {
            wire: u16::try_from(wire).unwrap_or(u16::MAX),
            limit_packets: switch.queue_limit.packets.unwrap_or(u32::MAX),
            kept: if trim.keeps_mark { u8::MAX } else { !MARKED },
        })
    }
}

impl Switches {
    /// Returns true if a data packet would make the queue of port `out` of switch `s`, which trims, longer than it may be.
    pub(super) fn overflows(&self, cx: &PartContext, s: SwitchId, out: PortId, slot: Slot) -> bool {
        let Some(trimming) = &self.switches[s].trimming else { return false };
        let port = &cx.ports[out];
        let bytes = port.data_queue + u64::from(cx.packets[slot].wire);
        bytes > cx.stats[out].limit || port.data_packets >= trimming.limit_packets
    }

    /// Cuts the payload off a data packet that finds no room at port `out` of switch `s`, and lets the rest wait before the data.
    #[cold]
    pub(super) fn trim(&mut self, cx: &mut PartContext, s: SwitchId, out: PortId, slot: Slot) {
        let Some(trimming) = self.switches[s].trimming else { return };
        let last_hop = matches!(cx.network.ends[cx.numbers[out]].peer, NodeRef::Host(_));
        if cx.packets[slot].kind == PacketKind::Probe {
            return cx.lose(out, slot, Cause::QueueLimit);
        }
        // The credit demand of its sender stays.
        cx.packets.remove_telemetry(slot);
        let packet = &mut cx.packets[slot];
        debug_assert_eq!(packet.kind, PacketKind::Data);
        let wire = packet.wire.min(trimming.wire);
        let cut = packet.wire - wire;
        (packet.kind, packet.class, packet.wire) = (PacketKind::Trimmed, CONTROL, wire);
        (packet.value, packet.flags) = (u8::from(last_hop), packet.flags & trimming.kept);
        cx.counters.totals.trimmed += 1;
        cx.counters.totals.trimmed_bytes += u64::from(cut);
        cx.stats[out].row.trimmed += 1;
        let room = cx.stats[out].limit.saturating_mul(CONTROL_ROOM);
        if cx.stats[out].control + u64::from(wire) > room {
            return cx.lose(out, slot, Cause::QueueLimit);
        }
        // The transmitter may have become free for packets that go before data, which a pause has held.
        note_waits(cx, out, slot);
        cx.enqueue::<false>(out, slot);
        self.kick::<false>(cx, s, out);
    }
}

/// A packet joins a queue of port `p`.
pub(super) fn note_waits(cx: &mut PartContext, p: PortId, slot: Slot) {
    let packet = &cx.packets[slot];
    if packet.class == CONTROL {
        cx.stats[p].control += u64::from(packet.wire);
    }
}

/// A packet has left its queue at port `p`.
pub(super) fn note_leaves(cx: &mut PartContext, p: PortId, slot: Slot) {
    let packet = &cx.packets[slot];
    if packet.class == CONTROL {
        cx.stats[p].control -= u64::from(packet.wire);
    }
}
