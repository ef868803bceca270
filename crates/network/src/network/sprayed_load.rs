//! Offered load where every switch sprays: the bytes that are bound for the hosts behind one switch, a site, are added up at each switch
//! and carried down the shortest paths to it together. So the work is that of the switches for each site, not of all ways of each flow.
//!
//! A flow alone is divided at each switch, and rounded down there. The sum of many, divided, is the sum of the divided ones only as long
//! as each of them divides without a rest. The bits that any of them has tell that: the numbers of ways are powers of two in most fabrics,
//! and bytes come with binary places. Where a rest would be left nothing is carried, and the caller goes flow by flow.
//!
//! Switches of a tier most often have the same neighbours on the way to a site. Their bytes are added up before they are handed on, so a
//! neighbour takes one sum instead of one from each of them.

use super::routing::Towards;
use super::{Network, NodeRef};
use crate::ids::{HostNumber, Key, PortNumber, SwitchNumber, Table};
use farloop_units::Bytes;
use std::collections::BTreeMap;

/// A sum of amounts.
#[derive(Clone, Copy, Default)]
struct Load {
    sum: u128,
    /// The bits that any of the amounts has: all of them are multiples of the lowest.
    bits: u128,
    /// A flow without a size is among them.
    unlimited: bool,
}

impl Load {
    fn add(&mut self, other: Load) {
        self.sum += other.sum;
        self.bits |= other.bits;
        self.unlimited |= other.unlimited;
    }

    /// The part of each of so many ways, `None` where a rest would be left.
    fn divide(self, ways: usize) -> Option<Load> {
        let ways = ways as u128;
        let whole = ways.is_power_of_two() && self.bits.is_multiple_of(ways);
        whole.then(|| Load { sum: self.sum / ways, bits: self.bits / ways, ..self })
    }

    /// As it comes by so many parallel links.
    fn times(self, links: u32) -> Load {
        Load { sum: self.sum * u128::from(links), ..self }
    }
}

/// The load of all flows, as far as it is carried.
pub(super) struct SprayedLoad<'a> {
    network: &'a Network,
    ports: Table<PortNumber, Load>,
    /// Bytes at the switch of their source: site, switch, and bytes.
    begins: Vec<(u32, u32, Load)>,
}

impl<'a> SprayedLoad<'a> {
    pub fn new(network: &'a Network) -> SprayedLoad<'a> {
        SprayedLoad { network, ports: vec![Load::default(); network.ends.len()].into(), begins: Vec::new() }
    }

    /// Adds `amount` from host to host.
    pub fn add(&mut self, src: HostNumber, dst: HostNumber, amount: u128, unlimited: bool) {
        let (network, load) = (self.network, Load { sum: amount, bits: amount, unlimited });
        let (first, last) = (network.host_ports[src], network.host_ports[dst].other_end());
        self.ports[first].add(load);
        let NodeRef::Switch(switch) = network.ends[first].peer else { return };
        // All of it arrives, as no part of it is rounded.
        self.ports[last].add(load);
        self.begins.push((network.routes[0].site(dst) as u32, switch.0, load));
    }

    /// Carries all to their sites, and gives the bytes of each port in `whole` ones; `None` where a flow without a size passes. Nothing
    /// where an amount cannot be divided.
    pub fn carry(mut self, whole: impl Fn(u128) -> Bytes) -> Option<Table<PortNumber, Option<Bytes>>> {
        let mut begins = std::mem::take(&mut self.begins);
        begins.sort_unstable_by_key(|(site, switch, _)| (*site, *switch));
        let mut ways = Ways::new(self.network);
        for of_site in begins.chunk_by(|a, b| a.0 == b.0) {
            let site = of_site[0].0 as usize;
            for (_, switch, load) in of_site {
                ways.bring(site, *switch as usize, *load);
            }
            ways.carry(site, &mut self.ports)?;
        }
        for (ports, load) in ways.by_group.into_values() {
            for port in ports {
                self.ports[PortNumber(*port)].add(load);
            }
        }
        Some(self.ports.rows().map(|load| (!load.unlimited).then(|| whole(load.sum))).collect())
    }
}

/// The ways to one site after the other.
struct Ways<'a> {
    network: &'a Network,
    /// By switch.
    at_switch: Vec<Load>,
    /// By set of neighbours.
    at_neighbours: Vec<Load>,
    /// The links to a site from each switch, of those that were asked for; `UNKNOWN` for others.
    distance: Vec<u32>,
    /// By distance to the site: the switches that bytes have come to.
    waiting: Vec<Vec<usize>>,
    /// Those that a distance is known of.
    known: Vec<usize>,
    /// Sets of switches, each with the number of parallel links to it.
    neighbours: Vec<Vec<(u32, u32)>>,
    /// Their numbers.
    numbers: BTreeMap<Vec<(u32, u32)>, usize>,
    /// By group of ports: the number of the set that it leads to.
    set_of: BTreeMap<u32, usize>,
    /// By group: its ports, and what each of them carries.
    by_group: BTreeMap<u32, (&'a [u32], Load)>,
}

const UNKNOWN: u32 = u32::MAX;

impl<'a> Ways<'a> {
    fn new(network: &'a Network) -> Ways<'a> {
        let switches = network.symmetric.len();
        Ways {
            network,
            at_switch: vec![Load::default(); switches],
            at_neighbours: Vec::new(),
            distance: vec![UNKNOWN; switches],
            waiting: Vec::new(),
            known: Vec::new(),
            neighbours: Vec::new(),
            numbers: BTreeMap::new(),
            set_of: BTreeMap::new(),
            by_group: BTreeMap::new(),
        }
    }

    fn towards(&self, switch: usize, site: usize) -> Towards<'a> {
        self.network.routes[0].towards(SwitchNumber::new(switch), site)
    }

    /// The switch behind a port.
    fn behind(&self, port: u32) -> Option<usize> {
        match self.network.ends[PortNumber(port)].peer {
            NodeRef::Switch(s) => Some(s.index()),
            NodeRef::Host(_) | NodeRef::Circuit(_) => None,
        }
    }

    /// Bytes come to a switch.
    fn bring(&mut self, site: usize, switch: usize, load: Load) {
        if self.at_switch[switch].bits == 0 {
            let distance = self.find_distance(site, switch);
            if self.waiting.len() <= distance {
                self.waiting.resize(distance + 1, Vec::new());
            }
            self.waiting[distance].push(switch);
        }
        self.at_switch[switch].add(load);
    }

    /// Links from a switch to a site: all shortest ways have as many.
    fn find_distance(&mut self, site: usize, switch: usize) -> usize {
        let (mut way, mut at) = (Vec::new(), switch);
        let mut distance = loop {
            if self.distance[at] != UNKNOWN {
                break self.distance[at];
            }
            way.push(at);
            let next = match self.towards(at, site) {
                Towards::By { ports: [first, ..], .. } => self.behind(*first),
                Towards::Here | Towards::By { .. } => None,
            };
            match next {
                Some(next) => at = next,
                None => break UNKNOWN,
            }
        };
        for switch in way.into_iter().rev() {
            // The last one, where the site is, has none.
            distance = distance.wrapping_add(1);
            self.distance[switch] = distance;
            self.known.push(switch);
        }
        self.distance[switch] as usize
    }

    /// Carries all bytes for a site there, and forgets the way; nothing where an amount cannot be divided.
    fn carry(&mut self, site: usize, ports: &mut Table<PortNumber, Load>) -> Option<()> {
        for distance in (0..self.waiting.len()).rev() {
            let mut handed_on: Vec<usize> = Vec::new();
            for switch in std::mem::take(&mut self.waiting[distance]) {
                let load = std::mem::take(&mut self.at_switch[switch]);
                let Towards::By { key, ports: ways } = self.towards(switch, site) else { continue };
                let [only] = *ways else {
                    let part = load.divide(ways.len())?;
                    self.by_group.entry(key).or_insert((ways, Load::default())).1.add(part);
                    let set = self.set_of(key, ways);
                    if self.at_neighbours[set].bits == 0 {
                        handed_on.push(set);
                    }
                    self.at_neighbours[set].add(part);
                    continue;
                };
                ports[PortNumber(only)].add(load);
                if let Some(next) = self.behind(only) {
                    self.bring(site, next, load);
                }
            }
            for set in handed_on {
                let part = std::mem::take(&mut self.at_neighbours[set]);
                let members = std::mem::take(&mut self.neighbours[set]);
                for (switch, links) in &members {
                    self.bring(site, *switch as usize, part.times(*links));
                }
                self.neighbours[set] = members;
            }
        }
        for switch in self.known.drain(..) {
            self.distance[switch] = UNKNOWN;
        }
        Some(())
    }

    /// The number of the set of switches behind the ports of a group.
    fn set_of(&mut self, key: u32, ports: &[u32]) -> usize {
        if let Some(set) = self.set_of.get(&key) {
            return *set;
        }
        let mut links: BTreeMap<u32, u32> = BTreeMap::new();
        for switch in ports.iter().filter_map(|port| self.behind(*port)) {
            *links.entry(switch as u32).or_default() += 1;
        }
        let links: Vec<(u32, u32)> = links.into_iter().collect();
        let set = *self.numbers.entry(links.clone()).or_insert_with(|| {
            self.neighbours.push(links);
            self.at_neighbours.push(Load::default());
            self.neighbours.len() - 1
        });
        self.set_of.insert(key, set);
        set
    }
}
