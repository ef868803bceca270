/* What gemini.bpf.c keeps of a connection, and what it exchanges with the loader. */
#ifndef FARLOOP_GEMINI_KERNEL_H
#define FARLOOP_GEMINI_KERNEL_H

#include "../kernel.h"

#define GEMINI_NO_TYPES
#include "core.h"

/* What the loader sets. */
struct settings {
	struct gemini_constants constants;
	u64 initial_alpha;	/* Q30 */
	u64 record;		/* write every event of the core into gemini_events */
};

/* What a connection keeps in icsk_ca_priv. Its packet size is 0 before it has begun. */
struct private_state {
	struct gemini_state core;
	u8 ca_state;	/* the kernel's, as set_state() gave it */
	u8 doubt;	/* enum doubt */
	u8 acks;	/* that are not in struct flow yet, */
	u8 marked;	/* and of them those with an echoed mark */
	u32 packets;	/* the core's window, as the kernel was given it */
};

/* What the next ACK has to settle before anything else. */
enum doubt {
	DOUBT_THRESHOLD = 1 << 0,	/* the kernel may have moved the slow start threshold */
	DOUBT_REDUCTION = 1 << 1,	/* it has entered TCP_CA_CWR: on a mark, or on a loss that nothing else tells */
};

_Static_assert(sizeof(struct private_state) <= 104, "icsk_ca_priv has 104 bytes");

/* What is counted of a connection, and what its receiving half keeps. */
struct flow {
	u64 number;		/* of the connection, from 0, where events are recorded */
	u64 acks;		/* ACKs that the algorithm saw, with private_state.acks */
	u64 unsampled;		/* of them without a round-trip time */
	u32 marked_acks;	/* of them with an echoed mark, with private_state.marked */
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
	u32 delivered_ce;	/* the kernel's count of marked packets, when the algorithm last heard of marks */
};

_Static_assert(sizeof(struct flow) == CONNECTION_BYTES, "flows.bpf.c reads so much");

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
	u64 marked;	/* of an ACK */
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
