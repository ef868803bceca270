/*
 * Lists the connections that gemini.bpf.c runs, of all network namespaces: one struct row for each, read from the iterator. It has a
 * program of its own, so that nothing of it stays loaded, and nothing is written per ACK for it.
 */
#include "kernel.h"

char licence[] SEC("license") = "Dual MIT/GPL";

#define AF_INET 2
#define AF_INET6 10

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

struct row {
	struct private_state state;
	struct flow flow;
	u8 source[16];		/* an IPv4 address takes the first four */
	u8 destination[16];
	u32 namespace;		/* inode of the network namespace */
	u16 source_port;
	u16 destination_port;
	u16 family;		/* 4 or 6 */
	u16 unused[3];
};

SEC("iter/bpf_sk_storage_map")
int flows(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct flow *flow = ctx->value;
	struct row row = {};

	if (!sk || !flow)
		return 0;
	__builtin_memcpy(&row.flow, flow, sizeof(row.flow));
	bpf_probe_read_kernel(&row.state, sizeof(row.state), &((struct inet_connection_sock *)sk)->icsk_ca_priv);
	row.namespace = sk->__sk_common.skc_net.net->ns.inum;
	row.source_port = sk->__sk_common.skc_num;
	row.destination_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (sk->__sk_common.skc_family == AF_INET) {
		row.family = 4;
		bpf_probe_read_kernel(row.source, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_probe_read_kernel(row.destination, 4, &sk->__sk_common.skc_daddr);
	} else {
		row.family = 6;
		bpf_probe_read_kernel(row.source, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_probe_read_kernel(row.destination, 16, &sk->__sk_common.skc_v6_daddr);
	}
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
