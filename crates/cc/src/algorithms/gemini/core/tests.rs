//! The integer core by hand, at its bounds, and under any events.

use super::*;
use farloop_test_support::cases;
use proptest::prelude::*;

#[test]
fn scale_is_a_product_and_a_shift() {
    for (a, b, bits) in [(MAX_WINDOW, ONE, 30), (MAX_WINDOW, ONE / 3, 30), (MAX_WINDOW, 2 * MAX_GAIN, 16), (7, 5, 1)] {
        assert_eq!(u128::from(scale(a, b, bits)), (u128::from(a) * u128::from(b)) >> bits);
    }
}

fn extreme() -> Constants {
    Constants {
        mss: 65_535,
        capacity: MAX_CAPACITY,
        threshold: MAX_THRESHOLD,
        delay_threshold: 10_000_000_000,
        beta: ONE,
        f_min: 4 * ONE,
        h_per_byte: 1 << 33,
        h_min: 0,
        h_max: MAX_H,
        max_cut: ONE,
        g: ONE,
        gain: MAX_GAIN,
        skip_after_cut: false,
    }
}

/// An ACK whose sequence numbers are what TCP makes of these offsets.
fn ack(acked: u64, ack_seq: u64, snd_nxt: u64, rtt: u64) -> AckEvent {
    AckEvent {
        acked,
        in_flight: snd_nxt - ack_seq,
        rtt,
        ack_seq: ack_seq as u32,
        snd_nxt: snd_nxt as u32,
        ecn_echo: false,
        marked: 0,
        in_recovery: false,
        app_limited: false,
    }
}

#[test]
fn the_largest_numbers_fit() {
    let constants = extreme();
    let top = MAX_WINDOW >> WINDOW_BITS;
    for rtt in [1, MAX_RTT, u64::MAX] {
        let mut state = State::new(&constants, u64::MAX, false, ONE, rtt, 0);
        assert_eq!(state.cwnd, MAX_WINDOW);
        assert!(state.pacing(&constants) > 1);
        let wide = |acked, ack_seq| AckEvent { in_flight: top, ..ack(acked, ack_seq, ack_seq + (1 << 30), rtt) };
        state.on_ack(&constants, &wide(top, 1 << 30));
        state.on_ack(&constants, &wide((1 << 18) - 1, 2 << 30));
        assert_eq!(state.cwnd, MAX_WINDOW);
        state.on_ack(&constants, &AckEvent { ecn_echo: true, marked: top, ..wide(top, 3 << 30) });
        assert_eq!(state.cwnd_bytes(), 2 * 65_535);
    }
    // 400 Gbps × 500 ms is no special case: a window of 25 GB, paced at 1.25 times the line rate and headers.
    let fast = Constants { capacity: 50_000_000, gain: 5 << (GAIN_BITS - 2), ..extreme() };
    let state = State::new(&fast, 25_000_000_000, false, 0, 500_000_000, 0);
    assert_eq!(state.pacing(&fast), 500_000_000_000);
}

#[test]
fn a_rate_beyond_64_bits_is_the_largest() {
    let constants = extreme();
    let rate = |window: u64, rtt| State::new(&constants, window, false, 0, rtt, 0).pacing(&constants);
    assert_eq!(rate(u64::MAX, 1), u64::MAX);
    // 8.59 s for 2^36 B, 1024 times over.
    let exact = u128::from(scale(MAX_WINDOW, MAX_GAIN, GAIN_BITS)) * 62_500_000 / u128::from(MAX_RTT << 3);
    assert_eq!(u128::from(rate(u64::MAX, MAX_RTT)), exact);
    // The last window whose rate has 64 bits, and the first that has not: 2^57 B in 2^6 ns are 2^54 times 10^9.
    let mut last = 0;
    for bits in 10..37 {
        let (window, rtt) = (1u64 << bits, 1 << 4);
        let wide = u128::from(scale(window.max(65_535) << WINDOW_BITS, MAX_GAIN, GAIN_BITS)) * 62_500_000 / 128;
        assert_eq!(u128::from(rate(window, rtt)), wide.min(u128::from(u64::MAX)), "2^{bits} B");
        last = last.max(if wide < u128::from(u64::MAX) { bits } else { 0 });
    }
    assert!((20..36).contains(&last), "both sides of the bound: {last}");
}

/// Constants of a testbed: 1 Gbps, packets of 1000 B.
fn plain() -> Constants {
    Constants {
        mss: 1000,
        capacity: 125_000,
        threshold: 50_000,
        delay_threshold: 5_000_000,
        beta: ONE / 4,
        f_min: 0,
        h_per_byte: 0,
        h_min: 1 << H_BITS,
        h_max: 1 << H_BITS,
        g: ONE / 16,
        gain: 1 << GAIN_BITS,
        ..extreme()
    }
}

#[test]
fn an_ack_without_a_round_trip_time_is_no_sample() {
    let constants = plain();
    let mut state = State::new(&constants, 100_000, false, 0, 10_000_000, 0);
    state.on_ack(&constants, &ack(1000, 1000, 101_000, NO_RTT));
    assert_eq!((state.base_rtt, state.srtt8), (10_000_000, 80_000_000));
    // Whole windows without a sample decide nothing, and do not fall behind what wraps.
    for i in 1..=100 {
        state.on_ack(&constants, &AckEvent { in_flight: 0, ..ack(0, i << 27, (i << 27) + 101_000, NO_RTT) });
    }
    assert_eq!((state.base_rtt, state.srtt8, state.cwnd >> WINDOW_BITS), (10_000_000, 80_000_000, 100_010));
    let una = 101 << 27;
    state.on_ack(&constants, &ack(1000, una, una + 100_000, 16_000_000));
    assert_eq!(state.cwnd_bytes(), 75_007, "the first sample ends the window, late as it is");
}

#[test]
fn the_first_sample_takes_the_place_of_a_round_trip_that_nobody_measured() {
    let constants = plain();
    let mut state = State::new(&constants, 100_000, false, 0, NO_RTT, 0);
    assert_eq!((state.base_rtt, state.pacing(&constants)), (ASSUMED_RTT, 800_000_000));
    state.on_ack(&constants, &ack(1000, 1000, 100_000, NO_RTT));
    assert_eq!(state.base_rtt, ASSUMED_RTT);
    state.on_ack(&constants, &ack(1000, 2000, 100_000, 40_000_000));
    let given = State::new(&constants, 100_000, false, 0, 40_000_000, 0);
    assert_eq!((state.base_rtt, state.srtt8, state.f), (40_000_000, 320_000_000, given.f), "larger as it is");
    state.on_ack(&constants, &ack(1000, 3000, 100_000, 48_000_000));
    assert_eq!((state.base_rtt, state.srtt8), (40_000_000, 328_000_000), "one time only");
}

#[test]
fn sequence_numbers_wrap_and_grow_old() {
    let constants = plain();
    let start = u32::MAX - 50_000;
    let mut state = State::new(&constants, 100_000, false, ONE, 10_000_000, start);
    let mut una = u64::from(start);
    let mut marked = |state: &mut State, bytes: u64| {
        una += bytes;
        let marked =
            AckEvent { ecn_echo: true, marked: bytes, in_flight: 0, ..ack(bytes, una, una + 100_000, 10_000_000) };
        let before = state.cwnd;
        state.on_ack(&constants, &marked);
        state.cwnd < before
    };
    assert!(marked(&mut state, 1000));
    assert!(!marked(&mut state, 60_000), "across 0, and before the end of the round trip");
    assert!(!marked(&mut state, 40_000));
    assert!(marked(&mut state, 1000));
    // No cut for so long that its mark would lie ahead again.
    state.cwnd = 100_000 << WINDOW_BITS;
    let quiet = |state: &mut State, una: u64| {
        state.on_ack(&constants, &AckEvent { app_limited: true, ..ack(1000, una, una + 100_000, 10_000_000) });
    };
    for _ in 0..3 {
        una += 1 << 30;
        quiet(&mut state, una);
    }
    let before = state.cwnd;
    state.on_ack(
        &constants,
        &AckEvent { ecn_echo: true, marked: 1000, ..ack(1000, una + 1000, una + 100_000, 10_000_000) },
    );
    assert!(state.cwnd < before);
}

#[test]
fn the_core_follows_a_window_that_the_host_moves() {
    let constants = plain();
    let mut state = State::new(&constants, 10_999, true, 0, 10_000_000, 0);
    assert_eq!((state.cwnd_packets(&constants), state.ssthresh_packets(&constants)), (10, NO_THRESHOLD_PACKETS));
    let same = state.clone();
    state.resync(&constants, 10, NO_THRESHOLD_PACKETS);
    assert_eq!(state, same, "what the host was given: nothing is rounded");
    state.resync(&constants, 4, 7);
    assert_eq!((state.cwnd, state.ssthresh), (4000 << WINDOW_BITS, 7000 << WINDOW_BITS));
    assert!(state.in_slow_start() && state.in_initial_slow_start());
    state.resync(&constants, 0, u32::MAX);
    assert_eq!((state.cwnd, state.ssthresh), (1000 << WINDOW_BITS, NO_THRESHOLD));
    state.resync(&constants, u32::MAX, 1);
    assert_eq!((state.cwnd, state.ssthresh), (MAX_WINDOW, 1000 << WINDOW_BITS));
    let tiny = Constants { mss: 1, ..plain() };
    assert_eq!(state.cwnd_packets(&tiny), NO_THRESHOLD_PACKETS - 1, "the largest window in packets");
}

#[test]
fn packets_of_another_size_grow_the_window_by_another_size() {
    let constants = plain();
    let mut state = State::new(&constants, 100_000, false, 0, 10_000_000, 0);
    let jumbo = Constants { mss: 9000, ..plain() };
    state.on_mss(&jumbo);
    assert_eq!((state.cwnd_bytes(), state.cwnd_packets(&jumbo)), (100_000, 11));
    state.on_ack(&jumbo, &ack(50_000, 50_000, 150_000, 10_000_000));
    assert_eq!(state.cwnd_bytes(), 104_500, "half a window, and so half of one packet's growth");
    let mut small = State::new(&constants, 1000, false, 0, 10_000_000, 0);
    small.on_mss(&jumbo);
    assert_eq!(small.cwnd_bytes(), 9000);
}

#[test]
fn f_stays_below_four() {
    let constants = Constants { f_min: 4 * ONE, ..plain() };
    assert_eq!(State::new(&constants, 100_000, false, 0, 10_000_000, 0).f, u32::MAX);
}

#[test]
fn growth_below_a_unit_is_carried_to_later_acks() {
    // h = 0.1 in a window of 25 GB: an ACK is worth 8.5 µB, and 1/1024 B come together in 115 of them.
    let constants = Constants { mss: 1460, h_per_byte: 0, h_min: fixed_tenth(), h_max: MAX_H, ..extreme() };
    let mut state = State::new(&constants, 25_000_000_000, false, 0, 500_000_000, 0);
    let before = state.cwnd;
    for i in 1..=11_500 {
        let una = i * 1460;
        let wide = AckEvent { in_flight: 25_000_000_000, ..ack(1460, una, una + (1 << 30), 500_000_000) };
        state.on_ack(&constants, &wide);
    }
    assert!((99..=101).contains(&(state.cwnd - before)), "{}", state.cwnd - before);
}

fn fixed_tenth() -> u64 {
    (1 << H_BITS) / 10
}

#[test]
fn alpha_decays_to_zero() {
    let constants = Constants { g: ONE / 16, ..extreme() };
    let mut state = State::new(&constants, 14_600, false, ONE, 1_000_000, 0);
    for i in 1..=500 {
        state.on_ack(&constants, &ack(1, 2 * i, 2 * i + 1, 1_000_000));
    }
    assert_eq!(state.alpha, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]
    /// Whatever constants and events within the bounds: no overflow (checked in tests), and the state stays within them.
    #[test]
    fn any_events_within_the_bounds(
        (mss, capacity, threshold) in (1..65_536u64, 1..=MAX_CAPACITY, 1..=MAX_THRESHOLD),
        (h_per_byte, h_min, h_max) in (0..=1u64 << 33, 0..=MAX_H, 0..=MAX_H),
        (beta, f_min, max_cut, g, gain) in (0..=ONE, 0..=4 * ONE, 0..=ONE, 0..=ONE, 1..=MAX_GAIN),
        (cwnd, rtt_bits, slow_start, seq) in (any::<u64>(), 0..64u32, any::<bool>(), any::<u32>()),
        skip_after_cut in any::<bool>(),
        events in proptest::collection::vec((0..14u8, any::<u64>(), any::<u64>(), any::<u64>()), 1..100),
    ) {
        let delay_threshold = 5_000_000;
        let mut constants = Constants {
            mss, capacity, threshold, delay_threshold, beta, f_min, h_per_byte, h_min, h_max, max_cut, g, gain,
            skip_after_cut,
        };
        let mut state = State::new(&constants, cwnd >> (cwnd % 40), slow_start, g, (1 << rtt_bits) >> 1, seq);
        let (mut una, mut before) = (u64::from(seq), (state.cwnd, state.ssthresh));
        for (kind, a, b, c) in events {
            let flight = state.cwnd_bytes() + a % 3;
            let nxt = (una + flight.min(1 << 30)) as u32;
            match kind {
                0 | 1 => {
                    let event = if kind == 0 { LossEvent::FastRetransmit } else { LossEvent::Timeout };
                    let now = (state.cwnd, state.ssthresh);
                    if state.on_loss(&constants, event, flight, nxt) {
                        before = now;
                    }
                }
                2 => state.on_undo(before.0, before.1),
                3 => state.on_idle_restart(&constants, b, c >> (c % 64), a % (1 << 20) + 1),
                4 => state.resync(&constants, (b as u32) >> (a % 32), (c as u32) >> (a % 32)),
                5 => {
                    constants.mss = a % 65_535 + 1;
                    state.on_mss(&constants);
                }
                _ => {
                    let acked = a % (flight + 1);
                    una += acked.min(1 << 30);
                    let event = AckEvent {
                        acked,
                        in_flight: flight - acked,
                        rtt: if b % 5 > 0 { c >> (c % 64) } else { NO_RTT },
                        ack_seq: una as u32,
                        snd_nxt: nxt.max(una as u32),
                        ecn_echo: b % 3 == 0,
                        marked: if b % 3 > 0 { 0 } else if b % 2 == 0 { acked } else { c % (acked + 1) },
                        in_recovery: b % 7 == 0,
                        app_limited: false,
                    };
                    state.on_ack(&constants, &event);
                }
            }
            prop_assert!(state.cwnd >= 1 << WINDOW_BITS && state.cwnd <= MAX_WINDOW);
            prop_assert!(kind == 2 || state.cwnd >= constants.mss << WINDOW_BITS);
            prop_assert!(u64::from(state.alpha) <= ONE && (1..=MAX_RTT).contains(&state.base_rtt) && state.srtt8 >= 8);
            prop_assert!(state.pacing(&constants) >= 1 && state.cwnd_packets(&constants) >= 1);
            // What a host reads and gives back unchanged changes nothing.
            let (kept, packets) = (state.clone(), state.cwnd_packets(&constants));
            state.resync(&constants, packets, state.ssthresh_packets(&constants));
            prop_assert!(state == kept);
        }
    }
}
