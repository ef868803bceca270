//! Flows on persistent connections: requests that begin and end while the connection stays.

use super::{After, Senders};
use crate::host::desk::Desk;
use crate::ids::{FlowId, SenderId};
use crate::ledger::{Request, SenderCounts};
use crate::medium::Medium;
use crate::trace::Traced;
use farloop_cc::Sender;
use farloop_tcp::State;
use farloop_units::{Bytes, Delta};

impl Senders {
    /// The flow begins on the idle connection of `id`.
    pub(super) fn next_request(&mut self, m: &mut Medium, desk: &mut Desk, id: SenderId, flow: FlowId) -> After {
        let (now, size) = (m.now, m.network.flows.size(flow));
        let shrinks = m.network.transport.tcp.slow_start_after_idle;
        let sender = &mut self.states[id];
        self.connections.serve(flow, sender.flow);
        let Some(tcp) = sender.endpoint.tcp() else { return After::Nothing };
        let (begin, rto) = (tcp.inner.snd_nxt(), if shrinks { tcp.inner.rto() } else { Delta::MAX });
        (sender.begin, sender.limit, sender.idle) = (begin, size.get(), false);
        sender.counts = SenderCounts::new(flow);
        m.ledger.serve(sender.flow, Request { flow, begin });
        let idle = now.since(sender.last_send);
        if !self.begin_anew(m, desk, id) {
            self.call(m, desk, id, |cc, ctx| cc.on_idle_restart(ctx, idle, rto));
        }
        let sender = &mut self.states[id];
        if let Some(tcp) = sender.endpoint.tcp_mut() {
            tcp.inner.write(now, size);
            if size != Bytes::MAX {
                tcp.inner.push();
            }
        }
        sender.offload(now);
        sender.open_account(now);
        self.arm_endpoint(m, desk, id);
        After::Changed(id)
    }

    /// A connection that never left its first slow start, between hosts whose threshold is known by now, begins with it, as it would have
    /// done after an earlier run. What the endpoint knows stays; the algorithm begins anew.
    fn begin_anew(&mut self, m: &mut Medium, desk: &mut Desk, id: SenderId) -> bool {
        let sender = &mut self.states[id];
        let ends = (m.network.flows.source(sender.flow), m.network.flows.destination(sender.flow));
        let Some(known) = self.thresholds.known(ends).filter(|_| sender.cc.ssthresh() == Some(Bytes::MAX)) else {
            return false;
        };
        let network = m.network.clone();
        let algorithm = &network.algorithms[usize::from(network.flows.algorithm(sender.flow))];
        sender.cc = algorithm.sender(&network.flow_info(sender.flow, Some(known)));
        let rtt = sender.latest_rtt;
        if network.transport.tcp.handshake {
            self.call(m, desk, id, |cc, _| cc.on_established(rtt));
        }
        self.call(m, desk, id, |cc, ctx| cc.on_start(ctx));
        true
    }

    /// If the flow on the connection of `id` is over, what it counted is kept and the connection is free for the next one.
    pub(super) fn end_request(&mut self, m: &mut Medium, desk: &Desk, id: SenderId) {
        let sender = &mut self.states[id];
        let Some(tcp) = sender.endpoint.tcp() else { return };
        let open = !matches!(tcp.inner.state(), State::Closed | State::SynSent);
        if !open || sender.idle || tcp.inner.snd_una() < sender.begin.saturating_add(sender.limit) {
            return;
        }
        let times = sender.close_account(&m.network, m.now);
        let mut counts = std::mem::replace(&mut sender.counts, SenderCounts::new(sender.flow));
        let group = m.network.group(counts.flow);
        m.ledger.note_limits(&mut counts, group, &times);
        sender.idle = true;
        let spec = m.network.flows.get(counts.flow);
        if sender.limit == spec.size.get() {
            counts.finish = m.now;
            m.ledger.totals.finished += 1;
            m.trace_finish(counts.flow);
            m.note_over(desk.host, counts.flow);
        } else {
            self.connections.cut_short(counts.flow, sender.limit);
        }
        m.ledger.senders.push(counts);
        self.connections.free(&spec, sender.opened, id);
        self.remember(&m.network, id);
    }

    /// The application of the flow on the connection of `id` has no more to send than what was sent.
    pub(super) fn stop_request(&mut self, m: &mut Medium, desk: &mut Desk, id: SenderId) -> After {
        let sender = &mut self.states[id];
        sender.settle_account(m.now, false);
        let Some(tcp) = sender.endpoint.tcp_mut() else { return After::Nothing };
        tcp.inner.withdraw(m.now);
        sender.limit = sender.limit.min(tcp.inner.snd_nxt() - sender.begin);
        self.end_request(m, desk, id);
        self.arm_endpoint(m, desk, id);
        After::Changed(id)
    }
}
