/* What the programs remember, and what the loader sets. All of it is bounded, and ends with the connection. */
#pragma once

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum { NAME_LENGTH = 16 };

/* Written by the loader before the programs are loaded: `settings.rs`. */
struct settings {
	__u64 namespace;	/* that of the interfaces: for `headway kernel status` alone */
	__u64 cgroup;
	bool offer_classic, offer_v2, send_copies;
	/* The congestion controls that take the place of cubic and bbr; empty: none. */
	char cubic[NAME_LENGTH], bbr[NAME_LENGTH];
} __attribute__((packed));

const volatile struct settings settings SEC(".rodata.settings");

enum counter {
#define COUNTER(name, meaning) COUNT_##name,
#include "counters.def"
#undef COUNTER
	COUNTERS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} headway_counters SEC(".maps");

static __always_inline void count_many(__u32 counter, __u64 number)
{
	__u64 *value = bpf_map_lookup_elem(&headway_counters, &counter);
	if (value)
		*value += number;
}

#define count(name) count_many(COUNT_##name, 1)

/* The interfaces that the programs are attached to, and how long their link-layer headers are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} interfaces SEC(".maps");

enum encoding { PLAIN, CLASSIC, V2 };

/* The ring of reports is a power of two. */
enum { REPORTS = 256, PENDING = 8 };

struct report {
	__u32 seq;
	__u32 tsecr;
	__u64 at;
};

/* How much was damaged when so much had been delivered. The ring is a power of two, and twice a flight. */
enum { MARKS = 16 };

struct mark {
	__u32 delivered, damage;
};

struct connection {
	__u8 encoding;
	__u8 several;		/* the peer reads kind 16 */
	__u8 without_option;	/* segments in a row that lacked the option of version 2 */
	__u8 closed;
	/* The receiver: segments that were reported and have not arrived, the newest first. */
	__u32 pending_count;
	__u32 pending[PENDING];
	__u64 pending_at[PENDING];
	/* The sender: reports that no loss has used. The ingress program adds, congestion control takes. */
	__u32 head, tail;
	struct report reports[REPORTS];
	/* Damaged packets that the peer counted beyond its reports, and until when they explain losses. */
	__u32 counted, counted_used;
	__u64 counted_until;
	/* The bound of the ledger: what was attributed to damage, in all and in the present window. */
	__u64 window_began;
	__u32 window_delivered, attributed, window_attributed;
	__u64 retired_at;	/* when losses were last explained */
	/* Congestion control. */
	__u32 lost_seen;	/* of the losses that TCP has found */
	__u32 unexplained;	/* losses to which it has not reacted */
	__u32 damage;		/* losses that were attributed to damage */
	__u32 damage_taken;	/* what the congestion control has heard of these */
	__u32 reduced_until;	/* SND.NXT at the last reduction */
	__u32 prr_delivered, prr_from, prr_out;
	/* What is undone if D-SACKs show that nothing was lost: what was, by how many losses, and what was counted then. */
	__u32 undo_cwnd, undo_ssthresh, undo_losses, undo_dsacks;
	__u32 copies_sent;
	__u32 next_mark;
	struct mark marks[MARKS];
	__u32 unreduced_cwnd, last_cwnd;
	__u32 round_end;	/* what will have been delivered when the round trip is over */
	__u8 mode, ece, reduced_before, handshake_undone;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* A pair of addresses, this host's first. */
struct path_key {
	__u32 local[4], remote[4];
};

struct path {
	__u32 connections;
	__u32 damaged;		/* packets from there that arrived damaged */
	__u32 sent;		/* segments with data that were sent there */
	__u32 peer_count;	/* the largest count that was received from there */
	__u32 reported;		/* reports that the next growth of that count contains */
	__u32 count_known;
	__u64 damage_seen;	/* when damage was last reported or counted by the peer */
};

enum { PATHS = 4096 };

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, PATHS);
	__type(key, struct path_key);
	__type(value, struct path);
} paths SEC(".maps");

/* Connections of version 2 that have ended: in TIME-WAIT the kernel still acknowledges, without a socket. */
struct ended_key {
	__u32 local[4], remote[4];
	__be16 local_port, remote_port;
};

struct ended {
	__u64 until;
	__u16 damaged;
};

enum { ENDED = 16384 };

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ENDED);
	__type(key, struct ended_key);
	__type(value, struct ended);
} ended_connections SEC(".maps");

/* Removes those that are over. One timer for all: under load the kernel has no memory for one each. Pinned programs have none (the
 * kernel stops the timers of maps that no process holds): there an entry stays until another needs its place. */
struct sweep {
	struct bpf_timer timer;
	__u32 is_started;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sweep);
} sweeps SEC(".maps");

/* How many of them there are, about: without any, packets without a socket need no look-up. */
__u32 ended_count = 0;

/* The last transmissions of segments with data, of a connection on a path that damages packets. */
enum { COPIES = 8, COPY_LENGTH = 1540 };

struct copy {
	__u32 seq, length, tcp, tsval;
	__u64 sent, replayed;
	__u8 packet[COPY_LENGTH];
};

struct copies {
	__u32 next;
	struct copy all[COPIES];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct copies);
} tails SEC(".maps");

/* How many connections use version 2: without any, packets without options need no look-up. */
__u32 v2_connections = 0;

static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

/* Keeps the compiler from replacing a bound that the verifier has to see. */
#define opaque(x) asm volatile("" : "+r"(x))
