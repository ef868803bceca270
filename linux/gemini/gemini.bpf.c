/*
 * GEMINI for Linux (6.10 and later): core.h as a congestion control of TCP, by struct_ops.
 *
 * The kernel calls cong_control() once per ACK, which is Algorithm 1; it then leaves window, threshold and pacing rate alone, also
 * in recovery. What the kernel still does by itself is followed (gemini_resync): it collapses the window at a timeout, takes back what
 * was none, and remembers thresholds of earlier connections.
 *
 * A mark cuts once: an ACK that echoes one makes the kernel ask ssthresh() as well, on its way into TCP_CA_CWR, and is told what holds.
 * Losses are answered where they are certain: set_state(TCP_CA_Recovery), also from CWR, where the kernel asks no ssthresh(), CA_EVENT_LOSS,
 * and set_state(TCP_CA_CWR) without a mark: a tail loss probe has repaired a loss, or the host's own queue was full.
 *
 * What runs for each ACK is short, and in one piece: between two ACKs the processor does other things, and it is the lines of code and data that
 * are no longer in its caches that cost time, more than divisions. What is rare stands in functions of its own, and counters of a connection, which
 * a call has to find, are touched only where something happens.
 *
 * Some kernels leave out calls (docs/kernel.md): a connection that was not begun begins with its next event, and a threshold or a window of 0, which
 * is what the kernel takes for the answer that ssthresh() or undo_cwnd() did not give, is none.
 *
 * The receiving half echoes marks as RFC 8257, section 3.2, has it: at each change of the mark an ACK for what came before.
 */
#include "kernel.h"

/* "Dual MIT/GPL" is one of the licences that the kernel asks for of programs that call its GPL helpers. */
char licence[] SEC("license") = "Dual MIT/GPL";

/* Written by the loader, in a section of their own. mss is each connection's. */
const volatile struct settings settings SEC(".rodata.settings") = {};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} gemini_flows SEC(".maps");

/* Room for events: a page, which is the least, unless the loader wants a recording. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} gemini_events SEC(".maps");

u64 flows_so_far;

static __always_inline struct private_state *private_of(struct sock *sk)
{
	return (struct private_state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&gemini_flows, sk, NULL, 0);
}

/* Where the settings lie. The compiler sees nothing in them but what stands above: it is kept from using that. */
static __always_inline const struct settings *given(void)
{
	const struct settings *found = (const struct settings *)&settings;

	asm volatile("" : "+r"(found));
	return found;
}

static __always_inline void constants_of(struct gemini_constants *c, u32 mss)
{
	__builtin_memcpy(c, &given()->constants, sizeof(*c));
	c->mss = mss < 1 ? 1 : mss > 65535 ? 65535 : mss;
}

static __always_inline void record(const struct gemini_constants *c, const struct private_state *p, struct sock *sk,
				   const struct event_input *input)
{
	struct event *event;
	struct flow *flow;

	if (!given()->record)
		return;
	flow = flow_of(sk);
	if (!flow)
		return;
	flow->events += 1;
	event = bpf_ringbuf_reserve(&gemini_events, sizeof(*event), 0);
	if (!event)
		return;
	event->flow = flow->number;
	event->index = flow->events - 1;
	event->alpha = p->core.alpha;
	event->cwnd = p->core.cwnd;
	event->ssthresh = p->core.ssthresh;
	event->pacing = gemini_pacing(c, &p->core);
	event->packets = gemini_cwnd_packets(c, &p->core);
	event->mss = (u32)c->mss;
	event->input = *input;
	bpf_ringbuf_submit(event, 0);
}

/* A connection begins, or changes to this congestion control: icsk_ca_priv is zero. */
static __noinline void begin(const struct gemini_constants *c, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	struct event_input input = { .kind = EVENT_START };
	u64 rtt = tp->rtt_min.s[0].v;

	rtt = rtt == ~0U ? GEMINI_NO_RTT : gemini_max(rtt, 1) * 1000;
	input.acked = (u64)tp->snd_cwnd * c->mss;
	input.in_flight = rtt;
	input.ack_seq = tp->snd_una;
	gemini_init(c, &p->core, input.acked, 1, given()->initial_alpha, rtt, input.ack_seq);
	p->mss = (u16)c->mss;
	if (flow) {
		flow->prior_rcv_nxt = tp->rcv_nxt;
		if (given()->record)
			flow->number = __sync_fetch_and_add(&flows_so_far, 1);
	}
	record(c, p, sk, &input);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* The packet size is another one, or the connection has not begun. */
static __noinline void resize(const struct gemini_constants *c, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	struct event_input resized = { .kind = EVENT_MSS };

	if (p->mss == 0) {
		begin(c, tp);
		return;
	}
	p->mss = (u16)c->mss;
	gemini_on_mss(c, &p->core);
	resized.ack_seq = p->mss;
	record(c, p, sk, &resized);
}

/* The kernel's window or threshold may be another one than the core's. */
static __noinline void move(const struct gemini_constants *c, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	u32 cwnd = tp->snd_cwnd, ssthresh = tp->snd_ssthresh, most;
	struct event_input moved = { .kind = EVENT_HOST };
	struct flow *flow;

	/*
	 * Neither is ever 0: the kernel asked undo_cwnd() or ssthresh(), and was not answered. It may then read anything as an answer; of itself it
	 * gives no more than there was before the loss.
	 */
	most = gemini_max(gemini_cwnd_packets(c, &p->core), tp->prior_cwnd);
	if (cwnd == 0)
		cwnd = gemini_cwnd_packets(c, &p->core);
	if (cwnd > most)
		cwnd = most;
	if (ssthresh == 0)
		ssthresh = tp->snd_ssthresh = gemini_ssthresh_packets(c, &p->core);
	if (cwnd == gemini_cwnd_packets(c, &p->core) && ssthresh == gemini_ssthresh_packets(c, &p->core))
		return;
	moved.ack_seq = cwnd;
	moved.snd_nxt = ssthresh;
	gemini_resync(c, &p->core, cwnd, ssthresh);
	record(c, p, sk, &moved);
	flow = flow_of(sk);
	if (flow)
		flow->moved += 1;
}

/* Before an event: packet size, window and threshold as the kernel has them now. */
static __always_inline void follow(struct gemini_constants *c, struct private_state *p, struct tcp_sock *tp)
{
	u32 ssthresh;

	constants_of(c, tp->mss_cache);
	if (GEMINI_RARE(p->mss != (u16)c->mss))
		resize(c, tp);
	ssthresh = tp->snd_ssthresh;
	if (GEMINI_RARE(!gemini_is_packets(c, p->core.cwnd, tp->snd_cwnd)))
		move(c, tp);
	else if (GEMINI_RARE(p->core.ssthresh == GEMINI_NO_THRESHOLD ? ssthresh != GEMINI_NO_THRESHOLD_PACKETS
								  : !gemini_is_packets(c, p->core.ssthresh, ssthresh)))
		move(c, tp);
}

/* After an event that has left the threshold alone: what the core says is what holds. */
static __always_inline void give_window(struct gemini_constants *c, struct private_state *p, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	u64 rate = gemini_pacing(c, &p->core) >> 3;
	u64 most = sk->sk_max_pacing_rate;
	u32 cwnd, clamp;

	sk->sk_pacing_rate = rate < most ? rate : most;
	if (gemini_is_packets(c, p->core.cwnd, tp->snd_cwnd))
		return;
	cwnd = gemini_cwnd_packets(c, &p->core);
	clamp = tp->snd_cwnd_clamp;
	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
}

static __always_inline void give(struct gemini_constants *c, struct private_state *p, struct tcp_sock *tp)
{
	give_window(c, p, tp);
	tp->snd_ssthresh = gemini_ssthresh_packets(c, &p->core);
}

/* A loss, after follow(). */
static __noinline void lost(struct gemini_constants *c, struct tcp_sock *tp, enum gemini_loss event)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	struct event_input input = {
		.kind = event == GEMINI_TIMEOUT ? EVENT_TIMEOUT : EVENT_FAST_RETRANSMIT,
		.snd_nxt = tp->snd_nxt,
	};

	/* Where the loss is known only after the flight, nothing is out any more: the window stands for it. */
	input.in_flight = (u64)(tp->packets_out ? tp->packets_out : tp->snd_cwnd) * c->mss;
	gemini_on_loss(c, &p->core, event, input.in_flight, input.snd_nxt);
	record(c, p, sk, &input);
	give(c, p, tp);
	if (flow && event == GEMINI_TIMEOUT)
		flow->timeouts += 1;
	else if (flow)
		flow->fast_retransmits += 1;
}

SEC("struct_ops/on_init")
void BPF_PROG(on_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);
	struct gemini_constants c;

	bpf_sk_storage_get(&gemini_flows, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	/* The handshake's ACK may have come before. */
	p->mss = 0;
	p->ca_state = 0;
	p->acks = 0;
	follow(&c, p, tp);
	give(&c, p, tp);
}

SEC("struct_ops/on_release")
void BPF_PROG(on_release, struct sock *sk)
{
	bpf_sk_storage_delete(&gemini_flows, sk);
}

/* What is worth counting of an ACK, and the 65536th. */
static __noinline void count(struct tcp_sock *tp, const struct gemini_ack *ack, u32 cut)
{
	struct sock *sk = (struct sock *)tp;
	struct flow *flow = flow_of(sk);

	if (!flow)
		return;
	flow->acks += private_of(sk)->acks ? 0 : 1 << 16;
	flow->unsampled += ack->rtt == GEMINI_NO_RTT;
	flow->marked_acks += ack->ecn_echo;
	flow->ecn_cuts += cut && ack->ecn_echo;
	flow->delay_cuts += cut && !ack->ecn_echo;
}

SEC("struct_ops/on_ack_flags")
void BPF_PROG(on_ack_flags, struct sock *sk, u32 flags)
{
	private_of(sk)->ece = !!(flags & CA_ACK_ECE);
}

SEC("struct_ops/on_ack")
void BPF_PROG(on_ack, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);
	struct gemini_constants c;
	struct gemini_ack ack;
	u64 before;
	u32 in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;

	follow(&c, p, tp);
	ack.acked = (u64)rs->acked_sacked * c.mss;
	ack.in_flight = (u64)in_flight * c.mss;
	/* A sample below a microsecond is one all the same; without one it is negative. */
	ack.rtt = rs->rtt_us < 0 ? GEMINI_NO_RTT : gemini_max((u64)rs->rtt_us, 1) * 1000;
	ack.ack_seq = tp->snd_una;
	ack.snd_nxt = tp->snd_nxt;
	ack.ecn_echo = p->ece;
	ack.in_recovery = p->ca_state == TCP_CA_RECOVERY;
	ack.app_limited = rs->is_app_limited;
	p->ece = 0;
	before = p->core.cwnd;
	gemini_on_ack(&c, &p->core, &ack);
	if (given()->record) {
		struct event_input input = { .kind = EVENT_ACK };

		input.acked = ack.acked;
		input.in_flight = ack.in_flight;
		input.rtt = ack.rtt;
		input.ack_seq = ack.ack_seq;
		input.snd_nxt = ack.snd_nxt;
		input.flags = !!ack.ecn_echo | !!ack.in_recovery << 1 | !!ack.app_limited << 2;
		record(&c, p, sk, &input);
	}
	give_window(&c, p, tp);
	p->acks += 1;
	if (p->core.cwnd < before)
		tp->snd_ssthresh = gemini_ssthresh_packets(&c, &p->core);
	else if (p->acks && !ack.ecn_echo && ack.rtt != GEMINI_NO_RTT)
		return;
	count(tp, &ack, p->core.cwnd < before);
}

/* What holds: losses are answered elsewhere, and marks with their ACK. */
SEC("struct_ops/on_ssthresh")
u32 BPF_PROG(on_ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

SEC("struct_ops/on_state")
void BPF_PROG(on_state, struct sock *sk, u8 new_state)
{
	struct private_state *p = private_of(sk);
	struct gemini_constants c;
	u32 recovers = new_state == TCP_CA_RECOVERY && p->ca_state != TCP_CA_RECOVERY;
	u32 reduces = new_state == TCP_CA_CWR && p->ca_state < TCP_CA_CWR && !p->ece;

	if (recovers || reduces) {
		follow(&c, p, (struct tcp_sock *)sk);
		lost(&c, (struct tcp_sock *)sk, GEMINI_FAST_RETRANSMIT);
	}
	p->ca_state = new_state;
}

SEC("struct_ops/on_undo")
u32 BPF_PROG(on_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	struct gemini_constants c;
	struct event_input input = { .kind = EVENT_UNDO, .in_flight = GEMINI_NO_THRESHOLD };

	follow(&c, p, tp);
	input.acked = gemini_bytes_q10(tp->prior_cwnd * c.mss);
	if (tp->prior_ssthresh < GEMINI_NO_THRESHOLD_PACKETS)
		input.in_flight = gemini_bytes_q10(tp->prior_ssthresh * c.mss);
	gemini_on_undo(&p->core, input.acked, input.in_flight);
	record(&c, p, sk, &input);
	give(&c, p, tp);
	if (flow)
		flow->undone += 1;
	return tp->snd_cwnd;
}

static __always_inline void silence_ends(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	struct gemini_constants c;
	/* Both in jiffies, of which the core takes the ratio. */
	u32 idle = (u32)bpf_jiffies64() - tp->lsndtime, rto = tp->inet_conn.icsk_rto;
	struct event_input input = { .kind = EVENT_IDLE };

	if (!sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle)
		idle = 0;
	follow(&c, p, tp);
	input.acked = idle;
	input.in_flight = rto;
	input.rtt = 10 * c.mss;
	gemini_on_idle_restart(&c, &p->core, idle, rto, 10 * c.mss);
	record(&c, p, sk, &input);
	give(&c, p, tp);
	if (flow)
		flow->idle_restarts += idle > rto;
}

static __always_inline void marked(struct sock *sk, u32 ce_state)
{
	struct flow *flow = flow_of(sk);

	if (flow)
		echo_mark((struct tcp_sock *)sk, &flow->ce_state, &flow->prior_rcv_nxt, ce_state);
}

static __always_inline void time_out(struct sock *sk)
{
	struct gemini_constants c;

	follow(&c, private_of(sk), (struct tcp_sock *)sk);
	lost(&c, (struct tcp_sock *)sk, GEMINI_TIMEOUT);
}

SEC("struct_ops/on_event")
void BPF_PROG(on_event, struct sock *sk, enum tcp_ca_event event)
{
	switch (event) {
	case CA_EVENT_TX_START:
		silence_ends(sk);
		break;
	case CA_EVENT_LOSS:
		time_out(sk);
		break;
	case CA_EVENT_ECN_NO_CE:
		marked(sk, 0);
		break;
	case CA_EVENT_ECN_IS_CE:
		marked(sk, 1);
		break;
	default:
		break;
	}
}

/* Packets are paced one by one (section III-B), as far as segmentation offload leaves them single. */
SEC("struct_ops/on_segments")
u32 BPF_PROG(on_segments, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops")
struct tcp_congestion_ops gemini = {
	.init = (void *)on_init,
	.release = (void *)on_release,
	.ssthresh = (void *)on_ssthresh,
	.set_state = (void *)on_state,
	.cwnd_event = (void *)on_event,
	.in_ack_event = (void *)on_ack_flags,
	.cong_control = (void *)on_ack,
	.undo_cwnd = (void *)on_undo,
	.min_tso_segs = (void *)on_segments,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "gemini",
};
