/* Structures that rollout.bpf.c exchanges with its owner (python/farloop/kernel/rollout/selection.py). */
#ifndef FARLOOP_ROLLOUT_KERNEL_H
#define FARLOOP_ROLLOUT_KERNEL_H

#define MAX_PREFIXES 1024
#define MAX_PORTS 1024
#define MAX_NAMESPACES 256
#define MAX_CONNECTIONS 65536

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_LPM_TRIE 11
#define AF_INET 2
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define TCP_CLOSE 7
#define TCP_ECN_OK 1

#define CONNECT_CB 3
#define ACTIVE_ESTABLISHED 4
#define PASSIVE_ESTABLISHED 5
#define NEEDS_ECN 6
#define STATE_CB 10
#define RTT_CB 12
#define STATE_FLAG 4
#define RTT_FLAG 8

#define PLAN_COMMITTED 1	/* it needs no heartbeat */
#define PLAN_WITHDRAWN 2	/* it chooses nothing, and takes back */
#define PLAN_CONNECTS 4		/* connections that this host opens */
#define PLAN_ACCEPTS 8		/* and those that it accepts */
#define PLAN_HAS_PORTS 16
#define PLAN_HAS_NAMESPACES 32
#define PLAN_HAS_FORMER 64
#define PLAN_ECN 128		/* its algorithm needs ECN */
#define PLAN_LIVE 256		/* connections that were seen to begin are moved later, too */

#define CONNECTION_MOVED 1
#define CONNECTION_CLOSED 2
#define CONNECTION_ACCEPTED 4

enum {
	COUNT_SEEN,		/* connections of the class that began */
	COUNT_MOVED,
	COUNT_BACK,
	COUNT_CLOSED,
	COUNT_REFUSED,		/* the kernel did not change the algorithm */
	COUNT_REFUSED_BACK,
	COUNT_FULL,		/* there was no room to remember a connection, so it was not moved */
	COUNT_OTHER_PLAN,	/* another plan has it */
	COUNTERS
};

struct plan {
	u64 beat;		/* ns of CLOCK_MONOTONIC */
	u64 lease;		/* ns that a heartbeat lasts */
	u64 seed;
	u64 share;		/* connections whose hash is below this are chosen: 2^32 for all */
	u32 flags;
	u32 unused;
	char control[16] __attribute__((aligned(8)));
	char former[16] __attribute__((aligned(8)));	/* with PLAN_HAS_FORMER only connections that have this one are moved */
};

struct connection {
	u64 seen;		/* ns of CLOCK_MONOTONIC */
	u64 changed;
	u64 namespace;		/* cookie */
	u32 state;
	u32 hash;
	u32 local_port;
	u32 remote_port;
	u32 local[4];		/* as in packets; an IPv4 address as ::ffff:a.b.c.d */
	u32 remote[4];
	char former[16] __attribute__((aligned(8)));
};

struct prefix {
	u32 length;
	u8 address[16];
};

#endif
