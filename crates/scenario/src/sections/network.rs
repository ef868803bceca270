//! The keys of `[network]`, `[[node]]` and `[[link]]`.

use super::{FASTEST, MAX_DELAY, RoutingKeys, SLOWEST};
use farloop_units::{Delta, ParamSpec, Params, Rate, choice, params};

choice! {
    /// The shape of the network.
    pub enum Topology {
        /// Two switches, a shared bottleneck between them, receivers nearby and far away.
        Dumbbell = "dumbbell",
        /// Three tiers of switches in pods.
        FatTree = "fat-tree",
        /// Two tiers of switches.
        SpineLeaf = "spine-leaf",
        /// Several equal datacenters, joined by long-haul links.
        Datacenters = "datacenters",
        /// Two racks in one datacenter and one in another.
        ThreeRacks = "three-racks",
        /// Racks between a packet switch and a circuit switch.
        Hybrid = "hybrid",
        /// Nodes and links listed one by one.
        Links = "links",
    }
}

params! {
    /// The key of `[network]` that decides about the others.
    pub struct TopologyKey {
        /// The shape of the network; it decides which other keys `[network]` has.
        topology: Topology = Topology::Dumbbell;
    }
}

params! {
    /// `[network]` with `topology = "dumbbell"`.
    pub struct Dumbbell {
        /// Pairs of hosts inside datacenter 0: senders s1…, receivers d1….
        intra_pairs: u32 = 1, in 0 => 10_000;
        /// Pairs of hosts across the wide-area network: senders s(intra_pairs+1)…, receivers r1… in datacenter 1.
        cross_pairs: u32 = 1, in 0 => 10_000;
        /// Rate of the hosts' links.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// Rate of the link left–right; "none" for the hosts' rate.
        bottleneck_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link but the long-haul one. The default gives a round-trip time of about 32 us
        /// inside the datacenter, as Gear (ToN 2025, §IV-A) measures.
        link_delay: Delta = Delta::from_ns(5250), in Delta::ZERO => MAX_DELAY;
        /// Rate of the links right–wan1 and wan1–wan2; "none" for the hosts' rate.
        wan_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of the long-haul link wan1–wan2.
        wan_delay: Delta = Delta::from_ms(25), in Delta::ZERO => MAX_DELAY;
        /// Probability that a packet is lost on the link left–right.
        bottleneck_loss: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is damaged on the link left–right.
        bottleneck_corruption: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is lost on the long-haul link.
        wan_loss: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is damaged on the long-haul link.
        wan_corruption: f64 = 0.0, in 0.0 => 1.0;
    }
}

params! {
    /// `[network]` with `topology = "fat-tree"`. The defaults are the 128 servers of Gear (ToN 2025, §IV-B).
    pub struct FatTree {
        /// Pods.
        pods: u32 = 4, in 1 => 256;
        /// Top-of-rack switches in each pod; each has a link to every aggregation switch of its pod.
        tors_per_pod: u32 = 4, in 1 => 256;
        /// Aggregation switches in each pod.
        aggs_per_pod: u32 = 4, in 1 => 256;
        /// Core switches, a multiple of aggs_per_pod: aggregation switch i of every pod has links to the i-th share of them.
        cores: u32 = 8, in 1 => 4096;
        /// Hosts at each top-of-rack switch.
        hosts_per_tor: u32 = 8, in 1 => 1024;
        /// Rate of the hosts' links.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// Rate of the links between switches; "none" for the hosts' rate.
        fabric_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link. The default is a sixth of 20 us, the propagation delay between two
        /// servers in different pods (Gear, §IV-B).
        link_delay: Delta = Delta::from_ps(3_333_333), in Delta::ZERO => MAX_DELAY;
        /// One-way propagation delay of the hosts' links; "none" for that of every other link.
        host_delay: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_DELAY);
    }
}

params! {
    /// `[network]` with `topology = "spine-leaf"`.
    pub struct SpineLeaf {
        /// Spine switches; each has a link to every leaf switch.
        spines: u32 = 4, in 1 => 1024;
        /// Leaf switches.
        leaves: u32 = 8, in 1 => 1024;
        /// Hosts at each leaf switch.
        hosts_per_leaf: u32 = 16, in 1 => 1024;
        /// Rate of the hosts' links.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// Rate of the links between switches; "none" for the hosts' rate.
        fabric_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link. The default is a quarter of 20 us, the propagation delay between two distant
        /// servers of a datacenter (Gear, §IV-B).
        link_delay: Delta = Delta::from_us(5), in Delta::ZERO => MAX_DELAY;
        /// One-way propagation delay of the hosts' links; "none" for that of every other link.
        host_delay: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_DELAY);
    }
}

choice! {
    /// The network inside each datacenter.
    pub enum Fabric {
        /// Keys of `topology = "fat-tree"`.
        FatTree = "fat-tree",
        /// Keys of `topology = "spine-leaf"`.
        SpineLeaf = "spine-leaf",
    }
}

choice! {
    /// Where the long-haul links of a datacenter begin.
    pub enum Border {
        /// At border routers of their own, which all switches of the top tier have a link to.
        Router = "router",
        /// At the switches of the top tier (cores or spines) themselves.
        Core = "core",
        /// At datacenter-interconnect (DCI) switches, which all switches of the top tier have a link to: of their datacenter, with the
        /// settings of `[switch]`.
        Dci = "dci",
    }
}

choice! {
    /// The network at the other ends of datacenter 0's long-haul links.
    pub enum Remote {
        /// The same fabric in every datacenter.
        Fabric = "fabric",
        /// Hosts at a single router.
        Hosts = "hosts",
    }
}

params! {
    /// `[network]` with `topology = "datacenters"`; the keys of its `fabric` come on top.
    pub struct Datacenters {
        /// Datacenters, each joined with every other one.
        datacenters: u32 = 2, in 2 => 64;
        /// The network inside each datacenter. It takes the keys of the topology of this name.
        fabric: Fabric = Fabric::FatTree;
        /// Where the long-haul links begin. "router": at separate border routers, with links to all switches of the top tier.
        /// "core": at the switches of the top tier (cores or spines). "dci": at datacenter-interconnect switches, which have the
        /// links of border routers, but belong to their datacenter and have the settings of [switch].
        border: Border = Border::Router;
        /// Long-haul links from each datacenter to each other one. border = "router" or "dci": one for each border switch, "none" for 1;
        /// border = "core": one for each of the first switches of the top tier, "none" for all of them.
        wan_links: Option<u32> = None, in Some(1) => Some(4096);
        /// Rate of the long-haul links; "none" for the rate of the links between switches.
        wan_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of the long-haul links (25 ms: Gear, §IV-B).
        wan_delay: Delta = Delta::from_ms(25), in Delta::ZERO => MAX_DELAY;
        /// Probability that a packet is lost on a long-haul link.
        wan_loss: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is damaged on a long-haul link.
        wan_corruption: f64 = 0.0, in 0.0 => 1.0;
        /// What every other datacenter is. "fabric": the same as the first. "hosts": hosts at a single router, as cheap peers for
        /// cross-datacenter flows.
        remote: Remote = Remote::Fabric;
        /// With remote = "hosts": hosts of each datacenter except the first; "none" for as many as the first has.
        remote_hosts: Option<u32> = None, in Some(1) => Some(100_000);
    }
}

params! {
    /// `[network]` with `topology = "three-racks"` (Gear, ToN 2025, §V-A, Fig. 17).
    pub struct ThreeRacks {
        /// Hosts in each rack.
        hosts_per_rack: u32 = 2, in 1 => 10_000;
        /// Rate of the hosts' links.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// Rate of the links between the top-of-rack switches and the core switch; "none" for the hosts' rate.
        core_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link but the long-haul one. The default is a quarter of 20 us, the propagation delay
        /// between two distant servers of a datacenter (Gear, §IV-B).
        link_delay: Delta = Delta::from_us(5), in Delta::ZERO => MAX_DELAY;
        /// One-way propagation delay of the long-haul link core–tor-c.
        wan_delay: Delta = Delta::from_ms(25), in Delta::ZERO => MAX_DELAY;
    }
}

params! {
    /// `[network]` with `topology = "hybrid"`. The defaults are AccelToR's (§IV-B), with as many links to the packet network as its
    /// published simulation has.
    pub struct Hybrid {
        /// Racks, each with a top-of-rack switch.
        racks: u32 = 8, in 2 => 128;
        /// Hosts in each rack.
        hosts_per_rack: u32 = 16, in 1 => 1024;
        /// Rate of the hosts' links, which the paper does not name. At 10 Gbps windows wait in the hosts, too.
        rate: Rate = Rate::from_gbps(40), in SLOWEST => FASTEST;
        /// Links from each top-of-rack switch to the packet switch.
        eps_uplinks: u32 = 5, in 1 => 64;
        /// Rate of each of these links.
        eps_rate: Rate = Rate::from_gbps(10), in SLOWEST => FASTEST;
        /// Rate of the link from each top-of-rack switch to the circuit switch.
        circuit_rate: Rate = Rate::from_gbps(80), in SLOWEST => FASTEST;
        /// One-way propagation delay of the hosts' links.
        link_delay: Delta = Delta::from_us(1), in Delta::ZERO => MAX_DELAY;
        /// Round-trip time of a full packet and its ACK between hosts of two racks in the empty network, through the packet
        /// switch. It determines the delay of the links to that switch.
        packet_rtt: Delta = Delta::from_us(60), in Delta::ZERO => MAX_DELAY;
        /// Round-trip time of a full packet through the circuit switch and its ACK through the packet switch, in the empty
        /// network. It determines the delay of the links to the circuit switch.
        circuit_rtt: Delta = Delta::from_us(55), in Delta::ZERO => MAX_DELAY;
        /// Probability that a packet is lost on the link of a host, in either direction.
        host_loss: f64 = 0.0, in 0.0 => 1.0;
        /// The hosts whose links lose packets, by name, such as "r2-*" for those of the second rack: "*" matches any characters,
        /// "?" any one.
        lossy_hosts: String = "*".to_string();
    }
}

params! {
    /// `[network]` with `topology = "links"`: everything is in `[[node]]` and `[[link]]`.
    pub struct Links {}
}

choice! {
    /// The role of a listed node.
    pub enum NodeRole {
        /// A host: it has exactly one link.
        Host = "host",
        /// A switch of a datacenter, with the settings of `[switch]`.
        Switch = "switch",
        /// A router of the wide-area network, with the settings of `[wan_switch]`.
        Router = "router",
        /// A circuit switch, with the slots of `[circuits]`.
        Circuit = "circuit",
    }
}

params! {
    /// `[[node]]`: one node of a network with `topology = "links"`.
    pub struct NodeKeys {
        /// Unique name.
        name: Option<String> = None;
        /// Host, switch (settings of [switch]), router (settings of [wan_switch]) or circuit switch (slots of [circuits]).
        kind: NodeRole = NodeRole::Host;
        /// Number of its datacenter; "none" for a router of the wide-area network.
        datacenter: Option<u16> = None;
    }
}

params! {
    /// `[[link]]`: one full-duplex link of a network with `topology = "links"`.
    pub struct LinkKeys {
        /// Name of the node at one end.
        a: Option<String> = None;
        /// Name of the node at the other end.
        b: Option<String> = None;
        /// Parallel links with these settings: the first is "a->b" in names of ports, the second "a->b#2", and so on.
        links: u32 = 1, in 1 => 1024;
        /// Rate of each direction.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// One-way propagation delay.
        delay: Delta = Delta::from_ns(5250), in Delta::ZERO => MAX_DELAY;
        /// Probability that a packet is lost on the way.
        loss: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is damaged on the way.
        corruption: f64 = 0.0, in 0.0 => 1.0;
    }
}

params! {
    /// `[[detour]]`: a switch sends what is bound for a host to one of its neighbours, whatever the shortest paths are.
    pub struct DetourKeys {
        /// Name of the switch.
        switch: Option<String> = None;
        /// Name of the host that the packets are bound for.
        destination: Option<String> = None;
        /// Name of the switch's neighbour that they go to; of parallel links to it the first, or with "#2" the second.
        next: Option<String> = None;
    }
}

/// The keys that `[network]` can have together.
#[derive(Clone, Debug)]
pub struct NetworkAlternative {
    /// The word of `topology`.
    pub topology: &'static str,
    /// The word of `fabric`, where the topology has that key.
    pub fabric: Option<&'static str>,
    /// All keys but `topology`, those of routes last.
    pub specs: Vec<ParamSpec>,
}

/// One alternative for each topology, and for each fabric of `topology = "datacenters"`.
pub fn network_alternatives() -> Vec<NetworkAlternative> {
    let routing = |specs: Vec<ParamSpec>| specs.into_iter().chain(RoutingKeys::specs()).collect();
    let plain = |topology, specs| NetworkAlternative { topology, fabric: None, specs: routing(specs) };
    let joined = |fabric, specs: Vec<ParamSpec>| {
        let specs = Datacenters::specs().into_iter().chain(specs).collect();
        NetworkAlternative { topology: "datacenters", fabric: Some(fabric), specs: routing(specs) }
    };
    vec![
        plain("dumbbell", Dumbbell::specs()),
        plain("fat-tree", FatTree::specs()),
        plain("spine-leaf", SpineLeaf::specs()),
        joined("fat-tree", FatTree::specs()),
        joined("spine-leaf", SpineLeaf::specs()),
        plain("three-racks", ThreeRacks::specs()),
        plain("hybrid", Hybrid::specs()),
        plain("links", Links::specs()),
    ]
}
