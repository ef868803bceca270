//! Settings of TCP endpoints.

use farloop_cc::Needs;
use farloop_tcp::{AccEcnAcks, BackoffEnd, Config, Ecn, Recovery, RtoFloor};
use farloop_units::{Bytes, Delta};

/// Settings of a TCP endpoint, beside its congestion control.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpSpec {
    /// The way in which losses are found.
    pub recovery: Recovery,
    /// Flows begin with SYN and SYN-ACK; otherwise connections are open, and their round-trip time is known, when they start.
    pub handshake: bool,
    /// The way of congestion marks back to the source.
    pub ecn: EcnFeedback,
    /// With [`EcnFeedback::AccEcn`]: the option that counts bytes.
    pub accecn_option: AccEcnOption,
    /// With [`EcnFeedback::AccEcn`]: which marks are acknowledged at once.
    pub accecn_acks: AccEcnAcks,
    /// Longest time for which an ACK may be kept back; `None` to acknowledge every packet at once.
    pub delayed_ack: Option<Delta>,
    /// With `delayed_ack`: number of packets after which an ACK is sent at the latest.
    pub ack_every: u32,
    /// Full packets at the beginning of a connection whose ACKs do not wait.
    pub quick_acks: u32,
    /// Lower bound of the retransmission timeout.
    pub min_rto: Delta,
    /// The target of `min_rto`: the timeout, or its variance term.
    pub rto_floor: RtoFloor,
    /// The event that ends the back-off of the timeout.
    pub backoff_ends: BackoffEnd,
    /// Upper bound of the retransmission timeout, back-off included; at least `min_rto` and `initial_rto`.
    pub max_rto: Delta,
    /// Retransmission timeout before the first round-trip time sample.
    pub initial_rto: Delta,
    /// Timeouts in a row after which a flow gives up.
    pub max_retries: u32,
    /// With `handshake`: repetitions of a SYN after which a flow gives up.
    pub syn_retries: u32,
    /// Window to start with, in packets, of flows that set neither a window nor a rate; `None` for the algorithm's own.
    pub initial_cwnd: Option<u32>,
    /// Most data that a sender may have beyond the acknowledged part; at most 1 GiB.
    pub receive_window: Bytes,
    /// Send new packets for the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate ACKs that mean a loss.
    pub dup_ack_threshold: u32,
    /// Segments carry timestamps (RFC 7323); their bytes are part of [`super::TransportSpec::header`] and [`super::TransportSpec::ack`].
    pub timestamps: bool,
    /// The receiver reports duplicates (RFC 2883); nothing without selective acknowledgements.
    pub dsack: bool,
    /// A timeout forgets the selective acknowledgements (RFC 2018 §8).
    pub forget_sack: bool,
    /// Windows fall to the algorithm's in step with deliveries while losses are repaired (RFC 6937), but not those of algorithms that
    /// measure the delivery rate.
    pub prr: bool,
    /// Spurious timeouts are detected by forward RTO recovery (RFC 5682).
    pub frto: bool,
    /// Tail loss probes (RFC 8985 §7); nothing without [`Recovery::Rack`].
    pub tail_loss_probe: bool,
    /// Time beyond twice the round-trip time after which the probe of a lone packet goes out.
    pub max_ack_delay: Delta,
    /// Additional wait of tail-loss probes of several packets and of RACK's reordering timer.
    pub timeout_min: Delta,
    /// Tick of the hosts' timers; zero for exact ones.
    pub timer_tick: Delta,
    /// Tick of timestamps; zero for exact ones.
    pub timestamp_tick: Delta,
    /// Pacing of algorithms that give no rate; `None` for none.
    pub pacing: Option<LinuxPacing>,
    /// A uniform random time up to this is added to each round-trip time sample.
    pub rtt_noise: Delta,
    /// Delay noise of hosts: standard deviation of the round-trip time inside a datacenter in an empty network; at most a second.
    pub delay_noise_intra: Delta,
    /// The same across datacenters.
    pub delay_noise_cross: Delta,
    /// A connection starts with the slow start threshold that the last one between the same hosts left, at its end or when it fell idle.
    pub remember_ssthresh: bool,
    /// Packets leave in chunks, as hosts with segmentation offload send them, where no algorithm or pacing spreads them.
    pub segmentation_offload: bool,
    /// Connections outlive their flows: a flow takes one between its hosts that is idle, and opens one only where there is none.
    pub persistent: bool,
    /// With `persistent`: a connection that was idle for a retransmission timeout shrinks its window (Linux,
    /// `tcp_slow_start_after_idle`).
    pub slow_start_after_idle: bool,
}

impl TcpSpec {
    /// Builds the configuration of the endpoints of an algorithm's flows; `mss` is the payload of its full packets.
    pub fn endpoint_config(&self, needs: Needs, mss: u16) -> Config {
        let TcpSpec {
            recovery,
            handshake,
            ecn,
            accecn_option,
            accecn_acks,
            delayed_ack,
            ack_every,
            quick_acks,
            min_rto,
            rto_floor,
            backoff_ends,
            max_rto,
            initial_rto,
            max_retries,
            syn_retries,
            receive_window,
            limited_transmit,
            dup_ack_threshold,
            timestamps,
            dsack,
            forget_sack,
            prr,
            frto,
            tail_loss_probe,
            max_ack_delay,
            timeout_min,
            timer_tick,
            timestamp_tick,
            // The simulation's own business.
            initial_cwnd: _,
            pacing: _,
            rtt_noise: _,
            delay_noise_intra: _,
            delay_noise_cross: _,
            remember_ssthresh: _,
            segmentation_offload: _,
            persistent: _,
            slow_start_after_idle: _,
        } = *self;
        Config {
            recovery,
            ecn: match (ecn, needs) {
                (_, Needs { ecn: false, accurate_ecn: false, .. }) => Ecn::Off,
                (EcnFeedback::Auto, Needs { accurate_ecn: true, .. }) | (EcnFeedback::Rfc8257, _) => Ecn::Accurate,
                (EcnFeedback::Auto | EcnFeedback::Classic, _) => Ecn::Classic,
                (EcnFeedback::AccEcn, _) => Ecn::Counted,
            },
            accecn_acks,
            accecn_option: accecn_option != AccEcnOption::Off,
            mss: Bytes::new(u64::from(mss)),
            delayed_ack,
            ack_every,
            quick_acks,
            initial_rto,
            min_rto,
            rto_floor,
            backoff_ends,
            max_rto,
            dup_ack_threshold,
            receive_window,
            handshake,
            limited_transmit,
            timestamps,
            dsack,
            tail_loss_probe,
            max_ack_delay,
            timeout_min,
            timer_tick,
            timestamp_tick,
            // Who sets windows by the delivery rate reduces them itself (Linux: `cong_control`).
            prr: prr && !needs.delivery_rate,
            frto,
            forget_sack,
            max_retries,
            syn_retries,
        }
    }
}

impl Default for TcpSpec {
    /// SACK on open connections, an ACK for every packet, the timeouts of a Linux host.
    fn default() -> TcpSpec {
        TcpSpec {
            recovery: Recovery::Sack,
            handshake: false,
            ecn: EcnFeedback::Auto,
            accecn_option: AccEcnOption::Sent,
            accecn_acks: AccEcnAcks::Rfc9768,
            delayed_ack: None,
            ack_every: 2,
            quick_acks: 0,
            min_rto: Delta::from_ms(200),
            rto_floor: RtoFloor::Total,
            backoff_ends: BackoffEnd::Sample,
            max_rto: Delta::from_secs(120),
            initial_rto: Delta::from_secs(1),
            max_retries: 15,
            syn_retries: 6,
            initial_cwnd: None,
            receive_window: Bytes::new(1_000_000_000),
            limited_transmit: true,
            dup_ack_threshold: 3,
            timestamps: true,
            dsack: true,
            forget_sack: false,
            prr: false,
            frto: true,
            tail_loss_probe: true,
            max_ack_delay: Delta::from_ms(200),
            timeout_min: Delta::ZERO,
            timer_tick: Delta::ZERO,
            timestamp_tick: Delta::ZERO,
            pacing: None,
            rtt_noise: Delta::ZERO,
            delay_noise_intra: Delta::ZERO,
            delay_noise_cross: Delta::ZERO,
            remember_ssthresh: false,
            segmentation_offload: false,
            persistent: false,
            slow_start_after_idle: true,
        }
    }
}

/// The way of congestion marks back to the source, for flows whose algorithm answers them; those of others are not ECN-capable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnFeedback {
    /// As the algorithm needs it: [`EcnFeedback::Rfc8257`] or [`EcnFeedback::Classic`].
    Auto,
    /// Echoed until the source confirms it (RFC 3168).
    Classic,
    /// Each ACK echoes the mark of what it acknowledges (RFC 8257).
    Rfc8257,
    /// Counted (RFC 9768).
    AccEcn,
}

/// The option of Accurate ECN, with the counts of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccEcnOption {
    /// No ACK has it.
    Off,
    /// ACKs have it where there is room beside selective acknowledgements.
    Sent,
    /// The same, and the path takes it off all of them.
    Stripped,
}

/// Pacing at the window over the smoothed round-trip time, times a gain (Linux, `tcp_update_pacing_rate`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinuxPacing {
    /// The gain below half the slow start threshold.
    pub slow_start: f64,
    /// The gain otherwise.
    pub otherwise: f64,
}

impl LinuxPacing {
    /// Linux's own gains (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    pub const DEFAULT: LinuxPacing = LinuxPacing { slow_start: 2.0, otherwise: 1.2 };
}
