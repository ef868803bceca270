//! The flows of a host share its link max-min fairly, whenever one wants another rate.

use crate::engine::Engine;
use crate::flow::Flow;

impl Engine<'_> {
    /// The flow wants another rate from now on.
    pub(crate) fn set_want(&mut self, slot: u32, want: i64, now: f64) {
        let flow = self.take(slot);
        let rtt = self.count_wait(&flow, now);
        self.set_want_of(slot, flow, want, (now, rtt));
    }

    /// Puts a flow into its slot, which wants another rate from now on; `rtt` is that of what leaves now.
    pub(crate) fn set_want_of(&mut self, slot: u32, mut flow: Box<Flow>, want: i64, (now, rtt): (f64, f64)) {
        let interface = &mut self.nics[flow.nic as usize];
        interface.wants += want - flow.want;
        flow.want = want;
        let capacity = interface.capacity();
        let full = interface.wants > capacity;
        if (full || interface.full) && interface.flows.len() > 1 {
            let nic = flow.nic as usize;
            self.flows[slot as usize] = Some(flow);
            return self.share(nic, Some((slot, rtt)), now);
        }
        interface.full = full;
        self.set_rate_of(slot, &mut flow, if full { capacity } else { want }, (now, rtt));
        self.flows[slot as usize] = Some(flow);
    }

    /// Shares an interface anew; `changed` is the flow that wants another rate, if one does, and the round-trip time of what it sends now.
    pub(crate) fn share(&mut self, nic: usize, changed: Option<(u32, f64)>, now: f64) {
        let interface = &self.nics[nic];
        let capacity = interface.capacity();
        let full = interface.wants > capacity;
        if !full && !interface.full {
            return;
        }
        let level = if full { self.level(nic, capacity) } else { i64::MAX };
        let slots = std::mem::take(&mut self.nics[nic].flows);
        for slot in &slots {
            let own = changed.filter(|(changed, _)| changed == slot);
            let flow = self.flow(*slot);
            let rate = flow.want.min(level);
            let change = (rate - flow.rate).abs();
            if own.is_none() && change <= rate / 100 && (full || change == 0) {
                continue;
            }
            let mut flow = self.take(*slot);
            let rtt = own.map_or_else(|| self.count_wait(&flow, now), |(_, rtt)| rtt);
            self.set_rate_of(*slot, &mut flow, rate, (now, rtt));
            self.flows[*slot as usize] = Some(flow);
        }
        self.nics[nic].flows = slots;
        self.nics[nic].full = full;
    }

    /// The rate that no flow exceeds, so that all of them fill the interface.
    fn level(&mut self, nic: usize, capacity: i64) -> i64 {
        let mut wants = std::mem::take(&mut self.wants);
        wants.clear();
        wants.extend(self.nics[nic].flows.iter().map(|slot| self.flows[*slot as usize].as_ref().map_or(0, |f| f.want)));
        wants.sort_unstable();
        let (mut left, mut count) = (capacity, wants.len() as i64);
        for want in &wants {
            if want * count > left {
                break;
            }
            left -= want;
            count -= 1;
        }
        self.wants = wants;
        left / count.max(1)
    }
}
