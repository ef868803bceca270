/*
 * Any bytes as TCP options, and what they say as a stream of ACKs for core.h: nothing is read or written outside, and what is found is whole.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -o fuzz fuzz.c && ./fuzz -max_len=512 corpus
 *   cc -g -O1 -fsanitize=address,undefined -DREPLAY -o fuzz fuzz.c && ./fuzz corpus/...
 *
 * Input: the constants and the flow's beginning, then for each ACK what the switch has to say, what the endpoint says, and 40 bytes of options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); abort(); } } while (0)

static u64 number(const u8 **data, size_t *left, u32 bytes)
{
	u64 found = 0;

	for (; bytes && *left; bytes--, (*left)--)
		found = found << 8 | *(*data)++;
	return found;
}

/* A switch, then a receiver and a sender: how many entries the sender gets to see. */
static u32 through(u8 *options, u32 length, u32 identifier, const struct option_hop *own, struct option_hop *seen)
{
	u32 at = option_find(options, length, identifier), place, size, entries = 0, i;
	u8 exact[OPTION_SPACE];

	if (at == OPTION_NONE)
		return 0;
	size = options[at + 1];
	CHECK(length <= OPTION_SPACE && at % 4 == 0 && at + size <= length);
	CHECK(size >= OPTION_HEAD + OPTION_ENTRY && (size - OPTION_HEAD) % OPTION_ENTRY == 0 && options[at] == OPTION_KIND);
	place = option_place(options, at, own);
	CHECK(place == OPTION_NONE || (place >= at + OPTION_HEAD && place + OPTION_ENTRY <= at + size));
	CHECK(place == OPTION_NONE || (place - at - OPTION_HEAD) % OPTION_ENTRY == 0);
	memcpy(exact, options, sizeof(exact));
	if (place != OPTION_NONE)
		option_encode(options + place, own);
	/* Nothing else has changed, and the option is found again. */
	for (i = 0; i < OPTION_SPACE; i++)
		CHECK((place != OPTION_NONE && i - place < OPTION_ENTRY) || exact[i] == options[i]);
	CHECK(option_find(options, length, identifier) == at);
	for (i = at + OPTION_HEAD; i < at + size; i += OPTION_ENTRY)
		entries += option_decode(options + i, &seen[entries]);
	CHECK(entries <= OPTION_ENTRIES);
	return entries;
}

static void bounded(const struct gear_constants *c, const struct gear_state *s)
{
	CHECK(s->window >= c->packet << 10 && s->window <= GEAR_MAX_WINDOW && s->reference <= GEAR_MAX_WINDOW);
	CHECK(s->load <= GEAR_MAX_LOAD && s->base_rtt >= GEAR_MIN_RTT && s->base_rtt <= GEAR_MAX_SPAN);
	CHECK(s->next - s->oldest <= GEAR_SNAPSHOTS && gear_cwnd_packets(c, s) >= 1 && gear_pacing(c, s) >= 1);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t left)
{
	static struct gear_state s;
	struct gear_constants c = {
		.line_rate = number(&data, &left, 4) % GEAR_MAX_RATE + 1,
		.irtt = number(&data, &left, 4) % 1000000000 + 1000,
		.cross_rtt = number(&data, &left, 4),
		.eta = GEAR_ONE / 2 + number(&data, &left, 3) % (GEAR_ONE / 2 + 1),
		.w_ai = number(&data, &left, 3) % (GEAR_ONE + 1),
		.max_stage = number(&data, &left, 1),
		.packet = number(&data, &left, 2) % 65535 + 1,
	};
	u64 now = 0, in_flight = number(&data, &left, 3), rtt = number(&data, &left, 4);
	u32 seq = (u32)number(&data, &left, 4);

	c.in_flight = GEAR_ONE + in_flight;
	c.payload = c.packet > 94 ? c.packet - 94 : 1;
	memset(&s, 0, sizeof(s));
	gear_init(&c, &s, number(&data, &left, 4), rtt, seq);
	bounded(&c, &s);
	while (left > 0) {
		u32 flags = (u32)number(&data, &left, 1), length = (u32)number(&data, &left, 1) % 64;
		struct option_hop own = {
			.ts = (u32)(now += number(&data, &left, 4)),
			.tx = (u32)number(&data, &left, 4),
			.queue = (u32)number(&data, &left, 3),
			.hop = flags & 7,
			.rate = number(&data, &left, 4),
		};
		struct gear_ack ack = {
			.now = now,
			.rtt = number(&data, &left, 4),
			.acked = number(&data, &left, 2),
			.ack_seq = seq += (u32)number(&data, &left, 3),
			.in_recovery = flags >> 3 & 1,
		};
		u8 options[OPTION_SPACE] = { 0 };
		u32 i;

		ack.snd_nxt = seq + (u32)number(&data, &left, 3);
		for (i = 0; i < OPTION_SPACE; i++)
			options[i] = (u8)number(&data, &left, 1);
		ack.hops = through(options, length, flags & 16 ? OPTION_ECHO : OPTION_PROBE, &own, ack.hop);
		gear_on_ack(&c, &s, &ack);
		if (flags & 32)
			gear_on_loss(&c, &s, flags >> 6 & 1, ack.ack_seq, ack.snd_nxt);
		bounded(&c, &s);
	}
	return 0;
}

#ifdef REPLAY
int main(int count, char **names)
{
	static u8 data[1 << 16];
	int i;

	for (i = 1; i < count; i++) {
		FILE *file = fopen(names[i], "rb");

		if (!file) {
			perror(names[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
		fclose(file);
	}
	printf("%d inputs\n", count - 1);
	return 0;
}
#endif
