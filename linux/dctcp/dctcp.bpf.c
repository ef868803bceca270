/*
 * DCTCP (RFC 8257) for Linux, by struct_ops: core.h through the interface that Linux' own algorithms use. Many kernels are built without
 * theirs.
 *
 * ssthresh() is asked for marks and for losses alike: it answers as for a mark, and what makes a loss of it comes right after
 * (set_state(TCP_CA_Recovery), CA_EVENT_LOSS). What is in between is one event of the kernel's.
 */
#include "../classic.h"

#define DCTCP_NO_TYPES
#include "core.h"

CLASSIC_PROGRAM(dctcp)

SEC("struct_ops/dctcp_init_")
void BPF_PROG(dctcp_init_, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp_state *s = state_of(sk);

	__builtin_memset(s, 0, sizeof(*s));
	dctcp_init(given(), s, tp->delivered, tp->delivered_ce, tp->snd_una);
	s->prior_rcv_nxt = tp->rcv_nxt;
	bpf_sk_storage_get(&dctcp_flows, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

SEC("struct_ops/dctcp_ack")
void BPF_PROG(dctcp_ack, struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp_state *s = state_of(sk);

	s->acks += 1;
	repair_window(tp);
	dctcp_on_ack(given(), s, tp->delivered, tp->delivered_ce, tp->snd_una, tp->snd_nxt);
}

SEC("struct_ops/dctcp_avoid")
void BPF_PROG(dctcp_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 cwnd = tp->snd_cwnd, ssthresh = tp->snd_ssthresh;

	if (!window_used(tp, acked))
		return;
	if (cwnd < ssthresh)
		acked = slow_start(&cwnd, ssthresh, acked);
	if (acked)
		cwnd = dctcp_grow(given(), state_of(sk), cwnd, acked);
	give_window(tp, cwnd);
}

SEC("struct_ops/dctcp_ssthresh")
u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	return dctcp_after_mark(state_of(sk), ((struct tcp_sock *)sk)->snd_cwnd);
}

SEC("struct_ops/dctcp_set_state")
void BPF_PROG(dctcp_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp_state *s = state_of(sk);
	struct connection *connection = connection_of(sk);

	repair_window(tp);
	if (new_state == TCP_CA_RECOVERY && s->ca_state != TCP_CA_RECOVERY) {
		tp->snd_ssthresh = dctcp_after_loss(given(), s, flight_at_loss(tp));
		if (connection)
			connection->losses += 1;
	} else if (new_state == TCP_CA_CWR && connection) {
		connection->reductions += 1;
	}
	s->ca_state = new_state;
}

SEC("struct_ops/dctcp_undo")
u32 BPF_PROG(dctcp_undo, struct sock *sk)
{
	struct connection *connection = connection_of(sk);

	if (connection)
		connection->undone += 1;
	return window_before((struct tcp_sock *)sk);
}

SEC("struct_ops/dctcp_event")
void BPF_PROG(dctcp_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct dctcp_state *s = state_of(sk);
	struct connection *connection;

	repair_window(tp);
	if (event == CA_EVENT_ECN_NO_CE || event == CA_EVENT_ECN_IS_CE) {
		echo_mark(tp, &s->ce_state, &s->prior_rcv_nxt, event == CA_EVENT_ECN_IS_CE);
	} else if (event == CA_EVENT_LOSS) {
		tp->snd_ssthresh = dctcp_after_loss(given(), s, flight_at_loss(tp));
		connection = connection_of(sk);
		if (connection)
			connection->timeouts += 1;
	}
}

SEC(".struct_ops")
struct tcp_congestion_ops farloop_dctcp = {
	.init = (void *)dctcp_init_,
	.release = (void *)dctcp_release,
	.in_ack_event = (void *)dctcp_ack,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_avoid,
	.undo_cwnd = (void *)dctcp_undo,
	.cwnd_event = (void *)dctcp_event,
	.set_state = (void *)dctcp_set_state,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "farloop_dctcp",
};
