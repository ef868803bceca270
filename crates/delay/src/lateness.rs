//! A distribution of times, in little memory: how late frames left.

/// A histogram of times in ns whose classes are at most a sixteenth wide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distribution {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

/// Bits of a value that its class keeps below the highest.
const PRECISION: u32 = 4;
const CLASSES: usize = (64 - PRECISION as usize + 1) << PRECISION;

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution { counts: vec![0; CLASSES], total: 0, max: 0 }
    }
}

impl Distribution {
    /// Counts a time.
    pub fn add(&mut self, time: u64) {
        self.counts[class(time)] += 1;
        self.total += 1;
        self.max = self.max.max(time);
    }

    /// Number of times.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The largest, exactly.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The time that a part `part` of them do not exceed, rounded up by at most a sixteenth; 0 if there are none.
    pub fn quantile(&self, part: f64) -> u64 {
        let wanted = ((part * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return last(index).min(self.max);
            }
        }
        self.max
    }
}

fn class(time: u64) -> usize {
    if time < 1 << PRECISION {
        return time as usize;
    }
    let shift = time.ilog2() - PRECISION;
    ((shift as usize + 1) << PRECISION) + (time >> shift) as usize - (1 << PRECISION)
}

/// The largest time of a class.
fn last(class: usize) -> u64 {
    if class < 1 << PRECISION {
        return class as u64;
    }
    let shift = (class >> PRECISION) as u32 - 1;
    let first = ((class & ((1 << PRECISION) - 1)) as u64 + (1 << PRECISION)) << shift;
    first + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_times() {
        let mut times = Distribution::default();
        assert_eq!((times.quantile(0.5), times.max(), times.total()), (0, 0, 0));
        (1..=10_000).for_each(|time| times.add(time));
        assert_eq!((times.max(), times.total()), (10_000, 10_000));
        for (part, exact) in [(0.5, 5000), (0.99, 9900), (1.0, 10_000), (0.0, 1)] {
            let quantile = times.quantile(part);
            assert!(exact <= quantile && quantile <= exact + exact / 16 + 1, "{part}: {quantile}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(1000)))]
        #[test]
        fn a_class_holds_its_times(time: u64) {
            let class = class(time);
            prop_assert!(class < CLASSES && last(class) >= time);
            prop_assert!(last(class) - time <= time / 16);
            prop_assert!(class == 0 || last(class - 1) < time);
        }
    }
}
