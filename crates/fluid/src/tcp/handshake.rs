//! Handshakes: SYN and SYN-ACK go there and back before a flow begins.

use super::opening::{Handshake, Opening};
use crate::engine::Engine;
use crate::link::round_up;
use crate::plan::{FlowFacts, ps};
use farloop_network::ids::{FlowId, Key};
use farloop_network::spec::TransportKind;
use farloop_units::Delta;
use std::cmp::Reverse;

impl Engine<'_> {
    /// The flow opens; `None` while its handshake goes on.
    pub(crate) fn open(&mut self, number: FlowId, facts: &FlowFacts, now: f64) -> Option<Opening> {
        let transport = &self.network.transport;
        if transport.kind != TransportKind::Tcp || !transport.tcp.handshake {
            return Some(Opening { start: now, rtt: None });
        }
        let before = self.handshakes.0.get(&number.0).copied();
        if let Some(Handshake { start, tries, rtt: Some(rtt) }) = before {
            self.handshakes.0.remove(&number.0);
            return Some(Opening { start, rtt: (tries == 0).then_some(rtt) });
        }
        let (start, tries) = before.map_or((now, 0), |before| (before.start, before.tries + 1));
        let (mut rtt, mut passes) = (facts.handshake, 1.0);
        for link in facts.path.iter().skip(1) {
            let (link, limit) = (&mut self.links[*link as usize], self.facts[*link as usize].limit);
            link.advance(now);
            rtt += link.wait();
            if link.counters.queue >= limit && link.input() > link.rate() {
                passes *= link.rate() as f64 / link.input() as f64;
            }
        }
        let lost = passes < 1.0 && !self.random.chance(passes);
        let spec = &transport.tcp;
        let end = &mut self.ends[number.index()];
        (end.start, end.ideal, end.base_rtt) = (start, facts.ideal, facts.info.base_rtt);
        if lost && tries >= spec.syn_retries {
            self.handshakes.0.remove(&number.0);
            end.gave_up = true;
            return None;
        }
        // Each repetition waits twice as long (RFC 6298, §5.5).
        let wait = spec.initial_rto.as_ps().saturating_mul(1 << tries.min(30));
        let wait = ps(Delta::from_ps(wait).min(spec.max_rto));
        let due = now + if lost { wait } else { rtt };
        self.handshakes.0.insert(number.0, Handshake { start, tries, rtt: (!lost).then_some(rtt) });
        self.starts.push(Reverse((round_up(due) as u64, number.0)));
        self.schedule_start();
        None
    }
}
