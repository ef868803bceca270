//! TCP in the network: drives the endpoints of `farloop-tcp`, and carries their segments in packets.
//!
//! The endpoints know neither packets nor hosts nor algorithms. The sender's half here passes the algorithm's window to them and their
//! events to the algorithm, and paces; the receiver's half keeps the data packet that an ACK is owed for, because the ACK carries its
//! telemetry.

mod offload;
mod receiver;
mod sender;
pub(crate) mod wire;

pub(crate) use offload::Chunk;
pub(crate) use receiver::TcpReceiver;
pub(crate) use sender::TcpSender;

use crate::spec::{TcpSpec, TransportSpec};
use farloop_cc::Needs;
use farloop_tcp::{Config, Ecn};
use farloop_units::Bytes;

/// Builds the configuration of the endpoints of an algorithm's flows; `mss` is the payload of its full packets.
pub(crate) fn config(transport: &TransportSpec, needs: Needs, mss: u16) -> Config {
    let TcpSpec {
        recovery,
        handshake,
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
    } = transport.tcp;
    Config {
        recovery,
        ecn: match needs {
            Needs { accurate_ecn: true, .. } => Ecn::Accurate,
            Needs { ecn: true, .. } => Ecn::Classic,
            _ => Ecn::Off,
        },
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
