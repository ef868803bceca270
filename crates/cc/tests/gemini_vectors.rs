//! Replays `vectors/gemini.jsonl`: the integer core must give every recorded window and rate again, bit for bit.

use farloop_cc::algorithms::gemini::core::{AckEvent, Constants, LossEvent, State};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/gemini.jsonl");

fn lines() -> Vec<Value> {
    let text = std::fs::read_to_string(FILE).expect("vectors/gemini.jsonl is part of the checkout");
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON object per line")).collect()
}

fn number(line: &Value, key: &str) -> u64 {
    line[key].as_u64().unwrap_or_else(|| panic!("{key} in {line}"))
}

fn flag(line: &Value, key: &str) -> bool {
    line[key].as_bool().unwrap_or_else(|| panic!("{key} in {line}"))
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
    let state = State::new(&constants, n("initial_cwnd"), slow_start, n("initial_alpha"), n("base_rtt"));
    (constants, state)
}

fn apply(constants: &Constants, state: &mut State, line: &Value) {
    let n = |key| number(line, key);
    match line["event"].as_str().expect("every line names its event") {
        "ack" => state.on_ack(
            constants,
            &AckEvent {
                acked: n("acked"),
                ack_seq: n("ack_seq"),
                snd_nxt: n("snd_nxt"),
                in_flight: n("in_flight"),
                rtt: line["rtt"].as_u64(),
                ecn_echo: flag(line, "ecn_echo"),
                in_recovery: flag(line, "in_recovery"),
                app_limited: flag(line, "app_limited"),
            },
        ),
        "fast_retransmit" => state.on_loss(constants, LossEvent::FastRetransmit, n("in_flight"), n("snd_nxt")),
        "timeout" => state.on_loss(constants, LossEvent::Timeout, n("in_flight"), n("snd_nxt")),
        "spurious" => state.on_loss(constants, LossEvent::Spurious, n("in_flight"), n("snd_nxt")),
        other => panic!("unknown event {other}"),
    }
}

#[test]
fn the_recorded_windows_and_rates_come_out_again() {
    let lines = lines();
    assert_eq!((&lines[0]["format"], &lines[0]["version"]), (&json!("farloop gemini vectors"), &json!(2)));
    let mut flow = None;
    for (i, line) in lines.iter().enumerate().skip(1) {
        if line["event"] == "start" {
            flow = Some(start(line));
        }
        let (constants, state) = flow.as_mut().expect("a flow starts before its events");
        if line["event"] != "start" {
            apply(constants, state, line);
        }
        let threshold = if state.in_initial_slow_start() { Value::Null } else { json!(state.ssthresh) };
        let now = json!([state.cwnd_bytes(), state.pacing(constants), state.cwnd, threshold, state.alpha]);
        let recorded = json!([line["cwnd"], line["pacing"], line["cwnd_q10"], line["ssthresh_q10"], line["alpha"]]);
        assert_eq!(now, recorded, "line {} of vectors/gemini.jsonl: {line}", i + 1);
    }
}

#[test]
fn the_vectors_cover_what_they_claim() {
    let mut lines = lines();
    // Every line gets the round-trip time in the empty path of its flow.
    let mut base = 0;
    for line in lines.iter_mut().skip(1) {
        base = line["base_rtt"].as_u64().unwrap_or(base);
        line["base_rtt"] = json!(base);
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
    assert!(count(&|_, b| is(b, "ack") && b["rtt"].is_null()) > 100, "no sample");
    assert!(count(&|a, b| is(b, "ack") && b["rtt"].is_null() && fell(a, b)) > 3, "cuts without a sample");
    assert!(count(&|_, b| is(b, "start") && flag(b, "skip_after_cut")) > 0, "both readings of delay");
    assert!(count(&|a, b| is(b, "ack") && flag(b, "in_recovery") && !rose(a, b)) > 20, "recovery");
    assert!(count(&|a, b| is(b, "ack") && flag(b, "app_limited") && !rose(a, b)) > 5, "little to send");
    assert!(count(&|a, b| is(b, "fast_retransmit") && fell(a, b)) >= 8, "fast retransmits");
    assert!(count(&|a, b| is(b, "timeout") && fell(a, b)) >= 8, "timeouts");
    assert!(count(&|a, b| is(b, "timeout") && a["cwnd"] == b["cwnd"]) >= 8, "timeouts without progress");
    assert!(count(&|a, b| is(b, "spurious") && rose(a, b)) >= 8, "losses undone");
}
