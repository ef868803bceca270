/*
 * What the algorithms share that use the interface of Linux' own ones: ssthresh() says where a reduction ends, the kernel goes there and
 * repairs losses meanwhile (RFC 6937), and cong_avoid() grows the window otherwise.
 */
#ifndef FARLOOP_CLASSIC_H
#define FARLOOP_CLASSIC_H

#include "kernel.h"

/* What is counted of a connection, seldom enough for socket storage. */
struct connection {
	u32 reductions;		/* on echoed marks, or on drops of the host's own */
	u32 losses;		/* fast retransmits */
	u32 timeouts;
	u32 undone;		/* losses that were none */
	u32 unused[14];
};

_Static_assert(sizeof(struct connection) == CONNECTION_BYTES, "flows.bpf.c reads so much");

static __always_inline u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Whether a window of the kernel's may grow: the application keeps up, and at least half of it was in use (RFC 7661, section 4.3). */
static __always_inline u32 window_used(const struct tcp_sock *tp, u32 acked)
{
	return acked && !tp->app_limited && 2 * (packets_in_flight(tp) + acked) >= tp->snd_cwnd;
}

/* Slow start by acked packets, up to the threshold (RFC 5681, section 3.1): what is left of them there. */
static __always_inline u32 slow_start(u32 *cwnd, u32 ssthresh, u32 acked)
{
	u32 room = ssthresh - *cwnd, taken = acked < room ? acked : room;

	*cwnd += taken;
	return acked - taken;
}

static __always_inline void give_window(struct tcp_sock *tp, u32 cwnd)
{
	u32 clamp = tp->snd_cwnd_clamp;

	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
}

/*
 * Packets that a loss or a mark finds in flight: the window, where the application keeps up. What the ACK at hand acknowledges, which can be
 * much, is no longer counted as outstanding, but was.
 */
static __always_inline u32 flight_at_loss(const struct tcp_sock *tp)
{
	return tp->app_limited && tp->packets_out && tp->packets_out < tp->snd_cwnd ? tp->packets_out : tp->snd_cwnd;
}

/* The window that an undone loss gives back. */
static __always_inline u32 window_before(const struct tcp_sock *tp)
{
	return tp->prior_cwnd > tp->snd_cwnd ? tp->prior_cwnd : tp->snd_cwnd;
}

/*
 * Some kernels leave out calls (docs/kernel.md), and take 0 for the answer that ssthresh() or undo_cwnd() did not give: a reduction would end
 * with a window of nothing, and the connection with it. It ends where Reno's would.
 */
static __always_inline void repair_window(struct tcp_sock *tp)
{
	u32 half = tp->prior_cwnd / 2 > 2 ? tp->prior_cwnd / 2 : 2;

	if (tp->snd_ssthresh == 0)
		tp->snd_ssthresh = half;
	if (tp->snd_cwnd == 0)
		tp->snd_cwnd = half;
}

/* What set_state() counts. */
static __always_inline void count_state(struct connection *connection, u8 new_state)
{
	if (connection && new_state == TCP_CA_RECOVERY)
		connection->losses += 1;
	else if (connection && new_state == TCP_CA_CWR)
		connection->reductions += 1;
}

/*
 * What every program has around the core of its ALGORITHM: the settings, which its loader writes, where a connection's state and counts are,
 * and the end of a connection. given() says where the settings lie: the compiler sees nothing in them but zeros, and is kept from using that.
 */
#define CLASSIC_PROGRAM(ALGORITHM) \
	char licence[] SEC("license") = "Dual MIT/GPL"; \
	const volatile struct ALGORITHM##_constants settings SEC(".rodata.settings") = {}; \
	struct { \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE); \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__type(key, int); \
		__type(value, struct connection); \
	} ALGORITHM##_flows SEC(".maps"); \
	static __always_inline struct ALGORITHM##_state *state_of(struct sock *sk) \
	{ \
		return (struct ALGORITHM##_state *)((struct inet_connection_sock *)sk)->icsk_ca_priv; \
	} \
	static __always_inline struct connection *connection_of(struct sock *sk) \
	{ \
		return bpf_sk_storage_get(&ALGORITHM##_flows, sk, NULL, 0); \
	} \
	static __always_inline const struct ALGORITHM##_constants *given(void) \
	{ \
		const struct ALGORITHM##_constants *address = (const struct ALGORITHM##_constants *)&settings; \
		asm volatile("" : "+r"(address)); \
		return address; \
	} \
	SEC("struct_ops/" #ALGORITHM "_release") \
	void BPF_PROG(ALGORITHM##_release, struct sock *sk) \
	{ \
		bpf_sk_storage_delete(&ALGORITHM##_flows, sk); \
	}

#endif
