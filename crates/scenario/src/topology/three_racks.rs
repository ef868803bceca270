//! Racks a and b in datacenter 0, rack c in datacenter 1, one core switch between them (Gear, ToN 2025, §V-A, Fig. 17).
//!
//! ```text
//! a1, a2 ── tor-a ─┐
//!                  ├─ core ══ long haul ══ tor-c ── c1, c2
//! b1, b2 ── tor-b ─┘
//! ```

use super::{Layout, Switches};
use crate::sections::ThreeRacks;

/// Nodes and links. The core switch is in datacenter 0.
pub(crate) fn layout(keys: &ThreeRacks, switches: &Switches<'_>) -> Layout {
    let mut layout = Layout::default();
    let (core_rate, core_key) = keys.core_rate.map_or((keys.rate, "rate"), |r| (r, "core_rate"));
    let core = layout.switch("core", 0, switches);
    for (rack, datacenter, delay) in [("a", 0, keys.link_delay), ("b", 0, keys.link_delay), ("c", 1, keys.wan_delay)] {
        let tor = layout.switch(format!("tor-{rack}"), datacenter, switches);
        for i in 1..=keys.hosts_per_rack {
            let host = layout.host(format!("{rack}{i}"), datacenter);
            layout.link(host, tor, keys.rate, "rate", keys.link_delay);
        }
        layout.link(tor, core, core_rate, core_key, delay);
        layout.bottlenecks.extend([(tor, core, 0), (core, tor, 0)]);
    }
    layout
}
