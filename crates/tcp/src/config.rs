//! Settings of an endpoint; both ends of a flow share one [`Config`].

use farloop_units::{Bytes, Delta};
use std::fmt;

/// The method by which losses are found and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Duplicate ACKs only (RFC 5681, RFC 6582): one repair per round trip.
    NewReno,
    /// Selective acknowledgements and their scoreboard (RFC 2018, RFC 6675).
    Sack,
    /// Selective acknowledgements, losses by time of sending, tail-loss probes (RFC 8985).
    Rack,
}

/// The path of congestion marks back to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// Segments are not ECN-capable.
    Off,
    /// RFC 3168 §6.1: the receiver echoes a mark in all ACKs until the sender confirms that it has reacted.
    Classic,
    /// RFC 8257 §3.2: each ACK echoes the mark of the segments that it acknowledges.
    Accurate,
    /// RFC 9768 (Accurate ECN): ACKs carry the count of marked packets.
    Counted,
}

/// The rule by which marks make a receiver with [`Ecn::Counted`] acknowledge at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccEcnAcks {
    /// RFC 9768 §3.2.2.5.1: a marked packet after one without a mark, and the second marked packet since the last ACK.
    Rfc9768,
    /// Linux 7.0 (`tcp_ecn_received_counters`, `TCP_ACCECN_ACE_MAX_DELTA`): every change of the mark, and the sixth marked packet.
    Linux,
}

/// The quantity that `min_rto` bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RtoFloor {
    /// The timeout (RFC 6298 §2.4).
    Total,
    /// Its variance term: timeout = SRTT + max(4·RTTVAR, min_rto), as Linux computes it.
    Variance,
}

/// The event that ends the back-off of the retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackoffEnd {
    /// A round-trip sample (RFC 6298 §5, Karn): without timestamps, an ACK of data sent once.
    Sample,
    /// Any ACK that restarts the timer, of repeated segments, too; ns-3: `TcpSocketBase::NewAck` computes the timeout
    /// again.
    AnyAck,
}

/// Settings of an endpoint. [`Config::new`] gives those of a current Linux host, with SACK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Loss recovery.
    pub recovery: Recovery,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// With [`Ecn::Counted`]: which marks are acknowledged at once.
    pub accecn_acks: AccEcnAcks,
    /// With [`Ecn::Counted`]: ACKs carry the Accurate ECN option, which counts bytes (RFC 9768 §3.2.3), where it has room.
    pub accecn_option: bool,
    /// Payload of a full segment in bytes: 1 to 65535.
    pub mss: Bytes,
    /// Time that an ACK may wait for more data; `None` acknowledges every segment at once. Linux: 40 ms; RFC 9293: at
    /// most 0.5 s.
    pub delayed_ack: Option<Delta>,
    /// Full segments of data that one ACK may cover before it goes out at once (RFC 5681 §4.2: 2).
    pub ack_every: u32,
    /// So many segments' payload at the beginning of the flow is acknowledged segment by segment (Linux: quick ACKs, 16 at least and for as
    /// long as the receive window grows; `tcp_incr_quickack`, `tcp_grow_window`).
    pub quick_acks: u32,
    /// Timeout before there is a round-trip sample (RFC 6298 §2.1: 1 s).
    pub initial_rto: Delta,
    /// Smallest timeout (RFC 6298 §2.4: 1 s; Linux: 200 ms).
    pub min_rto: Delta,
    /// Quantity that `min_rto` bounds.
    pub rto_floor: RtoFloor,
    /// Event that ends the back-off of the timeout.
    pub backoff_ends: BackoffEnd,
    /// Largest timeout, back-off included (RFC 6298 §2.5: at least 60 s; Linux: 120 s).
    pub max_rto: Delta,
    /// Duplicate ACKs that mean a loss (RFC 5681 §3.2: 3).
    pub dup_ack_threshold: u32,
    /// Receive buffer in bytes, and so the largest advertised window; at most 1 GiB (RFC 7323 §2.3). Window scaling is implied.
    pub receive_window: Bytes,
    /// Open with SYN, SYN-ACK, ACK; otherwise data flows at once.
    pub handshake: bool,
    /// Send new data on the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Segments carry timestamps (RFC 7323), used for round-trip samples of retransmissions and Eifel detection (RFC 3522).
    pub timestamps: bool,
    /// The receiver reports duplicates (RFC 2883); needs SACK.
    pub dsack: bool,
    /// Tail-loss probes (RFC 8985 §7); only with [`Recovery::Rack`].
    pub tail_loss_probe: bool,
    /// Longest delay of an ACK that a tail-loss probe of a lone segment allows for (RFC 8985 §7.2: 200 ms unless known better).
    pub max_ack_delay: Delta,
    /// Additional wait of the tail-loss probe of several segments and of RACK's reordering timer, so that timers of little have a least
    /// length (RFC 8985: nothing; Linux, `TCP_TIMEOUT_MIN_US`: 2 ms).
    pub timeout_min: Delta,
    /// Tick of the host's timers, which fire at whole ticks only (`clock.rs`; Linux: a jiffy); nothing for exact ones.
    pub timer_tick: Delta,
    /// Tick of the timestamps (RFC 7323 §5.4: 1 ms to 1 s; Linux, `TCP_TS_HZ`: 1 ms); nothing for exact ones.
    pub timestamp_tick: Delta,
    /// Proportional rate reduction: while losses that ACKs revealed are repaired, the window falls to the algorithm's with what is
    /// delivered (RFC 6937; Linux, `tcp_cwnd_reduction`). Otherwise the algorithm's window holds at once.
    pub prr: bool,
    /// Detect spurious timeouts by forward RTO recovery (RFC 5682).
    pub frto: bool,
    /// A timeout forgets all selective acknowledgements (RFC 2018 §8). Otherwise, as in Linux, only if the first unacknowledged
    /// segment is among them, which proves that the receiver has dropped data that it reported.
    pub forget_sack: bool,
    /// Timeouts in a row after which the sender gives up (Linux `tcp_retries2`: 15).
    pub max_retries: u32,
    /// Repetitions of a SYN after which the sender gives up (Linux `tcp_syn_retries`: 6).
    pub syn_retries: u32,
}

impl Config {
    /// Settings of a current Linux host for segments of `mss` bytes, with SACK recovery.
    pub fn new(mss: Bytes) -> Config {
        Config {
            recovery: Recovery::Sack,
            ecn: Ecn::Off,
            accecn_acks: AccEcnAcks::Rfc9768,
            accecn_option: true,
            mss,
            delayed_ack: Some(Delta::from_ms(40)),
            ack_every: 2,
            quick_acks: 0,
            initial_rto: Delta::from_secs(1),
            min_rto: Delta::from_ms(200),
            rto_floor: RtoFloor::Total,
            backoff_ends: BackoffEnd::Sample,
            max_rto: Delta::from_secs(120),
            dup_ack_threshold: 3,
            receive_window: Bytes::new(1 << 30),
            handshake: true,
            limited_transmit: true,
            timestamps: true,
            dsack: true,
            tail_loss_probe: true,
            max_ack_delay: Delta::from_ms(200),
            timeout_min: Delta::ZERO,
            timer_tick: Delta::ZERO,
            timestamp_tick: Delta::ZERO,
            prr: false,
            frto: true,
            forget_sack: false,
            max_retries: 15,
            syn_retries: 6,
        }
    }

    /// Checks the settings against each other; the error names the first wrong setting, and the accepted values.
    pub fn check(&self) -> Result<(), ConfigError> {
        let need = |ok, setting, expected| if ok { Ok(()) } else { Err(ConfigError { setting, expected }) };
        need((1..=65535).contains(&self.mss.get()), "mss", "1 B to 65535 B")?;
        need(self.ack_every >= 1, "ack_every", "at least 1")?;
        need(self.dup_ack_threshold >= 1, "dup_ack_threshold", "at least 1")?;
        need(self.initial_rto > Delta::ZERO, "initial_rto", "above zero")?;
        need(self.min_rto > Delta::ZERO, "min_rto", "above zero")?;
        let largest = self.max_rto >= self.min_rto && self.max_rto >= self.initial_rto;
        need(largest, "max_rto", "at least min_rto and initial_rto")?;
        need(self.max_rto <= Delta::from_secs(86_400), "max_rto", "at most a day")?;
        need(self.receive_window >= self.mss, "receive_window", "at least one packet's payload")?;
        need(self.receive_window.get() <= 1 << 30, "receive_window", "at most 1 GiB (RFC 7323 §2.3)")
    }

    /// Returns true if the ends exchange selective acknowledgements.
    pub fn sack(&self) -> bool {
        self.recovery != Recovery::NewReno
    }
}

/// A setting that does not do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The field of [`Config`].
    pub setting: &'static str,
    /// The accepted values.
    pub expected: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.setting, self.expected)
    }
}
impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_the_wrong_setting() {
        let good = Config::new(Bytes::new(1460));
        assert_eq!(good.check(), Ok(()));
        type Spoil = fn(&mut Config);
        let cases: [(Spoil, &str); 7] = [
            (|c| c.mss = Bytes::ZERO, "mss"),
            (|c| c.mss = Bytes::new(70_000), "mss"),
            (|c| c.ack_every = 0, "ack_every"),
            (|c| c.dup_ack_threshold = 0, "dup_ack_threshold"),
            (|c| c.min_rto = Delta::ZERO, "min_rto"),
            (|c| c.max_rto = Delta::from_ms(1), "max_rto"),
            (|c| c.receive_window = Bytes::new(2 << 30), "receive_window"),
        ];
        for (spoil, name) in cases {
            let mut bad = good.clone();
            spoil(&mut bad);
            assert_eq!(bad.check().unwrap_err().setting, name);
        }
    }
}
