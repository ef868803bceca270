//! Departures that are made late: a packet that is due at a port is sent when somebody looks, not by an event of its own.
//!
//! A packet that waits for its transmitter leaves at a time that is known when it is queued. Nobody sees whether it has left until its
//! port is looked at, so most ports have no event for it: the code that looks makes the port catch up first, each departure with the clock
//! of its own time. That gives one event for each packet-hop, its arrival. A port catches up
//!
//! - before a packet lands from its link: the one behind it must be there;
//! - before a packet is queued there, and before a PFC frame stops it or lets it go on;
//! - a host's before the host does anything;
//! - before samples, looks and the end of a run.
//!
//! Something always looks: while a packet is on the port's link its landing does, and a port whose link is empty has an event
//! ([`PartContext::arm`](crate::part_context::PartContext::arm)). So a port is late by the delay of its link at most: a packet that waits
//! at the landing of the packet before it was due at that packet's departure or later.
//!
//! Other ports see only one effect of a late port: the buffer that its packets take in the switch. Counts that are too large are bounds. A
//! packet that finds room with them is admitted. One that does not makes all ports of the switch catch up, and is checked again. Only an
//! Xon would come late. So from an Xoff of a switch until its last Xon all of its ports are on time
//! ([`Switches::catch_up_switch`](crate::switch::Switches)).
//!
//! Some ports are always on time ([`punctual`]). They have an event for each departure, before all arrivals of that moment.

use crate::host::sender::RTO_FLOOR;
use crate::ids::PortNumber;
use crate::port::Port;
use crate::port::discipline::Discipline;
use crate::port::stats::{MarkAt, PortStats};
use farloop_cc::AnyParams;
use farloop_network::Network;
use farloop_network::NodeRef;
use farloop_network::spec::{NodeKind, NodeSpec, SchedulingSpec, TransportKind};
use farloop_units::{Delta, Time};

/// Returns true if no port may be late. That holds where arrivals go before departures of the same moment, where links change, and where
/// uplinks to circuit and packet switch share one limit, so that a packet depends on the queues of all of them.
pub(crate) fn all_punctual(network: &Network, arrivals_first: bool) -> bool {
    let changes = !network.timeline.changes.is_empty() || !network.timeline.routes.is_empty();
    arrivals_first || changes || network.node_specs.iter().any(shares_uplinks)
}

fn shares_uplinks(node: &NodeSpec) -> bool {
    let NodeKind::Switch(switch) = &node.kind else { return false };
    matches!(switch.scheduling, Some(SchedulingSpec::Unblocking { .. }))
}

/// Returns true if a port must be on time: if its packets go to another part or an agent sees them, draw from the random stream of the
/// switch, wait for more than the transmitter, are compared with others of the switch, or start a timer that may end before the port is
/// looked at.
pub(crate) fn punctual(
    network: &Network,
    number: PortNumber,
    port: &Port,
    stats: &PortStats,
    discipline: Option<&Discipline>,
) -> bool {
    let end = &network.ends[number];
    let marks = stats.marking.is_some_and(|marking| marking.at == MarkAt::Departure);
    match end.owner {
        NodeRef::Circuit(_) => true,
        // With noise a packet may be on the link for longer than a round trip took before, which timers go by.
        // Where a host sprays its ports have their packets from one NIC.
        NodeRef::Host(h) => {
            network.sprays_from(h) || port.leaves || network.noisy || shortest_timer(network) < end.delay
        }
        // To count a victim, the switch looks up the flow that uses a connection now.
        NodeRef::Switch(s) => {
            let holds = discipline.is_some_and(Discipline::holds);
            port.leaves || port.agent.exists() || marks || holds || network.persistent || network.adaptive[s]
        }
    }
}

/// Shortest time of a timer that is started when a packet leaves.
fn shortest_timer(network: &Network) -> Delta {
    // Algorithms that come with farloop start none; one from elsewhere may start any.
    if network.algorithms.iter().any(|algorithm| matches!(algorithm, AnyParams::Dyn(_))) {
        return Delta::ZERO;
    }
    let transport = &network.transport;
    match transport.kind {
        TransportKind::Rdma => transport.rto_intra.min(transport.rto_cross),
        // At least one and a half times the base round-trip time of its flow besides.
        TransportKind::Multipath => transport.multipath.rto.unwrap_or(RTO_FLOOR),
        // With a sample of the round-trip time no timer is shorter than that, but for the upper bound.
        TransportKind::Tcp => transport.tcp.initial_rto.min(transport.tcp.max_rto),
    }
}

/// Returns the time at which something was due at a port, if that was by `until`. Sending it makes the port due anew.
#[inline]
pub(crate) fn take_due(port: &mut Port, until: Time) -> Option<Time> {
    let at = port.armed_at;
    if at > until {
        return None;
    }
    port.armed_at = Time::NEVER;
    Some(at)
}
