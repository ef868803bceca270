/*
 * Selects connections of a cgroup for a rollout (docs/rollout.md), by sockops: those of a class get the plan's congestion control when they
 * connect, so that ECN can still be asked for, and get back theirs when the plan ends. The program chooses nothing unless the plan is
 * committed or its owner has written a heartbeat within the lease.
 */
#include "../kernel.h"
#include "../sockops.h"
#include "kernel.h"

char licence[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct plan);
} rollout_plan SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} rollout_counts SEC(".maps");

/* Addresses of the class: IPv4 as ::ffff:0:0/96. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, MAX_PREFIXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, u32);
} rollout_prefix SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PORTS);
	__type(key, u32);
	__type(value, u32);
} rollout_ports SEC(".maps");

/* Cookies of network namespaces. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_NAMESPACES);
	__type(key, u64);
	__type(value, u32);
} rollout_netns SEC(".maps");

/* By the socket's cookie, which sock_diag tells as well. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CONNECTIONS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct connection);
} rollout_conns SEC(".maps");

#define READ(member) (*(const volatile u32 *)&(member))

static __always_inline void count(u32 what)
{
	u64 *counter = bpf_map_lookup_elem(&rollout_counts, &what);

	if (counter)
		__sync_fetch_and_add(counter, 1);
}

static __always_inline u32 is_alive(const struct plan *plan)
{
	if (plan->flags & PLAN_WITHDRAWN)
		return 0;
	return plan->flags & PLAN_COMMITTED || bpf_ktime_get_ns() - plan->beat < plan->lease;
}

static __always_inline u32 mix(u32 hash, u32 word)
{
	hash = (hash ^ word) * 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}

/*
 * Addresses, and ports in host order, of the socket at hand. The verifier allows a context to be read at constant offsets only: what two
 * branches would read is read before them.
 */
static __always_inline void ends_of(struct bpf_sock_ops *ctx, struct connection *c)
{
	u32 local4 = READ(ctx->local_ip4), remote4 = READ(ctx->remote_ip4), is_ipv4 = READ(ctx->family) == AF_INET;

	c->local_port = READ(ctx->local_port);
	c->remote_port = __builtin_bswap32(READ(ctx->remote_port));
	c->local[0] = READ(ctx->local_ip6[0]);
	c->local[1] = READ(ctx->local_ip6[1]);
	c->local[2] = READ(ctx->local_ip6[2]);
	c->local[3] = READ(ctx->local_ip6[3]);
	c->remote[0] = READ(ctx->remote_ip6[0]);
	c->remote[1] = READ(ctx->remote_ip6[1]);
	c->remote[2] = READ(ctx->remote_ip6[2]);
	c->remote[3] = READ(ctx->remote_ip6[3]);
	if (is_ipv4) {
		c->local[0] = c->local[1] = c->remote[0] = c->remote[1] = 0;
		c->local[2] = c->remote[2] = __builtin_bswap32(0xffff);
		c->local[3] = local4;
		c->remote[3] = remote4;
	}
}

/* True if the class has a connection; the port is that of the side that listens. */
static __always_inline u32 in_class(const struct plan *plan, const struct connection *c, u32 accepted)
{
	struct prefix prefix = { .length = 128 };
	u32 port = accepted ? c->local_port : c->remote_port;
	u64 namespace = c->namespace;

	if (!(plan->flags & (accepted ? PLAN_ACCEPTS : PLAN_CONNECTS)))
		return 0;
	__builtin_memcpy(prefix.address, c->remote, sizeof(prefix.address));
	if (!bpf_map_lookup_elem(&rollout_prefix, &prefix))
		return 0;
	if (plan->flags & PLAN_HAS_PORTS && !bpf_map_lookup_elem(&rollout_ports, &port))
		return 0;
	return !(plan->flags & PLAN_HAS_NAMESPACES) || bpf_map_lookup_elem(&rollout_netns, &namespace);
}

static __always_inline u32 hash_of_end(u32 hash, const u32 *address, u32 port)
{
	u32 i;

	for (i = 0; i < 4; i++)
		hash = mix(hash, address[i]);
	return mix(hash, port);
}

/*
 * A uniform number of a connection and the plan's seed, the same from its beginning to its end and at both of its ends: plans of the two
 * hosts with one seed choose the same connections.
 */
static __always_inline u32 hash_of(const struct plan *plan, const struct connection *c)
{
	u32 seed = mix((u32)plan->seed, (u32)(plan->seed >> 32));

	return mix(seed, hash_of_end(seed, c->local, c->local_port) + hash_of_end(seed, c->remote, c->remote_port));
}

static __always_inline u32 is_chosen(const struct plan *plan, u32 hash)
{
	return is_alive(plan) && hash < plan->share;
}

static __always_inline u32 same(const char *a, const char *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;

	return x[0] == y[0] && x[1] == y[1];
}

/* Algorithms that plans register have a version, such as ".2", which those of the kernel do not have. */
static __always_inline u32 is_of_a_plan(const char *name)
{
	u32 i;

	for (i = 0; i < 16; i++)
		if (name[i] == '.')
			return 1;
	return 0;
}

/* Gives a socket the plan's algorithm, and remembers which one it had. */
static __always_inline void move(struct bpf_sock_ops *ctx, struct plan *plan, struct connection *c)
{
	char now[16] __attribute__((aligned(8))) = {};

	if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, now, sizeof(now))) {
		count(COUNT_REFUSED);
		return;
	}
	if (same(now, plan->control) || (plan->flags & PLAN_HAS_FORMER && !same(now, plan->former)))
		return;
	/* Two plans that take turns would each remember the other's algorithm. */
	if (is_of_a_plan(now)) {
		count(COUNT_OTHER_PLAN);
		return;
	}
	if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, plan->control, sizeof(plan->control))) {
		count(COUNT_REFUSED);
		return;
	}
	__builtin_memcpy(c->former, now, sizeof(now));
	c->state |= CONNECTION_MOVED;
	c->changed = bpf_ktime_get_ns();
	count(COUNT_MOVED);
}

/*
 * A connection that was moved before its SYN is established. Its algorithm began when the kernel had no sequence numbers yet, so that the end of its
 * first round trip could be 2^31 bytes away; it begins once more, by way of the former one, since to set the one that is there does nothing.
 */
static __always_inline void begin_again(struct bpf_sock_ops *ctx, struct plan *plan)
{
	char now[16] __attribute__((aligned(8))) = {};
	u64 cookie = bpf_get_socket_cookie(ctx);
	struct connection *c = bpf_map_lookup_elem(&rollout_conns, &cookie);

	if (!c || !(c->state & CONNECTION_MOVED) || bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, now, sizeof(now)) ||
	    !same(now, plan->control) || bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, c->former, sizeof(c->former)))
		return;
	if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, plan->control, sizeof(plan->control))) {
		c->state &= ~CONNECTION_MOVED;
		count(COUNT_REFUSED);
	}
}

/* Gives it back what it had, unless its application has chosen another since. */
static __always_inline void take_back(struct bpf_sock_ops *ctx, struct plan *plan, struct connection *c)
{
	char now[16] __attribute__((aligned(8))) = {};

	if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, now, sizeof(now)))
		return;
	if (same(now, plan->control) && bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, c->former, sizeof(c->former))) {
		count(COUNT_REFUSED_BACK);
		return;
	}
	c->state &= ~CONNECTION_MOVED;
	c->changed = bpf_ktime_get_ns();
	count(COUNT_BACK);
}

static __always_inline void begin(struct bpf_sock_ops *ctx, struct plan *plan, u32 accepted)
{
	u64 cookie = bpf_get_socket_cookie(ctx);
	struct connection fresh = {}, *c;
	u32 hash;

	if (!is_alive(plan))
		return;
	fresh.namespace = bpf_get_netns_cookie(ctx);
	ends_of(ctx, &fresh);
	if (!in_class(plan, &fresh, accepted))
		return;
	count(COUNT_SEEN);
	hash = hash_of(plan, &fresh);
	fresh.hash = hash;
	fresh.state = accepted ? CONNECTION_ACCEPTED : 0;
	fresh.seen = fresh.changed = bpf_ktime_get_ns();
	/* What is not remembered is not moved: it could not be taken back. */
	if (bpf_map_update_elem(&rollout_conns, &cookie, &fresh, 0)) {
		count(COUNT_FULL);
		return;
	}
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | RTT_FLAG | STATE_FLAG);
	c = bpf_map_lookup_elem(&rollout_conns, &cookie);
	if (c && is_chosen(plan, hash))
		move(ctx, plan, c);
}

/* With each round-trip sample a connection becomes what the plan wants now. */
static __always_inline void follow(struct bpf_sock_ops *ctx, struct plan *plan)
{
	u64 cookie = bpf_get_socket_cookie(ctx);
	struct connection *c = bpf_map_lookup_elem(&rollout_conns, &cookie);
	u32 chosen;

	if (!c)
		return;
	chosen = is_chosen(plan, c->hash);
	if (c->state & CONNECTION_MOVED && !chosen)
		take_back(ctx, plan, c);
	else if (!(c->state & CONNECTION_MOVED) && chosen && plan->flags & PLAN_LIVE &&
		 (!(plan->flags & PLAN_ECN) || ctx->ecn_flags & TCP_ECN_OK))
		move(ctx, plan, c);
}

static __always_inline void close(struct bpf_sock_ops *ctx, struct plan *plan)
{
	u64 cookie = bpf_get_socket_cookie(ctx);
	struct connection *c = bpf_map_lookup_elem(&rollout_conns, &cookie);

	if (!c)
		return;
	count(COUNT_CLOSED);
	/* Whoever watches asks which arm a connection was in after its end, and forgets it then. */
	if (bpf_ktime_get_ns() - plan->beat < plan->lease)
		c->state |= CONNECTION_CLOSED;
	else
		bpf_map_delete_elem(&rollout_conns, &cookie);
}

static __always_inline u32 wants_ecn(struct bpf_sock_ops *ctx, struct plan *plan)
{
	struct connection *known, fresh = {};
	u64 cookie;

	if (!(plan->flags & PLAN_ECN))
		return 0;
	if (ctx->is_fullsock) {
		cookie = bpf_get_socket_cookie(ctx);
		known = bpf_map_lookup_elem(&rollout_conns, &cookie);
		return known && known->state & CONNECTION_MOVED;
	}
	/* A request: the connection that it becomes is chosen by the same numbers. */
	fresh.namespace = bpf_get_netns_cookie(ctx);
	ends_of(ctx, &fresh);
	return in_class(plan, &fresh, 1) && is_chosen(plan, hash_of(plan, &fresh));
}

SEC("sockops")
int rollout(struct bpf_sock_ops *ctx)
{
	u32 zero = 0, op = ctx->op;
	struct plan *plan = bpf_map_lookup_elem(&rollout_plan, &zero);

	if (!plan)
		return 1;
	if (op == RTT_CB)
		follow(ctx, plan);
	else if (op == CONNECT_CB)
		begin(ctx, plan, 0);
	else if (op == ACTIVE_ESTABLISHED)
		begin_again(ctx, plan);
	else if (op == PASSIVE_ESTABLISHED)
		begin(ctx, plan, 1);
	else if (op == STATE_CB && ctx->args[1] == TCP_CLOSE)
		close(ctx, plan);
	else if (op == NEEDS_ECN && wants_ecn(ctx, plan))
		/* Other programs' answers are left alone. */
		ctx->reply = 1;
	return 1;
}
