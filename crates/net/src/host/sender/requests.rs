//! Flows on persistent connections: requests that begin and end while the connection stays.

use super::{After, Senders};
use crate::counters::{Counters, FlowRecord, Request};
use crate::host::host_context::HostContext;
use crate::host::sender_state::SenderState;
use crate::ids::{FlowId, SenderId};
use crate::part_context::PartContext;
use crate::trace::Traced;
use farloop_cc::Sender;
use farloop_network::Network;
use farloop_tcp::State;
use farloop_units::{Bytes, Delta, Time};

impl Senders {
    /// The flow begins on the idle connection of `id`.
    pub(super) fn next_request(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        flow: FlowId,
    ) -> After {
        let (now, size) = (cx.now, cx.network.flows.size(flow));
        let shrinks = cx.network.transport.tcp.slow_start_after_idle;
        let sender = &mut self.states[id];
        self.connections.serve(flow, sender.flow);
        let Some(tcp) = sender.endpoint.tcp() else { return After::Nothing };
        let (begin, rto) = (tcp.inner.snd_nxt(), if shrinks { tcp.inner.rto() } else { Delta::MAX });
        (sender.begin, sender.limit, sender.idle) = (begin, size.get(), false);
        sender.record = FlowRecord::new(flow);
        cx.counters.serve(sender.flow, Request { flow, begin });
        let idle = now.since(sender.last_send);
        if !self.begin_anew(cx, host_cx, id) {
            self.call(cx, host_cx, id, |cc, ctx| cc.on_idle_restart(ctx, idle, rto));
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
        self.arm_endpoint(cx, host_cx, id);
        After::Changed(id)
    }

    /// A connection that never left its first slow start, between hosts whose threshold is known by now, begins with it, as it would have
    /// done after an earlier run. The endpoint keeps its state; the algorithm begins anew.
    fn begin_anew(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId) -> bool {
        let sender = &mut self.states[id];
        let ends = (cx.network.flows.source(sender.flow), cx.network.flows.destination(sender.flow));
        let Some(known) = self.thresholds.threshold(ends).filter(|_| sender.cc.ssthresh() == Some(Bytes::MAX)) else {
            return false;
        };
        let network = cx.network.clone();
        let algorithm = &network.algorithms[usize::from(network.flows.algorithm(sender.flow))];
        sender.cc = algorithm.sender(&network.flow_info(sender.flow, Some(known)));
        let rtt = sender.latest_rtt;
        if network.transport.tcp.handshake {
            self.call(cx, host_cx, id, |cc, _| cc.on_established(rtt));
        }
        self.call(cx, host_cx, id, |cc, ctx| cc.on_start(ctx));
        true
    }

    /// If the flow on the connection of `id` is over, keeps its counters and frees the connection for the next one.
    pub(super) fn end_request(&mut self, cx: &mut PartContext, host_cx: &HostContext, id: SenderId) {
        let sender = &mut self.states[id];
        let Some(tcp) = sender.endpoint.tcp() else { return };
        let open = !matches!(tcp.inner.state(), State::Closed | State::SynSent);
        if !open || sender.idle || tcp.inner.snd_una() < sender.begin.saturating_add(sender.limit) {
            return;
        }
        let times = sender.close_account(&cx.network, cx.now);
        let mut record = std::mem::replace(&mut sender.record, FlowRecord::new(sender.flow));
        let group = cx.network.group(record.flow);
        cx.counters.note_limits(&mut record, group, &times);
        sender.idle = true;
        let spec = cx.network.flows.get(record.flow);
        if sender.limit == spec.size.get() {
            record.finish = cx.now;
            cx.counters.totals.finished += 1;
            cx.trace_finish(record.flow);
            cx.note_over(host_cx.host, record.flow);
        } else {
            self.connections.cut_short(record.flow, sender.limit);
        }
        cx.counters.records.push(record);
        self.connections.release(&spec, sender.opened, id);
        self.remember(&cx.network, id);
    }

    /// The application of the flow on the connection of `id` stops: it sends nothing more.
    pub(super) fn stop_request(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId) -> After {
        let sender = &mut self.states[id];
        sender.settle_account(cx.now, false);
        let Some(tcp) = sender.endpoint.tcp_mut() else { return After::Nothing };
        tcp.inner.withdraw(cx.now);
        sender.limit = sender.limit.min(tcp.inner.snd_nxt() - sender.begin);
        self.end_request(cx, host_cx, id);
        self.arm_endpoint(cx, host_cx, id);
        After::Changed(id)
    }

    /// The records of flows that have not ended by the end of the run.
    pub fn final_records(&mut self, network: &Network, counters: &mut Counters, end: Time) -> Vec<FlowRecord> {
        let close = |sender: &mut SenderState| {
            let times = sender.close_account(network, end);
            let group = network.group(sender.record.flow);
            counters.note_limits(&mut sender.record, group, &times);
            sender.record
        };
        self.states.iter_mut().filter(|s| !s.idle).map(close).collect()
    }
}
