/*
 * Vegas as its papers have it for Linux, by struct_ops: core.h through the interface that Linux' own algorithms use. Many kernels are built
 * without theirs, which differs (spec/vegas.md).
 */
#include "../classic.h"

#define VEGAS_NO_TYPES
#include "core.h"

CLASSIC_PROGRAM(vegas)

SEC("struct_ops/vegas_init_")
void BPF_PROG(vegas_init_, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct vegas_state *s = state_of(sk);

	__builtin_memset(s, 0, sizeof(*s));
	vegas_init(s, tp->rtt_min.s[0].v, tp->snd_nxt);
	bpf_sk_storage_get(&vegas_flows, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

SEC("struct_ops/vegas_acked")
void BPF_PROG(vegas_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas_state *s = state_of(sk);

	if (sample->rtt_us >= 0)
		vegas_on_rtt(s, (u32)sample->rtt_us);
}

SEC("struct_ops/vegas_avoid")
void BPF_PROG(vegas_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct vegas_state *s = state_of(sk);
	struct vegas_window w;

	s->acks += 1;
	repair_window(tp);
	w.cwnd = tp->snd_cwnd;
	w.ssthresh = tp->snd_ssthresh;
	vegas_on_ack(given(), s, &w, tp->snd_una, tp->snd_nxt, packets_in_flight(tp), acked, tp->app_limited != 0);
	give_window(tp, w.cwnd);
	tp->snd_ssthresh = w.ssthresh;
}

SEC("struct_ops/vegas_ssthresh")
u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct vegas_state *s = state_of(sk);

	vegas_begin_round(s, tp->snd_nxt);
	return vegas_on_loss(given(), s, tp->snd_cwnd);
}

SEC("struct_ops/vegas_undo")
u32 BPF_PROG(vegas_undo, struct sock *sk)
{
	struct connection *connection = connection_of(sk);

	vegas_on_undo(state_of(sk));
	if (connection)
		connection->undone += 1;
	return window_before((struct tcp_sock *)sk);
}

SEC("struct_ops/vegas_event")
void BPF_PROG(vegas_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct vegas_state *s = state_of(sk);
	struct connection *connection;

	repair_window(tp);
	if (event == CA_EVENT_CWND_RESTART) {
		vegas_on_restart(s);
	} else if (event == CA_EVENT_TX_START) {
		vegas_begin_round(s, tp->snd_nxt);
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = vegas_on_timeout(given(), s, tp->prior_cwnd);
		connection = connection_of(sk);
		if (connection)
			connection->timeouts += 1;
	}
}

SEC("struct_ops/vegas_set_state")
void BPF_PROG(vegas_set_state, struct sock *sk, u8 new_state)
{
	repair_window((struct tcp_sock *)sk);
	count_state(connection_of(sk), new_state);
}

SEC(".struct_ops")
struct tcp_congestion_ops farloop_vegas = {
	.init = (void *)vegas_init_,
	.release = (void *)vegas_release,
	.pkts_acked = (void *)vegas_acked,
	.ssthresh = (void *)vegas_ssthresh,
	.cong_avoid = (void *)vegas_avoid,
	.undo_cwnd = (void *)vegas_undo,
	.cwnd_event = (void *)vegas_event,
	.set_state = (void *)vegas_set_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "farloop_vegas",
};
