/*
 * GEMINI for Linux (6.10 and later): core.h as a congestion control of TCP, by struct_ops.
 *
 * The kernel calls cong_control() once per ACK, which is Algorithm 1; it then leaves window, threshold and pacing rate alone, also
 * in recovery. What the kernel still does by itself is followed (gemini_resync): it collapses the window at a timeout, takes back what
 * was none, and remembers thresholds of earlier connections.
 *
 * A mark cuts once: an ACK that echoes one makes the kernel ask ssthresh() as well, on its way into TCP_CA_CWR, and is told what holds.
 * Losses are answered where they are certain: set_state(TCP_CA_Recovery), also from CWR, where the kernel asks no ssthresh(), CA_EVENT_LOSS,
 * and set_state(TCP_CA_CWR) without a mark: a tail loss probe has repaired a loss, or the host's own queue was full. Whether there is a mark
 * says the ACK at hand, or the next one (settle).
 *
 * What runs for each ACK is one call, short, and in one piece: between two ACKs the processor does other things, and it is the lines of code and data
 * that are no longer in its caches that cost time, more than divisions. What is rare stands in functions of its own, and counters of a connection, which
 * a call has to find, are touched only where something happens.
 *
 * Some kernels leave out calls (docs/kernel.md): a connection that was not begun begins with its next event, and a threshold or a window of 0, which
 * is what the kernel takes for the answer that ssthresh() or undo_cwnd() did not give, is none.
 *
 * The receiving half echoes marks as RFC 8257, section 3.2, has it: at each change of the mark an ACK for what came before. Where the ends count
 * marks (Accurate ECN, RFC 9768) the kernel does all of that.
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

/* The connection's packet size as the core takes it. */
static __always_inline u32 packet_size(const struct tcp_sock *tp)
{
	u32 mss = tp->mss_cache;

	return mss < 1 ? 1 : mss > 65535 ? 65535 : mss;
}

static __noinline void record(struct tcp_sock *tp, const struct event_input *input)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
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
	event->pacing = gemini_pacing(&given()->constants, &p->core);
	event->packets = gemini_cwnd_packets(&p->core);
	event->mss = p->core.mss;
	event->input = *input;
	bpf_ringbuf_submit(event, 0);
}

/* A connection begins, or changes to this congestion control: icsk_ca_priv is zero. */
static __noinline void begin(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	struct event_input input = { .kind = EVENT_START };
	struct gemini_constants c;
	u64 rtt = tp->rtt_min.s[0].v;

	__builtin_memcpy(&c, &given()->constants, sizeof(c));
	c.mss = packet_size(tp);
	rtt = rtt == ~0U ? GEMINI_NO_RTT : gemini_max(rtt, 1) * 1000;
	input.acked = (u64)tp->snd_cwnd * c.mss;
	input.in_flight = rtt;
	input.ack_seq = tp->snd_una;
	gemini_init(&c, &p->core, input.acked, 1, given()->initial_alpha, rtt, input.ack_seq);
	p->packets = gemini_cwnd_packets(&p->core);
	if (flow) {
		flow->prior_rcv_nxt = tp->rcv_nxt;
		flow->delivered_ce = tp->delivered_ce;
		if (given()->record)
			flow->number = __sync_fetch_and_add(&flows_so_far, 1);
	}
	record(tp, &input);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* The packet size is another one, or the connection has not begun. */
static __noinline void resize(struct tcp_sock *tp)
{
	struct private_state *p = private_of((struct sock *)tp);
	struct event_input resized = { .kind = EVENT_MSS };
	u32 mss = packet_size(tp);

	if (p->core.mss == 0) {
		begin(tp);
		return;
	}
	if (p->core.mss == mss)
		return;
	gemini_on_mss(&given()->constants, &p->core, mss);
	p->packets = gemini_cwnd_packets(&p->core);
	resized.ack_seq = mss;
	record(tp, &resized);
}

/* The kernel's window or threshold may be another one than the core's. */
static __noinline void move(struct tcp_sock *tp)
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
	most = gemini_max(gemini_cwnd_packets(&p->core), tp->prior_cwnd);
	if (cwnd == 0)
		cwnd = gemini_cwnd_packets(&p->core);
	if (cwnd > most)
		cwnd = most;
	/* Where that is what the core had before, nobody would give it to the kernel. */
	if (cwnd != tp->snd_cwnd)
		tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd : tp->snd_cwnd_clamp;
	if (ssthresh == 0)
		ssthresh = tp->snd_ssthresh = gemini_ssthresh_packets(&p->core);
	if (cwnd != gemini_cwnd_packets(&p->core) || ssthresh != gemini_ssthresh_packets(&p->core)) {
		moved.ack_seq = cwnd;
		moved.snd_nxt = ssthresh;
		gemini_resync(&p->core, cwnd, ssthresh);
		record(tp, &moved);
		flow = flow_of(sk);
		if (flow)
			flow->moved += 1;
	}
	p->packets = gemini_cwnd_packets(&p->core);
}

/* Before an event that is no ACK: packet size, window and threshold as the kernel has them now. */
static __noinline void follow(struct tcp_sock *tp)
{
	resize(tp);
	move(tp);
}

/* After an event that has left the threshold alone: what the core says is what holds. */
static __always_inline void give_window(struct private_state *p, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	u64 rate = gemini_pacing(&given()->constants, &p->core) >> 3;
	u64 most = sk->sk_max_pacing_rate;
	u32 cwnd, clamp;

	sk->sk_pacing_rate = rate < most ? rate : most;
	if (!GEMINI_RARE(!gemini_is_packets(&p->core, p->core.cwnd, p->packets)))
		return;
	cwnd = gemini_cwnd_packets(&p->core);
	clamp = tp->snd_cwnd_clamp;
	p->packets = cwnd;
	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
}

static __noinline void give(struct tcp_sock *tp)
{
	struct private_state *p = private_of((struct sock *)tp);
	u32 cwnd = gemini_cwnd_packets(&p->core), clamp = tp->snd_cwnd_clamp;

	give_window(p, tp);
	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
	tp->snd_ssthresh = gemini_ssthresh_packets(&p->core);
}

/* A loss, after follow(). */
static __noinline void lost(struct tcp_sock *tp, enum gemini_loss event)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	struct event_input input = {
		.kind = event == GEMINI_TIMEOUT ? EVENT_TIMEOUT : EVENT_FAST_RETRANSMIT,
		.snd_nxt = tp->snd_nxt,
	};

	/* Where the loss is known only after the flight, nothing is out any more: the window stands for it. */
	input.in_flight = (u64)(tp->packets_out ? tp->packets_out : tp->snd_cwnd) * p->core.mss;
	gemini_on_loss(&given()->constants, &p->core, event, input.in_flight, input.snd_nxt);
	record(tp, &input);
	give(tp);
	if (flow && event == GEMINI_TIMEOUT)
		flow->timeouts += 1;
	else if (flow)
		flow->fast_retransmits += 1;
}

/*
 * An ACK settles what is in doubt. A reduction without a mark is one for a loss; where the mark came by itself, after the reduction, something has
 * been sent since.
 */
static __noinline void settle(struct tcp_sock *tp, u32 marked)
{
	struct private_state *p = private_of((struct sock *)tp);
	u32 doubt = p->doubt;

	p->doubt = 0;
	follow(tp);
	if (doubt & DOUBT_REDUCTION && (!marked || tp->high_seq != tp->snd_nxt))
		lost(tp, GEMINI_FAST_RETRANSMIT);
}

SEC("struct_ops/on_init")
void BPF_PROG(on_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);

	bpf_sk_storage_get(&gemini_flows, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	/* The handshake's ACK may have come before. */
	p->core.mss = 0;
	p->ca_state = 0;
	p->doubt = 0;
	p->acks = 0;
	p->marked = 0;
	follow(tp);
	give(tp);
}

SEC("struct_ops/on_release")
void BPF_PROG(on_release, struct sock *sk)
{
	bpf_sk_storage_delete(&gemini_flows, sk);
}

/*
 * Payload of the marked packets that an ACK reports. The kernel counts them: with Accurate ECN one by one (RFC 9768), otherwise all that an echoing
 * ACK delivers. It says of each ACK that moves the count that there is a mark.
 */
static __noinline u64 newly_marked(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct flow *flow = flow_of(sk);
	u32 count = tp->delivered_ce, before;

	if (!flow)
		return 0;
	before = flow->delivered_ce;
	flow->delivered_ce = count;
	return (u64)(count - before) * private_of(sk)->core.mss;
}

enum rarely { UNSAMPLED = 1 << 0, ECN_CUT = 1 << 1, DELAY_CUT = 1 << 2 };

/* What is rare of an ACK, and the ACKs so far. */
static __noinline void count(struct tcp_sock *tp, u32 what)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);

	if (flow) {
		flow->acks += p->acks;
		flow->marked_acks += p->marked;
		flow->unsampled += !!(what & UNSAMPLED);
		flow->ecn_cuts += !!(what & ECN_CUT);
		flow->delay_cuts += !!(what & DELAY_CUT);
	}
	p->acks = 0;
	p->marked = 0;
}

SEC("struct_ops/on_ack")
void BPF_PROG(on_ack, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);
	const struct gemini_constants *c = &given()->constants;
	struct gemini_ack ack;
	u64 before;
	u32 in_flight, what;

	ack.marked = 0;
	ack.ecn_echo = flag & FLAG_ECE;
	if (GEMINI_RARE(p->core.mss != tp->mss_cache))
		resize(tp);
	if (GEMINI_RARE(p->doubt))
		settle(tp, ack.ecn_echo);
	else if (GEMINI_RARE(p->packets != tp->snd_cwnd))
		move(tp);
	in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	ack.acked = (u64)rs->acked_sacked * p->core.mss;
	if (GEMINI_RARE(ack.ecn_echo))
		ack.marked = newly_marked(tp);
	ack.in_flight = (u64)in_flight * p->core.mss;
	/* A sample below a microsecond is one all the same; without one it is negative. */
	ack.rtt = rs->rtt_us < 0 ? GEMINI_NO_RTT : gemini_max((u64)rs->rtt_us, 1) * 1000;
	ack.ack_seq = tp->snd_una;
	ack.snd_nxt = tp->snd_nxt;
	ack.in_recovery = p->ca_state == TCP_CA_RECOVERY;
	ack.app_limited = rs->is_app_limited;
	before = p->core.cwnd;
	gemini_on_ack(c, &p->core, &ack);
	if (GEMINI_RARE(given()->record)) {
		struct event_input input = {
			.kind = EVENT_ACK,
			.acked = ack.acked,
			.in_flight = ack.in_flight,
			.rtt = ack.rtt,
			.ack_seq = ack.ack_seq,
			.snd_nxt = ack.snd_nxt,
			.flags = !!ack.ecn_echo | !!ack.in_recovery << 1 | !!ack.app_limited << 2,
			.marked = ack.marked,
		};

		record(tp, &input);
	}
	give_window(p, tp);
	p->acks += 1;
	p->marked += !!ack.ecn_echo;
	what = ack.rtt == GEMINI_NO_RTT ? UNSAMPLED : 0;
	if (GEMINI_RARE(p->core.cwnd < before)) {
		tp->snd_ssthresh = gemini_ssthresh_packets(&p->core);
		what |= ack.ecn_echo ? ECN_CUT : DELAY_CUT;
	}
	if (GEMINI_RARE(what || p->acks == 255))
		count(tp, what);
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
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);

	if (new_state == TCP_CA_RECOVERY && p->ca_state != TCP_CA_RECOVERY) {
		follow(tp);
		lost(tp, GEMINI_FAST_RETRANSMIT);
	} else if (new_state == TCP_CA_CWR && p->ca_state < TCP_CA_CWR) {
		p->doubt |= DOUBT_REDUCTION;
	}
	p->doubt |= DOUBT_THRESHOLD;
	p->ca_state = new_state;
}

SEC("struct_ops/on_undo")
u32 BPF_PROG(on_undo, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	struct event_input input = { .kind = EVENT_UNDO, .in_flight = GEMINI_NO_THRESHOLD };

	follow(tp);
	input.acked = gemini_bytes_q10((u64)tp->prior_cwnd * p->core.mss);
	if (tp->prior_ssthresh < GEMINI_NO_THRESHOLD_PACKETS)
		input.in_flight = gemini_bytes_q10((u64)tp->prior_ssthresh * p->core.mss);
	gemini_on_undo(&p->core, input.acked, input.in_flight);
	record(tp, &input);
	give(tp);
	/* The kernel gives back the threshold itself, after this. */
	p->doubt |= DOUBT_THRESHOLD;
	if (flow)
		flow->undone += 1;
	return tp->snd_cwnd;
}

static __noinline void silence_ends(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	struct private_state *p = private_of(sk);
	struct flow *flow = flow_of(sk);
	/* Both in jiffies, of which the core takes the ratio. */
	u32 idle = (u32)bpf_jiffies64() - tp->lsndtime, rto = tp->inet_conn.icsk_rto;
	struct event_input input = { .kind = EVENT_IDLE };

	if (!sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle)
		idle = 0;
	follow(tp);
	input.acked = idle;
	input.in_flight = rto;
	input.rtt = 10 * (u64)p->core.mss;
	gemini_on_idle_restart(&p->core, idle, rto, input.rtt);
	record(tp, &input);
	give(tp);
	p->doubt |= DOUBT_THRESHOLD;
	if (flow)
		flow->idle_restarts += idle > rto;
}

static __always_inline void marked(struct sock *sk, u32 ce_state)
{
	struct flow *flow = flow_of(sk);

	if (flow)
		echo_mark((struct tcp_sock *)sk, &flow->ce_state, &flow->prior_rcv_nxt, ce_state);
}

static __noinline void time_out(struct tcp_sock *tp)
{
	follow(tp);
	lost(tp, GEMINI_TIMEOUT);
}

SEC("struct_ops/on_event")
void BPF_PROG(on_event, struct sock *sk, enum tcp_ca_event event)
{
	switch (event) {
	case CA_EVENT_TX_START:
		silence_ends((struct tcp_sock *)sk);
		break;
	case CA_EVENT_LOSS:
		time_out((struct tcp_sock *)sk);
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
	.cong_control = (void *)on_ack,
	.undo_cwnd = (void *)on_undo,
	.min_tso_segs = (void *)on_segments,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = "gemini",
};
