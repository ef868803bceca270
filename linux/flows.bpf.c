/*
 * Lists the connections of an algorithm, of all network namespaces: one struct row for each, read from the iterator over their socket storage. It has a
 * program of its own, so that nothing of it stays loaded, and nothing is written per ACK for it.
 */
#include "kernel.h"
#include <bpf/bpf_core_read.h>

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
	u64 private[13];	/* icsk_ca_priv */
	u64 stored[CONNECTION_BYTES / 8];
	u32 cwnd;		/* packets */
	u32 ssthresh;		/* packets */
	u32 mss;		/* bytes */
	u32 srtt_us;		/* 0 before the first sample */
	u32 state;		/* TCP_CA_... */
	u8 source[16];		/* an IPv4 address takes the first four */
	u8 destination[16];
	u32 namespace;		/* inode of the network namespace */
	u16 source_port;
	u16 destination_port;
	u16 family;		/* 4 or 6 */
	u16 unused;
};

SEC("iter/bpf_sk_storage_map")
int flows(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	u64 *stored = ctx->value;
	struct row row = {};

	if (!sk || !stored)
		return 0;
	__builtin_memcpy(row.stored, stored, sizeof(row.stored));
	bpf_probe_read_kernel(row.private, sizeof(row.private), &((struct inet_connection_sock *)sk)->icsk_ca_priv);
	/* A socket of the iterator is not known to be a TCP socket: its members beyond struct sock are read by address. */
	bpf_probe_read_kernel(&row.cwnd, 4, &tp->snd_cwnd);
	bpf_probe_read_kernel(&row.ssthresh, 4, &tp->snd_ssthresh);
	bpf_probe_read_kernel(&row.mss, 4, &tp->mss_cache);
	bpf_probe_read_kernel(&row.srtt_us, 4, &tp->srtt_us);
	row.srtt_us >>= 3;
	row.state = BPF_CORE_READ_BITFIELD_PROBED((struct inet_connection_sock *)sk, icsk_ca_state);
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
