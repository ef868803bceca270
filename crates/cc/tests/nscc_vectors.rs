//! Replays `vectors/nscc.jsonl`, flows of uet-htsim: after every event the window has to be within a packet of the recorded one.

use farloop_cc::testing::{Bench, flow};
use farloop_cc::{Ack, Catalog, FlowInfo, PacketLoss, PacketLossKind, Sender};
use farloop_units::{Bytes, Delta, Rate, Time, Value as Setting};
use serde_json::Value;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/nscc.jsonl");

fn number(line: &Value, key: &str) -> u64 {
    line[key].as_u64().unwrap_or_else(|| panic!("{key} in {line}"))
}

/// Payload of so many bytes on the wire.
fn payload(wire: u64, info: &FlowInfo) -> Bytes {
    Bytes::new((wire * info.mss.get()).div_ceil(info.packet.get()))
}

#[test]
fn every_window_is_that_of_the_source_within_a_packet() {
    let text = std::fs::read_to_string(FILE).unwrap_or_else(|error| panic!("{FILE}: {error}"));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("one object per line")).collect();
    assert_eq!((&lines[0]["format"], &lines[0]["version"]), (&"farloop nscc vectors".into(), &1.into()));
    let mut bench = None;
    let mut info = flow(false);
    let (mut flows, mut marked, mut late, mut worst, mut cuts) = (0, 0, 0, 0u64, 0);
    let mut trims = 0;
    let mut before = 0u64;
    for (i, line) in lines.iter().enumerate().skip(1) {
        let event = line["event"].as_str().expect("every line names its event");
        let n = |key| number(line, key);
        if event == "start" {
            let base_rtt = Delta::from_ps(n("base_rtt"));
            info = FlowInfo {
                base_rtt,
                intra_rtt: base_rtt,
                line_rate: Rate::from_bps(n("rate")),
                peer_rate: Rate::from_bps(n("rate")),
                initial_rate: Rate::from_bps(n("rate")),
                mss: Bytes::new(n("mss")),
                packet: Bytes::new(n("packet")),
                trims: true,
                ..flow(false)
            };
            info.initial_cwnd = Some(payload(n("cwnd"), &info));
            let mut params = Catalog::builtin().lookup("nscc").expect("built in");
            let network = Delta::from_ps(n("network_rtt")).to_string();
            params.set("network_rtt", &Setting::Text(network)).expect("in range");
            bench = Some(Bench::new(params.sender(&info)));
            flows += 1;
            continue;
        }
        let b = bench.as_mut().expect("flows begin with a start");
        b.now = Time::from_ps(n("t"));
        let in_flight = payload(n("in_flight"), &info);
        let rtt = line["rtt"].as_u64().map(Delta::from_ps);
        let kind = match event {
            "ack" => None,
            "trimmed" => Some(PacketLossKind::Trimmed),
            "timeout" => Some(PacketLossKind::Timeout),
            other => panic!("line {}: event {other}", i + 1),
        };
        let bytes = payload(n("bytes"), &info);
        if let Some(kind) = kind {
            trims += u64::from(kind == PacketLossKind::Trimmed);
            // The recorded flight still has the packet.
            let in_flight = in_flight.saturating_sub(bytes);
            b.call(|s, ctx| {
                s.on_packet_loss(ctx, &PacketLoss { kind, payload: bytes, in_flight, rtt, last_hop: false })
            });
        } else {
            let ecn_echo = line["marked"].as_bool().expect("marked");
            marked += u64::from(ecn_echo);
            late += u64::from(ecn_echo && rtt.is_some_and(|rtt| rtt > info.base_rtt.mul_f64(1.75)));
            b.ack(&Ack { acked: bytes, in_flight, rtt, ecn_echo, ..farloop_cc::testing::ack(0, 0, 0) });
        }
        let have = b.sender.control().cwnd.get() * info.packet.get() / info.mss.get();
        let apart = have.abs_diff(n("cwnd"));
        worst = worst.max(apart);
        cuts += u64::from(n("cwnd") + 4 * info.packet.get() < before);
        before = n("cwnd");
        assert!(apart <= info.packet.get(), "line {}: {have} B instead of {}: {line}", i + 1, n("cwnd"));
    }
    // The file would prove little without these.
    assert!(
        flows >= 3 && marked > 100 && late > 20 && trims > 20 && cuts > 3,
        "{flows} {marked} {late} {trims} {cuts}"
    );
    assert!(worst < 100, "the furthest apart: {worst} B");
}
