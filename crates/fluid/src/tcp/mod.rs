//! TCP as rounds: what a connection adds to a flow of rates.
//!
//! No segment is followed. ACKs clock the flow: what they acknowledge leaves again, times the growth of the window, and bytes for which
//! the window has room leave at line rate (`clock.rs`). Bytes that find no room in a queue are lost, which the sender finds out when later
//! ones have come through (`losses.rs`); without later ones it waits for a timer (`tail.rs`).
//!
//! ```text
//!           enough packets behind a lost one have arrived
//!         ┌──────────────────────────────────────────────► Recovery
//!         │      ◄─────────────────────────────────────────   │
//!       Open       all that had left before is repaired       │ a repair is lost (RFC 6675), or nothing comes back:
//!         │      ◄───────────────────────────────────────     ▼ the retransmission timer
//!         └──────────────────────────────────────────────► Loss
//! ```
//!
//! Sources: RFC 5681, RFC 6298 (the estimator is that of `farloop-tcp`), RFC 6675, RFC 6937, RFC 8985.

mod acks;
mod clock;
mod delivery;
mod handshake;
mod look;
mod losses;
mod opening;
mod refusal;
mod tail;

pub(crate) use opening::{Handshakes, Opening};
pub(crate) use refusal::{check_drops, check_tcp};

use crate::plan::FlowFacts;
use delivery::DeliveryRate;
use farloop_cc::{AnySender, Sender};
use farloop_network::Network;
use farloop_network::spec::{LinuxPacing, TransportKind};
use farloop_tcp::{Config, RttEstimator};
use farloop_units::{Bytes, Delta};
use std::collections::VecDeque;
use std::sync::Arc;

/// The phase of a sender, as in `farloop-tcp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Losses are repaired that ACKs revealed.
    Recovery,
    /// Losses are repaired after a timeout.
    Loss,
}

/// Bytes that were lost, and that the sender has not found out about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hole {
    /// Bytes that had left before them.
    pub at: f64,
    /// On the wire.
    pub bytes: f64,
}

/// Bytes that were sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair {
    /// Bytes that had left before and after them.
    pub from: f64,
    pub to: f64,
    /// They are of the phase that goes on.
    pub old: bool,
}

/// Timers of an endpoint, in picoseconds; infinite for never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndpointTimers {
    /// Retransmission.
    pub rto: f64,
    /// Tail loss probe.
    pub probe: f64,
    /// RACK's reordering timer.
    pub reorder: f64,
}

impl EndpointTimers {
    const NONE: EndpointTimers = EndpointTimers { rto: f64::INFINITY, probe: f64::INFINITY, reorder: f64::INFINITY };

    /// When the first is due.
    pub fn due(&self) -> f64 {
        self.rto.min(self.probe).min(self.reorder)
    }
}

/// Counts of a sender's work.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    /// Bytes on the wire that were sent again.
    pub resent: f64,
    pub timeouts: u32,
    pub recoveries: u32,
}

/// A connection. Bytes are on the wire, and counted from the beginning of the flow, unless a field says otherwise.
pub(crate) struct Tcp {
    pub config: Arc<Config>,
    pacing: Option<LinuxPacing>,
    /// Payload that a receiver with delayed ACKs waits for, of algorithms without a slow start threshold.
    least: Bytes,
    rtt: RttEstimator,
    phase: Phase,
    /// The phase is over when all that had left by then is acknowledged or repaired.
    recover: f64,
    /// Bytes that were sent again.
    repairs: VecDeque<Repair>,
    /// Known to be lost, and not sent again: of what had left when the phase began, and of the rest.
    due: [f64; 2],
    /// Bytes that had left when `due` was counted.
    counted: f64,
    /// A part of a packet by which the losses so far are ahead of whole ones; `None` before the first loss.
    owed: Option<f64>,
    holes: VecDeque<Hole>,
    /// Lost repairs that only a timeout repairs.
    stuck: f64,
    /// One packet leaves whatever the window says: the first repair.
    forced: bool,
    /// Bytes by which the window grows for each acknowledged one.
    growth: f64,
    /// The part of delivered bytes that leaves while the window falls (RFC 6937); `None` for nothing until it has fallen.
    reduction: Option<f64>,
    /// Marks are echoed until then, in picoseconds (RFC 3168).
    echoes_until: f64,
    /// When the first byte that is not acknowledged became that, in picoseconds: the retransmission timer began.
    progress: f64,
    timers: EndpointTimers,
    /// Timeouts in a row.
    retries: u32,
    /// Time of the last byte beyond its waits.
    rest: f64,
    /// When the last byte left, and the time that it waited in queues, in picoseconds.
    last_byte: Option<(f64, f64)>,
    pub counts: Counts,
    /// Samples of the delivery rate; `None` for algorithms that want none.
    delivery: Option<DeliveryRate>,
}

impl Tcp {
    /// The connection of a flow that opens; `None` where the network's transport is another one. `rest` is the flow's.
    pub fn new(
        network: &Network,
        facts: &FlowFacts,
        sender: &AnySender,
        (opening, rest): (Opening, f64),
        now: f64,
    ) -> Option<Box<Tcp>> {
        if network.transport.kind != TransportKind::Tcp {
            return None;
        }
        let spec = &network.transport.tcp;
        let config = network.tcp_configs[usize::from(facts.algorithm)].clone();
        let needs = network.algorithms[usize::from(facts.algorithm)].needs();
        let waits = config.delayed_ack.is_some() && !needs.exact_window;
        let control = sender.control();
        let slow_start = sender.ssthresh().is_some_and(|threshold| control.cwnd < threshold);
        let mut rtt = RttEstimator::new(&config);
        match opening.rtt {
            Some(measured) => rtt.sample(Delta::from_ps(measured as u64)),
            // An open connection knows its round-trip time.
            None if !config.handshake => rtt.sample(facts.info.base_rtt),
            None => rtt.syn_was_repeated(&config),
        }
        Some(Box::new(Tcp {
            pacing: spec.pacing,
            least: if waits { config.mss * u64::from(config.ack_every) } else { Bytes::ZERO },
            rtt,
            config,
            phase: Phase::Open,
            recover: 0.0,
            repairs: VecDeque::new(),
            due: [0.0; 2],
            counted: 0.0,
            owed: None,
            holes: VecDeque::new(),
            stuck: 0.0,
            forced: false,
            growth: if slow_start { 1.0 } else { 0.0 },
            reduction: None,
            echoes_until: 0.0,
            progress: now,
            timers: EndpointTimers::NONE,
            retries: 0,
            rest,
            last_byte: None,
            counts: Counts::default(),
            delivery: needs.delivery_rate.then(|| DeliveryRate::new(now as u64)),
        }))
    }

    /// Packets that an ACK covers from byte `at` of payload on.
    fn packets_per_ack(&self, at: u64) -> u64 {
        let quick = u64::from(self.config.quick_acks) * self.config.mss.get();
        if self.config.delayed_ack.is_none() || at < quick { 1 } else { u64::from(self.config.ack_every) }
    }

    /// Lost bytes that the sender takes for on their way: those that it has not found, and lost repairs (RFC 6675).
    fn held(&self) -> f64 {
        self.stuck + self.holes.iter().map(|hole| hole.bytes).sum::<f64>()
    }

    /// Bytes that are known to be lost, and not sent again.
    fn due(&self) -> f64 {
        self.due[0] + self.due[1]
    }

    /// Retransmission timeouts in a row after which it has given up.
    fn has_given_up(&self) -> bool {
        self.retries > self.config.max_retries
    }

    /// Something is lost, or may be: the last byte does not walk before that is repaired.
    fn repairs_something(&self) -> bool {
        self.phase != Phase::Open || !self.holes.is_empty()
    }
}
