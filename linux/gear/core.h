/*
 * Gear's arithmetic for kernels: HPCC's law for flows inside a datacenter, Gear's for flows across (spec/gear.md's `gear-without-intra`), in
 * integers. What the simulator computes in floating point (crates/cc/src/algorithms/hpcc.rs, gear/cross.rs, gear/signal.rs), rule by rule.
 *
 * Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, Algorithm 1; Han et al., "In-Band Network Telemetry-Based Congestion Control
 * for Cross-Datacenter Networks", IEEE ToN 2025, Eqs. 1, 2, 8-10 and Algorithm 1.
 *
 * Freestanding: no header, no floating point, no signed numbers, no type wider than 64 bits, no call. Qn is a number in units of 2^-n.
 *
 *   quantity                  unit        bound      and therefore
 *   window, pipe              Q10 bytes   2^46       window * payload < 2^62; (window >> 20) * factor < 2^56
 *   load, factor, eta         Q20         2^26, 2^30
 *   span, round-trip time     ns          2^33       rate * span < 2^63; a queue (2^22) * span << 4 < 2^59
 *   rate                      bit per ms  2^30
 *   bytes held in a span      Q4          2^37       held << 26 < 2^63
 */
#ifndef FARLOOP_GEAR_CORE_H
#define FARLOOP_GEAR_CORE_H

#include "option.h"

/*
 * A step that a kernel's verifier may look at by itself: who includes this for BPF defines it as a global function. Its pointers are never
 * null, which the verifier does not know.
 */
#ifndef GEAR_STEP
#define GEAR_STEP static __attribute__((unused))
#endif

#define GEAR_ONE (1ULL << 20)
#define GEAR_MAX_LOAD (1ULL << 26)
#define GEAR_MAX_FACTOR (1ULL << 30)
#define GEAR_MAX_WINDOW ((1ULL << 46) - 1)
#define GEAR_MAX_SPAN ((1ULL << 33) - 1)
#define GEAR_MAX_RATE (1ULL << 30)
/* Below this a round-trip time is taken for this, in ns. */
#define GEAR_MIN_RTT 1000ULL
#define GEAR_NO_RTT 0ULL
/* What was known of the path when packets left: so many snapshots per round trip. */
#define GEAR_SNAPSHOTS 64U
/* After a loss 0.7 of the window, and 3 (1 - 0.7)/(1 + 0.7) packets per round trip from there (RFC 9438, section 4.3), Q20. */
#define GEAR_AFTER_LOSS 734003ULL
#define GEAR_AIMD_STEP 555128ULL

/* What a flow is given. */
struct gear_constants {
	u64 line_rate;		/* of the sender's NIC, bit per ms, up to GEAR_MAX_RATE */
	u64 irtt;		/* round-trip time inside a datacenter, in which Eq. 1 counts a queue, ns */
	u64 cross_rtt;		/* a flow with this base round-trip time or a longer one is across, ns */
	u64 eta;		/* Q20 */
	u64 w_ai;		/* W_AI over line rate times round-trip time, Q20 */
	u64 max_stage;
	u64 packet;		/* bytes on the wire of a full packet, as switches count them, 1 to 65535 */
	u64 payload;		/* among them */
	u64 in_flight;		/* what may be out over the window while pacing limits, at least one, Q20 */
};

struct gear_ack {
	u64 now;		/* ns, of any clock that does not go back */
	u64 rtt;		/* ns, or GEAR_NO_RTT */
	u64 acked;		/* bytes of payload acknowledged for the first time */
	u32 ack_seq;		/* what the receiver still waits for */
	u32 snd_nxt;		/* what is sent next for the first time */
	u32 in_recovery;
	u32 hops;		/* entries, 0 without telemetry */
	struct option_hop hop[OPTION_ENTRIES];
};

struct gear_record {
	u32 ts;
	u32 tx;
	u32 queue;
};

/* The latest of each hop; `of` has a bit for each hop that there is. */
struct gear_known {
	u32 of;
	struct gear_record hop[OPTION_MOST_HOPS];
};

struct gear_snapshot {
	u32 seq;		/* what was sent next when this was known */
	struct gear_known known;
};

enum {
	GEAR_CROSS = 1 << 0,
	GEAR_STARTED = 1 << 1,	/* an ACK with telemetry has opened the first round */
	GEAR_SAMPLED = 1 << 2,	/* a sample was used */
	GEAR_BLIND = 1 << 3,	/* there is no telemetry: TCP's rules hold */
	GEAR_SLOW_START = 1 << 4,	/* of a blind flow */
	GEAR_LOST = 1 << 5,	/* the WAN's window limits a flow across */
};

enum gear_outcome { GEAR_NOTHING, GEAR_STORED, GEAR_SAMPLE, GEAR_UPDATE };

struct gear_state {
	u64 window;		/* w, Q10 bytes on the wire */
	u64 reference;		/* w^c */
	u64 load;		/* U of HPCC, or the last u across, Q20 */
	u64 base_rtt;		/* T, ns */
	u64 pipe;		/* line rate times T, Q10 bytes */
	u64 additive;		/* added per round trip, Q10 bytes */
	u64 round_start;	/* across: windows with which this round and the one before it began */
	u64 round_before;
	u64 wan;		/* w_wan, or the window of a blind flow */
	u64 seen;		/* when telemetry came last, ns */
	u64 snapped;		/* when the last snapshot was taken, ns */
	u32 last_update;	/* lastUpdateSeq */
	u32 loss_end;		/* losses are old news up to here */
	u32 stage;		/* incStage */
	u32 flags;
	u32 oldest;		/* number of the oldest snapshot, */
	u32 next;		/* and of the next one; the ring has them modulo GEAR_SNAPSHOTS */
	struct gear_known latest;
	struct gear_known first;	/* across: the first since the start or the last loss */
	struct gear_snapshot snapshots[GEAR_SNAPSHOTS];
};

GEAR_INLINE u64 gear_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

GEAR_INLINE u64 gear_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* window * factor, the factor in Q20. */
GEAR_INLINE u64 gear_scale(u64 window, u64 factor)
{
	return gear_min((window >> 20) * factor + (((window & (GEAR_ONE - 1)) * factor) >> 20), GEAR_MAX_WINDOW);
}

/* a/b in Q20, up to GEAR_MAX_FACTOR; a below 2^44. */
GEAR_INLINE u64 gear_ratio(u64 a, u64 b)
{
	return gear_min((a << 20) / gear_max(b, 1), GEAR_MAX_FACTOR);
}

/* Whether sequence number a comes after b: by less than 2^31. */
GEAR_INLINE u32 gear_after(u32 a, u32 b)
{
	return (b - a) >> 31;
}

/* What a rate in bit per ms carries in a time in ns: Q10 bytes. 2^10 over 8 bit and 10^6 ns per ms is 16 over 125000. */
GEAR_INLINE u64 gear_carries(u64 rate, u64 time)
{
	u64 product = rate * time;

	return product / 125000 * 16 + product % 125000 * 16 / 125000;
}

/* Between one packet on the wire and what the NIC sends in a base round trip. */
GEAR_INLINE u64 gear_clamp(const struct gear_constants *c, const struct gear_state *s, u64 window)
{
	u64 packet = c->packet << 10;

	return gear_max(gear_min(window, gear_max(s->pipe, packet)), packet);
}

GEAR_INLINE void gear_set_base_rtt(const struct gear_constants *c, struct gear_state *s, u64 rtt)
{
	s->base_rtt = gear_min(gear_max(rtt, GEAR_MIN_RTT), GEAR_MAX_SPAN);
	s->pipe = gear_min(gear_carries(c->line_rate, s->base_rtt), GEAR_MAX_WINDOW);
	s->additive = gear_scale(s->pipe, c->w_ai);
}

GEAR_INLINE void gear_forget(struct gear_state *s)
{
	s->oldest = s->next;
	s->first.of = 0;
}

/*
 * A flow with a window of so many bytes on the wire and a first round-trip time in ns, or GEAR_NO_RTT. It is blind until telemetry comes.
 * The state is zero before.
 */
GEAR_INLINE void gear_init(const struct gear_constants *c, struct gear_state *s, u64 window, u64 rtt, u32 seq)
{
	gear_set_base_rtt(c, s, rtt == GEAR_NO_RTT ? c->irtt : rtt);
	s->window = gear_clamp(c, s, gear_min(window, GEAR_MAX_WINDOW >> 10) << 10);
	s->reference = s->window;
	s->round_start = s->window;
	s->round_before = s->window;
	s->wan = s->window;
	s->load = GEAR_ONE; /* as if the path were exactly full: nothing grows before anything is measured */
	s->loss_end = seq;
	s->last_update = seq;
	s->flags = GEAR_BLIND | GEAR_SLOW_START | (s->base_rtt >= c->cross_rtt ? GEAR_CROSS : 0);
}

/* A smaller round-trip time: the window shrinks with it, the rate stays. It makes a flow across one inside, never the other way. */
GEAR_INLINE void gear_learn_rtt(const struct gear_constants *c, struct gear_state *s, u64 rtt)
{
	u64 factor;

	rtt = gear_max(rtt, GEAR_MIN_RTT);
	if (rtt >= s->base_rtt)
		return;
	factor = gear_ratio(rtt, s->base_rtt);
	gear_set_base_rtt(c, s, rtt);
	s->window = gear_clamp(c, s, gear_scale(s->window, factor));
	s->reference = gear_clamp(c, s, gear_scale(s->reference, factor));
	s->round_start = gear_scale(s->round_start, factor);
	s->round_before = gear_scale(s->round_before, factor);
	s->wan = gear_max(gear_scale(s->wan, factor), c->packet << 10);
	if (s->flags & GEAR_CROSS && rtt < c->cross_rtt) {
		s->flags &= ~(GEAR_CROSS | GEAR_LOST | GEAR_SAMPLED);
		s->load = GEAR_ONE;
		s->reference = s->window;
	}
}

/* What a sample says: the load of a hop, of which rate, over which time. */
struct gear_sample {
	u64 load;		/* u, Q20 */
	u64 rate;		/* bit per ms */
	u64 span;		/* ns; 0 for no sample */
};

/*
 * What a hop has sent as a fraction of its rate, plus a queue as a fraction of what it sends in `horizon` (HPCC, Eq. 2; Gear, Eq. 1). No
 * sample where no time has passed, or so much that a counter may have wrapped.
 */
GEAR_STEP u32 gear_measure(const struct gear_record *before, const struct option_hop *now, u64 queue, u64 horizon, struct gear_sample *best)
{
	u64 span, rate, capacity, held, load;

	if (!before || !now || !best)
		return 0;
	span = (u32)(now->ts - before->ts);
	rate = gear_min(now->rate, GEAR_MAX_RATE);
	capacity = gear_carries(rate, span);
	if (capacity == 0 || capacity >> 42)
		return 0;
	held = ((u64)(u32)(now->tx - before->tx) << 4) + ((queue * span) << 4) / gear_max(horizon, 1);
	held = gear_min(held, (1ULL << 37) - 1);
	load = gear_min((held << 26) / capacity, GEAR_MAX_LOAD);
	if (best->span && best->load >= load)
		return 0;
	best->load = load;
	best->rate = rate;
	best->span = span;
	return 1;
}

/* The busiest hop of those that are known from before and that the ACK reports. `least`: a queue counts as the smaller of two (HPCC). */
GEAR_STEP u32 gear_busiest(const struct gear_known *before, const struct gear_ack *ack, u64 horizon, u32 least, struct gear_sample *best)
{
	u32 i;

	if (!before || !ack || !best)
		return 0;
	best->span = 0;
	for (i = 0; i < OPTION_ENTRIES; i++) {
		const struct option_hop *now = &ack->hop[i];
		const struct gear_record *then = &before->hop[now->hop & (OPTION_MOST_HOPS - 1)];
		u64 queue = now->queue;

		if (i >= ack->hops || !(before->of >> (now->hop & (OPTION_MOST_HOPS - 1)) & 1))
			continue;
		if (least)
			queue = gear_min(queue, then->queue);
		gear_measure(then, now, queue, horizon, best);
	}
	return best->span != 0;
}

/* Takes over what an ACK reports; `only_new` keeps what was known of a hop. */
GEAR_STEP u32 gear_note(struct gear_known *known, const struct gear_ack *ack, u32 only_new)
{
	u32 i;

	if (!known || !ack)
		return 0;

	for (i = 0; i < OPTION_ENTRIES; i++) {
		u32 hop = ack->hop[i].hop & (OPTION_MOST_HOPS - 1);

		if (i >= ack->hops || (only_new && known->of >> hop & 1))
			continue;
		known->of |= 1U << hop;
		known->hop[hop].ts = ack->hop[i].ts;
		known->hop[hop].tx = ack->hop[i].tx;
		known->hop[hop].queue = ack->hop[i].queue;
	}
	return known->of;
}

/* p.L: the place of what was known when the packet left that this ACK acknowledges, or GEAR_SNAPSHOTS. Older snapshots are let go. */
GEAR_STEP u32 gear_known_at(struct gear_state *s, u32 ack_seq)
{
	u32 i;

	if (!s)
		return GEAR_SNAPSHOTS;
	for (i = 0; i < GEAR_SNAPSHOTS; i++) {
		if (s->next - s->oldest < 2 || !gear_after(ack_seq, s->snapshots[(s->oldest + 1) % GEAR_SNAPSHOTS].seq))
			break;
		s->oldest += 1;
	}
	if (s->next == s->oldest || !gear_after(ack_seq, s->snapshots[s->oldest % GEAR_SNAPSHOTS].seq))
		return GEAR_SNAPSHOTS;
	return s->oldest % GEAR_SNAPSHOTS;
}

/* What leaves from now on leaves with what is known now. */
GEAR_STEP u32 gear_remember(struct gear_state *s, const struct gear_ack *ack)
{
	struct gear_snapshot *to;

	if (!s || !ack)
		return 0;
	to = &s->snapshots[s->next % GEAR_SNAPSHOTS];
	if (s->next != s->oldest && ack->now - s->snapped < s->base_rtt / GEAR_SNAPSHOTS)
		return 0;
	if (s->next - s->oldest >= GEAR_SNAPSHOTS)
		s->oldest += 1;
	to->seq = ack->snd_nxt;
	to->known = s->latest;
	s->next += 1;
	s->snapped = ack->now;
	return 1;
}

/* HPCC, Algorithm 1: MeasureInflight and ComputeWind. */
GEAR_STEP enum gear_outcome gear_inside(const struct gear_constants *c, struct gear_state *s, const struct gear_ack *ack)
{
	struct gear_sample sample = { 0 };
	u32 update, multiplicative;
	u64 share, window;

	if (!c || !s || !ack)
		return GEAR_NOTHING;
	update = gear_after(ack->ack_seq, s->last_update);
	gear_busiest(&s->latest, ack, s->base_rtt, 1, &sample);
	if (!sample.span)
		return GEAR_STORED;
	share = (gear_min(sample.span, s->base_rtt) << 20) / s->base_rtt;
	s->load = (s->load * (GEAR_ONE - share) + sample.load * share + GEAR_ONE / 2) >> 20;
	multiplicative = s->load >= c->eta || s->stage >= c->max_stage;
	window = multiplicative ? gear_scale(s->reference, gear_ratio(c->eta, s->load)) : s->reference;
	window = gear_clamp(c, s, window + s->additive);
	s->window = ack->in_recovery ? gear_min(window, s->window) : window;
	if (!update)
		return GEAR_SAMPLE;
	s->stage = multiplicative ? 0 : s->stage + 1;
	s->reference = s->window;
	s->last_update = ack->snd_nxt;
	return GEAR_UPDATE;
}

/* Gear, Eqs. 8 to 10, as spec/gear.md reads them. */
GEAR_STEP enum gear_outcome gear_across(const struct gear_constants *c, struct gear_state *s, const struct gear_ack *ack)
{
	u64 window, reference, twice, pipe, own = 0;
	struct gear_sample sample = { 0 };
	u32 update, at, place;

	if (!c || !s || !ack)
		return GEAR_NOTHING;
	update = gear_after(ack->ack_seq, s->last_update) || !(s->flags & GEAR_SAMPLED);
	at = gear_known_at(s, ack->ack_seq);
	/* A bound that a verifier sees, which the compiler is kept from optimising away. */
	place = at;
	__asm__ volatile("" : "+r"(place));
	place %= GEAR_SNAPSHOTS;
	/* Until a packet is acknowledged that left with telemetry: the first telemetry, once it is old enough. */
	if (at < GEAR_SNAPSHOTS)
		gear_busiest(&s->snapshots[place].known, ack, c->irtt, 0, &sample);
	else
		gear_busiest(&s->first, ack, c->irtt, 0, &sample);
	if (!sample.span || (at >= GEAR_SNAPSHOTS && sample.span < c->irtt))
		return GEAR_STORED;
	s->flags |= GEAR_SAMPLED;
	s->load = sample.load;
	twice = gear_ratio(2 * c->eta, sample.load);
	window = gear_clamp(c, s, gear_scale(s->reference, twice > GEAR_ONE ? twice - GEAR_ONE : 0) + s->additive);
	s->window = ack->in_recovery ? gear_min(window, s->window) : window;
	if (!update)
		return GEAR_SAMPLE;
	/* The congestion that the step to this round's window made itself is excused, and no more than there is. */
	pipe = gear_min(gear_carries(sample.rate, s->base_rtt), GEAR_MAX_WINDOW);
	if (s->round_start > s->round_before && sample.load > c->eta)
		own = gear_min(gear_ratio((s->round_start - s->round_before) >> 10, pipe >> 10), sample.load - c->eta);
	reference = gear_clamp(c, s, gear_scale(s->reference, gear_ratio(c->eta, sample.load - own)) + s->additive);
	s->reference = ack->in_recovery ? gear_min(reference, s->reference) : reference;
	s->round_before = s->round_start;
	s->round_start = s->window;
	s->last_update = ack->snd_nxt;
	return GEAR_UPDATE;
}

/* TCP's growth: of a blind flow, and of the WAN's window where that is what limits. */
GEAR_INLINE void gear_grow_wan(const struct gear_constants *c, struct gear_state *s, const struct gear_ack *ack)
{
	u64 wire = gear_min(ack->acked * c->packet / gear_max(c->payload, 1), 1ULL << 32) << 10;

	if (ack->in_recovery)
		return;
	if (s->flags & GEAR_SLOW_START)
		s->wan += wire;
	else
		s->wan += gear_scale(c->packet << 10, gear_scale(gear_ratio(gear_min(wire, s->wan) >> 10, s->wan >> 10), GEAR_AIMD_STEP));
	s->wan = gear_clamp(c, s, s->wan);
}

/* How long a flow that had telemetry waits for more before TCP's rules hold. */
GEAR_INLINE u64 gear_patience(const struct gear_state *s)
{
	return 4 * s->base_rtt + 10000000;
}

GEAR_INLINE enum gear_outcome gear_on_ack(const struct gear_constants *c, struct gear_state *s, const struct gear_ack *ack)
{
	enum gear_outcome outcome = GEAR_NOTHING;

	if (ack->rtt != GEAR_NO_RTT)
		gear_learn_rtt(c, s, gear_min(ack->rtt, GEAR_MAX_SPAN));
	if (ack->hops) {
		/* Stamps and counters of before a long silence may have wrapped. */
		if (s->flags & GEAR_STARTED && ack->now - s->seen > GEAR_MAX_SPAN / 4) {
			gear_forget(s);
			s->latest.of = 0;
		}
		if (s->flags & GEAR_BLIND)
			s->flags &= ~(GEAR_BLIND | GEAR_SLOW_START);
		s->seen = ack->now;
		if (!(s->flags & GEAR_STARTED)) {
			s->flags |= GEAR_STARTED;
			s->last_update = ack->snd_nxt;
			outcome = GEAR_STORED;
		} else if (s->flags & GEAR_CROSS) {
			outcome = gear_across(c, s, ack);
		} else {
			outcome = gear_inside(c, s, ack);
		}
		gear_note(&s->latest, ack, 0);
		if (s->flags & GEAR_CROSS) {
			gear_note(&s->first, ack, 1);
			gear_remember(s, ack);
		}
	} else if (!(s->flags & GEAR_BLIND) && ack->now - s->seen > gear_patience(s)) {
		s->flags |= GEAR_BLIND;
		s->wan = s->flags & GEAR_LOST ? gear_min(s->wan, s->window) : s->window;
	}
	if (s->flags & GEAR_BLIND) {
		gear_grow_wan(c, s, ack);
		s->window = s->wan;
		s->reference = s->wan;
	} else if (s->flags & GEAR_LOST && s->wan <= s->window) {
		gear_grow_wan(c, s, ack); /* a window that does not limit does not grow (RFC 9438, section 5.8) */
	}
	return outcome;
}

/*
 * A loss, at the latest one that a timeout tells of. Flows inside react to load alone; across, and without telemetry, losses are all that the
 * WAN says. What was too much is what was out, or the reference where less was (spec/gear.md): the window of this moment moves by twice the
 * share and may be closed. A blind flow begins anew after a timeout.
 */
GEAR_INLINE void gear_on_loss(const struct gear_constants *c, struct gear_state *s, u32 timeout, u32 snd_una, u32 snd_nxt)
{
	u64 flight = gear_clamp(c, s, gear_min((u64)(snd_nxt - snd_una) * c->packet / gear_max(c->payload, 1), 1ULL << 32) << 10);

	/* The ring says what was known when packets left for the first time. */
	gear_forget(s);
	if (!(s->flags & (GEAR_CROSS | GEAR_BLIND)) || (!timeout && gear_after(s->loss_end, snd_una)))
		return;
	s->loss_end = snd_nxt;
	if (s->flags & GEAR_BLIND)
		flight = s->window;
	else if (!(s->flags & GEAR_LOST))
		s->wan = gear_max(s->reference, flight);
	s->wan = gear_max(gear_scale(gear_min(s->wan, flight), GEAR_AFTER_LOSS), c->packet << 10);
	s->flags &= ~GEAR_SLOW_START;
	if (s->flags & GEAR_BLIND) {
		if (timeout) {
			s->wan = c->packet << 10;
			s->flags |= GEAR_SLOW_START;
		}
		s->window = s->wan;
		s->reference = s->wan;
	} else {
		s->flags |= GEAR_LOST;
	}
}

/* The window that holds, Q10 bytes on the wire. */
GEAR_INLINE u64 gear_window(const struct gear_state *s)
{
	return s->flags & GEAR_LOST ? gear_min(s->window, s->wan) : s->window;
}

/*
 * Packets that may be in flight: as many as the window begins (HPCC sends while less than W is out), times what pacing is given room for: delayed
 * ACKs and late wake-ups keep packets longer than T. What losses or blindness set holds as it is.
 */
GEAR_INLINE u32 gear_cwnd_packets(const struct gear_constants *c, const struct gear_state *s)
{
	u64 packet = c->packet << 10, window = gear_window(s), most = s->flags & GEAR_LOST ? s->wan : GEAR_MAX_WINDOW;

	if (!(s->flags & GEAR_BLIND))
		window = gear_min(gear_scale(window, c->in_flight), most);
	return (u32)gear_max((window + packet - 1) / packet, 1);
}

/* Payload per second: w over T. A blind flow in slow start sends twice as fast, as TCP does. At least one byte. */
GEAR_INLINE u64 gear_pacing(const struct gear_constants *c, const struct gear_state *s)
{
	const u64 units = 1953125; /* 10^9 ns/s / 2^10, twice */
	u64 payload = gear_window(s) * c->payload / gear_max(c->packet, 1);
	u64 rate = payload / s->base_rtt * units + payload % s->base_rtt * units / s->base_rtt;

	return gear_max(s->flags & GEAR_SLOW_START ? rate : rate / 2, 1);
}

#endif
