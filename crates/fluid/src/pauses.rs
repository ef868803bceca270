//! PFC: a queue that would make its switch pause a neighbour ends the run, for rates do not wait for pauses.

use crate::engine::Engine;
use crate::flow::Flow;
use crate::plan::port;
use crate::refusal::Refusal;
use farloop_network::spec::{NodeKind, XoffSpec};
use std::collections::BTreeMap;

impl Engine<'_> {
    /// Looks whether the switch of `link`, whose queue has passed its watched length, would pause a neighbour, and watches for a longer
    /// one.
    ///
    /// Thresholds hold for the bytes that came in by one link. Those of a queue are taken to be divided as what its flows have in flight.
    #[cold]
    pub(crate) fn check_pause(&mut self, link: usize, current: &Flow, now: f64) {
        let end = self.network.ends[port(link)];
        let NodeKind::Switch(switch) = &self.network.node_specs[end.node as usize].kind else { return };
        let Some(pfc) = &switch.pfc else { return };
        let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
        let mut held = 0.0;
        for (number, other) in self.network.ends.iter().filter(|(_, other)| other.node == end.node) {
            let queue = self.links[number.0 as usize].counters.queue;
            held += queue;
            if queue <= 0.0 {
                continue;
            }
            let _ = other;
            let flows = self.flows.iter().flatten().map(Box::as_ref).chain([current]);
            let by_ingress: Vec<(u32, f64)> = flows.filter_map(|flow| flow.in_flight_by(number.0)).collect();
            let sum: f64 = by_ingress.iter().map(|(_, bytes)| bytes).sum();
            for (ingress, bytes) in by_ingress.into_iter().filter(|_| sum > 0.0) {
                *shares.entry(ingress).or_default() += queue * bytes / sum;
            }
        }
        let free = (switch.buffer.as_f64() - held).max(0.0);
        for (ingress, bytes) in shares {
            let threshold = match pfc.xoff {
                XoffSpec::Static(threshold) => threshold.as_f64(),
                XoffSpec::Dynamic(_) => {
                    let rate = self.network.ends[port(ingress as usize)].rate;
                    pfc.alpha_at(rate).unwrap_or(1.0) * free
                }
            };
            if bytes > threshold && !self.settings.ignore_pauses {
                let (out, into) = (self.port_name(link), self.port_name(ingress as usize));
                let problem = format!(
                    "after {:.3} ms {:.0} kB that came by {into} wait at {out}, where packets would have been paused by PFC (Xoff at {:.0} \
                     kB)",
                    now / 1e9,
                    bytes / 1e3,
                    threshold / 1e3
                );
                self.refused = Some(Refusal {
                    key: "switch.pfc",
                    problem,
                    expected: "expected a larger buffer, or gear = \"packets\"",
                });
                return;
            }
        }
        let queue = self.links[link].counters.queue;
        self.links[link].watch = queue * 1.1;
    }
}
