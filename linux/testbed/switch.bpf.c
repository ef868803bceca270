/*
 * An egress port of a testbed's switch or host, for the egress hook (clsact) of an interface whose queueing discipline is TBF: drops what finds the
 * queue full, marks packets of ECN-capable connections Congestion Experienced, and counts.
 *
 * The queue is TBF's, with what a packet takes on the wire beyond what the kernel counts, and without the packet that the link is busy with. From
 * kmin on packets are marked with a probability that rises to pmax at kmax, beyond it always; kmin = kmax is a step. Between packets the queue drains
 * at the link's rate, which makes its mean exact.
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

enum { BPF_MAP_TYPE_ARRAY = 2 };

/* As in linux/bpf.h. */
struct bpf_spin_lock {
	__u32 val;
};

#include <bpf/bpf_helpers.h>

/* TC_ACT_UNSPEC: another program of the port may come next. Without one the packet passes. */
#define PASS -1
#define DROP 2 /* TC_ACT_SHOT */

/* Ethernet's header, IPv4's without options, and where TCP's destination port is. */
#define PORT_AT (14 + 20 + 2)

/* What carries data is larger. */
#define SMALL 1000

/* Flow n sends to TCP port FIRST_FLOW + n. */
#define FIRST_FLOW 10000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct gnet_stats_queue {
	__u32 backlog;
};

struct qdisc_skb_head {
	__u32 qlen;
};

struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

struct net_device {
	struct Qdisc *qdisc;
	int ifindex;
};

struct sk_buff {
	struct net_device *dev;
	__u32 len;
};

#pragma clang attribute pop

struct __sk_buff;

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

char licence[] SEC("license") = "Dual MIT/GPL";

/*
 * Of one port, written by the loader: bytes on the wire, but for `packets` (0 for no such limit), `pmax` in units of 2^-32, and `rate` in bits per second.
 * A new `epoch` begins a new longest queue. Of the packets with data the one of number `lost`, counted from 1, is dropped; 0 for none.
 */
struct settings {
	__u64 kmin, kmax, pmax;
	__u64 limit, packets;
	__u64 framing;
	__u64 rate;
	__u64 epoch;
	__u64 lost;
};

/* What the loader reads; `integral` is the queue over time in B * 1024 ns, `data` counts packets with data while one of them is to be lost. */
struct port {
	struct bpf_spin_lock lock;
	__u32 unused;
	__u64 packets, bytes, marked, dropped;
	__u64 longest, longest_of_epoch, epoch;
	__u64 integral, last, queue;
	__u64 data;
};

/* Ports have numbers: those of their interfaces, less FIRST_PORT. */
#define FIRST_PORT 1000

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} farloop_set SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct port);
} farloop_ports SEC(".maps");

/* Data packets dropped, by the flow's number: its port its port less FIRST_FLOW. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} farloop_drops SEC(".maps");

/* What has passed since the last packet: the queue of then, draining, and empty for the rest. */
static __always_inline void advance(struct port *p, __u64 now, __u64 rate)
{
	/* In units of 1024 ns, in which 7812500 bit/s are a byte. */
	__u64 past = p->last && now > p->last ? (now - p->last) >> 10 : 0;
	__u64 drain = p->queue * 7812500 / rate;

	if (past < drain)
		p->integral += past * (p->queue - past * rate / 7812500 / 2);
	else
		p->integral += drain * p->queue / 2;
	p->last = now;
}

static __always_inline void count_drop(struct __sk_buff *ctx)
{
	__u16 destination = 0;
	__u32 flow;
	__u64 *found;

	if (bpf_skb_load_bytes(ctx, PORT_AT, &destination, sizeof(destination)))
		return;
	flow = (__u32)__builtin_bswap16(destination) - FIRST_FLOW;
	found = bpf_map_lookup_elem(&farloop_drops, &flow);
	if (found)
		__sync_fetch_and_add(found, 1);
}

SEC("tc")
int egress(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct Qdisc *qdisc = skb->dev->qdisc;
	__u32 key = skb->dev->ifindex - FIRST_PORT;
	struct settings *s = bpf_map_lookup_elem(&farloop_set, &key);
	struct port *p = bpf_map_lookup_elem(&farloop_ports, &key);
	__u64 waiting = qdisc->q.qlen, queue = qdisc->qstats.backlog, now = bpf_ktime_get_ns(), size;
	int drop, mark;

	if (!s || !p || !s->rate)
		return PASS;
	size = skb->len + s->framing;
	queue += waiting * s->framing;
	/* TBF keeps a packet while the link would be busy with it. It is none of those that wait. */
	if (waiting)
		queue -= queue / waiting;
	drop = queue + size > s->limit || (s->packets && waiting > s->packets);
	mark = !drop && queue > s->kmin;
	if (mark && queue <= s->kmax)
		mark = bpf_get_prandom_u32() * (s->kmax - s->kmin) < s->pmax * (queue - s->kmin);
	if (mark)
		mark = bpf_skb_ecn_set_ce(ctx) > 0;
	bpf_spin_lock(&p->lock);
	advance(p, now, s->rate);
	if (s->lost && skb->len > SMALL) {
		p->data += 1;
		drop |= p->data == s->lost;
	}
	if (drop) {
		p->dropped += 1;
	} else {
		p->packets += 1;
		p->bytes += size;
		p->marked += mark;
		if (waiting)
			queue += size;
	}
	p->queue = queue;
	if (queue > p->longest)
		p->longest = queue;
	if (queue > p->longest_of_epoch || p->epoch != s->epoch)
		p->longest_of_epoch = queue;
	p->epoch = s->epoch;
	bpf_spin_unlock(&p->lock);
	if (!drop)
		return PASS;
	count_drop(ctx);
	return DROP;
}
