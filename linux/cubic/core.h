/*
 * CUBIC (RFC 9438) in integers. Equation numbers are the RFC's; crates/cc/src/algorithms/cubic.rs has the same in real numbers.
 *
 * Freestanding: no header, no signed or floating-point numbers, no type wider than 64 bits, no call. Windows are segments in Q24, up to
 * 2^22 - 1 of them; times are ms, of which 32 bits wrap. A curve further than 2^17 ms from its K counts as that far away.
 *
 * The file that includes this one defines CUBIC_NO_TYPES where it has u32 and u64 already.
 */
#ifndef FARLOOP_CUBIC_CORE_H
#define FARLOOP_CUBIC_CORE_H

#ifndef CUBIC_NO_TYPES
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

#define CUBIC_INLINE static inline __attribute__((always_inline, unused))

#define CUBIC_MAX_SEGMENTS ((1U << 22) - 1)
#define CUBIC_MAX_TIME (1U << 17)

struct cubic_constants {
	u64 c;			/* C in segments per second cubed, Q20, 2^10 to 2^30 */
	u64 beta;		/* Q16, up to 2^16 */
	u64 alpha;		/* of Reno's estimate, Q24, up to 2^24 */
	u32 reno_friendly;
	u32 fast_convergence;
	u32 alpha_one;		/* beyond the window of the last loss alpha is 1 (section 4.3) */
	u32 growth_before_loss;	/* least growth per round trip while w_max is 0, Q24, up to 2^23 */
};

/* What a loss changes, and one that was none gives back. */
struct cubic_stage {
	u64 w_max;		/* of the last loss; 0 for none, and after a timeout */
	u64 prior;		/* cwnd_prior: the window when the threshold was last set; 0 for none */
	u64 origin;		/* W_max of the curve */
	u64 w_est;		/* what Reno would have */
	u32 start;		/* when the curve began */
	u32 k;			/* K in ms */
};

struct cubic_state {
	u64 cwnd;
	struct cubic_stage now;
	struct cubic_stage before;
	u32 stalled;		/* since when the window cannot grow, with CUBIC_STALLED */
	u32 last;		/* when it last grew */
	u32 flags;
	u32 acks;		/* the host's count */
};

_Static_assert(sizeof(struct cubic_state) <= 104, "icsk_ca_priv has 104 bytes");

enum {
	CUBIC_CURVE = 1 << 0,	/* a curve has begun */
	CUBIC_STALLED = 1 << 1,
	CUBIC_UNDOABLE = 1 << 2,
	CUBIC_HAD_CURVE = 1 << 3, /* CUBIC_CURVE before the loss that can be undone */
};

CUBIC_INLINE u64 cubic_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

CUBIC_INLINE u64 cubic_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

CUBIC_INLINE u64 cubic_q24(u32 segments)
{
	return cubic_min(cubic_max(segments, 1), CUBIC_MAX_SEGMENTS) << 24;
}

/* The window in whole segments, at least one. */
CUBIC_INLINE u32 cubic_segments(const struct cubic_state *s)
{
	return (u32)cubic_max(s->cwnd >> 24, 1);
}

/* The largest number whose cube is not above x: one binary digit after the other, without a branch that a verifier would have to follow. */
CUBIC_INLINE u32 cubic_root(u64 x)
{
	u64 root = 0, step, zero;
	u32 shift = 66;

	while (shift) {
		shift -= 3;
		root <<= 1;
		step = 3 * root * (root + 1) + 1;
		zero = ((x >> shift) - step) >> 63; /* the digit is 0 */
		x -= (step << shift) & (zero - 1);
		root += zero ^ 1;
	}
	return (u32)root;
}

/* K for a curve that begins so far below its W_max (Eq. 2): the cube root of distance/C. */
CUBIC_INLINE u32 cubic_k(const struct cubic_constants *c, u64 distance)
{
	u64 cubed = ((distance >> 8) << 20) / c->c; /* s^3 in Q16 */

	/* 10^9 ms^3 / 2^16. */
	return (u32)cubic_min(cubic_root(cubed * 15259), CUBIC_MAX_TIME);
}

/* W_cubic(t), t in ms (Eq. 1). */
CUBIC_INLINE u64 cubic_curve(const struct cubic_constants *c, const struct cubic_stage *stage, u32 t)
{
	u64 d = cubic_min(t > stage->k ? t - stage->k : stage->k - t, CUBIC_MAX_TIME);
	u64 offset = ((d * d * d / 1000000 * c->c) / 1000) << 4;

	if (t >= stage->k)
		return stage->origin + offset;
	return stage->origin > offset ? stage->origin - offset : 0;
}

/* The host's window in segments: where it is not what it was given, which at first is nothing, the host has moved it, and the curve ends. */
CUBIC_INLINE void cubic_follow(struct cubic_state *s, u32 segments)
{
	if (s->cwnd && segments == cubic_segments(s))
		return;
	s->cwnd = cubic_q24(segments);
	s->flags &= ~(CUBIC_CURVE | CUBIC_STALLED);
}

/* An ACK that may not grow the window: time stands still (section 4.2). */
CUBIC_INLINE void cubic_stall(struct cubic_state *s, u32 now)
{
	if (!(s->flags & CUBIC_STALLED))
		s->stalled = now;
	s->flags |= CUBIC_STALLED;
}

/* Data goes out after silence: it began with the last growth, at the latest. */
CUBIC_INLINE void cubic_wake(struct cubic_state *s)
{
	cubic_stall(s, s->last);
}

/* Slow start has grown the window. */
CUBIC_INLINE void cubic_slow_start(struct cubic_state *s, u32 segments)
{
	s->cwnd = cubic_q24(segments);
	s->flags &= ~(CUBIC_CURVE | CUBIC_STALLED);
}

/* An ACK of so many segments in congestion avoidance, now, with a round-trip time of rtt; both in ms. */
CUBIC_INLINE void cubic_grow(const struct cubic_constants *c, struct cubic_state *s, u32 now, u32 rtt, u32 acked)
{
	struct cubic_stage *stage = &s->now;
	u64 cwnd = s->cwnd, per = cwnd >> 16, alpha, target, product, least;
	u32 t;

	acked = (u32)cubic_min(cubic_min(acked, cwnd >> 24), (1 << 14) - 1);
	if (!(s->flags & CUBIC_CURVE)) {
		stage->origin = cubic_max(stage->w_max, cwnd);
		stage->k = cubic_k(c, stage->origin - cwnd);
		stage->w_est = cwnd;
		stage->start = now;
	} else if (s->flags & CUBIC_STALLED) {
		stage->start += now - s->stalled;
	}
	s->flags = (s->flags | CUBIC_CURVE) & ~CUBIC_STALLED;
	s->last = now;
	t = now - stage->start;

	/* Eq. 4, and section 4.3. Without a loss so far there is no window to be beyond. */
	alpha = c->alpha_one && stage->prior && stage->w_est >= stage->prior ? 1 << 24 : c->alpha;
	stage->w_est = cubic_min(stage->w_est + ((alpha * acked) << 8) / per, cubic_q24(CUBIC_MAX_SEGMENTS));
	/* Before a loss nothing is known of the path (tcp_cubic.c, bictcp_update). */
	least = cubic_min(stage->w_max ? cwnd : cwnd + (u64)acked * c->growth_before_loss, cubic_q24(CUBIC_MAX_SEGMENTS));
	if (c->reno_friendly && cubic_curve(c, stage, t) < stage->w_est) {
		s->cwnd = cubic_max(stage->w_est, least);
		return;
	}
	/* Sections 4.2 and 4.4: towards the curve one round trip ahead, at most half as much again per round trip. */
	target = cubic_min(cubic_max(cubic_curve(c, stage, t + rtt), cwnd), cwnd + (cwnd >> 1));
	product = (target - cwnd) * acked;
	s->cwnd = cubic_min(cwnd + (product >> 55 ? (product / per) << 8 : (product << 8) / per), cubic_q24(CUBIC_MAX_SEGMENTS));
	s->cwnd = cubic_max(s->cwnd, least);
}

/* A loss or a mark with so many segments in flight (sections 4.6 and 4.7): the threshold in segments. The window is the host's to move. */
CUBIC_INLINE u32 cubic_on_loss(const struct cubic_constants *c, struct cubic_state *s, u32 flight)
{
	u64 cwnd = s->cwnd;

	s->before = s->now;
	s->flags = (s->flags & CUBIC_CURVE ? CUBIC_HAD_CURVE : 0) | CUBIC_UNDOABLE;
	s->now.w_max = c->fast_convergence && cwnd < s->now.w_max ? (cwnd * ((1 << 16) + c->beta)) >> 17 : cwnd;
	s->now.prior = cwnd;
	return (u32)cubic_max((cubic_q24(flight) * c->beta) >> 40, 2);
}

/* That loss was a timeout: the next curve is its own measure (section 4.8). */
CUBIC_INLINE void cubic_on_timeout(struct cubic_state *s)
{
	s->now.w_max = 0;
}

/* The last loss was none: everything as it was (section 4.9), at a window that the host gives back. */
CUBIC_INLINE void cubic_on_undo(struct cubic_state *s, u32 segments)
{
	s->cwnd = cubic_q24(segments);
	if (!(s->flags & CUBIC_UNDOABLE))
		return;
	s->now = s->before;
	s->flags = s->flags & CUBIC_HAD_CURVE ? CUBIC_CURVE : 0;
}

#endif
