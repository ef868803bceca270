/*
 * DCTCP (RFC 8257) in integers; crates/cc/src/algorithms/dctcp.rs has the same in real numbers.
 *
 * Freestanding: no header, no signed or floating-point numbers, no type wider than 64 bits, no call. Windows are packets, up to 2^31 - 1.
 *
 * The file that includes this one defines DCTCP_NO_TYPES where it has u32 and u64 already.
 */
#ifndef FARLOOP_DCTCP_CORE_H
#define FARLOOP_DCTCP_CORE_H

#ifndef DCTCP_NO_TYPES
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

#define DCTCP_INLINE static inline __attribute__((always_inline, unused))

/* One in Q30. */
#define DCTCP_ONE (1ULL << 30)

struct dctcp_constants {
	u64 g;			/* gain of alpha, Q30, up to 2^30 */
	u64 initial_alpha;	/* Q30, up to 2^30 */
	u64 increase;		/* packets per round trip, Q16, up to 2^33 */
	u32 halve;		/* a loss takes half of the window, not alpha/2 */
	u32 unused;
};

struct dctcp_state {
	u64 credit;		/* growth that is no packet yet: packets in Q16, times packets of window */
	u32 alpha;		/* Q30 */
	u32 window_end;		/* where alpha's window of data ends */
	u32 delivered;		/* the host's count when it began, */
	u32 delivered_ce;	/* and of packets with an echoed mark */
	u32 ce_state;		/* receiver: the last packet was marked */
	u32 prior_rcv_nxt;	/* receiver: what it waited for when that was so */
	u32 acks;		/* the host's count */
	u32 ca_state;		/* the host's */
};

_Static_assert(sizeof(struct dctcp_state) <= 104, "icsk_ca_priv has 104 bytes");

/* A connection begins with the host's counts of delivered packets, and the sequence number of its first byte. */
DCTCP_INLINE void dctcp_init(const struct dctcp_constants *c, struct dctcp_state *s, u32 delivered, u32 delivered_ce, u32 seq)
{
	s->credit = 0;
	s->alpha = (u32)(c->initial_alpha < DCTCP_ONE ? c->initial_alpha : DCTCP_ONE);
	s->window_end = seq;
	s->delivered = delivered;
	s->delivered_ce = delivered_ce;
}

/* An ACK. Once per window of data: alpha <- (1 - g) alpha + g F (section 3.3). Decay rounds up, so that alpha reaches zero. */
DCTCP_INLINE void dctcp_on_ack(const struct dctcp_constants *c, struct dctcp_state *s, u32 delivered, u32 delivered_ce, u32 ack_seq,
			       u32 snd_nxt)
{
	u32 acked = delivered - s->delivered, marked = delivered_ce - s->delivered_ce;

	if (!((s->window_end - ack_seq) >> 31) || !acked)
		return;
	if (marked > acked)
		marked = acked;
	s->alpha = (u32)(s->alpha - ((s->alpha * c->g + (DCTCP_ONE - 1)) >> 30) + ((((u64)marked << 30) / acked * c->g) >> 30));
	s->window_end = snd_nxt;
	s->delivered = delivered;
	s->delivered_ce = delivered_ce;
}

/* What a mark leaves of a window: cwnd (1 - alpha/2), two packets at least (section 3.3, item 9). */
DCTCP_INLINE u32 dctcp_after_mark(const struct dctcp_state *s, u32 cwnd)
{
	u32 left = cwnd - (u32)(((u64)cwnd * s->alpha) >> 31);

	return left > 2 ? left : 2;
}

/* What a loss with so many packets in flight leaves of it (section 3.5). */
DCTCP_INLINE u32 dctcp_after_loss(const struct dctcp_constants *c, const struct dctcp_state *s, u32 flight)
{
	if (!c->halve)
		return dctcp_after_mark(s, flight);
	return flight / 2 > 2 ? flight / 2 : 2;
}

/* The window grows by `increase` packets per window of acknowledged packets. */
DCTCP_INLINE u32 dctcp_grow(const struct dctcp_constants *c, struct dctcp_state *s, u32 cwnd, u32 acked)
{
	u64 packet = (u64)cwnd << 16, packets;

	s->credit += (acked < cwnd ? acked : cwnd) * c->increase;
	packets = s->credit / packet;
	s->credit -= packets * packet;
	return packets < 0x7fffffff - cwnd ? cwnd + (u32)packets : 0x7fffffff;
}

#endif
