//! Three tiers of switches in pods: hosts h1…, switches tor1-1…, agg1-1… (pod and number in the pod) and core1…, all in
//! datacenter 0.

use super::{Plan, Switches, too_large};
use crate::sections::FatTree;

/// Why these numbers make no fat-tree: the key at fault, the problem, what is expected.
pub(crate) fn check(keys: &FatTree) -> Result<(), (&'static str, String, String)> {
    if !keys.cores.is_multiple_of(keys.aggs_per_pod) {
        let problem = format!("{} core switches cannot be shared by {} per pod", keys.cores, keys.aggs_per_pod);
        return Err(("cores", problem, "expected a multiple of aggs_per_pod".into()));
    }
    let [pods, tors, aggs, cores, hosts_per_tor] =
        [keys.pods, keys.tors_per_pod, keys.aggs_per_pod, keys.cores, keys.hosts_per_tor].map(u64::from);
    let (hosts, links) = (pods * tors * hosts_per_tor, pods * (tors * (hosts_per_tor + aggs) + cores));
    if let Some((problem, expected)) = too_large(hosts, links) {
        return Err(("pods", problem, expected));
    }
    Ok(())
}

/// Nodes and links, for keys that pass [`check`].
pub(crate) fn plan(keys: &FatTree, switches: &Switches<'_>) -> Plan {
    let mut plan = Plan::default();
    let (fabric_rate, fabric_key) = keys.fabric_rate.map_or((keys.rate, "rate"), |r| (r, "fabric_rate"));
    let hosts_per_pod = keys.tors_per_pod * keys.hosts_per_tor;
    let hosts: Vec<_> = (1..=keys.pods * hosts_per_pod).map(|i| plan.host(format!("h{i}"), 0)).collect();
    let cores: Vec<_> = (1..=keys.cores).map(|i| plan.switch(format!("core{i}"), 0, switches)).collect();
    let mut hosts = hosts.into_iter();
    for pod in 1..=keys.pods {
        let aggs: Vec<_> = (1..=keys.aggs_per_pod).map(|i| plan.switch(format!("agg{pod}-{i}"), 0, switches)).collect();
        for i in 1..=keys.tors_per_pod {
            let tor = plan.switch(format!("tor{pod}-{i}"), 0, switches);
            for host in hosts.by_ref().take(keys.hosts_per_tor as usize) {
                plan.link(host, tor, keys.rate, "rate", keys.link_delay);
            }
            for &agg in &aggs {
                plan.link(tor, agg, fabric_rate, fabric_key, keys.link_delay);
            }
        }
        let share = (keys.cores / keys.aggs_per_pod) as usize;
        for (&agg, cores) in aggs.iter().zip(cores.chunks(share)) {
            for &core in cores {
                plan.link(agg, core, fabric_rate, fabric_key, keys.link_delay);
                plan.bottlenecks.push((agg, core));
            }
        }
    }
    plan
}
