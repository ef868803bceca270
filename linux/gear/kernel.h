/*
 * What options.bpf.c, gear.bpf.c and paths.bpf.c know of a Linux kernel: the members that they name, found by name in the running kernel's
 * BTF when a program is loaded, wherever they stand there (CO-RE). No kernel header is needed.
 */
#ifndef FARLOOP_GEAR_KERNEL_H
#define FARLOOP_GEAR_KERNEL_H

#define GEAR_NO_TYPES
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef _Bool bool;

/* The names that libbpf's headers use. */
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef int __s32;
typedef long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Each is verified once, not once per way to it. */
#define GEAR_STEP __attribute__((noinline))
#include "core.h"

#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS 4
#define TCP_CONG_NON_RESTRICTED 1
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
};

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u16 tcp_header_len;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 mss_cache;
	u64 tcp_mstamp;
	struct minmax rtt_min;
};

struct rate_sample {
	long rtt_us;
	u32 acked_sacked;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#pragma clang attribute pop

/*
 * What a connection keeps of telemetry, both as sender and as receiver. options.bpf.c writes it, gear.bpf.c reads it; the map of both is one.
 */
struct path {
	u64 probes;		/* options sent with room for switches */
	u64 probed;		/* such options received that a switch had written into */
	u64 unstamped;		/* and those that came empty */
	u64 echoes;		/* options sent with what a probe had brought */
	u64 echoed;		/* such options received: gear.bpf.c takes what is new from this number */
	u64 no_room;		/* echoes that found no room beside other options, and went with a later ACK or not at all */
	u64 partial;		/* echoes that had room for some of their entries only */
	u32 pending;		/* bytes of entries to be echoed; 0 for none */
	u32 known;		/* bytes of entries that the last echo brought */
	u32 room;		/* bytes that the last packet with data had in its option */
	u32 turn;		/* the last packet with data carried a probe while an echo waited */
	u32 reserved;		/* bytes of entries of the packet that is being built */
	u32 identifier;		/* and which option it is */
	u8 to_echo[36];
	u8 latest[36];
};

/* What the loader sets. packet and payload are each connection's. */
struct settings {
	struct gear_constants constants;
	u64 initial_rate;	/* bit per ms; 0 for the kernel's initial window */
};

/* What gear.bpf.c keeps of a connection. */
struct flow {
	struct gear_state core;
	u64 acks;		/* calls of cong_control */
	u64 telemetry;		/* of them with telemetry that was new */
	u64 samples;		/* of them with a utilisation */
	u64 updates;		/* round trips: times that w^c moved */
	u64 echoed;		/* path.echoed at the last call */
	u32 losses;
	u32 timeouts;
	u32 began;
	u32 ca_state;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct path);
} int_paths SEC(".maps");

#endif
