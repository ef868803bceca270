//! A sender's state and its reports to the caller; the timers and ends that all its parts share.
//!
//! The parts are in separate files, each of which calls only those before it: the choice of the next segment
//! (`transmit.rs`), losses and their repair (`recovery.rs`), segments, timers and the application (`sender.rs`).

use crate::accecn::MarkReader;
use crate::config::{Config, Ecn};
use crate::delivery::DeliveryRate;
use crate::ecn::Reaction;
use crate::prr::Prr;
use crate::rack::Rack;
use crate::repair::Repair;
use crate::rto::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment::Range;
use farloop_cc::{Delivery, Loss, Marked};
use farloop_units::{Bytes, Delta, Time};
use std::sync::Arc;

/// The phase of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Before [`Sender::open`].
    Closed,
    /// SYN sent, no answer yet.
    SynSent,
    /// Nothing is known to be lost.
    Open,
    /// Repairing losses that ACKs revealed.
    Recovery,
    /// Repairing after a timeout.
    Loss,
    /// Closed, and everything is acknowledged.
    Finished,
    /// Given up.
    Failed(GiveUp),
}

/// Limits that keep the next segment of a sender from leaving; several may hold at once.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Holds {
    /// The connection is not open.
    pub handshake: bool,
    /// The receiver's window has no room for new data, and the sender has nothing else to send.
    pub receiver: bool,
    /// The congestion window has no room for a segment.
    pub window: bool,
    /// Losses are being repaired, and the window of that time has no room.
    pub repair: bool,
}

/// Why a sender gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GiveUp {
    /// No answer to the SYN and its repetitions (`syn_retries`).
    Handshake,
    /// No progress in `max_retries` timeouts in a row.
    Retransmissions,
    /// No answer to `max_retries` probes of a closed window in a row.
    WindowProbes,
}

/// The report of a segment or a timer to the caller.
///
/// The caller reports to the algorithm, in this order: `spurious`, `loss`, then (if `is_ack`) the ACK itself.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Meaning {
    /// It was an ACK of an established connection: the algorithm's `on_ack` is due.
    pub is_ack: bool,
    /// The handshake was completed by it: the flow begins, `rtt` is its sample (if the SYN was not repeated).
    pub established: bool,
    /// Payload acknowledged cumulatively for the first time.
    pub acked: Bytes,
    /// Payload that has left the network, as this ACK says for the first time: cumulatively or selectively. Without SACK a duplicate
    /// ACK counts as nothing.
    pub delivered: Bytes,
    /// Round-trip sample: from the transmission of the segment sent last among those newly acknowledged, if sent only once.
    pub rtt: Option<Delta>,
    /// The ACK echoes or reports a congestion mark.
    pub ecn_echo: bool,
    /// Marked packets that the ACK reports; `None` unless the ends count them ([`crate::Ecn::Counted`]).
    pub ce: Option<Marked>,
    /// ... and it is the first such ACK in a window of data: the one that RFC 3168 §6.1.2 reacts to.
    pub ecn_first: bool,
    /// Losses that ACKs revealed are being repaired: the window must not grow. (After a timeout it may.)
    pub in_recovery: bool,
    /// When the ACK arrived, the sender had less to send than the congestion window allowed (no data, or the receive window full).
    pub app_limited: bool,
    /// Delivery-rate sample, where something was newly delivered.
    pub delivery: Option<Delivery>,
    /// An earlier reduction was unnecessary.
    pub spurious: Option<Loss>,
    /// A new loss event.
    pub loss: Option<Loss>,
    /// Everything is acknowledged, and the flow closed: it ends here.
    pub finished: bool,
    /// The sender has given up.
    pub failed: Option<GiveUp>,
}

/// Counts of a sender's work so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Data segments sent.
    pub sent: u64,
    /// Of these, retransmissions.
    pub retransmitted: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Timeouts of data.
    pub timeouts: u64,
    /// Tail-loss probes.
    pub tail_loss_probes: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Reductions that proved unnecessary.
    pub spurious: u64,
    /// Retransmissions found lost (RACK).
    pub lost_retransmissions: u64,
    /// Records of outstanding segments looked at: the work done.
    pub touched: u64,
}

/// The sending endpoint of a flow.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(crate) config: Arc<Config>,
    pub(crate) state: State,
    pub(crate) board: Scoreboard,
    pub(crate) repair: Repair,
    pub(crate) rtt: RttEstimator,
    pub(crate) rack: Rack,
    pub(crate) reaction: Reaction,
    /// How marks come back: as configured, until the handshake says otherwise.
    pub(crate) ecn: Ecn,
    pub(crate) marks: MarkReader,
    pub(crate) rate: DeliveryRate,
    /// The algorithm's window; the one in force is [`Sender::window`].
    pub(crate) cwnd: u64,
    /// The reduction going on, with [`Config::prr`].
    pub(crate) prr: Option<Prr>,
    /// Bytes ever found lost before the current ACK.
    pub(crate) lost_before: u64,
    /// Bytes that the application has written so far.
    pub(crate) limit: u64,
    pub(crate) closed: bool,
    /// The data written so far ends a message.
    pub(crate) pushed: bool,
    pub(crate) next: Next,
    /// Right edge of the receiver's window, the ACK that set it, and the largest window seen.
    pub(crate) edge: u64,
    pub(crate) edge_ack: u64,
    pub(crate) widest: u64,
    pub(crate) syn_due: bool,
    pub(crate) syn_at: Time,
    /// The handshake's last ACK has yet to go out, with data or alone.
    pub(crate) ack_due: bool,
    pub(crate) window_probe_due: bool,
    /// A segment smaller than silly window avoidance allows may go out (RFC 9293 §3.8.6.2.1, override).
    pub(crate) small_due: bool,
    /// A tail-loss probe is due.
    pub(crate) probe_due: bool,
    /// Last timestamp of the receiver.
    pub(crate) peer_clock: Time,
    pub(crate) timer_at: Time,
    pub(crate) probe_at: Time,
    pub(crate) reorder_at: Time,
    pub(crate) persist_at: Time,
    /// Timeouts in a row of the current kind: SYN, data, or probes of the window.
    pub(crate) retries: u32,
    pub(crate) counters: Counters,
}

/// The next segment to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Nothing,
    Syn,
    WindowProbe,
    /// A retransmission.
    Again {
        what: Range,
        /// Regardless of the window.
        free: bool,
        /// By rule 4 of `NextSeg`.
        rescue: bool,
    },
    /// New data.
    New {
        payload: u64,
        /// Regardless of the window.
        free: bool,
    },
}

impl Sender {
    /// Retransmission timeout that holds now, back-off included.
    pub fn rto(&self) -> Delta {
        self.rtt.rto(&self.config)
    }

    /// The window in force: the algorithm's, or that of proportional rate reduction.
    pub(crate) fn window(&self) -> u64 {
        match (&self.prr, self.state) {
            (Some(prr), State::Recovery) => prr.window(),
            _ => self.cwnd,
        }
    }

    pub(crate) fn is_established(&self) -> bool {
        matches!(self.state, State::Open | State::Recovery | State::Loss)
    }

    /// Ends the flow if it is over, and returns true then.
    pub(crate) fn finish(&mut self) -> bool {
        let done = self.is_established() && self.closed && self.board.una() == self.limit;
        if done {
            self.end(State::Finished);
        }
        done
    }

    pub(crate) fn give_up(&mut self, why: GiveUp, out: &mut Meaning) {
        out.failed = Some(why);
        self.end(State::Failed(why));
    }

    fn end(&mut self, state: State) {
        self.state = state;
        self.ack_due = false;
        self.next = Next::Nothing;
        (self.timer_at, self.probe_at, self.reorder_at, self.persist_at) =
            (Time::NEVER, Time::NEVER, Time::NEVER, Time::NEVER);
    }

    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.timer_at = self.config.expiry(now, self.rto());
    }
}
