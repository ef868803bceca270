//! How many ACKs marks cost: a receiver that counts them (RFC 9768) beside one that echoes each (RFC 8257).

use farloop_tcp::{AccEcnAcks, Config, Ecn, Receiver, Segment};
use farloop_units::{Bytes, Delta, Time};
use std::sync::Arc;

const MSS: u64 = 1000;
const PACKETS: u64 = 200_000;

/// ACKs per packet at a mark rate, of a receiver that acknowledges nothing else.
fn extra(ecn: Ecn, acks: AccEcnAcks, rate: f64) -> f64 {
    let mut config = Config::new(Bytes::new(MSS));
    (config.ecn, config.accecn_acks, config.handshake, config.ack_every) = (ecn, acks, false, u32::MAX);
    config.delayed_ack = Some(Delta::from_secs(1));
    let mut receiver = Receiver::new(Arc::new(config));
    let (mut sent, mut draw) = (0, 0x9e37_79b9_7f4a_7c15u64);
    for n in 0..PACKETS {
        // xorshift64: the test needs no more than independent marks.
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        let share = (draw >> 11) as f64 / (1u64 << 53) as f64;
        let marked = share < rate;
        let segment = Segment { seq: n * MSS, payload: MSS as u32, ect: true, ..Segment::default() };
        sent += receiver.on_segment(Time::ZERO + Delta::from_ns(n), &segment, marked).into_iter().count();
    }
    sent as f64 / PACKETS as f64
}

#[test]
fn marks_cost_at_most_what_the_rules_say() {
    for rate in [0.0, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] {
        let counted = extra(Ecn::Counted, AccEcnAcks::Rfc9768, rate);
        let linux = extra(Ecn::Counted, AccEcnAcks::Linux, rate);
        let echoed = extra(Ecn::Accurate, AccEcnAcks::Rfc9768, rate);
        let changes = rate * (1.0 - rate);
        // A thousandth: 200,000 draws.
        assert!(counted <= changes + rate / 2.0 + 0.003, "{rate}: {counted}");
        assert!(linux <= 2.0 * changes + rate / 6.0 + 0.003, "{rate}: {linux}");
        assert!(echoed <= 2.0 * changes + 0.003, "{rate}: {echoed}");
        // What few marks cost is all in the changes: of each mark one ACK, and two where each is echoed.
        if rate > 0.0 && rate <= 0.1 {
            assert!((counted / changes - 1.0).abs() < 0.2, "{rate}: {counted}");
            assert!((echoed / (2.0 * changes) - 1.0).abs() < 0.2, "{rate}: {echoed}");
        }
    }
}
