//! Three tiers of switches in pods: hosts h1…, switches tor1-1…, agg1-1… (pod and number in the pod) and core1…, all in
//! datacenter 0.

use super::declaration::{Example, TopologyKeys};
use super::layout::{Layout, Misfit, Switches, too_large};
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_net::spec::NodeId;
use farloop_units::{Delta, Rate, params};

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

impl TopologyKeys for FatTree {
    const TEXT: &'static str = r#"
Hosts h1, h2, …, switches tor1-1, agg1-1 (pod and number in the pod) and core1, …, all in datacenter 0. Each top-of-rack switch has
a link to every aggregation switch of its pod; aggregation switch *i* of each pod has links to the *i*-th share of the cores. The
defaults give 128 hosts and an oversubscription of 4:1."#;
    const EXAMPLES: &'static [Example] = &[Example {
        name: "fat-tree",
        keys: "pods = 2\ntors_per_pod = 2\naggs_per_pod = 2\ncores = 4\nhosts_per_tor = 2",
        pairs: [("h1", "h5"), ("h2", "h8")],
    }];

    fn check(&self) -> Result<(), Misfit> {
        if !self.cores.is_multiple_of(self.aggs_per_pod) {
            let problem = format!("{} core switches cannot be shared by {} per pod", self.cores, self.aggs_per_pod);
            return Err(("cores", problem, "expected a multiple of aggs_per_pod".into()));
        }
        let (hosts, links) = size(self);
        if let Some((problem, expected)) = too_large(hosts, links) {
            return Err(("pods", problem, expected));
        }
        Ok(())
    }

    fn resolve(&self) -> FatTree {
        let fabric_rate = self.fabric_rate.or(Some(self.rate));
        let host_delay = self.host_delay.or(Some(self.link_delay));
        FatTree { fabric_rate, host_delay, ..self.clone() }
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        let mut layout = Layout::default();
        place(self, "", 0, switches, &mut layout);
        Ok(layout)
    }
}

/// Hosts and links of one network.
pub(crate) fn size(keys: &FatTree) -> (u64, u64) {
    let [pods, tors, aggs, cores, hosts_per_tor] =
        [keys.pods, keys.tors_per_pod, keys.aggs_per_pod, keys.cores, keys.hosts_per_tor].map(u64::from);
    (pods * tors * hosts_per_tor, pods * (tors * (hosts_per_tor + aggs) + cores))
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
