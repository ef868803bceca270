//! Accurate ECN: counts of marked packets instead of echoes.
//!
//! Source: RFC 9768 §3.1 (handshake), §3.2.1-3.2.2 (counters, the ACE field, when to acknowledge), §3.2.3 (the option); Linux 7.0,
//! `__tcp_accecn_process` and `tcp_accecn_process_option` in `net/ipv4/tcp_input.c` (what an ACK means), `tcp_ecn_received_counters` in
//! `include/net/tcp_ecn.h` (its rule for ACKs).
//!
//! ```text
//!   receiver   counts marked packets and the bytes of each codepoint; every ACK has the last three bits of the count (ACE), and with
//!              the option the last 24 bits of the bytes
//!   ACK now    a marked packet after one without a mark, and every second marked packet since the last ACK
//!   sender     packets newly delivered, P:   up to 7 ───► the increase of ACE
//!                                            more    ───► ACE may have gone round: by the option's bytes, else the most that fit
//! ```

use crate::config::{AccEcnAcks, Ecn};
use farloop_cc::Marked;
use farloop_units::Bytes;
use std::num::NonZeroU64;

/// Flags (AE, CWR, ECE) of a SYN that asks for counted marks.
pub(crate) const SYN_REQUEST: u8 = 0b111;
/// First value of the count of marked packets (§3.2.1).
pub(crate) const FIRST_COUNT: u32 = 5;
/// First value of the count of ECT(0) bytes: no field of the first option is zero, but where a path has zeroed it.
const FIRST_ECT0: u32 = 1;
/// Values of the ACE field, less one.
const ACE_MASK: u32 = 0b111;
/// Bits of a count of bytes in the option.
const BYTES_MASK: u32 = (1 << 24) - 1;
/// Binary digits after the point of the average number of packets per ACK, and the share of a new value in it: 2^-6 (Linux,
/// `PKTS_ACKED_PREC`, `PKTS_ACKED_WEIGHT`).
const AVERAGE_BITS: u32 = 6;
/// Packets per ACK from which on ACKs count as thinned (Linux, `ACK_COMP_THRESH`).
const THINNED: u32 = 4;

/// The ECN field of a SYN or SYN-ACK as it arrived. Nobody here sends ECT(1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Codepoint {
    NotEct,
    Ect0,
    Ce,
}

impl Codepoint {
    /// The field of a packet that was sent ECN-capable or not, and arrived with a mark or not.
    pub fn new(ect: bool, ce: bool) -> Codepoint {
        if ce {
            Codepoint::Ce
        } else if ect {
            Codepoint::Ect0
        } else {
            Codepoint::NotEct
        }
    }

    /// Flags (AE, CWR, ECE) that report it to its sender (Tables 2 and 3).
    pub fn flags(self) -> u8 {
        match self {
            Codepoint::NotEct => 0b010,
            Codepoint::Ect0 => 0b100,
            Codepoint::Ce => 0b110,
        }
    }
}

/// The mode of a server that supports Accurate ECN and receives a SYN with these flags (Table 2, §3.1.3).
pub(crate) fn mode_of_syn(flags: u8) -> Ecn {
    match flags {
        0b000 => Ecn::Off,
        0b011 => Ecn::Classic,
        _ => Ecn::Counted,
    }
}

/// The mode of a client that has asked for Accurate ECN and receives a SYN-ACK with these flags (Table 2). The reserved 101 is a yes
/// (§3.1.3; Linux since c5ff6b837159).
pub(crate) fn mode_of_syn_ack(flags: u8) -> Ecn {
    match flags {
        // No ECN, and a server that returns the SYN's flags.
        0b000 | 0b111 => Ecn::Off,
        0b001 => Ecn::Classic,
        _ => Ecn::Counted,
    }
}

/// The Accurate ECN option with the counts of ECT(0) and CE bytes (§3.2.3, order 0 with length 8): 24 bits each, in eight bytes, so that a
/// segment with it is moved as quickly as one without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnBytes(NonZeroU64);

impl EcnBytes {
    /// Bytes of the option in an ACK.
    pub const WIRE: u16 = 8;
    /// Blocks of selective acknowledgement beside which it has room in all ACKs, those with timestamps included.
    pub const MAX_BLOCKS: usize = 2;
    /// It is there, whatever it counts.
    const PRESENT: u64 = 1 << 48;

    /// Counts of the payload that arrived with ECT(0), and one, and with CE: the last 24 bits of each.
    pub fn new(ect0: u32, ce: u32) -> EcnBytes {
        let counts = u64::from(ect0 & BYTES_MASK) << 24 | u64::from(ce & BYTES_MASK);
        EcnBytes(NonZeroU64::new(Self::PRESENT | counts).expect("a bit is set"))
    }

    /// Payload that arrived with ECT(0), and one.
    pub fn ect0(self) -> u32 {
        (self.0.get() >> 24) as u32 & BYTES_MASK
    }

    /// Payload that arrived with CE.
    pub fn ce(self) -> u32 {
        self.0.get() as u32 & BYTES_MASK
    }
}

/// Counts of payload by codepoint.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct ByteCounts {
    ect0: u32,
    ce: u32,
}

/// The receiver's half: what arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkCounter {
    /// Marked packets, and payload by codepoint.
    packets: u32,
    bytes: ByteCounts,
    /// Marked packets since the last ACK.
    pending: u32,
    /// The last packet was marked.
    marked: bool,
}

impl MarkCounter {
    /// Counters at the start of a connection.
    pub fn new() -> MarkCounter {
        let bytes = ByteCounts { ect0: FIRST_ECT0, ce: 0 };
        MarkCounter { packets: FIRST_COUNT, bytes, pending: 0, marked: false }
    }

    /// A data segment arrived; true if it must be acknowledged at once (§3.2.2.5.1, or as Linux has it).
    pub fn take(&mut self, rule: AccEcnAcks, payload: u32, ect: bool, ce: bool) -> bool {
        let changes = std::mem::replace(&mut self.marked, ce) != ce;
        if ce {
            self.packets = self.packets.wrapping_add(1);
            self.pending += 1;
            self.bytes.ce = self.bytes.ce.wrapping_add(payload);
        } else if ect {
            self.bytes.ect0 = self.bytes.ect0.wrapping_add(payload);
        }
        match rule {
            AccEcnAcks::Rfc9768 => (changes && ce) || self.pending >= 2,
            AccEcnAcks::Linux => changes || self.pending >= 6,
        }
    }

    /// The ACE field of an ACK that goes out now.
    pub fn report(&mut self) -> u8 {
        self.pending = 0;
        (self.packets & ACE_MASK) as u8
    }

    /// The option of an ACK.
    pub fn option(&self) -> EcnBytes {
        EcnBytes::new(self.bytes.ect0, self.bytes.ce)
    }

    /// Marked packets that have arrived.
    #[cfg(test)]
    fn count(&self) -> u32 {
        self.packets - FIRST_COUNT
    }
}

/// The facts about an ACK from which follows how many marked packets it reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkFacts {
    /// Packets that it newly acknowledges, in order or not.
    pub packets: u32,
    /// Their payload.
    pub bytes: u32,
    /// Increase of the ACE field modulo 8.
    pub increase: u32,
    /// Increase of the option's CE bytes; `None` where that is not known.
    pub ce_bytes: Option<u32>,
    /// Payload of a full segment.
    pub mss: u32,
    /// Packets and bytes are certain: with selective acknowledgements, or while nothing is lost.
    pub certain: bool,
    /// Packets per ACK on average, in 1/64.
    pub average: u32,
}

impl MarkFacts {
    /// Marked packets that the ACK reports (RFC 9768, appendix A.2; Linux, `__tcp_accecn_process`). With more than seven packets the field
    /// may have gone round: the most marks that fit are the safe assumption, and what the option says, or ACKs that are thinned all along,
    /// can speak for fewer.
    pub fn marked_packets(&self) -> u32 {
        let (packets, least) = (self.packets, self.increase);
        if packets <= ACE_MASK {
            return least;
        }
        let most = packets - (packets.wrapping_sub(least) & ACE_MASK);
        let (bytes, mss) = (u64::from(self.bytes), u64::from(self.mss));
        match self.ce_bytes {
            None if self.average > THINNED << AVERAGE_BITS => least,
            None => most,
            Some(0) => least,
            Some(marked) => {
                let marked = u64::from(marked);
                if packets >= 2 * (ACE_MASK + 1) && self.certain {
                    if bytes <= marked {
                        return most;
                    }
                    let estimate = (marked * u64::from(packets)).div_ceil(bytes) as u32;
                    return most.min(least + (estimate & !ACE_MASK));
                }
                let few = marked <= u64::from(least) * mss && marked < (u64::from(most) * mss) / 2;
                if few { least } else { most }
            }
        }
    }
}

/// A codepoint whose bytes the option counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Ect0,
    Ce,
}

/// The news of an ACK for [`MarkReader`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkNews {
    pub ace: u8,
    pub option: Option<EcnBytes>,
    /// Newly delivered.
    pub packets: u64,
    pub bytes: u64,
    pub mss: u64,
    pub certain: bool,
}

/// The sender's half: the receiver's counters as ACKs tell them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct MarkReader {
    /// Marked packets (Linux, `delivered_ce`).
    packets: u32,
    /// Bytes, those that the counters begin with left out.
    bytes: ByteCounts,
    /// The one codepoint whose bytes the last option raised: ACKs without the option are taken to raise it, too.
    growing: Option<Field>,
    /// Packets per ACK on average, in 1/64; zero before the first.
    average: u32,
}

impl MarkReader {
    /// An ACK that is not older than the last one; returns the marks that it reports.
    pub fn on_ack(&mut self, news: &MarkNews) -> Marked {
        let (packets, bytes) = (news.packets.min(1 << 30) as u32, news.bytes.min(u64::from(u32::MAX)) as u32);
        let before = self.bytes.ce;
        let known = self.take_option(news.option, bytes);
        if packets > 0 {
            let (old, new) = (u64::from(self.average), u64::from(packets) << AVERAGE_BITS);
            let average = if old == 0 { new } else { ((old << AVERAGE_BITS) - old + new) >> AVERAGE_BITS };
            self.average = average.min(0xffff) as u32;
        }
        let increase = (u32::from(news.ace).wrapping_sub(FIRST_COUNT.wrapping_add(self.packets))) & ACE_MASK;
        let ce_bytes = known.then(|| self.bytes.ce.wrapping_sub(before));
        let facts = MarkFacts {
            packets,
            bytes,
            increase,
            ce_bytes,
            mss: news.mss as u32,
            certain: news.certain,
            average: self.average,
        };
        let marked = facts.marked_packets();
        self.packets = self.packets.wrapping_add(marked);
        let by_option = ce_bytes.filter(|bytes| news.option.is_some() && *bytes > 0).map(u64::from);
        // RFC 9768, appendix A.3: marked packets are as long as the others.
        let by_packets = || match news.packets {
            0 => u64::from(marked) * news.mss,
            all => (u128::from(marked) * u128::from(news.bytes) / u128::from(all)) as u64,
        };
        let bytes = if marked == 0 { 0 } else { by_option.unwrap_or_else(by_packets) };
        Marked { packets: marked, bytes: Bytes::new(bytes) }
    }

    /// The counts of bytes, from the option or by estimate; false if nothing is certain (Linux, `tcp_accecn_process_option`).
    fn take_option(&mut self, option: Option<EcnBytes>, delivered: u32) -> bool {
        let Some(option) = option else {
            let count = match self.growing {
                None => return false,
                Some(Field::Ect0) => &mut self.bytes.ect0,
                Some(Field::Ce) => &mut self.bytes.ce,
            };
            *count = count.wrapping_add(delivered);
            return true;
        };
        let before = self.growing;
        let (mut valid, mut changed) = (before.is_some(), false);
        let fields = [
            (Field::Ce, &mut self.bytes.ce, option.ce()),
            (Field::Ect0, &mut self.bytes.ect0, option.ect0().wrapping_sub(FIRST_ECT0)),
        ];
        let mut ambiguous = false;
        for (field, count, reported) in fields {
            let delta = reported.wrapping_sub(*count) & BYTES_MASK;
            // 24 bits with a sign: an estimate may have been too high.
            let falls = delta > BYTES_MASK >> 1;
            *count = count.wrapping_add(if falls { delta | !BYTES_MASK } else { delta });
            ambiguous |= falls;
            if delta != 0 && before != Some(field) {
                ambiguous |= changed;
                if !changed {
                    (self.growing, changed) = (Some(field), true);
                }
            }
        }
        if ambiguous {
            (self.growing, valid) = (None, false);
        }
        valid
    }

    /// Marked packets reported so far.
    #[cfg(test)]
    fn count(&self) -> u32 {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    const MSS: u64 = 1000;

    /// An ACK of full packets without the option, from hosts whose ACKs are not thinned.
    fn plain(packets: u32, increase: u32) -> MarkFacts {
        let (bytes, mss) = (packets * MSS as u32, MSS as u32);
        MarkFacts { packets, bytes, increase, ce_bytes: None, mss, certain: true, average: 0 }
    }

    #[test]
    fn up_to_seven_packets_every_count_comes_back() {
        for packets in 0..=7 {
            for marked in 0..=packets {
                for before in 0..64 {
                    let (mut counter, mut reader) = (MarkCounter::new(), MarkReader::default());
                    (counter.packets, reader.packets) = (FIRST_COUNT + before, before);
                    for n in 0..packets {
                        counter.take(AccEcnAcks::Rfc9768, MSS as u32, true, n < marked);
                    }
                    let ace = counter.report();
                    let (bytes, packets) = (u64::from(packets) * MSS, u64::from(packets));
                    let news = MarkNews { ace, option: None, packets, bytes, mss: MSS, certain: true };
                    let bytes = Bytes::new(u64::from(marked) * MSS);
                    assert_eq!(reader.on_ack(&news), Marked { packets: marked, bytes });
                    assert_eq!(reader.count(), counter.count());
                }
            }
        }
    }

    #[test]
    fn more_packets_are_read_as_linux_reads_them() {
        let with = |packets, increase, ce_bytes| MarkFacts { ce_bytes: Some(ce_bytes), ..plain(packets, increase) };
        for (facts, marked) in [
            (plain(10, 1), 9),
            (plain(10, 2), 10),
            (plain(16, 0), 16),
            (MarkFacts { average: 4 << AVERAGE_BITS, ..plain(10, 1) }, 9),
            (MarkFacts { average: (4 << AVERAGE_BITS) + 1, ..plain(10, 1) }, 1),
            (with(16, 0, 0), 0),
            (with(20, 3, 3_000), 3),
            (with(20, 3, 10_500), 11),
            (with(20, 3, 19_000), 19),
            (with(20, 3, 20_000), 19),
            (MarkFacts { certain: false, ..with(20, 3, 10_500) }, 19),
            (MarkFacts { certain: false, ..with(20, 3, 3_000) }, 3),
            (with(12, 1, 1_000), 1),
            (with(12, 1, 1_001), 9),
            // Between, where marked packets were short ones.
            (with(12, 7, 3_500), 7),
        ] {
            assert_eq!(facts.marked_packets(), marked, "{facts:?}");
        }
    }

    #[test]
    fn the_handshake_follows_table_2() {
        let codepoints = [(false, false), (true, false), (true, true), (false, true)];
        assert_eq!(codepoints.map(|(ect, ce)| Codepoint::new(ect, ce).flags()), [0b010, 0b100, 0b110, 0b110]);
        let clients: Vec<Ecn> = (0..8).map(mode_of_syn_ack).collect();
        let counted = Ecn::Counted;
        assert_eq!(clients, [Ecn::Off, Ecn::Classic, counted, counted, counted, counted, counted, Ecn::Off]);
        let servers: Vec<Ecn> = (0..8).map(mode_of_syn).collect();
        assert_eq!(servers, [Ecn::Off, counted, counted, Ecn::Classic, counted, counted, counted, counted]);
    }

    #[test]
    fn the_option_counts_from_its_second_appearance_on_and_estimates_between() {
        let mut reader = MarkReader::default();
        let mut ack = |option: Option<(u32, u32)>, delivered| {
            let option = option.map(|(ect0, ce)| EcnBytes::new(ect0 + FIRST_ECT0, ce));
            let known = reader.take_option(option, delivered);
            (known, reader.bytes.ect0, reader.bytes.ce)
        };
        assert_eq!(ack(None, 1000), (false, 0, 0), "none so far");
        assert_eq!(ack(Some((1000, 0)), 1000), (false, 1000, 0));
        assert_eq!(ack(None, 500), (true, 1500, 0));
        assert_eq!(ack(Some((1500, 700)), 700), (true, 1500, 700), "one other count");
        assert_eq!(ack(None, 100), (true, 1500, 800));
        assert_eq!(ack(Some((1600, 700)), 0), (false, 1600, 700), "an estimate was wrong");
        assert_eq!(ack(Some((1700, 800)), 200), (false, 1700, 800), "both at once, and nothing before");
        assert_eq!(ack(None, 100), (false, 1700, 800));
        let mut last = MarkReader { bytes: ByteCounts { ect0: 0, ce: BYTES_MASK }, growing: Some(Field::Ce), ..reader };
        assert!(last.take_option(Some(EcnBytes::new(FIRST_ECT0, 9)), 10));
        assert_eq!(last.bytes.ce, BYTES_MASK + 10, "counts go on beyond 24 bits");
    }

    /// What a receiver makes of packets, and which of its ACKs are lost.
    fn stream() -> impl Strategy<Value = (Vec<bool>, Vec<bool>, usize, bool)> {
        let marks =
            (0u8..=10).prop_flat_map(|share| proptest::collection::vec((0u8..10).prop_map(move |n| n < share), 0..600));
        let lost =
            (0u8..=9).prop_flat_map(|share| proptest::collection::vec((0u8..10).prop_map(move |n| n < share), 600));
        (marks, lost, 1usize..=40, any::<bool>())
    }

    /// Packets and ACKs that arrive: packets since the last one, marked ones among them, ACE, option.
    fn arrivals(marks: &[bool], lost: &[bool], every: usize, linux: bool) -> Vec<(u32, u32, u8, EcnBytes)> {
        let rule = if linux { AccEcnAcks::Linux } else { AccEcnAcks::Rfc9768 };
        let mut counter = MarkCounter::new();
        let (mut waiting, mut packets, mut marked, mut heard) = (0, 0, 0, Vec::new());
        for (n, ce) in marks.iter().enumerate() {
            let at_once = counter.take(rule, MSS as u32, true, *ce);
            (waiting, packets, marked) = (waiting + 1, packets + 1, marked + u32::from(*ce));
            let last = n + 1 == marks.len();
            if at_once || waiting == every || last {
                waiting = 0;
                let ace = counter.report();
                // The last ACK arrives.
                if last || !lost[n] {
                    heard.push((packets, marked, ace, counter.option()));
                    (packets, marked) = (0, 0);
                }
            }
        }
        heard
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(400)))]

        /// The sender's count is the receiver's as long as no ACK covers more than seven packets; otherwise the safe reading is too high by
        /// a multiple of eight, or right, and the least one too low by such.
        #[test]
        fn counts_agree_or_differ_by_rounds_of_the_field((marks, lost, every, linux) in stream()) {
            let (mut safe, mut least, mut arrived, mut widest) = (0u32, 0u32, 0u32, 0);
            for (packets, marked, ace, _) in arrivals(&marks, &lost, every, linux) {
                arrived += marked;
                widest = widest.max(packets);
                let increase = |count: u32| u32::from(ace).wrapping_sub(FIRST_COUNT + count) & ACE_MASK;
                safe += plain(packets, increase(safe)).marked_packets();
                least += MarkFacts { average: 0xffff, ..plain(packets, increase(least)) }.marked_packets();
                prop_assert!(safe >= arrived && (safe - arrived).is_multiple_of(8), "{safe} of {arrived}");
                prop_assert!(least <= arrived && (arrived - least).is_multiple_of(8), "{least} of {arrived}");
            }
            prop_assert!(widest > 7 || (safe == arrived && least == arrived));
        }

        /// With the option, once it has told of unmarked packets alone, and full packets: packets and bytes are right whatever ACKs are
        /// lost.
        #[test]
        fn the_option_makes_up_for_lost_acks((marks, lost, every, linux) in stream()) {
            let mut reader = MarkReader::default();
            let marks: Vec<bool> = std::iter::once(false).chain(marks).collect();
            let lost: Vec<bool> = std::iter::once(false).chain(lost).collect();
            for (n, (packets, marked, ace, option)) in arrivals(&marks, &lost, every, linux).into_iter().enumerate() {
                let bytes = u64::from(packets) * MSS;
                let news = MarkNews { ace, option: Some(option), packets: packets.into(), bytes, mss: MSS, certain: true };
                let reported = reader.on_ack(&news);
                if n == 0 && marked > 0 {
                    // Both counts at once: nothing is known of them yet.
                    return Ok(());
                }
                prop_assert_eq!(reported, Marked { packets: marked, bytes: Bytes::new(u64::from(marked) * MSS) });
            }
        }
    }
}
