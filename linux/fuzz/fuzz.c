/*
 * Any events, in any order, for the four cores: none divides by zero, overflows or leaves its bounds. Bytes are a core, its constants, and
 * events until they end.
 *
 *   make fuzz-kernel            clang's libFuzzer for ten minutes
 *   cc -DREPLAY -fsanitize=address,undefined -o fuzz fuzz.c && ./fuzz corpus/file ...     what it has found so far, with any compiler
 */
#define DCTCP_NO_TYPES
#define VEGAS_NO_TYPES
#define CUBIC_NO_TYPES
#include "../gemini/core.h"
#include "../cubic/core.h"
#include "../dctcp/core.h"
#include "../vegas/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x)                                                                                                                            \
	do {                                                                                                                               \
		if (!(x)) {                                                                                                                \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x);                                              \
			abort();                                                                                                           \
		}                                                                                                                          \
	} while (0)

static const unsigned char *next_byte, *end;

/* The next number, from least to most; 0 where the bytes have ended counts as least. */
static u64 number(u64 least, u64 most)
{
	u64 found = 0;
	unsigned i, bytes = 8;

	while (bytes > 1 && most - least < 1ULL << 8 * (bytes - 1))
		bytes -= 1;
	for (i = 0; i < bytes && next_byte < end; i++)
		found = found << 8 | *next_byte++;
	return most - least == ~0ULL ? found : least + found % (most - least + 1);
}

/* Near the bounds, or anywhere. */
static u64 extreme(u64 least, u64 most)
{
	switch (number(0, 3)) {
	case 0:
		return least;
	case 1:
		return most;
	default:
		return number(least, most);
	}
}

static u32 sequence(void)
{
	return (u32)extreme(1, 0xffffffff); /* core.h counts back by one */
}

static void fuzz_gemini(void)
{
	struct gemini_state s;
	struct gemini_constants c = {
		.mss = extreme(1, 65535),
		.capacity = extreme(1, (1ULL << 31) - 1),
		.threshold = extreme(1, 1 << 30),
		.delay_threshold = extreme(0, 10000000000ULL),
		.beta = extreme(0, GEMINI_ONE),
		.f_min = extreme(0, 4 * GEMINI_ONE),
		.h_per_byte = extreme(0, 1ULL << 33),
		.h_min = extreme(0, 1ULL << 40),
		.h_max = extreme(0, 1ULL << 40),
		.max_cut = extreme(0, GEMINI_ONE),
		.g = extreme(0, GEMINI_ONE),
		.gain = extreme(0, 1 << 26),
		.skip_after_cut = (u32)number(0, 1),
	};

	gemini_init(&c, &s, extreme(0, ~0ULL), (u32)number(0, 1), extreme(0, ~0ULL), extreme(0, ~0ULL), sequence());
	while (next_byte < end) {
		switch (number(0, 9)) {
		case 0:
			gemini_on_loss(&c, &s, number(0, 1) ? GEMINI_TIMEOUT : GEMINI_FAST_RETRANSMIT, extreme(0, ~0ULL), sequence());
			break;
		case 1:
			gemini_on_undo(&s, extreme(0, ~0ULL), extreme(0, ~0ULL));
			break;
		case 2:
			gemini_on_idle_restart(&s, extreme(0, ~0ULL), extreme(0, ~0ULL), extreme(0, ~0ULL));
			break;
		case 3:
			gemini_resync(&s, (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff));
			break;
		case 4:
			gemini_on_mss(&c, &s, extreme(1, 65535));
			break;
		case 5:
			gemini_on_first_rtt(&c, &s, extreme(0, ~0ULL));
			break;
		default: {
			struct gemini_ack ack = {
				.acked = extreme(0, 1ULL << 36),
				.in_flight = extreme(0, 1ULL << 36),
				.rtt = extreme(0, ~0ULL),
				.ack_seq = sequence(),
				.snd_nxt = sequence(),
				.ecn_echo = (u32)number(0, 1),
				.in_recovery = (u32)number(0, 1),
				.app_limited = (u32)number(0, 1),
			};

			/* Of an echo everything that is acknowledged; counted marks are any number. */
			if (ack.ecn_echo)
				ack.marked = ack.in_recovery ? ack.acked : ack.rtt >> 28;
			gemini_on_ack(&c, &s, &ack);
		}
		}
		MUST(s.cwnd >= 1 << 10 && s.cwnd <= GEMINI_MAX_WINDOW);
		MUST(s.alpha <= GEMINI_ONE);
		MUST(s.srtt8 > 0 && s.base_rtt > 0 && s.base_rtt <= GEMINI_MAX_RTT);
		MUST(gemini_pacing(&c, &s) > 0);
		MUST(gemini_cwnd_packets(&s) > 0 && gemini_ssthresh_packets(&s) > 0);
		MUST(!gemini_is_packets(&s, s.cwnd, 7) || gemini_cwnd_packets(&s) == 7);
		MUST(gemini_is_packets(&s, s.cwnd, gemini_cwnd_packets(&s)) || s.cwnd / gemini_segment(&s) >= GEMINI_NO_THRESHOLD_PACKETS);
	}
}

static void fuzz_cubic(void)
{
	struct cubic_state s;
	struct cubic_constants c = {
		.c = extreme(1049, 1000 << 20),
		.beta = extreme(6554, 64881),
		.alpha = extreme(0, 1 << 24),
		.reno_friendly = (u32)number(0, 1),
		.fast_convergence = (u32)number(0, 1),
		.alpha_one = (u32)number(0, 1),
		.growth_before_loss = extreme(0, 1 << 23),
	};
	u32 threshold;

	memset(&s, 0, sizeof(s));
	while (next_byte < end) {
		cubic_follow(&s, (u32)extreme(0, 0xffffffff));
		switch (number(0, 7)) {
		case 0:
			threshold = cubic_on_loss(&c, &s, (u32)extreme(0, 0xffffffff));
			MUST(threshold >= 2 && threshold <= CUBIC_MAX_SEGMENTS);
			if (number(0, 1))
				cubic_on_timeout(&s);
			break;
		case 1:
			cubic_on_undo(&s, (u32)extreme(0, 0xffffffff));
			break;
		case 2:
			cubic_stall(&s, (u32)extreme(0, 0xffffffff));
			break;
		case 3:
			cubic_wake(&s);
			break;
		default:
			cubic_grow(&c, &s, (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff), (u32)extreme(1, 0xffffffff));
			MUST(s.now.k <= CUBIC_MAX_TIME);
		}
		MUST(cubic_segments(&s) >= 1 && cubic_segments(&s) <= CUBIC_MAX_SEGMENTS);
	}
}

static void fuzz_dctcp(void)
{
	struct dctcp_state s;
	struct dctcp_constants c = {
		.g = extreme(0, DCTCP_ONE),
		.initial_alpha = extreme(0, ~0ULL),
		.increase = extreme(0, 1ULL << 33),
		.halve = (u32)number(0, 1),
	};
	u32 cwnd, left;

	memset(&s, 0, sizeof(s));
	dctcp_init(&c, &s, (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff));
	while (next_byte < end) {
		dctcp_on_ack(&c, &s, (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff),
			     (u32)extreme(0, 0xffffffff));
		MUST(s.alpha <= DCTCP_ONE);
		cwnd = (u32)extreme(1, 0x7fffffff);
		left = dctcp_after_mark(&s, cwnd);
		MUST(left >= 2 && (left <= cwnd || left == 2));
		left = dctcp_after_loss(&c, &s, cwnd);
		MUST(left >= 2 && (left <= cwnd || left == 2));
		left = dctcp_grow(&c, &s, cwnd, (u32)extreme(0, 1 << 24));
		MUST(left >= cwnd && left <= 0x7fffffff);
	}
}

static void fuzz_vegas(void)
{
	struct vegas_state s;
	struct vegas_window w = { .cwnd = (u32)extreme(1, 0x7fffffff), .ssthresh = (u32)extreme(2, 0x7fffffff) };
	struct vegas_constants c = {
		.alpha = extreme(0, 1ULL << 50),
		.beta = extreme(0, 1ULL << 50),
		.gamma = extreme(0, 1ULL << 30),
		.loss_factor = (u32)extreme(655, 65536),
		.min_window = (u32)extreme(1, 1000000),
	};

	memset(&s, 0, sizeof(s));
	vegas_init(&s, (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff));
	while (next_byte < end) {
		switch (number(0, 9)) {
		case 0:
			MUST(vegas_on_loss(&c, &s, w.cwnd) >= 1);
			break;
		case 1:
			MUST(vegas_on_timeout(&c, &s, w.cwnd) >= 1);
			break;
		case 2:
			vegas_on_undo(&s);
			break;
		case 3:
			vegas_on_restart(&s);
			break;
		case 4:
			vegas_begin_round(&s, (u32)extreme(0, 0xffffffff));
			break;
		case 5:
			w.cwnd = (u32)extreme(1, 0x7fffffff);
			break;
		case 6:
		case 7:
			vegas_on_rtt(&s, (u32)extreme(0, 0xffffffff));
			break;
		default:
			vegas_on_ack(&c, &s, &w, (u32)extreme(0, 0xffffffff), (u32)extreme(0, 0xffffffff), (u32)extreme(0, 1 << 24),
				     (u32)extreme(0, 1 << 24), (u32)number(0, 1));
		}
		MUST(w.cwnd >= 1 && w.cwnd <= 0x7fffffff);
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static void (*const cores[])(void) = { fuzz_gemini, fuzz_cubic, fuzz_dctcp, fuzz_vegas };

	next_byte = data;
	end = data + size;
	cores[number(0, 3)]();
	return 0;
}

#ifdef REPLAY
int main(int count, char **files)
{
	static unsigned char data[1 << 20];
	int i;

	for (i = 1; i < count; i++) {
		FILE *file = fopen(files[i], "rb");

		if (!file) {
			perror(files[i]);
			return 1;
		}
		LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof(data), file));
		fclose(file);
	}
	return 0;
}
#endif
