/*
 * Replays vectors/gemini.jsonl from standard input through core.h. After every line but the first it writes what holds then: cwnd,
 * packets, pacing, cwnd_q10, ssthresh_q10 ("null" for none) and alpha, between spaces.
 *
 *   cc -std=c11 -O2 -Wall -Wextra -o replay replay.c && ./replay < ../../vectors/gemini.jsonl
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

static unsigned long line_number;

static void fail(const char *what, const char *key)
{
	fprintf(stderr, "line %lu: %s %s\n", line_number, what, key);
	exit(1);
}

/* The text of a value in a flat JSON object without spaces. */
static const char *value(const char *line, const char *key)
{
	char wanted[64];
	const char *found;

	snprintf(wanted, sizeof(wanted), "\"%s\":", key);
	found = strstr(line, wanted);
	if (!found)
		fail("lacks", key);
	return found + strlen(wanted);
}

/* A number, or what stands for null. */
static u64 number_or(const char *line, const char *key, u64 none)
{
	const char *text = value(line, key);

	if (!strncmp(text, "null", 4))
		return none;
	if (*text < '0' || *text > '9')
		fail("has no number in", key);
	return strtoull(text, NULL, 10);
}

static u64 number(const char *line, const char *key)
{
	if (!strncmp(value(line, key), "null", 4))
		fail("has null in", key);
	return number_or(line, key, 0);
}

static u32 flag(const char *line, const char *key)
{
	const char *text = value(line, key);

	if (strncmp(text, "true", 4) && strncmp(text, "false", 5))
		fail("has no boolean in", key);
	return *text == 't';
}

static u32 is_event(const char *line, const char *name)
{
	const char *text = value(line, "event");

	return *text == '"' && !strncmp(text + 1, name, strlen(name)) && text[1 + strlen(name)] == '"';
}

static void start(struct gemini_constants *c, struct gemini_state *s, const char *line)
{
	*c = (struct gemini_constants){
		.mss = number(line, "mss"),
		.capacity = number(line, "capacity"),
		.threshold = number(line, "threshold"),
		.delay_threshold = number(line, "delay_threshold"),
		.beta = number(line, "beta"),
		.f_min = number(line, "f_min"),
		.h_per_byte = number(line, "h_per_byte"),
		.h_min = number(line, "h_min"),
		.h_max = number(line, "h_max"),
		.max_cut = number(line, "max_cut"),
		.g = number(line, "g"),
		.gain = number(line, "gain"),
		.skip_after_cut = flag(line, "skip_after_cut"),
	};
	gemini_init(c, s, number(line, "initial_cwnd"), flag(line, "slow_start"), number(line, "initial_alpha"),
		    number_or(line, "base_rtt", GEMINI_NO_RTT), (u32)number(line, "seq"));
}

static void apply(struct gemini_constants *c, struct gemini_state *s, const char *line)
{
	if (is_event(line, "start")) {
		start(c, s, line);
	} else if (is_event(line, "ack")) {
		struct gemini_ack ack = {
			.acked = number(line, "acked"),
			.in_flight = number(line, "in_flight"),
			.rtt = number_or(line, "rtt", GEMINI_NO_RTT),
			.ack_seq = (u32)number(line, "ack_seq"),
			.snd_nxt = (u32)number(line, "snd_nxt"),
			.marked = number(line, "marked"),
			.ecn_echo = flag(line, "ecn_echo"),
			.in_recovery = flag(line, "in_recovery"),
			.app_limited = flag(line, "app_limited"),
		};

		gemini_on_ack(c, s, &ack);
	} else if (is_event(line, "fast_retransmit") || is_event(line, "timeout")) {
		enum gemini_loss event = is_event(line, "timeout") ? GEMINI_TIMEOUT : GEMINI_FAST_RETRANSMIT;

		gemini_on_loss(c, s, event, number(line, "in_flight"), (u32)number(line, "snd_nxt"));
	} else if (is_event(line, "undo")) {
		gemini_on_undo(s, number(line, "prior_cwnd"), number_or(line, "prior_ssthresh", GEMINI_NO_THRESHOLD));
	} else if (is_event(line, "host")) {
		gemini_resync(s, (u32)number(line, "host_packets"),
			      (u32)number_or(line, "host_ssthresh", GEMINI_NO_THRESHOLD_PACKETS));
	} else if (is_event(line, "mss")) {
		gemini_on_mss(c, s, number(line, "mss"));
	} else if (is_event(line, "idle")) {
		gemini_on_idle_restart(s, number(line, "idle"), number(line, "rto"), number(line, "restart"));
	} else {
		fail("has an unknown", "event");
	}
}

int main(void)
{
	static char line[4096];
	struct gemini_constants c = { 0 };
	struct gemini_state s = { 0 };

	while (fgets(line, sizeof(line), stdin)) {
		if (++line_number == 1) {
			if (!strstr(line, "farloop gemini vectors") || number(line, "version") != 4)
				fail("is not version 4 of", "farloop gemini vectors");
			continue;
		}
		if (c.mss == 0 && !is_event(line, "start"))
			fail("comes before a", "start");
		apply(&c, &s, line);
		printf("%llu %u %llu %llu ", gemini_cwnd_bytes(&s), gemini_cwnd_packets(&s), gemini_pacing(&c, &s), s.cwnd);
		if (s.ssthresh == GEMINI_NO_THRESHOLD)
			printf("null %u\n", s.alpha);
		else
			printf("%llu %u\n", s.ssthresh, s.alpha);
	}
	return line_number > 1 ? 0 : 1;
}
