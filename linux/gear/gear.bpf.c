/*
 * Gear for Linux (6.10 and later): core.h as a congestion control of TCP, by struct_ops. Telemetry comes from options.bpf.c, which has to be
 * attached to the cgroups of both ends; without it this is a paced AIMD of TCP's kind (spec/gear.md says nothing of that).
 *
 * The kernel calls cong_control() once per ACK, after options.bpf.c has read the ACK's option; it then leaves window and pacing rate alone.
 */
#include "kernel.h"

char licence[] SEC("license") = "Dual MIT/GPL";

#define AF_INET 2
#define ETHERNET 14
#define IPV4_HEADER 20
#define IPV6_HEADER 40

/* Written by the loader. */
const volatile struct settings settings SEC(".rodata.settings") = {};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} gear_flows SEC(".maps");

/* Where the settings lie. The compiler sees nothing in them but what stands above: it is kept from using that. */
static __always_inline const struct settings *given(void)
{
	const struct settings *found = (const struct settings *)&settings;

	asm volatile("" : "+r"(found));
	return found;
}

/* The settings, and this connection's packets: what switches count of a full one, and the data in it beside the option. */
static __always_inline void constants_of(struct gear_constants *c, struct sock *sk, const struct path *path)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 option = path && path->room ? path->room + OPTION_HEAD : 0;
	u64 packet = tp->mss_cache + tp->tcp_header_len + ETHERNET;

	packet += sk->__sk_common.skc_family == AF_INET ? IPV4_HEADER : IPV6_HEADER;
	__builtin_memcpy(c, &given()->constants, sizeof(*c));
	c->packet = gear_min(packet, 65535);
	c->payload = tp->mss_cache > option ? gear_min(tp->mss_cache - option, c->packet) : 1;
}

static __always_inline void give(const struct gear_constants *c, const struct gear_state *s, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u32 cwnd = gear_cwnd_packets(c, s), clamp = tp->snd_cwnd_clamp;
	u64 rate = gear_pacing(c, s), most = sk->sk_max_pacing_rate;

	tp->snd_cwnd = cwnd < clamp ? cwnd : clamp;
	sk->sk_pacing_rate = rate < most ? rate : most;
}

/* A connection begins, or changes to this congestion control. */
static __always_inline void begin(const struct gear_constants *c, struct flow *flow, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 rtt = tp->rtt_min.s[0].v, window = tp->snd_cwnd * c->packet, most;

	rtt = rtt == ~0U ? GEAR_NO_RTT : gear_max(rtt, 1) * 1000;
	most = gear_carries(gear_min(given()->initial_rate, GEAR_MAX_RATE), gear_min(rtt, GEAR_MAX_SPAN)) >> 10;
	gear_init(c, &flow->core, gear_max(window, most), rtt, tp->snd_una);
	flow->began = 1;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops/on_init")
void BPF_PROG(on_init, struct sock *sk)
{
	struct flow *flow = bpf_sk_storage_get(&gear_flows, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct gear_constants c;

	if (!flow)
		return;
	constants_of(&c, sk, bpf_sk_storage_get(&int_paths, sk, NULL, 0));
	begin(&c, flow, sk);
	give(&c, &flow->core, sk);
}

SEC("struct_ops/on_release")
void BPF_PROG(on_release, struct sock *sk)
{
	bpf_sk_storage_delete(&gear_flows, sk);
}

/* What the last echo brought, if it came since the last call. */
static __always_inline void telemetry_of(struct gear_ack *ack, struct flow *flow, const struct path *path)
{
	u32 i;

	ack->hops = 0;
	if (!path || path->echoed == flow->echoed)
		return;
	flow->echoed = path->echoed;
	for (i = 0; i < OPTION_ENTRIES; i++) {
		if (i * OPTION_ENTRY + OPTION_ENTRY > path->known || !option_decode(path->latest + i * OPTION_ENTRY, &ack->hop[i]))
			break;
		ack->hops += 1;
	}
}

SEC("struct_ops/on_ack")
void BPF_PROG(on_ack, struct sock *sk, u32 seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct path *path = bpf_sk_storage_get(&int_paths, sk, NULL, 0);
	struct flow *flow = bpf_sk_storage_get(&gear_flows, sk, NULL, 0);
	struct gear_constants c;
	struct gear_ack ack = {};
	enum gear_outcome outcome;

	if (!flow)
		return;
	constants_of(&c, sk, path);
	if (!flow->began)
		begin(&c, flow, sk);
	ack.now = tp->tcp_mstamp * 1000;
	ack.rtt = rs->rtt_us < 0 ? GEAR_NO_RTT : gear_max((u64)rs->rtt_us, 1) * 1000;
	ack.acked = (u64)rs->acked_sacked * c.payload;
	ack.ack_seq = tp->snd_una;
	ack.snd_nxt = tp->snd_nxt;
	ack.in_recovery = flow->ca_state >= TCP_CA_RECOVERY;
	telemetry_of(&ack, flow, path);
	outcome = gear_on_ack(&c, &flow->core, &ack);
	give(&c, &flow->core, sk);
	flow->acks += 1;
	flow->telemetry += ack.hops > 0;
	flow->samples += outcome >= GEAR_SAMPLE;
	flow->updates += outcome == GEAR_UPDATE;
}

/* Asked where the kernel takes the window back by itself; what holds comes with the next ACK. */
SEC("struct_ops/on_ssthresh")
u32 BPF_PROG(on_ssthresh, struct sock *sk)
{
	u32 cwnd = ((struct tcp_sock *)sk)->snd_cwnd;

	return cwnd < 2 ? 2 : cwnd;
}

SEC("struct_ops/on_undo")
u32 BPF_PROG(on_undo, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_cwnd;
}

SEC("struct_ops/on_state")
void BPF_PROG(on_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = bpf_sk_storage_get(&gear_flows, sk, NULL, 0);
	struct gear_constants c;
	u32 timeout = new_state == TCP_CA_LOSS, lost;

	if (!flow)
		return;
	/* TCP_CA_CWR: a loss that a tail loss probe has repaired, or a full queue of the host's own. */
	lost = new_state >= TCP_CA_CWR && flow->ca_state < TCP_CA_CWR;
	lost |= new_state >= TCP_CA_RECOVERY && flow->ca_state == TCP_CA_CWR;
	flow->ca_state = new_state;
	if (!flow->began || (!lost && !timeout))
		return;
	constants_of(&c, sk, bpf_sk_storage_get(&int_paths, sk, NULL, 0));
	gear_on_loss(&c, &flow->core, timeout, tp->snd_una, tp->snd_nxt);
	give(&c, &flow->core, sk);
	flow->losses += !timeout;
	flow->timeouts += timeout;
}

SEC(".struct_ops")
struct tcp_congestion_ops gear = {
	.init = (void *)on_init,
	.release = (void *)on_release,
	.cong_control = (void *)on_ack,
	.ssthresh = (void *)on_ssthresh,
	.undo_cwnd = (void *)on_undo,
	.set_state = (void *)on_state,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "gear",
};
