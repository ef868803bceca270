//! How much memory a run takes at most, said before it runs, so that only as many run side by side as fit.

use crate::build::Built;
use farloop_net::spec::NodeKind;

const PACKET: f64 = 128.0;
/// Of a packet as an arena of cells that doubles where it grows holds it.
const GROWTH: f64 = 2.0;
const FLOW: f64 = 4096.0;
const PORT: f64 = 16384.0;
/// A sample stands in the series twice, as the simulator gives it and as a table of Arrow.
const SAMPLE: f64 = 2.0 * 24.0;
/// A sample of a port that is held until it is known whether the port is among the worst.
const WATCHED: f64 = 64.0;
const METRICS_OF_FLOW: usize = 4;
const METRICS_OF_PORT: usize = 5;

impl Built {
    /// Bytes that its simulation takes at most: packets that fill every link and every switch's buffer, or all that the
    /// hosts' links let out until the end where that is less; flows; ports; samples. An upper bound of what decides, not of every byte.
    pub(crate) fn most_bytes(&self) -> u64 {
        let spec = &self.spec;
        let mtu = spec.transport.mtu.get().max(1) as f64;
        let is_host = |node: usize| matches!(spec.nodes[node].kind, NodeKind::Host);
        let (mut on_links, mut let_out) = (0.0, 0.0);
        for link in &spec.links {
            let bytes_per_second = link.rate.as_bps() as f64 / 8.0;
            on_links += 2.0 * bytes_per_second * link.delay.as_secs_f64();
            let ends = [link.a, link.b].iter().filter(|end| is_host(**end as usize)).count();
            let_out += ends as f64 * bytes_per_second * spec.end.as_secs_f64();
        }
        let buffers = spec.nodes.iter().map(|node| match &node.kind {
            NodeKind::Switch(switch) => switch.buffer.get() as f64,
            _ => 0.0,
        });
        let waiting: f64 = on_links + buffers.sum::<f64>();
        // An ACK may be under way for each packet.
        let packets = 2.0 * waiting.min(let_out) / mtu;
        let times = spec.record.interval.map_or(0.0, |interval| spec.end.as_secs_f64() / interval.as_secs_f64());
        let of_each = spec.record.worst.map_or(0.0, |worst| times / worst.every as f64);
        let watched = WATCHED * of_each * 2.0 * spec.links.len() as f64;
        let samples =
            times * (METRICS_OF_FLOW * spec.record.flows.len() + METRICS_OF_PORT * spec.record.ports.len()) as f64;
        let fixed = watched + FLOW * spec.flows.len() as f64 + PORT * 2.0 * spec.links.len() as f64;
        (GROWTH * PACKET * packets + SAMPLE * samples + fixed) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn most(changes: &[(&str, &str)]) -> u64 {
        let text = "run.duration = \"100ms\"\nnetwork.topology = \"dumbbell\"\nalgorithm.name = \"dctcp\"\n\
                    [[flow]]\nfrom = \"s2\"\nto = \"r1\"\n[record]\nflows = []\nports = []\n";
        let overrides: Vec<_> = changes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        parse(text, "test.toml", &overrides).expect("valid").build().expect("builds").most_bytes()
    }

    #[test]
    fn more_delay_buffer_samples_take_more() {
        let plain = most(&[]);
        // 25 ms of 100 Gbps hold 312 MB in each direction.
        assert!(plain > 200_000 * PACKET as u64, "{plain}");
        assert!(most(&[("network.wan_delay", "50ms")]) > plain * 5 / 4);
        assert!(most(&[("wan_switch.buffer", "2GB")]) > plain);
        let recorded = [("record.interval", "1us"), ("record.flows", "[\"f1\"]")];
        assert!(most(&recorded) >= plain + 4 * 100_000 * SAMPLE as u64);
        // 100 samples of each of 14 ports, until it is known which are the worst; and those of left->right, in the series.
        let watched = most(&[("record.ports", "auto")]) - plain;
        assert!((100 * 14 * 64..100 * 14 * 64 + 5 * 101 * SAMPLE as u64).contains(&watched), "{watched}");
    }

    #[test]
    fn a_short_run_cannot_fill_the_network() {
        assert!(most(&[("run.duration", "10us")]) < most(&[]) / 10);
    }
}
