//! The fast path: packets of a part in which most questions have one answer for the whole run.
//!
//! Is there a tracer, an agent at a port, a forwarder at a switch, a discipline, noise at a host, a circuit? Do links change? In most
//! networks the answer is no, and each packet-hop checked a dozen of such conditions. So a part checks them once ([`of_part`]), and runs
//! one of two loops that are compiled from the same functions: those that a packet passes take `const FAST: bool`, and with it leave out
//! impossible cases. Rare conditions that differ from packet to packet (a long link, a paused class, a full buffer) are checked on both
//! paths.
//!
//! Both give the same result; tests run both ([`crate::Cores::by_the_general_path`]).

use crate::part_context::PartContext;
use crate::switch::Switches;
use farloop_network::spec::IntCarriage;

/// Returns true if a part can take the fast path, in which some ports may be late ([`crate::departures::all_punctual`]).
pub(crate) fn of_part(cx: &PartContext, switches: &Switches) -> bool {
    !switches.forwarders
        && switches.agents.is_empty()
        && cx.disciplines.is_empty()
        && cx.network.circuits.is_empty()
        && !switches.phantoms
        && is_quiet(cx)
}

/// Returns true if the hosts of a part can take the fast path. Host ports have neither agents nor disciplines, so switches do not matter.
/// Hosts that spray over several ports ask which one of them is at hand.
pub(crate) fn of_hosts(cx: &PartContext) -> bool {
    is_quiet(cx) && !cx.network.sprays
}

/// Returns true if no packet of the hosts of a part needs more than its way.
pub(crate) fn is_quiet(cx: &PartContext) -> bool {
    cx.network.stalls.is_none() && !cx.network.noisy && cx.packets.carriage() == IntCarriage::All
}
