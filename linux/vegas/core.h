/*
 * Vegas in integers: Brakmo, O'Malley, Peterson, "TCP Vegas: New Techniques for Congestion Detection and Avoidance", SIGCOMM 1994; Brakmo,
 * Peterson, IEEE JSAC 13(8), 1995. Equation numbers are those of spec/vegas.md; crates/cc/src/algorithms/vegas.rs has the same in real numbers.
 *
 * Freestanding: no header, no signed or floating-point numbers, no type wider than 64 bits, no call. Windows are packets, of which 2^22 - 1
 * count; round-trip times are us, below 2^31.
 *
 * The file that includes this one defines VEGAS_NO_TYPES where it has u32 and u64 already.
 */
#ifndef FARLOOP_VEGAS_CORE_H
#define FARLOOP_VEGAS_CORE_H

#ifndef VEGAS_NO_TYPES
typedef unsigned int u32;
typedef unsigned long long u64;
#endif

#define VEGAS_INLINE static inline __attribute__((always_inline, unused))

#define VEGAS_MAX_PACKETS ((1U << 22) - 1)
#define VEGAS_NO_RTT (~0U)
/* A round with so many samples or fewer decides nothing (7). */
#define VEGAS_TOO_FEW_SAMPLES 2

struct vegas_constants {
	u64 alpha;		/* packets in queues, Q10 */
	u64 beta;		/* Q10, at least alpha */
	u64 gamma;		/* Q10 */
	u32 loss_factor;	/* of the window that a fast retransmit leaves, Q16, up to 2^16 */
	u32 min_window;		/* packets, at least 1 */
};

struct vegas_state {
	u32 base_rtt;		/* BaseRTT, us, or VEGAS_NO_RTT */
	u32 round_rtt;		/* the least of this round, or VEGAS_NO_RTT */
	u32 samples;		/* of this round */
	u32 used;		/* most packets in flight in this round */
	u32 round_end;		/* sequence number */
	u32 carry;		/* acknowledged packets towards Reno's next one */
	u32 flags;
	u32 acks;		/* the host's count */
};

_Static_assert(sizeof(struct vegas_state) <= 104, "icsk_ca_priv has 104 bytes");

enum {
	VEGAS_AVOIDS = 1 << 0,	/* congestion avoidance */
	VEGAS_RESTS = 1 << 1,	/* slow start, a round without growth */
	VEGAS_AVOIDED = 1 << 2,	/* VEGAS_AVOIDS before the last loss */
};

struct vegas_window {
	u32 cwnd;		/* packets */
	u32 ssthresh;		/* packets; in congestion avoidance at most cwnd */
};

VEGAS_INLINE u32 vegas_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

VEGAS_INLINE u32 vegas_max(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* A round that ends when seq is acknowledged. */
VEGAS_INLINE void vegas_begin_round(struct vegas_state *s, u32 seq)
{
	s->round_end = seq;
	s->round_rtt = VEGAS_NO_RTT;
	s->samples = 0;
	s->used = 0;
}

/* A connection whose handshake took rtt us, or VEGAS_NO_RTT. seq is what it sends next. */
VEGAS_INLINE void vegas_init(struct vegas_state *s, u32 rtt, u32 seq)
{
	s->base_rtt = rtt == VEGAS_NO_RTT ? rtt : vegas_max(rtt, 1);
	s->carry = 0;
	s->flags = 0;
	vegas_begin_round(s, seq);
}

VEGAS_INLINE void vegas_on_rtt(struct vegas_state *s, u32 rtt)
{
	rtt = vegas_min(vegas_max(rtt, 1), 0x7fffffff);
	s->base_rtt = vegas_min(s->base_rtt, rtt);
	s->round_rtt = vegas_min(s->round_rtt, rtt);
	s->samples += 1;
}

/* Own packets in queues, Q10 (1). */
VEGAS_INLINE u64 vegas_queued(const struct vegas_state *s, u32 window)
{
	return ((u64)vegas_min(window, VEGAS_MAX_PACKETS) << 10) * (s->round_rtt - s->base_rtt) / s->round_rtt;
}

/* A round trip is over: expected and actual rate are compared. */
VEGAS_INLINE void vegas_end_round(const struct vegas_constants *c, struct vegas_state *s, struct vegas_window *w)
{
	/* Whoever is held back by the application neither fills the window nor learns from it. */
	u64 queued = vegas_queued(s, vegas_min(w->cwnd, s->used));
	u32 least = vegas_min(c->min_window, w->cwnd);

	if (!(s->flags & VEGAS_AVOIDS)) {
		if (queued > c->gamma) { /* (3), (4) */
			u32 carried = (u32)((u64)vegas_min(w->cwnd, VEGAS_MAX_PACKETS) * s->base_rtt / s->round_rtt);

			w->cwnd = vegas_max(vegas_min(w->cwnd, carried + 1), least);
			s->flags |= VEGAS_AVOIDS;
		}
		s->flags ^= VEGAS_RESTS;
	} else if (queued > c->beta) {
		w->cwnd = vegas_max(w->cwnd - 1, least); /* (2) */
	} else if (queued < c->alpha && s->used + 1 >= w->cwnd) {
		w->cwnd = vegas_min(w->cwnd + 1, 0x7fffffff); /* (2) */
	}
}

/* One ACK's worth of Reno, if the window is in use (7). */
VEGAS_INLINE void vegas_grow_as_reno(struct vegas_state *s, struct vegas_window *w, u32 acked)
{
	s->carry += vegas_min(acked, w->cwnd);
	if (s->carry >= w->cwnd) {
		s->carry -= w->cwnd;
		w->cwnd = vegas_min(w->cwnd + 1, 0x7fffffff);
	}
}

/*
 * An ACK of so many packets outside recovery, after its sample. in_flight is what it leaves; app_limited: the application had less to
 * send than the window allows.
 */
VEGAS_INLINE void vegas_on_ack(const struct vegas_constants *c, struct vegas_state *s, struct vegas_window *w, u32 ack_seq, u32 snd_nxt,
			       u32 in_flight, u32 acked, u32 app_limited)
{
	u32 used = in_flight + acked;

	if ((s->round_end - ack_seq) >> 31) {
		if (s->samples > VEGAS_TOO_FEW_SAMPLES)
			vegas_end_round(c, s, w);
		else if (s->flags & VEGAS_AVOIDS && !app_limited && 2 * used >= w->cwnd)
			vegas_grow_as_reno(s, w, acked);
		vegas_begin_round(s, snd_nxt);
	}
	s->used = vegas_max(s->used, used);
	/* In flight lags a growing window, so slow start only asks that half of it is used. */
	if (!(s->flags & (VEGAS_AVOIDS | VEGAS_RESTS)) && !app_limited && w->cwnd < 2 * s->used) {
		w->cwnd = vegas_min(w->cwnd + acked, 0x7fffffff);
		if (w->cwnd >= w->ssthresh)
			s->flags |= VEGAS_AVOIDS;
	}
	if (s->flags & VEGAS_AVOIDS)
		w->ssthresh = vegas_min(w->ssthresh, w->cwnd);
}

/* A fast retransmit: the threshold (5). */
VEGAS_INLINE u32 vegas_on_loss(const struct vegas_constants *c, struct vegas_state *s, u32 cwnd)
{
	u32 left = (u32)(((u64)cwnd * c->loss_factor) >> 16);

	s->flags = VEGAS_AVOIDS | (s->flags & VEGAS_AVOIDS ? VEGAS_AVOIDED : 0);
	return vegas_max(left, vegas_min(c->min_window, cwnd));
}

/* That loss was a timeout at a window of so many packets: the threshold (6), and slow start. */
VEGAS_INLINE u32 vegas_on_timeout(const struct vegas_constants *c, struct vegas_state *s, u32 cwnd)
{
	s->flags &= ~(VEGAS_AVOIDS | VEGAS_RESTS);
	return vegas_max(cwnd / 2, c->min_window);
}

/* The last loss was none. */
VEGAS_INLINE void vegas_on_undo(struct vegas_state *s)
{
	s->flags = s->flags & VEGAS_AVOIDED ? VEGAS_AVOIDS : 0;
}

/* The host has shrunk the window in a silence: below the threshold it starts slowly again. */
VEGAS_INLINE void vegas_on_restart(struct vegas_state *s)
{
	s->flags = 0;
}

#endif
