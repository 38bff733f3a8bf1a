/* The cause of losses: what was reported or counted as damage explains as many, within the bound of docs/ledger.md. */
#pragma once

#include "state.h"

enum { BOUND_SHARE = 7, BOUND_MORE = 64, BOUND_ROUNDS = 8, RECENT_REPORTS = 32 };

static __always_inline __u64 round_trip(const struct tcp_sock *tp)
{
	return (__u64)(tp->srtt_us >> 3) * 1000;
}

/* Attributes up to `number` segments to damage, and returns how many the bound permits: over eight round trips, and over the life
 * of the connection. Ingress and congestion control may ask at the same time: each grant is counted, and only the last two may
 * exceed the bound. */
static __always_inline __u32 within_bound(struct connection *c, __u32 delivered, __u64 round_trip, __u32 number)
{
	__u64 now = bpf_ktime_get_ns();
	if (now - c->window_began > round_trip * BOUND_ROUNDS) {
		c->window_began = now;
		c->window_delivered = delivered;
		c->window_attributed = 0;
	}
	__u64 room = (__u64)BOUND_SHARE * delivered + BOUND_MORE;
	room = room > c->attributed ? room - c->attributed : 0;
	__u64 window = (__u64)BOUND_SHARE * (__u32)(delivered - c->window_delivered) + BOUND_MORE;
	window = window > c->window_attributed ? window - c->window_attributed : 0;
	if (number > room)
		number = room;
	if (number > window)
		number = window;
	__sync_fetch_and_add(&c->attributed, number);
	__sync_fetch_and_add(&c->window_attributed, number);
	return number;
}

/* Whether the segment at a byte is among the last reports. */
static __always_inline bool was_reported(const struct connection *c, __u32 seq)
{
	for (__u32 i = 1; i <= RECENT_REPORTS; i++) {
		if (i > c->head)
			break;
		if (c->reports[(c->head - i) & (REPORTS - 1)].seq == seq)
			return true;
	}
	return false;
}

/* Attributes the losses that TCP has found since the last call to `damage`, or else to `unexplained`. */
static __always_inline void attribute(struct connection *c, const struct tcp_sock *tp)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 lost = tp->lost - c->lost_seen, head = c->head;
	c->lost_seen = tp->lost;
	if (head - c->tail > REPORTS)
		c->tail = head - REPORTS;
	if (lost) {
		__u32 reported = head - c->tail;
		__u32 damage = reported < lost ? reported : lost;
		c->tail += damage;
		__u32 rest = lost - damage, counted = c->counted - c->counted_used;
		if (now >= c->counted_until) {
			c->counted_used += counted;
			counted = 0;
		}
		if (counted > rest)
			counted = rest;
		if (counted) {
			c->counted_used += counted;
			damage += within_bound(c, tp->delivered, round_trip(tp), counted);
		}
		if (damage)
			c->retired_at = now;
		c->damage += damage;
		c->unexplained += lost - damage;
		count_many(COUNT_losses_damage, damage);
		count_many(COUNT_losses_other, lost - damage);
	}
	/* What was delivered although it was reported explains nothing any more: its copy was faster than the detection. */
	for (int i = 0; i < 16; i++) {
		const struct report *oldest = &c->reports[c->tail & (REPORTS - 1)];
		if (c->tail == head || !before(oldest->seq, tp->snd_una) || now - oldest->at < round_trip(tp) + 200000000)
			break;
		c->tail++;
		c->retired_at = now;
	}
}

/* What was attributed since the congestion control last asked. */
static __always_inline __u32 take_damage(struct connection *c)
{
	__u32 damage = c->damage - c->damage_taken;
	c->damage_taken = c->damage;
	return damage;
}

/* Remembers what has been damaged until now, eight times in a flight. */
static __always_inline void mark_damage(struct connection *c, const struct tcp_sock *tp)
{
	if (tp->delivered - c->marks[(c->next_mark - 1) & (MARKS - 1)].delivered <= tp->packets_out / 8)
		return;
	struct mark *mark = &c->marks[c->next_mark++ & (MARKS - 1)];
	mark->delivered = tp->delivered;
	mark->damage = c->damage;
}

/* What crossed the bottleneck and was damaged since so much was delivered, from the first mark on: too little rather than too much,
 * and no more than the bound permits. */
static __always_inline __u32 damage_since(const struct connection *c, const struct tcp_sock *tp, __u32 delivered)
{
	__u32 most = BOUND_SHARE * (tp->delivered - delivered), damage = 0;
	for (__u32 i = 1; i <= MARKS; i++) {
		const struct mark *mark = &c->marks[(c->next_mark - i) & (MARKS - 1)];
		if (before(mark->delivered, delivered))
			break;
		damage = c->damage - mark->damage;
	}
	return damage < most ? damage : most;
}

/* Whether damage explains what TCP now wants to reduce its window for. A tail loss probe asks one ACK after the loss was
 * mended, so what was explained within a round trip counts. */
static __always_inline bool is_explained(struct connection *c, const struct tcp_sock *tp)
{
	__u64 recently = round_trip(tp) + 200000000, now = bpf_ktime_get_ns();
	if (c->ece || c->unexplained)
		return false;
	return c->head != c->tail || now - c->retired_at < recently;
}

/* A timeout marks all as lost that is outstanding. It is damage if the first segment was reported. */
static __always_inline bool is_reported_timeout(const struct connection *c, const struct tcp_sock *tp)
{
	return !c->ece && tp->lost_out + tp->sacked_out >= tp->packets_out && was_reported(c, tp->snd_una);
}
