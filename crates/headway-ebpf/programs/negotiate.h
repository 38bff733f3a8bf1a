/* sock_ops on a cgroup: HACK offered and agreed, room for sums reserved, congestion control chosen. */
#pragma once

#include "segment.h"

enum { AF_INET = 2, AF_INET6 = 10, SOL_TCP = 6 };

static __always_inline __u32 crc_bytes(__u32 crc, const __u8 *bytes, int length)
{
#pragma unroll
	for (int i = 0; i < length; i++)
		crc = crc_byte(crc, bytes[i]);
	return crc;
}

static __always_inline void request(struct bpf_sock_ops *ops, int flags)
{
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags | flags);
}

static __always_inline void withdraw(struct bpf_sock_ops *ops, int flags)
{
	bpf_sock_ops_cb_flags_set(ops, ops->bpf_sock_ops_cb_flags & ~flags);
}

/* The option with which a header agrees, if any, read into `option`. */
static __always_inline bool find_v2(struct bpf_sock_ops *ops, __u8 *option, int flags)
{
	option[0] = KIND_EXPERIMENT;
	option[1] = 4;
	option[2] = EXID >> 8;
	option[3] = EXID & 0xff;
	return bpf_load_hdr_opt(ops, option, 12, flags) >= 4;
}

static __always_inline bool find_syn_v2(struct bpf_sock_ops *ops, __u8 *option, int flags)
{
	return find_v2(ops, option, flags) && option[1] == LENGTH_SYN && option[4] == VERSION;
}

static __always_inline bool find_classic(struct bpf_sock_ops *ops, __u8 *option, int flags)
{
	option[0] = KIND_SUM;
	option[1] = 0;
	return bpf_load_hdr_opt(ops, option, 12, flags) == LENGTH_SUM && option[1] == LENGTH_SUM;
}

static __always_inline bool reads_several(const __u8 *option)
{
	return read16(option + 2) == READS_SEVERAL;
}

/* Whether the path check of the SYN that is answered holds. */
static __always_inline bool saved_check_holds(struct bpf_sock_ops *ops, const __u8 *option)
{
	__u8 syn[60] = {};
	__u32 crc = ~0;
	/* More follows than fits: an error that still fills the buffer. */
	bpf_getsockopt(ops, SOL_TCP, TCP_BPF_SYN_IP, syn, sizeof(syn));
	if (syn[0] == 0x45)
		crc = crc_bytes(crc, syn + 12, 8 + 12);
	else if (syn[0] >> 4 == 6)
		crc = crc_bytes(crc, syn + 8, 32 + 12);
	else
		return false;
	bool holds = (__u16)~crc == read16(option + 6);
	if (!holds)
		count(path_check_failed);
	return holds;
}

/* Also of an IPv6 socket: addresses of the form ::ffff:a.b.c.d. */
static __always_inline bool is_ipv4(const struct bpf_sock_ops *ops)
{
	return ops->family == AF_INET ||
	       (!ops->remote_ip6[0] && !ops->remote_ip6[1] && ops->remote_ip6[2] == bpf_htonl(0xffff));
}

/* Whether that of the SYN-ACK holds that has arrived. */
static __always_inline bool arrived_check_holds(struct bpf_sock_ops *ops, const __u8 *option)
{
	__u8 *tcp = ops->skb_data, *end = ops->skb_data_end;
	__u32 addresses[8] = {};
	__u32 crc = ~0;
	if (tcp + 12 > end)
		return false;
	if (is_ipv4(ops)) {
		addresses[0] = ops->remote_ip4;
		addresses[1] = ops->local_ip4;
		crc = crc_bytes(crc, (const __u8 *)addresses, 8);
	} else {
		addresses[0] = ops->remote_ip6[0];
		addresses[1] = ops->remote_ip6[1];
		addresses[2] = ops->remote_ip6[2];
		addresses[3] = ops->remote_ip6[3];
		addresses[4] = ops->local_ip6[0];
		addresses[5] = ops->local_ip6[1];
		addresses[6] = ops->local_ip6[2];
		addresses[7] = ops->local_ip6[3];
		crc = crc_bytes(crc, (const __u8 *)addresses, 32);
	}
	crc = crc_bytes(crc, tcp, 12);
	bool holds = (__u16)~crc == read16(option + 6);
	if (!holds)
		count(path_check_failed);
	return holds;
}

/* What a SYN-ACK answers to a SYN. It is asked three times, and always says the same. */
static __always_inline enum encoding answer_to_syn(struct bpf_sock_ops *ops, __u8 *option)
{
	__u8 sack[4] = { 4 };
	if (settings.offer_v2 && find_syn_v2(ops, option, BPF_LOAD_HDR_OPT_TCP_SYN) && saved_check_holds(ops, option) &&
	    bpf_load_hdr_opt(ops, sack, sizeof(sack), BPF_LOAD_HDR_OPT_TCP_SYN) == 2)
		return V2;
	if (settings.offer_classic && find_classic(ops, option, BPF_LOAD_HDR_OPT_TCP_SYN))
		return CLASSIC;
	return PLAIN;
}

static __always_inline struct connection *connection_of(struct bpf_sock_ops *ops)
{
	struct bpf_sock *sk = ops->sk;
	return sk ? bpf_sk_storage_get(&connections, sk, 0, 0) : 0;
}

/* The option is appended where the egress program finds it; sums and path check are written there, when the rest of the
 * packet is final. Where no egress program is, the path check stays wrong, and version 2 is not used. */
static __always_inline void write_option(struct bpf_sock_ops *ops)
{
	__u8 v2[12] = { KIND_EXPERIMENT, LENGTH_SYN, EXID >> 8, EXID & 0xff, VERSION };
	__u8 sum[4] = { KIND_SUM, LENGTH_SUM, READS_SEVERAL >> 8, READS_SEVERAL & 0xff };
	__u32 flags = ops->skb_tcp_flags;
	if ((flags & (SYN | ACK)) == SYN) {
		if (settings.offer_v2)
			bpf_store_hdr_opt(ops, v2, LENGTH_SYN, 0);
		if (settings.offer_classic)
			bpf_store_hdr_opt(ops, sum, LENGTH_SUM, 0);
		return;
	}
	if (flags & SYN) {
		__u8 option[12] = {};
		enum encoding encoding = answer_to_syn(ops, option);
		if (encoding == V2)
			bpf_store_hdr_opt(ops, v2, LENGTH_SYN, 0);
		else if (encoding == CLASSIC)
			bpf_store_hdr_opt(ops, sum, LENGTH_SUM, 0);
		return;
	}
	struct connection *c = connection_of(ops);
	if (!c)
		return;
	if (c->encoding == V2) {
		v2[1] = LENGTH_DATA;
		v2[4] = 0;
		bpf_store_hdr_opt(ops, v2, LENGTH_DATA, 0);
	} else if (c->encoding == CLASSIC) {
		sum[2] = sum[3] = 0;
		bpf_store_hdr_opt(ops, sum, LENGTH_SUM, 0);
	}
}

static __always_inline void reserve(struct bpf_sock_ops *ops)
{
	__u32 flags = ops->skb_tcp_flags, room = 0;
	if (ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS || !(flags & SYN)) {
		struct connection *c = connection_of(ops);
		/* Acknowledgements are given their option by the egress program: it makes room among the SACK blocks. */
		bool is_mss = ops->args[0] == BPF_WRITE_HDR_TCP_CURRENT_MSS;
		if (c && (is_mss || ops->skb_len > 0))
			room = c->encoding == V2 ? LENGTH_DATA : c->encoding == CLASSIC ? LENGTH_SUM : 0;
		/* A device that segments copies the options to each part. A sum that is not there is better than a wrong one. */
		if (c && c->encoding == CLASSIC && !is_mss && ops->skb_len > ops->mss_cache)
			room = 0;
	} else if (!(flags & ACK)) {
		room = (settings.offer_v2 ? LENGTH_SYN : 0) + (settings.offer_classic ? LENGTH_SUM : 0);
	} else if (ops->args[0] != BPF_WRITE_HDR_TCP_SYNACK_COOKIE) {
		/* After a cookie nothing would be known of the SYN. */
		__u8 option[12] = {};
		enum encoding encoding = answer_to_syn(ops, option);
		room = encoding == V2 ? LENGTH_SYN : encoding == CLASSIC ? LENGTH_SUM : 0;
	}
	if (room)
		bpf_reserve_hdr_opt(ops, room, 0);
}

static __always_inline void path_of_socket(struct bpf_sock_ops *ops, struct path_key *key)
{
	__builtin_memset(key, 0, sizeof(*key));
	if (is_ipv4(ops)) {
		key->local[0] = ops->local_ip4;
		key->remote[0] = ops->remote_ip4;
		return;
	}
	key->local[0] = ops->local_ip6[0];
	key->local[1] = ops->local_ip6[1];
	key->local[2] = ops->local_ip6[2];
	key->local[3] = ops->local_ip6[3];
	key->remote[0] = ops->remote_ip6[0];
	key->remote[1] = ops->remote_ip6[1];
	key->remote[2] = ops->remote_ip6[2];
	key->remote[3] = ops->remote_ip6[3];
}

/* Puts the name of ours in the place of the congestion control's that it contains, if it is loaded. */
static __always_inline bool replace_name(char *name)
{
	bool is_cubic = name[0] == 'c' && name[1] == 'u' && name[2] == 'b' && name[3] == 'i' && name[4] == 'c' && !name[5];
	bool is_bbr = name[0] == 'b' && name[1] == 'b' && name[2] == 'r' && !name[3];
	if (!(is_cubic && settings.cubic[0]) && !(is_bbr && settings.bbr[0]))
		return false;
#pragma unroll
	for (int i = 0; i < NAME_LENGTH; i++)
		name[i] = is_cubic ? settings.cubic[i] : settings.bbr[i];
	return true;
}

static __always_inline void choose_congestion_control(struct bpf_sock_ops *ops)
{
	char name[NAME_LENGTH] = {};
	bpf_getsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	if (replace_name(name))
		bpf_setsockopt(ops, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
}

/* A program chooses a congestion control for a connection that uses HACK already. */
SEC("cgroup/setsockopt")
int headway_setsockopt(struct bpf_sockopt *option)
{
	if (option->level != SOL_TCP || option->optname != TCP_CONGESTION || !option->sk)
		return 1;
	struct connection *c = bpf_sk_storage_get(&connections, option->sk, 0, 0);
	/* The kernel makes room for 16 bytes at least. */
	char *value = option->optval, *end = option->optval_end;
	__s32 length = option->optlen;
	if (!c || c->encoding == PLAIN || value + NAME_LENGTH > end || length < 1)
		return 1;
	char name[NAME_LENGTH] = {};
#pragma unroll
	for (int i = 0; i < NAME_LENGTH - 1; i++)
		name[i] = i < length ? value[i] : 0;
	if (replace_name(name)) {
		__builtin_memcpy(value, name, NAME_LENGTH);
		option->optlen = NAME_LENGTH;
	}
	return 1;
}

static __always_inline void establish(struct bpf_sock_ops *ops, enum encoding encoding, bool several)
{
	struct bpf_sock *sk = ops->sk;
	struct connection *c = 0;
	if (encoding != PLAIN && sk)
		c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!c) {
		withdraw(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG);
		return;
	}
	c->encoding = encoding;
	c->several = several;
	struct path_key key;
	path_of_socket(ops, &key);
	struct path *path = bpf_map_lookup_elem(&paths, &key);
	if (!path) {
		struct path new = {};
		bpf_map_update_elem(&paths, &key, &new, BPF_NOEXIST);
		path = bpf_map_lookup_elem(&paths, &key);
	}
	if (path)
		__sync_fetch_and_add(&path->connections, 1);
	if (encoding == V2) {
		__sync_fetch_and_add(&v2_connections, 1);
		count(agreed_v2);
	} else {
		count(agreed_classic);
	}
	request(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG);
	choose_congestion_control(ops);
}

/* The kernel's TIME-WAIT, and a little more; how often entries that are over are removed. */
#define TIME_WAIT (61ull * 1000000000)
#define SWEEP_INTERVAL (5ull * 1000000000)

struct sweep_result {
	__u64 now;
	__u32 removed, left;
};

static long remove_if_over(void *map, struct ended_key *key, struct ended *ended, struct sweep_result *result)
{
	if (result->now < ended->until) {
		result->left++;
	} else if (!bpf_map_delete_elem(map, key)) {
		result->removed++;
	}
	return 0;
}

static void start_sweep(struct sweep *sweep, __u64 delay)
{
	if (!__sync_val_compare_and_swap(&sweep->is_started, 0, 1) && bpf_timer_start(&sweep->timer, delay, 0))
		sweep->is_started = 0;
}

static int sweep_ended(void *map, __u32 *key, struct sweep *sweep)
{
	struct sweep_result result = { .now = bpf_ktime_get_ns() };
	__u32 count = ended_count;
	bpf_for_each_map_elem(&ended_connections, remove_if_over, &result, 0);
	/* Entries that gave way to others are not counted down: when none is left, the rest of the count is theirs. */
	__sync_fetch_and_add(&ended_count, -(result.left ? result.removed : count));
	sweep->is_started = 0;
	if (ended_count)
		start_sweep(sweep, SWEEP_INTERVAL);
	return 0;
}

static __always_inline void remember_ended(struct bpf_sock_ops *ops, const struct path_key *path, __u16 damaged)
{
	struct ended_key key = {};
	struct ended new = {};
	__builtin_memcpy(key.local, path->local, 16);
	__builtin_memcpy(key.remote, path->remote, 16);
	key.local_port = bpf_htons(ops->local_port);
	key.remote_port = bpf_htons(bpf_ntohl(ops->remote_port));
	new.damaged = damaged;
	new.until = bpf_ktime_get_ns() + TIME_WAIT;
	if (bpf_map_update_elem(&ended_connections, &key, &new, BPF_ANY))
		return;
	__sync_fetch_and_add(&ended_count, 1);
	__u32 only = 0;
	struct sweep *sweep = bpf_map_lookup_elem(&sweeps, &only);
	if (!sweep)
		return;
	/* Fails where it is there already. */
	if (!bpf_timer_init(&sweep->timer, &sweeps, CLOCK_MONOTONIC))
		bpf_timer_set_callback(&sweep->timer, sweep_ended);
	start_sweep(sweep, TIME_WAIT);
}

static __always_inline void close(struct bpf_sock_ops *ops)
{
	struct connection *c = connection_of(ops);
	if (!c || c->closed)
		return;
	c->closed = 1;
	struct path_key key;
	path_of_socket(ops, &key);
	struct path *path = bpf_map_lookup_elem(&paths, &key);
	if (c->encoding == V2) {
		__sync_fetch_and_add(&v2_connections, -1);
		remember_ended(ops, &key, path ? path->damaged : 0);
	}
	if (path && __sync_fetch_and_add(&path->connections, -1) == 1)
		bpf_map_delete_elem(&paths, &key);
}

SEC("sockops")
int headway_sockops(struct bpf_sock_ops *ops)
{
	__u8 option[12] = {};
	if (ops->family != AF_INET && ops->family != AF_INET6)
		return 1;
	switch (ops->op) {
	case BPF_SOCK_OPS_TCP_LISTEN_CB: {
		int headers = 1;
		bpf_setsockopt(ops, SOL_TCP, TCP_SAVE_SYN, &headers, sizeof(headers));
		request(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		break;
	}
	case BPF_SOCK_OPS_TCP_CONNECT_CB:
		request(ops, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG);
		break;
	case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
		reserve(ops);
		break;
	case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
		write_option(ops);
		break;
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
		if (settings.offer_v2 && find_syn_v2(ops, option, 0) && arrived_check_holds(ops, option))
			establish(ops, V2, false);
		else if (settings.offer_classic && find_classic(ops, option, 0))
			establish(ops, CLASSIC, reads_several(option));
		else
			establish(ops, PLAIN, false);
		break;
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB: {
		enum encoding encoding = answer_to_syn(ops, option);
		bool several = encoding == CLASSIC && reads_several(option);
		/* Where the answer was stripped, the peer's first segment lacks the option. */
		if (encoding == V2 && !find_v2(ops, option, 0))
			encoding = PLAIN;
		establish(ops, encoding, several);
		break;
	}
	case BPF_SOCK_OPS_STATE_CB:
		if (ops->args[1] == BPF_TCP_CLOSE)
			close(ops);
		break;
	}
	return 1;
}
