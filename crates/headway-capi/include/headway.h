/*
 * headway: hosts and links for a network of your own, in C and C++.
 *
 * A host is a TCP without I/O and without a clock: IP packets and times go in, IP packets and times come out. A link is
 * one direction of a link: a queue, a rate, a delay, damage to real bytes. Same seeds and same calls, same bytes, on
 * every machine. docs/embedding.md has a tour, and crates/headway-capi/examples/two_hosts.c a whole network.
 *
 * Every function returns HEADWAY_OK or a HEADWAY_ERROR_ code; headway_last_error() then says what was expected and what
 * was given. Unless a function says otherwise nothing has changed, and no result was written, where it fails. Results go
 * to pointers, which come last. No call blocks, panics, or calls back. Hosts and links may be used by any thread: calls
 * of the same one take turns.
 *
 * Pointers to hosts and links, and numbers of connections and listeners, are checked: one that is wrong, or of what is no
 * more, is an error and not a crash. What other pointers point to cannot be checked, except for null.
 *
 * Times are nanoseconds since an epoch of your choice. Those given to one host or link never decrease.
 */
#ifndef HEADWAY_H
#define HEADWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compare it with headway_abi_version(): a library of another version needs a program that is compiled anew. */
#define HEADWAY_ABI_VERSION 1
/* The time of what does not come. It cannot be given as a time. */
#define HEADWAY_NEVER UINT64_MAX

typedef struct headway_host headway_host;
typedef struct headway_link headway_link;
/* Never 0. No two connections or listeners of a process have the same number. */
typedef uint64_t headway_connection;
typedef uint64_t headway_listener;

typedef int32_t headway_status;
enum {
    HEADWAY_OK = 0,
    HEADWAY_ERROR_NULL = 1,       /* a null pointer where something is needed */
    HEADWAY_ERROR_HANDLE = 2,     /* a pointer that is no host or link, or one that was freed */
    HEADWAY_ERROR_TEXT = 3,       /* not UTF-8 */
    HEADWAY_ERROR_KEY = 4,        /* an unknown key, or a value that makes no sense */
    HEADWAY_ERROR_ADDRESS = 5,    /* not an address */
    HEADWAY_ERROR_CONNECTION = 6, /* no connection or listener of this host */
    HEADWAY_ERROR_TIME = 7,       /* earlier than a time that was given before, or HEADWAY_NEVER */
    HEADWAY_ERROR_BUFFER = 8,     /* a buffer with too little room: the packet waits */
    HEADWAY_ERROR_LENGTH = 9,     /* a length that no packet, or no memory, has */
    HEADWAY_ERROR_REFUSED = 10,   /* the host refuses: the address is taken, the connection failed or is closed */
    HEADWAY_ERROR_PANIC = 11      /* a defect of headway; the host or link can only be freed */
};

/* RFC 9293, 3.3.2. A connection that is over is HEADWAY_STATE_CLOSED. */
typedef int32_t headway_state;
enum {
    HEADWAY_STATE_CLOSED = 0,
    HEADWAY_STATE_SYN_SENT = 1,
    HEADWAY_STATE_SYN_RECEIVED = 2,
    HEADWAY_STATE_ESTABLISHED = 3,
    HEADWAY_STATE_FIN_WAIT_1 = 4,
    HEADWAY_STATE_FIN_WAIT_2 = 5,
    HEADWAY_STATE_CLOSE_WAIT = 6,
    HEADWAY_STATE_CLOSING = 7,
    HEADWAY_STATE_LAST_ACK = 8,
    HEADWAY_STATE_TIME_WAIT = 9
};

/* Why a connection failed. */
typedef int32_t headway_failure;
enum {
    HEADWAY_FAILURE_NONE = 0,
    HEADWAY_FAILURE_OTHER = 1,
    HEADWAY_FAILURE_REFUSED = 2,      /* the peer answered the SYN with a RST */
    HEADWAY_FAILURE_RESET = 3,        /* the peer sent a RST */
    HEADWAY_FAILURE_UNREACHABLE = 4,  /* an ICMP message says that there is no way */
    HEADWAY_FAILURE_TIMED_OUT = 5,    /* no answer after all retransmissions */
    HEADWAY_FAILURE_USER_TIMEOUT = 6, /* sent data was not acknowledged in time */
    HEADWAY_FAILURE_ABORTED = 7,      /* headway_host_abort */
    HEADWAY_FAILURE_CLOSING = 8       /* our side is closed for sending */
};

typedef int32_t headway_notification;
enum {
    HEADWAY_NOTIFICATION_NONE = 0,
    HEADWAY_NOTIFICATION_OTHER = 1,
    HEADWAY_NOTIFICATION_CONNECTED = 2, /* the handshake is complete */
    HEADWAY_NOTIFICATION_READABLE = 3,  /* more has arrived, or the peer closed its side */
    HEADWAY_NOTIFICATION_WRITABLE = 4,  /* there is room again after a short write */
    HEADWAY_NOTIFICATION_URGENT = 5,    /* the peer set the urgent pointer */
    HEADWAY_NOTIFICATION_CLOSED = 6     /* the connection is over; headway_host_failure says whether it failed */
};

/* What a packet was that arrived, by its checksums. */
typedef int32_t headway_packet;
enum {
    HEADWAY_PACKET_INTACT = 0,     /* a TCP segment, as it was sent */
    HEADWAY_PACKET_CORRUPTED = 1,  /* its header is valid, its payload is not */
    HEADWAY_PACKET_UNREADABLE = 2, /* its header is corrupted */
    HEADWAY_PACKET_ICMP = 3,
    HEADWAY_PACKET_OTHER_PROTOCOL = 4,
    HEADWAY_PACKET_MALFORMED = 5 /* TCP that was sent like this and cannot be parsed */
};

/* Counters and estimates of a connection. Windows in bytes, times in nanoseconds; 0 where nothing was measured yet. */
typedef struct headway_statistics {
    uint64_t cwnd;     /* congestion window */
    uint64_t ssthresh; /* slow-start threshold */
    uint64_t pipe;     /* bytes thought to be in the network */
    uint64_t mss;      /* largest payload of a segment */
    uint64_t srtt;     /* smoothed round-trip time */
    uint64_t rttvar;   /* its variation */
    uint64_t min_rtt;
    uint64_t rto; /* retransmission timeout, with its backoff */
    uint64_t segments_sent;
    uint64_t bytes_sent; /* payload, retransmissions included */
    uint64_t segments_received;
    uint64_t bytes_received;
    uint64_t retransmissions; /* segments */
    uint64_t bytes_retransmitted;
    uint64_t damage_retransmissions; /* of the segments, because a special ACK asked for them */
    uint64_t timeouts;
    uint64_t fast_recoveries;
    uint64_t special_acks_sent;
    uint64_t special_acks_received;
    uint64_t damaged_received; /* segments with a readable header and a damaged payload */
    uint64_t repaired;         /* of those, with a header that had to be repaired */
    uint64_t send_window;      /* the peer's */
    uint64_t receive_window;   /* offered to the peer */
    uint64_t unacknowledged;   /* sequence numbers sent and not acknowledged */
    uint64_t unsent;           /* bytes written and not sent */
    uint64_t congestion_echoes;
} headway_statistics;

/*
 * What is counted on the path between two addresses, for all connections on it: losses of what was sent, by the cause
 * that the ledger gives them (docs/ledger.md; senders without it leave them 0), and what arrived.
 */
typedef struct headway_path_counts {
    uint64_t reported;   /* segments that special ACKs reported damaged */
    uint64_t counted;    /* damaged packets that the peer counted, reported ones among them */
    uint64_t damage;     /* losses that nothing reported and that were taken for damage */
    uint64_t congestion; /* losses that were taken for congestion */
    uint64_t unknown;    /* losses without evidence, answered like congestion */
    uint64_t marks;      /* ECN marks that the peer echoed */
    uint64_t arrived_intact;
    uint64_t arrived_corrupted;  /* header valid, payload corrupted */
    uint64_t arrived_unreadable; /* header corrupted */
    uint64_t arrived_repaired;   /* header corrupted, and repaired */
} headway_path_counts;

/* What a link has done, in packets unless a name says otherwise. */
typedef struct headway_link_counters {
    uint64_t offered; /* pushed */
    uint64_t offered_bytes;
    uint64_t queue_drops; /* in front of the transmitter */
    uint64_t marked;      /* "congestion experienced" (ECN) */
    uint64_t transmissions;
    uint64_t transmitted_bytes; /* with the overhead of layer 2 */
    uint64_t lost;              /* without a trace */
    uint64_t hit;               /* damaged */
    uint64_t hit_in_header;
    uint64_t flipped_bits;
    uint64_t frame_check_drops;
    uint64_t delivered; /* with damaged packets and duplicates */
    uint64_t delivered_bytes;
    uint64_t delivered_damaged;
    uint64_t duplicated;
    uint64_t reordered;
    uint64_t slipped; /* damaged: with bits missing or added, or split */
    uint64_t split;   /* frames more than packets, by splits */
    uint64_t joined;  /* packets without a frame of their own */
} headway_link_counters;

/* --- the library ------------------------------------------------------------------------------------- */

uint32_t headway_abi_version(void);
const char *headway_version(void);
/* Of the latest call of this thread that failed; valid until the next one. */
const char *headway_last_error(void);

/* --- hosts ------------------------------------------------------------------------------------------- */

/*
 * Makes a host of one IP address. `keys` are pairs such as "variant=headway window=1MiB partial=off", or null: variant,
 * profile, cc, rules, window, mtu, retries and the features, as in experiment files; dscp and ttl. `name` and `seed` give its secrets
 * (sequence numbers, ports): hosts of one network have different names. Any TCP can be the peer.
 */
headway_status headway_host_new(const char *address, const char *keys, const char *name, uint64_t seed,
                                headway_host **host);
/* Its connections vanish without a packet. */
headway_status headway_host_free(headway_host *host);
/* The host answers to this address too. */
headway_status headway_host_add_address(headway_host *host, const char *address);
/* Every packet that arrives is of the host at `remote`, also one whose IP header is corrupted: for links with two ends. */
headway_status headway_host_set_only_peer(headway_host *host, const char *local, const char *remote);
/* The room that headway_host_poll_transmit needs. */
headway_status headway_host_mtu(headway_host *host, size_t *mtu);

/* --- its connections --------------------------------------------------------------------------------- */

/* `local` is "192.0.2.1:80" or "[2001:db8::1]:80". */
headway_status headway_host_listen(headway_host *host, const char *local, size_t backlog, headway_listener *listener);
/* 0: no connection waits. */
headway_status headway_host_accept(headway_host *host, headway_listener listener, headway_connection *connection);
/* Connections that were not accepted are aborted. */
headway_status headway_host_close_listener(headway_host *host, uint64_t now, headway_listener listener);
/* Port 0 of `local`: a free one. */
headway_status headway_host_connect(headway_host *host, uint64_t now, const char *local, const char *remote,
                                    headway_connection *connection);
/* Takes what the send buffer has room for; HEADWAY_NOTIFICATION_WRITABLE follows a short write. */
headway_status headway_host_write(headway_host *host, headway_connection connection, const void *data, size_t len,
                                  size_t *written);
headway_status headway_host_writable(headway_host *host, headway_connection connection, size_t *len);
headway_status headway_host_readable(headway_host *host, headway_connection connection, size_t *len);
/* 0 bytes: there are none now, or no more come (headway_host_is_finished). */
headway_status headway_host_read(headway_host *host, headway_connection connection, void *buffer, size_t capacity,
                                 size_t *len);
/* The peer has closed its side, or the connection is over, and all is read. */
headway_status headway_host_is_finished(headway_host *host, headway_connection connection, bool *finished);
/* Ends our side behind what was written; the peer may go on. */
headway_status headway_host_shutdown(headway_host *host, uint64_t now, headway_connection connection);
/* Ends both sides at once with a RST. */
headway_status headway_host_abort(headway_host *host, uint64_t now, headway_connection connection);
/* The number is forgotten, and what is open is closed. Without it a connection that is over stays. */
headway_status headway_host_release(headway_host *host, uint64_t now, headway_connection connection);
headway_status headway_host_state(headway_host *host, headway_connection connection, headway_state *state);
headway_status headway_host_failure(headway_host *host, headway_connection connection, headway_failure *failure);
/* "192.0.2.1:49152 192.0.2.2:80" and a null byte: ours first. 128 bytes are always enough. */
headway_status headway_host_endpoints(headway_host *host, headway_connection connection, char *text, size_t capacity);
/* `size` is sizeof(headway_statistics). */
headway_status headway_host_statistics(headway_host *host, headway_connection connection, void *statistics,
                                       size_t size);
/* `size` is sizeof(headway_path_counts). */
headway_status headway_host_path_counts(headway_host *host, headway_connection connection, void *counts, size_t size);
/* To be called until HEADWAY_NOTIFICATION_NONE. */
headway_status headway_host_poll_notification(headway_host *host, headway_connection *connection,
                                              headway_notification *notification);

/* --- its network ------------------------------------------------------------------------------------- */

/* An IP packet arrived. No bytes are an error. `what` may be null. */
headway_status headway_host_receive(headway_host *host, uint64_t now, const void *packet, size_t len,
                                    headway_packet *what);
/* The next IP packet to send; to be called until its length is 0, after every other call that may have given a reason. */
headway_status headway_host_poll_transmit(headway_host *host, uint64_t now, void *buffer, size_t capacity, size_t *len);
/* When to call headway_host_handle_timeout at the latest. Valid after headway_host_poll_transmit gave 0. */
headway_status headway_host_next_deadline(headway_host *host, uint64_t *at);
/* Calling it early does no harm. */
headway_status headway_host_handle_timeout(headway_host *host, uint64_t now);

/* --- links ------------------------------------------------------------------------------------------- */

/*
 * Makes one direction of a link. `keys` are pairs such as "rate=10mbit delay=20ms damage=burst:5%:5", or null: the keys
 * of a link in experiment files, with their defaults there (10 Mbit/s, 300 ms, 100 packets, no damage). `name` and
 * `seed` give its randomness: links of one network have different names.
 */
headway_status headway_link_new(const char *keys, const char *name, uint64_t seed, headway_link **link);
headway_status headway_link_free(headway_link *link);
/* Gives it an IP packet. `queued`, which may be null, is false for one that is dropped at once. */
headway_status headway_link_push(headway_link *link, uint64_t now, const void *packet, size_t len, bool *queued);
/* When to pop next. There may be nothing at that time, where packets are lost on the way. */
headway_status headway_link_next_event(headway_link *link, uint64_t *at);
/* The next packet that has arrived; to be called until its length is 0. `flipped_bits` is for observers, and may be null. */
headway_status headway_link_pop(headway_link *link, uint64_t now, void *buffer, size_t capacity, size_t *len,
                                uint32_t *flipped_bits);
headway_status headway_link_queue_len(headway_link *link, size_t *packets);
/* `size` is sizeof(headway_link_counters). */
headway_status headway_link_statistics(headway_link *link, void *counters, size_t size);

#ifdef __cplusplus
}
#endif

#endif
