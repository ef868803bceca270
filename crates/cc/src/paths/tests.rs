//! Properties of every chooser, and a driver for tests.

use super::*;
use farloop_test_support::cases;
use proptest::prelude::*;

/// A flow of 144 packets of 4096 B in 12 us.
pub(super) fn info() -> PathInfo {
    PathInfo { base_rtt: Delta::from_us(12), bdp_packets: 144, mss: Bytes::new(4096), planes: 1 }
}

/// Calls a chooser with a clock, a flight and randomness of its own.
pub(super) struct ChooserDriver {
    pub now: Time,
    pub in_flight: Bytes,
    pub random: RandomStream,
}

impl ChooserDriver {
    pub fn new(seed: u64) -> ChooserDriver {
        ChooserDriver { now: Time::ZERO, in_flight: Bytes::new(0), random: RandomStream::new(seed, "paths", 0) }
    }
    fn call<R>(&mut self, f: impl FnOnce(&mut PathCtx<'_>) -> R) -> R {
        let in_flight = self.in_flight;
        f(&mut PathCtx { now: self.now, cwnd: Bytes::MAX, in_flight, random: &mut self.random })
    }
    pub fn next(&mut self, chooser: &mut impl PathChooser) -> Entropy {
        self.call(|ctx| chooser.next(ctx))
    }
    pub fn feedback(&mut self, chooser: &mut impl PathChooser, entropy: Entropy, feedback: PathFeedback) {
        self.call(|ctx| chooser.feedback(ctx, entropy, feedback));
    }
}

#[test]
fn names_are_unique_and_every_text_is_present() {
    let infos: Vec<ChooserInfo> = choosers().collect();
    assert_eq!(infos.len(), 10);
    for (i, info) in infos.iter().enumerate() {
        assert!(infos[..i].iter().all(|other| other.name != info.name), "{} twice", info.name);
        assert!(!info.summary.is_empty() && !info.source.is_empty());
        let params = chooser(info.name).expect("listed");
        assert_eq!(params.info(), *info);
        for spec in &info.params {
            assert!(spec.doc.contains('('), "{}.{}: no source", info.name, spec.name);
            if let Some(default) = &spec.default {
                let mut again = params.clone();
                assert_eq!(again.set(&spec.name, default), Ok(()), "{}.{}", info.name, spec.name);
                assert_eq!(again, params);
            }
        }
    }
    assert!(chooser("no-such-chooser").is_none());
}

#[test]
fn a_number_of_paths_is_a_power_of_two() {
    let mut params = chooser("oblivious").expect("built in");
    for good in [1, 2, 64, 32768] {
        assert_eq!(params.set("paths", &Value::Int(good)), Ok(()));
    }
    for bad in [Value::Int(0), Value::Int(-1), Value::Int(63), Value::Int(65536), Value::Text("64".into())] {
        let error = params.set("paths", &bad).expect_err("refused");
        assert!(matches!(error, ParamError::BadValue(text) if text.contains("power of two")), "{bad}");
    }
    assert_eq!(params.set("path", &Value::Int(4)), Err(ParamError::UnknownName));
    assert_eq!(params.get("paths"), Some(Some(Value::Int(32768))));
}

#[test]
fn one_path_stays_one_path() {
    let mut driver = ChooserDriver::new(1);
    let mut chosen = chooser("single").expect("built in").start(&info(), &mut driver.random);
    let first = driver.next(&mut chosen);
    for feedback in [PathFeedback::Good, PathFeedback::Ecn, PathFeedback::Nack, PathFeedback::Timeout] {
        driver.feedback(&mut chosen, first, feedback);
        driver.now += Delta::from_secs(1);
        assert_eq!(driver.next(&mut chosen), first);
    }
}

#[test]
fn two_flows_do_not_use_the_same_values_in_the_same_order() {
    for info in choosers() {
        let run = |seed| {
            let mut driver = ChooserDriver::new(seed);
            let mut state = chooser(info.name).expect("listed").start(&self::info(), &mut driver.random);
            (0..40).map(|_| driver.next(&mut state)).collect::<Vec<_>>()
        };
        assert_ne!(run(1), run(2), "{}", info.name);
        assert_eq!(run(1), run(1), "{}: the same stream gives the same values", info.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]
    /// Whatever comes back in whatever order, no chooser panics; and if only its own values come back, it uses no others.
    #[test]
    fn every_chooser_survives_any_feedback(
        log_paths in 0u32..9,
        seed in any::<u64>(),
        steps in proptest::collection::vec((0u8..6, any::<u16>(), any::<u32>()), 1..400),
        stray in any::<bool>(),
    ) {
        for info in choosers() {
            let mut params = chooser(info.name).expect("listed");
            // Subflows draw other values after timeouts.
            let sprays = params.set("paths", &Value::Int(1 << log_paths)).is_ok() && info.name != "subflows";
            let mut driver = ChooserDriver::new(seed);
            let mut state = params.start(&self::info(), &mut driver.random);
            let mut used: Vec<Entropy> = Vec::new();
            for &(kind, number, gap) in &steps {
                driver.now += Delta::from_ns(u64::from(gap) >> (number % 20));
                driver.in_flight = Bytes::new(u64::from(number));
                let feedback = match kind {
                    0 | 1 => {
                        used.push(driver.next(&mut state));
                        continue;
                    }
                    2 => PathFeedback::Good,
                    3 => PathFeedback::Ecn,
                    4 => PathFeedback::Nack,
                    _ => PathFeedback::Timeout,
                };
                let own = used.get(usize::from(number) % used.len().max(1)).copied();
                if let Some(entropy) = if stray { Some(number) } else { own } {
                    driver.feedback(&mut state, entropy, feedback);
                }
            }
            used.sort_unstable();
            used.dedup();
            if sprays && !stray && !used.is_empty() {
                prop_assert!(used.len() <= 1 << log_paths, "{}: {} values", info.name, used.len());
                let mask = !((1u32 << log_paths) - 1) as u16;
                prop_assert!(used.iter().all(|e| e & mask == used[0] & mask), "{}: {used:?}", info.name);
            }
        }
    }
}
