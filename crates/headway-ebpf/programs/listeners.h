/* Run once, when the programs are attached: listeners that are there already take part. */
#pragma once

#include "negotiate.h"

enum { DEEPEST = 64 };

/* Whether the listener belongs to the cgroup, or to one below it. */
static __always_inline bool is_in_cgroup(struct cgroup *cgroup)
{
	int level = cgroup->level;
	for (int i = 0; i < DEEPEST; i++) {
		if (i > level)
			break;
		struct cgroup *ancestor = 0;
		bpf_core_read(&ancestor, sizeof(ancestor), &cgroup->ancestors[i]);
		if (ancestor && BPF_CORE_READ(ancestor, kn, id) == settings.cgroup)
			return true;
	}
	return false;
}

SEC("iter/tcp")
int headway_listeners(struct bpf_iter__tcp *context)
{
	struct sock_common *common = context->sk_common;
	if (!common || common->skc_state != BPF_TCP_LISTEN)
		return 0;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(common);
	if (!tp)
		return 0;
	struct cgroup *cgroup = tp->inet_conn.icsk_inet.sk.sk_cgrp_data.cgroup;
	if (!cgroup || !is_in_cgroup(cgroup))
		return 0;
	int headers = 1, flags = BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	bpf_setsockopt(tp, SOL_TCP, TCP_SAVE_SYN, &headers, sizeof(headers));
	bpf_setsockopt(tp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags));
	return 0;
}
