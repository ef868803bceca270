//! The interface of a host, and what it sends.

use crate::link::BYTES_PER_PS;

/// The flows that send by a host's interface.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    /// Their slots.
    pub flows: Vec<u32>,
    /// Sum of the rates that they want, in bit/s.
    pub wants: i64,
    /// Rate of the ACKs that it sends.
    acks: i64,
    /// Rate of all that it sends.
    sum: i64,
    /// Bytes that it had sent by `at`, a time in picoseconds.
    sent: f64,
    at: f64,
    rate: i64,
    /// Most that it may send of data, in bit/s: less than its rate while it is paused.
    pub limit: i64,
    /// True if some flow has less than it wants.
    pub full: bool,
}

impl Nic {
    pub fn new(rate: i64) -> Nic {
        Nic { flows: Vec::new(), wants: 0, acks: 0, sum: 0, sent: 0.0, at: 0.0, rate, limit: rate, full: false }
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

    /// Has another rate from now on, of which it may send so much data.
    pub fn set_rate(&mut self, rate: i64, limit: i64) {
        (self.rate, self.limit) = (rate, limit);
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

    /// The rate left for data, in bit/s: ACKs take at most half.
    pub fn capacity(&self) -> i64 {
        (self.rate - self.acks).max(self.rate / 2).min(self.limit)
    }
}
