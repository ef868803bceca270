/* What gear.bpf.c, options.bpf.c and rows.bpf.c keep of a connection, and what they exchange with the loader. */
#ifndef FARLOOP_GEAR_KERNEL_H
#define FARLOOP_GEAR_KERNEL_H

#include "../kernel.h"

#define GEAR_NO_TYPES
/* Each is verified once, not once per way to it. */
#define GEAR_STEP __attribute__((noinline))
#include "core.h"

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
