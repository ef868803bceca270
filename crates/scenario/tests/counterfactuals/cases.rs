//! Random cases for the causes of `why`, and the same without one of these causes.

use farloop_engine::RandomStream;
use std::fmt::Write;

/// A network with a flow that is asked about, and its rivals.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    seed: u64,
    network: &'static str,
    /// In bit/s: hosts' links, and the bottleneck.
    rate: u64,
    bottleneck: u64,
    /// One-way delays of links, and of the long haul, in nanoseconds.
    delay: u64,
    wan_delay: u64,
    loss: f64,
    buffer: u64,
    pfc: bool,
    ecn: bool,
    kind: &'static str,
    preset: &'static str,
    algorithm: &'static str,
    /// Of `fixed`, in bytes and bit/s.
    cwnd: Option<u64>,
    pace: Option<u64>,
    initial_cwnd: Option<u64>,
    receive_window: Option<u64>,
    handshake: bool,
    delayed_ack: Option<u64>,
    pacing: bool,
    offload: bool,
    recovery: &'static str,
    ack_bytes: u64,
    noise: u64,
    stall: u64,
    /// Retransmission timeouts that no queue is longer than.
    patient: bool,
    size: u64,
    /// Start in nanoseconds, and window.
    rivals: Vec<(u64, u64)>,
}

/// Changes that take a cause away: keys of docs/why.md.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Removal {
    Rates,
    Delays,
    Rivals,
    Pfc,
    Pacing,
    Offload,
    Losses,
    Algorithm,
    DelayedAck,
    Stalls,
    Noise,
    Window,
    ReceiveWindow,
    Handshake,
}

impl Removal {
    pub const ALL: [Removal; 14] = [
        Removal::Rates,
        Removal::Delays,
        Removal::Rivals,
        Removal::Pfc,
        Removal::Pacing,
        Removal::Offload,
        Removal::Losses,
        Removal::Algorithm,
        Removal::DelayedAck,
        Removal::Stalls,
        Removal::Noise,
        Removal::Window,
        Removal::ReceiveWindow,
        Removal::Handshake,
    ];

    /// The causes and limits that go with it.
    pub fn names(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Removal::Rates => &[("cause", "serialisation"), ("cause", "queue behind its own packets")],
            Removal::Delays => &[("cause", "propagation")],
            Removal::Rivals => &[("cause", "queue behind rivals")],
            Removal::Pfc => &[("cause", "pause")],
            Removal::Pacing => &[("cause", "pacing"), ("limit", "rate")],
            Removal::Offload => &[("cause", "segmentation offload"), ("limit", "segmentation offload")],
            Removal::Losses => &[("cause", "recovery"), ("limit", "recovery"), ("limit", "window after losses")],
            Removal::Algorithm => &[("cause", "algorithm's timer"), ("cause", "credit"), ("limit", "credit")],
            Removal::DelayedAck => &[("cause", "receiver")],
            Removal::Stalls => &[("cause", "host stall")],
            Removal::Noise => &[("cause", "delay noise")],
            Removal::Window => &[("limit", "window")],
            Removal::ReceiveWindow => &[("limit", "receive window")],
            Removal::Handshake => &[("limit", "handshake")],
        }
    }

    /// Other causes that go with it: a faster link has shorter queues, which drop less, as one without rivals does.
    pub fn also(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Removal::Rates => &[
                ("cause", "queue behind rivals"),
                ("cause", "queue behind frames of the link"),
                ("cause", "recovery"),
                ("cause", "pause"),
                ("limit", "window after losses"),
            ],
            Removal::Rivals => &[("cause", "recovery"), ("cause", "pause"), ("limit", "window after losses")],
            Removal::Delays => &[("cause", "recovery")],
            _ => &[],
        }
    }

    pub fn of(kind: &str, name: &str) -> Option<Removal> {
        Removal::ALL.into_iter().find(|removal| removal.names().contains(&(kind, name)))
    }
}

/// No limit.
const LARGE_WINDOW: u64 = 1_000_000_000_000;

const ADAPTIVE: &[&str] = &["reno", "cubic", "dctcp", "bbr", "dcqcn", "hpcc", "timely", "swift", "nscc", "rccc"];

/// Telemetry carries no more of a rate.
fn three_digits(rate: u64) -> u64 {
    let unit = 10u64.pow(rate.max(1).ilog10().saturating_sub(2));
    rate / unit * unit
}

impl Case {
    pub fn draw(seed: u64) -> Case {
        let mut random = RandomStream::new(seed, "counterfactuals", 0);
        let mut log = |low: f64, high: f64| (low * (high / low).powf(random.uniform())) as u64;
        let network = ["near", "far", "leaves"][log(1.0, 1000.0) as usize % 3];
        let bottleneck = three_digits(log(2e7, 2e9));
        let rate = three_digits(bottleneck * [1, 1, 2, 4, 10][log(1.0, 1000.0) as usize % 5]);
        let delay = log(500.0, 50_000.0);
        let wan_delay = log(500_000.0, 20_000_000.0);
        let rtt = if network == "far" { 2 * wan_delay + 10 * delay } else { 8 * delay };
        let bdp = (bottleneck as f64 / 8.0 * rtt as f64 / 1e9).max(1500.0);
        let size = log(20_000.0_f64.max(bdp * 0.5), (bdp * 30.0).clamp(2e5, 3e6).max(bdp));
        let cwnd = log((bdp * 0.02).max(1460.0), bdp * 40.0 + 3000.0);
        let receive_window = log((bdp * 0.02).max(3000.0), bdp * 40.0 + 6000.0).min(1_000_000_000);
        let pace = log(bottleneck as f64 * 0.02, bottleneck as f64 * 0.7);
        let small_buffer = log((bdp * 0.3).max(30_000.0), bdp * 3.0 + 100_000.0);
        let initial = log(1.0, 100.0);
        let delayed = log(200_000.0, 40_000_000.0);
        let (noise, stall) = (log(1_000.0, 100_000.0), log(1_000.0, 100_000.0));
        let lossy = [0.0002, 0.002, 0.01][log(1.0, 1000.0) as usize % 3];
        let starts: Vec<(u64, u64)> =
            (0..3).map(|_| (log(1.0, rtt as f64), log((bdp * 0.05).max(1460.0), bdp * 10.0 + 3000.0))).collect();
        let mut chance = |p: f64| random.chance(p);
        let kind = if chance(0.6) {
            "tcp"
        } else if chance(0.6) {
            "rdma"
        } else {
            "multipath"
        };
        let tcp = kind == "tcp";
        let preset = match tcp && chance(0.4) {
            true if chance(0.8) => "linux-6",
            true => "linux-4.9",
            false => "none",
        };
        let algorithms: &[&str] = match kind {
            "tcp" => &["cubic", "reno", "bbr", "dctcp"],
            "rdma" => &["dcqcn", "hpcc", "timely", "dctcp"],
            _ => &["nscc", "rccc", "swift", "nscc"],
        };
        let fixed = chance(0.5);
        let pick = usize::from(chance(0.5)) + 2 * usize::from(chance(0.5));
        let algorithm = if fixed { "fixed" } else { algorithms[pick] };
        let has_rivals = chance(0.5);
        let rivals = 1 + usize::from(chance(0.5)) + usize::from(chance(0.3));
        Case {
            seed,
            network,
            rate,
            bottleneck,
            delay,
            wan_delay,
            loss: if kind != "rdma" && chance(0.3) { lossy } else { 0.0 },
            buffer: if tcp && chance(0.4) { small_buffer } else { 10_000_000_000 },
            pfc: kind == "rdma" && chance(0.5),
            ecn: chance(0.5) || kind != "tcp" || algorithm == "dctcp",
            kind,
            preset,
            algorithm,
            cwnd: fixed.then_some(if chance(0.7) { cwnd } else { LARGE_WINDOW }),
            pace: (fixed && chance(0.3)).then_some(pace),
            initial_cwnd: (tcp && !fixed && chance(0.4)).then_some(initial),
            receive_window: (tcp && chance(0.5)).then_some(receive_window),
            handshake: tcp && chance(0.3),
            delayed_ack: (tcp && chance(0.4)).then_some(delayed),
            pacing: tcp && chance(0.3),
            offload: tcp && chance(0.5),
            recovery: if chance(0.5) { "rack" } else { "sack" },
            ack_bytes: if chance(0.5) { 1 } else { 16_384 },
            noise: if tcp && chance(0.15) { noise } else { 0 },
            stall: if chance(0.15) { stall } else { 0 },
            patient: false,
            size,
            rivals: if has_rivals { starts[..rivals].to_vec() } else { Vec::new() },
        }
    }

    /// The congestion window and the receive window are within a factor of two: where one is gone, the other is right behind.
    pub fn has_two_windows(&self, removal: Removal) -> bool {
        let (Some(own), Some(receiver)) = (self.cwnd, self.receive_window) else { return false };
        let smaller = if removal == Removal::Window { own } else { receiver };
        matches!(removal, Removal::Window | Removal::ReceiveWindow) && own.max(receiver) < 2 * smaller
    }

    /// A removal changes the algorithm, of the rivals as well.
    pub fn changes_rivals(&self, other: &Case) -> bool {
        self.algorithm != other.algorithm && !self.rivals.is_empty()
    }

    pub fn is_adaptive(&self) -> bool {
        ADAPTIVE.contains(&self.algorithm)
    }

    pub fn text(&self) -> String {
        let mut t = String::new();
        let c = self;
        let _ = writeln!(t, "run = {{ duration = \"60s\", seed = {} }}", c.seed);
        let far = c.network == "far";
        let pairs = 1 + c.rivals.len();
        let _ = if c.network == "leaves" {
            writeln!(
                t,
                "[network]\ntopology = \"spine-leaf\"\nspines = 1\nleaves = 2\nhosts_per_leaf = {pairs}\nrate = \"{}bps\"\nfabric_rate = \"{}bps\"\nlink_delay = \"{}ns\"",
                c.rate, c.bottleneck, c.delay
            )
        } else {
            let (intra, cross) = if far { (0, pairs) } else { (pairs, 0) };
            writeln!(
                t,
                "[network]\ntopology = \"dumbbell\"\nintra_pairs = {intra}\ncross_pairs = {cross}\nrate = \"{}bps\"\nbottleneck_rate = \"{}bps\"\nlink_delay = \"{}ns\"\nwan_delay = \"{}ns\"\nbottleneck_loss = {:?}",
                c.rate, c.bottleneck, c.delay, c.wan_delay, c.loss
            )
        };
        for section in ["switch", "wan_switch"] {
            let _ = writeln!(t, "[{section}]\nbuffer = \"{}B\"\nalpha = 64.0\necn = {}", c.buffer, c.ecn);
            if section == "switch" {
                let _ = writeln!(t, "pfc = {}", c.pfc);
            }
        }
        let _ = writeln!(t, "[transport]\nkind = \"{}\"", c.kind);
        if c.kind == "tcp" {
            if c.preset != "none" {
                let _ = writeln!(t, "preset = \"{}\"", c.preset);
            } else {
                let _ = writeln!(t, "recovery = \"{}\"", c.recovery);
            }
            let delayed = c.delayed_ack.map_or("none".to_string(), |ns| format!("{ns}ns"));
            let window = c.receive_window.unwrap_or(if c.preset == "none" { 1_000_000_000 } else { 3 << 20 });
            let _ = writeln!(
                t,
                "handshake = {}\ndelayed_ack = \"{delayed}\"\nreceive_window = \"{window}B\"\npacing = \"{}\"\nsegmentation_offload = {}\ndelay_noise_intra = \"{}ns\"\ndelay_noise_cross = \"{}ns\"",
                c.handshake,
                if c.pacing { "linux" } else { "none" },
                c.offload,
                c.noise,
                c.noise
            );
            if let Some(packets) = c.initial_cwnd {
                let _ = writeln!(t, "initial_cwnd = {packets}");
            }
        } else if c.kind == "multipath" {
            let _ = writeln!(t, "ack_bytes = \"{}B\"", c.ack_bytes);
        }
        if c.patient {
            let keys: &[&str] = match c.kind {
                "tcp" => &["min_rto"],
                "rdma" => &["rto_intra", "rto_cross"],
                _ => &["rto"],
            };
            keys.iter().for_each(|key| t += &format!("{key} = \"20s\"\n"));
        }
        let _ = writeln!(t, "[algorithm]\nname = \"{}\"", c.algorithm);
        if c.stall > 0 {
            let _ = writeln!(t, "[hosts]\nstall = \"{}ns\"", c.stall);
        }
        let ends = |i: usize| match c.network {
            "leaves" => (format!("h{}", 1 + i), format!("h{}", 1 + pairs)),
            "far" => (format!("s{}", 1 + i), "r1".to_string()),
            _ => (format!("s{}", 1 + i), "d1".to_string()),
        };
        let flow = |name: &str, i: usize, start: u64, size: u64, cwnd: Option<u64>, pace: Option<u64>| {
            let (from, to) = ends(i);
            let mut text = format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nstart = \"{start}ns\"\nsize = \"{size}B\"\n"
            );
            if let Some(cwnd) = cwnd {
                let _ = writeln!(text, "initial_cwnd = \"{cwnd}B\"");
            }
            if let Some(pace) = pace {
                let _ = writeln!(text, "initial_rate = \"{pace}bps\"");
            }
            text
        };
        t += &flow("asked", 0, 0, c.size, c.cwnd, c.pace);
        for (i, (start, window)) in c.rivals.iter().enumerate() {
            let window = (c.algorithm == "fixed").then_some(*window);
            t += &flow(&format!("rival{i}"), 1 + i, *start, 3 * c.size, window, None);
        }
        t
    }

    /// The same, with the keys of docs/why.md that remove a cause.
    pub fn without(&self, removal: Removal) -> Case {
        let mut c = self.clone();
        match removal {
            Removal::Rates => (c.rate, c.bottleneck) = (10 * c.rate, 10 * c.bottleneck),
            Removal::Delays => (c.delay, c.wan_delay) = (c.delay / 20, c.wan_delay / 20),
            Removal::Rivals => c.rivals.clear(),
            Removal::Pfc => c.pfc = false,
            Removal::Pacing => {
                (c.pace, c.pacing) = (None, false);
                if ["bbr", "dcqcn", "hpcc", "timely", "swift"].contains(&c.algorithm) {
                    (c.algorithm, c.cwnd) = ("fixed", Some(LARGE_WINDOW));
                }
            }
            Removal::Offload => c.offload = false,
            Removal::Losses => (c.loss, c.buffer, c.patient) = (0.0, 10_000_000_000, true),
            Removal::Algorithm => {
                if c.is_adaptive() {
                    (c.algorithm, c.cwnd, c.initial_cwnd) = ("fixed", Some(LARGE_WINDOW), None);
                }
            }
            Removal::Window => {
                if c.is_adaptive() {
                    c.algorithm = "fixed";
                }
                (c.cwnd, c.initial_cwnd) = (Some(LARGE_WINDOW), None);
            }
            Removal::DelayedAck => {
                (c.delayed_ack, c.ack_bytes) = (None, 1);
                if c.algorithm == "dcqcn" {
                    (c.algorithm, c.cwnd) = ("fixed", Some(LARGE_WINDOW));
                }
            }
            Removal::Stalls => c.stall = 0,
            Removal::Noise => c.noise = 0,
            Removal::ReceiveWindow => c.receive_window = Some(1_000_000_000),
            Removal::Handshake => c.handshake = false,
        }
        c
    }
}
