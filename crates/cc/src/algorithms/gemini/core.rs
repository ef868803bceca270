//! GEMINI in integers: everything that happens per event, as a kernel does it.
//!
//! No floating point, no signed numbers, no wider type than 64 bits, division of unsigned numbers only. [`Constants`] take
//! the place of module parameters, and [`State`] is a connection's state: 96 bytes, of the 104 that Linux has for a
//! congestion control (`icsk_ca_priv`). Both are plain integers; nothing here knows the simulator. `linux/gemini/core.h` is
//! the same in C. The recorded behaviour is `vectors/gemini.jsonl`; `vectors/README.md` says how to replay it elsewhere.
//!
//! Windows are kept in bytes. A host that counts packets ([`State::cwnd_packets`]) moves its window itself, after losses and when it
//! takes one back, and the core follows ([`State::resync`]).
//!
//! Fixed point, and why nothing overflows. `Qn` counts units of 2^-n.
//!
//! | quantity | form | below | why |
//! | --- | --- | --- | --- |
//! | windows | Q10 bytes | 2^46 | [`MAX_WINDOW`] is 64 GB; 400 Gbps × 500 ms are 25 GB |
//! | α, β, g, cuts | Q30 | 2^30, itself included | fractions |
//! | F | Q30 | 2^32 | F is at most 4, less 2^-30 |
//! | h | Q20 segments | 2^40, itself included | 10^6 segments per round trip |
//! | h times MSS | Q10 bytes | 2^46 | MSS below 2^16 |
//! | round-trip times | ns | 2^33 | longer ones count as 8.59 s |
//! | C | bytes per ms | 2^31 | 17 Tbps; C·RTT in bytes then is below 2^44 |
//! | sequence numbers | any unit | 2^32, and wrap | only their order is read, over less than 2^31 |
//!
//! Products stay below 2^64: α·F 2^62, 4K·2^30 2^62, C·RTT 2^64, growth 2^18 · 2^46 plus a carry of less than 2^36. Where they
//! would not, [`scale`] multiplies in two halves, and [`State::pacing`] compares first: a product that saturates by itself is one of
//! 128 bits, which BPF lacks.

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
/// The same in packets, as Linux has it (`TCP_INFINITE_SSTHRESH`); windows in packets stay below.
pub const NO_THRESHOLD_PACKETS: u32 = 0x7fff_ffff;
/// Round-trip time assumed before the first sample, in ns: 1 ms.
pub const ASSUMED_RTT: u64 = 1_000_000;
/// An ACK, or a connection that starts, without a round-trip time.
pub const NO_RTT: u64 = 0;
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

/// Constants of a flow, set when it starts. Values beyond the bounds in the header of this file are the caller's mistake.
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

/// An acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckEvent {
    /// Bytes acknowledged for the first time.
    pub acked: u64,
    /// Bytes in flight after this ACK.
    pub in_flight: u64,
    /// Round-trip time in ns, or [`NO_RTT`] where the ACK is no sample.
    pub rtt: u64,
    /// Sequence number that the receiver waits for.
    pub ack_seq: u32,
    /// Sequence number that is sent next for the first time.
    pub snd_nxt: u32,
    /// It echoes a mark, or reports one.
    pub ecn_echo: bool,
    /// Payload of the marked packets that it reports: as counted, or `acked` where a mark is echoed. Below 2^34.
    pub marked: u64,
    /// The sender is repairing a loss.
    pub in_recovery: bool,
    /// The sender has less to send than it might.
    pub app_limited: bool,
}

/// The kind of a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossEvent {
    /// Lost, while ACKs still flow.
    FastRetransmit,
    /// The retransmission timer fired.
    Timeout,
}

/// The state of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct State {
    /// Congestion window, Q10 bytes.
    pub cwnd: u64,
    /// Slow start threshold, Q10 bytes, or [`NO_THRESHOLD`].
    pub ssthresh: u64,
    /// RTT_base in ns.
    pub base_rtt: u64,
    /// Smoothed round-trip time in units of ns/8.
    pub srtt8: u64,
    /// h times MSS: growth per round trip, Q10 bytes.
    increase: u64,
    /// Remainder of the last division of growth.
    carry: u64,
    /// Bytes acknowledged, and of those marked, in α's window of data.
    acked: u64,
    marked: u64,
    /// RTT_min in ns of the current window of data; [`u64::MAX`] before a sample.
    rtt_min: u64,
    /// The fraction of marked bytes, Q30.
    pub alpha: u32,
    /// F, Q30.
    f: u32,
    /// Where α's window of data ends.
    alpha_end: u32,
    /// Where RTT_min's window of data ends, if it has begun: [`RTT_WINDOW`].
    rtt_end: u32,
    /// Marks and delays are old news until an ACK goes beyond this.
    reduced_until: u32,
    /// Of the bits below.
    flags: u32,
}

/// Bytes that Linux keeps in each connection for its congestion control (`icsk_ca_priv`).
pub const PRIVATE_BYTES: usize = 104;
const _: () = assert!(size_of::<State>() <= PRIVATE_BYTES);

/// No loss or cut has set the threshold yet; where there is one, an earlier connection left it.
const INITIAL: u32 = 1 << 0;
/// RTT_min > RTT_base + T over the last complete window.
const CONGESTED_WAN: u32 = 1 << 1;
/// A window of data of RTT_min has begun.
const RTT_WINDOW: u32 = 1 << 2;
/// The last loss can be undone: nothing but growth has happened since.
const UNDOABLE: u32 = 1 << 3;
/// `INITIAL` before that loss.
const WAS_INITIAL: u32 = 1 << 4;
/// There has been no round-trip time yet.
const NO_SAMPLE: u32 = 1 << 5;

/// Returns true if sequence number `a` comes after `b`, by less than 2^31.
fn is_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) >> 31 == 1
}

impl State {
    /// A flow with a window of `cwnd` bytes and a first base round-trip time in ns, or [`NO_RTT`]; in slow start, or in congestion
    /// avoidance at that window. `seq` is the sequence number of its first byte.
    pub fn new(constants: &Constants, cwnd: u64, slow_start: bool, alpha: u64, base_rtt: u64, seq: u32) -> State {
        let cwnd = (cwnd.clamp(constants.mss, MAX_WINDOW >> WINDOW_BITS)) << WINDOW_BITS;
        let mut state = State {
            cwnd,
            ssthresh: if slow_start { NO_THRESHOLD } else { cwnd },
            base_rtt: 0,
            srtt8: 0,
            increase: 0,
            carry: 0,
            acked: 0,
            marked: 0,
            rtt_min: u64::MAX,
            alpha: alpha.min(ONE) as u32,
            f: 0,
            alpha_end: seq,
            rtt_end: seq,
            reduced_until: seq,
            flags: if slow_start { INITIAL } else { 0 },
        };
        state.on_first_rtt(constants, if base_rtt == NO_RTT { ASSUMED_RTT } else { base_rtt });
        state.set(NO_SAMPLE, base_rtt == NO_RTT);
        state
    }

    /// The first sample of the flow, in ns, takes the place of the base round-trip time that it was given.
    pub fn on_first_rtt(&mut self, constants: &Constants, rtt: u64) {
        let rtt = rtt.clamp(1, MAX_RTT);
        self.srtt8 = rtt << 3;
        self.set(NO_SAMPLE, false);
        self.set_base_rtt(constants, rtt);
    }

    /// Slow start ends at the threshold in bytes that an earlier connection left. For before the first ACK.
    pub fn begin_below(&mut self, threshold: u64) {
        self.ssthresh = bytes_q10(threshold);
    }

    /// The window in whole bytes, at least one.
    pub fn cwnd_bytes(&self) -> u64 {
        (self.cwnd >> WINDOW_BITS).max(1)
    }

    /// The window in whole packets, at least one.
    pub fn cwnd_packets(&self, constants: &Constants) -> u32 {
        packets(constants, self.cwnd)
    }

    /// The slow start threshold in whole packets, at least one, or [`NO_THRESHOLD_PACKETS`].
    pub fn ssthresh_packets(&self, constants: &Constants) -> u32 {
        if self.ssthresh == NO_THRESHOLD { NO_THRESHOLD_PACKETS } else { packets(constants, self.ssthresh) }
    }

    /// The host's window and slow start threshold are these now, in packets. Where they are not what it was given, it has moved
    /// them itself, and the core follows. For before every other event.
    pub fn resync(&mut self, constants: &Constants, cwnd: u32, ssthresh: u32) {
        let window = |packets: u32| bytes_q10(u64::from(packets.max(1)) * constants.mss);
        if cwnd != self.cwnd_packets(constants) {
            (self.cwnd, self.carry) = (window(cwnd), 0);
        }
        if ssthresh != self.ssthresh_packets(constants) {
            self.ssthresh = if ssthresh >= NO_THRESHOLD_PACKETS { NO_THRESHOLD } else { window(ssthresh) };
        }
    }

    /// The path carries packets of another size from now on: `constants` have it. The window keeps its bytes; a host that keeps
    /// packets says so ([`State::resync`]).
    pub fn on_mss(&mut self, constants: &Constants) {
        self.cwnd = self.cwnd.max(constants.mss << WINDOW_BITS);
        self.set_base_rtt(constants, self.base_rtt);
    }

    /// Returns true if the window is below the slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Returns true if no loss or cut has set a threshold yet.
    pub fn in_initial_slow_start(&self) -> bool {
        self.is(INITIAL)
    }

    /// The rate on the wire in bit/s, which is Q3 bytes per second; at least one.
    pub fn pacing(&self, constants: &Constants) -> u64 {
        let gain = if self.in_slow_start() { 2 * constants.gain } else { constants.gain };
        let wire = scale(self.cwnd, gain, GAIN_BITS); // Q10 bytes per round trip, below 2^57
        // 8 bits · 8 (of srtt8) · 10^9 ns/s / 2^10. The remainder is below 2^36, so the second product is below 2^62.
        const UNITS: u64 = 62_500_000;
        let whole = wire / self.srtt8;
        if whole >= u64::MAX / UNITS {
            return u64::MAX;
        }
        (whole * UNITS + wire % self.srtt8 * UNITS / self.srtt8).max(1)
    }

    /// Algorithm 1.
    pub fn on_ack(&mut self, constants: &Constants, ack: &AckEvent) {
        let next_round = is_after(ack.ack_seq, self.reduced_until);
        if next_round {
            // However long ago the cut was: the mark stays within reach of sequence numbers that wrap.
            self.reduced_until = ack.ack_seq.wrapping_sub(1);
        }
        self.update_alpha(constants, ack);
        self.update_rtt(constants, ack, next_round);
        if !(self.is(CONGESTED_WAN) || (ack.ecn_echo && next_round)) {
            self.grow(constants, ack); // lines 11 and 12
        } else if next_round {
            let dcn = if ack.ecn_echo { (u64::from(self.alpha) * u64::from(self.f)) >> 30 } else { 0 }; // line 7
            let wan = if self.is(CONGESTED_WAN) { constants.beta } else { 0 }; // line 8
            self.cut(constants, dcn.max(wan).min(constants.max_cut)); // line 9
            self.note_reduction(constants, ack.snd_nxt);
        }
    }

    /// Losses, as TCP: half the flight, or one segment after a timeout. `in_flight` (bytes) and `snd_nxt` are of the time that the
    /// loss was detected. Returns true if it changed the window: the host keeps the old one for [`State::on_undo`].
    pub fn on_loss(&mut self, constants: &Constants, event: LossEvent, in_flight: u64, snd_nxt: u32) -> bool {
        let segment = constants.mss << WINDOW_BITS;
        // The flight counts up to the window: right after a cut more can still be out.
        let half = (bytes_q10(in_flight).min(self.cwnd) / 2).max(2 * segment);
        // A timer that fires again without progress in between changes nothing.
        let changes = event == LossEvent::FastRetransmit || self.cwnd > segment;
        if changes {
            self.cwnd = if event == LossEvent::FastRetransmit { half } else { segment };
            self.ssthresh = half;
            self.set(WAS_INITIAL, self.is(INITIAL));
            self.set(UNDOABLE, true);
            self.set(INITIAL, false);
        }
        self.note_reduction(constants, snd_nxt);
        changes
    }

    /// The last loss was none: back to the window and the threshold (Q10 bytes) of before it, where they are larger. Not after a cut,
    /// which makes congestion certain.
    pub fn on_undo(&mut self, cwnd: u64, ssthresh: u64) {
        if self.is(UNDOABLE) {
            self.cwnd = self.cwnd.max(cwnd.min(MAX_WINDOW));
            self.ssthresh = self.ssthresh.max(ssthresh);
            self.set(INITIAL, self.is(WAS_INITIAL));
            self.set(UNDOABLE, false);
        }
    }

    /// Once per window of data: α ← (1 - g)·α + g·F. Decay rounds up, so that α reaches zero.
    fn update_alpha(&mut self, constants: &Constants, ack: &AckEvent) {
        self.acked += ack.acked;
        self.marked += ack.marked;
        if !is_after(ack.ack_seq, self.alpha_end) {
            return;
        }
        if self.acked > 0 {
            // Counted marks of data beyond a gap come before the data is acknowledged. Both below 2^34, so that the quotient's
            // numerator is below 2^64.
            let marked = self.marked.min(self.acked);
            let shift = (64 - self.acked.leading_zeros()).saturating_sub(34);
            let fraction = ((marked >> shift) << 30) / (self.acked >> shift);
            let alpha = u64::from(self.alpha);
            let decay = (alpha * constants.g + (ONE - 1)) >> 30;
            self.alpha = (alpha - decay + ((fraction * constants.g) >> 30)) as u32;
        }
        (self.acked, self.marked, self.alpha_end) = (0, 0, ack.snd_nxt);
    }

    /// Lines 1 and 3: round-trip times and the verdict on the WAN.
    fn update_rtt(&mut self, constants: &Constants, ack: &AckEvent, next_round: bool) {
        let rtt = ack.rtt.min(MAX_RTT);
        if rtt != NO_RTT {
            if self.is(NO_SAMPLE) {
                self.on_first_rtt(constants, rtt);
            } else if rtt < self.base_rtt {
                self.set_base_rtt(constants, rtt);
            }
            self.srtt8 = self.srtt8 - (self.srtt8 >> 3) + rtt; // RFC 6298, §2
        }
        // Delays of what left before a cut say nothing about the window after it.
        if constants.skip_after_cut && !next_round {
            return;
        }
        if rtt != NO_RTT {
            self.rtt_min = self.rtt_min.min(rtt);
        }
        if !self.is(RTT_WINDOW) {
            self.rtt_end = ack.snd_nxt;
            self.set(RTT_WINDOW, true);
        }
        if !is_after(ack.ack_seq, self.rtt_end) {
            return;
        }
        if self.rtt_min == u64::MAX {
            // A window of data without a sample decides nothing; it ends with the next one, however late that is.
            self.rtt_end = ack.ack_seq.wrapping_sub(1);
        } else {
            self.set(CONGESTED_WAN, self.rtt_min > self.base_rtt + constants.delay_threshold);
            (self.rtt_min, self.rtt_end) = (u64::MAX, ack.snd_nxt);
        }
    }

    /// RTT_base, and with it F (line 6) and h (line 11, bounded as in §III-C; the upper bound goes first).
    fn set_base_rtt(&mut self, constants: &Constants, rtt: u64) {
        self.base_rtt = rtt;
        let pipe = constants.capacity * rtt / 1_000_000; // bytes
        let f = (((4 * constants.threshold) << 30) / (pipe + constants.threshold)).max(constants.f_min);
        self.f = f.min(u64::from(u32::MAX)) as u32;
        let h = scale(pipe, constants.h_per_byte, H_PER_BYTE_BITS - H_BITS);
        let h = h.max(constants.h_min).min(constants.h_max);
        self.increase = (h * constants.mss) >> (H_BITS - WINDOW_BITS);
    }

    /// One ACK's growth: in slow start by what it acknowledges, at most two segments (one after a timeout; RFC 3465), else by
    /// h segments per window of acknowledged bytes. Not in recovery, nor while less than half the window is used (RFC 7661).
    fn grow(&mut self, constants: &Constants, ack: &AckEvent) {
        let cwnd = self.cwnd_bytes();
        let used = ack.in_flight + ack.acked;
        // Of packets that one ACK covers, those without a mark grow the window as if they had their own.
        let acked = ack.acked.saturating_sub(ack.marked);
        if acked == 0 || ack.in_recovery || ack.app_limited || used < cwnd.div_ceil(2) {
            return;
        }
        let growth = if self.in_slow_start() {
            let segments = if self.in_initial_slow_start() { 2 } else { 1 };
            acked.min(segments * constants.mss) << WINDOW_BITS
        } else {
            let acked = acked.min(cwnd);
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
        self.ssthresh = self.cwnd.max(two);
        self.set(INITIAL | UNDOABLE, false); // congestion is certain now
    }

    /// A round trip from now the window may be cut again; with `skip_after_cut` delay is judged afresh from what leaves from now on.
    fn note_reduction(&mut self, constants: &Constants, snd_nxt: u32) {
        (self.reduced_until, self.carry) = (snd_nxt, 0);
        if constants.skip_after_cut {
            self.forget_delay();
        }
    }

    /// Delay is judged afresh.
    fn forget_delay(&mut self) {
        self.rtt_min = u64::MAX;
        self.set(CONGESTED_WAN | RTT_WINDOW, false);
    }

    fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn set(&mut self, flags: u32, on: bool) {
        self.flags = if on { self.flags | flags } else { self.flags & !flags };
    }

    /// The connection was idle for `idle` ns, and the retransmission timeout is `rto` ns: the window is halved for each timeout that has
    /// passed, down to `restart` bytes (RFC 2861; Linux, `tcp_cwnd_restart`), and delay is judged afresh.
    pub fn on_idle_restart(&mut self, constants: &Constants, idle: u64, rto: u64, restart: u64) {
        self.forget_delay();
        let halvings = idle.saturating_sub(1) / rto.max(1);
        if halvings == 0 {
            return;
        }
        if self.ssthresh != NO_THRESHOLD {
            self.ssthresh = self.ssthresh.max((self.cwnd >> 2) + (self.cwnd >> 1));
        }
        let floor = self.cwnd.min(bytes_q10(restart.max(constants.mss)));
        self.cwnd = (self.cwnd >> halvings.min(63)).max(floor);
    }
}

/// Whole packets in a window of Q10 bytes, at least one.
fn packets(constants: &Constants, window: u64) -> u32 {
    let whole = window / (constants.mss << WINDOW_BITS);
    whole.clamp(1, u64::from(NO_THRESHOLD_PACKETS) - 1) as u32
}

/// Bytes in Q10, up to the largest window.
fn bytes_q10(bytes: u64) -> u64 {
    bytes.min(MAX_WINDOW >> WINDOW_BITS) << WINDOW_BITS
}

/// `⌊a·b / 2^bits⌋` without a wider product: as long as `a·b` has no more than 64 + `bits` bits, and b at most 64 - `bits`.
pub fn scale(a: u64, b: u64, bits: u32) -> u64 {
    let low = a & ((1 << bits) - 1);
    (a >> bits) * b + ((low * b) >> bits)
}

#[cfg(test)]
mod tests;
