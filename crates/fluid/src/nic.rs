//! The interface of a host: its flows share it max-min fairly.

use crate::engine::Engine;
use crate::link::BYTES_PER_PS;

/// The flows that send by a host's interface.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    /// Their slots.
    pub flows: Vec<u32>,
    /// Sum of the rates that they want, in bit/s.
    wants: i64,
    /// Rate of the ACKs that it sends.
    acks: i64,
    /// Rate of all that it sends.
    sum: i64,
    /// Bytes that it had sent by `at`, a time in picoseconds.
    sent: f64,
    at: f64,
    rate: i64,
    /// True if some flow has less than it wants.
    full: bool,
}

impl Nic {
    pub fn new(rate: i64) -> Nic {
        Nic { flows: Vec::new(), wants: 0, acks: 0, sum: 0, sent: 0.0, at: 0.0, rate, full: false }
    }

    /// A flow that wants nothing yet.
    pub fn add(&mut self, slot: u32) {
        self.flows.push(slot);
    }

    /// The flow, which wanted so much, sends nothing more.
    pub fn remove(&mut self, slot: u32, want: i64) {
        self.flows.retain(|flow| *flow != slot);
        self.wants -= want;
    }

    /// Changes the rate of all that it sends.
    #[inline]
    pub fn change_rate(&mut self, change: i64, now: f64) {
        self.sent = self.sent_by(now);
        self.at = now;
        self.sum += change;
    }

    /// Changes the rate of the ACKs among it.
    pub fn change_acks(&mut self, change: i64, now: f64) {
        self.acks += change;
        self.change_rate(change, now);
    }

    /// Rate of the ACKs that it sends.
    pub fn acks(&self) -> i64 {
        self.acks
    }

    /// Bytes that it has sent by a time in picoseconds.
    pub fn sent_by(&self, now: f64) -> f64 {
        self.sent + self.sum as f64 * BYTES_PER_PS * (now - self.at)
    }

    /// What is left for data, in bit/s: ACKs take at most half.
    fn capacity(&self) -> i64 {
        (self.rate - self.acks).max(self.rate / 2)
    }
}

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
