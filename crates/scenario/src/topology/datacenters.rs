//! Several equal datacenters, each joined with every other one by long-haul links: the nodes of datacenter d are called as in
//! its fabric, with "dcD-" in front; border routers are dcD-border1…, DCI switches dcD-dci1….
//!
//! ```text
//! border = "router":  fabric ─ cores ── dc0-border1 ══ long haul ══ dc1-border1 ── cores ─ fabric
//! border = "core":    fabric ─ dc0-core1 ══ long haul ══ dc1-core1 ─ fabric, and so for every core
//! border = "dci":     fabric ─ cores ── dc0-dci1 ══ long haul ══ dc1-dci1 ── cores ─ fabric
//! remote = "hosts":   … ══ long haul ══ dc1-border1 ── dc1-h1, dc1-h2, …
//! ```

use super::{Layout, Misfit, RateKey, Switches, fat_tree, spine_leaf, too_large};
use crate::sections::{Border, Datacenters, FatTree, Remote, SpineLeaf};
use farloop_net::spec::{LinkSpec, NodeId};
use farloop_units::{Delta, Rate};

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
            FabricKeys::FatTree(keys) => fat_tree::check(keys),
            FabricKeys::SpineLeaf(keys) => spine_leaf::check(keys),
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
}

/// The keys, with the optional ones filled in.
pub(crate) fn resolved(keys: &Datacenters, fabric: &FabricKeys) -> Datacenters {
    let wan_links = match keys.border {
        Border::Router | Border::Dci => 1,
        Border::Core => fabric.top().0,
    };
    let remote_hosts = (keys.remote == Remote::Hosts).then_some(fabric.size().0 as u32);
    Datacenters {
        wan_links: keys.wan_links.or(Some(wan_links)),
        wan_rate: keys.wan_rate.or(Some(fabric.fabric_rate().0)),
        remote_hosts: keys.remote_hosts.or(remote_hosts),
        ..keys.clone()
    }
}

/// Checks that the keys fit together.
pub(crate) fn check(keys: &Datacenters, fabric: &FabricKeys) -> Result<(), Misfit> {
    fabric.check()?;
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
    let resolved = resolved(keys, fabric);
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

/// The switch number `i` of those where the long-haul links of a datacenter begin.
fn border_switch(border: Border, datacenter: u16, i: u32, switches: &Switches<'_>, layout: &mut Layout) -> NodeId {
    match border {
        Border::Dci => layout.switch(format!("dc{datacenter}-dci{i}"), datacenter, switches),
        Border::Router | Border::Core => layout.router(format!("dc{datacenter}-border{i}"), None, switches),
    }
}

/// Nodes and links, for keys that pass [`check`].
pub(crate) fn layout(keys: &Datacenters, fabric: &FabricKeys, switches: &Switches<'_>) -> Layout {
    let mut layout = Layout::default();
    let (fabric_rate, fabric_key) = fabric.fabric_rate();
    let (wan_rate, wan_key) = keys.wan_rate.map_or((fabric_rate, fabric_key), |r| (r, "wan_rate"));
    let resolved = resolved(keys, fabric);
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
    for (i, here) in borders.iter().enumerate() {
        for there in &borders[i + 1..] {
            // Counterparts are joined one to one; a lone router takes the links of all.
            for n in 0..here.len().max(there.len()) {
                let (a, b) = (here[n % here.len()], there[n % there.len()]);
                let (loss, corruption) = (keys.wan_loss, keys.wan_corruption);
                let link = LinkSpec { a, b, rate: wan_rate, delay: keys.wan_delay, loss, corruption };
                layout.lossy_link(link, RateKey::Network(wan_key));
                layout.bottlenecks.extend([(a, b, 0), (b, a, 0)]);
            }
        }
    }
    layout
}
