//! A rail-optimised fabric of accelerators: the i-th host of every server of a pod is linked to leaf switch i, its rail.
//!
//! Source: SimAI's generator of topologies (aliyun/SimAI, cef83f9, astra-sim-alibabacloud/inputs/topo/gen_Topo_Template.py, "Spectrum-X"):
//! eight hosts in each server, a link of 400 Gbps and 500 ns from each of them to the switch of its rail.

use super::declaration::{Example, TopologyKeys};
use super::layout::{Layout, Misfit, Switches, too_large};
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_units::{Delta, Rate, params};

params! {
    /// `[network]` with `topology = "rail"`.
    pub struct Rail {
        /// Pods (scalable units); each has its own leaf switches.
        pods: u32 = 2, in 1 => 1024;
        /// Servers in each pod.
        servers_per_pod: u32 = 16, in 1 => 1024;
        /// Hosts (accelerators with a network card each) in each server, and leaf switches in each pod (SimAI: 8).
        rails: u32 = 8, in 1 => 64;
        /// Spine switches; each has a link to every leaf switch of every pod.
        spines: u32 = 16, in 1 => 1024;
        /// Rate of the hosts' links (SimAI: 400 Gbps).
        rate: Rate = Rate::from_gbps(400), in SLOWEST => FASTEST;
        /// Rate of the links between switches; "none" for the hosts' rate.
        fabric_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link (SimAI: 500 ns).
        link_delay: Delta = Delta::from_ns(500), in Delta::ZERO => MAX_DELAY;
    }
}

impl TopologyKeys for Rail {
    const DRAWING: &'static str = r#"
h1, h9, …  ── leaf1-1 ─┬─ spine1, spine2, …      rail 1 of pod 1
h2, h10, … ── leaf1-2 ─┘                         rail 2, and so for every rail and every pod"#;
    const TEXT: &'static str = r#"
Hosts h1, h2, … are numbered server by server: the first `rails` hosts are those of server 1. Host *i* of every server is linked to leaf
switch *i* of its pod (leaf1-1, leaf1-2, …: pod and rail), and each leaf switch to every spine switch (spine1, …), all in datacenter 0. Hosts
of one rail and pod meet at their leaf switch; others meet at a spine. There is no link inside a server: what its accelerators send each
other takes the fabric, too. The defaults give 256 hosts without oversubscription; `pods = 8`, `servers_per_pod = 64` and `spines = 64` are
the 4,096 hosts of SimAI's default."#;
    const EXAMPLES: &'static [Example] = &[Example {
        name: "rail",
        keys: "pods = 2\nservers_per_pod = 2\nrails = 3\nspines = 2",
        pairs: [("h1", "h4"), ("h2", "h12")],
    }];

    fn check(&self) -> Result<(), Misfit> {
        let [pods, servers, rails, spines] = [self.pods, self.servers_per_pod, self.rails, self.spines].map(u64::from);
        let too_large = too_large(pods * servers * rails, pods * rails * (servers + spines));
        too_large.map_or(Ok(()), |(problem, expected)| Err(("pods", problem, expected)))
    }

    fn resolve(&self) -> Rail {
        Rail { fabric_rate: self.fabric_rate.or(Some(self.rate)), ..self.clone() }
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        let mut layout = Layout::default();
        let (fabric_rate, fabric_key) = self.fabric_rate.map_or((self.rate, "rate"), |r| (r, "fabric_rate"));
        let count = self.pods * self.servers_per_pod * self.rails;
        let hosts: Vec<_> = (1..=count).map(|i| layout.host(format!("h{i}"), 0)).collect();
        let spines: Vec<_> = (1..=self.spines).map(|i| layout.switch(format!("spine{i}"), 0, switches)).collect();
        for (pod, hosts) in (1..).zip(hosts.chunks((self.servers_per_pod * self.rails) as usize)) {
            for rail in 0..self.rails as usize {
                let leaf = layout.switch(format!("leaf{pod}-{}", rail + 1), 0, switches);
                for &host in hosts.iter().skip(rail).step_by(self.rails as usize) {
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
