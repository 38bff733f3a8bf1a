/* tc ingress: every segment of a connection that uses HACK is judged by its sums. */
#pragma once

#include "reports.h"

enum { LACKING = 3 };

/* Whether a length of the version 2 option belongs on the segment. */
static __always_inline bool form_fits(const struct segment *s)
{
	__u8 length = s->hack2_length;
	return length == LENGTH_DATA ? s->payload_length > 0 : length >= LENGTH_ACK && length % 4 == 2;
}

/* The CRCs decide, and the checksum field of an intact segment is corrected where it alone was damaged. */
static __always_inline void correct_checksum(struct __sk_buff *skb, struct segment *s)
{
	if (checksum_holds(s) || checksum_is_partial(s))
		return;
	*(__u16 *)(s->header + 16) = 0;
	__u16 check = ~fold(pseudo_sum(s, s->tcp_length) + header_words(s->header) + s->payload_sum);
	bpf_skb_store_bytes(skb, s->tcp + 16, &check, 2, BPF_F_RECOMPUTE_CSUM);
	count(checksums_corrected);
}

/* What follows the header of an ACK is a report (section 7 of the protocol). It takes no sequence space, and this host has not
 * asked for it: the kernel, to which it would be data, gets the ACK without it. False: it is still there. */
static __always_inline bool cut_report(struct __sk_buff *skb, struct segment *s)
{
	__u32 length = s->header_length;
	bool partial = checksum_is_partial(s);
	if (bpf_skb_change_tail(skb, s->tcp + length, 0) < 0)
		return false;
	write_ip_length(skb, s, length);
	s->tcp_length = length;
	s->payload_length = s->payload_sum = 0;
	__u64 sum = pseudo_sum(s, length);
	*(__u16 *)(s->header + 16) = 0;
	*(__u16 *)(s->header + 16) = partial ? fold(sum) : (__u16)~fold(sum + header_words(s->header));
	bpf_skb_store_bytes(skb, s->tcp + 16, s->header + 16, 2, BPF_F_RECOMPUTE_CSUM);
	count(reports_cut);
	return true;
}

static __always_inline int judge_v2(struct __sk_buff *skb, struct segment *s, struct connection *c,
				    struct path *path, struct copies *copies)
{
	__u32 option = s->hack2;
	bool lacks = !option || !form_fits(s) || option > HEADER - LENGTH_ACK;
	if (sum_payload(skb, s, 1) < 0)
		return TCX_NEXT;
	if (lacks) {
		if (!checksum_holds(s) && !checksum_is_partial(s))
			return answer_unreadable(skb, s, c, path);
		/* It has to be dropped: damage can remove an option and escape the checksum. But not several times in a
		 * row: then the peer's programs were detached. */
		count(without_option);
		if (!is_plausible(s) || ++c->without_option < LACKING)
			return TCX_DROP;
		count(version_2_ended);
		c->encoding = PLAIN;
		__sync_fetch_and_add(&v2_connections, -1);
		return TCX_NEXT;
	}
	__builtin_memcpy(s->output, s->header, HEADER_ROOM);
	__u32 crc = header_crc(s, s->header_length, s->tcp_length, option);
	opaque(option);
	if (option > HEADER - LENGTH_ACK || crc != read32(s->header + option + 4))
		return answer_unreadable(skb, s, c, path);
	c->without_option = 0;
	if (s->hack2_length == LENGTH_DATA) {
		count(data_checked);
		if (option > HEADER - LENGTH_DATA || s->payload_crc != read32(s->header + option + 8))
			return answer_corrupted(skb, s, c, path);
		correct_checksum(skb, s);
		return TCX_NEXT;
	}
	if (s->payload_length && !cut_report(skb, s))
		return TCX_DROP;
	correct_checksum(skb, s);
	__u32 end = option + s->hack2_length - 2;
	if (end > HEADER - 2)
		return TCX_NEXT;
	if (!is_peers(s)) {
		if (s->hack2_length > LENGTH_ACK)
			count(reports_refused);
		return TCX_NEXT;
	}
	__u16 damaged = read16(s->header + end);
	int verdict = TCX_NEXT;
	if (s->hack2_length > LENGTH_ACK)
		verdict = take_reports(skb, s, c, path, copies);
	take_count(c, s, path, damaged);
	return verdict;
}

static __always_inline int judge_classic(struct __sk_buff *skb, struct segment *s, struct connection *c,
					 struct path *path, struct copies *copies)
{
	if (s->payload_length == 0 && !s->report)
		return TCX_NEXT;
	if (sum_payload(skb, s, 0) < 0)
		return TCX_NEXT;
	bool intact = checksum_holds(s) || checksum_is_partial(s);
	if (s->payload_length == 0) {
		if (!intact)
			return TCX_NEXT;
		if (!is_peers(s)) {
			count(reports_refused);
			return TCX_NEXT;
		}
		return take_reports(skb, s, c, path, copies);
	}
	if (s->sum)
		count(data_checked);
	if (intact)
		return TCX_NEXT;
	__u32 at = s->sum + 2;
	if (s->sum && same_sum(classic_sum(s), *(__u8 *)(s->header + (at & 63)) | *(__u8 *)(s->header + ((at + 1) & 63)) << 8))
		return answer_corrupted(skb, s, c, path);
	count(unreadable);
	return TCX_NEXT;
}

static __always_inline struct bpf_sock *find_socket(struct __sk_buff *skb, const struct segment *s)
{
	struct bpf_sock_tuple tuple = {};
	__be16 source = *(const __u16 *)s->header, destination = *(const __u16 *)(s->header + 2);
	if (s->version == 4) {
		tuple.ipv4.saddr = s->source[0];
		tuple.ipv4.daddr = s->destination[0];
		tuple.ipv4.sport = source;
		tuple.ipv4.dport = destination;
		return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv4), BPF_F_CURRENT_NETNS, 0);
	}
	__builtin_memcpy(tuple.ipv6.saddr, s->source, 16);
	__builtin_memcpy(tuple.ipv6.daddr, s->destination, 16);
	tuple.ipv6.sport = source;
	tuple.ipv6.dport = destination;
	return bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple.ipv6), BPF_F_CURRENT_NETNS, 0);
}

SEC("tc")
int headway_ingress(struct __sk_buff *skb)
{
	__u32 outgoing = 0;
	struct segment *s = bpf_map_lookup_elem(&segments, &outgoing);
	if (!s || skb->gso_segs > 1 || !read_segment(skb, s) || s->flags & (SYN | RST))
		return TCX_NEXT;
	if (!s->sum && !s->report && !s->hack2 && !v2_connections)
		return TCX_NEXT;
	struct bpf_sock *sk = find_socket(skb, s);
	if (!sk)
		return TCX_NEXT;
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	struct copies *copies = bpf_sk_storage_get(&tails, sk, 0, 0);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	bool uses_hack = c && tp && !c->closed && c->encoding != PLAIN;
	if (uses_hack)
		read_view(&s->view, tp);
	bpf_sk_release(sk);
	if (!uses_hack)
		return TCX_NEXT;
	struct path_key key;
	path_of_segment(s, &key, false);
	struct path *path = bpf_map_lookup_elem(&paths, &key);
	return c->encoding == V2 ? judge_v2(skb, s, c, path, copies) : judge_classic(skb, s, c, path, copies);
}
