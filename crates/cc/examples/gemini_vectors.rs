//! Writes `vectors/gemini.jsonl` to standard output: event streams with fixed seeds, and what GEMINI's integer core makes of them.
//!
//! ```text
//! cargo run -p farloop-cc --example gemini_vectors > vectors/gemini.jsonl
//! ```

use farloop_cc::algorithms::gemini::core::{AckEvent, Constants, LossEvent, State};
use farloop_cc::algorithms::gemini::{GeminiParams, fixed};
use farloop_cc::{FlowInfo, algorithms::window::Window};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Rate};
use serde_json::{Value, json};

fn main() {
    println!("{}", json!({ "format": "farloop gemini vectors", "version": 2 }));
    let printed = GeminiParams::default();
    let started = GeminiParams { slow_start: true, ..printed.clone() };
    let gear = GeminiParams { f_min: 0.05, h: 3e-7, h_min: None, h_max: None, ..printed.clone() };
    let gentle = GeminiParams { max_cut: 0.5, initial_alpha: 0.0, beta: 0.5, g: 0.5, ..started.clone() };
    let patient = GeminiParams { skip_after_cut: true, ..started.clone() };
    let cases = [
        ("testbed, inside the datacenter", &started, Rate::from_gbps(1), Delta::from_us(200)),
        ("testbed, across", &started, Rate::from_gbps(1), Delta::from_ms(10)),
        ("testbed, across, judged afresh after cuts", &patient, Rate::from_gbps(1), Delta::from_ms(10)),
        ("slow and long", &started, Rate::from_mbps(1), Delta::from_ms(500)),
        ("10 Gbps, short", &started, Rate::from_gbps(10), Delta::from_us(10)),
        ("10 Gbps, across, at line rate", &printed, Rate::from_gbps(10), Delta::from_ms(10)),
        ("gentle cuts", &gentle, Rate::from_gbps(40), Delta::from_ms(2)),
        ("Gear's settings, inside", &gear, Rate::from_gbps(100), Delta::from_us(32)),
        ("Gear's settings, across", &gear, Rate::from_gbps(100), Delta::from_ms(50)),
        ("400 Gbps, short", &printed, Rate::from_gbps(400), Delta::from_us(10)),
        ("400 Gbps, long", &printed, Rate::from_gbps(400), Delta::from_ms(500)),
    ];
    for (number, (name, params, rate, rtt)) in cases.into_iter().enumerate() {
        let flow = FlowInfo {
            base_rtt: rtt,
            intra_rtt: rtt,
            line_rate: rate,
            initial_rate: rate,
            initial_cwnd: None,
            ssthresh: None,
            mss: Bytes::new(1460),
            packet: Bytes::new(1538),
            crosses: true,
        };
        play(name, params, &flow, number as u64);
    }
}

/// What the path does for some events.
enum Weather {
    /// Nothing.
    Clear,
    /// A share of the ACKs echo marks.
    Marks(f64),
    /// Every round trip takes 6 ms more.
    Delay,
    /// Both.
    Both,
    /// ACKs of at most a segment's payload, as after losses in recovery.
    Recovery,
    /// The application sends little.
    Limited,
    /// One loss event.
    Lost(LossEvent),
}

/// Every flow sees the same weather: slow start or first growth, each signal alone and together, each kind of loss.
const SCRIPT: [(Weather, u32); 22] = [
    (Weather::Clear, 25),
    (Weather::Marks(0.3), 15),
    (Weather::Clear, 10),
    (Weather::Delay, 12),
    (Weather::Both, 12),
    (Weather::Clear, 8),
    (Weather::Lost(LossEvent::FastRetransmit), 1),
    (Weather::Recovery, 6),
    (Weather::Clear, 8),
    (Weather::Lost(LossEvent::FastRetransmit), 1),
    (Weather::Lost(LossEvent::Spurious), 1),
    (Weather::Limited, 4),
    (Weather::Lost(LossEvent::Timeout), 1),
    (Weather::Lost(LossEvent::Timeout), 1),
    (Weather::Clear, 12),
    (Weather::Lost(LossEvent::Timeout), 1),
    (Weather::Lost(LossEvent::Spurious), 1),
    (Weather::Marks(1.0), 6),
    (Weather::Lost(LossEvent::FastRetransmit), 1),
    (Weather::Marks(1.0), 4),
    (Weather::Lost(LossEvent::Spurious), 1),
    (Weather::Clear, 12),
];

fn play(name: &str, params: &GeminiParams, flow: &FlowInfo, seed: u64) {
    let mut random = RandomStream::new(seed, "vectors", 0);
    let constants = Constants::new(params, flow);
    let window = if params.slow_start { Window::slow_start(flow) } else { Window::at_initial_rate(flow) };
    let (cwnd, alpha, rtt) = (window.bytes().get(), fixed(params.initial_alpha, 30), flow.base_rtt.as_ps() / 1000);
    let mut state = State::new(&constants, cwnd, params.slow_start, alpha, rtt);
    let mut line = json!({
        "event": "start", "flow": name,
        "mss": constants.mss, "capacity": constants.capacity, "threshold": constants.threshold,
        "delay_threshold": constants.delay_threshold, "beta": constants.beta, "f_min": constants.f_min,
        "h_per_byte": constants.h_per_byte, "h_min": constants.h_min, "h_max": constants.h_max,
        "max_cut": constants.max_cut, "g": constants.g, "gain": constants.gain,
        "skip_after_cut": constants.skip_after_cut,
        "initial_cwnd": cwnd, "slow_start": params.slow_start, "initial_alpha": alpha, "base_rtt": rtt,
    });
    show(&mut line, &state, &constants);
    let (mut una, mut nxt) = (0, 0);
    for (weather, count) in &SCRIPT {
        for _ in 0..*count {
            nxt = (una + state.cwnd_bytes()).max(nxt);
            let mut line = if let Weather::Lost(kind) = weather {
                state.on_loss(&constants, *kind, nxt - una, nxt);
                json!({ "event": loss_name(*kind), "in_flight": nxt - una, "snd_nxt": nxt })
            } else {
                let size = if matches!(weather, Weather::Recovery) { 0 } else { random.below(4) as usize };
                let cwnd = state.cwnd_bytes();
                let acked = [constants.mss, 2 * constants.mss, cwnd / 4, cwnd][size].min(nxt - una);
                una += acked;
                let late = matches!(weather, Weather::Delay | Weather::Both);
                let share = match weather {
                    Weather::Marks(p) => *p,
                    Weather::Both => 0.5,
                    _ => 0.0,
                };
                // Some ACKs are faster than the handshake was.
                let early = if random.chance(0.02) { rtt / 10 } else { 0 };
                let limited = matches!(weather, Weather::Limited);
                let sample =
                    rtt - early + if late { 6_000_000 } else { 0 } + random.below((rtt / 20).min(1_000_000) + 1);
                let ack = AckEvent {
                    acked,
                    ack_seq: una,
                    snd_nxt: nxt,
                    in_flight: if limited && size == 0 { (nxt - una) / 4 } else { nxt - una },
                    // Repairs without timestamps bring no samples, and other ACKs now and then.
                    rtt: (!random.chance(if size == 0 { 0.3 } else { 0.05 })).then_some(sample),
                    ecn_echo: random.chance(share),
                    in_recovery: matches!(weather, Weather::Recovery),
                    app_limited: limited && size > 0,
                };
                state.on_ack(&constants, &ack);
                json!({
                    "event": "ack", "acked": ack.acked, "ack_seq": ack.ack_seq, "snd_nxt": ack.snd_nxt,
                    "in_flight": ack.in_flight, "rtt": ack.rtt, "ecn_echo": ack.ecn_echo,
                    "in_recovery": ack.in_recovery, "app_limited": ack.app_limited,
                })
            };
            show(&mut line, &state, &constants);
        }
    }

    fn show(line: &mut Value, state: &State, constants: &Constants) {
        line["cwnd"] = json!(state.cwnd_bytes());
        line["pacing"] = json!(state.pacing(constants));
        line["cwnd_q10"] = json!(state.cwnd);
        line["ssthresh_q10"] = if state.in_initial_slow_start() { Value::Null } else { json!(state.ssthresh) };
        line["alpha"] = json!(state.alpha);
        println!("{line}");
    }
}

fn loss_name(kind: LossEvent) -> &'static str {
    match kind {
        LossEvent::FastRetransmit => "fast_retransmit",
        LossEvent::Timeout => "timeout",
        LossEvent::Spurious => "spurious",
    }
}
