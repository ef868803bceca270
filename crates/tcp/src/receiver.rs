//! The receiving endpoint.

use crate::config::Config;
use crate::segment::Segment;
use farloop_units::{Bytes, Time};
use std::sync::Arc;

/// The ACKs that one segment causes, in order: at most two, and two only where a change of the congestion mark closes a
/// delayed ACK (RFC 8257 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Acks {
    first: Option<Segment>,
    second: Option<Segment>,
}

impl IntoIterator for Acks {
    type Item = Segment;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Segment>, std::option::IntoIter<Segment>>;
    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.second)
    }
}

/// The receiving endpoint of a flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Arc<Config>,
    expected: u64,
}

impl Receiver {
    /// A receiver that waits for the first byte. By default the application reads everything at once.
    pub fn new(config: Arc<Config>) -> Receiver {
        Receiver { config, expected: 0 }
    }

    /// A segment arrived, with its congestion mark; the answer is what to send back now.
    pub fn on_segment(&mut self, _now: Time, segment: &Segment, _ce_marked: bool) -> Acks {
        if segment.seq == self.expected {
            self.expected += u64::from(segment.payload);
        }
        Acks { first: Some(self.ack()), second: None }
    }

    /// When [`Receiver::on_timer`] wants to be called; [`Time::NEVER`] for never. Valid until the next call of any other method.
    pub fn timer(&self) -> Time {
        Time::NEVER
    }

    /// The time that [`Receiver::timer`] named has come (calls before it do nothing); the answer is what to send now.
    pub fn on_timer(&mut self, _now: Time) -> Option<Segment> {
        None
    }

    /// Whether the application reads everything at once (as from the start), or only what [`Receiver::read`] takes.
    pub fn set_auto_read(&mut self, _auto: bool) {}

    /// The application takes up to `bytes` of what has arrived in order. The answer is an update of the window, if that opens enough.
    pub fn read(&mut self, _now: Time, _bytes: Bytes) -> Option<Segment> {
        None
    }

    /// Bytes that have arrived in order.
    pub fn delivered(&self) -> Bytes {
        Bytes::new(self.expected)
    }

    fn ack(&self) -> Segment {
        Segment { ack: true, ack_seq: self.expected, window: self.config.receive_window.get(), ..Segment::default() }
    }
}
