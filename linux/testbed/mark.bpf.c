/*
 * The switch of a testbed: marks packets of ECN-capable connections Congestion Experienced where the queue of the port that they leave by
 * is longer than THRESHOLD bytes. For the egress hook (clsact) of an interface with a queueing discipline such as TBF.
 *
 *   clang -target bpf -mcpu=v3 -O2 -g -DTHRESHOLD=30000 -c mark.bpf.c -o mark.bpf.o
 *   tc qdisc add dev port clsact && tc filter add dev port egress bpf direct-action object-file mark.bpf.o section tc
 */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gnet_stats_queue {
	__u32 backlog;
};

struct Qdisc {
	struct gnet_stats_queue qstats;
};

struct net_device {
	struct Qdisc *qdisc;
};

struct sk_buff {
	struct net_device *dev;
};

#pragma clang attribute pop

struct __sk_buff;

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

char licence[] SEC("license") = "Dual MIT/GPL";

SEC("tc")
int mark(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);

	if (skb->dev->qdisc->qstats.backlog > THRESHOLD)
		bpf_skb_ecn_set_ce(ctx);
	return 0; /* TC_ACT_OK */
}
