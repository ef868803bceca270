/*
 * A delay line for a testbed: what a network namespace sends by a TUN interface arrives by one of the same name in another namespace, so many
 * microseconds later and in order. One direction, which for the ACKs of a connection is all that its round-trip time needs.
 *
 *   cc -O2 -o delay delay.c && ./delay NAMESPACE_FROM NAMESPACE_TO INTERFACE MICROSECONDS
 *
 * NAMESPACE is a file such as /run/netns/x. Writes "ready" when both interfaces are there (down, without addresses), and ends with its standard
 * input; the interfaces go with it. To be punctual it wants real-time priority (chrt --fifo).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define WAITING 16384 /* packets that are under way at most; a power of two */
#define LARGEST 2048

static struct {
	uint64_t due;
	uint32_t size;
	uint8_t bytes[LARGEST];
} waiting[WAITING];

static void fail(const char *what)
{
	fprintf(stderr, "delay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int tun(const char *namespace, const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int in, made;

	in = open(namespace, O_RDONLY | O_CLOEXEC);
	if (in < 0 || setns(in, CLONE_NEWNET))
		fail(namespace);
	close(in);
	made = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	strncpy(request.ifr_name, name, IFNAMSIZ - 1);
	if (made < 0 || ioctl(made, TUNSETIFF, &request))
		fail("/dev/net/tun");
	return made;
}

int main(int count, char **words)
{
	uint32_t first = 0, next = 0;
	uint64_t delay, late = 0, passed = 0;
	struct pollfd watched[2];
	int out;

	if (count != 5) {
		fprintf(stderr, "delay: NAMESPACE_FROM NAMESPACE_TO INTERFACE MICROSECONDS\n");
		return 2;
	}
	delay = strtoull(words[4], NULL, 10) * 1000;
	out = tun(words[2], words[3]);
	watched[0] = (struct pollfd){ .fd = tun(words[1], words[3]), .events = POLLIN };
	watched[1] = (struct pollfd){ .fd = 0, .events = POLLIN };
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		uint64_t now = now_ns();
		struct timespec left = { 0 };

		while (first != next && waiting[first % WAITING].due <= now) {
			late += now - waiting[first % WAITING].due;
			passed += 1;
			if (write(out, waiting[first % WAITING].bytes, waiting[first % WAITING].size) < 0 && errno == EBADF)
				fail("write");
			first += 1;
		}
		if (first != next) {
			uint64_t wait = waiting[first % WAITING].due - now;

			left = (struct timespec){ .tv_sec = (time_t)(wait / 1000000000), .tv_nsec = (long)(wait % 1000000000) };
		}
		if (ppoll(watched, 2, first != next ? &left : NULL, NULL) < 0 && errno != EINTR)
			fail("ppoll");
		if (watched[1].revents)
			break;
		while (next - first < WAITING) {
			ssize_t size = read(watched[0].fd, waiting[next % WAITING].bytes, LARGEST);

			if (size <= 0)
				break;
			waiting[next % WAITING].size = (uint32_t)size;
			waiting[next % WAITING].due = now_ns() + delay;
			next += 1;
		}
	}
	/* How late, on average: a busy machine's share of the round-trip time. */
	printf("%llu packets, %llu us late\n", (unsigned long long)passed, (unsigned long long)(passed ? late / passed / 1000 : 0));
	return 0;
}
