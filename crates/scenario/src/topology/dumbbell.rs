//! Two switches with a shared bottleneck between them; some receivers are near, some across the wide-area network.

use super::declaration::{Example, TopologyKeys};
use super::layout::{Layout, Misfit, RateKey, Switches};
use crate::sections::{FASTEST, MAX_DELAY, SLOWEST};
use farloop_net::spec::LinkSpec;
use farloop_units::{Delta, Rate, params};

params! {
    /// `[network]` with `topology = "dumbbell"`.
    pub struct Dumbbell {
        /// Pairs of hosts inside datacenter 0: senders s1…, receivers d1….
        intra_pairs: u32 = 1, in 0 => 10_000;
        /// Pairs of hosts across the wide-area network: senders s(intra_pairs+1)…, receivers r1… in datacenter 1.
        cross_pairs: u32 = 1, in 0 => 10_000;
        /// Rate of the hosts' links.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// Rate of the link left–right; "none" for the hosts' rate.
        bottleneck_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of every link but the long-haul one. The default gives a round-trip time of about 32 us
        /// inside the datacenter, as Gear (ToN 2025, §IV-A) measures.
        link_delay: Delta = Delta::from_ns(5250), in Delta::ZERO => MAX_DELAY;
        /// Rate of the links right–wan1 and wan1–wan2; "none" for the hosts' rate.
        wan_rate: Option<Rate> = None, in Some(SLOWEST) => Some(FASTEST);
        /// One-way propagation delay of the long-haul link wan1–wan2.
        wan_delay: Delta = Delta::from_ms(25), in Delta::ZERO => MAX_DELAY;
        /// Probability that a packet is lost on the link left–right.
        bottleneck_loss: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is damaged on the link left–right.
        bottleneck_corruption: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is lost on the long-haul link.
        wan_loss: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is damaged on the long-haul link.
        wan_corruption: f64 = 0.0, in 0.0 => 1.0;
    }
}

impl TopologyKeys for Dumbbell {
    const DRAWING: &'static str = r#"
s1 ─┐                              ┌─ d1      datacenter 0
s2 ─┴─ left ══ bottleneck ══ right ┴─ wan1 ══ long haul ══ wan2 ─── r1      datacenter 1"#;
    const TEXT: &'static str = r#"
Senders s1, s2, … are the first hosts: those of the pairs inside the datacenter, then those of the pairs across. Their receivers are d1, d2,
… and r1, r2, …. `left` and `right` are switches of datacenter 0 (`[switch]`). `wan1` and `wan2` are routers outside of all datacenters
(`[wan_switch]`); with `cross_pairs = 0` there are none. With the defaults, a flow s1 → d1 has a base round-trip time of 32 us, and a flow
s2 → r1 has one of 50 ms."#;
    const EXAMPLES: &'static [Example] = &[Example {
        name: "dumbbell",
        keys: "intra_pairs = 2\ncross_pairs = 2\nwan_delay = \"50us\"",
        pairs: [("s1", "d1"), ("s4", "r2")],
    }];

    fn check(&self) -> Result<(), Misfit> {
        if self.intra_pairs > 0 || self.cross_pairs > 0 {
            return Ok(());
        }
        let expected = "expected at least one pair: intra_pairs or cross_pairs";
        Err(("intra_pairs", "the network has no hosts".into(), expected.into()))
    }

    fn resolve(&self) -> Dumbbell {
        let bottleneck_rate = self.bottleneck_rate.or(Some(self.rate));
        let wan_rate = self.wan_rate.or(Some(self.rate));
        Dumbbell { bottleneck_rate, wan_rate, ..self.clone() }
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Misfit> {
        Ok(layout(self, switches))
    }
}

/// Nodes and links. Senders come first: those of the intra-datacenter pairs, then those of the cross-datacenter pairs.
fn layout(keys: &Dumbbell, switches: &Switches<'_>) -> Layout {
    let mut layout = Layout::default();
    let (bottleneck_rate, bottleneck_key) =
        keys.bottleneck_rate.map_or((keys.rate, "rate"), |r| (r, "bottleneck_rate"));
    let (wan_rate, wan_key) = keys.wan_rate.map_or((keys.rate, "rate"), |r| (r, "wan_rate"));
    let delay = keys.link_delay;

    let senders: Vec<_> = (1..=keys.intra_pairs + keys.cross_pairs).map(|i| layout.host(format!("s{i}"), 0)).collect();
    let left = layout.switch("left", 0, switches);
    let right = layout.switch("right", 0, switches);
    for sender in senders {
        layout.link(sender, left, keys.rate, "rate", delay);
    }
    layout.lossy_link(
        LinkSpec {
            loss: keys.bottleneck_loss,
            corruption: keys.bottleneck_corruption,
            ..LinkSpec::plain(left, right, bottleneck_rate, delay)
        },
        RateKey::Network(bottleneck_key),
    );
    layout.bottlenecks.push((left, right, 0));
    for i in 1..=keys.intra_pairs {
        let receiver = layout.host(format!("d{i}"), 0);
        layout.link(right, receiver, keys.rate, "rate", delay);
    }
    if keys.cross_pairs == 0 {
        return layout;
    }

    let wan1 = layout.router("wan1", None, switches);
    let wan2 = layout.router("wan2", None, switches);
    layout.link(right, wan1, wan_rate, wan_key, delay);
    layout.lossy_link(
        LinkSpec {
            loss: keys.wan_loss,
            corruption: keys.wan_corruption,
            ..LinkSpec::plain(wan1, wan2, wan_rate, keys.wan_delay)
        },
        RateKey::Network(wan_key),
    );
    if wan_rate < bottleneck_rate {
        layout.bottlenecks.extend([(right, wan1, 0), (wan1, wan2, 0)]);
    }
    for i in 1..=keys.cross_pairs {
        let receiver = layout.host(format!("r{i}"), 1);
        layout.link(wan2, receiver, keys.rate, "rate", delay);
    }
    layout
}
