//! Writes `vectors/gemini.jsonl` to standard output: event streams with fixed seeds, and what GEMINI's integer core makes of them.
//!
//! ```text
//! cargo run -p farloop-cc --example gemini_vectors > vectors/gemini.jsonl
//! ```

use farloop_cc::algorithms::gemini::core::{
    AckEvent, Constants, LossEvent, NO_RTT, NO_THRESHOLD, NO_THRESHOLD_PACKETS, State,
};
use farloop_cc::algorithms::gemini::{GeminiParams, Sequence, fixed};
use farloop_cc::{FlowInfo, algorithms::window::Window};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Rate};
use serde_json::{Value, json};

/// A flow: its name, its parameters, the path's rate and round-trip time, where its sequence numbers begin, whether the
/// handshake brought a round-trip time, and its weather.
type Case<'a> = (&'a str, &'a GeminiParams, Rate, Delta, u32, bool, &'a [(Weather, u32)]);

fn main() {
    println!("{}", json!({ "format": "farloop gemini vectors", "version": 4 }));
    let printed = GeminiParams::default();
    let started = GeminiParams { slow_start: true, ..printed.clone() };
    let gear = GeminiParams { f_min: 0.05, h: 3e-7, h_min: None, h_max: None, ..printed.clone() };
    let gentle = GeminiParams { max_cut: 0.5, initial_alpha: 0.0, beta: 0.5, g: 0.5, ..started.clone() };
    let patient = GeminiParams { skip_after_cut: true, ..started.clone() };
    let deepest = GeminiParams { f_min: 4.0, ..started.clone() };
    let network = |name, params, rate, rtt| -> Case<'_> { (name, params, rate, rtt, 0, true, &NETWORK) };
    let wraps = u32::MAX - 20_000;
    let cases: [Case<'_>; 18] = [
        network("testbed, inside the datacenter", &started, Rate::from_gbps(1), Delta::from_us(200)),
        network("testbed, across", &started, Rate::from_gbps(1), Delta::from_ms(10)),
        network("testbed, across, judged afresh after cuts", &patient, Rate::from_gbps(1), Delta::from_ms(10)),
        network("slow and long", &started, Rate::from_mbps(1), Delta::from_ms(500)),
        network("10 Gbps, short", &started, Rate::from_gbps(10), Delta::from_us(10)),
        network("10 Gbps, across, at line rate", &printed, Rate::from_gbps(10), Delta::from_ms(10)),
        network("gentle cuts", &gentle, Rate::from_gbps(40), Delta::from_ms(2)),
        network("Gear's settings, inside", &gear, Rate::from_gbps(100), Delta::from_us(32)),
        network("Gear's settings, across", &gear, Rate::from_gbps(100), Delta::from_ms(50)),
        network("400 Gbps, short", &printed, Rate::from_gbps(400), Delta::from_us(10)),
        network("400 Gbps, long", &printed, Rate::from_gbps(400), Delta::from_ms(500)),
        ("a host, inside", &started, Rate::from_gbps(1), Delta::from_us(200), wraps, true, &HOST),
        ("a host, across", &started, Rate::from_gbps(1), Delta::from_ms(10), wraps, false, &HOST),
        ("a host, judged afresh after cuts", &patient, Rate::from_gbps(10), Delta::from_ms(10), wraps, false, &HOST),
        ("a host, far from its last cut", &printed, Rate::from_gbps(40), Delta::from_ms(40), wraps, true, &HOST),
        ("a host, F at its bound", &deepest, Rate::from_mbps(100), Delta::from_ms(4), 1 << 31, false, &HOST),
        ("counted marks, inside", &started, Rate::from_gbps(10), Delta::from_us(100), wraps, true, &COUNTED),
        ("counted marks, across", &started, Rate::from_gbps(10), Delta::from_ms(10), wraps, true, &COUNTED),
    ];
    for (number, case) in cases.into_iter().enumerate() {
        play(case, number as u64);
    }
}

/// What the path does for some events.
enum Weather {
    /// Nothing.
    Clear,
    /// A share of the ACKs echo marks.
    Marks(f64),
    /// ACKs count marked packets: a share of what each acknowledges, or of data beyond a gap.
    Counted(f64),
    /// Every round trip takes 6 ms more.
    Delay,
    /// Both.
    Both,
    /// ACKs of at most a segment's payload, as after losses in recovery.
    Recovery,
    /// The application sends little.
    Limited,
    /// ACKs of all that was in flight, without round-trip times.
    Timeless,
    /// One loss event.
    Lost(LossEvent),
    /// The last loss was none.
    Undone,
    /// The host moves the window to these hundredths of it, and the threshold to this many packets.
    Moved(u64, Option<u32>),
    /// The host reads window and threshold, and gives them back.
    Read,
    /// Packets are this large from now on.
    Size(u64),
    /// Silence of this many hundredths of a retransmission timeout of 200 ms.
    Silence(u64),
}

/// What a network does: slow start or first growth, each signal alone and together, each kind of loss.
const NETWORK: [(Weather, u32); 22] = [
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
    (Weather::Undone, 1),
    (Weather::Limited, 4),
    (Weather::Lost(LossEvent::Timeout), 1),
    (Weather::Lost(LossEvent::Timeout), 1),
    (Weather::Clear, 12),
    (Weather::Lost(LossEvent::Timeout), 1),
    (Weather::Undone, 1),
    (Weather::Marks(1.0), 6),
    (Weather::Lost(LossEvent::FastRetransmit), 1),
    (Weather::Marks(1.0), 4),
    (Weather::Undone, 1),
    (Weather::Clear, 12),
];

/// What a host does besides: it moves windows, falls silent, learns another packet size, and gets no round-trip times.
const HOST: [(Weather, u32); 43] = [
    (Weather::Timeless, 13),
    (Weather::Lost(LossEvent::FastRetransmit), 1),
    (Weather::Undone, 1),
    (Weather::Delay, 4),
    (Weather::Clear, 20),
    (Weather::Read, 1),
    (Weather::Moved(50, None), 1),
    (Weather::Clear, 6),
    (Weather::Marks(0.3), 10),
    (Weather::Read, 1),
    (Weather::Clear, 6),
    (Weather::Moved(0, Some(20)), 1),
    (Weather::Clear, 10),
    (Weather::Moved(150, Some(2)), 1),
    (Weather::Clear, 6),
    (Weather::Silence(50), 1),
    (Weather::Delay, 10),
    (Weather::Silence(50), 1),
    (Weather::Clear, 6),
    (Weather::Timeless, 20),
    (Weather::Delay, 10),
    (Weather::Size(8960), 1),
    (Weather::Clear, 6),
    (Weather::Read, 1),
    (Weather::Both, 10),
    (Weather::Size(1220), 1),
    (Weather::Clear, 6),
    (Weather::Lost(LossEvent::FastRetransmit), 1),
    (Weather::Read, 1),
    (Weather::Recovery, 4),
    (Weather::Undone, 1),
    (Weather::Clear, 4),
    (Weather::Lost(LossEvent::Timeout), 1),
    (Weather::Moved(0, None), 1),
    (Weather::Clear, 8),
    (Weather::Undone, 1),
    (Weather::Clear, 40),
    (Weather::Silence(101), 1),
    (Weather::Clear, 6),
    (Weather::Silence(450), 1),
    (Weather::Clear, 10),
    (Weather::Silence(100_000), 1),
    (Weather::Marks(1.0), 4),
];

/// Counted marks: few and many, with delay, while a loss is repaired.
const COUNTED: [(Weather, u32); 11] = [
    (Weather::Clear, 12),
    (Weather::Counted(0.1), 80),
    (Weather::Counted(0.0), 10),
    (Weather::Counted(0.5), 60),
    (Weather::Clear, 10),
    (Weather::Counted(1.0), 10),
    (Weather::Lost(LossEvent::FastRetransmit), 1),
    (Weather::Counted(0.3), 80),
    (Weather::Delay, 10),
    (Weather::Counted(0.3), 10),
    (Weather::Clear, 10),
];

fn play((name, params, rate, rtt, seq, sampled, script): Case<'_>, seed: u64) {
    let flow = FlowInfo {
        base_rtt: rtt,
        intra_rtt: rtt,
        line_rate: rate,
        peer_rate: rate,
        initial_rate: rate,
        initial_cwnd: None,
        ssthresh: None,
        mss: Bytes::new(1460),
        packet: Bytes::new(1538),
        crosses: true,
        go_back_n: false,
        trims: false,
    };
    let mut random = RandomStream::new(seed, "vectors", 0);
    let mut constants = Constants::new(params, &flow);
    let window = if params.slow_start { Window::slow_start(&flow) } else { Window::at_initial_rate(&flow) };
    let (cwnd, alpha, rtt) = (window.bytes().get(), fixed(params.initial_alpha, 30), flow.base_rtt.as_ps() / 1000);
    let base_rtt = if sampled { rtt } else { NO_RTT };
    let mut state = State::new(&constants, cwnd, params.slow_start, alpha, base_rtt, seq);
    let mut line = json!({
        "event": "start", "flow": name,
        "mss": constants.mss, "capacity": constants.capacity, "threshold": constants.threshold,
        "delay_threshold": constants.delay_threshold, "beta": constants.beta, "f_min": constants.f_min,
        "h_per_byte": constants.h_per_byte, "h_min": constants.h_min, "h_max": constants.h_max,
        "max_cut": constants.max_cut, "g": constants.g, "gain": constants.gain,
        "skip_after_cut": constants.skip_after_cut,
        "initial_cwnd": cwnd, "slow_start": params.slow_start, "initial_alpha": alpha,
        "base_rtt": sampled.then_some(rtt), "seq": seq,
    });
    show(&mut line, &state, &constants);
    let sequence = Sequence::of(&flow);
    let first = u64::from(seq);
    let (mut una, mut nxt) = (first, first);
    let number = |una: u64, nxt: u64| sequence.ahead(Bytes::new(una), Bytes::new(nxt));
    let mut before = (state.cwnd, state.ssthresh);
    for (weather, count) in script {
        for _ in 0..*count {
            nxt = (una + state.cwnd_bytes()).max(nxt);
            let in_packets = |state: &State, c: &Constants| (state.cwnd_packets(c), state.ssthresh_packets(c));
            let mut line = match weather {
                Weather::Lost(kind) => {
                    let now = (state.cwnd, state.ssthresh);
                    if state.on_loss(&constants, *kind, nxt - una, number(una, nxt)) {
                        before = now;
                    }
                    json!({ "event": loss_name(*kind), "in_flight": nxt - una, "snd_nxt": number(una, nxt) })
                }
                Weather::Undone => {
                    state.on_undo(before.0, before.1);
                    json!({ "event": "undo", "prior_cwnd": before.0, "prior_ssthresh": threshold(before.1) })
                }
                Weather::Moved(hundredths, ssthresh) => {
                    let (cwnd, threshold) = in_packets(&state, &constants);
                    let cwnd = (u64::from(cwnd) * hundredths / 100).max(1) as u32;
                    let ssthresh = ssthresh.unwrap_or(threshold);
                    state.resync(&constants, cwnd, ssthresh);
                    host_line(cwnd, ssthresh)
                }
                Weather::Read => {
                    let (cwnd, ssthresh) = in_packets(&state, &constants);
                    state.resync(&constants, cwnd, ssthresh);
                    host_line(cwnd, ssthresh)
                }
                Weather::Size(mss) => {
                    constants.mss = *mss;
                    state.on_mss(&constants);
                    json!({ "event": "mss", "mss": mss })
                }
                Weather::Silence(hundredths) => {
                    let (idle, rto, restart) = (hundredths * 2_000_000, 200_000_000, 10 * constants.mss);
                    una = nxt;
                    state.on_idle_restart(&constants, idle, rto, restart);
                    json!({ "event": "idle", "idle": idle, "rto": rto, "restart": restart })
                }
                _ => {
                    let size = match weather {
                        Weather::Recovery => 0,
                        Weather::Timeless => 3,
                        _ => random.below(4) as usize,
                    };
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
                    // Repairs without timestamps bring no samples, and other ACKs now and then.
                    let none =
                        random.chance(if size == 0 { 0.3 } else { 0.05 }) || matches!(weather, Weather::Timeless);
                    let echo = random.chance(share);
                    let (ecn_echo, marked) = match weather {
                        Weather::Counted(part) => count_marks(&mut random, *part, acked, constants.mss),
                        _ => (echo, if echo { acked } else { 0 }),
                    };
                    let ack = AckEvent {
                        acked,
                        in_flight: if limited && size == 0 { (nxt - una) / 4 } else { nxt - una },
                        rtt: if none { NO_RTT } else { sample },
                        ack_seq: sequence.number(Bytes::new(una)),
                        snd_nxt: number(una, nxt),
                        ecn_echo,
                        marked,
                        in_recovery: matches!(weather, Weather::Recovery),
                        app_limited: limited && size > 0,
                    };
                    state.on_ack(&constants, &ack);
                    json!({
                        "event": "ack", "acked": ack.acked, "ack_seq": ack.ack_seq, "snd_nxt": ack.snd_nxt,
                        "in_flight": ack.in_flight, "rtt": (!none).then_some(sample), "ecn_echo": ack.ecn_echo,
                        "marked": ack.marked,
                        "in_recovery": ack.in_recovery, "app_limited": ack.app_limited,
                    })
                }
            };
            show(&mut line, &state, &constants);
        }
    }

    fn show(line: &mut Value, state: &State, constants: &Constants) {
        line["cwnd"] = json!(state.cwnd_bytes());
        line["packets"] = json!(state.cwnd_packets(constants));
        line["pacing"] = json!(state.pacing(constants));
        line["cwnd_q10"] = json!(state.cwnd);
        line["ssthresh_q10"] = threshold(state.ssthresh);
        line["alpha"] = json!(state.alpha);
        println!("{line}");
    }
}

/// Counted marks of an ACK for `acked` bytes: if there are some, and their payload. Each packet is marked with the same probability, and
/// now and then marked packets beyond a gap come with it.
fn count_marks(random: &mut RandomStream, part: f64, acked: u64, mss: u64) -> (bool, u64) {
    let packets = (acked / mss).min(1000);
    let marked = (0..packets).filter(|_| random.chance(part)).count() as u64;
    let beyond = if part > 0.0 && random.chance(0.1) { acked + mss } else { 0 };
    let bytes = marked * mss + beyond;
    (bytes > 0, bytes)
}

/// A threshold in Q10 bytes, `null` for none.
fn threshold(ssthresh: u64) -> Value {
    if ssthresh == NO_THRESHOLD { Value::Null } else { json!(ssthresh) }
}

fn host_line(cwnd: u32, ssthresh: u32) -> Value {
    json!({ "event": "host", "host_packets": cwnd, "host_ssthresh": (ssthresh < NO_THRESHOLD_PACKETS).then_some(ssthresh) })
}

fn loss_name(kind: LossEvent) -> &'static str {
    match kind {
        LossEvent::FastRetransmit => "fast_retransmit",
        LossEvent::Timeout => "timeout",
    }
}
