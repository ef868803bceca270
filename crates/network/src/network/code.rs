//! Blocks of a flow: which bytes its numbered packets carry where some of them are repair packets ([`farloop_cc::coding`]).

use farloop_cc::coding::Blocks;

/// The packets of a flow with blocks. Repair packets are as large as the largest data packet of their block.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The blocks.
    pub blocks: Blocks,
    size: u64,
    mss: u64,
    repair: u64,
}

impl Code {
    /// The packets of a flow of `size` bytes in packets of `mss`, with this many data and repair packets in a block.
    pub fn new(size: u64, mss: u64, (data, repair): (u8, u8)) -> Code {
        let blocks = Blocks::new(size.div_ceil(mss), data.into(), repair.into());
        Code { blocks, size, mss, repair: repair.into() }
    }

    /// Packets in all.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.blocks.total_packets()
    }

    /// Payload of all packets.
    #[inline]
    pub fn bytes(&self) -> u64 {
        let whole = self.blocks.count().saturating_sub(1);
        let repair = whole.saturating_mul(self.repair).saturating_mul(self.mss);
        self.size.saturating_add(repair).saturating_add(self.repair * self.largest_payload(whole))
    }

    /// Payload of a packet.
    #[inline]
    pub fn payload(&self, number: u64) -> u64 {
        match self.data(number) {
            0 => self.largest_payload(self.blocks.place(number).0),
            data => data,
        }
    }

    /// Payload of a packet that belongs to the flow: nothing of a repair packet.
    #[inline]
    pub fn data(&self, number: u64) -> u64 {
        let (block, place) = self.blocks.place(number);
        if place >= self.blocks.needs(block) {
            return 0;
        }
        let packet = block * self.blocks.data() + u64::from(place);
        self.size.saturating_sub(packet.saturating_mul(self.mss)).min(self.mss)
    }

    /// Payload of the first packet of a block.
    #[inline]
    fn largest_payload(&self, block: u64) -> u64 {
        let first = block.saturating_mul(self.blocks.data()).saturating_mul(self.mss);
        self.size.saturating_sub(first).min(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    #[test]
    fn the_last_block_is_as_large_as_what_is_left() {
        // 8 packets of 1000 B, one of 300 B; two repair packets each.
        let code = Code::new(8_300, 1_000, (8, 2));
        assert_eq!((code.packets(), code.bytes()), (13, 8_300 + 2_000 + 600));
        let payloads: Vec<u64> = (0..13).map(|n| code.payload(n)).collect();
        assert_eq!(payloads, [1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 300, 300, 300]);
        assert_eq!([7, 8, 9, 10, 11].map(|n| code.data(n)), [1000, 0, 0, 300, 0]);
        assert_eq!(Code::new(u64::MAX, 1_000, (8, 2)).bytes(), u64::MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        #[test]
        fn packets_add_up(size in 1u64..100_000, mss in 1u64..2_000, data in 1u8..12, repair in 0u8..5) {
            let code = Code::new(size, mss, (data, repair));
            let sum = |of: fn(&Code, u64) -> u64| (0..code.packets()).map(|n| of(&code, n)).sum::<u64>();
            prop_assert_eq!(sum(Code::data), size);
            prop_assert_eq!(sum(Code::payload), code.bytes());
        }
    }
}
