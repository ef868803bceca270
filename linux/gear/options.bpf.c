/*
 * The ends of a connection that carries telemetry (docs/int-option.md), for the sockets of a cgroup: packets with data offer room to switches,
 * ACKs echo what those wrote, and what an echo brings is kept for gear.bpf.c. Senders and receivers run the same program.
 *
 * Needs nothing of the congestion control: a receiver attaches this alone.
 */
#include "kernel.h"
#include "../sockops.h"

char licence[] SEC("license") = "Dual MIT/GPL";

#define ACTIVE_ESTABLISHED 4
#define PASSIVE_ESTABLISHED 5
#define PARSE_HDR_OPT 13
#define HDR_OPT_LEN 14
#define WRITE_HDR_OPT 15
#define PARSE_UNKNOWN_FLAG 32
#define WRITE_FLAG 64
#define CURRENT_MSS 1
#define TCP_SYN_OR_RST 6
/* Probes that nobody echoes end after so many. */
#define PATIENCE 1024

/* Entries of a probe where there is room: fewer cost each packet fewer bytes. Written by the loader. */
const volatile u64 entries SEC(".rodata.settings") = OPTION_ENTRIES;

static __always_inline u32 head(u8 *option, u32 identifier, u32 bytes)
{
	option[0] = OPTION_KIND;
	option[1] = (u8)(OPTION_HEAD + bytes);
	option[2] = (u8)(identifier >> 8);
	option[3] = (u8)identifier;
	return OPTION_HEAD + bytes;
}

/* Bytes of entries that fit, of at most so many; the room is taken. */
static __always_inline u32 reserve(struct bpf_sock_ops *ctx, u32 most)
{
	u32 bytes = OPTION_ENTRIES * OPTION_ENTRY, i;

	for (i = 0; i < OPTION_ENTRIES; i++) {
		if (bytes <= most && !bpf_reserve_hdr_opt(ctx, OPTION_HEAD + bytes, 0))
			return bytes;
		bytes -= OPTION_ENTRY;
	}
	return 0;
}

static __always_inline u32 most_of_probe(void)
{
	return (entries < 1 ? 1 : entries > OPTION_ENTRIES ? OPTION_ENTRIES : (u32)entries) * OPTION_ENTRY;
}

/* Whether a packet with data carries an echo: where both ends send data the two take turns. */
static __always_inline u32 echoes_with_data(const struct path *path)
{
	return path->pending && path->turn;
}

/* The kernel asks for the room that a packet needs, and right after that has it written, or only how much data a packet may hold. */
static __always_inline void room(struct bpf_sock_ops *ctx, struct path *path)
{
	u32 probes = path->echoed || path->probes < PATIENCE;

	path->reserved = 0;
	if (ctx->skb_tcp_flags & TCP_SYN_OR_RST)
		return;
	if (ctx->args[0] == CURRENT_MSS) {
		/* As if each packet carried the longest option. */
		if (probes || path->pending)
			reserve(ctx, probes ? most_of_probe() : path->pending);
	} else if (ctx->skb_len == 0 || echoes_with_data(path)) {
		path->identifier = OPTION_ECHO;
		if (path->pending)
			path->reserved = reserve(ctx, path->pending);
		path->no_room += path->pending && !path->reserved;
	} else if (probes) {
		path->identifier = OPTION_PROBE;
		path->reserved = reserve(ctx, most_of_probe());
		path->room = path->reserved;
	}
}

static __always_inline void write(struct bpf_sock_ops *ctx, struct path *path)
{
	u32 bytes = path->reserved, echo = path->identifier == OPTION_ECHO;
	u8 option[OPTION_SPACE] = {};

	if (bytes < OPTION_ENTRY || bytes > OPTION_ENTRIES * OPTION_ENTRY)
		return;
	if (echo)
		__builtin_memcpy(option + OPTION_HEAD, path->to_echo, sizeof(path->to_echo));
	if (bpf_store_hdr_opt(ctx, option, head(option, path->identifier, bytes), 0))
		return;
	if (echo) {
		path->echoes += 1;
		path->partial += bytes < path->pending;
		path->pending = 0;
		path->turn = 0;
	} else {
		path->probes += 1;
		path->turn = path->pending != 0;
	}
}

/* Bytes of entries that switches have written, from the beginning of the option. */
static __always_inline u32 written(const u8 *option, u32 bytes)
{
	u32 found = 0, i;

	for (i = 0; i < OPTION_ENTRIES; i++) {
		struct option_hop hop;

		if (i * OPTION_ENTRY + OPTION_ENTRY > bytes || !option_decode(option + OPTION_HEAD + i * OPTION_ENTRY, &hop))
			break;
		found += OPTION_ENTRY;
	}
	return found;
}

/* The option with this identifier in the packet at hand: how many bytes of written entries, or -1 where there is none. */
static __always_inline int read(struct bpf_sock_ops *ctx, u8 *option, u32 identifier)
{
	long size;

	__builtin_memset(option, 0, OPTION_SPACE);
	/* What is looked for: kind and identifier. */
	head(option, identifier, 0);
	size = bpf_load_hdr_opt(ctx, option, OPTION_SPACE, 0);
	if (size < (long)(OPTION_HEAD + OPTION_ENTRY) || size > (long)OPTION_SPACE)
		return -1;
	return (int)written(option, (u32)size - OPTION_HEAD);
}

static __always_inline void parse(struct bpf_sock_ops *ctx, struct path *path)
{
	u8 option[OPTION_SPACE];
	int bytes = read(ctx, option, OPTION_PROBE);

	if (bytes > 0) {
		__builtin_memcpy(path->to_echo, option + OPTION_HEAD, sizeof(path->to_echo));
		path->pending = bytes;
		path->probed += 1;
		return;
	}
	if (bytes == 0) {
		path->unstamped += 1;
		return;
	}
	bytes = read(ctx, option, OPTION_ECHO);
	if (bytes <= 0)
		return;
	__builtin_memcpy(path->latest, option + OPTION_HEAD, sizeof(path->latest));
	path->known = bytes;
	path->echoed += 1;
}

SEC("sockops")
int options(struct bpf_sock_ops *ctx)
{
	u32 op = ctx->op, begins = op == ACTIVE_ESTABLISHED || op == PASSIVE_ESTABLISHED;
	struct bpf_sock *sk = ctx->sk;
	struct path *path;

	if (!sk || (!begins && op != PARSE_HDR_OPT && op != HDR_OPT_LEN && op != WRITE_HDR_OPT))
		return 1;
	path = bpf_sk_storage_get(&int_paths, sk, NULL, begins ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!path)
		return 1;
	if (begins)
		bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | PARSE_UNKNOWN_FLAG | WRITE_FLAG);
	else if (op == PARSE_HDR_OPT)
		parse(ctx, path);
	else if (op == HDR_OPT_LEN)
		room(ctx, path);
	else
		write(ctx, path);
	return 1;
}
