//! Two tiers of switches: hosts h1…, switches leaf1… and spine1…, all in datacenter 0.

use super::{Layout, Misfit, Switches, too_large};
use crate::sections::SpineLeaf;
use farloop_net::spec::NodeId;

/// Checks that a network of these numbers can be simulated.
pub(crate) fn check(keys: &SpineLeaf) -> Result<(), Misfit> {
    let (hosts, links) = size(keys);
    too_large(hosts, links).map_or(Ok(()), |(problem, expected)| Err(("leaves", problem, expected)))
}

/// Hosts and links that [`place`] makes.
pub(crate) fn size(keys: &SpineLeaf) -> (u64, u64) {
    let [spines, leaves, hosts_per_leaf] = [keys.spines, keys.leaves, keys.hosts_per_leaf].map(u64::from);
    (leaves * hosts_per_leaf, leaves * (hosts_per_leaf + spines))
}

/// Nodes and links.
pub(crate) fn layout(keys: &SpineLeaf, switches: &Switches<'_>) -> Layout {
    let mut layout = Layout::default();
    place(keys, "", 0, switches, &mut layout);
    layout
}

/// Adds the network as `datacenter`, every name with `prefix`; gives its spine switches.
pub(crate) fn place(
    keys: &SpineLeaf,
    prefix: &str,
    datacenter: u16,
    switches: &Switches<'_>,
    layout: &mut Layout,
) -> Vec<NodeId> {
    let (fabric_rate, fabric_key) = keys.fabric_rate.map_or((keys.rate, "rate"), |r| (r, "fabric_rate"));
    let hosts: Vec<_> =
        (1..=keys.leaves * keys.hosts_per_leaf).map(|i| layout.host(format!("{prefix}h{i}"), datacenter)).collect();
    let spines: Vec<_> =
        (1..=keys.spines).map(|i| layout.switch(format!("{prefix}spine{i}"), datacenter, switches)).collect();
    for (i, hosts) in hosts.chunks(keys.hosts_per_leaf as usize).enumerate() {
        let leaf = layout.switch(format!("{prefix}leaf{}", i + 1), datacenter, switches);
        for &host in hosts {
            layout.link(host, leaf, keys.rate, "rate", keys.host_delay.unwrap_or(keys.link_delay));
        }
        for &spine in &spines {
            layout.link(leaf, spine, fabric_rate, fabric_key, keys.link_delay);
            layout.bottlenecks.extend([(leaf, spine, 0), (spine, leaf, 0)]);
        }
    }
    spines
}
