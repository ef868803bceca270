//! Who sends to whom, and when.

use crate::sizes::SizeDistribution;
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::fmt;

/// One flow to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When it starts.
    pub start: Time,
    /// Index of the sending host.
    pub src: u32,
    /// Index of the receiving host, never that of the sender.
    pub dst: u32,
    /// Payload to send.
    pub size: Bytes,
}

/// More flows than this are refused: they would not fit into memory before the simulation begins.
pub const MAX_FLOWS: f64 = 50e6;

/// Why traffic cannot be made: a sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadError(pub String);

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for WorkloadError {}

/// Poisson arrivals between uniformly random pairs of hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Poisson {
    /// Number of hosts, at least 2; indices run from 0.
    pub hosts: u32,
    /// Mean load of each host link in each direction, as payload bits over the link's rate; headers and ACKs come on top.
    pub load: f64,
    /// Rate of a host's link.
    pub link_rate: Rate,
    /// The first flow starts after this time.
    pub start: Time,
    /// No flow starts at or after this time.
    pub stop: Time,
}

/// Rounds of many senders to one receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Incast {
    /// Number of hosts, at least 2; indices run from 0.
    pub hosts: u32,
    /// Index of the receiving host; `None` to draw one per round.
    pub receiver: Option<u32>,
    /// Flows per round. Where that is more than the other hosts, some of them send several.
    pub flows: u32,
    /// Payload of each flow.
    pub size: Bytes,
    /// When the first round starts.
    pub start: Time,
    /// Number of rounds.
    pub rounds: u32,
    /// From the start of one round to the start of the next.
    pub interval: Delta,
    /// Each flow starts at a uniformly random time within this from the start of its round; zero for all at once.
    pub spread: Delta,
}

/// Flows of a Poisson process, in order of their start.
///
/// Flows arrive at `hosts · load · link_rate / (8 · mean size)` per second over all hosts; sender and receiver are a uniformly
/// random pair, so the mean payload load of each host link is `load`, in both directions.
///
/// # Errors
/// Fewer than two hosts, a load that is not positive and finite, a link rate of zero, `stop` before `start`, or more than
/// [`MAX_FLOWS`] flows to expect.
pub fn poisson(
    spec: &Poisson,
    sizes: &SizeDistribution,
    random: &mut RandomStream,
) -> Result<Vec<Arrival>, WorkloadError> {
    check_hosts(spec.hosts)?;
    if !(spec.load.is_finite() && spec.load > 0.0) {
        return Err(WorkloadError(format!("the load is {}; expected a positive number, such as 0.3", spec.load)));
    }
    if spec.link_rate == Rate::ZERO {
        return Err(WorkloadError("the link rate is zero; expected a rate such as \"100Gbps\"".to_string()));
    }
    if spec.stop < spec.start {
        let problem = format!("the traffic stops at {} before it starts at {}", spec.stop, spec.start);
        return Err(WorkloadError(format!("{problem}; expected a later stop")));
    }
    let per_second = f64::from(spec.hosts) * spec.load * spec.link_rate.as_f64() / (8.0 * sizes.mean());
    check_count(per_second * spec.stop.since(spec.start).as_secs_f64())?;
    let gap = Delta::from_secs_f64(1.0 / per_second);
    if gap < Delta::from_ns(1) {
        return Err(WorkloadError(format!(
            "{per_second:.3e} flows per second arrive; expected at most 10^9: lower the load or take larger flows"
        )));
    }

    let mut flows = Vec::new();
    let mut start = spec.start;
    loop {
        start = start.saturating_add(random.exponential(gap));
        if start >= spec.stop {
            return Ok(flows);
        }
        let src = random.below(u64::from(spec.hosts)) as u32;
        let dst = other_host(random.below(u64::from(spec.hosts) - 1) as u32, src);
        flows.push(Arrival { start, src, dst, size: sizes.sample(random) });
    }
}

/// Flows of incast rounds, in order of their start; flows of equal start in the order of their round and draw.
///
/// The senders of a round are drawn at random without repetition among the hosts other than the receiver; where there are more
/// flows than hosts, the draw is gone through again from its beginning.
///
/// # Errors
/// Fewer than two hosts, a receiver that is none of them, a size of zero, or more than [`MAX_FLOWS`] flows.
pub fn incast(spec: &Incast, random: &mut RandomStream) -> Result<Vec<Arrival>, WorkloadError> {
    check_hosts(spec.hosts)?;
    check_count(f64::from(spec.flows) * f64::from(spec.rounds))?;
    if let Some(receiver) = spec.receiver.filter(|r| *r >= spec.hosts) {
        return Err(WorkloadError(format!("there is no host {receiver}; expected 0 to {}", spec.hosts - 1)));
    }
    if spec.size == Bytes::ZERO {
        return Err(WorkloadError("flows of zero bytes; expected at least 1 byte".to_string()));
    }

    let mut flows = Vec::new();
    let mut start = spec.start;
    for _ in 0..spec.rounds {
        let dst = spec.receiver.unwrap_or_else(|| random.below(u64::from(spec.hosts)) as u32);
        let mut senders: Vec<u32> = (0..spec.hosts - 1).map(|i| other_host(i, dst)).collect();
        let drawn = senders.len().min(spec.flows as usize);
        for i in 0..drawn {
            // Fisher-Yates, as far as senders are needed.
            let j = i + random.below((senders.len() - i) as u64) as usize;
            senders.swap(i, j);
        }
        for src in senders.iter().copied().cycle().take(spec.flows as usize) {
            let delay = Delta::from_ps(random.below(spec.spread.as_ps()));
            flows.push(Arrival { start: start.saturating_add(delay), src, dst, size: spec.size });
        }
        start = start.saturating_add(spec.interval);
    }
    flows.sort_by_key(|flow| flow.start);
    Ok(flows)
}

/// The `index`-th host when `excluded` is left out.
fn other_host(index: u32, excluded: u32) -> u32 {
    if index < excluded { index } else { index + 1 }
}

fn check_hosts(hosts: u32) -> Result<(), WorkloadError> {
    if hosts >= 2 {
        return Ok(());
    }
    Err(WorkloadError(format!("traffic needs a sender and a receiver; expected at least 2 hosts, found {hosts}")))
}

fn check_count(flows: f64) -> Result<(), WorkloadError> {
    if flows <= MAX_FLOWS {
        return Ok(());
    }
    Err(WorkloadError(format!(
        "about {flows:.1e} flows would start; expected at most {MAX_FLOWS:.0e}: shorten the window"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec() -> Poisson {
        Poisson {
            hosts: 128,
            load: 0.3,
            link_rate: Rate::from_gbps(100),
            start: Time::ZERO + Delta::from_ms(1),
            stop: Time::ZERO + Delta::from_ms(1001),
        }
    }
    fn websearch() -> SizeDistribution {
        SizeDistribution::named("websearch").expect("a table")
    }
    fn stream() -> RandomStream {
        RandomStream::new(1, "workload", 0)
    }

    #[test]
    fn the_offered_load_is_the_asked_one_on_every_link() {
        let flows = poisson(&spec(), &websearch(), &mut stream()).expect("valid");
        // 128 · 0.3 · 100e9 / (8 · 1.71125e6) = 280,497 flows in one second.
        assert!((flows.len() as f64 / 280_497.0 - 1.0).abs() < 0.01, "{} flows", flows.len());
        let (mut sent, mut received) = ([0u64; 128], [0u64; 128]);
        for flow in &flows {
            assert_ne!(flow.src, flow.dst);
            sent[flow.src as usize] += flow.size.get();
            received[flow.dst as usize] += flow.size.get();
        }
        let load = |bytes: u64| bytes as f64 * 8.0 / 100e9;
        let total = load(sent.iter().sum()) / 128.0;
        assert!((total / 0.3 - 1.0).abs() < 0.03, "{total}");
        // One link sees about 2,200 flows with a coefficient of variation near 2.2: 5 % standard error, four of them at most.
        for bytes in sent.iter().chain(&received) {
            assert!((load(*bytes) / 0.3 - 1.0).abs() < 0.2, "{}", load(*bytes));
        }
    }

    #[test]
    fn gaps_are_exponential() {
        let flows = poisson(&spec(), &websearch(), &mut stream()).expect("valid");
        let gaps: Vec<f64> = flows.windows(2).map(|w| w[1].start.since(w[0].start).as_secs_f64() * 280_497.0).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let square = gaps.iter().map(|g| g * g).sum::<f64>() / n;
        // An exponential distribution has mean 1, mean square 2 and e^-1 of its mass above its mean.
        let above = gaps.iter().filter(|g| **g > 1.0).count() as f64 / n;
        assert!((mean - 1.0).abs() < 0.01 && (square - 2.0).abs() < 0.04, "{mean} {square}");
        assert!((above - 0.36788).abs() < 0.004, "{above}");
    }

    #[test]
    fn the_same_stream_gives_the_same_flows_within_the_window() {
        let short = Poisson { stop: Time::ZERO + Delta::from_ms(3), ..spec() };
        let flows = poisson(&short, &websearch(), &mut stream()).expect("valid");
        assert_eq!(flows, poisson(&short, &websearch(), &mut stream()).expect("valid"));
        assert_ne!(flows, poisson(&short, &websearch(), &mut RandomStream::new(2, "workload", 0)).expect("valid"));
        assert!(flows.iter().all(|f| f.start > short.start && f.start < short.stop));
        assert!(flows.is_sorted_by_key(|f| f.start) && !flows.is_empty());
    }

    #[test]
    fn incast_draws_distinct_senders_and_spreads_them() {
        let spec = Incast {
            hosts: 16,
            receiver: Some(3),
            flows: 8,
            size: Bytes::new(64_000),
            start: Time::ZERO,
            rounds: 2,
            interval: Delta::from_ms(1),
            spread: Delta::from_us(10),
        };
        let flows = incast(&spec, &mut stream()).expect("valid");
        for (round, flows) in flows.chunks(8).enumerate() {
            let from = Time::ZERO + Delta::from_ms(1) * round as u64;
            let mut senders: Vec<u32> = flows.iter().map(|f| f.src).collect();
            senders.sort();
            senders.dedup();
            assert_eq!(senders.len(), 8);
            assert!(flows.iter().all(|f| f.dst == 3 && f.src != 3 && f.src < 16 && f.size == Bytes::new(64_000)));
            assert!(flows.iter().all(|f| f.start >= from && f.start < from + Delta::from_us(10)));
        }
        let crowd = Incast { flows: 64, rounds: 1, spread: Delta::ZERO, ..spec };
        let flows = incast(&crowd, &mut stream()).expect("valid");
        let per_host = |host| flows.iter().filter(|f| f.src == host).count();
        assert_eq!(flows.len(), 64);
        assert!((0..16).filter(|h| *h != 3).all(|h| (4..=5).contains(&per_host(h))));
        assert!(flows.iter().all(|f| f.start == Time::ZERO));
    }

    #[test]
    fn impossible_traffic_is_refused_with_a_reason() {
        let refused = |spec: Poisson| poisson(&spec, &websearch(), &mut stream()).expect_err("must fail").to_string();
        assert!(refused(Poisson { hosts: 1, ..spec() }).contains("at least 2 hosts"));
        assert!(refused(Poisson { load: f64::NAN, ..spec() }).contains("positive"));
        assert!(refused(Poisson { load: -0.1, ..spec() }).contains("positive"));
        assert!(refused(Poisson { link_rate: Rate::ZERO, ..spec() }).contains("link rate is zero"));
        assert!(refused(Poisson { stop: Time::ZERO, ..spec() }).contains("before it starts"));
        assert!(refused(Poisson { stop: Time::from_ps(u64::MAX / 2), ..spec() }).contains("flows would start"));
        let tiny = SizeDistribution::constant(Bytes::new(1));
        let short = Poisson { stop: Time::ZERO + Delta::from_us(1001), ..spec() };
        let dense = poisson(&short, &tiny, &mut stream()).expect_err("must fail");
        assert!(dense.to_string().contains("10^9"));
        let one = Incast {
            hosts: 4,
            receiver: Some(4),
            flows: 1,
            size: Bytes::new(1),
            start: Time::ZERO,
            rounds: 1,
            interval: Delta::ZERO,
            spread: Delta::ZERO,
        };
        assert!(incast(&one, &mut stream()).expect_err("must fail").to_string().contains("no host 4"));
        let empty = Incast { receiver: None, size: Bytes::ZERO, ..one };
        assert!(incast(&empty, &mut stream()).expect_err("must fail").to_string().contains("zero bytes"));
    }

    proptest! {
        #[test]
        fn pairs_are_valid_for_any_number_of_hosts(hosts in 2u32..40, seed in any::<u64>()) {
            let spec = Poisson { hosts, stop: Time::ZERO + Delta::from_ms(2), ..spec() };
            for flow in poisson(&spec, &websearch(), &mut RandomStream::new(seed, "workload", 0)).expect("valid") {
                prop_assert!(flow.src != flow.dst && flow.src < hosts && flow.dst < hosts && flow.size >= Bytes::new(1));
            }
        }
    }
}
