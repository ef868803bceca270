//! Two tiers of switches: hosts h1…, switches leaf1… and spine1…, all in datacenter 0.

use super::declaration::{Example, TopologyKeys};
use super::layout::{Layout, Misfit, Switches};
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_net::spec::NodeId;
use farloop_units::{Delta, Rate, params};

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

impl TopologyKeys for SpineLeaf {
    const TEXT: &'static str = r#"
Hosts h1, h2, …, switches leaf1, … and spine1, …, all in datacenter 0. Each leaf switch has a link to every spine switch. The
defaults give 128 hosts and an oversubscription of 4:1."#;
    const EXAMPLES: &'static [Example] = &[Example {
        name: "spine-leaf",
        keys: "spines = 3\nleaves = 5\nhosts_per_leaf = 4",
        pairs: [("h1", "h5"), ("h2", "h20")],
    }];

    fn resolve(&self) -> SpineLeaf {
        let fabric_rate = self.fabric_rate.or(Some(self.rate));
        let host_delay = self.host_delay.or(Some(self.link_delay));
        SpineLeaf { fabric_rate, host_delay, ..self.clone() }
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        let mut layout = Layout::default();
        place(self, "", 0, switches, &mut layout);
        Ok(layout)
    }
}

/// Hosts and links of one network.
pub(crate) fn size(keys: &SpineLeaf) -> (u64, u64) {
    let [spines, leaves, hosts_per_leaf] = [keys.spines, keys.leaves, keys.hosts_per_leaf].map(u64::from);
    (leaves * hosts_per_leaf, leaves * (hosts_per_leaf + spines))
}

/// Adds the network as `datacenter`, every name with `prefix`; gives its spine switches.
pub(crate) fn place(
    keys: &SpineLeaf,
    prefix: &str,
    datacenter: u16,
    switches: &Switches<'_>,
    layout: &mut Layout,
) -> Vec<NodeId> {
    let hosts: Vec<_> =
        (1..=keys.leaves * keys.hosts_per_leaf).map(|i| layout.host(format!("{prefix}h{i}"), datacenter)).collect();
    join(keys, prefix, datacenter, switches, &hosts, layout)
}

/// Adds the switches of the network, every name with `prefix`, and links between them and to `hosts`; gives its spine switches.
pub(crate) fn join(
    keys: &SpineLeaf,
    prefix: &str,
    datacenter: u16,
    switches: &Switches<'_>,
    hosts: &[NodeId],
    layout: &mut Layout,
) -> Vec<NodeId> {
    let (fabric_rate, fabric_key) = keys.fabric_rate.map_or((keys.rate, "rate"), |r| (r, "fabric_rate"));
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
