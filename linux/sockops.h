/* The context of sockops programs (include/uapi/linux/bpf.h). */
#ifndef FARLOOP_SOCKOPS_H
#define FARLOOP_SOCKOPS_H

struct bpf_sock;

struct bpf_sock_ops {
	u32 op;
	union {
		u32 args[4];
		u32 reply;
	};
	u32 family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, is_fullsock, snd_cwnd, srtt_us;
	u32 bpf_sock_ops_cb_flags, state, rtt_min, snd_ssthresh, rcv_nxt, snd_nxt, snd_una, mss_cache, ecn_flags, rate_delivered;
	u32 rate_interval_us, packets_out, retrans_out, total_retrans, segs_in, data_segs_in, segs_out, data_segs_out, lost_out, sacked_out;
	u32 sk_txhash;
	u64 bytes_received, bytes_acked;
	struct bpf_sock *sk __attribute__((aligned(8)));
	void *skb_data __attribute__((aligned(8)));
	void *skb_data_end __attribute__((aligned(8)));
	u32 skb_len, skb_tcp_flags;
};

#endif
