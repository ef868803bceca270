//! `[transport] preset`: TCP as the hosts of a Linux version have it, key by key; multipath endpoints as a specification has them.
//!
//! Where a key is the same in both versions and equal to the default it is named all the same: defaults may move, presets must not.

use crate::sections::{
    AccEcnAcksChoice, AccEcnOptionChoice, BackoffEndChoice, ConnectionsChoice, EcnChoice, EndpointsChoice, HostsChoice,
    MultipathKeys, PacingChoice, PathsChoice, RecoveryChoice, RtoFloorChoice, TcpKeys,
};
use farloop_units::{Bytes, Delta};

/// The keys of a preset; the defaults for none. Functions and files are those of Linux's `net/ipv4`.
pub(crate) fn keys(preset: HostsChoice) -> TcpKeys {
    let linux = |preset| TcpKeys {
        preset,
        // tcp_sack = 1, tcp_recovery = 1. 4.9 marks losses by duplicate SACKs and by RACK (`tcp_rack_mark_lost`), without RACK's timer for
        // reordering, which has no part where nothing is reordered.
        recovery: RecoveryChoice::Rack,
        handshake: true,      // tcp_connect
        ecn: EcnChoice::Auto, // tcp_ecn = 2, and what TCP_CONG_NEEDS_ECN asks for; 7.0 has 3 for Accurate ECN, 2 by default
        accecn_option: AccEcnOptionChoice::Sent,
        accecn_acks: AccEcnAcksChoice::Rfc9768,
        delayed_ack: Some(Delta::from_ms(40)), // TCP_DELACK_MIN (include/net/tcp.h); not its quick ACKs, `tcp_enter_quickack_mode`
        ack_every: 2,                          // __tcp_ack_snd_check
        quick_acks: 0,                         // by how the receive window grows: tcp_incr_quickack, tcp_grow_window
        min_rto: Delta::from_ms(200),          // TCP_RTO_MIN
        rto_floor: RtoFloorChoice::Variance,   // tcp_rtt_estimator: mdev_max and rttvar are at least tcp_rto_min
        backoff_ends: BackoffEndChoice::Sample, // tcp_ack_update_rtt: icsk_backoff
        max_rto: Delta::from_secs(120),        // TCP_RTO_MAX
        initial_rto: Delta::from_secs(1),      // TCP_TIMEOUT_INIT
        max_retries: 15,                       // TCP_RETR2, tcp_retries2
        syn_retries: None,                     // TCP_SYN_RETRIES: 6
        initial_cwnd: Some(10),                // TCP_INIT_CWND
        // tcp_rmem: 6 MiB at most, of which tcp_adv_win_scale = 1 leaves half for payload (tcp_win_from_space). It opens ahead of the
        // sender's window (tcp_rcv_space_adjust), so that only its end limits. tcp_wmem, 4 MiB, has room for more.
        receive_window: Bytes::new(3 << 20),
        limited_transmit: true, // tcp_packets_in_flight: what is sacked makes room
        dup_ack_threshold: 3,   // tcp_reordering
        timestamps: true,       // tcp_timestamps
        dsack: None,            // tcp_dsack: on
        forget_sack: false,     // tcp_enter_loss: only where the receiver has reneged
        prr: true,              // tcp_cwnd_reduction
        frto: true,             // tcp_frto, tcp_process_loss
        tail_loss_probe: None,  // tcp_early_retrans, tcp_schedule_loss_probe: on
        max_ack_delay: None,    // TCP_DELACK_MAX, tcp_rto_min in tcp_schedule_loss_probe: 200 ms
        // Exact clocks, and no least timeout: 4.9 has 10 ms and 1.5 RTT + TCP_DELACK_MAX for probes, and jiffies for timestamps.
        timeout_min: Delta::ZERO,
        timer_tick: Delta::ZERO,
        timestamp_tick: Delta::ZERO,
        pacing: PacingChoice::None, // SK_PACING_NONE unless fq is set up or the algorithm paces
        pacing_gain_slow_start: 2.0, // tcp_pacing_ss_ratio
        pacing_gain: 1.2,           // tcp_pacing_ca_ratio
        rtt_noise: Delta::ZERO,     // the machine's, not the kernel's
        delay_noise_intra: Delta::ZERO,
        delay_noise_cross: Delta::ZERO,
        remember_ssthresh: true, // tcp_no_metrics_save = 0: tcp_update_metrics, tcp_init_metrics
        segmentation_offload: true, // tcp_tso_autosize, tcp_tso_should_defer
        connections: ConnectionsChoice::PerFlow, // the application's
        slow_start_after_idle: None, // tcp_slow_start_after_idle: on
    };
    match preset {
        HostsChoice::None => TcpKeys::default(),
        HostsChoice::Linux49 => linux(preset),
        HostsChoice::Linux6 => TcpKeys {
            remember_ssthresh: false,          // not kept since 5.6 (tcp_no_ssthresh_metrics_save = 1)
            timeout_min: Delta::from_ms(2),    // TCP_TIMEOUT_MIN_US: tcp_schedule_loss_probe, tcp_rack_mark_lost
            timer_tick: Delta::from_ms(4),     // a jiffy; CONFIG_HZ = 250 is Kconfig's default
            timestamp_tick: Delta::from_ms(1), // TCP_TS_HZ; tcp_usec_ts is off unless a route asks for it
            ..linux(preset)
        },
    }
}

/// The keys of multipath endpoints with a preset; the defaults for none.
pub(crate) fn multipath_keys(preset: EndpointsChoice) -> MultipathKeys {
    match preset {
        EndpointsChoice::None => MultipathKeys::default(),
        EndpointsChoice::Mrc => MultipathKeys {
            preset,
            paths: PathsChoice::Mrc,
            ack_bytes: Some(Bytes::new(4096)), // MRC-Client, core/mrc_responder.py: a SACK for 4,096 B
            ..MultipathKeys::default()
        },
    }
}

/// The name under which `[algorithm]` has settings for the hosts of a preset; see [`farloop_cc::Catalog::host_settings`].
pub(crate) fn name(preset: HostsChoice) -> &'static str {
    match preset {
        HostsChoice::None => "",
        HostsChoice::Linux49 => "linux-4.9",
        HostsChoice::Linux6 => "linux-6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::{Params, Value};

    /// The keys that a preset changes, with their values as a file would have them.
    fn changes(preset: HostsChoice) -> Vec<(String, Option<Value>)> {
        let (own, default) = (keys(preset), TcpKeys::default());
        let names = TcpKeys::specs().into_iter().map(|s| s.name);
        names.filter(|n| own.get(n) != default.get(n)).map(|n| (n.to_string(), own.get(&n).flatten())).collect()
    }

    #[test]
    fn presets_change_what_their_kernels_have() {
        let text = |t: &str| Some(Value::Text(t.into()));
        let linux = |name, is_6: bool| {
            let mut all = vec![
                ("preset", text(name)),
                ("recovery", text("rack")),
                ("handshake", Some(Value::Bool(true))),
                ("delayed_ack", text("40ms")),
                ("rto_floor", text("variance")),
                ("initial_cwnd", Some(Value::Int(10))),
                ("receive_window", text("3145.728kB")),
                ("prr", Some(Value::Bool(true))),
            ];
            if is_6 {
                all.extend([
                    ("timeout_min", text("2ms")),
                    ("timer_tick", text("4ms")),
                    ("timestamp_tick", text("1ms")),
                ]);
            } else {
                all.push(("remember_ssthresh", Some(Value::Bool(true))));
            }
            all.push(("segmentation_offload", Some(Value::Bool(true))));
            all.into_iter().map(|(key, value)| (key.to_string(), value)).collect::<Vec<_>>()
        };
        assert_eq!(changes(HostsChoice::None), []);
        assert_eq!(changes(HostsChoice::Linux49), linux("linux-4.9", false));
        assert_eq!(changes(HostsChoice::Linux6), linux("linux-6", true));
    }

    /// Defaults may move; presets must not: compares their settings with the values that the kernel's headers name.
    #[test]
    fn presets_pin_the_kernels_constants() {
        for preset in [HostsChoice::Linux49, HostsChoice::Linux6] {
            let k = keys(preset);
            assert_eq!((k.min_rto, k.max_rto), (Delta::from_ms(200), Delta::from_secs(120)));
            assert_eq!((k.initial_rto, k.max_retries, k.dup_ack_threshold), (Delta::from_secs(1), 15, 3));
            assert_eq!((k.ack_every, k.limited_transmit, k.timestamps, k.frto), (2, true, true, true));
            assert_eq!((k.pacing, k.pacing_gain_slow_start, k.pacing_gain), (PacingChoice::None, 2.0, 1.2));
            assert_eq!((k.forget_sack, k.rtt_noise, k.dsack), (false, Delta::ZERO, None));
            assert_eq!(k.receive_window.get(), 6 * 1024 * 1024 / 2);
        }
    }
}
