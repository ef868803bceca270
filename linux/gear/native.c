/*
 * option.h and core.h for programs that are no kernel: what tests call.
 *
 *   cc -std=c11 -O2 -Wall -Wextra -shared -fPIC -o gear.so native.c
 */
#include "core.h"

/* All numbers of a state that tests look at. */
struct native_view {
	u64 window, reference, load, base_rtt, pipe, additive, wan, flags, cwnd, pacing;
};

u32 native_find(const u8 *options, u32 length, u32 identifier)
{
	return option_find(options, length, identifier);
}

u32 native_place(const u8 *options, u32 at, const struct option_hop *own)
{
	return option_place(options, at, own);
}

void native_encode(u8 *entry, const struct option_hop *hop)
{
	option_encode(entry, hop);
}

u32 native_decode(const u8 *entry, struct option_hop *hop)
{
	return option_decode(entry, hop);
}

/* Bytes of a state, all of them zero before it starts. */
u32 native_size(void)
{
	return sizeof(struct gear_state);
}

void native_start(const struct gear_constants *c, struct gear_state *s, u64 window, u64 rtt, u32 seq)
{
	gear_init(c, s, window, rtt, seq);
}

u32 native_ack(const struct gear_constants *c, struct gear_state *s, const struct gear_ack *ack)
{
	return gear_on_ack(c, s, ack);
}

void native_loss(const struct gear_constants *c, struct gear_state *s, u32 timeout, u32 snd_una, u32 snd_nxt)
{
	gear_on_loss(c, s, timeout, snd_una, snd_nxt);
}

void native_view(const struct gear_constants *c, const struct gear_state *s, struct native_view *view)
{
	*view = (struct native_view){
		.window = s->window,
		.reference = s->reference,
		.load = s->load,
		.base_rtt = s->base_rtt,
		.pipe = s->pipe,
		.additive = s->additive,
		.wan = s->wan,
		.flags = s->flags,
		.cwnd = gear_cwnd_packets(c, s),
		.pacing = gear_pacing(c, s),
	};
}
