/*
 * core.h as a library, for hosts that are no kernels: gemini_linux.py calls it for the simulator.
 *
 *   cc -std=c11 -O2 -shared -fPIC -o host.so host.c
 */
#include "core.h"

u64 host_sizes(void)
{
	return sizeof(struct gemini_constants) << 32 | sizeof(struct gemini_state);
}

/* A flow; a threshold in bytes that an earlier connection left, or GEMINI_NO_THRESHOLD, is where slow start ends. */
void host_begin(const struct gemini_constants *c, struct gemini_state *s, u64 cwnd, u32 slow_start, u64 alpha, u64 base_rtt, u64 ssthresh)
{
	gemini_init(c, s, cwnd, slow_start, alpha, base_rtt, 0);
	if (slow_start && ssthresh != GEMINI_NO_THRESHOLD)
		s->ssthresh = gemini_bytes_q10(ssthresh);
}

void host_first_rtt(const struct gemini_constants *c, struct gemini_state *s, u64 rtt)
{
	gemini_on_first_rtt(c, s, rtt);
}

/* marked: bytes of marked packets. flags: 1 for an echoed mark, 2 for recovery, 4 for an application that has little to send. */
void host_ack(const struct gemini_constants *c, struct gemini_state *s, u64 acked, u64 in_flight, u64 rtt, u64 marked, u32 ack_seq,
	      u32 snd_nxt, u32 flags)
{
	struct gemini_ack ack = {
		.acked = acked,
		.in_flight = in_flight,
		.rtt = rtt,
		.marked = marked,
		.ack_seq = ack_seq,
		.snd_nxt = snd_nxt,
		.ecn_echo = flags & 1,
		.in_recovery = flags >> 1 & 1,
		.app_limited = flags >> 2 & 1,
	};

	gemini_on_ack(c, s, &ack);
}

u32 host_loss(const struct gemini_constants *c, struct gemini_state *s, u32 timeout, u64 in_flight, u32 snd_nxt)
{
	return gemini_on_loss(c, s, timeout ? GEMINI_TIMEOUT : GEMINI_FAST_RETRANSMIT, in_flight, snd_nxt);
}

void host_undo(struct gemini_state *s, u64 cwnd, u64 ssthresh)
{
	gemini_on_undo(s, cwnd, ssthresh);
}

void host_idle(struct gemini_state *s, u64 idle, u64 rto, u64 restart)
{
	gemini_on_idle_restart(s, idle, rto, restart);
}

/* Bytes. */
u64 host_cwnd(const struct gemini_state *s)
{
	return gemini_cwnd_bytes(s);
}

/* Bit/s. */
u64 host_pacing(const struct gemini_constants *c, const struct gemini_state *s)
{
	return gemini_pacing(c, s);
}
