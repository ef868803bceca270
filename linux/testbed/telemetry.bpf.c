/*
 * The switch of a testbed: writes its entry into packets that offer room for telemetry (docs/int-option.md): the queue of the port that they
 * leave by, what it has sent so far, the time and the port's rate. For the egress hook (clsact) of an interface with a queueing discipline such
 * as TBF, whose own counters it reads: an entry says what a packet met when it came to the queue.
 *
 *   clang -target bpf -mcpu=v3 -O2 -g -DRATE_MBPS=200 -DHOP=1 -c telemetry.bpf.c -o telemetry.bpf.o
 *   tc qdisc add dev port clsact && tc filter add dev port egress bpf direct-action object-file telemetry.bpf.o section tc
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

#include "../gear/option.h"

#define ETHERNET 14
#define IPV6_HEADER 40
#define TCP_HEADER 20
#define TCP 6
#define TCP_CHECKSUM 16
#define ACCEPT 0

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gnet_stats_queue {
	__u32 backlog;
};

struct gnet_stats_basic_sync {
	struct {
		struct {
			struct {
				struct {
					__s64 counter;
				} a;
			} a;
		} v;
	} bytes;
};

struct Qdisc {
	struct gnet_stats_basic_sync bstats;
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

/* For who looks: bpftool map dump name telemetr.bss. */
__u64 stamped, full;

/* Where the TCP header begins, or 0: no whole TCP header behind that of IPv4 or IPv6. */
static __always_inline __u32 tcp_header(void *ctx)
{
	__u8 head[IPV6_HEADER];
	__u8 kind[2];

	if (bpf_skb_load_bytes(ctx, ETHERNET - 2, kind, sizeof(kind)))
		return 0;
	if (kind[0] == 0x08 && kind[1] == 0x00) {
		/* A fragment has no header, or not all of it. */
		if (bpf_skb_load_bytes(ctx, ETHERNET, head, 20) || head[9] != TCP || (head[6] & 0x3f) || head[7])
			return 0;
		return head[0] >> 4 == 4 && (head[0] & 15) >= 5 ? ETHERNET + (head[0] & 15) * 4 : 0;
	}
	if (kind[0] != 0x86 || kind[1] != 0xdd || bpf_skb_load_bytes(ctx, ETHERNET, head, IPV6_HEADER) || head[6] != TCP)
		return 0;
	return ETHERNET + IPV6_HEADER;
}

SEC("tc")
int telemetry(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct Qdisc *port = skb->dev->qdisc;
	struct option_hop own = { .hop = HOP, .rate = RATE_MBPS * 1000ULL };
	__u8 options[OPTION_SPACE] = {}, words, entry[OPTION_ENTRY];
	__u32 header = tcp_header(ctx), size, at, place;
	__s64 difference;

	if (!header || bpf_skb_load_bytes(ctx, header + 12, &words, 1))
		return ACCEPT;
	size = (words >> 4) * 4;
	if (size < TCP_HEADER + OPTION_HEAD + OPTION_ENTRY)
		return ACCEPT;
	size -= TCP_HEADER;
	if (size > OPTION_SPACE || bpf_skb_load_bytes(ctx, header + TCP_HEADER, options, size))
		return ACCEPT;
	at = option_find(options, size, OPTION_PROBE);
	if (at == OPTION_NONE)
		return ACCEPT;
	own.ts = (__u32)bpf_ktime_get_ns();
	own.tx = (__u32)port->bstats.bytes.v.a.a.counter;
	own.queue = port->qstats.backlog;
	place = option_place(options, at, &own);
	if (place > OPTION_SPACE - OPTION_ENTRY) {
		full += 1;
		return ACCEPT;
	}
	option_encode(entry, &own);
	difference = bpf_csum_diff((__be32 *)(options + place), OPTION_ENTRY, (__be32 *)entry, OPTION_ENTRY, 0);
	if (difference < 0 || bpf_skb_store_bytes(ctx, header + TCP_HEADER + place, entry, OPTION_ENTRY, 0))
		return ACCEPT;
	bpf_l4_csum_replace(ctx, header + TCP_CHECKSUM, 0, difference, 0);
	stamped += 1;
	return ACCEPT;
}
