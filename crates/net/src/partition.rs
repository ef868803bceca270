//! The partition of a network into parts that run side by side.
//!
//! Traffic across a cut takes at least the delay of the link: the longer the links that are cut, the longer may parts run on their own. So
//! the longest links are tried first (between datacenters), then shorter ones (between racks and the switches above them), until the parts
//! have about the same work. Hosts stay with their switch. The work of a node is the traffic that flows offer to its ports, which is known
//! before the run.
//!
//! A part has as many events as its calendar can number ([`Calendar::MAX_IDS`]), so a network of more is cut, whatever the number of
//! threads. A large network is cut on one thread too: in a window one part after the other is worked off, and its state stays in the
//! caches as long as that takes.
//!
//! Only the duration of a run depends on the cut: order is by network-wide numbers, random streams belong to components, and one part acts
//! on another only through packets on links.

use crate::ids::{FlowId, PortNumber};
use farloop_engine::{Calendar, Lanes, free_processors};
use farloop_network::{BuildError, Network, NodeRef, event_ids};
use farloop_units::{Bytes, Delta, Time};
use std::collections::BTreeSet;

/// Number of processors that a simulation may use. The result does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cores {
    threads: usize,
    parts: Parts,
    lanes: Use,
    general: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Parts {
    /// As many as there are threads, where that pays.
    Worthwhile,
    Exactly(usize),
}

/// The rule for the number of threads in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    All,
    /// As many as make the run faster, on the machine as it is while it runs.
    Measured,
    /// Any, and parts change from one to another: of this seed.
    Shuffled(u64),
}

impl Cores {
    /// One, and the network is not cut: one that is too large for a part is refused.
    pub const ONE: Cores = Cores { threads: 1, parts: Parts::Exactly(1), lanes: Use::All, general: false };

    /// Uses this many threads. Where they would mostly wait for each other one does all the work, and the network is cut only if it is too
    /// large for a part or for the caches.
    pub fn with_threads(threads: usize) -> Cores {
        Cores { threads: threads.max(1), parts: Parts::Worthwhile, lanes: Use::All, general: false }
    }

    /// Uses at most this many threads, and no more than make the run faster: the run is measured while it lasts. A short run, and one on a
    /// machine whose processors are busy with other things, has one.
    pub fn auto(threads: usize) -> Cores {
        Cores { lanes: Use::Measured, ..Cores::with_threads(threads) }
    }

    /// Exactly this many parts and threads, whether or not that pays: for tests. There are fewer parts where the network has fewer that
    /// can be separated; where one of them is too large the network is refused.
    pub fn with_parts(parts: usize, threads: usize) -> Cores {
        Cores::with_threads(threads).cut_into(parts)
    }

    /// Cuts the network into this many parts, whether or not that pays: for tests.
    pub fn cut_into(self, parts: usize) -> Cores {
        Cores { parts: Parts::Exactly(parts.max(1)), ..self }
    }

    /// Every departure is made when it is due, and packets take the general path, also where shorter ones would do: for tests.
    pub fn by_the_general_path(self) -> Cores {
        Cores { general: true, ..self }
    }

    pub(crate) fn takes_the_general_path(self) -> bool {
        self.general
    }

    /// As [`Cores::with_parts`], and the parts change threads again and again while they run: for tests.
    pub fn with_shuffled_threads(parts: usize, threads: usize, seed: u64) -> Cores {
        Cores { lanes: Use::Shuffled(seed), ..Cores::with_parts(parts, threads) }
    }

    /// Returns the number of parts to cut the network into, for a run of this many packet-hops. `free` counts the idle processors of the
    /// machine; it is called only where that matters.
    fn part_count(self, packet_hops: u64, free: impl FnOnce() -> usize) -> usize {
        match (self.parts, self.lanes) {
            (Parts::Exactly(parts), _) => parts,
            (Parts::Worthwhile, Use::Measured) if self.threads < 2 || packet_hops < MIN_RUN => 1,
            (Parts::Worthwhile, Use::Measured) => self.threads.min(free()),
            (Parts::Worthwhile, _) => self.threads,
        }
    }

    pub(crate) fn lanes(self) -> Lanes {
        match self.lanes {
            Use::All => Lanes::fixed(self.threads),
            Use::Measured => Lanes::adaptive(self.threads),
            Use::Shuffled(seed) => Lanes::shuffle(self.threads, seed),
        }
    }
}

/// The parts of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Partition {
    /// By node.
    pub part_of: Vec<usize>,
    pub parts: usize,
    /// Minimum time that anything takes across the cut.
    pub lookahead: Delta,
}

/// Longest window: between windows the caller sees the progress, and may stop the run.
pub(crate) const MAX_WINDOW: Delta = Delta::from_us(50);
/// A part that has fewer packet-hops in a window waits longer than it works.
const MIN_WORK: u64 = 100;
/// A packet, for estimates.
const PACKET: u64 = 800;
/// Events of a part.
const MAX_EVENTS: u64 = Calendar::MAX_IDS as u64;
/// Ports of a part whose state the caches of a processor core hold: a port takes some 700 B, with its counters and its events.
const CACHED_PORTS: usize = 1024;
/// A network of fewer ports is not cut for the caches.
const MIN_PORTS: usize = 16 * CACHED_PORTS;
/// Most parts for that: each pair of them has mailboxes, which are looked at in each window.
const MAX_PARTS: usize = 256;
/// Packet-hops of half a second on one thread: in a shorter run there is little to gain from others, and something to lose.
const MIN_RUN: u64 = 10_000_000;

impl Partition {
    /// The network in one piece.
    fn whole(network: &Network) -> Partition {
        Partition { part_of: vec![0; network.nodes.len()], parts: 1, lookahead: Delta::MAX }
    }

    /// The partition for so many cores. `has_agent` is true of the ports that have one.
    ///
    /// # Errors
    /// [`BuildError::TooLarge`]: a part that may not be cut, or cannot, has more events than a calendar.
    pub fn new(
        network: &Network,
        cores: Cores,
        has_agent: &dyn Fn(PortNumber) -> bool,
    ) -> Result<Partition, BuildError> {
        let agents = network.ends.keys().filter(|p| has_agent(*p)).count() as u64;
        let events = event_ids(network.host_ports.len() as u64, network.ends.len() as u64 / 2, agents);
        let whole = || match events <= MAX_EVENTS {
            true => Ok(Partition::whole(network)),
            false => Err(BuildError::TooLarge { events }),
        };
        // Both ends of a persistent connection know which flow has it.
        if cores.parts == Parts::Exactly(1) || network.persistent {
            return whole();
        }
        let cached = if cores.parts == Parts::Worthwhile { cached_parts(network.ends.len()) } else { 1 };
        if cores.threads < 2 && cores.parts == Parts::Worthwhile && cached < 2 && events <= MAX_EVENTS {
            return whole();
        }
        let graph = Graph::new(network, has_agent);
        if cached > 1
            && let Some(best) = graph.partition_for_caches(network, cached.max(cores.threads))
        {
            return Ok(best);
        }
        let wanted = cores.part_count(graph.packet_hops(), free_processors);
        if wanted < 2 && events <= MAX_EVENTS {
            return whole();
        }
        let delays: BTreeSet<Delta> = graph.links.iter().filter(|l| l.cuttable).map(|l| l.delay).collect();
        let mut partitions = delays.into_iter().rev().filter_map(|delay| graph.partition(wanted, delay));
        let best = match cores.parts {
            Parts::Exactly(_) => {
                let best = partitions.max_by_key(|partition| partition.parts);
                return best.map_or_else(whole, |best| graph.check(best, MAX_EVENTS));
            }
            Parts::Worthwhile => {
                partitions.find(|partition| graph.is_balanced(partition) && graph.is_busy(network, partition))
            }
        };
        match best.filter(|partition| graph.fits(partition, MAX_EVENTS)) {
            Some(best) => Ok(best),
            None if events <= MAX_EVENTS => whole(),
            None => graph.partition_to_fit(wanted, events, MAX_EVENTS),
        }
    }
}

/// Number of parts of a network with so many ports whose state the caches hold, one after the other; 1 for one that is too small for that.
fn cached_parts(ports: usize) -> usize {
    if ports < MIN_PORTS { 1 } else { (ports / CACHED_PORTS).min(MAX_PARTS) }
}

/// The network as the partition sees it.
struct Graph {
    /// Work of each node, in bytes to send.
    work: Vec<u64>,
    links: Vec<Edge>,
    /// Hosts, which go where their switch goes.
    is_host: Vec<bool>,
    /// Event numbers that each node takes beside those of its links.
    events: Vec<u64>,
    /// The longest time that a port needs for all that flows offer it.
    busiest: Delta,
}

struct Edge {
    a: usize,
    b: usize,
    delay: Delta,
    /// Work of the traffic in both directions.
    work: u64,
    /// True if it joins switches, and takes time.
    cuttable: bool,
}

impl Graph {
    fn new(network: &Network, has_agent: &dyn Fn(PortNumber) -> bool) -> Graph {
        let offered = network.offered_load(&|flow: FlowId| flow);
        let is_host: Vec<bool> = network.nodes.iter().map(|n| matches!(n, NodeRef::Host(_))).collect();
        let most = |p: PortNumber| match network.end {
            Time::NEVER => Bytes::MAX,
            end => network.ends[p].rate.bytes_in(end.since(Time::ZERO)),
        };
        let bytes = |p: PortNumber| offered[p].unwrap_or(Bytes::MAX).min(most(p)).get().min(u64::MAX >> 24);
        let mut work = vec![1; network.nodes.len()];
        let of_node = |node: &NodeRef| match node {
            NodeRef::Host(host) => event_ids(network.nics.count(*host) as u64, 0, 0),
            NodeRef::Switch(_) | NodeRef::Circuit(_) => 0,
        };
        let mut events: Vec<u64> = network.nodes.iter().map(of_node).collect();
        let mut links = Vec::with_capacity(network.ends.len() / 2);
        let time = |p: PortNumber| network.ends[p].rate.time_to_send(Bytes::new(bytes(p)));
        let busiest = network.ends.keys().map(time).max().unwrap_or(Delta::ZERO);
        for i in 0..network.ends.len() as u32 / 2 {
            let (there, back) = (PortNumber(2 * i), PortNumber(2 * i + 1));
            let end = &network.ends[there];
            let (a, b) = (end.node as usize, end.peer_node as usize);
            work[a] += bytes(there);
            work[b] += bytes(back);
            events[a] += u64::from(has_agent(there));
            events[b] += u64::from(has_agent(back));
            // Traffic across the cut never takes less, whatever happens to the link.
            let shortest = |p| network.timeline.shortest_delay(p, end.delay);
            let delay = shortest(there).min(shortest(back));
            let cuttable = delay > Delta::ZERO && !is_host[a] && !is_host[b];
            links.push(Edge { a, b, delay, work: bytes(there) + bytes(back), cuttable });
        }
        Graph { work, links, is_host, events, busiest }
    }

    /// Returns the most event numbers that a part takes. A link that is cut takes them in both of its parts.
    fn most_events(&self, partition: &Partition) -> u64 {
        let mut events = vec![0; partition.parts];
        for (node, part) in partition.part_of.iter().enumerate() {
            events[*part] += self.events[node];
        }
        for link in &self.links {
            let (a, b) = (partition.part_of[link.a], partition.part_of[link.b]);
            events[a] += event_ids(0, 1, 0);
            if a != b {
                events[b] += event_ids(0, 1, 0);
            }
        }
        events.into_iter().max().unwrap_or(0)
    }

    /// Returns true if no part has more than `most` events.
    fn fits(&self, partition: &Partition, most: u64) -> bool {
        self.most_events(partition) <= most
    }

    /// Refuses a partition of which a part has more than `most` events.
    fn check(&self, partition: Partition, most: u64) -> Result<Partition, BuildError> {
        let events = self.most_events(&partition);
        if events <= most { Ok(partition) } else { Err(BuildError::TooLarge { events }) }
    }

    /// The partition into the fewest parts, of `wanted` times a power of two, that have at most `most` events each; of several with that
    /// number the one that cuts the longest links. The network in one piece has `events`, which are more.
    fn partition_to_fit(&self, wanted: usize, events: u64, most: u64) -> Result<Partition, BuildError> {
        let delays: BTreeSet<Delta> = self.links.iter().filter(|l| l.cuttable).map(|l| l.delay).collect();
        let mut least = events;
        let mut parts = wanted.max(2);
        // A cut that makes no more parts than there are nodes.
        while parts < 2 * self.work.len() {
            for partition in delays.iter().rev().filter_map(|delay| self.partition(parts, *delay)) {
                match self.check(partition, most) {
                    Err(BuildError::TooLarge { events }) => least = least.min(events),
                    fits => return fits,
                }
            }
            parts *= 2;
        }
        Err(BuildError::TooLarge { events: least })
    }

    /// The network in so many parts, or by halves fewer until each has enough work in a window; of several such partitions the one that
    /// cuts the longest links.
    fn partition_for_caches(&self, network: &Network, wanted: usize) -> Option<Partition> {
        // With fewer packet-hops than ports nothing is in the caches when it is needed again.
        if self.packet_hops() < 2 * self.links.len() as u64 {
            return None;
        }
        let duration = busy_time(network, self.busiest)?;
        let delays: BTreeSet<Delta> = self.links.iter().filter(|l| l.cuttable).map(|l| l.delay).collect();
        let halves = std::iter::successors(Some(wanted), |parts| Some(parts / 2)).take_while(|parts| *parts > 1);
        for parts in halves {
            let partitions = delays.iter().rev().filter_map(|delay| self.partition(parts, *delay));
            let mut pay =
                partitions.filter(|p| 2 * p.parts > parts && self.has_work(p, duration) && self.fits(p, MAX_EVENTS));
            if let Some(best) = pay.next() {
                return Some(best);
            }
        }
        None
    }

    /// The network cut at links of `delay` and longer ones into at most `wanted` parts; `None` if it stays in one piece.
    fn partition(&self, wanted: usize, delay: Delta) -> Option<Partition> {
        let mut pieces = Pieces::new(self.work.len());
        for link in self.links.iter().filter(|l| !l.cuttable || l.delay < delay) {
            pieces.join(link.a, link.b);
        }
        let piece_of: Vec<usize> = (0..self.work.len()).map(|n| pieces.find(n)).collect();
        let mut work = vec![0u64; self.work.len()];
        let mut has_hosts = vec![false; self.work.len()];
        for (node, piece) in piece_of.iter().enumerate() {
            work[*piece] += self.work[node];
            has_hosts[*piece] |= self.is_host[node];
        }
        // Pieces with hosts in the order of their first node, which keeps racks of a pod together, until a part has its share of them.
        let mut part_of_piece: Vec<Option<usize>> = vec![None; self.work.len()];
        let order: Vec<usize> = remove_duplicates(&piece_of);
        let with_hosts: Vec<usize> = order.iter().copied().filter(|p| has_hosts[*p]).collect();
        if with_hosts.len() < 2 {
            return None;
        }
        let total: u64 = with_hosts.iter().map(|p| work[*p]).sum();
        let parts = wanted.min(with_hosts.len());
        let mut load = vec![0u64; parts];
        let (mut part, mut before) = (0, 0u64);
        for (i, piece) in with_hosts.iter().enumerate() {
            // On to the next part when this one has its share, or as many pieces are left as parts.
            let share = u128::from(total) * (part as u128 + 1) / parts as u128;
            let middle = u128::from(before) + u128::from(work[*piece]) / 2;
            let left = with_hosts.len() - i;
            if part + 1 < parts && load[part] > 0 && (middle > share || left < parts - part) {
                part += 1;
            }
            part_of_piece[*piece] = Some(part);
            load[part] += work[*piece];
            before += work[*piece];
        }
        let parts = part + 1;
        // Switches between them join the part that most of their traffic goes to, or else the one with the least work.
        let mut near: Vec<Vec<u64>> = vec![Vec::new(); self.work.len()];
        let rest: Vec<usize> = order.into_iter().filter(|p| !has_hosts[*p]).collect();
        for link in &self.links {
            let (a, b) = (piece_of[link.a], piece_of[link.b]);
            for (from, to) in [(a, b), (b, a)] {
                if let Some(part) = part_of_piece[to].filter(|_| part_of_piece[from].is_none()) {
                    near[from].resize(parts, 0);
                    near[from][part] += link.work + 1;
                }
            }
        }
        for piece in rest {
            let best = near[piece].iter().copied().max().unwrap_or(0);
            let candidates = (0..parts).filter(|p| near[piece].get(*p).copied().unwrap_or(0) * 8 >= best * 7);
            let part = candidates.min_by_key(|p| (load[*p], *p)).unwrap_or(0);
            part_of_piece[piece] = Some(part);
            load[part] += work[piece];
        }
        let part_of: Vec<usize> = piece_of.iter().map(|piece| part_of_piece[*piece].unwrap_or(0)).collect();
        let lookahead = self.links.iter().filter(|l| part_of[l.a] != part_of[l.b]).map(|l| l.delay).min()?;
        Some(Partition { part_of, parts, lookahead })
    }

    fn load(&self, partition: &Partition) -> Vec<u64> {
        let mut load = vec![0; partition.parts];
        for (node, part) in partition.part_of.iter().enumerate() {
            load[*part] += self.work[node];
        }
        load
    }

    /// Returns true if no part has so much more work than the others that they would mostly wait for it.
    fn is_balanced(&self, partition: &Partition) -> bool {
        let load = self.load(partition);
        let (most, total) = (load.iter().max().copied().unwrap_or(0), load.iter().sum::<u64>());
        // With two parts one may have 70 %.
        u128::from(most) * 10 * partition.parts as u128 <= u128::from(total) * 14
    }

    /// Returns an upper bound of the packet-hops in the whole run.
    fn packet_hops(&self) -> u64 {
        self.work.iter().sum::<u64>() / PACKET
    }

    /// Returns true if a part has enough work in a window, on average.
    fn is_busy(&self, network: &Network, partition: &Partition) -> bool {
        let total: u64 = self.work.iter().sum();
        let slowest = network.ends.rows().map(|end| end.rate).max();
        let duration = match network.end {
            Time::NEVER => slowest.map_or(Delta::MAX, |rate| rate.time_to_send(Bytes::new(total / 8))),
            end => end.since(Time::ZERO),
        };
        self.has_work(partition, duration)
    }

    /// Returns true if a part has enough work in a window, on average over this time.
    fn has_work(&self, partition: &Partition, duration: Delta) -> bool {
        let window = partition.lookahead.min(MAX_WINDOW);
        let hops = u128::from(self.packet_hops()) * u128::from(window.as_ps()) / u128::from(duration.as_ps().max(1));
        hops >= u128::from(MIN_WORK) * partition.parts as u128
    }
}

/// Time in which the network has work, about: until the last flow has begun, and as long as the busiest port then needs at most. `None`
/// where flows wait for others, so that nobody knows.
fn busy_time(network: &Network, busiest: Delta) -> Option<Delta> {
    if !network.jobs.is_empty() || !network.flow_dependencies.is_empty() {
        return None;
    }
    let starts = network.flows.iter().map(|flow| flow.start).filter(|start| *start <= network.end);
    Some(starts.max()?.saturating_add(busiest).min(network.end).since(Time::ZERO))
}

/// Each number once, in the order in which they come first.
fn remove_duplicates(numbers: &[usize]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    numbers.iter().copied().filter(|n| seen.insert(*n)).collect()
}

/// Sets of nodes that stay together (union-find).
struct Pieces(Vec<usize>);

impl Pieces {
    fn new(nodes: usize) -> Pieces {
        Pieces((0..nodes).collect())
    }

    fn find(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two datacenters of two racks (a host each) under one spine, 3 ms apart; racks 1 us from the spine.
    fn graph(work: [u64; 10]) -> Graph {
        // 0, 1 hosts, 2, 3 leaves, 4 spine; 5 to 9 the same again.
        let edges =
            [(0, 2, 1), (1, 3, 1), (2, 4, 1), (3, 4, 1), (5, 7, 1), (6, 8, 1), (7, 9, 1), (8, 9, 1), (4, 9, 3000)];
        let is_host = |n: usize| [0, 1, 5, 6].contains(&n);
        let edge = |(a, b, us): (usize, usize, u64)| Edge {
            a,
            b,
            delay: Delta::from_us(us),
            work: 10,
            cuttable: !is_host(a) && !is_host(b),
        };
        let is_host: Vec<bool> = (0..10).map(is_host).collect();
        let events = is_host.iter().map(|host| if *host { 2 } else { 3 }).collect();
        Graph { work: work.to_vec(), links: edges.map(edge).into(), is_host, events, busiest: Delta::MAX }
    }

    #[test]
    fn large_networks_are_cut_for_the_caches() {
        assert_eq!([6_144, 16_383, 16_384, 49_152, 524_288].map(cached_parts), [1, 1, 16, 48, 256]);
        // Each node has 1,000,000 packets to send.
        let graph = graph([1_000_000 * PACKET; 10]);
        let four = graph.partition(4, Delta::from_us(1)).expect("four racks");
        let window = four.lookahead;
        // 400 packet-hops in a window, and fewer.
        assert!(graph.has_work(&four, window * 25_000) && !graph.has_work(&four, window * 25_001));
    }

    #[test]
    fn a_network_is_cut_until_each_part_fits_its_calendar() {
        let graph = graph([10; 10]);
        // Nine links, four hosts, six switches with three agents each.
        let whole = Partition { part_of: vec![0; 10], parts: 1, lookahead: Delta::MAX };
        assert_eq!(graph.most_events(&whole), 9 * 4 + 4 * 2 + 6 * 3);
        // Two datacenters: four links and one that is cut, two hosts, three switches.
        let two = graph.partition_to_fit(2, 62, 61).expect("fits");
        assert_eq!(
            (two.parts, two.lookahead, graph.most_events(&two)),
            (2, Delta::from_us(3000), 5 * 4 + 2 * 2 + 3 * 3)
        );
        // By rack: a host, a leaf, a spine, and the four links of these.
        let four = graph.partition_to_fit(2, 62, 32).expect("fits");
        assert_eq!((four.parts, four.lookahead, graph.most_events(&four)), (4, Delta::from_us(1), 4 * 4 + 2 + 2 * 3));
        assert_eq!(graph.partition_to_fit(2, 62, 21), Err(BuildError::TooLarge { events: 24 }));
        assert_eq!(graph.check(four, 23), Err(BuildError::TooLarge { events: 24 }));
    }

    #[test]
    fn an_automatic_choice_cuts_long_runs_on_free_processors_and_an_order_is_obeyed() {
        let (short, long) = (MIN_RUN - 1, MIN_RUN);
        let unasked = || panic!("whether a processor is free does not matter");
        assert_eq!(Cores::auto(4).part_count(short, unasked), 1);
        assert_eq!(Cores::auto(1).part_count(long, unasked), 1);
        assert_eq!(Cores::auto(4).part_count(long, || 1), 1);
        assert_eq!(Cores::auto(4).part_count(long, || 3), 3);
        assert_eq!(Cores::auto(4).part_count(long, || 64), 4);
        for hops in [short, long] {
            assert_eq!(Cores::with_threads(4).part_count(hops, unasked), 4);
            assert_eq!(Cores::with_parts(5, 2).part_count(hops, unasked), 5);
            assert_eq!(Cores::auto(2).cut_into(5).part_count(hops, unasked), 5);
        }
    }

    #[test]
    fn datacenters_first_then_racks() {
        let graph = graph([10; 10]);
        let two = graph.partition(2, Delta::from_us(3000)).expect("two datacenters");
        assert_eq!((two.part_of.clone(), two.lookahead), (vec![0, 0, 0, 0, 0, 1, 1, 1, 1, 1], Delta::from_us(3000)));
        assert!(graph.is_balanced(&two));
        let four = graph.partition(4, Delta::from_us(1)).expect("four racks");
        assert_eq!((four.parts, four.lookahead), (4, Delta::from_us(1)));
        // Hosts with their leaves.
        assert!([(0, 2), (1, 3), (5, 7), (6, 8)].iter().all(|(host, leaf)| four.part_of[*host] == four.part_of[*leaf]));
        assert_eq!(
            graph.partition(3, Delta::from_us(3000)).map(|partition| partition.parts),
            Some(2),
            "no more than there are"
        );
    }

    #[test]
    fn where_one_datacenter_has_all_the_work_its_racks_are_cut() {
        let graph = graph([50, 50, 50, 50, 50, 1, 1, 1, 1, 1]);
        let by_datacenter = graph.partition(2, Delta::from_us(3000)).expect("two datacenters");
        assert!(!graph.is_balanced(&by_datacenter));
        let by_rack = graph.partition(2, Delta::from_us(1)).expect("racks");
        assert!(graph.is_balanced(&by_rack));
        assert_ne!(by_rack.part_of[0], by_rack.part_of[1]);
    }
}
