//! What loss recovery remembers of one sender.

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

/// What is kept to find out whether a reduction was a mistake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// `snd_una` at the reduction: D-SACKs below belong to something else.
    pub from: u64,
    /// First retransmission since.
    pub first_again: Option<Time>,
    /// Retransmissions since, less those reported as duplicates.
    pub copies: u32,
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
            frto: Frto::Off,
            probe: None,
        }
    }

    /// A retransmission is sent.
    pub fn on_again(&mut self, now: Time) {
        if let Some(undo) = &mut self.undo {
            undo.first_again.get_or_insert(now);
            undo.copies += 1;
        }
    }
}
