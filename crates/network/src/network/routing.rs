//! Shortest-path routing with equal-cost multi-path: flat tables, computed once.
//!
//! A table names, for every switch and destination, the group of egress ports on shortest paths (fewest links; links of the
//! network are not weighted). Hosts behind one link of the same switch share their column, called a site: all other switches
//! reach them by the same ports. A flow picks from each group by a hash of its number, the switch and the run's salt, so
//! all its packets take one path; a switch that sprays hashes when the packet was sent, too, so each packet takes its own; of a multipath
//! transport it hashes the entropy value of each packet, too, so that the sender chooses. Groups of a switch with [`Ecmp::Ucmp`] have its
//! fastest links alone.

mod spreading;

use super::link::NodeRef;
use crate::ids::{FlowId, HostNumber, Key, PortNumber, SwitchNumber};
use crate::spec::Ecmp;
use farloop_units::Rate;
use spreading::{By, Spreading, mix};
pub use spreading::{Labels, Routed};
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;

/// Next hops for every (switch, destination host): of the whole network by its numbers, or of the switches of a part by the part's ids.
pub struct Routes<S, P> {
    tables: Tables,
    keys: PhantomData<fn(S) -> P>,
}

impl<S, P> Clone for Routes<S, P> {
    /// A clone shares the tables.
    fn clone(&self) -> Self {
        Routes { tables: self.tables.clone(), keys: PhantomData }
    }
}

/// The numbers behind [`Routes`], shared where a part is the whole network.
#[derive(Clone)]
struct Tables {
    /// By host.
    attached: Arc<[Attachment]>,
    /// By site: number of its hosts, where these are behind one switch.
    hosts: Arc<[u32]>,
    sites: usize,
    /// By `switch * sites + site`.
    table: Arc<[Group]>,
    /// The ports of groups of several, and those that lead to a site's hosts, in their order.
    groups: Arc<[u32]>,
    /// By switch.
    spreading: Arc<[Spreading]>,
    /// Salt of the hash, from the run's seed.
    salt: u64,
    /// Labels of flows in the hash.
    labels: Labels,
}

/// Where a host is: the same in all parts.
#[derive(Clone, Copy)]
struct Attachment {
    site: u32,
    /// Which of its hosts it is.
    place: u32,
}

/// Egress ports on shortest paths.
#[derive(Clone, Copy)]
struct Group {
    /// Number of ports; zero: unreachable.
    size: u32,
    /// Of a single port its number, of several where they begin in [`Tables::groups`]; of a site's own switch where its hosts' ports do.
    ports: u32,
}

/// The ways of a switch to a site.
#[derive(Clone, Copy, Debug)]
pub enum Towards<'a> {
    /// The switch has the site's hosts at its own ports.
    Here,
    /// By these egress ports, by number; none: unreachable. Where there are several, `key` is that of their group, which belongs to the
    /// switch and may lead to other sites as well.
    By {
        /// Less than the number of all ports in groups.
        key: u32,
        /// By number.
        ports: &'a [u32],
    },
}

/// The size of a switch's group towards its own site: each host has its own port.
const OWN: u32 = u32::MAX;
const UNREACHABLE: Group = Group { size: 0, ports: 0 };

/// The network as routing sees it: hosts do not forward.
struct Graph {
    /// By switch: its egress ports towards other switches, each with the switch at its other end, by port number.
    neighbours: Vec<Vec<(u32, u32)>>,
    /// By host: the egress ports of switches that lead to it, each with its switch.
    access: Vec<Vec<(u32, u32)>>,
}

impl Graph {
    fn new(hosts: usize, switches: usize, ends: &[(NodeRef, NodeRef)], down: &BTreeSet<u32>) -> Graph {
        let mut graph = Graph { neighbours: vec![Vec::new(); switches], access: vec![Vec::new(); hosts] };
        // Links of the network by number: each has two ports.
        for (p, ends) in (0..).zip(ends).filter(|(p, _)| !down.contains(&(p / 2))) {
            match *ends {
                (NodeRef::Switch(s), NodeRef::Switch(t)) => graph.neighbours[s.index()].push((p, t.0)),
                (NodeRef::Switch(s), NodeRef::Host(h)) => graph.access[h.index()].push((p, s.0)),
                (NodeRef::Host(_) | NodeRef::Circuit(_), _) | (_, NodeRef::Circuit(_)) => {}
            }
        }
        graph
    }
}

impl Routes<SwitchNumber, PortNumber> {
    /// Computes the tables. `ends[p]` are owner and peer of port `p`, `rates[p]` its rate, `down` the links that carry nothing, `ecmp[s]`
    /// how switch `s` spreads packets, which carry entropy values if `entropy`; another `salt` spreads the same flows differently.
    /// `go_on` is called now and then; `None` where it answers `false`.
    pub fn new(
        hosts: usize,
        (ecmp, entropy): (&[Ecmp], bool),
        (ends, rates): (&[(NodeRef, NodeRef)], &[Rate]),
        down: &BTreeSet<u32>,
        salt: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Self> {
        let switches = ecmp.len();
        let graph = Graph::new(hosts, switches, ends, down);
        // A host with several links, or none to a switch, is a site of its own.
        let mut of_switch: Vec<Option<u32>> = vec![None; switches];
        let mut origins: Vec<Vec<(u32, Group)>> = Vec::new();
        let mut own_ports: Vec<Vec<u32>> = Vec::new();
        let mut attached = Vec::with_capacity(hosts);
        let mut groups = Vec::new();
        for access in &graph.access {
            if let [(port, switch)] = access[..] {
                let site = *of_switch[switch as usize].get_or_insert_with(|| {
                    origins.push(vec![(switch, Group { size: OWN, ports: 0 })]);
                    own_ports.push(Vec::new());
                    origins.len() as u32 - 1
                });
                let own = &mut own_ports[site as usize];
                own.push(port);
                attached.push(Attachment { site, place: own.len() as u32 - 1 });
                continue;
            }
            attached.push(Attachment { site: origins.len() as u32, place: 0 });
            own_ports.push(Vec::new());
            let mut by_switch: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (port, switch) in access {
                by_switch.entry(*switch).or_default().push(*port);
            }
            origins.push(by_switch.into_iter().map(|(switch, ports)| (switch, group(&ports, &mut groups))).collect());
        }
        for (origins, own) in origins.iter_mut().zip(&own_ports).filter(|(_, own)| !own.is_empty()) {
            origins[0].1.ports = groups.len() as u32;
            groups.extend_from_slice(own);
        }
        let hosts = own_ports.iter().map(|own| own.len() as u32).collect();
        let sites = origins.len();
        let mut table = vec![UNREACHABLE; switches * sites];
        // Groups belong to one switch, which needs few: each is stored once. The last one is most often the next.
        let mut known: Vec<BTreeMap<Vec<u32>, Group>> = vec![BTreeMap::new(); switches];
        let mut last = vec![UNREACHABLE; switches];
        let mut distance = vec![u32::MAX; switches];
        let (mut order, mut ports) = (Vec::with_capacity(switches), Vec::new());
        for (site, origins) in origins.iter().enumerate() {
            if site.is_multiple_of(16) && !go_on() {
                return None;
            }
            distance.fill(u32::MAX);
            order.clear();
            for (switch, group) in origins {
                distance[*switch as usize] = 0;
                order.push(*switch);
                table[*switch as usize * sites + site] = *group;
            }
            let mut at = 0;
            while let Some(&s) = order.get(at) {
                at += 1;
                let here = distance[s as usize];
                ports.clear();
                for (p, t) in &graph.neighbours[s as usize] {
                    let there = &mut distance[*t as usize];
                    if *there == u32::MAX {
                        *there = here + 1;
                        order.push(*t);
                    } else if *there < here {
                        ports.push(*p);
                    }
                }
                if here == 0 {
                    continue;
                }
                keep_fastest(ecmp[s as usize], &mut ports, rates);
                let last = &mut last[s as usize];
                if ports_of(&groups, last) != ports {
                    *last = match known[s as usize].get(&ports) {
                        Some(group) => *group,
                        None => {
                            let group = group(&ports, &mut groups);
                            known[s as usize].insert(ports.clone(), group);
                            group
                        }
                    };
                }
                table[s as usize * sites + site] = *last;
            }
        }
        let has_hosts: BTreeSet<u32> = graph.access.iter().flatten().map(|(_, switch)| *switch).collect();
        let by = |number, ecmp: Ecmp| By::from_spec(ecmp, entropy, has_hosts.contains(&number));
        let spreading = (0..).zip(ecmp).map(|(number, e)| Spreading { number, by: by(number, *e) }).collect();
        let (attached, table, groups) = (attached.into(), table.into(), groups.into());
        Some(Routes {
            tables: Tables { attached, hosts, sites, table, groups, spreading, salt, labels: Labels::default() },
            keys: PhantomData,
        })
    }

    /// Flows are called so in hashes from now on.
    pub fn call(&mut self, labels: &Labels) {
        self.tables.labels = labels.clone();
    }

    /// The routes of a part that is the whole network, by the part's ids.
    pub fn whole_network<S, P>(&self) -> Routes<S, P> {
        Routes { tables: self.tables.clone(), keys: PhantomData }
    }

    /// The routes of these switches, as a part knows them: `ids` gives the part's id of a port, where it has one.
    pub fn of_part<S, P: Key>(&self, switches: &[SwitchNumber], ids: &[P]) -> Routes<S, P> {
        let Tables { attached, hosts, sites, table, groups, spreading, salt, labels } = &self.tables;
        let local = |port: u32| ids.get(port as usize).map_or(u32::MAX, |id| id.index() as u32);
        let (mut own_table, mut own_groups) = (Vec::with_capacity(switches.len() * sites), Vec::new());
        // Each group is stored once, as in the whole.
        let mut known: BTreeMap<u32, u32> = BTreeMap::new();
        for switch in switches {
            let row = table[switch.index() * sites..][..*sites].iter();
            own_table.extend(row.zip(hosts.iter()).map(|(group, hosts)| match group.size {
                0 => *group,
                1 => Group { size: 1, ports: local(group.ports) },
                size => {
                    let begin = *known.entry(group.ports).or_insert_with(|| {
                        let begin = own_groups.len() as u32;
                        let count = if size == OWN { *hosts } else { size } as usize;
                        own_groups.extend(groups[group.ports as usize..][..count].iter().map(|p| local(*p)));
                        begin
                    });
                    Group { size, ports: begin }
                }
            }));
        }
        let tables = Tables {
            attached: attached.clone(),
            hosts: hosts.clone(),
            sites: *sites,
            table: own_table.into(),
            groups: own_groups.into(),
            spreading: switches.iter().map(|s| spreading[s.index()]).collect(),
            salt: *salt,
            labels: labels.clone(),
        };
        Routes { tables, keys: PhantomData }
    }
}

impl<S: Key, P: Key> Routes<S, P> {
    /// The egress port of `switch` towards host `dst` for `flow`, where packets are not sprayed; `None` if there is no path.
    #[inline]
    pub fn next(&self, switch: S, dst: HostNumber, flow: FlowId) -> Option<P> {
        self.tables.next(switch.index(), dst.index(), flow.0).map(|port| P::new(port as usize))
    }

    /// The egress port of `switch` for a packet; `None` if there is no path.
    #[inline(always)]
    pub fn egress_port(&self, switch: S, packet: &impl Routed) -> Option<P> {
        self.tables.find_port(switch.index(), packet).map(|port| P::new(port as usize))
    }

    /// Where among the [group](Routes::group) of `switch` a search for the best port for a packet begins: of equal ones another is the
    /// first each time.
    #[inline]
    pub fn choose_first(&self, switch: S, packet: &impl Routed, size: usize) -> usize {
        let hash = self.tables.hash(packet.flow().0, self.tables.spreading[switch.index()]);
        (mix(hash ^ packet.sent().as_ps() ^ packet.sequence()) % size.max(1) as u64) as usize
    }

    /// The place of a flow among `size` ports of `switch`, by its hash.
    #[inline]
    pub fn choose_place(&self, switch: S, flow: FlowId, size: usize) -> usize {
        place(self.tables.hash(flow.0, self.tables.spreading[switch.index()]), size)
    }

    /// The egress ports of `switch` that packets of `flow` to host `dst` take: one, or all on shortest paths where packets are sprayed.
    pub fn ways(&self, switch: S, dst: HostNumber, flow: FlowId) -> impl ExactSizeIterator<Item = P> {
        self.tables.ways(switch.index(), dst.index(), flow.0).iter().map(|port| P::new(*port as usize))
    }

    /// True if every switch spreads each packet for itself, over all ports on shortest paths.
    pub fn sprays_everywhere(&self) -> bool {
        self.tables.spreading.iter().all(|spreading| spreading.by != By::Flow)
    }

    /// Number of sites.
    pub fn sites(&self) -> usize {
        self.tables.sites
    }

    /// The site of a host: all hosts behind the same switch, most often.
    pub fn site(&self, host: HostNumber) -> usize {
        self.tables.attached[host.index()].site as usize
    }

    /// The ways of `switch` to a site.
    pub fn towards(&self, switch: S, site: usize) -> Towards<'_> {
        let group = &self.tables.table[switch.index() * self.tables.sites + site];
        match group.size {
            OWN => Towards::Here,
            _ => Towards::By { key: group.ports, ports: ports_of(&self.tables.groups, group) },
        }
    }

    /// All egress ports on shortest paths, among which flows are spread; empty: unreachable.
    pub fn group(&self, switch: S, dst: HostNumber) -> impl ExactSizeIterator<Item = P> {
        self.tables.group(switch.index(), dst.index()).iter().map(|port| P::new(*port as usize))
    }
}

impl Tables {
    #[inline]
    fn lookup(&self, switch: usize, dst: usize) -> (Group, Attachment) {
        let attached = self.attached[dst];
        (self.table[switch * self.sites + attached.site as usize], attached)
    }

    #[inline]
    fn next(&self, switch: usize, dst: usize, flow: u32) -> Option<u32> {
        let (group, attached) = self.lookup(switch, dst);
        match group.size {
            0 => None,
            1 => Some(group.ports),
            OWN => Some(self.port_to(group, attached)),
            _ => Some(self.choose(group, self.hash(flow, self.spreading[switch]))),
        }
    }

    #[inline(always)]
    fn find_port(&self, switch: usize, packet: &impl Routed) -> Option<u32> {
        let (group, attached) = self.lookup(switch, packet.destination().index());
        match group.size {
            0 => None,
            1 => Some(group.ports),
            OWN => Some(self.port_to(group, attached)),
            _ => {
                let spreading = self.spreading[switch];
                let hash = self.hash(packet.flow().0, spreading);
                let of_flow = spreading.by == By::Flow;
                Some(self.choose(group, if of_flow { hash } else { spreading.by.spread(hash, packet, group.size) }))
            }
        }
    }

    #[inline]
    fn ways(&self, switch: usize, dst: usize, flow: u32) -> &[u32] {
        let all = self.group(switch, dst);
        if self.spreading[switch].by != By::Flow || all.len() < 2 {
            return all;
        }
        let chosen = self.choose(self.lookup(switch, dst).0, self.hash(flow, self.spreading[switch]));
        let place = all.iter().position(|p| *p == chosen).expect("chosen among them");
        &all[place..=place]
    }

    /// The port of a site's switch to one of its hosts.
    #[inline]
    fn port_to(&self, own: Group, attached: Attachment) -> u32 {
        self.groups[(own.ports + attached.place) as usize]
    }

    /// A hash of a flow at a switch.
    #[inline]
    fn hash(&self, flow: u32, switch: Spreading) -> u64 {
        mix(((u64::from(self.labels.label(flow)) << 32) | u64::from(switch.number)) ^ self.salt)
    }

    #[inline]
    fn choose(&self, group: Group, hash: u64) -> u32 {
        self.groups[group.ports as usize + place(hash, group.size as usize)]
    }

    #[inline]
    fn group(&self, switch: usize, dst: usize) -> &[u32] {
        let attached = &self.attached[dst];
        let group = &self.table[switch * self.sites + attached.site as usize];
        match group.size {
            OWN => std::slice::from_ref(&self.groups[(group.ports + attached.place) as usize]),
            _ => ports_of(&self.groups, group),
        }
    }
}

/// The place among `size` that a hash names. It is scaled by multiplication: no modulo bias.
#[inline]
fn place(hash: u64, size: usize) -> usize {
    (((hash >> 32) * size as u64) >> 32) as usize
}

/// Leaves the ports of the highest rate, where these alone count.
fn keep_fastest(ecmp: Ecmp, ports: &mut Vec<u32>, rates: &[Rate]) {
    if ecmp != Ecmp::Ucmp {
        return;
    }
    let fastest = ports.iter().map(|port| rates[*port as usize]).max();
    ports.retain(|port| Some(rates[*port as usize]) == fastest);
}

/// The ports of a group, of which several lie in `groups`.
#[inline]
fn ports_of<'a>(groups: &'a [u32], group: &'a Group) -> &'a [u32] {
    match group.size {
        0 | OWN => &[],
        1 => std::slice::from_ref(&group.ports),
        size => &groups[group.ports as usize..(group.ports + size) as usize],
    }
}

/// A group of these ports; several go into `groups`.
fn group(ports: &[u32], groups: &mut Vec<u32>) -> Group {
    match *ports {
        [] => UNREACHABLE,
        [port] => Group { size: 1, ports: port },
        _ => {
            groups.extend_from_slice(ports);
            Group { size: ports.len() as u32, ports: (groups.len() - ports.len()) as u32 }
        }
    }
}

#[cfg(test)]
mod tests;
