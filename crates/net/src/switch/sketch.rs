//! Count-Min sketch (Cormode and Muthukrishnan, J. of Algorithms 55, 2005): how many bytes each flow has sent, in memory that does not
//! depend on how many flows there are.
//!
//! It has `rows` of `width` counters. In each row a flow has one counter, by the row's own hash, and shares it with others; it has sent at
//! most the least of its counters. The estimate is never too small. Of `N` bytes in all it is too large by more than `e·N/width` with a
//! probability of at most `e^-rows`, for every flow whatever the others send (there, Theorem 1): in a row the others add `N/width` on
//! average, so more than `e` times that with a probability of at most `1/e`. That needs hashes by which two flows meet with a probability
//! of `1/width`, drawn for each row independently.
//!
//! Sums of sketches are sketches of sums: to forget, it keeps the counts from before it last [aged](CountMin::age) apart. `N` then covers
//! only the bytes that it has not forgotten.

use farloop_engine::RandomStream;

/// A Count-Min sketch of the bytes of flows. A switch that finds elephants itself owns it, and adds each packet of a flow that is none.
#[derive(Clone, Debug)]
pub(crate) struct CountMin {
    hashes: Vec<Hash>,
    width: u32,
    /// Row by row.
    counters: Vec<Counter>,
}

/// Bytes since the sketch last aged, and before.
#[derive(Clone, Copy, Default, Debug)]
struct Counter {
    new: u64,
    old: u64,
}

impl CountMin {
    /// A sketch of `rows` rows with `width` counters each, at least one; the hashes are drawn from `random`. `None` where there is no
    /// memory for it.
    pub fn new(rows: u32, width: u32, random: &mut RandomStream) -> Option<CountMin> {
        let hashes = (0..rows.max(1)).map(|_| Hash { a: random.bits(), b: random.bits() }).collect();
        let width = width.max(1);
        let (count, mut counters) = (rows.max(1) as usize * width as usize, Vec::new());
        counters.try_reserve_exact(count).ok()?;
        counters.resize(count, Counter::default());
        Some(CountMin { hashes, width, counters })
    }

    /// Bytes of memory of a sketch of this many rows and counters in each.
    pub fn bytes(rows: u32, width: u32) -> u64 {
        u64::from(rows) * u64::from(width) * size_of::<Counter>() as u64
    }

    /// Counts bytes of a flow, and returns its bytes then, as [`CountMin::estimate`].
    pub fn add(&mut self, flow: u32, bytes: u64) -> u64 {
        let mut least = u64::MAX;
        for (row, hash) in self.hashes.iter().enumerate() {
            let counter = &mut self.counters[row * self.width as usize + hash.counter(flow, self.width)];
            counter.new += bytes;
            least = least.min(counter.new + counter.old);
        }
        least
    }

    /// Bytes that a flow has sent: no less than it has, perhaps more.
    pub fn estimate(&self, flow: u32) -> u64 {
        let rows = self.hashes.iter().zip(self.counters.chunks(self.width as usize));
        let all = rows.map(|(hash, row)| row[hash.counter(flow, self.width)]);
        all.map(|counter| counter.new + counter.old).min().unwrap_or(0)
    }

    /// Forgets the counts from before it aged the last time.
    pub fn age(&mut self) {
        for counter in &mut self.counters {
            *counter = Counter { new: 0, old: counter.new };
        }
    }
}

/// A strongly universal hash of 32 bits (multiply, add and shift: Dietzfelbinger, STACS 1996): the values of two flows are uniform and
/// independent of each other.
#[derive(Clone, Copy, Debug)]
struct Hash {
    a: u64,
    b: u64,
}

impl Hash {
    /// Below `width`, by scaling: no modulo bias.
    #[inline]
    fn counter(self, flow: u32, width: u32) -> usize {
        let value = self.a.wrapping_mul(u64::from(flow)).wrapping_add(self.b) >> 32;
        ((value * u64::from(width)) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sketch(seed: u64, rows: u32, width: u32) -> CountMin {
        CountMin::new(rows, width, &mut RandomStream::new(seed, "sketch", 0)).expect("there is memory")
    }

    /// Flow `i` sends 10 MB / (i + 1), in packets and in turns.
    fn add_skewed(sketch: &mut CountMin, flows: u32) -> Vec<u64> {
        let sizes: Vec<u64> = (0..flows).map(|i| 10_000_000 / u64::from(i + 1)).collect();
        let mut left = sizes.clone();
        while left.iter().any(|bytes| *bytes > 0) {
            for (flow, left) in (0..).zip(&mut left).filter(|(_, left)| **left > 0) {
                let packet = (*left).min(1500);
                *left -= packet;
                sketch.add(flow, packet);
            }
        }
        sizes
    }

    /// The flows with the largest estimates of all, largest first.
    fn heaviest(sketch: &CountMin, flows: u32, most: usize) -> Vec<u32> {
        let mut all: Vec<u32> = (0..flows).collect();
        all.sort_by_key(|flow| std::cmp::Reverse(sketch.estimate(*flow)));
        all[..most].to_vec()
    }

    #[test]
    fn heavy_hitters_of_skewed_traffic_are_found() {
        for seed in 0..20 {
            let mut sketch = sketch(seed, 4, 4096);
            let sizes = add_skewed(&mut sketch, 20_000);
            let n: u64 = sizes.iter().sum();
            // The tenth and the eleventh differ by 91 kB, more than e N / width = 70 kB.
            assert!(sizes[9] - sizes[10] > (std::f64::consts::E / 4096.0 * n as f64) as u64);
            assert_eq!(heaviest(&sketch, 20_000, 10), (0..10).collect::<Vec<u32>>(), "seed {seed}");
        }
    }

    #[test]
    fn errors_are_one_sided_and_as_rare_as_the_bound_says() {
        for (rows, width) in [(1, 64), (2, 64), (3, 256), (4, 256)] {
            let (mut over, mut all, mut excess) = (0, 0, 0.0);
            for seed in 0..40 {
                let mut sketch = sketch(seed, rows, width);
                let sizes = add_skewed(&mut sketch, 2000);
                let n: u64 = sizes.iter().sum();
                let bound = std::f64::consts::E / f64::from(width) * n as f64;
                for (flow, size) in (0..).zip(&sizes) {
                    let estimate = sketch.estimate(flow);
                    assert!(estimate >= *size, "seed {seed}, flow {flow}: {estimate} of {size}");
                    let error = (estimate - size) as f64;
                    over += u64::from(error > bound);
                    all += 1;
                    excess += error / ((n - size) as f64 / f64::from(width));
                }
            }
            let share = f64::from(over as u32) / f64::from(all);
            assert!(share <= (-f64::from(rows)).exp(), "{rows} rows of {width}: {share}");
            // With one row the others add N / width, neither more nor less: hashes are uniform.
            let mean = excess / f64::from(all);
            assert!(if rows == 1 { (mean - 1.0).abs() < 0.1 } else { mean < 0.6 }, "{rows} rows of {width}: {mean}");
        }
    }

    #[test]
    fn rows_hash_independently() {
        // Two flows meet in 1 of 16 counters in a row, in both rows in 1 of 256.
        let (mut row, mut both, draws) = (0, 0, 20_000);
        for seed in 0..draws {
            let sketch = sketch(seed, 2, 16);
            let meet: Vec<bool> = sketch.hashes.iter().map(|hash| hash.counter(7, 16) == hash.counter(8, 16)).collect();
            row += u32::from(meet[0]);
            both += u32::from(meet[0] && meet[1]);
        }
        let share = |count: u32| f64::from(count) / draws as f64;
        assert!((share(row) * 16.0 - 1.0).abs() < 0.1, "{row}");
        assert!((share(both) * 256.0 - 1.0).abs() < 0.25, "{both}");
    }

    #[test]
    fn old_bytes_are_forgotten_in_two_steps() {
        let mut sketch = sketch(1, 3, 128);
        assert_eq!((sketch.add(5, 1000), sketch.add(5, 500)), (1000, 1500));
        sketch.age();
        assert_eq!((sketch.estimate(5), sketch.add(5, 200)), (1500, 1700));
        sketch.age();
        assert_eq!(sketch.estimate(5), 200);
        sketch.age();
        assert_eq!((sketch.estimate(5), sketch.estimate(6)), (0, 0));
    }

    #[test]
    fn the_seed_of_the_run_draws_the_hashes() {
        let places = |seed| sketch(seed, 4, 4096).hashes.iter().map(|hash| hash.counter(99, 4096)).collect::<Vec<_>>();
        assert_eq!(places(1), places(1));
        assert_ne!(places(1), places(2));
    }
}
