//! Random streams: one named stream per component, all derived from the seed of the run.
//!
//! A component's stream depends on the seed and its own name alone, so adding a component, or running components in another
//! order or on another thread, never changes what the others draw. The generator is xoshiro256++ (Blackman and Vigna,
//! 2019); transcendental functions come from `libm`, so that every platform draws the same numbers.

use farloop_units::Delta;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One component's stream of random numbers.
#[derive(Clone, Debug)]
pub struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    /// The stream of the component `name` (such as `"link"` or `"workload"`) with the number `index`, in the run with `seed`.
    pub fn new(seed: u64, name: &str, index: u64) -> RandomStream {
        // FNV-1a over the name keeps streams of different names apart; SplitMix64 inside `seed_from_u64` does the mixing.
        let mut h = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes().chain(index.to_le_bytes()) {
            h = (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        RandomStream(Xoshiro256PlusPlus::seed_from_u64(h))
    }

    /// 64 uniform random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Uniform in `0..n` (multiply-shift; bias below 2^-32 for n < 2^32). Returns 0 for `n == 0`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Exponentially distributed with the given mean: gaps of a Poisson process.
    pub fn exponential(&mut self, mean: Delta) -> Delta {
        // 1 - uniform() is in (0, 1], so the logarithm is finite.
        mean.mul_f64(-libm::log(1.0 - self.uniform()))
    }

    /// Pareto distributed with index 3/2, whose variance is infinite, and the given mean; cut at a thousand times that, which takes 1.2 %
    /// of the mean.
    pub fn pareto(&mut self, mean: Delta) -> Delta {
        // The smallest value is a third of the mean.
        let root = libm::cbrt(1.0 - self.uniform());
        mean.mul_f64((1.0 / (3.0 * root * root)).min(1000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ_by_name_index_and_seed() {
        let draw = |seed, name, index| RandomStream::new(seed, name, index).bits();
        assert_eq!(draw(1, "link", 0), draw(1, "link", 0));
        let all = [draw(1, "link", 0), draw(1, "link", 1), draw(2, "link", 0), draw(1, "ecn", 0)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn the_stream_is_pinned() {
        // A change here changes every published result: raise the version and say so in the changelog.
        let mut s = RandomStream::new(1, "test", 0);
        assert_eq!([s.bits(), s.bits()], [PINNED.0, PINNED.1]);
    }
    const PINNED: (u64, u64) = (14_147_628_430_727_504_779, 12_703_535_295_524_662_005);

    #[test]
    fn pareto_has_its_mean_and_its_tail() {
        let mut s = RandomStream::new(7, "test", 1);
        let mean = Delta::from_us(10);
        let n = 1_000_000;
        let drawn: Vec<f64> = (0..n).map(|_| s.pareto(mean).ratio(mean)).collect();
        let average = drawn.iter().sum::<f64>() / f64::from(n);
        assert!((average - 0.988).abs() < 0.03, "mean {average}");
        // P(X > x) = (x_m/x)^1.5, at thirty times x_m.
        let beyond = drawn.iter().filter(|x| **x > 10.0).count() as f64 / f64::from(n);
        assert!((beyond / 30f64.powf(-1.5) - 1.0).abs() < 0.05, "{beyond}");
        assert!(drawn.iter().all(|x| (0.333..=1000.0).contains(x)));
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut s = RandomStream::new(7, "test", 0);
        let mean = Delta::from_us(10);
        let n = 200_000;
        let sum: f64 = (0..n).map(|_| s.exponential(mean).ratio(mean)).sum();
        assert!((sum / f64::from(n) - 1.0).abs() < 0.01, "mean {}", sum / f64::from(n));
    }
}
