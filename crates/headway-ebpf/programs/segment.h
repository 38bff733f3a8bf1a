/* A TCP packet taken apart, and its sums. */
#pragma once

#include "state.h"

enum { HEADER = 60, HEADER_ROOM = 64, CHUNK = 512, CHUNKS = 32 };
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, ECE = 64 };
enum { ETH_IP = 0x0800, ETH_IPV6 = 0x86dd, TCP = 6 };
enum { TCX_NEXT = -1, TCX_DROP = 2 };

enum { KIND_END = 0, KIND_NOP = 1, KIND_SACK = 5, KIND_TIMESTAMPS = 8 };
enum { KIND_SUM = 14, KIND_REPORT = 15, KIND_REPORTS = 16, KIND_EXPERIMENT = 253 };
/* The value of kind 14 in a SYN whose sender reads kind 16; the identifier of version 2. */
enum { READS_SEVERAL = 0x5848, EXID = 0x4857, VERSION = 2 };
enum { LENGTH_SUM = 4, LENGTH_SYN = 8, LENGTH_DATA = 12, LENGTH_ACK = 10 };

/* What a connection expects and knows, read from the kernel's socket. */
struct view {
	__u32 rcv_nxt, rcv_wnd, rcv_wup, snd_una, snd_nxt, max_window, delivered;
	__u32 window;			/* what may still arrive */
	__u32 ts_recent, ts_age;	/* and for how many seconds it has been that */
	__u32 clock, ticks;		/* this connection's timestamps: now, and in a second */
	__u64 round_trip;		/* in nanoseconds */
	__u8 window_scale, timestamps, ecn, sacks;
	struct {
		__u32 start, end;
	} sack[4];
};

struct segment {
	struct view view;
	__u32 cursor;
	__u32 ip, tcp;			/* where the headers begin */
	__u32 tcp_length, header_length, payload_length;
	__u32 version;
	__u32 source[4], destination[4];
	__u32 seq, ack;
	__u8 flags, ce;
	/* Where options are in the header; 0: nowhere. */
	__u8 sum, report, report_length, hack2, hack2_length, timestamps, sack, sack_length;
	__u32 tsval, tsecr;
	__u16 damaged;			/* the count that the answer carries */
	__u32 payload_sum, payload_crc, header_crc;
	__u8 header[HEADER_ROOM];	/* zero behind the options */
	__u8 crc_input[40 + HEADER_ROOM];
	__u8 chunk[CHUNK + 8];
	__u8 output[HEADER_ROOM];	/* a TCP header that is being made, zero behind its options */
	__u8 packet[128];		/* a packet without data, with its link-layer header */
};

/* Each direction has one: a packet that the ingress program sends passes the egress program meanwhile. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct segment);
} segments SEC(".maps");

/* CRC-32C, eight bytes at a time: filled in by the loader. */
const volatile __u32 crc_table[8][256] SEC(".rodata.crc");

static __always_inline __u16 read16(const __u8 *at)
{
	return (__u16)at[0] << 8 | at[1];
}

static __always_inline __u32 read32(const __u8 *at)
{
	return (__u32)at[0] << 24 | (__u32)at[1] << 16 | (__u32)at[2] << 8 | at[3];
}

static __always_inline void write16(__u8 *at, __u16 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static __always_inline void write32(__u8 *at, __u32 value)
{
	at[0] = value >> 24;
	at[1] = value >> 16;
	at[2] = value >> 8;
	at[3] = value;
}

static __always_inline __u16 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline __u64 pseudo_sum(const struct segment *s, __u32 tcp_length)
{
	__u64 sum = bpf_htonl(TCP) + (__u64)bpf_htonl(tcp_length);
#pragma unroll
	for (int i = 0; i < 4; i++)
		sum += (__u64)s->source[i] + s->destination[i];
	return sum;
}

/* Of a header of at most HEADER bytes behind which everything is zero. */
static __always_inline __u64 header_words(const __u8 *header)
{
	__u64 sum = 0;
#pragma unroll
	for (int i = 0; i < HEADER / 4; i++)
		sum += *(const __u32 *)(header + 4 * i);
	return sum;
}

static __always_inline bool checksum_holds(const struct segment *s)
{
	return fold(pseudo_sum(s, s->tcp_length) + header_words(s->header) + s->payload_sum) == 0xffff;
}

/* The checksum is left to a device (CHECKSUM_PARTIAL): the field has the sum of the pseudo-header. */
static __always_inline bool checksum_is_partial(const struct segment *s)
{
	return *(const __u16 *)(s->header + 16) == fold(pseudo_sum(s, s->tcp_length));
}

/* Kind 14, taken as zero like the checksum. */
static __always_inline __u16 classic_sum(const struct segment *s)
{
	__u64 sum = pseudo_sum(s, s->tcp_length) + header_words(s->header);
	__u32 at = s->sum + 2;
	sum += (__u16)~*(const __u16 *)(s->header + 16);
	if (at & 1) {
		/* At an odd place each byte belongs to another word. */
		__u16 high = s->header[at & 63], low = s->header[(at + 1) & 63];
		sum += (__u16)~(__u16)(high << 8) + (__u64)(__u16)~low;
	} else {
		sum += (__u16)~*(const __u16 *)(s->header + (at & 62));
	}
	return ~fold(sum);
}

/* Zero has two representations. */
static __always_inline bool same_sum(__u16 a, __u16 b)
{
	return a == b || ((a == 0 || a == 0xffff) && (b == 0 || b == 0xffff));
}

static __always_inline __u32 crc_byte(__u32 crc, __u8 byte)
{
	return crc_table[0][(crc ^ byte) & 0xff] ^ crc >> 8;
}

/* CRCs are computed in callbacks of bpf_loop, which the verifier follows once. Their state is in the segment. */
static long crc_step(__u32 index, struct segment **context)
{
	struct segment *s = *context;
	if (index >= CHUNK / 8)
		return 1;
	__u32 low = *(__u32 *)(s->chunk + 8 * index) ^ s->payload_crc, high = *(__u32 *)(s->chunk + 8 * index + 4);
	s->payload_crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^ crc_table[5][low >> 16 & 0xff] ^
			 crc_table[4][low >> 24] ^ crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
			 crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
	return 0;
}

/* Continues payload_crc over the chunk. */
__noinline int crc_chunk(struct segment *s, __u32 length)
{
	if (!s || length > CHUNK)
		return -1;
	bpf_loop(length / 8, crc_step, &s, 0);
	__u32 at = length & ~7;
	for (int i = 0; i < 7; i++) {
		if (at >= length || at >= CHUNK)
			break;
		s->payload_crc = crc_byte(s->payload_crc, s->chunk[at]);
		at++;
	}
	return 0;
}

/* The sums of the payload; below 0: it is too long, or not all there. */
__noinline int sum_payload(struct __sk_buff *skb, struct segment *s, int with_crc)
{
	if (!s)
		return -1;
	__u32 left = s->payload_length, at = s->tcp + s->header_length, sum = 0;
	s->payload_crc = ~0;
	for (int i = 0; i < CHUNKS; i++) {
		if (left == 0)
			break;
		__u32 n = left < CHUNK ? left : CHUNK;
		opaque(n);
		if (n < 1 || n > CHUNK)
			return -1;
		if (bpf_skb_load_bytes(skb, at, s->chunk, n) < 0)
			return -1;
#pragma unroll
		for (int k = 0; k < 3; k++)
			s->chunk[n + k] = 0;
		__u32 words = (n + 3) & ~3;
		opaque(words);
		if (words > CHUNK)
			return -1;
		sum = bpf_csum_diff(0, 0, (__be32 *)s->chunk, words, sum);
		if (with_crc)
			crc_chunk(s, n);
		at += n;
		left -= n;
	}
	s->payload_sum = sum;
	s->payload_crc = ~s->payload_crc;
	return left ? -1 : 0;
}

static long header_crc_step(__u32 index, struct segment **context)
{
	struct segment *s = *context;
	if (index >= sizeof(s->crc_input))
		return 1;
	s->header_crc = crc_byte(s->header_crc, s->crc_input[index]);
	return 0;
}

/* The header CRC of version 2 over `output`, with the checksum and the CRC itself taken as zero. */
__noinline int header_crc(struct segment *s, __u32 header_length, __u32 tcp_length, __u32 option)
{
	if (!s || header_length > HEADER || option > HEADER - 8)
		return 0;
	*(__u16 *)(s->output + 16) = 0;
	__builtin_memset(s->output + option + 4, 0, 4);
	__u32 n;
	if (s->version == 4) {
		*(__u32 *)(s->crc_input + 0) = s->source[0];
		*(__u32 *)(s->crc_input + 4) = s->destination[0];
		write16(s->crc_input + 8, TCP);
		write16(s->crc_input + 10, tcp_length);
		__builtin_memcpy(s->crc_input + 12, s->output, HEADER_ROOM);
		n = 12;
	} else {
		__builtin_memcpy(s->crc_input, s->source, 16);
		__builtin_memcpy(s->crc_input + 16, s->destination, 16);
		write32(s->crc_input + 32, tcp_length);
		write32(s->crc_input + 36, TCP);
		__builtin_memcpy(s->crc_input + 40, s->output, HEADER_ROOM);
		n = 40;
	}
	s->header_crc = ~0;
	bpf_loop(n + header_length, header_crc_step, &s, 0);
	return ~s->header_crc;
}

/* Looks at the option at the cursor, and moves it to the next. False: there is none. */
__noinline int find_option(struct segment *s)
{
	if (!s)
		return 0;
	__u32 at = s->cursor, end = s->header_length;
	if (at + 1 >= end || at >= HEADER - 3)
		return 0;
	__u8 kind = s->header[at];
	if (kind == KIND_END)
		return 0;
	if (kind == KIND_NOP) {
		s->cursor = at + 1;
		return 1;
	}
	__u8 length = s->header[at + 1];
	if (length < 2 || at + length > end)
		return 0;
	if (kind == KIND_SUM && length == LENGTH_SUM) {
		s->sum = at;
	} else if (kind == KIND_REPORT || kind == KIND_REPORTS) {
		if (length >= 6 && (length - 2u) % 4 == 0 && (kind == KIND_REPORTS || length == 6)) {
			s->report = at;
			s->report_length = length;
		}
	} else if (kind == KIND_EXPERIMENT && length >= LENGTH_SYN) {
		if (s->header[at + 2] == EXID >> 8 && s->header[at + 3] == (EXID & 0xff)) {
			s->hack2 = at;
			s->hack2_length = length;
		}
	} else if (kind == KIND_TIMESTAMPS && length == 10 && at <= HEADER - 10) {
		s->timestamps = at;
		s->tsval = read32(s->header + at + 2);
		s->tsecr = read32(s->header + at + 6);
	} else if (kind == KIND_SACK) {
		s->sack = at;
		s->sack_length = length;
	}
	s->cursor = at + length;
	return 1;
}

/* Where the options are. */
static __always_inline void find_options(struct segment *s)
{
	s->sum = s->report = s->hack2 = s->timestamps = s->sack = 0;
	s->report_length = s->hack2_length = s->sack_length = 0;
	s->tsval = s->tsecr = 0;
	s->cursor = 20;
	for (int i = 0; i < 40; i++)
		if (!find_option(s))
			break;
}

/* Reads the headers. False: not a whole TCP packet over IPv4 without options and fragments, or over IPv6
 * without extensions. */
__noinline int read_segment(struct __sk_buff *skb, struct segment *s)
{
	if (!s)
		return 0;
	__u32 interface = skb->ifindex, *link_header = bpf_map_lookup_elem(&interfaces, &interface);
	if (!link_header)
		return 0;
	__u32 ip = *link_header, total;
	__u8 header[40] __attribute__((aligned(4)));
	__builtin_memset(s->source, 0, 32);
	s->ip = ip;
	if (skb->protocol == bpf_htons(ETH_IP)) {
		if (bpf_skb_load_bytes(skb, ip, header, 20) < 0)
			return 0;
		if (header[0] != 0x45 || header[9] != TCP || read16(header + 6) & 0x3fff)
			return 0;
		/* A damaged IP header does not say whose the packet is. */
		__u64 sum = 0;
#pragma unroll
		for (int i = 0; i < 5; i++)
			sum += *(__u32 *)(header + 4 * i);
		total = read16(header + 2);
		if (fold(sum) != 0xffff || total < 40)
			return 0;
		s->version = 4;
		s->ce = (header[1] & 3) == 3;
		s->source[0] = *(__u32 *)(header + 12);
		s->destination[0] = *(__u32 *)(header + 16);
		s->tcp = ip + 20;
		s->tcp_length = total - 20;
	} else if (skb->protocol == bpf_htons(ETH_IPV6)) {
		if (bpf_skb_load_bytes(skb, ip, header, 40) < 0)
			return 0;
		if (header[0] >> 4 != 6 || header[6] != TCP)
			return 0;
		s->version = 6;
		s->ce = (header[1] >> 4 & 3) == 3;
		__builtin_memcpy(s->source, header + 8, 16);
		__builtin_memcpy(s->destination, header + 24, 16);
		s->tcp = ip + 40;
		s->tcp_length = read16(header + 4);
	} else {
		return 0;
	}
	if (s->tcp_length < 20 || s->tcp + s->tcp_length > skb->len)
		return 0;
	__builtin_memset(s->header, 0, HEADER_ROOM);
	if (bpf_skb_load_bytes(skb, s->tcp, s->header, 20) < 0)
		return 0;
	__u32 length = (s->header[12] >> 4) * 4;
	if (length < 20 || length > s->tcp_length)
		return 0;
	s->header_length = length;
	s->payload_length = s->tcp_length - length;
	__u32 options = length - 20;
	opaque(options);
	if (options > 0 && options <= 40 && bpf_skb_load_bytes(skb, s->tcp + 20, s->header + 20, options) < 0)
		return 0;
	s->seq = read32(s->header + 4);
	s->ack = read32(s->header + 8);
	s->flags = s->header[13];
	find_options(s);
	return 1;
}
