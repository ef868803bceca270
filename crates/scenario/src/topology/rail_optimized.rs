//! A rail-optimised fabric of servers: the i-th NIC port of every server of a pod is linked to leaf switch i, its rail.
//!
//! Source: SimAI's generator of topologies (aliyun/SimAI, cef83f9, astra-sim-alibabacloud/inputs/topo/gen_Topo_Template.py, "Spectrum-X"):
//! eight ports in each server, a link of 400 Gbps and 500 ns from each of them to the switch of its rail. `rail.rs` has the accelerators of
//! a server as hosts of one port each.

use super::declaration::{Example, TopologyKeys};
use super::layout::{Layout, Misfit, Switches, too_large};
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_net::spec::NodeKind;
use farloop_units::{Delta, Rate, params};

params! {
    /// `[network]` with `topology = "rail-optimized"`.
    pub struct RailOptimized {
        /// Pods (scalable units); each has its own leaf switches.
        pods: u32 = 2, in 1 => 1024;
        /// Servers in each pod, each of them a host.
        servers_per_pod: u32 = 16, in 1 => 1024;
        /// NIC ports of each server, and leaf switches in each pod (SimAI: 8).
        rails: u32 = 8, in 1 => NodeKind::MAX_PORTS as u32;
        /// Spine switches; each has a link to every leaf switch of every pod.
        spines: u32 = 16, in 1 => 1024;
        /// Rate of each link of a host (SimAI: 400 Gbps).
        rate: Rate = Rate::from_gbps(400), in SLOWEST => FASTEST;
        /// Rate of the links between switches; "none" for that of a host's link.
        fabric_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link (SimAI: 500 ns).
        link_delay: Delta = Delta::from_ns(500), in Delta::ZERO => MAX_DELAY;
    }
}

impl TopologyKeys for RailOptimized {
    const DRAWING: &'static str = r#"
h1, h2, … ─┬─ leaf1-1 ─┬─ spine1, spine2, …      port 1 of each server of pod 1
           └─ leaf1-2 ─┘                         port 2, and so for every rail and every pod"#;
    const TEXT: &'static str = r#"
Hosts h1, h2, … are servers, pod by pod, all in datacenter 0. NIC port *i* of each of them is linked to leaf switch *i* of its pod (leaf1-1,
leaf1-2, …: pod and rail), and each leaf switch to every spine switch. Flows use the port in the same place at both ends, so those inside a
pod meet at their rail's leaf switch and load no spine ([planes.md](planes.md))."#;
    const EXAMPLES: &'static [Example] = &[Example {
        name: "rail-optimized",
        keys: "pods = 2\nservers_per_pod = 2\nrails = 3\nspines = 2",
        pairs: [("h1", "h2"), ("h1", "h4")],
    }];

    fn check(&self) -> Result<(), Misfit> {
        let [pods, servers, rails, spines] = [self.pods, self.servers_per_pod, self.rails, self.spines].map(u64::from);
        let too_large = too_large(pods * servers, pods * rails * (servers + spines));
        too_large.map_or(Ok(()), |(problem, expected)| Err(("pods", problem, expected)))
    }

    fn resolve(&self) -> RailOptimized {
        RailOptimized { fabric_rate: self.fabric_rate.or(Some(self.rate)), ..self.clone() }
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        let mut layout = Layout::default();
        let (fabric_rate, fabric_key) = self.fabric_rate.map_or((self.rate, "rate"), |r| (r, "fabric_rate"));
        let hosts: Vec<_> = (1..=self.pods * self.servers_per_pod).map(|i| layout.host(format!("h{i}"), 0)).collect();
        let spines: Vec<_> = (1..=self.spines).map(|i| layout.switch(format!("spine{i}"), 0, switches)).collect();
        for (pod, hosts) in (1..).zip(hosts.chunks(self.servers_per_pod as usize)) {
            for rail in 1..=self.rails {
                let leaf = layout.switch(format!("leaf{pod}-{rail}"), 0, switches);
                for &host in hosts {
                    layout.link(host, leaf, self.rate, "rate", self.link_delay);
                }
                for &spine in &spines {
                    layout.link(leaf, spine, fabric_rate, fabric_key, self.link_delay);
                    layout.bottlenecks.extend([(leaf, spine, 0), (spine, leaf, 0)]);
                }
            }
        }
        Ok(layout)
    }
}
