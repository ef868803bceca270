/*
 * CUBIC (RFC 9438) for Linux, by struct_ops: core.h through the interface that Linux' own cubic uses, without HyStart. A comparison for
 * algorithms that run as BPF programs as well.
 */
#include "../classic.h"

#define CUBIC_NO_TYPES
#include "core.h"

CLASSIC_PROGRAM(cubic)

static __always_inline u32 now_ms(const struct tcp_sock *tp)
{
	return (u32)(tp->tcp_mstamp / 1000);
}

SEC("struct_ops/cubic_init")
void BPF_PROG(cubic_init, struct sock *sk)
{
	struct cubic_state *s = state_of(sk);

	__builtin_memset(s, 0, sizeof(*s));
	bpf_sk_storage_get(&cubic_flows, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

SEC("struct_ops/cubic_avoid")
void BPF_PROG(cubic_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct cubic_state *s = state_of(sk);
	u32 cwnd, ssthresh;

	s->acks += 1;
	repair_window(tp);
	cwnd = tp->snd_cwnd;
	ssthresh = tp->snd_ssthresh;
	cubic_follow(s, cwnd);
	if (!window_used(tp, acked)) {
		cubic_stall(s, now_ms(tp));
		return;
	}
	if (cwnd < ssthresh) {
		acked = slow_start(&cwnd, ssthresh, acked);
		cubic_slow_start(s, cwnd);
	}
	if (acked)
		cubic_grow(given(), s, now_ms(tp), (tp->srtt_us >> 3) / 1000, acked);
	give_window(tp, cubic_segments(s));
}

SEC("struct_ops/cubic_ssthresh")
u32 BPF_PROG(cubic_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct cubic_state *s = state_of(sk);

	cubic_follow(s, tp->snd_cwnd);
	return cubic_on_loss(given(), s, flight_at_loss(tp));
}

SEC("struct_ops/cubic_undo")
u32 BPF_PROG(cubic_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct connection *connection = connection_of(sk);
	u32 cwnd = window_before(tp);

	cubic_on_undo(state_of(sk), cwnd);
	if (connection)
		connection->undone += 1;
	return cwnd;
}

SEC("struct_ops/cubic_event")
void BPF_PROG(cubic_event, struct sock *sk, enum tcp_ca_event event)
{
	struct connection *connection;

	repair_window((struct tcp_sock *)sk);
	if (event == CA_EVENT_TX_START) {
		cubic_wake(state_of(sk));
	} else if (event == CA_EVENT_LOSS) {
		cubic_on_timeout(state_of(sk));
		connection = connection_of(sk);
		if (connection)
			connection->timeouts += 1;
	}
}

SEC("struct_ops/cubic_set_state")
void BPF_PROG(cubic_set_state, struct sock *sk, u8 new_state)
{
	repair_window((struct tcp_sock *)sk);
	count_state(connection_of(sk), new_state);
}

SEC(".struct_ops")
struct tcp_congestion_ops farloop_cubic = {
	.init = (void *)cubic_init,
	.release = (void *)cubic_release,
	.ssthresh = (void *)cubic_ssthresh,
	.cong_avoid = (void *)cubic_avoid,
	.undo_cwnd = (void *)cubic_undo,
	.cwnd_event = (void *)cubic_event,
	.set_state = (void *)cubic_set_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "farloop_cubic",
};
