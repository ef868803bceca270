/*
 * What gemini.bpf.c and flows.bpf.c know of a Linux kernel: the members that they name, found by name in the running kernel's BTF
 * when a program is loaded, wherever they stand there (CO-RE). No kernel header is needed.
 */
#ifndef FARLOOP_GEMINI_KERNEL_H
#define FARLOOP_GEMINI_KERNEL_H

#define GEMINI_NO_TYPES
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

#include "core.h"

#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_NO_PREALLOC 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

#define TCP_CA_RECOVERY 3
#define TCP_ECN_DEMAND_CWR 4
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define ICSK_ACK_TIMER 2
#define CA_ACK_ECE 4
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
};

struct ns_common {
	u32 inum;
};

struct netns_ipv4 {
	u8 sysctl_tcp_slow_start_after_idle;
};

struct net {
	struct ns_common ns;
	struct netns_ipv4 ipv4;
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
	u32 icsk_rto;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
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
	u32 rcv_nxt;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 packets_out;
	u32 retrans_out;
	u32 sacked_out;
	u32 lost_out;
	u32 lsndtime;
	u32 mss_cache;
	struct minmax rtt_min;
	u8 ecn_flags;
};

struct rate_sample {
	long rtt_us;
	u32 acked_sacked;
	bool is_app_limited;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#pragma clang attribute pop

/* What the loader sets. */
struct settings {
	struct gemini_constants constants;
	u64 initial_alpha;	/* Q30 */
	u64 record;		/* write every event of the core into gemini_events */
};

/* What a connection keeps in icsk_ca_priv. */
struct private_state {
	struct gemini_state core;
	u32 mss;	/* the packet size that the core knows */
	u8 ca_state;	/* the kernel's, as set_state() gave it */
	u8 ece;		/* the ACK at hand echoes a mark */
	u16 unused;
};

_Static_assert(sizeof(struct private_state) <= 104, "icsk_ca_priv has 104 bytes");

/* What is counted of a connection, and what its receiving half keeps. */
struct flow {
	u64 number;		/* of the connection, from 0, where events are recorded */
	u64 acks;		/* ACKs that the algorithm saw */
	u64 samples;		/* of them with a round-trip time */
	u32 marked_acks;	/* of them with an echoed mark */
	u32 ecn_cuts;		/* reductions on an ACK that echoes a mark */
	u32 delay_cuts;		/* reductions on other ACKs */
	u32 fast_retransmits;
	u32 timeouts;
	u32 undone;		/* losses that were none */
	u32 idle_restarts;	/* silences that ended */
	u32 moved;		/* times that the kernel had moved window or threshold by itself */
	u32 ce_state;		/* receiver: the last packet was marked */
	u32 prior_rcv_nxt;	/* receiver: what it waited for when that was so */
	u32 events;		/* recorded, or lost for want of room */
	u32 unused;
};

/* An event of the core as vectors/README.md has it, and the state after it. What the members hold depends on the kind. */
enum event_kind { EVENT_START, EVENT_ACK, EVENT_FAST_RETRANSMIT, EVENT_TIMEOUT, EVENT_UNDO, EVENT_HOST, EVENT_MSS, EVENT_IDLE };

struct event_input {
	u64 acked;	/* or initial_cwnd, prior_cwnd, idle */
	u64 in_flight;	/* or base_rtt, prior_ssthresh, rto */
	u64 rtt;	/* or restart */
	u32 ack_seq;	/* or seq, packets, mss */
	u32 snd_nxt;	/* or ssthresh in packets */
	u32 flags;	/* of an ACK: 1 for ecn_echo, 2 for in_recovery, 4 for app_limited */
	u32 kind;
};

struct event {
	u64 flow;	/* number of the connection */
	u32 index;	/* of the event in it: a gap is an event lost */
	u32 alpha;
	u64 cwnd;
	u64 ssthresh;
	u64 pacing;
	u32 packets;
	u32 mss;
	struct event_input input;
};

#endif
