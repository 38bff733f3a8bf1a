/* The kernel's types and members that the programs use, and no others. Offsets are those of the running kernel: libbpf
 * finds them in its BTF. Contexts and enumerations of the system-call interface never change. */
#pragma once

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef _Bool bool;

enum { false = 0, true = 1 };

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_STRUCT_OPS = 26,
};

enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_F_NO_PREALLOC = 1, BPF_SK_STORAGE_GET_F_CREATE = 1, BPF_F_RECOMPUTE_CSUM = 1 };

#define BPF_F_CURRENT_NETNS (-1L)
#define CLOCK_MONOTONIC 1

enum {
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_STATE_CB = 10,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
	BPF_SOCK_OPS_HDR_OPT_LEN_CB = 14,
	BPF_SOCK_OPS_WRITE_HDR_OPT_CB = 15,
};

enum { BPF_SOCK_OPS_STATE_CB_FLAG = 1 << 2, BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG = 1 << 6 };
enum { BPF_WRITE_HDR_TCP_CURRENT_MSS = 1, BPF_WRITE_HDR_TCP_SYNACK_COOKIE = 2 };
enum { BPF_LOAD_HDR_OPT_TCP_SYN = 1 };
enum { TCP_CONGESTION = 13, TCP_SAVE_SYN = 27, TCP_BPF_SYN_IP = 1006, TCP_BPF_SOCK_OPS_CB_FLAGS = 1008 };
enum { BPF_TCP_CLOSE = 7, BPF_TCP_LISTEN = 10 };
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum { CA_ACK_ECE = 1 << 2 };

enum tcp_ca_event {
	CA_EVENT_TX_START,
};

struct bpf_sock {
	__u32 bound_dev_if;
	__u32 family;
};

struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	__u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family;
	__u32 remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port, data_meta;
	union {
		struct bpf_flow_keys *flow_keys;
		__u64 : 64;
	} __attribute__((aligned(8)));
	__u64 tstamp;
	__u32 wire_len, gso_segs;
	union {
		struct bpf_sock *sk;
		__u64 : 64;
	} __attribute__((aligned(8)));
	__u32 gso_size;
};

struct bpf_sock_ops {
	__u32 op;
	union {
		__u32 args[4];
		__u32 reply;
		__u32 replylong[4];
	};
	__u32 family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4], remote_port, local_port;
	__u32 is_fullsock, snd_cwnd, srtt_us, bpf_sock_ops_cb_flags, state, rtt_min, snd_ssthresh, rcv_nxt, snd_nxt;
	__u32 snd_una, mss_cache, ecn_flags, rate_delivered, rate_interval_us, packets_out, retrans_out;
	__u32 total_retrans, segs_in, data_segs_in, segs_out, data_segs_out, lost_out, sacked_out, sk_txhash;
	__u64 bytes_received, bytes_acked;
	union {
		struct bpf_sock *sk;
		__u64 : 64;
	} __attribute__((aligned(8)));
	union {
		void *skb_data;
		__u64 : 64;
	} __attribute__((aligned(8)));
	union {
		void *skb_data_end;
		__u64 : 64;
	} __attribute__((aligned(8)));
	__u32 skb_len, skb_tcp_flags;
};

struct bpf_sockopt {
	union {
		struct bpf_sock *sk;
		__u64 : 64;
	} __attribute__((aligned(8)));
	union {
		void *optval;
		__u64 : 64;
	} __attribute__((aligned(8)));
	union {
		void *optval_end;
		__u64 : 64;
	} __attribute__((aligned(8)));
	__s32 level, optname, optlen, retval;
};

struct bpf_timer {
	__u64 opaque[2];
};

struct bpf_sock_tuple {
	union {
		struct {
			__be32 saddr, daddr;
			__be16 sport, dport;
		} ipv4;
		struct {
			__be32 saddr[4], daddr[4];
			__be16 sport, dport;
		} ipv6;
	};
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
	__u32 sk_pacing_status;
	__u16 sk_gso_max_segs;
	__u8 sk_pacing_shift;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5;
	__u64 icsk_ca_priv[13];
};

struct tcp_sack_block {
	__u32 start_seq, end_seq;
};

struct tcp_options_received {
	int ts_recent_stamp;
	__u32 ts_recent;
	__u16 tstamp_ok : 1, sack_ok : 3, rcv_wscale : 4;
	__u8 num_sacks;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 max_window, tsoffset, mss_cache, snd_cwnd, prr_out, lost_out, sacked_out, retrans_out, lost;
	__u32 snd_ssthresh, write_seq, rcv_nxt, snd_nxt, snd_una, srtt_us, packets_out, delivered, rcv_wnd, rcv_wup;
	__u32 dsack_dups;
	__u64 tcp_mstamp;
	__u8 tcp_usec_ts : 1;
	__u8 ecn_flags;
	struct tcp_options_received rx_opt;
	struct tcp_sack_block selective_acks[4];
};

struct rate_sample {
	__u64 prior_mstamp;
	__u32 prior_delivered, prior_delivered_ce;
	__s32 delivered, delivered_ce;
	long interval_us;
	__u32 snd_interval_us, rcv_interval_us;
	long rtt_us;
	int losses;
	__u32 acked_sacked, prior_in_flight, last_end_seq;
	bool is_app_limited, is_retrans, is_ack_delayed;
};

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
	__u32 in_flight;
};

/* The private part of the kernel's CUBIC. */
struct bictcp {
	__u32 last_ack, end_seq;
};

/* The private part of the kernel's BBR. */
struct bbr {
	__u32 prev_ca_state : 3;
	__u32 lt_last_lost;
};

struct bpf_iter_meta;

struct bpf_iter__tcp {
	union {
		struct bpf_iter_meta *meta;
		__u64 : 64;
	} __attribute__((aligned(8)));
	union {
		struct sock_common *sk_common;
		__u64 : 64;
	} __attribute__((aligned(8)));
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 (*sndbuf_expand)(struct sock *sk);
	char name[16];
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#pragma clang attribute pop
