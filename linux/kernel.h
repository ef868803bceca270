/*
 * What the programs know of a Linux kernel: the members that they name, found by name in the running kernel's BTF when a program is
 * loaded, wherever they stand there (CO-RE). No kernel header is needed.
 */
#ifndef FARLOOP_KERNEL_H
#define FARLOOP_KERNEL_H

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

#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_F_NO_PREALLOC 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS 4
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_MODE_ACCECN 16
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define ICSK_ACK_TIMER 2
#define CA_ACK_ECE 4
/* What cong_control() is told of an ACK with ECE: net/ipv4/tcp_input.c, the same since Linux 2.4, and in no header. */
#define FLAG_ECE 0x40
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1

/* Bytes of what a connection keeps in socket storage: the same for all algorithms, so that one program lists them. */
#define CONNECTION_BYTES 72

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
	u8 icsk_ca_state : 5;
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
	u16 tcp_header_len;
	u32 rcv_nxt;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	u32 high_seq;
	u32 packets_out;
	u32 retrans_out;
	u32 sacked_out;
	u32 lost_out;
	u32 lsndtime;
	u32 mss_cache;
	u64 tcp_mstamp;
	u32 srtt_us;
	u32 delivered;
	u32 delivered_ce;
	u32 app_limited;
	struct minmax rtt_min;
	u8 ecn_flags;
};

struct ack_sample {
	u32 pkts_acked;
	int rtt_us;
};

struct rate_sample {
	long rtt_us;
	u32 acked_sacked;
	bool is_app_limited;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#pragma clang attribute pop

/*
 * At each change of the mark the receiver says at once what it has seen before, and echoes the new state from then on (RFC 8257, section 3.2). With
 * Accurate ECN the kernel itself counts the marks and acknowledges them.
 */
static __always_inline void echo_mark(struct tcp_sock *tp, u32 *ce_state, u32 *prior_rcv_nxt, u32 marked)
{
	if (tp->ecn_flags & TCP_ECN_MODE_ACCECN)
		return;
	if (*ce_state != marked && tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER) {
		if (*ce_state)
			tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
		else
			tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
		bpf_tcp_send_ack(tp, *prior_rcv_nxt);
	}
	*prior_rcv_nxt = tp->rcv_nxt;
	*ce_state = marked;
	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
