//! The flows of a host share its link max-min fairly, whenever one wants another rate.

use crate::engine::Engine;

impl Engine<'_> {
    /// The flow wants another rate from now on; `rtt` is that of what leaves now, where it is known.
    pub(crate) fn set_want(&mut self, slot: u32, want: i64, now: f64, rtt: Option<f64>) {
        let flow = self.flow(slot);
        let (nic, change) = (flow.nic as usize, want - flow.want);
        flow.want = want;
        self.nics[nic].wants += change;
        self.share(nic, Some(slot), now, rtt);
    }

    /// Shares an interface anew; `slot` is the flow that wants another rate, if one does.
    pub(crate) fn share(&mut self, nic: usize, slot: Option<u32>, now: f64, rtt: Option<f64>) {
        let interface = &self.nics[nic];
        let capacity = interface.capacity();
        let full = interface.wants > capacity;
        if !full && !interface.full {
            if let Some(slot) = slot {
                let want = self.flows[slot as usize].as_ref().map_or(0, |flow| flow.want);
                self.set_rate(slot, want, now, rtt);
            }
            return;
        }
        let level = if full { self.level(nic, capacity) } else { i64::MAX };
        let flows = std::mem::take(&mut self.nics[nic].flows);
        for other in &flows {
            let Some(flow) = self.flows[*other as usize].as_ref() else { unreachable!("a flow in motion") };
            let rate = flow.want.min(level);
            let changes = (rate - flow.rate).abs();
            if Some(*other) == slot {
                self.set_rate(*other, rate, now, rtt);
            } else if changes > rate / 100 || (!full && changes > 0) {
                self.set_rate(*other, rate, now, None);
            }
        }
        self.nics[nic].flows = flows;
        self.nics[nic].full = full;
    }

    /// The rate that no flow exceeds, so that all of them fill the interface.
    fn level(&self, nic: usize, capacity: i64) -> i64 {
        let wants = self.nics[nic].flows.iter().map(|slot| self.flows[*slot as usize].as_ref().map_or(0, |f| f.want));
        let mut wants: Vec<i64> = wants.collect();
        wants.sort_unstable();
        let (mut left, mut count) = (capacity, wants.len() as i64);
        for want in wants {
            if want * count > left {
                break;
            }
            left -= want;
            count -= 1;
        }
        left / count.max(1)
    }
}
