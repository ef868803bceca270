//! Hosts, as the flows' builder needs them.

use crate::diagnostic::{listing, nearest};
use crate::topology::Layout;
use farloop_net::spec::{NodeId, NodeKind};
use farloop_units::Rate;
use std::collections::HashMap;

/// A host, as the flows' builder needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostFacts {
    /// Rate of its links together.
    pub rate: Rate,
    /// Rate of its fastest link.
    pub fastest: Rate,
    /// Number of its links, each at a NIC port of its own.
    pub ports: u8,
    /// The connected part of the network that it is in.
    pub island: u32,
}

/// The hosts of a network, by number and by name.
pub(crate) struct Hosts<'a> {
    pub layout: &'a Layout,
    /// An entry for every node that is a host.
    pub facts: Vec<Option<HostFacts>>,
    ids: HashMap<&'a str, NodeId>,
}

impl<'a> Hosts<'a> {
    /// Those of a network.
    pub fn from_layout(layout: &'a Layout) -> Hosts<'a> {
        let island = islands(layout);
        let mut facts: Vec<Option<HostFacts>> = vec![None; layout.nodes.len()];
        for link in &layout.links {
            for end in [link.spec.a, link.spec.b].map(|end| end as usize) {
                if layout.nodes[end].kind == NodeKind::Host {
                    let none = HostFacts { rate: Rate::ZERO, fastest: Rate::ZERO, ports: 0, island: island[end] };
                    let (own, rate) = (facts[end].get_or_insert(none), link.spec.rate);
                    own.rate = Rate::from_bps(own.rate.as_bps() + rate.as_bps());
                    own.fastest = own.fastest.max(rate);
                    own.ports += 1;
                }
            }
        }
        let ids = (0..).zip(&layout.nodes).map(|(id, node)| (node.name.as_str(), id)).collect();
        Hosts { layout, facts, ids }
    }

    /// For each of these hosts a number that it shares with those at its switch. Of `u16`, as a population has its groups: more switches
    /// than that share the last one.
    pub fn racks(&self, ids: &[NodeId]) -> Vec<u16> {
        let switches = self.switches();
        let mut numbers: HashMap<NodeId, u16> = HashMap::new();
        let mut number = |id: &NodeId| {
            let next = u16::try_from(numbers.len()).unwrap_or(u16::MAX);
            *numbers.entry(switches[id]).or_insert(next)
        };
        ids.iter().map(&mut number).collect()
    }

    /// The node at the other end of each host's first link.
    pub fn switches(&self) -> HashMap<NodeId, NodeId> {
        let ends = self.layout.links.iter().rev().flat_map(|l| [(l.spec.a, l.spec.b), (l.spec.b, l.spec.a)]);
        ends.filter(|(end, _)| self.facts[*end as usize].is_some()).collect()
    }

    /// The node called `name`, host or switch.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied()
    }

    /// The host called `name`; otherwise problem, expectation and suggestion.
    pub fn find(&self, name: &str) -> Result<(NodeId, HostFacts), (String, String, Option<String>)> {
        let hosts = || (0..).zip(&self.layout.nodes).filter(|(id, _)| self.facts[*id as usize].is_some());
        let names = || hosts().map(|(_, node): (NodeId, _)| node.name.as_str());
        let Some(&id) = self.ids.get(name) else {
            let known = format!("hosts: {}", listing(names()));
            return Err((format!("there is no node \"{name}\""), known, nearest(name, names())));
        };
        match self.facts[id as usize] {
            Some(host) => Ok((id, host)),
            None => {
                let known = format!("expected a host; hosts: {}", listing(names()));
                Err((format!("the node \"{name}\" is a switch"), known, None))
            }
        }
    }
}

/// For each node the number of the connected part of the network that it belongs to (breadth first).
fn islands(layout: &Layout) -> Vec<u32> {
    let mut neighbours: Vec<Vec<NodeId>> = vec![Vec::new(); layout.nodes.len()];
    for link in &layout.links {
        neighbours[link.spec.a as usize].push(link.spec.b);
        neighbours[link.spec.b as usize].push(link.spec.a);
    }
    let mut island = vec![u32::MAX; layout.nodes.len()];
    let mut queue = std::collections::VecDeque::new();
    for start in 0..layout.nodes.len() {
        if island[start] != u32::MAX {
            continue;
        }
        island[start] = start as u32;
        queue.push_back(start);
        while let Some(node) = queue.pop_front() {
            for &next in &neighbours[node] {
                if island[next as usize] == u32::MAX {
                    island[next as usize] = start as u32;
                    queue.push_back(next as usize);
                }
            }
        }
    }
    island
}
