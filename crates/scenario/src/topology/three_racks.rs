//! Racks a and b in datacenter 0, rack c in datacenter 1, one core switch between them (Gear, ToN 2025, §V-A, Fig. 17).

use super::declaration::{Example, TopologyKeys};
use super::layout::{Layout, Misfit, Switches};
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_units::{Delta, Rate, params};

params! {
    /// `[network]` with `topology = "three-racks"` (Gear, ToN 2025, §V-A, Fig. 17).
    pub struct ThreeRacks {
        /// Hosts in each rack.
        hosts_per_rack: u32 = 2, in 1 => 10_000;
        /// Rate of the hosts' links.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// Rate of the links between the top-of-rack switches and the core switch; "none" for the hosts' rate.
        core_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link but the long-haul one. The default is a quarter of 20 us, the propagation delay
        /// between two distant servers of a datacenter (Gear, §IV-B).
        link_delay: Delta = Delta::from_us(5), in Delta::ZERO => MAX_DELAY;
        /// One-way propagation delay of the long-haul link core–tor-c.
        wan_delay: Delta = Delta::from_ms(25), in Delta::ZERO => MAX_DELAY;
    }
}

impl TopologyKeys for ThreeRacks {
    const DRAWING: &'static str = r#"
a1, a2 ── tor-a ─┐
                 ├─ core ══ long haul ══ tor-c ── c1, c2
b1, b2 ── tor-b ─┘"#;
    const TEXT: &'static str = r#"
Racks a and b and the core switch are in datacenter 0, rack c is in datacenter 1 (Gear, ToN 2025, §V-A). For telemetry only at the
top-of-rack switches, as in the paper, add a `[[switch_override]]` with `match = "core"` and `int = false`."#;
    const EXAMPLES: &'static [Example] =
        &[Example { name: "three-racks", keys: "wan_delay = \"50us\"", pairs: [("a1", "b1"), ("a2", "c2")] }];

    fn resolve(&self) -> ThreeRacks {
        ThreeRacks { core_rate: self.core_rate.or(Some(self.rate)), ..self.clone() }
    }

    // The core switch is in datacenter 0.
    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        let mut layout = Layout::default();
        let (core_rate, core_key) = self.core_rate.map_or((self.rate, "rate"), |r| (r, "core_rate"));
        let core = layout.switch("core", 0, switches);
        for (rack, datacenter, delay) in
            [("a", 0, self.link_delay), ("b", 0, self.link_delay), ("c", 1, self.wan_delay)]
        {
            let tor = layout.switch(format!("tor-{rack}"), datacenter, switches);
            for i in 1..=self.hosts_per_rack {
                let host = layout.host(format!("{rack}{i}"), datacenter);
                layout.link(host, tor, self.rate, "rate", self.link_delay);
            }
            layout.link(tor, core, core_rate, core_key, delay);
            layout.bottlenecks.extend([(tor, core, 0), (core, tor, 0)]);
        }
        Ok(layout)
    }
}
