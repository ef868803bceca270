//! Planes: several equal networks of two tiers, and hosts with a NIC port in each of them.
//!
//! Source: Multipath Reliable Connection (OpenAI, Microsoft and others, 2026), section 2: hosts with 4 x 200 or 8 x 100 Gbps, a port in
//! each plane, and planes of two tiers that nothing but hosts joins.

use super::declaration::{Example, TopologyKeys};
use super::layout::{Layout, Misfit, Switches, too_large};
use super::spine_leaf::{self, SpineLeaf};
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_net::spec::NodeKind;
use farloop_units::{Delta, Rate, params};

params! {
    /// `[network]` with `topology = "multi-plane"`.
    pub struct MultiPlane {
        /// Planes; each host has a NIC port in each of them (MRC: 4 or 8).
        planes: u32 = 4, in 1 => NodeKind::MAX_PORTS as u32;
        /// Spine switches of each plane; each has a link to every leaf switch of its plane.
        spines: u32 = 4, in 1 => 1024;
        /// Leaf switches of each plane.
        leaves: u32 = 4, in 1 => 1024;
        /// Hosts at each leaf switch.
        hosts_per_leaf: u32 = 4, in 1 => 1024;
        /// Rate of each link of a host: of all its ports together `planes` times that.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// Rate of the links between switches; "none" for that of a host's link.
        fabric_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link.
        link_delay: Delta = Delta::from_ns(500), in Delta::ZERO => MAX_DELAY;
        /// One-way propagation delay of the hosts' links; "none" for that of every other link.
        host_delay: Option<Delta> = None, in Some(Delta::ZERO) => Some(MAX_DELAY);
    }
}

impl MultiPlane {
    /// The network of one plane.
    fn plane(&self) -> SpineLeaf {
        let &MultiPlane { spines, leaves, hosts_per_leaf, rate, fabric_rate, link_delay, host_delay, .. } = self;
        SpineLeaf { spines, leaves, hosts_per_leaf, rate, fabric_rate, link_delay, host_delay }
    }
}

impl TopologyKeys for MultiPlane {
    const DRAWING: &'static str = r#"
h1, h2, … ─┬─ plane1-leaf1 ─── plane1-spine1, plane1-spine2, …      port 1 of each host
           ├─ plane2-leaf1 ─── plane2-spine1, plane2-spine2, …      port 2
           └─ …"#;
    const TEXT: &'static str = r#"
Hosts h1, h2, …, all in datacenter 0, have a NIC port in each of `planes` equal networks: the switches plane1-leaf1, … and plane1-spine1, …
of the first one are linked as in `topology = "spine-leaf"`, and so are those of the others. No link joins two planes. [planes.md](planes.md)
says how flows take them. The defaults give 16 hosts with four ports of 100 Gbps without oversubscription."#;
    const EXAMPLES: &'static [Example] = &[Example {
        name: "multi-plane",
        keys: "planes = 3\nspines = 2\nleaves = 2\nhosts_per_leaf = 2",
        pairs: [("h1", "h2"), ("h1", "h4")],
    }];

    fn check(&self) -> Result<(), Misfit> {
        let (hosts, links) = spine_leaf::size(&self.plane());
        let too_large = too_large(hosts, links * u64::from(self.planes));
        too_large.map_or(Ok(()), |(problem, expected)| Err(("planes", problem, expected)))
    }

    fn resolve(&self) -> MultiPlane {
        let plane = self.plane().resolve();
        MultiPlane { fabric_rate: plane.fabric_rate, host_delay: plane.host_delay, ..self.clone() }
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        let mut layout = Layout::default();
        let hosts: Vec<_> = (1..=self.leaves * self.hosts_per_leaf).map(|i| layout.host(format!("h{i}"), 0)).collect();
        for plane in 1..=self.planes {
            spine_leaf::join(&self.plane(), &format!("plane{plane}-"), 0, switches, &hosts, &mut layout);
        }
        Ok(layout)
    }
}
