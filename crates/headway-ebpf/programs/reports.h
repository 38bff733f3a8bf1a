/* The sender: special ACKs and counts are taken in, and a reported tail is retransmitted from its copy. */
#pragma once

#include "answer.h"
#include "cause.h"

/* The most that fit into an option. */
enum { REPORTS_READ = 9 };

/* Whether a special ACK can be the peer's: RFC 5961, section 5.2, the receive window, and RFC 7323. */
static __always_inline bool is_peers(const struct segment *s)
{
	const struct view *v = &s->view;
	if (before(s->ack, v->snd_una - v->max_window) || before(v->snd_nxt, s->ack))
		return false;
	if (before(s->seq, v->rcv_wup) || before(v->rcv_nxt + v->window, s->seq))
		return false;
	if (!v->timestamps)
		return true;
	return s->timestamps && !before(s->tsval, v->ts_recent) && !before(v->clock, s->tsecr);
}

/* Whether this is the first report of the transmission. Only the first number of a list belongs to the TSecr: the others
 * repeat what earlier special ACKs have reported, and are first reports only where those were lost. */
static __always_inline bool is_first_report(const struct connection *c, const struct segment *s, __u32 seq, bool first)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 head = c->head;
	for (__u32 i = 1; i <= RECENT_REPORTS; i++) {
		if (i > head)
			break;
		const struct report *report = &c->reports[(head - i) & (REPORTS - 1)];
		if (report->seq != seq)
			continue;
		if (first && s->timestamps)
			return before(report->tsecr, s->tsecr);
		/* Its retransmission may have waited for the kernel to find the loss. */
		return now - report->at > 3 * s->view.round_trip + 200000000;
	}
	return true;
}

/* Takes in one number; whether it is acted upon. */
__noinline int accept(struct connection *c, struct segment *s, struct path *path, __u32 seq, int first)
{
	if (!c || !s)
		return 0;
	const struct view *v = &s->view;
	if (before(seq, v->snd_una) || !before(seq, v->snd_nxt)) {
		count(reports_outside);
		return 0;
	}
	if (!is_first_report(c, s, seq, first)) {
		count(reports_repeated);
		return 0;
	}
	if (!within_bound(c, v->delivered, v->round_trip, 1)) {
		count(reports_unbounded);
		return 0;
	}
	__u64 now = bpf_ktime_get_ns();
	struct report *report = &c->reports[c->head & (REPORTS - 1)];
	report->seq = seq;
	report->tsecr = s->tsecr;
	report->at = now;
	c->head++;
	if (path) {
		path->damage_seen = now;
		__sync_fetch_and_add(&path->reported, 1);
	}
	count(reports_accepted);
	return 1;
}

/* The count on an ACK of version 2: what grew beyond the reports explains as many losses within about a round trip. */
static __always_inline void take_count(struct connection *c, const struct segment *s, struct path *path, __u16 damaged)
{
	if (!path)
		return;
	__u16 more = damaged - (__u16)path->peer_count;
	if (!path->count_known) {
		path->count_known = 1;
		if (damaged > path->sent) {
			/* Older than what is known of this path here. */
			path->peer_count = damaged;
			return;
		}
	}
	if (more == 0 || more >= 1 << 15)
		return;
	path->peer_count = damaged;
	__u16 reported = path->reported < more ? path->reported : more;
	__sync_fetch_and_add(&path->reported, -(__u32)reported);
	more -= reported;
	if (more == 0)
		return;
	path->damage_seen = bpf_ktime_get_ns();
	__sync_fetch_and_add(&c->counted, more);
	c->counted_until = path->damage_seen + s->view.round_trip + 200000000;
	count_many(COUNT_losses_counted, more);
}

/* The header of a copy as it has to be now: ACK, timestamps, sums. */
__noinline int refresh(struct segment *s, struct copy *copy, int encoding)
{
	if (!s || !copy)
		return -1;
	const struct view *v = &s->view;
	__u32 tcp_at = copy->tcp, length = copy->length;
	if (tcp_at < 20 || tcp_at > 60 || length > COPY_LENGTH || length < tcp_at + 21)
		return -1;
	const __u8 *tcp = copy->packet + tcp_at;
	__u32 header_length = (tcp[12] >> 4) * 4;
	if (header_length < 20 || tcp_at + header_length >= length)
		return -1;
	__builtin_memset(s->header, 0, HEADER_ROOM);
	for (int i = 0; i < HEADER; i++) {
		if (i >= header_length)
			break;
		s->header[i] = tcp[i];
	}
	s->header_length = header_length;
	s->tcp_length = length - tcp_at;
	s->payload_length = s->tcp_length - header_length;
	__u32 ends[4];
	__builtin_memcpy(ends, s->source, 16);
	__builtin_memcpy(s->source, s->destination, 16);
	__builtin_memcpy(s->destination, ends, 16);
	find_options(s);
	write32(s->header + 8, v->rcv_nxt);
	__u32 place = s->timestamps;
	if (place && place <= HEADER - 10) {
		write32(s->header + place + 2, v->clock);
		write32(s->header + place + 6, v->ts_recent);
		copy->tsval = v->clock;
	}
	*(__u16 *)(s->header + 16) = 0;
	if (encoding == CLASSIC && s->sum && !(s->sum & 1)) {
		__u32 at = (s->sum + 2) & 62;
		*(__u16 *)(s->header + at) = 0;
		*(__u16 *)(s->header + at) = classic_sum(s);
	}
	__u32 option = s->hack2;
	if (encoding == V2 && option && option <= HEADER - LENGTH_DATA) {
		/* The payload's CRC is that of the copy. */
		__builtin_memcpy(s->output, s->header, HEADER_ROOM);
		write32(s->header + option + 4, header_crc(s, header_length, s->tcp_length, option));
	}
	return 0;
}

/* Sends the copy of a segment in place of the special ACK, which is restored behind it. Below 0: it could not be. */
__noinline int replay(struct __sk_buff *skb, struct segment *s, struct copy *copy, struct connection *c)
{
	if (!s || !copy || !c)
		return 0;
	__u32 link = s->ip, whole = s->tcp + s->tcp_length;
	/* Only the latest transmission: with timestamps by its TSval, else by its age. */
	__u64 now = bpf_ktime_get_ns();
	if (s->timestamps ? before(s->tsecr, copy->tsval) : now - copy->sent < s->view.round_trip)
		return 0;
	if ((link != 0 && link != 14) || whole < 40 || whole > 114 || bpf_skb_load_bytes(skb, 0, s->packet, whole) < 0)
		return 0;
	if (refresh(s, copy, c->encoding) < 0)
		return 0;
	__u32 length = copy->length, tcp_at = copy->tcp, header_length = s->header_length;
	if (length < 41 || length > COPY_LENGTH || tcp_at > 60 || header_length < 20 || header_length > HEADER)
		return 0;
	if (bpf_skb_change_tail(skb, link + length, 0) < 0)
		return 0;
	if (link) {
		__u8 ends[12];
		__builtin_memcpy(ends, s->packet + 6, 6);
		__builtin_memcpy(ends + 6, s->packet, 6);
		bpf_skb_store_bytes(skb, 0, ends, 12, 0);
	}
	bpf_skb_store_bytes(skb, link, copy->packet, length, 0);
	bpf_skb_store_bytes(skb, link + tcp_at, s->header, header_length, 0);
	s->tcp = link + tcp_at;
	if (sum_payload(skb, s, 0) == 0) {
		__u16 check = ~fold(pseudo_sum(s, s->tcp_length) + header_words(s->header) + s->payload_sum);
		bpf_skb_store_bytes(skb, s->tcp + 16, &check, 2, 0);
		if (bpf_clone_redirect(skb, skb->ifindex, 0) == 0) {
			copy->replayed = copy->sent = now;
			c->copies_sent++;
			count(replayed);
		}
	}
	return bpf_skb_change_tail(skb, whole, 0) < 0 || bpf_skb_store_bytes(skb, 0, s->packet, whole, 0) < 0 ? -1 : 0;
}

/* An intact ACK without data that reports damaged segments. What becomes of it. */
static __always_inline int take_reports(struct __sk_buff *skb, struct segment *s, struct connection *c,
					 struct path *path, struct copies *copies)
{
	__u32 base = 0, numbers, first_seq = 0;
	bool first_accepted = false;
	if (c->encoding == V2) {
		s->cursor = s->hack2 + 8;
		numbers = (s->hack2_length - (__u32)LENGTH_ACK) / 4;
		base = s->ack;
	} else {
		s->cursor = s->report + 2;
		numbers = (s->report_length - 2u) / 4;
	}
	for (int i = 0; i < REPORTS_READ; i++) {
		__u32 at = s->cursor;
		if (i >= numbers || at > HEADER - 4)
			break;
		__u32 seq = base + read32(s->header + at);
		bool is_first = accept(c, s, path, seq, i == 0);
		if (i == 0) {
			first_accepted = is_first;
			first_seq = seq;
		}
		s->cursor = at + 4;
	}
	/* What was followed by more transmissions than there are copies the kernel itself finds lost as soon: when one of
	 * them is acknowledged. */
	if (!first_accepted || !copies)
		return TCX_NEXT;
	for (int i = 0; i < COPIES; i++) {
		struct copy *copy = &copies->all[i];
		if (copy->length && copy->seq == first_seq)
			return replay(skb, s, copy, c) < 0 ? TCX_DROP : TCX_NEXT;
	}
	return TCX_NEXT;
}
