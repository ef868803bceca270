//! Switches that choose before their routes do, by what they know of their links: for each packet (`ecmp = "adaptive"`), or once for each
//! flow (`"lcmp"`).
//!
//! A flow is known by its number and the host that a packet is bound for, so ACKs choose for themselves. Of links, those that are up count.
//! A flow stays on its path only as long as that leads on.

use super::lcmp::{Candidate, KnownFlows, Lcmp};
use crate::ids::{FlowId, HostNumber, PortId, SwitchId};
use crate::packet::Packet;
use crate::part_context::PartContext;
use farloop_network::routing::Routes;
use farloop_network::spec::Ecmp;
use farloop_units::Time;

/// The rule by which a switch chooses before its routes do.
pub(crate) enum PathChooser {
    /// The port with the least data waiting, packet by packet.
    Queues,
    /// LCMP, flow by flow.
    Lcmp(Box<FlowPaths>),
}

/// The paths that LCMP has chosen at a switch.
pub(crate) struct FlowPaths {
    lcmp: Lcmp<PortId>,
    flows: KnownFlows<(FlowId, HostNumber), PortId>,
}

impl PathChooser {
    /// The chooser of a switch; `None` where the routes choose.
    pub fn new(ecmp: Ecmp) -> Option<PathChooser> {
        match ecmp {
            Ecmp::Adaptive => Some(PathChooser::Queues),
            Ecmp::Lcmp(params) => {
                let (lcmp, flows) = (Lcmp::new(params), KnownFlows::new(params.idle));
                Some(PathChooser::Lcmp(Box::new(FlowPaths { lcmp, flows })))
            }
            Ecmp::Flow | Ecmp::Packet | Ecmp::Symmetric | Ecmp::Entropy | Ecmp::Source | Ecmp::Ucmp => None,
        }
    }

    /// The port of switch `s`, which has these ports, for a packet; `None` where no link that leads on is up.
    #[inline(never)]
    pub fn choose(
        &mut self,
        cx: &PartContext,
        routes: &Routes<SwitchId, PortId>,
        (s, ports): (SwitchId, &[PortId]),
        packet: &Packet,
    ) -> Option<PortId> {
        match self {
            PathChooser::Queues => least_queue(cx, routes, s, packet),
            PathChooser::Lcmp(paths) => paths.choose(cx, routes, (s, ports), packet),
        }
    }
}

/// The port with the least data waiting of those that lead to a packet's destination and whose links are up; of equal ones those that
/// are not transmitting, then another one each time. All of them are on time ([`crate::departures::punctual`]).
fn least_queue(cx: &PartContext, routes: &Routes<SwitchId, PortId>, s: SwitchId, packet: &Packet) -> Option<PortId> {
    let mut ways = routes.group(s, packet.dst);
    let (size, first) = (ways.len(), routes.choose_first(s, packet, ways.len()));
    let place = |at: usize| (at + size - first) % size;
    let up = ways.by_ref().enumerate().filter(|(_, p)| is_up(cx, *p));
    let least = up.min_by_key(|(at, p)| (cx.ports[*p].data_queue, cx.ports[*p].busy_until > cx.now, place(*at)));
    least.map(|(_, p)| p)
}

fn is_up(cx: &PartContext, port: PortId) -> bool {
    cx.ports[port].busy_until != Time::NEVER
}

impl FlowPaths {
    /// [`PathChooser::choose`].
    fn choose(
        &mut self,
        cx: &PartContext,
        routes: &Routes<SwitchId, PortId>,
        (s, ports): (SwitchId, &[PortId]),
        packet: &Packet,
    ) -> Option<PortId> {
        let mut ways = routes.group(s, packet.dst);
        if ways.len() < 2 {
            return ways.next();
        }
        let flow = (packet.flow, packet.dst);
        if let Some(port) = self.flows.see(flow, cx.now).filter(|port| is_up(cx, *port) && ways.any(|way| way == *port))
        {
            return Some(port);
        }
        let candidates: Vec<Candidate<PortId>> = routes
            .group(s, packet.dst)
            .filter(|port| is_up(cx, *port))
            .map(|port| Candidate { port, delay: cx.ports[port].delay, rate: cx.ports[port].rate })
            .collect();
        let queues: Vec<(PortId, u64)> = ports.iter().map(|port| (*port, cx.ports[*port].data_queue)).collect();
        let costs = self.lcmp.costs(&queues, &candidates);
        let places = self.lcmp.shares(&costs);
        let place = *places.get(routes.choose_place(s, packet.flow, places.len()))?;
        let chosen = candidates[place].port;
        self.flows.add(flow, chosen, cx.now);
        Some(chosen)
    }
}
