//! Ports whose links go down and come up again.
//!
//! A switch knows at once that the link of one of its ports is down: what waits there is dropped, and what comes for it, until the routes
//! avoid it. Both ends forget the pauses that went over the link. When it comes up, a switch that still holds too much of what came by it
//! pauses the neighbour anew.

use super::Switches;
use super::taken::Taken;
use crate::ids::{PortId, Slot, SwitchId};
use crate::medium::Medium;
use crate::packet::{DATA, PacketKind};
use crate::port::Owner;
use crate::spec::DATA_CLASSES;
use farloop_units::{Bytes, Time};

/// The link of port `p` of switch `s` goes down.
pub(crate) fn goes_down(switches: &mut Switches, m: &mut Medium, s: SwitchId, p: PortId) {
    m.arm(p, Time::NEVER);
    m.ports[p].busy_until = Time::NEVER;
    switches.switches[s].buffer.forget_pauses(&mut switches.ingress[p]);
    let (waiting, was_paused) = m.drain(p);
    if was_paused && m.ports[p].agent.exists() {
        switches.with_agent(m, s, p, Slot::NONE, |agent, ctx| agent.on_pause(ctx, false, Bytes::ZERO));
    }
    for slot in waiting {
        let packet = &m.packets[slot];
        if packet.class < DATA {
            m.drop_down(p, slot);
            continue;
        }
        let place = Taken::by(packet);
        m.drop_down(p, slot);
        switches.release(m, s, &place);
    }
}

/// The link of port `p` of switch `s` comes up.
pub(crate) fn comes_up(switches: &mut Switches, m: &mut Medium, s: SwitchId, p: PortId) {
    m.ports[p].busy_until = m.now;
    for data_class in 0..DATA_CLASSES {
        if switches.switches[s].buffer.stops_again(&mut switches.ingress[p], data_class) {
            let out = holds(m, s, p, data_class);
            switches.send_pfc(m, s, p, PacketKind::Xoff, data_class, out);
        }
    }
}

/// The first egress port of switch `s` where something of a class waits that came by `ingress`.
fn holds(m: &Medium, s: SwitchId, ingress: PortId, data_class: usize) -> PortId {
    let came_by = |slot: Slot| m.packets[slot].ingress() == ingress;
    let holds = |p: &PortId| m.ports[*p].owner == Owner::Switch(s) && m.waiting(*p, data_class).any(came_by);
    m.ports.keys().find(holds).expect("what is charged to an ingress waits somewhere")
}
