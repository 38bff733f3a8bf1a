/* tc egress: sums written when the rest of the packet is final, and copies of tails stored. */
#pragma once

#include "segment.h"

enum { NO_INTERFACE = 0x7fffffff };

static __always_inline void path_of_segment(const struct segment *s, struct path_key *key, bool outgoing)
{
	__builtin_memcpy(key->local, outgoing ? s->source : s->destination, 16);
	__builtin_memcpy(key->remote, outgoing ? s->destination : s->source, 16);
}

/* Puts bytes into the header, at an even offset from its beginning. A checksum that is already complete is updated. */
static __always_inline void patch(struct __sk_buff *skb, struct segment *s, __u32 at, const __u8 *bytes, __u32 length)
{
	if (!checksum_is_partial(s)) {
		__u64 sum = (__u16)~*(const __u16 *)(s->header + 16);
		for (__u32 i = 0; i < length; i += 2) {
			sum += (__u16)~*(const __u16 *)(s->header + ((at + i) & 62));
			sum += *(const __u16 *)(bytes + i);
		}
		__u16 check = ~fold(sum);
		bpf_skb_store_bytes(skb, s->tcp + 16, &check, 2, 0);
		*(__u16 *)(s->header + 16) = check;
	}
	bpf_skb_store_bytes(skb, s->tcp + at, bytes, length, 0);
	for (__u32 i = 0; i < length; i++)
		s->header[(at + i) & 63] = bytes[i];
}

/* Writes the length of the IP header for a TCP segment of another length. */
static __always_inline void write_ip_length(struct __sk_buff *skb, const struct segment *s, __u32 tcp_length)
{
	if (s->version == 4) {
		__u16 old = bpf_htons(s->tcp - s->ip + s->tcp_length), new = bpf_htons(s->tcp - s->ip + tcp_length);
		bpf_skb_store_bytes(skb, s->ip + 2, &new, 2, 0);
		bpf_l3_csum_replace(skb, s->ip + 10, old, new, 2);
	} else {
		__u16 new = bpf_htons(tcp_length);
		bpf_skb_store_bytes(skb, s->ip + 4, &new, 2, BPF_F_RECOMPUTE_CSUM);
	}
}

static __always_inline void write_path_check(struct __sk_buff *skb, struct segment *s)
{
	__u32 crc = ~0, words = s->version == 4 ? 1 : 4;
	const __u8 *source = (const __u8 *)s->source, *destination = (const __u8 *)s->destination;
	for (int i = 0; i < 16; i++)
		if (i < words * 4)
			crc = crc_byte(crc, source[i]);
	for (int i = 0; i < 16; i++)
		if (i < words * 4)
			crc = crc_byte(crc, destination[i]);
	for (int i = 0; i < 12; i++)
		crc = crc_byte(crc, s->header[i]);
	__u8 check[2];
	write16(check, ~crc);
	patch(skb, s, s->hack2 + 6, check, 2);
}

static __always_inline void write_classic_sum(struct __sk_buff *skb, struct segment *s)
{
	__u16 sum = classic_sum(s);
	patch(skb, s, s->sum + 2, (const __u8 *)&sum, 2);
	count(sums_written);
}

/* A data segment of version 2 whose SACK blocks left no room for the option: it takes the place of some of them. */
static __always_inline bool replace_sacks(struct __sk_buff *skb, struct segment *s)
{
	__u8 options[28];
	__u32 at = s->sack & ~3, length = s->header_length - at;
	/* Two NOPs precede a SACK option: its kind is at the third byte of a word. */
	if (!s->sack || (s->sack & 3) != 2 || (length != 20 && length != 28))
		return false;
	__builtin_memset(options, KIND_NOP, sizeof(options));
	options[0] = KIND_EXPERIMENT;
	options[1] = LENGTH_DATA;
	write16(options + 2, EXID);
	__builtin_memset(options + 4, 0, 8);
	if (length == 28) {
		options[14] = KIND_SACK;
		options[15] = 10;
		for (int i = 0; i < 8; i++)
			options[16 + i] = s->header[(s->sack + 2 + i) & 63];
		patch(skb, s, at, options, 28);
	} else {
		patch(skb, s, at, options, 20);
	}
	s->hack2 = at;
	s->hack2_length = LENGTH_DATA;
	count(sacks_shortened);
	return true;
}

static __always_inline void write_data_crcs(struct __sk_buff *skb, struct segment *s)
{
	__u8 crcs[8];
	__u32 option = s->hack2;
	if (option & 1 || option > HEADER - LENGTH_DATA || sum_payload(skb, s, 1) < 0)
		return;
	write32(crcs, 0);
	write32(crcs + 4, s->payload_crc);
	patch(skb, s, option + 4, crcs, 8);
	__builtin_memcpy(s->output, s->header, HEADER_ROOM);
	write32(crcs, header_crc(s, s->header_length, s->tcp_length, option));
	patch(skb, s, option + 4, crcs, 4);
	count(sums_written);
}

/* Gives an acknowledgement of version 2 its option: timestamps, HACK, SACK, and what else fits. */
static __noinline void write_ack_option(struct __sk_buff *skb, struct segment *s, __u16 damaged)
{
	__u32 at = 20, option, length;
	bool partial = checksum_is_partial(s);
	__builtin_memset(s->output, 0, HEADER_ROOM);
	__builtin_memcpy(s->output, s->header, 20);
	if (s->timestamps) {
		__u32 from = s->timestamps;
		s->output[20] = s->output[21] = KIND_NOP;
		for (int i = 0; i < 10; i++)
			s->output[22 + i] = s->header[(from + i) & 63];
		at = 32;
	}
	option = at;
	opaque(option);
	if (option > 32)
		return;
	s->output[option] = KIND_EXPERIMENT;
	s->output[option + 1] = LENGTH_ACK;
	write16(s->output + option + 2, EXID);
	write16(s->output + option + 8, damaged);
	at = option + LENGTH_ACK;
	__u32 blocks = s->sack ? (s->sack_length - 2u) / 8 : 0, room = (HEADER - 2u - at) / 8;
	if (blocks > room) {
		blocks = room;
		count(sacks_shortened);
	}
	if (blocks) {
		__u32 from = s->sack;
		s->output[at & 63] = KIND_SACK;
		s->output[(at + 1) & 63] = 2 + 8 * blocks;
		for (int i = 0; i < 24; i++) {
			if (i >= blocks * 8)
				break;
			s->output[(at + 2 + i) & 63] = s->header[(from + 2 + i) & 63];
		}
		length = at + 2 + 8 * blocks;
	} else {
		s->output[at & 63] = s->output[(at + 1) & 63] = KIND_NOP;
		length = at + 2;
	}
	opaque(length);
	if (length < 32 || length > HEADER)
		return;
	s->output[12] = length << 2 | (s->output[12] & 15);
	write32(s->output + option + 4, header_crc(s, length, length, option));
	__u64 sum = pseudo_sum(s, length);
	*(__u16 *)(s->output + 16) = partial ? fold(sum) : (__u16)~fold(sum + header_words(s->output));
	if (length != s->tcp_length && bpf_skb_change_tail(skb, s->tcp + length, 0) < 0)
		return;
	opaque(length);
	if (length < 32 || length > HEADER)
		return;
	bpf_skb_store_bytes(skb, s->tcp, s->output, length, 0);
	write_ip_length(skb, s, length);
	count(sums_written);
}

/* Keeps a copy of a data segment, as long as it may be the last of its flight. True: it was sent as a copy a moment ago. */
static __always_inline bool keep_copy(struct __sk_buff *skb, struct bpf_sock *sk, struct segment *s, __u32 srtt_us)
{
	struct copies *copies = bpf_sk_storage_get(&tails, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	__u32 length = s->tcp - s->ip + s->tcp_length;
	__u64 now = bpf_ktime_get_ns();
	if (!copies)
		return false;
	for (int i = 0; i < COPIES; i++) {
		struct copy *copy = &copies->all[i];
		if (copy->length == 0 || copy->seq != s->seq)
			continue;
		if (copy->length == length && copy->replayed && now - copy->replayed < (__u64)srtt_us * 750)
			return true;
		/* Sent anew by the kernel, perhaps cut otherwise. */
		copy->length = 0;
	}
	__u32 place = copies->next;
	opaque(place);
	if (place >= COPIES)
		return false;
	struct copy *copy = &copies->all[place];
	copies->next = (place + 1) % COPIES;
	copy->length = 0;
	opaque(length);
	if (length < 41 || length > COPY_LENGTH)
		return false;
	if (bpf_skb_load_bytes(skb, s->ip, copy->packet, length) < 0)
		return false;
	copy->seq = s->seq;
	copy->tcp = s->tcp - s->ip;
	copy->tsval = s->tsval;
	copy->sent = now;
	copy->replayed = 0;
	copy->length = length;
	return false;
}

/* In TIME-WAIT the kernel acknowledges without the connection's socket. */
static __always_inline void write_ended(struct __sk_buff *skb, struct segment *s)
{
	struct ended_key key = {};
	if (!ended_count || s->payload_length || (s->flags & (SYN | FIN | RST | ACK)) != ACK)
		return;
	__builtin_memcpy(key.local, s->source, 16);
	__builtin_memcpy(key.remote, s->destination, 16);
	key.local_port = *(__u16 *)s->header;
	key.remote_port = *(__u16 *)(s->header + 2);
	struct ended *ended = bpf_map_lookup_elem(&ended_connections, &key);
	if (ended && bpf_ktime_get_ns() < ended->until)
		write_ack_option(skb, s, ended->damaged);
}

SEC("tc")
int headway_egress(struct __sk_buff *skb)
{
	__u32 outgoing = 1, parts = skb->gso_segs;
	struct segment *s = bpf_map_lookup_elem(&segments, &outgoing);
	struct bpf_sock *sk = skb->sk, *full = sk ? bpf_sk_fullsock(sk) : 0;
	struct connection *c = full ? bpf_sk_storage_get(&connections, full, 0, 0) : 0;
	/* They have no option: see reserve(). */
	if (parts > 1 && c && c->encoding == CLASSIC) {
		count(segmented_later);
		return TCX_NEXT;
	}
	if (!s || (!sk && !ended_count) || !read_segment(skb, s))
		return TCX_NEXT;
	if (s->flags & SYN) {
		if (sk && s->hack2 && s->hack2_length == LENGTH_SYN && !(s->hack2 & 1))
			write_path_check(skb, s);
		return TCX_NEXT;
	}
	if (!c)
		write_ended(skb, s);
	if (!c || c->encoding == PLAIN || s->flags & RST)
		return TCX_NEXT;
	struct path_key key;
	path_of_segment(s, &key, true);
	struct path *path = bpf_map_lookup_elem(&paths, &key);
	if (s->payload_length == 0) {
		if (c->encoding == V2)
			write_ack_option(skb, s, path ? path->damaged : 0);
		return TCX_NEXT;
	}
	if (path)
		__sync_fetch_and_add(&path->sent, parts > 1 ? parts : 1);
	if (parts > 1) {
		count(segmented_later);
		return TCX_NEXT;
	}
	if (c->encoding == CLASSIC && s->sum && !(s->sum & 1))
		write_classic_sum(skb, s);
	else if (c->encoding == V2 && (s->hack2 || replace_sacks(skb, s)))
		write_data_crcs(skb, s);
	if (settings.send_copies && path && path->damage_seen) {
		struct tcp_sock *tp = bpf_skc_to_tcp_sock(full);
		if (tp && keep_copy(skb, full, s, tp->srtt_us >> 3)) {
			count(replay_absorbed);
			/* Dropped, with the return value of a sent packet: otherwise TCP takes its own device for congested. */
			return bpf_redirect(NO_INTERFACE, 0);
		}
	}
	return TCX_NEXT;
}
