/* struct_ops: the kernel's CUBIC and BBR, which leave the window alone for losses that are damage. */
#pragma once

#include "cause.h"

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

extern void bbr_init(struct sock *sk) __ksym;
extern void bbr_main(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs) __ksym;
extern __u32 bbr_sndbuf_expand(struct sock *sk) __ksym;
extern __u32 bbr_undo_cwnd(struct sock *sk) __ksym;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern __u32 bbr_ssthresh(struct sock *sk) __ksym;
extern __u32 bbr_min_tso_segs(struct sock *sk) __ksym;
extern void bbr_set_state(struct sock *sk, __u8 new_state) __ksym;

enum mode { STEADY, UNREDUCED, REDUCING };

/* The kernel's `hystart_ack_delta_us`, `TCP_INIT_CWND` and `TCP_INFINITE_SSTHRESH`. */
enum { TRAIN_GAP = 2000, INITIAL_WINDOW = 10, INFINITE_THRESHOLD = 0x7fffffff };

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* Made by the congestion control too: it may be chosen by name for a connection without HACK, to which all losses are
 * congestion. */
static __always_inline struct connection *state_of(struct sock *sk)
{
	return bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

/* Whether damage was reported or counted. */
static __always_inline bool has_damage(const struct connection *c)
{
	return c->head != 0 || c->counted != 0;
}

static __always_inline __u8 ca_state(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
}

/* Nothing can be reported before the connection is established at both ends: timeouts until then end slow start before it begins.
 * When the first report shows that the path damages packets, that is undone. The window stays. */
static __always_inline void undo_handshake(struct connection *c, struct tcp_sock *tp)
{
	if (c->handshake_undone || !has_damage(c))
		return;
	c->handshake_undone = 1;
	if (tp->snd_ssthresh < INITIAL_WINDOW)
		tp->snd_ssthresh = INFINITE_THRESHOLD;
}

/* One reduction for each window of data. */
static __always_inline void begin_reduction(struct connection *c, const struct tcp_sock *tp)
{
	c->undo_cwnd = tp->snd_cwnd;
	c->undo_ssthresh = tp->snd_ssthresh;
	c->undo_losses = c->ece ? 0 : c->unexplained;
	c->undo_dsacks = tp->dsack_dups + c->copies_sent;
	c->mode = REDUCING;
	c->unexplained = 0;
	c->reduced_before = 1;
	c->reduced_until = tp->snd_nxt;
	c->prr_from = tp->snd_cwnd;
	c->prr_delivered = 0;
	c->prr_out = tp->prr_out;
	count(reductions);
}

/* TCP undoes a reduction where all that it has retransmitted arrived twice. Where damage is retransmitted too, it is enough
 * that as many arrived twice as losses were not explained; a copy may be one of them. */
static __always_inline void undo_if_nothing_was_lost(struct connection *c, struct tcp_sock *tp)
{
	__s32 twice = tp->dsack_dups - c->undo_dsacks;
	if (c->undo_losses == 0)
		return;
	if (!before(tp->snd_una, c->reduced_until) && !before(tp->snd_una - c->reduced_until, tp->mss_cache * c->undo_cwnd)) {
		c->undo_losses = 0;
		return;
	}
	if (twice - (__s32)c->copies_sent < (__s32)c->undo_losses)
		return;
	c->undo_losses = 0;
	tp->snd_ssthresh = c->undo_ssthresh;
	if (tp->snd_cwnd < c->undo_cwnd)
		tp->snd_cwnd = c->undo_cwnd;
	if (c->mode == REDUCING)
		c->mode = UNREDUCED;
	c->reduced_before = 0;
	count(reductions_undone);
}

static __always_inline void skip_reduction(struct connection *c, const struct tcp_sock *tp)
{
	c->mode = UNREDUCED;
	c->unreduced_cwnd = tp->snd_cwnd;
	count(reductions_skipped);
}

/* What TCP asks before it reduces the window: true if it need not. */
static __always_inline bool skips_reduction(struct connection *c, const struct tcp_sock *tp)
{
	attribute(c, tp);
	if (is_reported_timeout(c, tp)) {
		c->unexplained = 0;
		skip_reduction(c, tp);
		/* All is retransmitted: by slow start, to the window that there was. */
		c->unreduced_cwnd = 0;
		return true;
	}
	if (!is_explained(c, tp))
		return false;
	skip_reduction(c, tp);
	return true;
}

/* Proportional rate reduction (RFC 6937), as the kernel has it for congestion controls without `cong_control`. */
static __always_inline void reduce(struct connection *c, struct tcp_sock *tp, __u32 acked, bool lost)
{
	__u32 in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	__u32 out = tp->prr_out < c->prr_out ? tp->prr_out : tp->prr_out - c->prr_out;
	__s32 room = tp->snd_ssthresh - in_flight, send;
	c->prr_delivered += acked;
	if (room < 0) {
		__u64 share = (__u64)tp->snd_ssthresh * c->prr_delivered + c->prr_from - 1;
		send = (c->prr_from ? share / c->prr_from : 0) - out;
	} else {
		send = c->prr_delivered - out;
		if (send < (__s32)acked)
			send = acked;
		if (!lost)
			send++;
		if (send > room)
			send = room;
	}
	if (send < (out ? 0 : 1))
		send = out ? 0 : 1;
	__u32 window = in_flight + send;
	tp->snd_cwnd = window ? window : 1;
}

/* The pacing rate, which without pacing only says how long the packets may be that a device segments: one segment, because
 * each has its own sums. Otherwise as the kernel computes it. */
static __always_inline void set_pacing_rate(struct sock *sk, struct tcp_sock *tp, bool one_segment)
{
	if (one_segment && sk->sk_pacing_status == 0 && sk->sk_gso_max_segs > 1) {
		sk->sk_pacing_rate = ((unsigned long)tp->mss_cache << (sk->sk_pacing_shift + 1)) - 1;
		return;
	}
	__u32 packets = tp->snd_cwnd > tp->packets_out ? tp->snd_cwnd : tp->packets_out;
	__u64 rate = (__u64)tp->mss_cache * (8000000u / 100) * packets;
	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	if (tp->srtt_us)
		rate /= tp->srtt_us;
	sk->sk_pacing_rate = rate < sk->sk_max_pacing_rate ? rate : sk->sk_max_pacing_rate;
}

SEC("struct_ops")
void BPF_PROG(headway_cubic_init, struct sock *sk)
{
	struct connection *c = state_of(sk);
	if (c)
		c->lost_seen = tcp_of(sk)->lost;
	cubictcp_init(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(headway_cubic_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct connection *c = state_of(sk);
	if (!c)
		return cubictcp_recalc_ssthresh(sk);
	if (skips_reduction(c, tp))
		return tp->snd_ssthresh;
	begin_reduction(c, tp);
	return cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(headway_cubic_set_state, struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct connection *c = state_of(sk);
	if (!c || new_state != TCP_CA_Loss) {
		cubictcp_state(sk, new_state);
		return;
	}
	/* The window was reduced to one segment. During a recovery no threshold was asked for. */
	attribute(c, tp);
	if (c->unexplained && is_reported_timeout(c, tp)) {
		c->unexplained = 0;
		c->unreduced_cwnd = 0;
		c->mode = UNREDUCED;
	}
	if (c->mode == UNREDUCED && !c->unexplained && !c->ece) {
		if (c->unreduced_cwnd)
			tp->snd_cwnd = c->unreduced_cwnd;
		return;
	}
	if (c->mode == UNREDUCED) {
		tp->snd_ssthresh = c->last_cwnd * 7 / 10 > 2 ? c->last_cwnd * 7 / 10 : 2;
		c->unexplained = 0;
		count(reductions);
	}
	c->mode = STEADY;
	cubictcp_state(sk, new_state);
}

SEC("struct_ops")
void BPF_PROG(headway_cubic_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct connection *c = state_of(sk);
	__u32 acked = rs->acked_sacked;
	__u8 state = ca_state(tp);
	if (!c) {
		if (state == TCP_CA_Recovery || state == TCP_CA_CWR) {
			if (tp->snd_cwnd > tp->snd_ssthresh)
				tp->snd_cwnd = tp->snd_ssthresh;
		} else {
			cubictcp_cong_avoid(sk, ack, acked);
		}
		set_pacing_rate(sk, tp, false);
		return;
	}
	attribute(c, tp);
	undo_handshake(c, tp);
	undo_if_nothing_was_lost(c, tp);
	bool reducing_state = state == TCP_CA_Recovery || state == TCP_CA_CWR;
	bool reduced_lately = c->reduced_before && before(tp->snd_una, c->reduced_until);
	if (c->unexplained && reducing_state && c->mode == UNREDUCED && !reduced_lately) {
		begin_reduction(c, tp);
		tp->snd_ssthresh = cubictcp_recalc_ssthresh(sk);
	} else {
		/* Those of the same window of data as the last reduction. */
		if (c->undo_losses)
			c->undo_losses += c->unexplained;
		c->unexplained = 0;
	}
	if (c->mode == REDUCING) {
		if (reducing_state && before(tp->snd_una, c->reduced_until)) {
			reduce(c, tp, acked, rs->losses > 0);
		} else {
			/* Recovery goes on where damage keeps it from ending, the reduction does not. */
			tp->snd_cwnd = tp->snd_ssthresh;
			c->mode = reducing_state ? UNREDUCED : STEADY;
		}
	} else if (acked) {
		cubictcp_cong_avoid(sk, ack, acked);
	}
	if (!reducing_state && state != TCP_CA_Loss)
		c->mode = STEADY;
	c->last_cwnd = tp->snd_cwnd;
	set_pacing_rate(sk, tp, c->encoding != PLAIN);
}

SEC("struct_ops")
void BPF_PROG(headway_ack_event, struct sock *sk, __u32 flags)
{
	struct connection *c = state_of(sk);
	if (c)
		c->ece = (flags & CA_ACK_ECE) != 0;
}

SEC("struct_ops")
void BPF_PROG(headway_cubic_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

/* HyStart ends slow start where a train of ACKs is long, or where the first delays of a round trip are. For it a round trip begins when
 * SND.UNA passes what was outstanding: where a hole is filled, that is in the middle of a train, which has made a queue by
 * itself. Here what was in flight has to be delivered; and a report, which has no delay, does not interrupt the train. */
static __always_inline void guide_hystart(struct connection *c, struct tcp_sock *tp, const struct ack_sample *sample)
{
	struct bictcp *cubic = (struct bictcp *)&tp->inet_conn.icsk_ca_priv;
	__u32 now = tp->tcp_mstamp;
	if (sample->rtt_us < 0) {
		if (now - cubic->last_ack <= TRAIN_GAP)
			cubic->last_ack = now;
		return;
	}
	bool is_over = before(c->round_end, tp->delivered);
	cubic->end_seq = is_over ? tp->snd_una - 1 : tp->snd_nxt;
	if (is_over)
		c->round_end = tp->delivered + tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

SEC("struct_ops")
void BPF_PROG(headway_cubic_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct connection *c = state_of(sk);
	if (c && c->encoding != PLAIN)
		guide_hystart(c, tcp_of(sk), sample);
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
__u32 BPF_PROG(headway_cubic_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* In windows. A segment that is damaged again holds its place for a round trip more, with all that was sent behind it. */
enum { BUFFERED = 2, BUFFERED_DAMAGE = 5 };

SEC("struct_ops")
__u32 BPF_PROG(headway_cubic_sndbuf, struct sock *sk)
{
	struct connection *c = state_of(sk);
	return c && has_damage(c) ? BUFFERED_DAMAGE : BUFFERED;
}

SEC("struct_ops")
__u32 BPF_PROG(headway_one_segment, struct sock *sk)
{
	return 1;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops cubic = {
	.init = (void *)headway_cubic_init,
	.ssthresh = (void *)headway_cubic_ssthresh,
	.set_state = (void *)headway_cubic_set_state,
	.cong_control = (void *)headway_cubic_control,
	.in_ack_event = (void *)headway_ack_event,
	.cwnd_event = (void *)headway_cubic_event,
	.pkts_acked = (void *)headway_cubic_acked,
	.undo_cwnd = (void *)headway_cubic_undo,
	.sndbuf_expand = (void *)headway_cubic_sndbuf,
	.min_tso_segs = (void *)headway_one_segment,
	.name = "headway_cubic",
};

/* BBR's private state, written where its reaction to a loss begins. */
static __always_inline void mask_recovery(struct tcp_sock *tp, __u32 damage)
{
	struct bbr *bbr = (struct bbr *)&tp->inet_conn.icsk_ca_priv;
	/* It conserves packets for a round when it sees a recovery begin. */
	BPF_CORE_WRITE_BITFIELD(bbr, prev_ca_state, TCP_CA_Recovery);
	/* It looks for a policer where a fifth is lost. */
	bbr->lt_last_lost += damage;
}

static __always_inline void unmask_recovery(struct tcp_sock *tp)
{
	struct bbr *bbr = (struct bbr *)&tp->inet_conn.icsk_ca_priv;
	BPF_CORE_WRITE_BITFIELD(bbr, prev_ca_state, TCP_CA_Open);
}

SEC("struct_ops")
void BPF_PROG(headway_bbr_init, struct sock *sk)
{
	struct connection *c = state_of(sk);
	if (c)
		c->lost_seen = tcp_of(sk)->lost;
	bbr_init(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(headway_bbr_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct connection *c = state_of(sk);
	if (c && !skips_reduction(c, tp)) {
		c->mode = REDUCING;
		c->reduced_until = tp->snd_nxt;
		c->unexplained = 0;
		count(reductions);
	}
	return bbr_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(headway_bbr_set_state, struct sock *sk, __u8 new_state)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct connection *c = state_of(sk);
	if (c && new_state == TCP_CA_Loss && c->mode == UNREDUCED) {
		attribute(c, tp);
		if (is_reported_timeout(c, tp))
			c->unexplained = 0;
		if (!c->unexplained && !c->ece) {
			if (c->unreduced_cwnd)
				tp->snd_cwnd = c->unreduced_cwnd;
			return;
		}
	}
	bbr_set_state(sk, new_state);
}

/* Room for the kernel's rate sample, which may be longer than the part of it that is known here. */
enum { SAMPLE_ROOM = 128 };

SEC("struct_ops")
void BPF_PROG(headway_bbr_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct connection *c = state_of(sk);
	__u8 room[SAMPLE_ROOM] __attribute__((aligned(8))) = {};
	struct rate_sample *sample = (struct rate_sample *)room;
	if (!c) {
		bbr_main(sk, ack, flag, rs);
		return;
	}
	__u8 state = ca_state(tp);
	attribute(c, tp);
	mark_damage(c, tp);
	__u32 damage = take_damage(c), crossed = damage_since(c, tp, rs->prior_delivered);
	if (c->mode == REDUCING && state == TCP_CA_Recovery && !before(tp->snd_una, c->reduced_until))
		c->mode = UNREDUCED;
	if (c->mode == UNREDUCED && state == TCP_CA_Recovery && !c->ece) {
		mask_recovery(tp, damage);
		if (c->unexplained) {
			/* Congestion during a recovery that damage began: once for each window BBR sees one begin. */
			c->mode = REDUCING;
			c->reduced_until = tp->snd_nxt;
			unmask_recovery(tp);
			count(reductions);
		}
	}
	c->unexplained = 0;
	if (state < TCP_CA_CWR)
		c->mode = STEADY;
	if ((damage == 0 && crossed == 0) || bpf_probe_read_kernel(room, bpf_core_type_size(struct rate_sample), rs)) {
		bbr_main(sk, ack, flag, rs);
		return;
	}
	/* Damaged packets have crossed the bottleneck: they count for the rate, and not as losses. */
	if (sample->delivered > 0)
		sample->delivered += crossed;
	sample->losses = sample->losses > (__s32)damage ? sample->losses - damage : 0;
	bbr_main(sk, ack, flag, sample);
}

SEC("struct_ops")
void BPF_PROG(headway_bbr_event, struct sock *sk, enum tcp_ca_event event)
{
	bbr_cwnd_event(sk, event);
}

SEC("struct_ops")
__u32 BPF_PROG(headway_bbr_undo, struct sock *sk)
{
	return bbr_undo_cwnd(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(headway_bbr_sndbuf, struct sock *sk)
{
	return bbr_sndbuf_expand(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(headway_bbr_segments, struct sock *sk)
{
	struct connection *c = state_of(sk);
	return c && c->encoding != PLAIN ? 1 : bbr_min_tso_segs(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops bbr = {
	.init = (void *)headway_bbr_init,
	.ssthresh = (void *)headway_bbr_ssthresh,
	.set_state = (void *)headway_bbr_set_state,
	.cong_control = (void *)headway_bbr_control,
	.in_ack_event = (void *)headway_ack_event,
	.cwnd_event = (void *)headway_bbr_event,
	.undo_cwnd = (void *)headway_bbr_undo,
	.sndbuf_expand = (void *)headway_bbr_sndbuf,
	.min_tso_segs = (void *)headway_bbr_segments,
	.name = "headway_bbr",
};
