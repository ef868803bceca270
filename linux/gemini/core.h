/*
 * GEMINI's arithmetic: what crates/cc/src/algorithms/gemini/core.rs does, in C, name by name, bit for bit.
 *
 * Zeng et al., "Congestion Control for Cross-Datacenter Networks", IEEE/ACM ToN 2022 (ICNP 2019), Algorithm 1.
 *
 * Freestanding: no header, no floating point, no signed numbers, no type wider than 64 bits, no call of anything else. Units and bounds stand at the
 * head of core.rs, together with why nothing overflows; a value beyond them is the caller's mistake. vectors/gemini.jsonl records
 * what has to come out, replay.c plays it.
 *
 * The file that includes this one defines GEMINI_NO_TYPES where it has u16, u32 and u64 already.
 */
#ifndef FARLOOP_GEMINI_CORE_H
#define FARLOOP_GEMINI_CORE_H

#ifndef GEMINI_NO_TYPES
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

#define GEMINI_INLINE static inline __attribute__((always_inline, unused))
/* What few ACKs lead to, apart from what all run through: functions that are not inlined, and branches that are seldom taken. */
#define GEMINI_APART static __attribute__((noinline, unused))
#define GEMINI_RARE(x) __builtin_expect(!!(x), 0)

/* One in Q30. */
#define GEMINI_ONE (1ULL << 30)
/* The largest window: 2^36 - 1 bytes, in Q10. */
#define GEMINI_MAX_WINDOW (((1ULL << 36) - 1) << 10)
/* A slow start threshold that no window reaches, in Q10 bytes and in packets (TCP_INFINITE_SSTHRESH). */
#define GEMINI_NO_THRESHOLD (~0ULL)
#define GEMINI_NO_THRESHOLD_PACKETS 0x7fffffffU
/* The longest round-trip time, and what round trips count as until there is a first sample, in ns. */
#define GEMINI_MAX_RTT ((1ULL << 33) - 1)
#define GEMINI_ASSUMED_RTT 1000000ULL
/* An ACK, or a connection that starts, without a round-trip time. */
#define GEMINI_NO_RTT 0ULL
/* No sample in the window of data at hand. */
#define GEMINI_NO_RTT_MIN (~0ULL)

/* What a flow is given when it starts: Constants in core.rs. */
struct gemini_constants {
	u64 mss;		/* payload of a full-size packet in bytes at the start, 1 to 65535 */
	u64 capacity;		/* C in bytes per ms, 1 to 2^31 - 1 */
	u64 threshold;		/* K in bytes, 1 to 2^30 */
	u64 delay_threshold;	/* T in ns */
	u64 beta;		/* Q30 */
	u64 f_min;		/* floor on F, Q30 */
	u64 h_per_byte;		/* H in segments per byte of C * RTT_base, Q40 */
	u64 h_min;		/* least h in segments per round trip, Q20 */
	u64 h_max;		/* largest h, Q20 */
	u64 max_cut;		/* largest fraction of the window that one cut takes, Q30 */
	u64 g;			/* gain of alpha, Q30 */
	u64 gain;		/* windows per smoothed round-trip time, Q16; doubled in slow start */
	u32 skip_after_cut;	/* round-trip times of packets that left before a cut are left out */
	u32 unused;
};

struct gemini_ack {
	u64 acked;		/* bytes acknowledged for the first time */
	u64 in_flight;		/* bytes in flight after this ACK */
	u64 rtt;		/* ns, or GEMINI_NO_RTT */
	u64 marked;		/* payload of the marked packets that it reports: as counted, or acked where a mark is echoed */
	u32 ack_seq;		/* what the receiver still waits for */
	u32 snd_nxt;		/* what is sent next for the first time */
	u32 ecn_echo;		/* it echoes a mark, or reports one */
	u32 in_recovery;	/* the sender is repairing a loss */
	u32 app_limited;	/* the sender has less to send than it might */
};

/* What a flow remembers: State in core.rs. */
struct gemini_state {
	u64 cwnd;		/* Q10 bytes */
	u64 ssthresh;		/* Q10 bytes, or GEMINI_NO_THRESHOLD */
	u64 base_rtt;		/* RTT_base in ns */
	u64 srtt8;		/* smoothed round-trip time in units of ns/8 */
	u64 increase;		/* h times MSS: growth per round trip, Q10 bytes */
	u64 carry;		/* what the last division of growth left over */
	u64 acked;		/* bytes acknowledged in alpha's window of data, */
	u64 marked;		/* and of those marked */
	u64 rtt_min;		/* of the window of data at hand, ns, or GEMINI_NO_RTT_MIN */
	u32 alpha;		/* the fraction of marked bytes, Q30 */
	u32 f;			/* F, Q30 */
	u32 alpha_end;		/* where alpha's window of data ends */
	u32 rtt_end;		/* where RTT_min's does, with GEMINI_RTT_WINDOW */
	u32 reduced_until;	/* marks and delays are old news up to here */
	u16 flags;
	u16 mss;		/* payload of a full-size packet in bytes */
};

_Static_assert(sizeof(struct gemini_state) <= 104, "icsk_ca_priv has 104 bytes");

enum {
	GEMINI_INITIAL = 1 << 0,	/* no loss or cut has set the threshold yet */
	GEMINI_CONGESTED_WAN = 1 << 1,	/* RTT_min > RTT_base + T over the last complete window */
	GEMINI_RTT_WINDOW = 1 << 2,	/* a window of data of RTT_min has begun */
	GEMINI_UNDOABLE = 1 << 3,	/* the last loss can be undone */
	GEMINI_WAS_INITIAL = 1 << 4,	/* GEMINI_INITIAL before that loss */
	GEMINI_NO_SAMPLE = 1 << 5,	/* there has been no round-trip time yet */
};

enum gemini_loss { GEMINI_FAST_RETRANSMIT, GEMINI_TIMEOUT };

GEMINI_INLINE u64 gemini_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

GEMINI_INLINE u64 gemini_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* a * b >> bits without a wider product. */
GEMINI_INLINE u64 gemini_scale(u64 a, u64 b, u32 bits)
{
	u64 low = a & ((1ULL << bits) - 1);

	return (a >> bits) * b + ((low * b) >> bits);
}

/* How many bits a number has. BPF has no instruction for it. */
GEMINI_INLINE u32 gemini_bits(u64 x)
{
	u32 bits = 0;

	if (x >> 32) {
		bits += 32;
		x >>= 32;
	}
	if (x >> 16) {
		bits += 16;
		x >>= 16;
	}
	if (x >> 8) {
		bits += 8;
		x >>= 8;
	}
	if (x >> 4) {
		bits += 4;
		x >>= 4;
	}
	if (x >> 2) {
		bits += 2;
		x >>= 2;
	}
	if (x >> 1)
		return bits + 2;
	return bits + (u32)x;
}

/* Whether sequence number a comes after b: by less than 2^31. */
GEMINI_INLINE u32 gemini_after(u32 a, u32 b)
{
	return (b - a) >> 31;
}

/* Bytes in Q10, up to the largest window. */
GEMINI_INLINE u64 gemini_bytes_q10(u64 bytes)
{
	return gemini_min(bytes, GEMINI_MAX_WINDOW >> 10) << 10;
}

/* The payload of a full-size packet, Q10. */
GEMINI_INLINE u64 gemini_segment(const struct gemini_state *s)
{
	return (u64)s->mss << 10;
}

/* Whole packets in a window of Q10 bytes, at least one. */
GEMINI_INLINE u32 gemini_packets(const struct gemini_state *s, u64 window)
{
	return (u32)gemini_min(gemini_max(window / gemini_segment(s), 1), GEMINI_NO_THRESHOLD_PACKETS - 1);
}

/* Whether that is so many packets. Where the answer is yes, which costs no division, it is certain. */
GEMINI_INLINE u32 gemini_is_packets(const struct gemini_state *s, u64 window, u32 packets)
{
	u64 segment = gemini_segment(s), least = packets * segment;

	return packets && packets < GEMINI_NO_THRESHOLD_PACKETS && window < least + segment && (window >= least || packets == 1);
}

GEMINI_INLINE u32 gemini_is(const struct gemini_state *s, u32 flag)
{
	return s->flags & flag;
}

GEMINI_INLINE void gemini_set(struct gemini_state *s, u32 flags, u32 on)
{
	s->flags = on ? s->flags | flags : s->flags & ~flags;
}

/* The window in whole bytes, at least one. */
GEMINI_INLINE u64 gemini_cwnd_bytes(const struct gemini_state *s)
{
	return gemini_max(s->cwnd >> 10, 1);
}

/* The window in whole packets, at least one. */
GEMINI_INLINE u32 gemini_cwnd_packets(const struct gemini_state *s)
{
	return gemini_packets(s, s->cwnd);
}

/* The slow start threshold in whole packets, at least one, or GEMINI_NO_THRESHOLD_PACKETS. */
GEMINI_INLINE u32 gemini_ssthresh_packets(const struct gemini_state *s)
{
	return s->ssthresh == GEMINI_NO_THRESHOLD ? GEMINI_NO_THRESHOLD_PACKETS : gemini_packets(s, s->ssthresh);
}

GEMINI_INLINE u32 gemini_in_slow_start(const struct gemini_state *s)
{
	return s->cwnd < s->ssthresh;
}

/* The rate in bit/s, which is Q3 bytes per second; at least one. */
GEMINI_INLINE u64 gemini_pacing(const struct gemini_constants *c, const struct gemini_state *s)
{
	const u64 units = 62500000; /* 8 bits * 8 (of srtt8) * 10^9 ns/s / 2^10 */
	u64 wire = gemini_scale(s->cwnd, gemini_in_slow_start(s) ? 2 * c->gain : c->gain, 16);
	u64 whole;

	/* One division where the product has room, two with the same result where it has not. */
	if (!GEMINI_RARE(wire >> 38))
		return gemini_max(wire * units / s->srtt8, 1);
	whole = wire / s->srtt8;
	if (GEMINI_RARE(whole >= ~0ULL / units))
		return ~0ULL;
	return gemini_max(whole * units + (wire - whole * s->srtt8) * units / s->srtt8, 1);
}

/* RTT_base, and with it F (Algorithm 1, line 6) and h (line 11; the upper bound goes first). */
GEMINI_APART void gemini_set_base_rtt(const struct gemini_constants *c, struct gemini_state *s, u64 rtt)
{
	u64 pipe = c->capacity * rtt / 1000000;
	u64 f = gemini_max(((4 * c->threshold) << 30) / (pipe + c->threshold), c->f_min);
	u64 h = gemini_min(gemini_max(gemini_scale(pipe, c->h_per_byte, 20), c->h_min), c->h_max);

	s->base_rtt = rtt;
	s->f = (u32)gemini_min(f, 0xffffffffULL);
	s->increase = (h * s->mss) >> 10;
}

/* The first sample of the flow, in ns, takes the place of the base round-trip time that it was given. */
GEMINI_APART void gemini_on_first_rtt(const struct gemini_constants *c, struct gemini_state *s, u64 rtt)
{
	rtt = gemini_min(gemini_max(rtt, 1), GEMINI_MAX_RTT);
	s->srtt8 = rtt << 3;
	gemini_set(s, GEMINI_NO_SAMPLE, 0);
	gemini_set_base_rtt(c, s, rtt);
}

/*
 * A flow with a window of cwnd bytes and a first base round-trip time in ns, or GEMINI_NO_RTT; in slow start, or in congestion
 * avoidance at that window. seq is the sequence number of its first byte.
 */
GEMINI_INLINE void gemini_init(const struct gemini_constants *c, struct gemini_state *s, u64 cwnd, u32 slow_start, u64 alpha,
			       u64 base_rtt, u32 seq)
{
	cwnd = gemini_bytes_q10(gemini_max(cwnd, c->mss));
	s->mss = (u16)c->mss;
	s->cwnd = cwnd;
	s->ssthresh = slow_start ? GEMINI_NO_THRESHOLD : cwnd;
	s->carry = 0;
	s->acked = 0;
	s->marked = 0;
	s->rtt_min = GEMINI_NO_RTT_MIN;
	s->alpha = (u32)gemini_min(alpha, GEMINI_ONE);
	s->alpha_end = seq;
	s->rtt_end = seq;
	s->reduced_until = seq;
	s->flags = slow_start ? GEMINI_INITIAL : 0;
	gemini_on_first_rtt(c, s, base_rtt == GEMINI_NO_RTT ? GEMINI_ASSUMED_RTT : base_rtt);
	gemini_set(s, GEMINI_NO_SAMPLE, base_rtt == GEMINI_NO_RTT);
}

/* The host's window and threshold in packets: where they are not what it was given, it has moved them, and the core follows. */
GEMINI_INLINE void gemini_resync(struct gemini_state *s, u32 cwnd, u32 ssthresh)
{
	if (cwnd != gemini_cwnd_packets(s)) {
		s->cwnd = gemini_bytes_q10(gemini_max(cwnd, 1) * s->mss);
		s->carry = 0;
	}
	if (ssthresh == gemini_ssthresh_packets(s))
		return;
	if (ssthresh >= GEMINI_NO_THRESHOLD_PACKETS)
		s->ssthresh = GEMINI_NO_THRESHOLD;
	else
		s->ssthresh = gemini_bytes_q10(gemini_max(ssthresh, 1) * s->mss);
}

/* The path carries packets of another size from now on, mss bytes of payload. */
GEMINI_INLINE void gemini_on_mss(const struct gemini_constants *c, struct gemini_state *s, u64 mss)
{
	s->mss = (u16)mss;
	s->cwnd = gemini_max(s->cwnd, gemini_segment(s));
	gemini_set_base_rtt(c, s, s->base_rtt);
}

/* Delay is judged afresh. */
GEMINI_INLINE void gemini_forget_delay(struct gemini_state *s)
{
	s->rtt_min = GEMINI_NO_RTT_MIN;
	gemini_set(s, GEMINI_CONGESTED_WAN | GEMINI_RTT_WINDOW, 0);
}

/* A round trip from now the window may be cut again. */
GEMINI_INLINE void gemini_reduced(const struct gemini_constants *c, struct gemini_state *s, u32 snd_nxt)
{
	s->reduced_until = snd_nxt;
	s->carry = 0;
	if (c->skip_after_cut)
		gemini_forget_delay(s);
}

/* Cuts by a fraction in Q30; two segments remain, or what there was of less. */
GEMINI_INLINE void gemini_cut(struct gemini_state *s, u64 fraction)
{
	u64 two = 2 * gemini_segment(s);
	u64 floor = gemini_min(s->cwnd, two);

	s->cwnd = gemini_max(s->cwnd - gemini_scale(s->cwnd, fraction, 30), floor);
	s->ssthresh = gemini_max(s->cwnd, two);
	gemini_set(s, GEMINI_INITIAL | GEMINI_UNDOABLE, 0);
}

/* Lines 7 to 9, at most once per round trip. */
GEMINI_APART void gemini_reduce(const struct gemini_constants *c, struct gemini_state *s, u32 ecn_echo, u32 snd_nxt)
{
	u64 dcn = ecn_echo ? ((u64)s->alpha * s->f) >> 30 : 0; /* line 7 */
	u64 wan = gemini_is(s, GEMINI_CONGESTED_WAN) ? c->beta : 0; /* line 8 */

	gemini_cut(s, gemini_min(gemini_max(dcn, wan), c->max_cut)); /* line 9 */
	gemini_reduced(c, s, snd_nxt);
}

/* Once per window of data: alpha <- (1 - g) alpha + g F. Decay rounds up, so that alpha reaches zero. */
GEMINI_APART void gemini_next_alpha(const struct gemini_constants *c, struct gemini_state *s, u32 snd_nxt)
{
	if (s->acked > 0) {
		u32 bits = gemini_bits(s->acked);
		u32 shift = bits > 34 ? bits - 34 : 0;
		/* Counted marks of data beyond a gap come before the data is acknowledged. */
		u64 fraction = ((gemini_min(s->marked, s->acked) >> shift) << 30) / (s->acked >> shift);
		u64 decay = (s->alpha * c->g + (GEMINI_ONE - 1)) >> 30;

		s->alpha = (u32)(s->alpha - decay + ((fraction * c->g) >> 30));
	}
	s->acked = 0;
	s->marked = 0;
	s->alpha_end = snd_nxt;
}

GEMINI_INLINE void gemini_update_alpha(const struct gemini_constants *c, struct gemini_state *s, const struct gemini_ack *ack)
{
	s->acked += ack->acked;
	s->marked += ack->marked;
	if (GEMINI_RARE(gemini_after(ack->ack_seq, s->alpha_end)))
		gemini_next_alpha(c, s, ack->snd_nxt);
}

/* The end of a window of data of RTT_min: the verdict on the WAN. */
GEMINI_APART void gemini_judge_wan(const struct gemini_constants *c, struct gemini_state *s, u32 ack_seq, u32 snd_nxt)
{
	if (s->rtt_min == GEMINI_NO_RTT_MIN) {
		/* A window without a sample decides nothing; it ends with the next one, however late that is. */
		s->rtt_end = ack_seq - 1;
	} else {
		gemini_set(s, GEMINI_CONGESTED_WAN, s->rtt_min > s->base_rtt + c->delay_threshold);
		s->rtt_min = GEMINI_NO_RTT_MIN;
		s->rtt_end = snd_nxt;
	}
}

/* Lines 1 and 3: round-trip times and the verdict on the WAN. */
GEMINI_INLINE void gemini_update_rtt(const struct gemini_constants *c, struct gemini_state *s, const struct gemini_ack *ack,
				     u32 next_round)
{
	u64 rtt = gemini_min(ack->rtt, GEMINI_MAX_RTT);

	if (rtt != GEMINI_NO_RTT) {
		if (GEMINI_RARE(gemini_is(s, GEMINI_NO_SAMPLE)))
			gemini_on_first_rtt(c, s, rtt);
		else if (GEMINI_RARE(rtt < s->base_rtt))
			gemini_set_base_rtt(c, s, rtt);
		s->srtt8 = s->srtt8 - (s->srtt8 >> 3) + rtt; /* RFC 6298, section 2 */
	}
	if (c->skip_after_cut && !next_round)
		return;
	if (rtt != GEMINI_NO_RTT)
		s->rtt_min = gemini_min(s->rtt_min, rtt);
	if (GEMINI_RARE(!gemini_is(s, GEMINI_RTT_WINDOW))) {
		s->rtt_end = ack->snd_nxt;
		gemini_set(s, GEMINI_RTT_WINDOW, 1);
	}
	if (GEMINI_RARE(gemini_after(ack->ack_seq, s->rtt_end)))
		gemini_judge_wan(c, s, ack->ack_seq, ack->snd_nxt);
}

/* Growth in congestion avoidance by so many bytes that both numbers lose bits, so that the product has room. */
GEMINI_APART u64 gemini_much(u64 acked, u64 increase, u64 cwnd)
{
	u32 shift = gemini_bits(acked) - 18;

	return (acked >> shift) * increase / (cwnd >> shift);
}

/*
 * One ACK's growth: in slow start by what it acknowledges, at most two segments (one after a timeout; RFC 3465), else by h segments
 * per window of acknowledged bytes. Not in recovery, nor while less than half the window is used (RFC 7661).
 */
GEMINI_INLINE void gemini_grow(struct gemini_state *s, const struct gemini_ack *ack)
{
	u64 cwnd = gemini_cwnd_bytes(s);
	u64 growth, acked;

	/* Of packets that one ACK covers, those without a mark grow the window as if they had their own. */
	if (ack->acked <= ack->marked || ack->in_recovery || ack->app_limited || ack->in_flight + ack->acked < (cwnd + 1) / 2)
		return;
	acked = ack->acked - ack->marked;
	if (GEMINI_RARE(gemini_in_slow_start(s))) {
		growth = gemini_min(acked, (gemini_is(s, GEMINI_INITIAL) ? 2 : 1) * (u64)s->mss) << 10;
	} else {
		acked = gemini_min(acked, cwnd);
		if (!GEMINI_RARE(acked >> 18)) {
			u64 total = acked * s->increase + s->carry;

			growth = total / cwnd;
			s->carry = total - growth * cwnd;
		} else {
			growth = gemini_much(acked, s->increase, cwnd);
		}
	}
	s->cwnd = gemini_min(s->cwnd + growth, GEMINI_MAX_WINDOW);
}

/* Algorithm 1. */
GEMINI_INLINE void gemini_on_ack(const struct gemini_constants *c, struct gemini_state *s, const struct gemini_ack *ack)
{
	u32 next_round = gemini_after(ack->ack_seq, s->reduced_until);

	if (next_round) /* however long ago the cut was: the mark stays within reach of numbers that wrap */
		s->reduced_until = ack->ack_seq - 1;
	gemini_update_alpha(c, s, ack);
	gemini_update_rtt(c, s, ack, next_round);
	if (!GEMINI_RARE((ack->ecn_echo && next_round) || gemini_is(s, GEMINI_CONGESTED_WAN))) {
		gemini_grow(s, ack); /* lines 11 and 12 */
	} else if (next_round) {
		gemini_reduce(c, s, ack->ecn_echo, ack->snd_nxt);
	}
}

/*
 * Losses, as TCP: half the flight, or one segment after a timeout. in_flight (bytes) and snd_nxt are of the time that the loss was
 * detected. Says whether it changed the window: what stood there before is the host's to keep, for gemini_on_undo().
 */
GEMINI_INLINE u32 gemini_on_loss(const struct gemini_constants *c, struct gemini_state *s, enum gemini_loss event, u64 in_flight,
				 u32 snd_nxt)
{
	u64 segment = gemini_segment(s);
	u64 half = gemini_max(gemini_min(gemini_bytes_q10(in_flight), s->cwnd) / 2, 2 * segment);
	/* A timer that fires again without progress in between changes nothing. */
	u32 changes = event == GEMINI_FAST_RETRANSMIT || s->cwnd > segment;

	if (changes) {
		s->cwnd = event == GEMINI_FAST_RETRANSMIT ? half : segment;
		s->ssthresh = half;
		gemini_set(s, GEMINI_WAS_INITIAL, gemini_is(s, GEMINI_INITIAL));
		gemini_set(s, GEMINI_UNDOABLE, 1);
		gemini_set(s, GEMINI_INITIAL, 0);
	}
	gemini_reduced(c, s, snd_nxt);
	return changes;
}

/* The last loss was none: back to the window and the threshold (Q10 bytes) of before it. Not after a cut. */
GEMINI_INLINE void gemini_on_undo(struct gemini_state *s, u64 cwnd, u64 ssthresh)
{
	if (!gemini_is(s, GEMINI_UNDOABLE))
		return;
	s->cwnd = gemini_max(s->cwnd, gemini_min(cwnd, GEMINI_MAX_WINDOW));
	s->ssthresh = gemini_max(s->ssthresh, ssthresh);
	gemini_set(s, GEMINI_INITIAL, gemini_is(s, GEMINI_WAS_INITIAL));
	gemini_set(s, GEMINI_UNDOABLE, 0);
}

/*
 * The connection was idle for idle ns, and the retransmission timeout is rto ns: the window is halved for each timeout that has passed,
 * down to restart bytes (RFC 2861), and delay is judged afresh.
 */
GEMINI_INLINE void gemini_on_idle_restart(struct gemini_state *s, u64 idle, u64 rto, u64 restart)
{
	u64 halvings = (idle > 0 ? idle - 1 : 0) / gemini_max(rto, 1);
	u64 floor;

	gemini_forget_delay(s);
	if (halvings == 0)
		return;
	if (s->ssthresh != GEMINI_NO_THRESHOLD)
		s->ssthresh = gemini_max(s->ssthresh, (s->cwnd >> 2) + (s->cwnd >> 1));
	floor = gemini_min(s->cwnd, gemini_bytes_q10(gemini_max(restart, s->mss)));
	s->cwnd = gemini_max(s->cwnd >> gemini_min(halvings, 63), floor);
}

#endif
