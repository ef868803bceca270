//! The NIC ports of hosts with several links.

use super::hosts::Hosts;
use crate::diagnostic::Diagnostic;
use crate::scenario::Scenario;
use crate::sections::{BondChoice, PathsChoice};
use crate::topology::{Layout, PlacedLink};
use crate::transport::EndpointKeys;
use farloop_net::spec::{Bond, NodeId, NodeKind};
use farloop_units::ParamType;

/// The choice of a port for flows.
pub(super) fn bond(scenario: &Scenario) -> Bond {
    match choice(scenario) {
        BondChoice::Hash => Bond::Hash,
        BondChoice::Rail => Bond::Rail,
        BondChoice::Spray => Bond::Spray,
    }
}

fn choice(scenario: &Scenario) -> BondChoice {
    let multipath = matches!(scenario.endpoint, EndpointKeys::Multipath(..));
    scenario.hosts.bond.unwrap_or(if multipath { BondChoice::Spray } else { BondChoice::Hash })
}

/// Refuses hosts with several NIC ports of which one leads to no other host, or that are bonded and have different rates.
pub(super) fn check(scenario: &Scenario, hosts: &Hosts<'_>) -> Result<(), Diagnostic> {
    let layout = hosts.layout;
    let bond = choice(scenario);
    if bond == BondChoice::Spray && !matches!(scenario.endpoint, EndpointKeys::Multipath(..)) {
        let problem = "packets of a flow arrive in any order, which only multipath endpoints repair";
        let expected = "expected \"hash\" or \"rail\", or transport.kind = \"multipath\"";
        return Err(scenario.diagnostic_at(&["hosts", "bond"], problem, expected));
    }
    let of_several = |node: NodeId| hosts.facts[node as usize].filter(|facts| facts.ports > 1);
    if !(0..layout.nodes.len() as NodeId).any(|node| of_several(node).is_some()) {
        return Ok(());
    }
    if bond != BondChoice::Spray
        && let EndpointKeys::Multipath(keys, _) = &scenario.endpoint
        && keys.paths == PathsChoice::Mrc
    {
        let problem = "paths = \"mrc\" has EVs in all planes, but flows are pinned to a port";
        return Err(scenario.diagnostic_at(&["hosts", "bond"], problem, "expected \"spray\", or other paths"));
    }
    let planes = Planes::new(layout);
    for link in &layout.links {
        for (node, peer) in [(link.spec.a, link.spec.b), (link.spec.b, link.spec.a)] {
            let Some(facts) = of_several(node) else { continue };
            let name = |node: NodeId| &layout.nodes[node as usize].name;
            if !planes.lead_to_another(node, peer) {
                let problem = format!("the NIC port {}->{} leads to no other host", name(node), name(peer));
                return Err(scenario.diagnostic_at(
                    &path(link),
                    problem,
                    "expected links to a plane that other hosts have, too",
                ));
            }
            if bond != BondChoice::Spray && link.spec.rate != facts.fastest {
                let word = bond.to_value().map_or_else(String::new, |word| word.to_string());
                let problem = format!(
                    "the host \"{}\" has NIC ports of {} and {}, which bond = {word} treats as equal",
                    name(node),
                    facts.fastest,
                    link.spec.rate
                );
                return Err(scenario.diagnostic_at(
                    &link.rate_key.path(),
                    problem,
                    "expected one rate for all ports of a host, or \"spray\"",
                ));
            }
        }
    }
    Ok(())
}

/// The path of the link's table, or of the key that sets its rate.
fn path(link: &PlacedLink) -> Vec<&str> {
    let mut path = link.rate_key.path();
    if path[0] == "link" {
        path.truncate(2);
    }
    path
}

/// The parts of a network that its switches join, without its hosts, which do not forward.
struct Planes {
    /// By node, a number that it shares with the others of its plane.
    of: Vec<NodeId>,
    /// By that number: the first host there, and whether there is another one.
    hosts: Vec<(Option<NodeId>, bool)>,
}

impl Planes {
    fn new(layout: &Layout) -> Planes {
        let is_host = |node: NodeId| layout.nodes[node as usize].kind == NodeKind::Host;
        let mut planes =
            Planes { of: (0..layout.nodes.len() as NodeId).collect(), hosts: vec![(None, false); layout.nodes.len()] };
        for link in &layout.links {
            if !is_host(link.spec.a) && !is_host(link.spec.b) {
                let (a, b) = (planes.find(link.spec.a), planes.find(link.spec.b));
                planes.of[a as usize] = b;
            }
        }
        for node in 0..layout.nodes.len() as NodeId {
            planes.of[node as usize] = planes.find(node);
        }
        for link in &layout.links {
            for (node, peer) in [(link.spec.a, link.spec.b), (link.spec.b, link.spec.a)] {
                if is_host(node) && !is_host(peer) {
                    let (first, several) = &mut planes.hosts[planes.of[peer as usize] as usize];
                    *several |= *first.get_or_insert(node) != node;
                }
            }
        }
        planes
    }

    fn find(&mut self, node: NodeId) -> NodeId {
        let mut at = node;
        while self.of[at as usize] != at {
            let above = self.of[self.of[at as usize] as usize];
            self.of[at as usize] = above;
            at = above;
        }
        at
    }

    /// Returns true if the port of `host` at `peer` leads to another host: that is `peer`, or somewhere behind it.
    fn lead_to_another(&self, host: NodeId, peer: NodeId) -> bool {
        let (first, several) = self.hosts[self.of[peer as usize] as usize];
        several || first.is_none_or(|first| first != host)
    }
}
