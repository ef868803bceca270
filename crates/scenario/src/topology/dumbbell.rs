//! Two switches with a shared bottleneck between them; some receivers are near, some across the wide-area network.
//!
//! ```text
//! s1 ─┐                              ┌─ d1      datacenter 0
//! s2 ─┴─ left ══ bottleneck ══ right ┴─ wan1 ══ long haul ══ wan2 ─── r1      datacenter 1
//! ```

use super::{Layout, RateKey, Switches};
use crate::sections::Dumbbell;
use farloop_net::spec::LinkSpec;

/// Nodes and links. Senders come first: those of the intra-datacenter pairs, then those of the cross-datacenter pairs.
pub(crate) fn layout(keys: &Dumbbell, switches: &Switches<'_>) -> Layout {
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
            a: left,
            b: right,
            rate: bottleneck_rate,
            delay,
            loss: keys.bottleneck_loss,
            corruption: keys.bottleneck_corruption,
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
            a: wan1,
            b: wan2,
            rate: wan_rate,
            delay: keys.wan_delay,
            loss: keys.wan_loss,
            corruption: keys.wan_corruption,
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
