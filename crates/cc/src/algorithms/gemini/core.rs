//! GEMINI in integers: everything that happens per event, as a kernel could do it.
//!
//! No floating point, no signed numbers, no wider type than 64 bits, division of unsigned numbers only. [`Constants`] are what
//! module parameters would be, [`State`] what a connection keeps. Both are plain integers; nothing here knows the simulator.
//! The recorded behaviour is `vectors/gemini.jsonl`; `vectors/README.md` says how to replay it elsewhere.
//!
//! Fixed point, and why nothing overflows. `Qn` counts units of 2^-n.
//!
//! | quantity | form | below | why |
//! | --- | --- | --- | --- |
//! | windows | Q10 bytes | 2^46 | [`MAX_WINDOW`] is 64 GB; 400 Gbps × 500 ms are 25 GB |
//! | α, β, g, cuts | Q30 | 2^30, itself included | fractions |
//! | F | Q30 | 2^32, itself included | F is at most 4 |
//! | h | Q20 segments | 2^40, itself included | 10^6 segments per round trip |
//! | h times MSS | Q10 bytes | 2^46 | MSS below 2^16 |
//! | round-trip times | ns | 2^33 | longer ones count as 8.59 s |
//! | C | bytes per ms | 2^31 | 17 Tbps; C·RTT in bytes then is below 2^44 |
//!
//! Products stay below 2^64: α·F 2^62, 4K·2^30 2^62, C·RTT 2^64, growth 2^18 · 2^46 plus a carry of less than 2^36. Where they
//! would not, [`scale`] multiplies in two halves.

/// One in Q30.
pub const ONE: u64 = 1 << 30;
/// Bits after the point of a window in bytes.
pub const WINDOW_BITS: u32 = 10;
/// Bits after the point of h in segments per round trip.
pub const H_BITS: u32 = 20;
/// Bits after the point of H in segments per byte of C·RTT.
pub const H_PER_BYTE_BITS: u32 = 40;
/// Bits after the point of the pacing gain.
pub const GAIN_BITS: u32 = 16;
/// The largest window: 2^36 - 1 bytes, in Q10.
pub const MAX_WINDOW: u64 = ((1 << 36) - 1) << WINDOW_BITS;
/// A slow start threshold that no window reaches.
pub const NO_THRESHOLD: u64 = u64::MAX;
/// The largest h: 2^20 segments per round trip.
pub const MAX_H: u64 = 1 << 40;
/// The longest round-trip time in ns.
pub const MAX_RTT: u64 = (1 << 33) - 1;
/// The largest C in bytes per ms.
pub const MAX_CAPACITY: u64 = (1 << 31) - 1;
/// The largest K in bytes.
pub const MAX_THRESHOLD: u64 = 1 << 30;
/// The largest pacing gain, Q16: 1024 windows per round trip, headers included.
pub const MAX_GAIN: u64 = 1 << 26;

/// What a flow is given when it starts. Values beyond the bounds in the header of this file are the caller's mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constants {
    /// Payload of a full-size packet in bytes, 1 to 65535.
    pub mss: u64,
    /// C in bytes per ms.
    pub capacity: u64,
    /// K in bytes, at least 1.
    pub threshold: u64,
    /// T in ns.
    pub delay_threshold: u64,
    /// β, Q30.
    pub beta: u64,
    /// Floor on F, Q30.
    pub f_min: u64,
    /// H in segments per byte of C·RTT_base, Q40.
    pub h_per_byte: u64,
    /// Least h in segments per round trip, Q20.
    pub h_min: u64,
    /// Largest h in segments per round trip, Q20.
    pub h_max: u64,
    /// Largest fraction of the window that one cut takes, Q30.
    pub max_cut: u64,
    /// Gain of α, Q30.
    pub g: u64,
    /// Windows on the wire (headers included) per smoothed round-trip time, in congestion avoidance, Q16; doubled in slow start.
    pub gain: u64,
    /// Round-trip times of packets that left before a cut are left out, so that delay cuts in every other round trip at most.
    pub skip_after_cut: bool,
}

/// An acknowledgement. Offsets count payload bytes from the start of the flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckEvent {
    /// Bytes acknowledged for the first time.
    pub acked: u64,
    /// First byte that the receiver still waits for.
    pub ack_seq: u64,
    /// Next new byte to send.
    pub snd_nxt: u64,
    /// Bytes in flight after this ACK.
    pub in_flight: u64,
    /// Round-trip time in ns, if the ACK is a sample.
    pub rtt: Option<u64>,
    /// It echoes a mark.
    pub ecn_echo: bool,
    /// The sender is repairing a loss.
    pub in_recovery: bool,
    /// The sender has less to send than it might.
    pub app_limited: bool,
}

/// What was concluded about a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossEvent {
    /// Lost, while ACKs still flow.
    FastRetransmit,
    /// The retransmission timer fired.
    Timeout,
    /// The last loss was none.
    Spurious,
}

/// What a flow remembers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Congestion window, Q10 bytes.
    pub cwnd: u64,
    /// Slow start threshold, Q10 bytes, or [`NO_THRESHOLD`].
    pub ssthresh: u64,
    /// The fraction of marked bytes, Q30.
    pub alpha: u64,
    /// RTT_base in ns.
    pub base_rtt: u64,
    /// Smoothed round-trip time in units of ns/8.
    pub srtt8: u64,
    /// F, Q30.
    f: u64,
    /// h times MSS: growth per round trip, Q10 bytes.
    increase: u64,
    /// No loss or cut has set the threshold yet; where there is one, an earlier connection left it.
    initial: bool,
    /// What the last division of growth left over.
    carry: u64,
    /// Bytes acknowledged, and of those marked, in α's window of data.
    acked: u64,
    marked: u64,
    /// Where α's window of data ends.
    alpha_end: u64,
    /// RTT_min in ns of the window of data at hand; [`u64::MAX`] before a sample.
    rtt_min: u64,
    /// Where that window ends, if it has begun.
    rtt_end: Option<u64>,
    /// RTT_min > RTT_base + T over the last complete window.
    congested_wan: bool,
    /// Marks and delays are old news until an ACK goes beyond this offset.
    reduced_until: u64,
    /// `cwnd`, `ssthresh` and `initial` before the last loss, while it can be undone.
    undo: Option<(u64, u64, bool)>,
}

impl State {
    /// A flow with a window of `cwnd` bytes and a first base round-trip time in ns; in slow start, or in congestion avoidance at
    /// that window.
    pub fn new(constants: &Constants, cwnd: u64, slow_start: bool, alpha: u64, base_rtt: u64) -> State {
        let cwnd = (cwnd.clamp(constants.mss, MAX_WINDOW >> WINDOW_BITS)) << WINDOW_BITS;
        let base_rtt = base_rtt.clamp(1, MAX_RTT);
        let mut state = State {
            cwnd,
            ssthresh: if slow_start { NO_THRESHOLD } else { cwnd },
            alpha,
            base_rtt,
            srtt8: base_rtt << 3,
            f: 0,
            increase: 0,
            initial: slow_start,
            carry: 0,
            acked: 0,
            marked: 0,
            alpha_end: 0,
            rtt_min: u64::MAX,
            rtt_end: None,
            congested_wan: false,
            reduced_until: 0,
            undo: None,
        };
        state.set_base_rtt(constants, base_rtt);
        state
    }

    /// The first sample of the flow, in ns, takes the place of the base round-trip time that it was given.
    pub fn on_first_rtt(&mut self, constants: &Constants, rtt: u64) {
        let rtt = rtt.clamp(1, MAX_RTT);
        self.srtt8 = rtt << 3;
        self.set_base_rtt(constants, rtt);
    }

    /// Slow start ends at the threshold in bytes that an earlier connection left. For before the first ACK.
    pub fn begin_below(&mut self, threshold: u64) {
        self.ssthresh = threshold.min(MAX_WINDOW >> WINDOW_BITS) << WINDOW_BITS;
    }

    /// The window in whole bytes, at least one.
    pub fn cwnd_bytes(&self) -> u64 {
        (self.cwnd >> WINDOW_BITS).max(1)
    }

    /// Whether the window is below the slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Whether no loss or cut has set a threshold yet.
    pub fn in_initial_slow_start(&self) -> bool {
        self.initial
    }

    /// The rate on the wire in bit/s, at least one.
    pub fn pacing(&self, constants: &Constants) -> u64 {
        let gain = if self.in_slow_start() { 2 * constants.gain } else { constants.gain };
        let wire = scale(self.cwnd, gain, GAIN_BITS); // Q10 bytes per round trip, below 2^57
        // 8 bits · 8 (of srtt8) · 10^9 ns/s / 2^10. The remainder is below 2^36, so the second product is below 2^62.
        const UNITS: u64 = 62_500_000;
        let whole = (wire / self.srtt8).saturating_mul(UNITS);
        whole.saturating_add(wire % self.srtt8 * UNITS / self.srtt8).max(1)
    }

    /// Algorithm 1.
    pub fn on_ack(&mut self, constants: &Constants, ack: &AckEvent) {
        self.update_alpha(constants, ack);
        self.update_rtt(constants, ack);
        if !ack.ecn_echo && !self.congested_wan {
            self.grow(constants, ack); // lines 11 and 12
        } else if ack.ack_seq > self.reduced_until {
            let dcn = if ack.ecn_echo { (self.alpha * self.f) >> 30 } else { 0 }; // line 7
            let wan = if self.congested_wan { constants.beta } else { 0 }; // line 8
            self.cut(constants, dcn.max(wan).min(constants.max_cut)); // line 9
            self.reduced(constants, ack.snd_nxt);
        }
    }

    /// Losses, as TCP: half the flight, or one segment after a timeout; a spurious one is undone. `in_flight` and `snd_nxt`
    /// are bytes and an offset at the time that the loss was detected.
    pub fn on_loss(&mut self, constants: &Constants, event: LossEvent, in_flight: u64, snd_nxt: u64) {
        let segment = constants.mss << WINDOW_BITS;
        let flight = in_flight.min(MAX_WINDOW >> WINDOW_BITS) << WINDOW_BITS;
        // The flight counts up to the window: right after a cut more can still be out.
        let half = (flight.min(self.cwnd) / 2).max(2 * segment);
        match event {
            LossEvent::FastRetransmit => {
                self.undo = Some((self.cwnd, self.ssthresh, self.initial));
                (self.cwnd, self.ssthresh, self.initial) = (half, half, false);
            }
            // A timer that fires again without progress in between changes nothing.
            LossEvent::Timeout if self.cwnd > segment => {
                self.undo = Some((self.cwnd, self.ssthresh, self.initial));
                (self.cwnd, self.ssthresh, self.initial) = (segment, half, false);
            }
            LossEvent::Timeout => {}
            LossEvent::Spurious => {
                if let Some((cwnd, ssthresh, initial)) = self.undo.take() {
                    (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), self.ssthresh.max(ssthresh));
                    self.initial = initial;
                }
                return;
            }
        }
        self.reduced(constants, snd_nxt);
    }

    /// Once per window of data: α ← (1 - g)·α + g·F. Decay rounds up, so that α reaches zero.
    fn update_alpha(&mut self, constants: &Constants, ack: &AckEvent) {
        self.acked += ack.acked;
        if ack.ecn_echo {
            self.marked += ack.acked;
        }
        if ack.ack_seq <= self.alpha_end {
            return;
        }
        if self.acked > 0 {
            // Both below 2^34, so that the quotient's numerator is below 2^64.
            let shift = (64 - self.acked.leading_zeros()).saturating_sub(34);
            let fraction = ((self.marked >> shift) << 30) / (self.acked >> shift);
            let decay = (self.alpha * constants.g + (ONE - 1)) >> 30;
            self.alpha = self.alpha - decay + ((fraction * constants.g) >> 30);
        }
        (self.acked, self.marked, self.alpha_end) = (0, 0, ack.snd_nxt);
    }

    /// Lines 1 and 3: round-trip times and the verdict on the WAN.
    fn update_rtt(&mut self, constants: &Constants, ack: &AckEvent) {
        let sample = ack.rtt.map(|rtt| rtt.clamp(1, MAX_RTT));
        if let Some(rtt) = sample {
            if rtt < self.base_rtt {
                self.set_base_rtt(constants, rtt);
            }
            self.srtt8 = self.srtt8 - (self.srtt8 >> 3) + rtt; // RFC 6298, §2
        }
        // Delays of what left before a cut say nothing about the window after it.
        if constants.skip_after_cut && ack.ack_seq <= self.reduced_until {
            return;
        }
        self.rtt_min = self.rtt_min.min(sample.unwrap_or(u64::MAX));
        let end = *self.rtt_end.get_or_insert(ack.snd_nxt);
        // A window of data without a sample decides nothing; it ends with the next one.
        if ack.ack_seq > end && self.rtt_min != u64::MAX {
            self.congested_wan = self.rtt_min > self.base_rtt + constants.delay_threshold;
            (self.rtt_min, self.rtt_end) = (u64::MAX, Some(ack.snd_nxt));
        }
    }

    /// RTT_base, and with it F (line 6) and h (line 11, bounded as in §III-C; the upper bound goes first).
    fn set_base_rtt(&mut self, constants: &Constants, rtt: u64) {
        self.base_rtt = rtt;
        let pipe = constants.capacity * rtt / 1_000_000; // bytes
        self.f = (((4 * constants.threshold) << 30) / (pipe + constants.threshold)).max(constants.f_min);
        let h = scale(pipe, constants.h_per_byte, H_PER_BYTE_BITS - H_BITS);
        let h = h.max(constants.h_min).min(constants.h_max);
        self.increase = (h * constants.mss) >> (H_BITS - WINDOW_BITS);
    }

    /// One ACK's growth: in slow start by what it acknowledges, at most two segments (one after a timeout; RFC 3465), else by
    /// h segments per window of acknowledged bytes. Not in recovery, nor while less than half the window is used (RFC 7661).
    fn grow(&mut self, constants: &Constants, ack: &AckEvent) {
        let cwnd = self.cwnd_bytes();
        let used = ack.in_flight + ack.acked;
        if ack.acked == 0 || ack.in_recovery || ack.app_limited || used < cwnd.div_ceil(2) {
            return;
        }
        let growth = if self.in_slow_start() {
            let segments = if self.in_initial_slow_start() { 2 } else { 1 };
            ack.acked.min(segments * constants.mss) << WINDOW_BITS
        } else {
            let acked = ack.acked.min(cwnd);
            if acked < 1 << 18 {
                let total = acked * self.increase + self.carry;
                self.carry = total % cwnd;
                total / cwnd
            } else {
                // Too many bytes for the product: 2^-17 of the growth is given away, and the carry waits.
                let shift = 64 - acked.leading_zeros() - 18;
                (acked >> shift) * self.increase / (cwnd >> shift)
            }
        };
        self.cwnd = (self.cwnd + growth).min(MAX_WINDOW);
    }

    /// Cuts by a fraction in Q30; two segments remain, or what there was of less.
    fn cut(&mut self, constants: &Constants, fraction: u64) {
        let two = (2 * constants.mss) << WINDOW_BITS;
        let floor = self.cwnd.min(two);
        self.cwnd = (self.cwnd - scale(self.cwnd, fraction, 30)).max(floor);
        (self.ssthresh, self.initial) = (self.cwnd.max(two), false);
        self.undo = None; // congestion is certain now
    }

    /// A round trip from now the window may be cut again; with `skip_after_cut` delay is judged afresh from what leaves from now on.
    fn reduced(&mut self, constants: &Constants, snd_nxt: u64) {
        (self.reduced_until, self.carry) = (snd_nxt, 0);
        if constants.skip_after_cut {
            self.congested_wan = false;
            (self.rtt_min, self.rtt_end) = (u64::MAX, None);
        }
    }

    /// The connection was idle for `idle` ns, and the retransmission timeout is `rto` ns: the window is halved for each timeout that has
    /// passed, down to `restart` bytes (RFC 2861; Linux, `tcp_cwnd_restart`), and delay is judged afresh.
    pub fn on_idle_restart(&mut self, constants: &Constants, idle: u64, rto: u64, restart: u64) {
        (self.rtt_min, self.rtt_end, self.congested_wan) = (u64::MAX, None, false);
        let halvings = idle.saturating_sub(1) / rto.max(1);
        if halvings == 0 {
            return;
        }
        if self.ssthresh != NO_THRESHOLD {
            self.ssthresh = self.ssthresh.max((self.cwnd >> 2) + (self.cwnd >> 1));
        }
        let floor = self.cwnd.min(restart.clamp(constants.mss, MAX_WINDOW >> WINDOW_BITS) << WINDOW_BITS);
        self.cwnd = self.cwnd.checked_shr(halvings.min(63) as u32).unwrap_or(0).max(floor);
    }
}

/// `⌊a·b / 2^bits⌋` without a wider product: as long as `a·b` has no more than 64 + `bits` bits, and b at most 64 - `bits`.
pub fn scale(a: u64, b: u64, bits: u32) -> u64 {
    let low = a & ((1 << bits) - 1);
    (a >> bits) * b + ((low * b) >> bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scale_is_a_product_and_a_shift() {
        for (a, b, bits) in
            [(MAX_WINDOW, ONE, 30), (MAX_WINDOW, ONE / 3, 30), (MAX_WINDOW, 2 * MAX_GAIN, 16), (7, 5, 1)]
        {
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

    fn ack(acked: u64, ack_seq: u64, snd_nxt: u64, rtt: u64) -> AckEvent {
        AckEvent {
            acked,
            ack_seq,
            snd_nxt,
            in_flight: snd_nxt - ack_seq,
            rtt: Some(rtt),
            ecn_echo: false,
            in_recovery: false,
            app_limited: false,
        }
    }

    #[test]
    fn the_largest_numbers_fit() {
        let constants = extreme();
        let top = MAX_WINDOW >> WINDOW_BITS;
        for rtt in [1, MAX_RTT, u64::MAX] {
            let mut state = State::new(&constants, u64::MAX, false, ONE, rtt);
            assert_eq!(state.cwnd, MAX_WINDOW);
            assert!(state.pacing(&constants) > 1);
            state.on_ack(&constants, &ack(top, top, 2 * top, rtt));
            state.on_ack(&constants, &ack((1 << 18) - 1, top + (1 << 18), 2 * top, rtt));
            assert_eq!(state.cwnd, MAX_WINDOW);
            state.on_ack(&constants, &AckEvent { ecn_echo: true, ..ack(top, 3 * top, 4 * top, rtt) });
            assert_eq!(state.cwnd_bytes(), 2 * 65_535);
        }
        // 400 Gbps × 500 ms is no special case: a window of 25 GB, paced at 1.25 times the line rate and headers.
        let fast = Constants { capacity: 50_000_000, gain: 5 << (GAIN_BITS - 2), ..extreme() };
        let state = State::new(&fast, 25_000_000_000, false, 0, 500_000_000);
        assert_eq!(state.pacing(&fast), 500_000_000_000);
    }

    #[test]
    fn growth_below_a_unit_is_carried_to_later_acks() {
        // h = 0.1 in a window of 25 GB: an ACK is worth 8.5 µB, and 1/1024 B come together in 115 of them.
        let constants = Constants { mss: 1460, h_per_byte: 0, h_min: fixed_tenth(), h_max: MAX_H, ..extreme() };
        let mut state = State::new(&constants, 25_000_000_000, false, 0, 500_000_000);
        let before = state.cwnd;
        for i in 1..=11_500 {
            let una = i * 1460;
            state.on_ack(&constants, &ack(1460, una, una + 25_000_000_000, 500_000_000));
        }
        assert!((99..=101).contains(&(state.cwnd - before)), "{}", state.cwnd - before);
    }

    fn fixed_tenth() -> u64 {
        (1 << H_BITS) / 10
    }

    #[test]
    fn alpha_decays_to_zero() {
        let constants = Constants { g: ONE / 16, ..extreme() };
        let mut state = State::new(&constants, 14_600, false, ONE, 1_000_000);
        for i in 1..=500 {
            state.on_ack(&constants, &ack(1, 2 * i, 2 * i + 1, 1_000_000));
        }
        assert_eq!(state.alpha, 0);
    }

    proptest! {
        /// Whatever constants and events within the bounds: no overflow (checked in tests), and the state stays within them.
        #[test]
        fn any_events_within_the_bounds(
            (mss, capacity, threshold) in (1..65_536u64, 1..=MAX_CAPACITY, 1..=MAX_THRESHOLD),
            (h_per_byte, h_min, h_max) in (0..=1u64 << 33, 0..=MAX_H, 0..=MAX_H),
            (beta, f_min, max_cut, g, gain) in (0..=ONE, 0..=4 * ONE, 0..=ONE, 0..=ONE, 1..=MAX_GAIN),
            (cwnd, rtt_bits, slow_start) in (any::<u64>(), 0..64u32, any::<bool>()),
            skip_after_cut in any::<bool>(),
            events in proptest::collection::vec((0..11u8, any::<u64>(), any::<u64>(), any::<u64>()), 1..100),
        ) {
            let delay_threshold = 5_000_000;
            let constants = Constants {
                mss, capacity, threshold, delay_threshold, beta, f_min, h_per_byte, h_min, h_max, max_cut, g, gain,
                skip_after_cut,
            };
            let mut state = State::new(&constants, cwnd >> (cwnd % 40), slow_start, g, 1 << rtt_bits);
            let mut una = 0;
            for (kind, a, b, c) in events {
                let flight = state.cwnd_bytes() + a % 3;
                match kind {
                    0 => state.on_loss(&constants, LossEvent::FastRetransmit, flight, una + flight),
                    1 => state.on_loss(&constants, LossEvent::Timeout, flight, una + flight),
                    2 => state.on_loss(&constants, LossEvent::Spurious, flight, una + flight),
                    3 => state.on_idle_restart(&constants, b, c >> (c % 64), a % (1 << 20) + 1),
                    _ => {
                        let acked = a % (flight + 1);
                        una += acked;
                        let one = ack(acked, una, una + flight - acked, c >> (c % 64));
                        let one = AckEvent { rtt: one.rtt.filter(|_| b % 5 > 0), ..one };
                        state.on_ack(&constants, &AckEvent { ecn_echo: b % 3 == 0, in_recovery: b % 7 == 0, ..one });
                    }
                }
                prop_assert!(state.cwnd >= mss << WINDOW_BITS && state.cwnd <= MAX_WINDOW);
                prop_assert!(state.alpha <= ONE && (1..=MAX_RTT).contains(&state.base_rtt) && state.srtt8 >= 8);
                prop_assert!(state.pacing(&constants) >= 1);
            }
        }
    }
}
