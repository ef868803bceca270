//! Several equal datacenters, each joined with every other one by long-haul links: the nodes of datacenter d are called as in
//! its fabric, with "dcD-" in front; border routers are dcD-border1…, DCI switches dcD-dci1….

use super::declaration::{Example, KeyTable, OTHER_KEYS, Page, Topology, TopologyKeys, Variant};
use super::fat_tree::{self, FatTree};
use super::layout::{Layout, Misfit, Problem, RateKey, Switches, too_large};
use super::spine_leaf::{self, SpineLeaf};
use crate::diagnostic::Diagnostic;
use crate::json::section;
use crate::reader::{Section, names, read_one, word};
use crate::sections::{FASTEST, IdleLinkKey, LARGEST, LinkPfcChoice, MAX_DELAY, SLOWEST};
use farloop_net::spec::{LinkPfc, LinkSpec, NodeId};
use farloop_units::{Bytes, Delta, Params, Rate, choice, params};
use serde_json::{Map, Value as Json};

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
    pub struct DatacenterKeys {
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
        /// How the ends of a long-haul link pause each other, where both have pfc = true. "auto": by PFC, but not between datacenters.
        /// "on": by PFC, also between datacenters; each end reserves a round trip. "bifrost": by pauses with a time, which need half the
        /// buffer (Bifrost, ICNP 2023); between switches only.
        wan_pfc: LinkPfcChoice = LinkPfcChoice::Auto;
        /// With wan_pfc = "on": buffer that each end reserves for each class of packets that come after a pause; "none" to compute it. With
        /// wan_pfc = "bifrost": all that each end may hold; "none" for the bytes of a round trip and three slots (Bifrost, §VI-A).
        wan_headroom: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
        /// With wan_pfc = "bifrost": time between two pauses; "none" for 10 us (Bifrost, §V).
        wan_pfc_slot: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(MAX_DELAY);
        /// What every other datacenter is. "fabric": the same as the first. "hosts": hosts at a single router, as cheap peers for
        /// cross-datacenter flows.
        remote: Remote = Remote::Fabric;
        /// With remote = "hosts": hosts of each datacenter except the first; "none" for as many as the first has.
        remote_hosts: Option<u32> = None, in Some(1) => Some(100_000);
    }
}

/// Several datacenters.
#[derive(Clone, PartialEq, Debug)]
pub struct Datacenters {
    /// Number of datacenters, and the links between them.
    pub keys: DatacenterKeys,
    /// The network inside each of them.
    pub fabric: FabricKeys,
}

impl Topology for Datacenters {
    fn page() -> Page {
        Page {
            drawing: DRAWING,
            text: TEXT,
            tables: vec![KeyTable { lead: "", specs: DatacenterKeys::specs(), required: &[] }],
        }
    }

    fn examples() -> &'static [Example] {
        EXAMPLES
    }

    fn variants() -> Vec<Variant> {
        let joined = |fabric, inner| {
            let specs = DatacenterKeys::specs().into_iter().chain(inner).collect();
            Variant { fabric: Some(fabric), specs }
        };
        vec![joined("fat-tree", FatTree::specs()), joined("spine-leaf", SpineLeaf::specs())]
    }

    fn fabric(network: &Section<'_>) -> Result<Option<String>, Diagnostic> {
        Ok(Some(word(&read_one::<DatacenterKeys>(network, "fabric")?.fabric)))
    }

    fn read(_: &Section<'_>, network: &Section<'_>) -> Result<Datacenters, Diagnostic> {
        let own = [&OTHER_KEYS, &names(DatacenterKeys::spec_table())[..]].concat();
        let (inner, fabric) = match read_one::<DatacenterKeys>(network, "fabric")?.fabric {
            Fabric::FatTree => (names(FatTree::spec_table()), FabricKeys::FatTree(network.read(&[], &own)?)),
            Fabric::SpineLeaf => (names(SpineLeaf::spec_table()), FabricKeys::SpineLeaf(network.read(&[], &own)?)),
        };
        let keys = network.read(&[], &[&OTHER_KEYS, &inner[..]].concat())?;
        check(&keys, &fabric).map_err(|(key, problem, expected)| network.diagnostic(key, problem, expected))?;
        Ok(Datacenters { keys, fabric })
    }

    fn resolve_keys(&self) -> Map<String, Json> {
        let mut all = section(&resolve(&self.keys, &self.fabric));
        all.extend(self.fabric.resolve_keys());
        all
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Problem> {
        Ok(layout(&self.keys, &self.fabric, switches))
    }
}

const DRAWING: &str = r#"
border = "router":  fabric ─ cores ── dc0-border1 ══ long haul ══ dc1-border1 ── cores ─ fabric
border = "core":    fabric ─ dc0-core1 ══ long haul ══ dc1-core1 ─ fabric, and so for every core
border = "dci":     fabric ─ cores ── dc0-dci1 ══ long haul ══ dc1-dci1 ── cores ─ fabric
remote = "hosts":   fabric ─ … ══ long haul ══ dc1-border1 ── dc1-h1, dc1-h2, …"#;
const TEXT: &str = r#"
Datacenters 0, 1, … are equal, and links join each with every other one. Inside each is a fat-tree or a spine-leaf network with the keys of
that topology. Its nodes have the same names with the prefix `dc0-`, `dc1-`, ….

Border routers are outside of all datacenters and have the settings of `[wan_switch]`: deep buffers and, by default, no PFC, ECN or
telemetry. The *i*-th border router (with `border = "core"` the *i*-th core or spine) has a long-haul link to its counterpart in every other
datacenter. Cores keep the settings of `[switch]` at all their ports. A link, also a `[[link]]`, that joins switches of two datacenters
directly has no PFC unless `wan_pfc` or `pfc` says so, because no ordinary buffer holds the packets in flight.

With `remote = "hosts"` only datacenter 0 is a fabric. In every other datacenter the hosts are at a single router, where all long-haul links
of datacenter 0 end. They are cheap peers for cross-datacenter flows, which then meet no congestion in the remote datacenter.

Gear's network is `border = "core"` with all other keys at their defaults (ToN 2025, §IV-B: the core switches of a fat-tree with 128 servers
are the border routers, 25 ms from switches outside). With `record.ports = "auto"` the long-haul ports get series."#;
const EXAMPLES: &[Example] = &[
    Example {
        name: "datacenters",
        keys: "datacenters = 3\nfabric = \"spine-leaf\"\nspines = 2\nleaves = 2\nhosts_per_leaf = 2\nwan_delay = \"50us\"",
        pairs: [("dc0-h1", "dc1-h1"), ("dc0-h2", "dc2-h4")],
    },
    Example {
        name: "dci-switches",
        keys: "border = \"dci\"\nfabric = \"spine-leaf\"\nspines = 2\nleaves = 1\nhosts_per_leaf = 2\nwan_delay = \"50us\"",
        pairs: [("dc0-h1", "dc1-h1"), ("dc1-h2", "dc0-h2")],
    },
    Example {
        name: "cores-remote-hosts",
        keys: "fabric = \"fat-tree\"\nborder = \"core\"\nremote = \"hosts\"\npods = 2\nwan_delay = \"50us\"",
        pairs: [("dc0-h1", "dc1-h1"), ("dc1-h2", "dc0-h2")],
    },
];

/// The network inside a datacenter.
#[derive(Clone, PartialEq, Debug)]
pub enum FabricKeys {
    /// `fabric = "fat-tree"`.
    FatTree(FatTree),
    /// `fabric = "spine-leaf"`.
    SpineLeaf(SpineLeaf),
}

impl FabricKeys {
    fn check(&self) -> Result<(), Misfit> {
        match self {
            FabricKeys::FatTree(keys) => keys.check(),
            FabricKeys::SpineLeaf(keys) => keys.check(),
        }
    }

    /// Hosts and links of one datacenter.
    fn size(&self) -> (u64, u64) {
        match self {
            FabricKeys::FatTree(keys) => fat_tree::size(keys),
            FabricKeys::SpineLeaf(keys) => spine_leaf::size(keys),
        }
    }

    /// Switches of the top tier, and the key that says how many.
    fn top(&self) -> (u32, &'static str) {
        match self {
            FabricKeys::FatTree(keys) => (keys.cores, "cores"),
            FabricKeys::SpineLeaf(keys) => (keys.spines, "spines"),
        }
    }

    /// Rate and delay of the hosts' links.
    fn host_link(&self) -> (Rate, Delta) {
        match self {
            FabricKeys::FatTree(keys) => (keys.rate, keys.host_delay.unwrap_or(keys.link_delay)),
            FabricKeys::SpineLeaf(keys) => (keys.rate, keys.host_delay.unwrap_or(keys.link_delay)),
        }
    }

    /// Delay of the links between switches.
    fn fabric_delay(&self) -> Delta {
        match self {
            FabricKeys::FatTree(keys) => keys.link_delay,
            FabricKeys::SpineLeaf(keys) => keys.link_delay,
        }
    }

    /// Rate of the links between switches, and the key that sets it.
    fn fabric_rate(&self) -> (Rate, &'static str) {
        let (rate, fabric_rate) = match self {
            FabricKeys::FatTree(keys) => (keys.rate, keys.fabric_rate),
            FabricKeys::SpineLeaf(keys) => (keys.rate, keys.fabric_rate),
        };
        fabric_rate.map_or((rate, "rate"), |r| (r, "fabric_rate"))
    }

    fn place(&self, prefix: &str, datacenter: u16, switches: &Switches<'_>, layout: &mut Layout) -> Vec<NodeId> {
        match self {
            FabricKeys::FatTree(keys) => fat_tree::place(keys, prefix, datacenter, switches, layout),
            FabricKeys::SpineLeaf(keys) => spine_leaf::place(keys, prefix, datacenter, switches, layout),
        }
    }

    /// Every key with its value, the optional ones filled in.
    fn resolve_keys(&self) -> Map<String, Json> {
        match self {
            FabricKeys::FatTree(keys) => section(&keys.resolve()),
            FabricKeys::SpineLeaf(keys) => section(&keys.resolve()),
        }
    }
}

/// The keys, with the optional ones filled in.
fn resolve(keys: &DatacenterKeys, fabric: &FabricKeys) -> DatacenterKeys {
    let wan_links = match keys.border {
        Border::Router | Border::Dci => 1,
        Border::Core => fabric.top().0,
    };
    let remote_hosts = (keys.remote == Remote::Hosts).then_some(fabric.size().0 as u32);
    DatacenterKeys {
        wan_links: keys.wan_links.or(Some(wan_links)),
        wan_rate: keys.wan_rate.or(Some(fabric.fabric_rate().0)),
        remote_hosts: keys.remote_hosts.or(remote_hosts),
        ..keys.clone()
    }
}

/// Checks that the keys fit together.
fn check(keys: &DatacenterKeys, fabric: &FabricKeys) -> Result<(), Misfit> {
    fabric.check()?;
    if let Err((key, problem, expected)) = long_haul_pfc(keys) {
        let key = if key == "headroom" { "wan_headroom" } else { "wan_pfc_slot" };
        return Err((key, problem.into(), expected.into()));
    }
    let (top, key) = fabric.top();
    if let (Border::Core, Some(links)) = (keys.border, keys.wan_links)
        && links > top
    {
        let problem = format!("{links} long-haul links cannot begin at {top} switches, one at each");
        return Err((
            "wan_links",
            problem,
            format!("expected at most the number of {key}, or border = \"router\" or \"dci\""),
        ));
    }
    if keys.remote == Remote::Fabric && keys.remote_hosts.is_some() {
        let problem = "the other datacenters have the hosts of their fabric".to_string();
        return Err(("remote_hosts", problem, "expected \"none\", or remote = \"hosts\"".into()));
    }
    let resolved = resolve(keys, fabric);
    let wan_links = u64::from(resolved.wan_links.unwrap_or_default());
    let (hosts, links) = fabric.size();
    let borders = if keys.border == Border::Core { 0 } else { wan_links * u64::from(top) };
    let remote = match resolved.remote_hosts {
        Some(hosts) => (u64::from(hosts), u64::from(hosts)),
        None => (hosts, links + borders),
    };
    let n = u64::from(keys.datacenters);
    let all_links = links + borders + (n - 1) * remote.1 + n * (n - 1) / 2 * wan_links;
    if let Some((problem, expected)) = too_large(hosts + (n - 1) * remote.0, all_links) {
        return Err(("datacenters", problem, expected));
    }
    Ok(())
}

/// PFC of the long-haul links.
fn long_haul_pfc(keys: &DatacenterKeys) -> Result<LinkPfc, IdleLinkKey> {
    keys.wan_pfc.spec(keys.wan_headroom, keys.wan_pfc_slot)
}

/// The switch number `i` of those where the long-haul links of a datacenter begin.
fn border_switch(border: Border, datacenter: u16, i: u32, switches: &Switches<'_>, layout: &mut Layout) -> NodeId {
    match border {
        Border::Dci => layout.switch(format!("dc{datacenter}-dci{i}"), datacenter, switches),
        Border::Router | Border::Core => layout.router(format!("dc{datacenter}-border{i}"), None, switches),
    }
}

/// Nodes and links, for keys that pass [`check`].
fn layout(keys: &DatacenterKeys, fabric: &FabricKeys, switches: &Switches<'_>) -> Layout {
    let mut layout = Layout::default();
    let (fabric_rate, fabric_key) = fabric.fabric_rate();
    let (wan_rate, wan_key) = keys.wan_rate.map_or((fabric_rate, fabric_key), |r| (r, "wan_rate"));
    let resolved = resolve(keys, fabric);
    let wan_links = resolved.wan_links.unwrap_or_default();
    let (host_rate, host_delay) = fabric.host_link();

    // The nodes of each datacenter where long-haul links begin.
    let mut borders: Vec<Vec<NodeId>> = Vec::new();
    for datacenter in 0..keys.datacenters as u16 {
        let prefix = format!("dc{datacenter}-");
        if let (1.., Some(hosts)) = (datacenter, resolved.remote_hosts) {
            let hosts: Vec<_> = (1..=hosts).map(|i| layout.host(format!("{prefix}h{i}"), datacenter)).collect();
            let router = border_switch(keys.border, datacenter, 1, switches, &mut layout);
            for host in hosts {
                layout.link(host, router, host_rate, "rate", host_delay);
            }
            borders.push(vec![router]);
            continue;
        }
        let top = fabric.place(&prefix, datacenter, switches, &mut layout);
        borders.push(match keys.border {
            Border::Core => top.into_iter().take(wan_links as usize).collect(),
            Border::Router | Border::Dci => {
                let routers: Vec<_> =
                    (1..=wan_links).map(|i| border_switch(keys.border, datacenter, i, switches, &mut layout)).collect();
                for (&switch, &router) in top.iter().flat_map(|t| routers.iter().map(move |r| (t, r))) {
                    layout.link(switch, router, fabric_rate, fabric_key, fabric.fabric_delay());
                }
                routers
            }
        });
    }

    // Those of several fabrics would be too many for series by default: the long-haul ports are the point of this topology.
    layout.bottlenecks.clear();
    let pfc = long_haul_pfc(keys).expect("keys without effect were refused");
    for (i, here) in borders.iter().enumerate() {
        for there in &borders[i + 1..] {
            // Counterparts are joined one to one; a lone router takes the links of all.
            for n in 0..here.len().max(there.len()) {
                let (a, b) = (here[n % here.len()], there[n % there.len()]);
                let (loss, corruption) = (keys.wan_loss, keys.wan_corruption);
                let link = LinkSpec { loss, corruption, pfc, ..LinkSpec::plain(a, b, wan_rate, keys.wan_delay) };
                layout.lossy_link(link, RateKey::Network(wan_key));
                layout.bottlenecks.extend([(a, b, 0), (b, a, 0)]);
            }
        }
    }
    layout
}
