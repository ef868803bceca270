//! Ports whose links go down and come up again.
//!
//! A switch knows at once that the link of one of its ports is down: packets that wait there are dropped, and so are those that come for
//! it, until the routes avoid it. Both ends forget the pauses that went over the link. When it comes up, a switch that still holds too
//! many packets that came by it pauses the neighbour anew.

use super::Switches;
use super::admission::AdmittedPacket;
use crate::ids::{PortId, Slot, SwitchId};
use crate::packet::{DATA, PacketKind};
use crate::part_context::PartContext;
use crate::port::Owner;
use farloop_network::spec::DATA_CLASSES;
use farloop_units::{Bytes, Time};

/// The link of port `p` of switch `s` goes down.
pub(crate) fn goes_down(switches: &mut Switches, cx: &mut PartContext, s: SwitchId, p: PortId) {
    cx.arm(p, Time::NEVER);
    cx.ports[p].busy_until = Time::NEVER;
    switches.switches[s].buffer.forget_pauses(&mut switches.ingress[p]);
    let (waiting, was_paused) = cx.drain(p);
    if was_paused && cx.ports[p].agent.exists() {
        switches.with_agent(cx, s, p, Slot::NONE, |agent, ctx| agent.on_pause(ctx, false, Bytes::ZERO));
    }
    for slot in waiting {
        let packet = &cx.packets[slot];
        if packet.class < DATA {
            cx.drop_down(p, slot);
            continue;
        }
        let place = AdmittedPacket::from_packet(packet);
        cx.drop_down(p, slot);
        switches.release(cx, s, &place);
    }
}

/// The link of port `p` of switch `s` comes up.
pub(crate) fn comes_up(switches: &mut Switches, cx: &mut PartContext, s: SwitchId, p: PortId) {
    cx.ports[p].busy_until = cx.now;
    for data_class in 0..DATA_CLASSES {
        if switches.switches[s].buffer.stops_again(&mut switches.ingress[p], data_class) {
            let out = holding_port(cx, s, p, data_class);
            switches.send_pfc(cx, s, p, PacketKind::Xoff, data_class, out);
        }
    }
}

/// The first egress port of switch `s` where something of a class waits that came by `ingress`.
fn holding_port(cx: &PartContext, s: SwitchId, ingress: PortId, data_class: usize) -> PortId {
    let came_by = |slot: Slot| cx.packets[slot].ingress() == ingress;
    let holds = |p: &PortId| cx.ports[*p].owner == Owner::Switch(s) && cx.waiting_packets(*p, data_class).any(came_by);
    cx.ports.keys().find(holds).expect("what is charged to an ingress waits somewhere")
}
