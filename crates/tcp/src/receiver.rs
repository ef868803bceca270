//! The receiving endpoint: it keeps data, decides when to acknowledge, and fills in the ACK.
//!
//! Source: RFC 9293 §3.8.6.2.2 (window updates), §3.8.6.3 (delayed ACKs), RFC 5681 §4.2 (which segments are acknowledged at
//! once), RFC 7323 §4.3 (timestamp to echo).
//!
//! ```text
//!                 in order, little waits                      timer, or `ack_every` segments wait
//!   (all acked) ───────────────────────► (an ACK is delayed) ────────────────────────────────────► ACK
//!        among `quick_acks`, out of order, gap filled, duplicate, last segment, beyond the window, probe ────────────► ACK at once
//! ```
//!
//! The right edge of the advertised window never moves left (RFC 9293 §3.8.6), and moves right in steps of a segment or half the
//! buffer. The receiver drops data beyond it.

use crate::accecn::{self, Codepoint, EcnBytes, MarkCounter};
use crate::config::{Config, Ecn};
use crate::ecn::Echo;
use crate::reassembly::{Arrival, Reassembly};
use crate::segment::{Range, SackBlocks, Segment, Timestamps};
use farloop_units::{Bytes, Time};
use std::sync::Arc;

/// The ACKs that one segment causes, in order: at most two, and two only where a change of the congestion mark closes a
/// delayed ACK (RFC 8257 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Acks {
    first: Option<Segment>,
    second: Option<Segment>,
}

impl Acks {
    /// The ACK that was delayed and goes out first, and the one for the segment itself.
    pub fn in_order(&self) -> (Option<&Segment>, Option<&Segment>) {
        match (&self.first, &self.second) {
            (Some(before), Some(own)) => (Some(before), Some(own)),
            (own, _) => (None, own.as_ref()),
        }
    }
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
    queue: Reassembly,
    /// How marks go back: as configured, until a SYN says otherwise.
    ecn: Ecn,
    echo: Echo,
    marks: MarkCounter,
    /// A SYN has arrived: the mode is settled.
    greeted: bool,
    /// Payload that arrived in order since the last ACK.
    unacked: u64,
    /// When a delayed ACK goes out.
    deadline: Time,
    /// Bytes that the application has read.
    read: u64,
    auto_read: bool,
    /// Right edge of the window as advertised.
    edge: u64,
    /// Next byte expected in the last ACK.
    last_ack: u64,
    /// Timestamp to echo.
    recent: Time,
}

impl Receiver {
    /// A receiver that waits for the first byte. By default the application reads everything at once.
    pub fn new(config: Arc<Config>) -> Receiver {
        let edge = config.receive_window.get();
        let ecn = config.ecn;
        Receiver {
            config,
            queue: Reassembly::default(),
            ecn,
            echo: Echo::default(),
            marks: MarkCounter::new(),
            greeted: false,
            unacked: 0,
            deadline: Time::NEVER,
            read: 0,
            auto_read: true,
            edge,
            last_ack: 0,
            recent: Time::ZERO,
        }
    }

    /// A segment arrived, with its congestion mark; returns the segment to send back now.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ce_marked: bool) -> Acks {
        if let Some(timestamps) = segment.timestamps
            && segment.seq <= self.last_ack
        {
            self.recent = self.recent.max(timestamps.value);
        }
        if segment.syn {
            return Acks { first: Some(self.greet(now, segment, ce_marked)), second: None };
        }
        if segment.window_probe {
            return Acks { first: Some(self.ack(now, None)), second: None };
        }
        if segment.payload == 0 {
            return Acks::default();
        }
        let mut acks = Acks::default();
        if self.echo.closes_delayed_ack(self.ecn, ce_marked) && self.unacked > 0 {
            acks.first = Some(self.ack(now, None));
        }
        self.echo.take(self.ecn, ce_marked, segment.cwr);
        let news = self.ecn == Ecn::Counted && self.count_mark(segment, ce_marked);
        let whole = segment.range();
        let fits = Range::new(whole.begin, whole.end.min(self.edge));
        let before = self.queue.next_byte();
        let at_once = if fits.begin >= fits.end {
            Some(None)
        } else {
            let (arrival, duplicate) = self.queue.take(fits);
            let delay = arrival == Arrival::InOrder && fits == whole && !segment.fin && duplicate.is_none();
            (!delay).then_some(duplicate)
        };
        self.unacked += self.queue.next_byte() - before;
        if self.auto_read {
            self.read = self.queue.next_byte();
        }
        let answer = match (at_once, self.config.delayed_ack) {
            (Some(duplicate), _) => Some(self.ack(now, duplicate)),
            (None, None) => Some(self.ack(now, None)),
            (None, Some(delay)) => {
                let full = u64::from(self.config.ack_every - 1) * self.config.mss.get();
                let quick = u64::from(self.config.quick_acks) * self.config.mss.get();
                if news || self.unacked > full || self.queue.next_byte() <= quick {
                    Some(self.ack(now, None))
                } else {
                    if self.deadline == Time::NEVER {
                        self.deadline = self.config.expiry(now, delay);
                    }
                    None
                }
            }
        };
        if acks.first.is_some() {
            acks.second = answer;
        } else {
            acks.first = answer;
        }
        acks
    }

    /// Answers a SYN. The first one settles how marks go back (RFC 9768 §3.1.5); its flags count only between ends that would count marks.
    fn greet(&mut self, now: Time, syn: &Segment, ce_marked: bool) -> Segment {
        if self.config.ecn == Ecn::Counted && !self.greeted {
            (self.ecn, self.greeted) = (accecn::mode_of_syn(syn.ace), true);
        }
        let flags = match self.ecn {
            Ecn::Counted => Codepoint::new(syn.ect, ce_marked).flags(),
            Ecn::Classic if self.greeted => 0b001,
            _ => 0,
        };
        Segment { syn: true, ace: flags, ecn_bytes: None, ..self.ack(now, None) }
    }

    /// When [`Receiver::on_timer`] wants to be called; [`Time::NEVER`] for never. Valid until the next call of any other method.
    pub fn timer(&self) -> Time {
        self.deadline
    }

    /// The time that [`Receiver::timer`] named has come (calls before it do nothing); returns the segment to send now.
    pub fn on_timer(&mut self, now: Time) -> Option<Segment> {
        (now >= self.deadline).then(|| self.ack(now, None))
    }

    /// Sets if the application reads everything at once (as from the start), or only the bytes that [`Receiver::read`]
    /// takes. Switching it on reads the data that is there; the answer is an update of the window, if that opens enough.
    pub fn set_auto_read(&mut self, now: Time, auto: bool) -> Option<Segment> {
        self.auto_read = auto;
        if auto { self.read(now, Bytes::MAX) } else { None }
    }

    /// The application takes up to `bytes` of the data that has arrived in order. Returns an update of the window, if
    /// that opens enough.
    pub fn read(&mut self, now: Time, bytes: Bytes) -> Option<Segment> {
        self.read = self.read.saturating_add(bytes.get()).min(self.queue.next_byte());
        // Silly window avoidance (RFC 9293 §3.8.6.2.2). An update is due where the sender may be stopped: less than that was open.
        let step = self.step();
        let open = self.edge - self.queue.next_byte();
        (open < step && self.next_edge() >= self.edge + step).then(|| self.ack(now, None))
    }

    /// Bytes that have arrived in order.
    pub fn bytes_in_order(&self) -> Bytes {
        Bytes::new(self.queue.next_byte())
    }

    /// Counts a segment with its mark; true if it must be acknowledged at once.
    #[inline(never)] // other connections stay small
    fn count_mark(&mut self, segment: &Segment, ce_marked: bool) -> bool {
        self.marks.take(self.config.accecn_acks, segment.payload, segment.ect, ce_marked)
    }

    /// The ACE field of an ACK, and the option where it has room beside `sack`.
    #[inline(never)] // as above
    fn report_marks(&mut self, sack: &SackBlocks) -> (u8, Option<EcnBytes>) {
        let option = self.config.accecn_option && sack.as_slice().len() <= EcnBytes::MAX_BLOCKS;
        (self.marks.report(), option.then(|| self.marks.option()))
    }

    fn step(&self) -> u64 {
        self.config.mss.get().min(self.config.receive_window.get() / 2)
    }

    /// Right edge that the buffer allows.
    fn next_edge(&self) -> u64 {
        self.read + self.config.receive_window.get()
    }

    fn ack(&mut self, now: Time, duplicate: Option<Range>) -> Segment {
        if self.next_edge() >= self.edge + self.step() {
            self.edge = self.next_edge();
        }
        self.unacked = 0;
        self.deadline = Time::NEVER;
        self.last_ack = self.queue.next_byte();
        let sack = if self.config.sack() {
            self.queue.blocks(duplicate.filter(|_| self.config.dsack))
        } else {
            SackBlocks::NONE
        };
        let (ace, ecn_bytes) = if self.ecn == Ecn::Counted { self.report_marks(&sack) } else { (0, None) };
        Segment {
            ack: true,
            ece: self.echo.is_echoing(),
            ace,
            ecn_bytes,
            ack_seq: self.last_ack,
            window: self.edge - self.last_ack,
            sack,
            timestamps: self.config.timestamps.then_some(Timestamps { value: now, echo: self.recent }),
            ..Segment::default()
        }
    }
}
