/*
 * Lists the connections that gear.bpf.c runs, and those that options.bpf.c keeps telemetry of, in all network namespaces: one row for each,
 * read from iterators. Programs of their own, so that nothing of them stays loaded, and nothing is written per ACK for them.
 */
#include "kernel.h"

char licence[] SEC("license") = "Dual MIT/GPL";

#define AF_INET 2

struct seq_file;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

struct ends {
	u8 source[16];		/* an IPv4 address takes the first four */
	u8 destination[16];
	u32 namespace;		/* inode of the network namespace */
	u16 source_port;
	u16 destination_port;
	u16 family;		/* 4 or 6 */
	u16 unused[3];
};

struct flow_row {
	struct ends ends;
	u64 window;		/* Q10 bytes on the wire: what holds */
	u64 reference;
	u64 load;		/* Q20 */
	u64 base_rtt;		/* ns */
	u64 pacing;		/* bytes per second */
	u64 acks;
	u64 telemetry;
	u64 samples;
	u64 updates;
	u32 losses;
	u32 timeouts;
	u32 flags;
	u32 cwnd;		/* packets */
};

struct path_row {
	struct ends ends;
	struct path path;
};

static __always_inline void ends_of(struct ends *ends, struct sock *sk)
{
	ends->namespace = sk->__sk_common.skc_net.net->ns.inum;
	ends->source_port = sk->__sk_common.skc_num;
	ends->destination_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (sk->__sk_common.skc_family == AF_INET) {
		ends->family = 4;
		bpf_probe_read_kernel(ends->source, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_probe_read_kernel(ends->destination, 4, &sk->__sk_common.skc_daddr);
	} else {
		ends->family = 6;
		bpf_probe_read_kernel(ends->source, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(ends->destination, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

SEC("iter/bpf_sk_storage_map")
int flows(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct flow *flow = ctx->value;
	struct sock *sk = ctx->sk;
	struct flow_row row = {};

	if (!sk || !flow)
		return 0;
	ends_of(&row.ends, sk);
	row.window = gear_window(&flow->core);
	row.reference = flow->core.reference;
	row.load = flow->core.load;
	row.base_rtt = flow->core.base_rtt;
	row.pacing = sk->sk_pacing_rate;
	row.acks = flow->acks;
	row.telemetry = flow->telemetry;
	row.samples = flow->samples;
	row.updates = flow->updates;
	row.losses = flow->losses;
	row.timeouts = flow->timeouts;
	row.flags = flow->core.flags;
	bpf_probe_read_kernel(&row.cwnd, sizeof(row.cwnd), &((struct tcp_sock *)sk)->snd_cwnd);
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}

SEC("iter/bpf_sk_storage_map")
int paths(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct path *path = ctx->value;
	struct sock *sk = ctx->sk;
	struct path_row row = {};

	if (!sk || !path)
		return 0;
	ends_of(&row.ends, sk);
	__builtin_memcpy(&row.path, path, sizeof(row.path));
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
