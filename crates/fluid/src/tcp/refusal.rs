//! Features of TCP that rates do not follow, each by the key of a scenario.

use crate::refusal::{Refusal, refuse};
use farloop_network::spec::{NodeSpec, TcpSpec};
use farloop_tcp::Recovery;
use farloop_units::Delta;

/// Checks that rates have every feature of these endpoints. Each field is modelled, means nothing to rates, or is refused here: the
/// compiler asks about a new one.
pub(crate) fn check_tcp(spec: &TcpSpec) -> Result<(), Refusal> {
    let TcpSpec {
        recovery,
        handshake: _,
        ecn: _,
        accecn_option: _, // counts are exact: nothing is lost on the way back
        accecn_acks: _,   // a look has fewer ACKs than either rule sends
        delayed_ack: _, // ACKs wait for packets; what waits for the timer is a packet or less, and the end of a flow does not wait
        ack_every: _,
        quick_acks: _,
        min_rto: _,
        rto_floor: _,
        backoff_ends: _, // every round trip gives a sample
        max_rto: _,
        initial_rto: _,
        max_retries: _,
        syn_retries: _,
        initial_cwnd: _, // part of what algorithms are told of a flow
        receive_window: _,
        limited_transmit,
        dup_ack_threshold: _,
        timestamps: _,  // their bytes are part of the headers; no retransmission is unnecessary
        dsack: _,       // no data arrives twice
        forget_sack: _, // when a timer fires nothing is in flight
        prr: _,
        frto: _, // no timeout is unnecessary
        tail_loss_probe: _,
        max_ack_delay: _,
        timeout_min: _,
        timer_tick: _,
        timestamp_tick: _, // round-trip times are those of packets sent once, which are exact
        pacing: _,
        rtt_noise,
        delay_noise_intra,
        delay_noise_cross,
        remember_ssthresh,
        segmentation_offload,
        persistent,
        slow_start_after_idle: _, // of persistent connections
    } = spec;
    if *recovery == Recovery::NewReno {
        return refuse(
            "transport.recovery",
            "rounds repair all losses of a window together, which takes selective acknowledgements",
            "expected \"sack\" or \"rack\", or gear = \"packets\"",
        );
    }
    if !limited_transmit {
        return refuse(
            "transport.limited_transmit",
            "ACKs clock rates from the first one on",
            "expected true, or gear = \"packets\"",
        );
    }
    for (key, noise) in [
        ("transport.rtt_noise", rtt_noise),
        ("transport.delay_noise_intra", delay_noise_intra),
        ("transport.delay_noise_cross", delay_noise_cross),
    ] {
        if *noise > Delta::ZERO {
            return refuse(key, "hosts add nothing to round-trip times", "expected \"0ps\", or gear = \"packets\"");
        }
    }
    if *segmentation_offload {
        return refuse(
            "transport.segmentation_offload",
            "packets do not leave in chunks",
            "expected false, or gear = \"packets\"",
        );
    }
    if *persistent {
        return refuse(
            "transport.connections",
            "connections are over with their flows",
            "expected \"per-flow\", or gear = \"packets\"",
        );
    }
    if *remember_ssthresh {
        return refuse(
            "transport.remember_ssthresh",
            "connections leave nothing to later ones",
            "expected false, or gear = \"packets\"",
        );
    }
    Ok(())
}

/// Checks that no switch drops packets because they are not ECN-capable.
pub(crate) fn check_drops(nodes: &[NodeSpec]) -> Result<(), Refusal> {
    for node in nodes {
        if node.switch().and_then(|switch| switch.ecn).is_some_and(|ecn| ecn.drops_others) {
            let problem = format!("\"{}\" drops what it cannot mark before its buffer is full", node.name);
            return refuse("switch.ecn_drops_others", problem, "expected false, or gear = \"packets\"");
        }
    }
    Ok(())
}
