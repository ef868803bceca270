//! State of one sender's loss recovery.

use crate::rack::Probe;
use farloop_units::Time;

/// Forward RTO recovery (RFC 5682).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frto {
    /// Conventional recovery.
    Off,
    /// The first segment was sent again; its ACK decides (step 2).
    Wait,
    /// New data goes out, up to this many segments; their ACKs decide (step 3).
    New(u8),
}

/// State from which a sender finds out if a reduction was a mistake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// `snd_una` at the reduction: D-SACKs below belong to something else (Linux: `undo_marker`).
    pub from: u64,
    /// Retransmitted segments that no D-SACK has reported as duplicates yet: those in flight at the reduction, and those sent since.
    /// `None` until there is a retransmission (Linux: `undo_retrans`, which is -1 then).
    pub copies: Option<u64>,
    pub in_flight: u64,
}

/// State of loss recovery of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair {
    /// The phase ends when this is acknowledged.
    pub recover: u64,
    /// NewReno: duplicate ACKs up to here may be of the last phase (RFC 6582 §3.2).
    pub guard: Option<u64>,
    pub dup_acks: u32,
    /// `snd_una` before its last advance.
    pub previous_una: u64,
    /// One retransmission goes out regardless of the window.
    pub force: bool,
    /// NewReno: a partial ACK has restarted the timer in this phase.
    pub timer_restarted: bool,
    /// `RescueRxt` of RFC 6675.
    pub rescue: u64,
    pub undo: Option<Undo>,
    /// When the first retransmission was sent since last none was outstanding (Linux: `retrans_stamp`). An ACK that echoes an older
    /// timestamp answers an original. It outlives a recovery whose retransmissions are still in flight when the next one begins.
    pub retransmitted_at: Option<Time>,
    /// An original has filled a gap while retransmissions are in flight: this ACK gives no reason to send more of them.
    pub repairs_wait: bool,
    pub frto: Frto,
    /// The outstanding tail-loss probe.
    pub probe: Option<Probe>,
}

impl Repair {
    /// Nothing lost yet.
    pub fn new() -> Repair {
        Repair {
            recover: 0,
            guard: None,
            dup_acks: 0,
            previous_una: 0,
            force: false,
            timer_restarted: false,
            rescue: 0,
            undo: None,
            retransmitted_at: None,
            repairs_wait: false,
            frto: Frto::Off,
            probe: None,
        }
    }

    /// A retransmission is sent that is no tail-loss probe.
    pub fn on_retransmission(&mut self, now: Time) {
        self.retransmitted_at.get_or_insert(now);
        if let Some(undo) = &mut self.undo {
            *undo.copies.get_or_insert(0) += 1;
        }
    }

    /// A reduction begins: `outstanding_copies` retransmissions of an earlier one, `from` and `in_flight` as in [`Undo`]. D-SACKs for those
    /// copies and for a probe that is outstanding may still come (Linux: `tcp_init_undo`).
    pub fn begin_undo(&mut self, from: u64, in_flight: u64, outstanding_copies: u64) {
        let copies = (outstanding_copies > 0).then_some(outstanding_copies);
        self.undo = Some(Undo { from, copies, in_flight });
    }
}
