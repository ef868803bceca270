//! Three tiers of switches in pods: hosts h1…, switches tor1-1…, agg1-1… (pod and number in the pod) and core1…, all in
//! datacenter 0.

use super::{Layout, Misfit, Switches, too_large};
use crate::sections::FatTree;
use farloop_net::spec::NodeId;

/// Checks that these numbers make a fat-tree.
pub(crate) fn check(keys: &FatTree) -> Result<(), Misfit> {
    if !keys.cores.is_multiple_of(keys.aggs_per_pod) {
        let problem = format!("{} core switches cannot be shared by {} per pod", keys.cores, keys.aggs_per_pod);
        return Err(("cores", problem, "expected a multiple of aggs_per_pod".into()));
    }
    let (hosts, links) = size(keys);
    if let Some((problem, expected)) = too_large(hosts, links) {
        return Err(("pods", problem, expected));
    }
    Ok(())
}

/// Hosts and links that [`place`] makes.
pub(crate) fn size(keys: &FatTree) -> (u64, u64) {
    let [pods, tors, aggs, cores, hosts_per_tor] =
        [keys.pods, keys.tors_per_pod, keys.aggs_per_pod, keys.cores, keys.hosts_per_tor].map(u64::from);
    (pods * tors * hosts_per_tor, pods * (tors * (hosts_per_tor + aggs) + cores))
}

/// Nodes and links, for keys that pass [`check`].
pub(crate) fn layout(keys: &FatTree, switches: &Switches<'_>) -> Layout {
    let mut layout = Layout::default();
    place(keys, "", 0, switches, &mut layout);
    layout
}

/// Adds a fat-tree as `datacenter`, every name with `prefix`; gives its core switches.
pub(crate) fn place(
    keys: &FatTree,
    prefix: &str,
    datacenter: u16,
    switches: &Switches<'_>,
    layout: &mut Layout,
) -> Vec<NodeId> {
    let (fabric_rate, fabric_key) = keys.fabric_rate.map_or((keys.rate, "rate"), |r| (r, "fabric_rate"));
    let hosts_per_pod = keys.tors_per_pod * keys.hosts_per_tor;
    let hosts: Vec<_> =
        (1..=keys.pods * hosts_per_pod).map(|i| layout.host(format!("{prefix}h{i}"), datacenter)).collect();
    let switch = |name: String, layout: &mut Layout| layout.switch(format!("{prefix}{name}"), datacenter, switches);
    let cores: Vec<_> = (1..=keys.cores).map(|i| switch(format!("core{i}"), layout)).collect();
    let mut hosts = hosts.into_iter();
    for pod in 1..=keys.pods {
        let aggs: Vec<_> = (1..=keys.aggs_per_pod).map(|i| switch(format!("agg{pod}-{i}"), layout)).collect();
        for i in 1..=keys.tors_per_pod {
            let tor = switch(format!("tor{pod}-{i}"), layout);
            for host in hosts.by_ref().take(keys.hosts_per_tor as usize) {
                layout.link(host, tor, keys.rate, "rate", keys.host_delay.unwrap_or(keys.link_delay));
            }
            for &agg in &aggs {
                layout.link(tor, agg, fabric_rate, fabric_key, keys.link_delay);
            }
        }
        let share = (keys.cores / keys.aggs_per_pod) as usize;
        for (&agg, cores) in aggs.iter().zip(cores.chunks(share)) {
            for &core in cores {
                layout.link(agg, core, fabric_rate, fabric_key, keys.link_delay);
                layout.bottlenecks.push((agg, core, 0));
            }
        }
    }
    cores
}
