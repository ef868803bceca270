/*
 * Telemetry in a TCP option (docs/int-option.md): what a switch writes, a receiver echoes and a sender reads, byte by byte.
 *
 * Kind 253 (RFC 4727, section 2), length, a 16-bit identifier (RFC 6994), and up to three entries of 12 bytes: Gear's layout (Han et al.,
 * IEEE ToN 2025, Fig. 5) with hop and rate in the word of the queue. An entry of zeros is one that no switch has written yet.
 *
 * Freestanding: no header, no call, no type wider than 64 bits; all lengths are checked here, whatever the bytes are. fuzz.c hands it any.
 */
#ifndef FARLOOP_GEAR_OPTION_H
#define FARLOOP_GEAR_OPTION_H

#ifndef GEAR_NO_TYPES
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define GEAR_NO_TYPES
#endif

#define GEAR_INLINE static inline __attribute__((always_inline, unused))

#define OPTION_SPACE 40U	/* of all options of a TCP header */
#define OPTION_KIND 253U
#define OPTION_PROBE 0x464cU	/* on its way to the receiver: switches write into it */
#define OPTION_ECHO 0x466cU	/* on its way back: what a probe had brought */
#define OPTION_HEAD 4U		/* kind, length, identifier */
#define OPTION_ENTRY 12U
#define OPTION_ENTRIES 3U
#define OPTION_NONE 255U
#define OPTION_QUEUE_UNIT 64U
#define OPTION_MOST_HOPS 8U	/* numbers 1 to 7; 0 is no hop */

/* What a hop says of itself. */
struct option_hop {
	u32 ts;		/* ns, modulo 2^32: when the packet came to the port's queue */
	u32 tx;		/* bytes that the port had sent by then, modulo 2^32 */
	u32 queue;	/* bytes that waited then; a multiple of 64, at most 4194240 */
	u32 hop;	/* number of the hop, 1 to 7 */
	u64 rate;	/* of the port, bit per ms */
};

GEAR_INLINE u32 option_word(const u8 *at)
{
	return (u32)at[0] << 24 | (u32)at[1] << 16 | (u32)at[2] << 8 | at[3];
}

GEAR_INLINE void option_put(u8 *at, u32 word)
{
	at[0] = (u8)(word >> 24);
	at[1] = (u8)(word >> 16);
	at[2] = (u8)(word >> 8);
	at[3] = (u8)word;
}

/* A rate in bit per ms as entries carry it: 10 bits of mantissa, 3 bits of decimal exponent, in units of 100 kbit/s, to the nearest. */
GEAR_INLINE u32 option_rate_code(u64 rate)
{
	u64 mantissa = (rate + 50) / 100;
	u32 exponent = 0, i;

	for (i = 0; i < 7; i++) {
		if (mantissa <= 1023)
			break;
		mantissa = (mantissa + 5) / 10;
		exponent += 1;
	}
	return (u32)(mantissa > 1023 ? 1023 : mantissa) << 3 | exponent;
}

/* The rate in bit per ms. No branches: a verifier follows each path. */
GEAR_INLINE u64 option_rate(u32 code)
{
	return (u64)(code >> 3 & 1023) * 100 * ((code & 1) * 9 + 1) * ((code >> 1 & 1) * 99 + 1) * ((code >> 2 & 1) * 9999 + 1);
}

/* The third word of an entry: queue, rate, hop. A queue beyond its range counts as the longest. */
GEAR_INLINE u32 option_state(const struct option_hop *hop)
{
	u32 units = (hop->queue + OPTION_QUEUE_UNIT / 2) / OPTION_QUEUE_UNIT;

	return (units > 0xffff ? 0xffff : units) << 16 | option_rate_code(hop->rate) << 3 | (hop->hop & 7);
}

/* Writes an entry of 12 bytes. */
GEAR_INLINE void option_encode(u8 *entry, const struct option_hop *hop)
{
	option_put(entry, hop->ts);
	option_put(entry + 4, hop->tx);
	option_put(entry + 8, option_state(hop));
}

/* Reads an entry of 12 bytes; says whether a switch has written it. */
GEAR_INLINE u32 option_decode(const u8 *entry, struct option_hop *hop)
{
	u32 state = option_word(entry + 8);

	hop->ts = option_word(entry);
	hop->tx = option_word(entry + 4);
	hop->queue = (state >> 16) * OPTION_QUEUE_UNIT;
	hop->rate = option_rate(state >> 3 & 0x1fff);
	hop->hop = state & 7;
	return hop->hop != 0 && hop->rate != 0;
}

/*
 * Where the option with this identifier begins among `length` bytes of options, of which there are OPTION_SPACE in any case, or
 * OPTION_NONE. What is found has one to three whole entries within those bytes, and begins at a multiple of four.
 */
GEAR_INLINE u32 option_find(const u8 *options, u32 length, u32 identifier)
{
	u32 at = 0, i;

	if (length > OPTION_SPACE)
		return OPTION_NONE;
	/* An option has at least one byte. */
	for (i = 0; i < OPTION_SPACE; i++) {
		u32 kind, size;

		if (at >= length || at >= OPTION_SPACE)
			return OPTION_NONE;
		kind = options[at];
		if (kind == 0)
			return OPTION_NONE;
		if (kind == 1) {
			at += 1;
			continue;
		}
		if (at + 2 > length || at + 2 > OPTION_SPACE)
			return OPTION_NONE;
		size = options[at + 1];
		if (size < 2 || at + size > length)
			return OPTION_NONE;
		if (kind == OPTION_KIND && size >= OPTION_HEAD + OPTION_ENTRY && at + OPTION_HEAD <= OPTION_SPACE &&
		    ((u32)options[at + 2] << 8 | options[at + 3]) == identifier)
			return at % 4 || (size - OPTION_HEAD) % OPTION_ENTRY ? OPTION_NONE : at;
		at += size;
	}
	return OPTION_NONE;
}

/*
 * Where a hop writes its entry in the option that begins at `at`: the first that is free or its own, else the one whose queue drains
 * soonest if this hop's takes longer (Eq. 3 of Gear), else OPTION_NONE.
 */
GEAR_INLINE u32 option_place(const u8 *options, u32 at, const struct option_hop *own)
{
	u32 best = OPTION_NONE, end, i;
	u64 drain_rate = own->rate;
	u64 drain_queue = own->queue / OPTION_QUEUE_UNIT;

	if (at > OPTION_SPACE - OPTION_HEAD - OPTION_ENTRY)
		return OPTION_NONE;
	end = at + options[at + 1];
	for (i = 0; i < OPTION_ENTRIES; i++) {
		u32 entry = at + OPTION_HEAD + i * OPTION_ENTRY;
		struct option_hop there;

		if (entry + OPTION_ENTRY > end || entry > OPTION_SPACE - OPTION_ENTRY)
			break;
		if (!option_decode(options + entry, &there) || there.hop == own->hop)
			return entry;
		/* The shortest ql/bw so far, this hop's own to begin with; ties go to who was there. */
		if ((u64)(there.queue / OPTION_QUEUE_UNIT) * drain_rate < drain_queue * there.rate) {
			best = entry;
			drain_queue = there.queue / OPTION_QUEUE_UNIT;
			drain_rate = there.rate;
		}
	}
	return best;
}

#endif
