//! Erasure coding of a flow's packets: blocks of n data and r repair packets, of which any n suffice.
//!
//! A receiver that has n packets of a block needs no other; one that has fewer waits a while and asks for the block again. Losses up to
//! r in a block then cost no round trip: the purpose of coding between datacenters. State machines only: a coded flow is
//! packets with numbers, block by block, and the sender and receiver here say which are needed. No bytes are coded, because
//! none are carried.
//!
//! Source: spcl/Uno_SC25, sim/lcp.cpp (`LcpSink::receivePacket`, `parity_timer_hook`, `processParityNack`), commit 68d164e. Equation
//! numbers are those of `spec/coding.md`.

use farloop_units::{Delta, Time};
use std::collections::BTreeMap;

/// The division of a flow's packets into blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Data packets of the flow.
    packets: u64,
    /// Data packets of a block, and repair packets.
    data: u32,
    repair: u32,
}

impl Blocks {
    /// Blocks of `data` packets (at least one) with `repair` more for each; Uno has 8 and 2. The last block has the data packets that are
    /// left, and as many repair packets as the others.
    pub fn new(packets: u64, data: u32, repair: u32) -> Blocks {
        Blocks { packets, data: data.max(1), repair }
    }

    /// Number of blocks.
    pub fn count(&self) -> u64 {
        self.packets.div_ceil(u64::from(self.data))
    }

    /// Packets to send in all, repair packets included.
    pub fn total_packets(&self) -> u64 {
        self.packets + self.count() * u64::from(self.repair)
    }

    /// The block of a packet, by its number among all that are sent, and its place there: data first, then repair.
    pub fn place(&self, number: u64) -> (u64, u32) {
        let size = u64::from(self.data) + u64::from(self.repair);
        (number / size, (number % size) as u32)
    }

    /// The number of the first packet of a block.
    pub fn first_packet(&self, block: u64) -> u64 {
        block * (u64::from(self.data) + u64::from(self.repair))
    }

    /// Packets that a block needs.
    pub fn needs(&self, block: u64) -> u32 {
        let left = self.packets.saturating_sub(block * u64::from(self.data));
        left.min(u64::from(self.data)) as u32
    }

    /// Data packets of all blocks but the last one.
    pub fn data(&self) -> u64 {
        u64::from(self.data)
    }

    /// Packets of a block, repair included.
    pub fn size(&self, block: u64) -> u32 {
        self.needs(block) + if self.needs(block) > 0 { self.repair } else { 0 }
    }

    /// Packets over data packets: the overhead of coding.
    pub fn overhead(&self) -> f64 {
        self.total_packets() as f64 / self.packets.max(1) as f64
    }
}

/// The probability that more than `repair` of `data + repair` packets are lost, each by itself with probability `loss` (1): 1 - Σ C(N,
/// i)·pⁱ·(1 - p)ᴺ⁻ⁱ over i ≤ r, summed over what is above r so that small results keep their digits.
pub fn block_failure(data: u32, repair: u32, loss: f64) -> f64 {
    let n = data + repair;
    let mut term = libm::pow(1.0 - loss, f64::from(n));
    let mut sum = 0.0;
    if loss >= 1.0 {
        return if data > 0 { 1.0 } else { 0.0 };
    }
    for i in 0..=n {
        if i > repair {
            sum += term;
        }
        term *= f64::from(n - i) / f64::from(i + 1) * loss / (1.0 - loss);
    }
    sum
}

/// Time that a receiver waits for the rest of a block, from its first packet on (2): a multiple of `inside`, the time in
/// which the queue of a port inside a datacenter drains, and of `between`, that of a port between datacenters. Uno: 5, and
/// 3 across.
pub fn wait_time(inside: Delta, between: Delta, crosses: bool) -> Delta {
    let near = inside.mul_f64(5.0);
    if crosses { near + between.mul_f64(3.0) } else { near }
}

/// The effect of a packet on its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// It had not come before, and its block still needed it.
    pub new: bool,
    /// With it its block has enough packets.
    pub complete: bool,
}

#[derive(Clone, Debug)]
struct Waiting {
    /// Bits of its packets that have come.
    seen: Vec<u64>,
    count: u32,
    /// When to ask for it again; nothing while an answer is out.
    ask_at: Option<Time>,
    /// It has been requested.
    requested: bool,
}

/// The receiver's half: which blocks are whole, and which to ask for again.
#[derive(Clone, Debug)]
pub struct BlockReceiver {
    blocks: Blocks,
    wait: Delta,
    /// All blocks below it are whole.
    whole_below: u64,
    /// Blocks that have begun, and whole ones above the first that is not.
    open: BTreeMap<u64, Waiting>,
    failed: u64,
}

impl BlockReceiver {
    /// A receiver to which nothing has come. It requests a block that is not whole `wait` after its first packet.
    pub fn new(blocks: Blocks, wait: Delta) -> BlockReceiver {
        BlockReceiver { blocks, wait, whole_below: 0, open: BTreeMap::new(), failed: 0 }
    }

    /// The first block that is not whole, as a cumulative acknowledgement reports it.
    pub fn first_open(&self) -> u64 {
        self.whole_below
    }

    /// Number of blocks that were requested, each once: they were not whole when their first wait was over.
    pub fn requests(&self) -> u64 {
        self.failed
    }

    /// The block is whole.
    pub fn is_whole(&self, block: u64) -> bool {
        let needs = self.blocks.needs(block);
        block < self.whole_below || needs == 0 || self.open.get(&block).is_some_and(|w| w.count >= needs)
    }

    /// All blocks are whole.
    pub fn is_done(&self) -> bool {
        self.whole_below >= self.blocks.count()
    }

    /// A packet came, by its number among all that are sent.
    pub fn on_packet(&mut self, now: Time, number: u64) -> Arrived {
        let (block, place) = self.blocks.place(number);
        let needs = self.blocks.needs(block);
        if self.is_whole(block) || place >= self.blocks.size(block) {
            return Arrived { new: false, complete: self.is_whole(block) };
        }
        let words = (self.blocks.size(block) as usize).div_ceil(64);
        let (wait, fresh) = (self.wait, Waiting { seen: vec![0; words], count: 0, ask_at: None, requested: false });
        let waiting = self.open.entry(block).or_insert(fresh);
        // The wait begins with the block's first packet, and again with the first one after it was requested.
        waiting.ask_at.get_or_insert(now.saturating_add(wait));
        let (word, bit) = ((place / 64) as usize, 1u64 << (place % 64));
        if waiting.seen[word] & bit != 0 {
            return Arrived { new: false, complete: false };
        }
        waiting.seen[word] |= bit;
        waiting.count += 1;
        let complete = waiting.count >= needs;
        if complete {
            waiting.ask_at = None;
        }
        while self.is_whole(self.whole_below) && self.whole_below < self.blocks.count() {
            self.open.remove(&self.whole_below);
            self.whole_below += 1;
        }
        Arrived { new: true, complete }
    }

    /// When [`BlockReceiver::expire`] is next of use.
    pub fn next_timer(&self) -> Option<Time> {
        self.open.values().filter_map(|w| w.ask_at).min()
    }

    /// The blocks whose wait is over, in order. The caller requests each (a block NACK); it waits no more until one
    /// of its packets comes.
    pub fn expire(&mut self, now: Time) -> Vec<u64> {
        let mut requested = Vec::new();
        for (block, waiting) in &mut self.open {
            if waiting.ask_at.is_some_and(|at| at <= now) {
                waiting.ask_at = None;
                self.failed += u64::from(!std::mem::replace(&mut waiting.requested, true));
                requested.push(*block);
            }
        }
        requested
    }
}

/// The packets of a block to send again on a block NACK: those that were not acknowledged, as long as the block is not known to be whole.
/// `acknowledged` says it of a packet by its number.
pub fn repairs(blocks: &Blocks, block: u64, whole: bool, acknowledged: impl Fn(u64) -> bool) -> Vec<u64> {
    if whole {
        return Vec::new();
    }
    let first = blocks.first_packet(block);
    (first..first + u64::from(blocks.size(block))).filter(|number| !acknowledged(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_engine::RandomStream;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }

    #[test]
    fn blocks_have_eight_and_two_and_the_last_what_is_left() {
        let b = Blocks::new(19, 8, 2);
        assert_eq!((b.count(), b.total_packets()), (3, 25));
        assert_eq!(
            [0, 1, 2, 3].map(|n| (b.needs(n), b.size(n), b.first_packet(n))),
            [(8, 10, 0), (8, 10, 10), (3, 5, 20), (0, 0, 30)]
        );
        assert_eq!([0, 9, 10, 24].map(|n| b.place(n)), [(0, 0), (0, 9), (1, 0), (2, 4)]);
        assert!((Blocks::new(8000, 8, 2).overhead() - 1.25).abs() < 1e-12);
    }

    #[test]
    fn the_closed_form_has_the_known_values() {
        // C(10,3)·1e-9 = 1.2e-7, less what follows.
        assert!((block_failure(8, 2, 1e-3) / 1.1937e-7 - 1.0).abs() < 1e-3, "{}", block_failure(8, 2, 1e-3));
        assert!((block_failure(8, 2, 1e-2) / 1.138e-4 - 1.0).abs() < 1e-3, "{}", block_failure(8, 2, 1e-2));
        // Without repair: 1 - (1 - p)^8.
        assert!((block_failure(8, 0, 0.1) - (1.0 - 0.9f64.powi(8))).abs() < 1e-12);
        assert_eq!((block_failure(8, 2, 0.0), block_failure(8, 2, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn the_wait_counts_five_and_three_queues() {
        let (near, far) = (Delta::from_us(14), Delta::from_us(80));
        assert_eq!(wait_time(near, far, false), Delta::from_us(70));
        assert_eq!(wait_time(near, far, true), Delta::from_us(310));
    }

    /// Blocks that are not whole when all of their packets have been sent once: as often as the closed form says.
    #[test]
    fn blocks_fail_as_often_as_the_closed_form_says() {
        for (seed, (data, repair, loss)) in
            [(8, 2, 0.05), (8, 2, 0.01), (4, 1, 0.1), (16, 4, 0.12), (8, 0, 0.02)].into_iter().enumerate()
        {
            let count = 100_000u64;
            let blocks = Blocks::new(count * u64::from(data), data, repair);
            let mut receiver = BlockReceiver::new(blocks, Delta::from_us(10));
            let mut random = RandomStream::new(seed as u64, "losses", 0);
            let mut failed = 0;
            for block in 0..count {
                for place in 0..u64::from(blocks.size(block)) {
                    if !random.chance(loss) {
                        receiver.on_packet(at(block), blocks.first_packet(block) + place);
                    }
                }
                failed += u64::from(!receiver.is_whole(block));
            }
            let p = block_failure(data, repair, loss);
            let (mean, sigma) = (p * count as f64, (p * (1.0 - p) * count as f64).sqrt());
            assert!(
                (failed as f64 - mean).abs() <= 3.0 * sigma,
                "{data} + {repair}, {loss}: {failed}, {mean:.1} ± {sigma:.1}"
            );
        }
    }

    #[test]
    fn a_block_is_whole_with_any_eight() {
        let mut r = BlockReceiver::new(Blocks::new(16, 8, 2), Delta::from_us(10));
        for (i, number) in [9, 0, 3, 8, 7, 6, 5].into_iter().enumerate() {
            assert_eq!(r.on_packet(at(i as u64), number), Arrived { new: true, complete: false });
        }
        assert_eq!(r.on_packet(at(8), 5), Arrived { new: false, complete: false }, "a duplicate");
        assert_eq!(r.on_packet(at(8), 1), Arrived { new: true, complete: true });
        assert_eq!((r.first_open(), r.next_timer()), (1, None));
        assert_eq!(r.on_packet(at(9), 2), Arrived { new: false, complete: true }, "not needed any more");
        // The second block may be whole before the first.
        let mut r = BlockReceiver::new(Blocks::new(16, 8, 2), Delta::from_us(10));
        for n in 10..18 {
            r.on_packet(at(1), n);
        }
        assert!(r.is_whole(1) && !r.is_whole(0) && r.first_open() == 0);
        for n in 0..8 {
            r.on_packet(at(2), n);
        }
        assert!(r.is_done());
    }

    #[test]
    fn a_block_that_stays_open_is_requested_once_per_wait() {
        let mut r = BlockReceiver::new(Blocks::new(16, 8, 2), Delta::from_us(10));
        r.on_packet(at(1), 0);
        r.on_packet(at(5), 1);
        r.on_packet(at(6), 10);
        assert_eq!(r.next_timer(), Some(at(11)));
        assert_eq!((r.expire(at(10)), r.expire(at(11)), r.expire(at(15))), (vec![], vec![0], vec![]));
        assert_eq!(r.expire(at(16)), [1]);
        // Nothing more until a packet of the block comes.
        assert_eq!((r.next_timer(), r.expire(at(100))), (None, vec![]));
        r.on_packet(at(100), 2);
        assert_eq!(r.next_timer(), Some(at(110)));
        // On the NACK the sender sends the data that was not acknowledged.
        let blocks = Blocks::new(16, 8, 2);
        assert_eq!(repairs(&blocks, 0, false, |n| n < 3), [3, 4, 5, 6, 7, 8, 9]);
        assert!(repairs(&blocks, 0, true, |_| false).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(64)))]
        /// Whatever comes in whatever order: no panic, and done exactly when each block has had enough packets.
        #[test]
        fn any_order_completes(
            packets in 1u64..60,
            data in 1u32..12,
            repair in 0u32..5,
            order in proptest::collection::vec(any::<u16>(), 1..300),
        ) {
            let blocks = Blocks::new(packets, data, repair);
            let mut r = BlockReceiver::new(blocks, Delta::from_us(10));
            let mut seen = std::collections::BTreeSet::new();
            for (i, number) in order.iter().enumerate() {
                let number = u64::from(*number) % (blocks.total_packets() + 3);
                r.on_packet(at(i as u64), number);
                r.expire(at(i as u64));
                let (block, place) = blocks.place(number);
                if place < blocks.size(block) {
                    seen.insert((block, place));
                }
            }
            for block in 0..blocks.count() {
                let count = seen.iter().filter(|(b, _)| *b == block).count();
                prop_assert_eq!(r.is_whole(block), count >= blocks.needs(block) as usize);
            }
            prop_assert_eq!(r.is_done(), (0..blocks.count()).all(|b| r.is_whole(b)));
        }
    }
}
