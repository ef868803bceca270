//! The plain path: packets of a part in which most questions have one answer for the whole run.
//!
//! Is there a tracer, an agent at a port, a forwarder at a switch, a discipline, noise at a host, a circuit? Do links change? In most
//! networks the answer is no, and each packet-hop asked a dozen of such questions. So a part asks once ([`of_part`]), and runs one of two
//! loops that are compiled from the same functions: those that a packet passes take `const PLAIN: bool`, and with it leave out what cannot
//! be. What is rare and has an answer of its own for each packet (a long link, a paused class, a full buffer) is asked on both paths.
//!
//! Both give the same result; tests run both ([`crate::Cores::by_the_general_path`]).

use crate::medium::Medium;
use crate::spec::IntCarriage;
use crate::switch::Switches;

/// Whether a part may take the plain path, in which some ports may be late ([`crate::departures::all_punctual`]).
pub(crate) fn of_part(m: &Medium, switches: &Switches) -> bool {
    !switches.forwarders
        && switches.agents.len() == 0
        && m.disciplines.len() == 0
        && m.network.circuits.len() == 0
        && !switches.phantoms
        && of_hosts(m)
}

/// Whether its hosts may, whatever its switches are: their ports have neither agents nor disciplines.
pub(crate) fn of_hosts(m: &Medium) -> bool {
    m.network.stalls.is_none() && !m.network.noisy && m.packets.carriage() == IntCarriage::All
}
