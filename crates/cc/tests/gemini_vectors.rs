//! Replays `vectors/gemini.jsonl`: the integer core must give every recorded window and rate again, bit for bit.

use farloop_cc::algorithms::gemini::core::{
    AckEvent, Constants, LossEvent, NO_RTT, NO_THRESHOLD, NO_THRESHOLD_PACKETS, State,
};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/gemini.jsonl");

fn lines(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON object per line")).collect()
}

fn number(line: &Value, key: &str) -> u64 {
    line[key].as_u64().unwrap_or_else(|| panic!("{key} in {line}"))
}

fn flag(line: &Value, key: &str) -> bool {
    line[key].as_bool().unwrap_or_else(|| panic!("{key} in {line}"))
}

/// A number, or what stands for `null`.
fn or(line: &Value, key: &str, none: u64) -> u64 {
    if line[key].is_null() { none } else { number(line, key) }
}

/// A number of 32 bits.
fn small(line: &Value, key: &str) -> u32 {
    u32::try_from(number(line, key)).unwrap_or_else(|_| panic!("{key} in {line}"))
}

fn start(line: &Value) -> (Constants, State) {
    let n = |key| number(line, key);
    let constants = Constants {
        mss: n("mss"),
        capacity: n("capacity"),
        threshold: n("threshold"),
        delay_threshold: n("delay_threshold"),
        beta: n("beta"),
        f_min: n("f_min"),
        h_per_byte: n("h_per_byte"),
        h_min: n("h_min"),
        h_max: n("h_max"),
        max_cut: n("max_cut"),
        g: n("g"),
        gain: n("gain"),
        skip_after_cut: flag(line, "skip_after_cut"),
    };
    let slow_start = flag(line, "slow_start");
    let base_rtt = or(line, "base_rtt", NO_RTT);
    let seq = small(line, "seq");
    let state = State::new(&constants, n("initial_cwnd"), slow_start, n("initial_alpha"), base_rtt, seq);
    (constants, state)
}

fn apply(constants: &mut Constants, state: &mut State, line: &Value) {
    let n = |key| number(line, key);
    let event = line["event"].as_str().expect("every line names its event");
    match event {
        "ack" => state.on_ack(
            constants,
            &AckEvent {
                acked: n("acked"),
                in_flight: n("in_flight"),
                rtt: or(line, "rtt", NO_RTT),
                ack_seq: small(line, "ack_seq"),
                snd_nxt: small(line, "snd_nxt"),
                ecn_echo: flag(line, "ecn_echo"),
                marked: n("marked"),
                in_recovery: flag(line, "in_recovery"),
                app_limited: flag(line, "app_limited"),
            },
        ),
        "fast_retransmit" | "timeout" => {
            let kind = if event == "timeout" { LossEvent::Timeout } else { LossEvent::FastRetransmit };
            state.on_loss(constants, kind, n("in_flight"), small(line, "snd_nxt"));
        }
        "undo" => state.on_undo(n("prior_cwnd"), or(line, "prior_ssthresh", NO_THRESHOLD)),
        "host" => {
            let ssthresh = or(line, "host_ssthresh", u64::from(NO_THRESHOLD_PACKETS));
            state.resync(constants, small(line, "host_packets"), ssthresh as u32);
        }
        "mss" => {
            constants.mss = n("mss");
            state.on_mss(constants);
        }
        "idle" => state.on_idle_restart(constants, n("idle"), n("rto"), n("restart")),
        other => panic!("unknown event {other}"),
    }
}

#[test]
fn the_recorded_windows_and_rates_come_out_again() {
    // Another recording, such as one of a kernel.
    let file = std::env::var("FARLOOP_GEMINI_VECTORS").unwrap_or(FILE.into());
    let lines = lines(&file);
    assert_eq!((&lines[0]["format"], &lines[0]["version"]), (&json!("farloop gemini vectors"), &json!(4)));
    let mut flow = None;
    for (i, line) in lines.iter().enumerate().skip(1) {
        if line["event"] == "start" {
            flow = Some(start(line));
        }
        let (constants, state) = flow.as_mut().expect("a flow starts before its events");
        if line["event"] != "start" {
            apply(constants, state, line);
        }
        let threshold = if state.ssthresh == NO_THRESHOLD { Value::Null } else { json!(state.ssthresh) };
        let (cwnd, packets) = (state.cwnd_bytes(), state.cwnd_packets(constants));
        let now = json!([cwnd, packets, state.pacing(constants), state.cwnd, threshold, state.alpha]);
        let recorded =
            ["cwnd", "packets", "pacing", "cwnd_q10", "ssthresh_q10", "alpha"].map(|key| line[key].clone()).to_vec();
        let recorded = Value::from(recorded);
        assert_eq!(now, recorded, "line {} of {file}: {line}", i + 1);
    }
}

#[test]
fn the_vectors_cover_what_they_claim() {
    let mut lines = lines(FILE);
    // Every line gets the round-trip time in the empty path of its flow, and how much was acknowledged since the last cut.
    let (mut base, mut seq, mut since, mut cwnd) = (None, 0, 0, 0);
    for line in lines.iter_mut().skip(1) {
        if line["event"] == "start" {
            (base, seq, since) = (line["base_rtt"].as_u64(), number(line, "seq"), 0);
        }
        if line["event"] == "ack" {
            base = base.or(line["rtt"].as_u64());
            since += (number(line, "ack_seq") + (1 << 32) - seq) % (1 << 32);
            line["wrapped"] = json!(number(line, "ack_seq") < seq);
            seq = number(line, "ack_seq");
        }
        (line["base_rtt"], line["since"]) = (json!(base.unwrap_or(u64::MAX >> 1)), json!(since));
        if line["event"] == "ack" && number(line, "cwnd_q10") < cwnd {
            since = 0;
        }
        cwnd = number(line, "cwnd_q10");
    }
    let count = |wanted: &dyn Fn(&Value, &Value) -> bool| lines.windows(2).filter(|w| wanted(&w[0], &w[1])).count();
    let is = |line: &Value, event: &str| line["event"] == event;
    let fell = |a: &Value, b: &Value| number(b, "cwnd_q10") < number(a, "cwnd_q10");
    let rose = |a: &Value, b: &Value| number(b, "cwnd_q10") > number(a, "cwnd_q10");
    let late = |b: &Value| b["rtt"].as_u64().is_some_and(|rtt| rtt > number(b, "base_rtt") + 5_000_000);
    let slow_start = |a: &Value| a["ssthresh_q10"].is_null() || number(a, "cwnd_q10") < number(a, "ssthresh_q10");
    assert!(count(&|_, b| is(b, "start")) >= 8);
    assert!(count(&|a, b| is(b, "ack") && slow_start(a) && rose(a, b)) > 50, "slow start");
    assert!(count(&|a, b| is(b, "ack") && !slow_start(a) && rose(a, b)) > 100, "congestion avoidance");
    assert!(count(&|a, b| is(b, "ack") && flag(b, "ecn_echo") && !late(b) && fell(a, b)) > 20, "cuts for marks");
    assert!(count(&|a, b| is(b, "ack") && !flag(b, "ecn_echo") && late(b) && fell(a, b)) > 10, "cuts for delay");
    assert!(count(&|a, b| is(b, "ack") && flag(b, "ecn_echo") && late(b) && fell(a, b)) > 5, "cuts with both signals");
    let counted = |b: &Value| number(b, "marked") < number(b, "acked") && flag(b, "ecn_echo");
    assert!(count(&|a, b| is(b, "ack") && counted(b) && fell(a, b)) > 5, "cuts by some of what an ACK covers");
    assert!(count(&|a, b| is(b, "ack") && counted(b) && rose(a, b)) > 5, "growth by the rest of it");
    assert!(count(&|_, b| is(b, "ack") && number(b, "marked") > number(b, "acked")) > 5, "marks beyond a gap");
    assert!(count(&|_, b| is(b, "ack") && b["rtt"].is_null()) > 100, "no sample");
    assert!(count(&|a, b| is(b, "ack") && b["rtt"].is_null() && fell(a, b)) > 3, "cuts without a sample");
    assert!(count(&|_, b| is(b, "start") && flag(b, "skip_after_cut")) > 0, "both readings of delay");
    assert!(count(&|a, b| is(b, "ack") && flag(b, "in_recovery") && !rose(a, b)) > 20, "recovery");
    assert!(count(&|a, b| is(b, "ack") && flag(b, "app_limited") && !rose(a, b)) > 5, "little to send");
    assert!(count(&|a, b| is(b, "fast_retransmit") && fell(a, b)) >= 8, "fast retransmits");
    assert!(count(&|a, b| is(b, "timeout") && fell(a, b)) >= 8, "timeouts");
    assert!(count(&|a, b| is(b, "timeout") && a["cwnd"] == b["cwnd"]) >= 8, "timeouts without progress");
    assert!(count(&|a, b| is(b, "undo") && rose(a, b)) >= 8, "losses undone");
    assert!(count(&|_, b| is(b, "start") && b["base_rtt"] == u64::MAX >> 1) > 0, "handshakes without a sample");
    assert!(count(&|_, b| is(b, "ack") && flag(b, "wrapped")) > 3, "sequence numbers that wrap");
    let old = |b: &Value| (1 << 31..1 << 32).contains(&number(b, "since"));
    assert!(count(&|a, b| is(b, "ack") && old(b) && fell(a, b)) > 0, "a cut whose forerunner would lie ahead again");
    assert!(count(&|a, b| is(b, "host") && fell(a, b)) > 5, "hosts that move the window down");
    assert!(count(&|a, b| is(b, "host") && rose(a, b)) > 2, "and up");
    assert!(count(&|a, b| is(b, "host") && a["cwnd_q10"] == b["cwnd_q10"]) > 10, "and read it");
    assert!(count(&|a, b| is(b, "host") && a["ssthresh_q10"] != b["ssthresh_q10"]) > 5, "or set the threshold");
    assert!(count(&|_, b| is(b, "mss")) > 5, "packets of other sizes");
    assert!(count(&|a, b| is(b, "idle") && fell(a, b)) > 5, "silence that shrinks the window");
    assert!(count(&|a, b| is(b, "idle") && !fell(a, b)) > 5, "and silence that does not");
}
