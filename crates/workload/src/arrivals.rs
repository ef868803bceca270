//! Flows that arrive as a Poisson process.

use crate::error::{WorkloadError, check_count};
use crate::pairs::{Between, Population};
use crate::sizes::SizeDistribution;
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Rate, Time};

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

/// Poisson arrivals between random pairs of hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Poisson {
    /// Mean load of the sending hosts' links, as payload bits over the link's rate; headers and ACKs come on top.
    pub load: f64,
    /// Rate of a host's link.
    pub link_rate: Rate,
    /// The pairs that exchange flows.
    pub between: Between,
    /// Share of the flows that go across datacenters, from 0 to 1; `None` to draw all pairs with the same probability.
    pub cross_share: Option<f64>,
    /// The first flow starts after this time.
    pub start: Time,
    /// No flow starts at or after this time.
    pub stop: Time,
}

impl Poisson {
    /// Flows to expect.
    pub fn expected_flows(&self, population: &Population, sizes: &SizeDistribution) -> f64 {
        self.per_second(population, sizes) * self.stop.since(self.start).as_secs_f64()
    }

    /// Arrivals per second.
    fn per_second(&self, population: &Population, sizes: &SizeDistribution) -> f64 {
        f64::from(population.sending()) * self.load * self.link_rate.as_f64() / (8.0 * sizes.mean())
    }

    /// Share of the flows that go across datacenters; `None` where all pairs are equally likely.
    fn share(&self) -> Option<f64> {
        match self.between {
            Between::All => self.cross_share,
            Between::Intra => Some(0.0),
            Between::Cross => Some(1.0),
        }
    }
}

/// Flows of a Poisson process, in order of their start.
///
/// Flows arrive at `senders · load · link_rate / (8 · mean size)` per second over all hosts that send. The pair of each is uniformly
/// random: among all pairs; or, with a share, with that probability among those across datacenters, otherwise among those inside one. Where
/// all hosts of datacenters of equal size send, the mean payload load of each host link is `load`, in both directions; otherwise that is
/// the mean over the links, and hosts of small datacenters carry more of the cross-datacenter flows.
///
/// # Errors
/// No such pair, a load that is not positive and finite, a share outside 0 to 1, hosts loaded above their link's rate, a link rate of
/// zero, `stop` before `start`, or more than [`MAX_FLOWS`](crate::error::MAX_FLOWS) flows to expect.
pub fn poisson(
    spec: &Poisson,
    population: &Population,
    sizes: &SizeDistribution,
    random: &mut RandomStream,
) -> Result<Vec<Arrival>, WorkloadError> {
    poisson_while(spec, population, sizes, random, &mut || true).map(Option::unwrap_or_default)
}

/// As [`poisson`]; calls `go_on` before every flow, and returns `None` where it returns `false`.
///
/// # Errors
/// Those of [`poisson`].
pub fn poisson_while(
    spec: &Poisson,
    population: &Population,
    sizes: &SizeDistribution,
    random: &mut RandomStream,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<Arrival>>, WorkloadError> {
    check(spec, population, sizes)?;
    let gap = Delta::from_secs_f64(1.0 / spec.per_second(population, sizes));
    let share = spec.share();
    let mut flows = Vec::new();
    let mut start = spec.start;
    loop {
        start = start.saturating_add(random.exponential(gap));
        if start >= spec.stop {
            return Ok(Some(flows));
        }
        if !go_on() {
            return Ok(None);
        }
        let between = match share {
            None => Between::All,
            Some(share) if random.chance(share) => Between::Cross,
            Some(_) => Between::Intra,
        };
        let (src, dst) = population.draw(between, random);
        flows.push(Arrival { start, src, dst, size: sizes.sample(random) });
    }
}

/// Checks that [`poisson`] can draw such flows; the error is a sentence for the user.
pub fn check(spec: &Poisson, population: &Population, sizes: &SizeDistribution) -> Result<(), WorkloadError> {
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
    population.check(spec.between)?;
    if let Some(share) = spec.share() {
        if !(0.0..=1.0).contains(&share) {
            return Err(WorkloadError(format!("the share across datacenters is {share}; expected 0 to 1")));
        }
        for (needed, between) in [(share > 0.0, Between::Cross), (share < 1.0, Between::Intra)] {
            if needed {
                population.check(between)?;
            }
        }
        let (factor, datacenter) = population.heaviest(share);
        if spec.load * factor > 1.0 {
            let problem = format!(
                "the hosts of datacenter {datacenter} would send {:.2} times their link's rate",
                spec.load * factor
            );
            return Err(WorkloadError(format!("{problem}; expected more hosts there, less load or a smaller share")));
        }
    }
    check_count(spec.expected_flows(population, sizes))?;
    let per_second = spec.per_second(population, sizes);
    if per_second > 1e9 {
        return Err(WorkloadError(format!(
            "{per_second:.3e} flows per second arrive; expected at most 10^9: lower the load or take larger flows"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    fn spec() -> Poisson {
        Poisson {
            load: 0.3,
            link_rate: Rate::from_gbps(100),
            between: Between::All,
            cross_share: None,
            start: Time::ZERO + Delta::from_ms(1),
            stop: Time::ZERO + Delta::from_ms(1001),
        }
    }
    fn hosts(n: u32) -> Population {
        Population::new(&vec![0; n as usize])
    }
    fn websearch() -> SizeDistribution {
        SizeDistribution::by_name("websearch").expect("a table")
    }
    fn stream() -> RandomStream {
        RandomStream::new(1, "workload", 0)
    }

    #[test]
    fn drawing_stops_when_cancelled() {
        let mut calls = 0;
        let mut go_on = || {
            calls += 1;
            calls < 10
        };
        let drawn = poisson_while(&spec(), &hosts(128), &websearch(), &mut stream(), &mut go_on);
        assert_eq!((drawn, calls), (Ok(None), 10));
    }

    #[test]
    fn the_offered_load_is_the_requested_one_on_every_link() {
        let flows = poisson(&spec(), &hosts(128), &websearch(), &mut stream()).expect("valid");
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
        let flows = poisson(&spec(), &hosts(128), &websearch(), &mut stream()).expect("valid");
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
        let flows = poisson(&short, &hosts(128), &websearch(), &mut stream()).expect("valid");
        assert_eq!(flows, poisson(&short, &hosts(128), &websearch(), &mut stream()).expect("valid"));
        assert_ne!(
            flows,
            poisson(&short, &hosts(128), &websearch(), &mut RandomStream::new(2, "workload", 0)).expect("valid")
        );
        assert!(flows.iter().all(|f| f.start > short.start && f.start < short.stop));
        assert!(flows.is_sorted_by_key(|f| f.start) && !flows.is_empty());
    }

    #[test]
    fn a_share_of_the_flows_crosses_and_every_link_has_the_load() {
        // Intra : cross = 5 : 1, two datacenters of 64 hosts.
        let two: Vec<u16> = (0..128).map(|i| i / 64).collect();
        let spec = Poisson { cross_share: Some(1.0 / 6.0), ..spec() };
        let flows = poisson(&spec, &Population::new(&two), &websearch(), &mut stream()).expect("valid");
        let crosses = |f: &&Arrival| two[f.src as usize] != two[f.dst as usize];
        let share = flows.iter().filter(crosses).count() as f64 / flows.len() as f64;
        // 280,497 flows: a standard error of 0.0007.
        assert!((share - 1.0 / 6.0).abs() < 0.003, "{share}");
        let bytes: u64 = flows.iter().map(|f| f.size.get()).sum();
        let cross_bytes: u64 = flows.iter().filter(crosses).map(|f| f.size.get()).sum();
        assert!((cross_bytes as f64 / bytes as f64 - 1.0 / 6.0).abs() < 0.01);
        for datacenter in 0..2 {
            let sent: u64 = flows.iter().filter(|f| two[f.src as usize] == datacenter).map(|f| f.size.get()).sum();
            let load = sent as f64 * 8.0 / 100e9 / 64.0;
            assert!((load / 0.3 - 1.0).abs() < 0.05, "{load}");
        }
    }

    #[test]
    fn small_datacenters_carry_more_and_are_not_overloaded_in_silence() {
        let unequal: Vec<u16> = (0..72).map(|i| u16::from(i >= 64)).collect();
        let population = Population::new(&unequal);
        let spec = |share| Poisson { cross_share: Some(share), stop: Time::ZERO + Delta::from_ms(101), ..spec() };
        // All cross: the 8 hosts of datacenter 1 take half of the load of 72.
        let error = poisson(&spec(1.0), &population, &websearch(), &mut stream()).expect_err("overloaded").to_string();
        assert!(error.contains("hosts of datacenter 1 would send 1.35 times"), "{error}");
        let flows = poisson(&spec(0.25), &population, &websearch(), &mut stream()).expect("valid");
        let small = flows.iter().filter(|f| f.src >= 64).count() as f64 / flows.len() as f64;
        // An eighth for the crossing ones, and of the others 8·7 of 64·63 + 8·7.
        let expected = 0.125 + 0.75 * 56.0 / 4088.0;
        assert!((small - expected).abs() < 0.015, "{small} {expected}");
    }

    #[test]
    fn impossible_traffic_is_refused_with_a_reason() {
        let refused = |spec: Poisson| {
            poisson(&spec, &hosts(128), &websearch(), &mut stream()).expect_err("must fail").to_string()
        };
        let lonely = poisson(&spec(), &hosts(1), &websearch(), &mut stream()).expect_err("must fail");
        assert!(lonely.to_string().contains("at least 2 hosts"));
        assert!(refused(Poisson { load: f64::NAN, ..spec() }).contains("positive"));
        assert!(refused(Poisson { load: -0.1, ..spec() }).contains("positive"));
        assert!(refused(Poisson { link_rate: Rate::ZERO, ..spec() }).contains("link rate is zero"));
        assert!(refused(Poisson { stop: Time::ZERO, ..spec() }).contains("before it starts"));
        assert!(refused(Poisson { stop: Time::from_ps(u64::MAX / 2), ..spec() }).contains("flows would start"));
        let tiny = SizeDistribution::constant(Bytes::new(1));
        let short = Poisson { stop: Time::ZERO + Delta::from_us(1001), ..spec() };
        let dense = poisson(&short, &hosts(128), &tiny, &mut stream()).expect_err("must fail");
        assert!(dense.to_string().contains("10^9"));
        let unlike = Poisson { cross_share: Some(0.1), ..spec() };
        assert!(refused(unlike).contains("one datacenter"));
        assert!(refused(Poisson { between: Between::Cross, ..spec() }).contains("one datacenter"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        #[test]
        fn pairs_are_valid_for_any_number_of_hosts(n in 2u32..40, seed in any::<u64>()) {
            let spec = Poisson { stop: Time::ZERO + Delta::from_ms(2), ..spec() };
            let flows = poisson(&spec, &hosts(n), &websearch(), &mut RandomStream::new(seed, "workload", 0));
            for flow in flows.expect("valid") {
                prop_assert!(flow.src != flow.dst && flow.src < n && flow.dst < n && flow.size >= Bytes::new(1));
            }
        }
    }
}
