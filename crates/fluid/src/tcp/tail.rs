//! The end of a connection's data: losses behind which too little arrives, timers, and the last byte.

use super::{EndpointTimers, Phase, Tcp};
use crate::engine::{Engine, time};
use crate::flow::{Flow, Stage};
use farloop_cc::LossKind;
use farloop_network::ids::Key;
use farloop_tcp::Recovery;
use farloop_units::Delta;

impl Engine<'_> {
    /// When a retransmission timer fires that began then, in picoseconds.
    pub(super) fn expiry(&self, tcp: &Tcp, began: f64) -> f64 {
        let rto = tcp.rtt.rto(&tcp.config);
        tcp.config.expiry(time(began), rto).as_ps() as f64
    }

    /// Bytes of the flow that are in flight may be lost, or some are: it is looked at until all are acknowledged.
    pub(super) fn may_lose(&self, slot: u32) -> bool {
        let Some(flow) = &self.flows[slot as usize] else { unreachable!("a flow in motion") };
        let in_danger = |link: u32| {
            let (link, facts) = (&self.links[link as usize], &self.facts[link as usize]);
            facts.limit < f64::MAX && link.counters.queue > facts.limit / 2.0
        };
        flow.tcp.as_ref().is_some_and(|tcp| tcp.repairs_something())
            || self.has_unreported_losses(flow)
            || flow.hops.iter().any(|hop| in_danger(hop.link))
    }

    /// Everything has left, and something may be lost.
    pub(super) fn begin_draining(&mut self, slot: u32, now: f64) {
        let flow = self.flow(slot);
        flow.sent += flow.left.min(0.0);
        flow.left = 0.0;
        flow.next_look = now;
        let mut flow = self.take(slot);
        let rtt = self.count_hops(&mut flow, now);
        if let Some(tcp) = &mut flow.tcp {
            tcp.last_byte = Some((now, rtt - flow.base_rtt));
        }
        self.set_want_of(slot, flow, 0, (now, rtt));
    }

    /// All of the flow has been acknowledged.
    pub(super) fn end_draining(&mut self, slot: u32, mut flow: Box<Flow>, now: f64) {
        let (left, waited) = flow.tcp.as_ref().and_then(|tcp| tcp.last_byte).unwrap_or((now - flow.rtt, 0.0));
        self.withdraw(&mut flow, slot, now);
        flow.rest = flow.tcp.as_ref().map_or(flow.rest, |tcp| tcp.rest);
        let nic = flow.nic as usize;
        self.finish(slot, flow, left + waited);
        self.share(nic, None, now);
    }

    /// The flow gives up.
    pub(super) fn give_up(&mut self, slot: u32, mut flow: Box<Flow>, now: f64) {
        self.withdraw(&mut flow, slot, now);
        let end = &mut self.ends[flow.number.index()];
        end.count(&flow);
        end.gave_up = true;
        end.delivered = ((flow.acked - flow.lost) / flow.framing).max(0.0);
        let nic = flow.nic as usize;
        self.retire(slot, flow);
        self.share(nic, None, now);
    }

    /// The flow puts nothing more into links.
    fn withdraw(&mut self, flow: &mut Flow, slot: u32, now: f64) {
        let nic = flow.nic as usize;
        let (want, rate) = (std::mem::take(&mut flow.want), std::mem::take(&mut flow.rate));
        self.nics[nic].change_rate(-rate, now);
        for hop in &mut flow.hops {
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            link.change_input(-std::mem::take(&mut hop.input));
            link.through.retain(|(other, _)| *other != slot);
        }
        self.set_ack_rate(flow, 0, now);
        self.nics[nic].remove(slot, want);
    }

    /// The last byte of the flow has come to the end of its path: some of what had left before it may have been lost on the way. If so, the
    /// flow goes on.
    pub(crate) fn resume_for_losses(&mut self, slot: u32, mut flow: Box<Flow>, now: f64) -> Option<Box<Flow>> {
        if flow.tcp.is_none() || !self.has_unreported_losses(&flow) || now >= flow.stop {
            return Some(flow);
        }
        let rtt = self.count_hops(&mut flow, now);
        let shift = flow.hops.last().map_or(0.0, |hop| hop.shift);
        let rest = flow.rest;
        if let Some(tcp) = &mut flow.tcp {
            tcp.last_byte = Some((now - shift, rest - tcp.rest));
        }
        flow.at = now;
        flow.waits_until = 0.0;
        self.add_through(slot, &flow);
        let sent = flow.sent;
        flow.curve.push(now, sent, rtt);
        (flow.stage, flow.next_look, flow.budget) = (Stage::Sending, now + 1.0, 0.0);
        let nic = flow.nic as usize;
        self.flows[slot as usize] = Some(flow);
        self.nics[nic].add(slot);
        self.schedule(slot, now + 1.0);
        None
    }

    /// Calls the endpoint's timers, and sets them where nothing comes back any more.
    pub(super) fn fire_endpoint_timers(&mut self, flow: &mut Flow, tcp: &mut Tcp, acked: f64, now: f64) {
        if now >= tcp.timers.reorder {
            tcp.timers.reorder = f64::INFINITY;
            while let Some(hole) = tcp.holes.pop_front() {
                self.find_loss(flow, tcp, hole, now);
            }
        }
        if now >= tcp.timers.probe {
            self.probe(flow, tcp, now);
        }
        if now >= tcp.timers.rto {
            return self.time_out(flow, tcp, now);
        }
        let packet = flow.mss * flow.framing;
        let over = tcp.due() <= 0.0 && flow.left <= 0.5;
        let silent = flow.sent - acked <= 0.5 && (over || flow.window - tcp.held() < 0.99 * packet);
        if silent && !tcp.holes.is_empty() && tcp.timers.due() == f64::INFINITY {
            self.wait_for_tail(flow, tcp, now);
        }
    }

    /// Everything that arrives has been acknowledged, and something is missing behind which too little came.
    fn wait_for_tail(&mut self, flow: &mut Flow, tcp: &mut Tcp, now: f64) {
        let packet = flow.mss * flow.framing;
        let lost: f64 = tcp.holes.iter().map(|hole| hole.bytes).sum();
        let first = tcp.holes.front().map_or(flow.sent, |hole| hole.at);
        let behind = flow.sent - first - lost;
        let rack = tcp.config.recovery == Recovery::Rack;
        if rack && behind >= 0.999 * packet {
            // One that left later is enough, a quarter of the smallest round-trip time later (RFC 8985, §6.2).
            let wait = tcp.rtt.min_rtt().unwrap_or(Delta::ZERO) / 4 + tcp.config.timeout_min;
            tcp.timers.reorder = tcp.config.expiry(time(now), wait).as_ps() as f64;
            return;
        }
        tcp.timers.rto = self.expiry(tcp, tcp.progress).max(now + 1.0);
        if rack && tcp.config.tail_loss_probe && tcp.phase == Phase::Open {
            let segments = ((flow.sent - first) / packet + 0.5) as usize;
            let wait = farloop_tcp::probe_timeout(&tcp.rtt, segments.max(1), &tcp.config);
            let at = tcp.config.expiry(time(tcp.progress), wait).as_ps() as f64;
            if at < tcp.timers.rto {
                tcp.timers.probe = at.max(now + 1.0);
            }
        }
    }

    /// A tail loss probe (RFC 8985, §7.3) repeats the last packet: its ACK shows what else is missing.
    fn probe(&mut self, flow: &mut Flow, tcp: &mut Tcp, now: f64) {
        tcp.timers.probe = f64::INFINITY;
        let Some(mut last) = tcp.holes.pop_back() else { return };
        let packet = (flow.mss * flow.framing).min(last.bytes);
        last.bytes -= packet;
        if last.bytes > 0.5 {
            tcp.holes.push_back(last);
        }
        // Where the probe was the only loss, its ACK is the sign of one (§7.4.2); else RACK finds the others by it.
        self.find_loss(flow, tcp, super::Hole { at: last.at, bytes: packet }, now);
        if !tcp.holes.is_empty() {
            tcp.timers.reorder = now + flow.rtt;
        }
        tcp.timers.rto = f64::INFINITY;
    }

    /// The retransmission timer fires (RFC 6298, §5.4-5.6): all that is not acknowledged leaves again, one packet at first.
    fn time_out(&mut self, flow: &mut Flow, tcp: &mut Tcp, now: f64) {
        tcp.retries += 1;
        if tcp.has_given_up() {
            return;
        }
        let first = tcp.holes.front().map_or(tcp.recover, |hole| hole.at).min(flow.sent);
        let lost: f64 = tcp.holes.drain(..).map(|hole| hole.bytes).sum();
        let stuck = std::mem::take(&mut tcp.stuck);
        tcp.due[0] += std::mem::take(&mut tcp.due[1]);
        tcp.lose(flow, lost + stuck, true);
        tcp.timers = EndpointTimers::NONE;
        tcp.counts.timeouts += 1;
        tcp.phase = Phase::Loss;
        tcp.recover = flow.sent;
        tcp.repairs.clear();
        tcp.forced = true;
        tcp.growth = 1.0;
        tcp.reduction = None;
        tcp.progress = now;
        self.tell_reduction(flow, LossKind::Timeout, first, now);
        tcp.rtt.back_off();
    }
}

impl Tcp {
    /// All of the flow has left, and all is acknowledged.
    pub(super) fn is_repaired(&self, flow: &Flow, acked: f64) -> bool {
        flow.left <= 0.5 && self.holes.is_empty() && self.stuck <= 0.0 && flow.sent - acked <= 0.5
    }
}
