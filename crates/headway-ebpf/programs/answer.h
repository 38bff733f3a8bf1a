/* The receiver: a damaged packet is rewritten into the ACK that answers it, and goes back where it came from. */
#pragma once

#include "egress.h"

enum { SECOND = 1000000000 };

static __always_inline void read_view(struct view *v, const struct tcp_sock *tp)
{
	bool microseconds = BPF_CORE_READ_BITFIELD(tp, tcp_usec_ts);
	__u64 now = bpf_ktime_get_ns();
	__s32 window = tp->rcv_wup + tp->rcv_wnd - tp->rcv_nxt;
	__s64 age = (__s64)(now / SECOND) - tp->rx_opt.ts_recent_stamp;
	v->rcv_nxt = tp->rcv_nxt;
	v->rcv_wnd = tp->rcv_wnd;
	v->rcv_wup = tp->rcv_wup;
	v->snd_una = tp->snd_una;
	v->snd_nxt = tp->snd_nxt;
	v->max_window = tp->max_window;
	v->delivered = tp->delivered;
	v->window = window < 0 ? 0 : window;
	v->ts_recent = tp->rx_opt.ts_recent;
	v->ts_age = age < 0 ? 0 : age > 2000 ? 2000 : age;
	v->ticks = microseconds ? 1000000 : 1000;
	v->clock = (__u32)(now / (microseconds ? 1000 : 1000000)) + tp->tsoffset;
	v->round_trip = (__u64)(tp->srtt_us >> 3) * 1000;
	v->window_scale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale);
	v->timestamps = BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok);
	v->ecn = tp->ecn_flags & 1;
	v->sacks = tp->rx_opt.num_sacks;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		v->sack[i].start = tp->selective_acks[i].start_seq;
		v->sack[i].end = tp->selective_acks[i].end_seq;
	}
}

/* Section 5.2, rule 1 of the protocol: whether the peer can have sent these numbers. */
static __always_inline bool is_plausible(const struct segment *s)
{
	const struct view *v = &s->view;
	__u32 end = s->seq + s->payload_length;
	if ((s->flags & (SYN | RST | ACK)) != ACK)
		return false;
	if (!before(v->rcv_nxt - v->rcv_wnd, end) || !before(s->seq, v->rcv_nxt + v->window))
		return false;
	/* RFC 5961, section 5.2. */
	if (before(s->ack, v->snd_una - v->max_window) || before(v->snd_nxt, s->ack))
		return false;
	if (!v->timestamps)
		return true;
	if (!s->timestamps)
		return false;
	__u32 ahead = s->tsval - v->ts_recent;
	return ahead <= (v->ts_age + 5) * v->ticks && !before(v->clock, s->tsecr);
}

/* The first byte of the segment that has not arrived. False: all have. */
static __always_inline bool first_missing(const struct segment *s, __u32 *missing)
{
	const struct view *v = &s->view;
	__u32 at = s->seq;
	if (before(at, v->rcv_nxt))
		at = v->rcv_nxt;
#pragma unroll
	for (int i = 0; i < 4; i++)
		if (i < v->sacks && !before(at, v->sack[i].start) && before(at, v->sack[i].end))
			at = v->sack[i].end;
	*missing = at;
	return before(at, s->seq + s->payload_length);
}

static __always_inline bool has_arrived(const struct view *v, __u32 seq)
{
	if (before(seq, v->rcv_nxt))
		return true;
#pragma unroll
	for (int i = 0; i < 4; i++)
		if (i < v->sacks && !before(seq, v->sack[i].start) && before(seq, v->sack[i].end))
			return true;
	return false;
}

/* Puts a byte first in `s_buffer`, and drops from it what has arrived or is older than a timeout. */
__noinline int add_pending(struct connection *c, struct segment *s, __u32 seq)
{
	if (!c || !s)
		return 0;
	__u64 now = bpf_ktime_get_ns(), timeout = 2 * s->view.round_trip + 200000000;
	__u32 next_seq = seq, length = 0;
	__u64 next_at = now;
	bool more = true;
	for (int i = 0; i < PENDING; i++) {
		__u32 old_seq = c->pending[i];
		__u64 old_at = c->pending_at[i];
		bool stays = i < c->pending_count && old_seq != seq && !has_arrived(&s->view, old_seq) && now - old_at < timeout;
		if (more && length < PENDING) {
			c->pending[length] = next_seq;
			c->pending_at[length] = next_at;
			length++;
			more = false;
		}
		if (stays) {
			next_seq = old_seq;
			next_at = old_at;
			more = true;
		}
	}
	c->pending_count = length;
	return 0;
}

/* Makes an ACK without data of this host, which reports up to `numbers` of the pending bytes, and sends it in place of the
 * packet that it answers. */
__noinline int send_ack(struct __sk_buff *skb, struct segment *s, struct connection *c, __u32 numbers, __u32 tsecr)
{
	if (!s || !c)
		return TCX_NEXT;
	struct view *v = &s->view;
	__u8 *tcp = s->output;
	__u32 nxt = v->rcv_nxt, at = 20, option, tcp_length, window = v->window >> (v->window_scale & 15);
	bool sacks = v->sacks > 0;
	__builtin_memset(tcp, 0, HEADER_ROOM);
	*(__u16 *)tcp = *(__u16 *)(s->header + 2);
	*(__u16 *)(tcp + 2) = *(__u16 *)s->header;
	write32(tcp + 4, v->snd_nxt);
	write32(tcp + 8, nxt);
	/* A congestion mark on a damaged packet counts (RFC 3168). */
	tcp[13] = ACK | (s->ce && v->ecn ? ECE : 0);
	write16(tcp + 14, window > 65535 ? 65535 : window);
	if (v->timestamps) {
		tcp[20] = tcp[21] = KIND_NOP;
		tcp[22] = KIND_TIMESTAMPS;
		tcp[23] = 10;
		write32(tcp + 24, v->clock);
		write32(tcp + 28, tsecr);
		at = 32;
	}
	/* One SACK block has priority over repeated numbers. */
	__u32 most = sacks ? 2 : 4;
	if (c->encoding == CLASSIC && !c->several)
		most = 1;
	if (numbers > c->pending_count)
		numbers = c->pending_count;
	if (numbers > most)
		numbers = most;
	option = at;
	if (c->encoding == V2) {
		tcp[at] = KIND_EXPERIMENT;
		tcp[at + 1] = LENGTH_ACK + 4 * numbers;
		write16(tcp + at + 2, EXID);
		at += 8;
	} else {
		tcp[at] = c->several ? KIND_REPORTS : KIND_REPORT;
		tcp[at + 1] = 2 + 4 * numbers;
		at += 2;
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
		if (i >= numbers || at > 52)
			break;
		write32(tcp + at, c->encoding == V2 ? c->pending[i] - nxt : c->pending[i]);
		at += 4;
	}
	if (at > 56)
		return TCX_NEXT;
	if (c->encoding == V2) {
		write16(tcp + at, s->damaged);
		at += 2;
	}
	/* Both forms end two bytes after a word. */
	opaque(at);
	if (at > 50)
		sacks = false;
	if (at > 58)
		return TCX_NEXT;
	if (sacks) {
		tcp[at] = KIND_SACK;
		tcp[at + 1] = 10;
		write32(tcp + at + 2, v->sack[0].start);
		write32(tcp + at + 6, v->sack[0].end);
		at += 10;
	} else {
		tcp[at] = tcp[at + 1] = KIND_NOP;
		at += 2;
	}
	tcp_length = at;
	tcp[12] = tcp_length << 2;

	/* From now on the packet goes the other way. */
	__u32 ends[4];
	__builtin_memcpy(ends, s->source, 16);
	__builtin_memcpy(s->source, s->destination, 16);
	__builtin_memcpy(s->destination, ends, 16);
	if (c->encoding == V2)
		write32(tcp + option + 4, header_crc(s, tcp_length, tcp_length, option));
	*(__u16 *)(tcp + 16) = ~fold(pseudo_sum(s, tcp_length) + header_words(tcp));

	__u8 *lower = s->packet;
	__u32 link = s->ip, ip_length = s->version == 4 ? 20 : 40;
	if (link == 14) {
		if (bpf_skb_load_bytes(skb, 0, lower + 14, 14) < 0)
			return TCX_NEXT;
		__builtin_memcpy(lower, lower + 20, 6);
		__builtin_memcpy(lower + 6, lower + 14, 6);
		*(__u16 *)(lower + 12) = *(__u16 *)(lower + 26);
	} else if (link != 0) {
		return TCX_NEXT;
	}
	__u8 *ip = s->crc_input;
	__builtin_memset(ip, 0, 40);
	if (s->version == 4) {
		ip[0] = 0x45;
		write16(ip + 2, 20 + tcp_length);
		ip[6] = 0x40;
		ip[8] = 64;
		ip[9] = TCP;
		*(__u32 *)(ip + 12) = s->source[0];
		*(__u32 *)(ip + 16) = s->destination[0];
		__u64 sum = 0;
#pragma unroll
		for (int i = 0; i < 5; i++)
			sum += *(__u32 *)(ip + 4 * i);
		*(__u16 *)(ip + 10) = ~fold(sum);
	} else {
		ip[0] = 0x60;
		write16(ip + 4, tcp_length);
		ip[6] = TCP;
		ip[7] = 64;
		__builtin_memcpy(ip + 8, s->source, 16);
		__builtin_memcpy(ip + 24, s->destination, 16);
	}
	if (bpf_skb_change_tail(skb, link + ip_length + tcp_length, 0) < 0)
		return TCX_NEXT;
	opaque(tcp_length);
	if (tcp_length < 24 || tcp_length > HEADER)
		return TCX_DROP;
	if (link)
		bpf_skb_store_bytes(skb, 0, lower, 14, 0);
	bpf_skb_store_bytes(skb, link, ip, ip_length == 20 ? 20 : 40, 0);
	bpf_skb_store_bytes(skb, link + ip_length, tcp, tcp_length, 0);
	return bpf_redirect(skb->ifindex, 0);
}

/* Counts a damaged packet for the pair of addresses. */
static __always_inline void count_damaged(struct segment *s, struct path *path)
{
	s->damaged = path ? __sync_fetch_and_add(&path->damaged, 1) + 1 : 0;
}

/* A corrupted segment. */
static __always_inline int answer_corrupted(struct __sk_buff *skb, struct segment *s, struct connection *c,
					    struct path *path)
{
	__u32 missing;
	count(corrupted);
	if (!is_plausible(s)) {
		count(implausible);
		return TCX_DROP;
	}
	count_damaged(s, path);
	if (first_missing(s, &missing)) {
		add_pending(c, s, missing);
		int verdict = send_ack(skb, s, c, PENDING, s->tsval);
		if (verdict != TCX_NEXT)
			count(special_acks_sent);
		return verdict;
	}
	/* All of it is here: an ordinary ACK, which classic leaves to the kernel. */
	return c->encoding == V2 ? send_ack(skb, s, c, 0, s->view.ts_recent) : TCX_DROP;
}

/* Bits of evidence that a number is not random: it lies in a range, or differs in few bits from what is expected. */
__noinline __u32 agreement(__u32 arrived, __u32 expected, __u32 range)
{
	/* The logarithm, rounded up, of how many words differ from a given one in at most `bits` bits. */
	__u32 differs = arrived ^ expected, bits = 0, log2 = 0;
#pragma unroll
	for (int i = 0; i < 32; i++) {
		bits += differs >> i & 1;
		log2 += range > 1u << i;
	}
	__u32 ball = bits == 0 ? 0 : bits == 1 ? 6 : bits == 2 ? 10 : bits == 3 ? 13 : bits == 4 ? 16 : bits == 5 ? 18 :
		     bits == 6 ? 21 : 32;
	__u32 span = arrived - expected < range ? log2 : 32;
	return 32 - (ball < span ? ball : span);
}

/* Bits of evidence with which an unreadable header is taken for the connection's (`docs/repair.md`). */
enum { ENOUGH = 40 };

static __always_inline bool resembles(const struct segment *s)
{
	const struct view *v = &s->view;
	__u32 evidence = agreement(s->seq, v->rcv_nxt, v->rcv_wnd) +
			 agreement(s->ack, v->snd_una, v->snd_nxt - v->snd_una + 1);
	if (v->timestamps) {
		__u32 ticks = v->ticks * 4;
		evidence += agreement(read32(s->header + 24), v->ts_recent, ticks);
		evidence += agreement(read32(s->header + 28), v->clock - ticks, ticks + 1);
	}
	return evidence >= ENOUGH;
}

/* A packet of a connection of version 2 whose header is corrupted. */
static __always_inline int answer_unreadable(struct __sk_buff *skb, struct segment *s, struct connection *c,
					     struct path *path)
{
	count(unreadable);
	if (!path || s->tcp_length <= HEADER || !resembles(s))
		return TCX_DROP;
	count(counted);
	count(counts_sent);
	count_damaged(s, path);
	return send_ack(skb, s, c, 0, s->view.ts_recent);
}
