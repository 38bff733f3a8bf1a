/* Every mistake that can be checked is a code with a text, and no crash; the host is as it was. */
#include <headway.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int line;

/* `call` has to give `code`, with a text that has `part`. */
#define REFUSES(call, code, part) line = __LINE__, refuses(call, code, part)
#define WORKS(call) line = __LINE__, refuses(call, HEADWAY_OK, "")

static void refuses(headway_status status, headway_status expected, const char *part) {
    if (status != expected || strstr(headway_last_error(), part) == NULL) {
        fprintf(stderr, "misuse.c:%d: %d (%s), expected %d (%s)\n", line, (int)status, headway_last_error(),
                (int)expected, part);
        exit(1);
    }
}

int main(void) {
    headway_host *host = NULL, *other = NULL, *none = NULL;
    headway_link *link = NULL;
    headway_listener listener = 0;
    headway_connection connection = 0;
    headway_state state;
    headway_failure failure;
    headway_notification what;
    headway_packet kind;
    uint8_t packet[2000];
    char ends[128];
    size_t len = 0;
    bool flag;
    uint64_t at;
    uint32_t flips;
    headway_statistics statistics;
    unsigned i;

    if (headway_abi_version() != HEADWAY_ABI_VERSION || strlen(headway_version()) == 0) return 1;

    /* Making. */
    REFUSES(headway_host_new(NULL, NULL, "a", 1, &host), HEADWAY_ERROR_NULL, "address");
    REFUSES(headway_host_new("192.0.2.1", NULL, NULL, 1, &host), HEADWAY_ERROR_NULL, "name");
    REFUSES(headway_host_new("192.0.2.1", NULL, "a", 1, NULL), HEADWAY_ERROR_NULL, "result");
    REFUSES(headway_host_new("192.0.2", NULL, "a", 1, &host), HEADWAY_ERROR_ADDRESS, "\"192.0.2\": expected an IP address");
    REFUSES(headway_host_new("192.0.2.1", "vriant=sack", "a", 1, &host), HEADWAY_ERROR_KEY, "did you mean variant?");
    REFUSES(headway_host_new("192.0.2.1", "variant=tahoe", "a", 1, &host), HEADWAY_ERROR_KEY, "expected one of newreno");
    REFUSES(headway_host_new("192.0.2.1", "variant", "a", 1, &host), HEADWAY_ERROR_KEY, "expected pairs");
    REFUSES(headway_host_new("192.0.2.1", "\xff=1", "a", 1, &host), HEADWAY_ERROR_TEXT, "expected UTF-8");
    REFUSES(headway_link_new("rate=0", "l", 1, &link), HEADWAY_ERROR_KEY, "expected a rate such as 10mbit");
    REFUSES(headway_link_new("reverse-rate=1mbit", "l", 1, &link), HEADWAY_ERROR_KEY, "one direction");
    if (host != NULL || link != NULL) return 1;
    WORKS(headway_host_new("192.0.2.1", "variant=modern mtu=1400", "a", 1, &host));
    WORKS(headway_host_new("2001:db8::1", NULL, "b", 1, &other));
    WORKS(headway_link_new(NULL, "l", 1, &link));

    /* Pointers that are no hosts or links, or the other kind. */
    REFUSES(headway_host_mtu(none, &len), HEADWAY_ERROR_NULL, "got a null pointer");
    REFUSES(headway_host_mtu((headway_host *)link, &len), HEADWAY_ERROR_HANDLE, "no host");
    REFUSES(headway_host_mtu((headway_host *)packet, &len), HEADWAY_ERROR_HANDLE, "no host");
    REFUSES(headway_link_next_event((headway_link *)host, &at), HEADWAY_ERROR_HANDLE, "no link");
    REFUSES(headway_host_free(NULL), HEADWAY_ERROR_NULL, "host");

    /* Results and buffers. */
    REFUSES(headway_host_mtu(host, NULL), HEADWAY_ERROR_NULL, "result");
    WORKS(headway_host_mtu(host, &len));
    if (len != 1400) return 1;
    REFUSES(headway_host_poll_transmit(host, 0, packet, 1399, &len), HEADWAY_ERROR_BUFFER, "at least 1400");
    REFUSES(headway_host_poll_transmit(host, 0, NULL, 1400, &len), HEADWAY_ERROR_NULL, "buffer");
    REFUSES(headway_host_receive(host, 0, NULL, 10, NULL), HEADWAY_ERROR_NULL, "packet");
    REFUSES(headway_host_receive(host, 0, packet, SIZE_MAX, NULL), HEADWAY_ERROR_LENGTH, "length");
    REFUSES(headway_link_push(link, 0, packet, 0, &flag), HEADWAY_ERROR_LENGTH, "1 to 65535");
    REFUSES(headway_link_push(link, 0, packet, 65536, &flag), HEADWAY_ERROR_LENGTH, "1 to 65535");

    /* Addresses and numbers. */
    REFUSES(headway_host_listen(host, "192.0.2.1", 1, &listener), HEADWAY_ERROR_ADDRESS, "with a port");
    REFUSES(headway_host_listen(host, "192.0.2.7:80", 1, &listener), HEADWAY_ERROR_REFUSED, "not an address of this host");
    WORKS(headway_host_listen(host, "192.0.2.1:80", 1, &listener));
    REFUSES(headway_host_listen(host, "192.0.2.1:80", 1, &listener), HEADWAY_ERROR_REFUSED, "address in use");
    REFUSES(headway_host_accept(other, listener, &connection), HEADWAY_ERROR_CONNECTION, "unknown listener");
    WORKS(headway_host_accept(host, listener, &connection));
    if (connection != 0) return 1;
    REFUSES(headway_host_state(host, 0, &state), HEADWAY_ERROR_CONNECTION, "unknown connection");
    REFUSES(headway_host_state(host, listener, &state), HEADWAY_ERROR_CONNECTION, "unknown connection");
    REFUSES(headway_host_connect(host, 5, "192.0.2.1:0", "[2001:db8::2]:80", &connection), HEADWAY_ERROR_REFUSED, "family");
    WORKS(headway_host_connect(host, 5, "192.0.2.1:0", "192.0.2.2:80", &connection));
    WORKS(headway_host_state(host, connection, &state));
    if (state != HEADWAY_STATE_SYN_SENT) return 1;
    REFUSES(headway_host_state(other, connection, &state), HEADWAY_ERROR_CONNECTION, "another host");
    WORKS(headway_host_endpoints(host, connection, ends, sizeof ends));
    if (strstr(ends, "192.0.2.1:") != ends || strstr(ends, " 192.0.2.2:80") == NULL) return 1;
    REFUSES(headway_host_endpoints(host, connection, ends, 5), HEADWAY_ERROR_BUFFER, "5 bytes");
    REFUSES(headway_host_write(host, connection, NULL, 1, &len), HEADWAY_ERROR_NULL, "data");
    REFUSES(headway_host_read(host, connection, NULL, 1, &len), HEADWAY_ERROR_NULL, "buffer");
    WORKS(headway_host_read(host, connection, packet, sizeof packet, &len));
    if (len != 0) return 1;

    /* Time. */
    REFUSES(headway_host_handle_timeout(host, 4), HEADWAY_ERROR_TIME, "expected 5 ns");
    REFUSES(headway_host_handle_timeout(host, HEADWAY_NEVER), HEADWAY_ERROR_TIME, "never");

    /* A packet that has no room waits, and any bytes may arrive. */
    WORKS(headway_host_poll_transmit(host, 5, packet, sizeof packet, &len));
    if (len < 40) return 1;
    WORKS(headway_link_push(link, 5, packet, len, &flag));
    WORKS(headway_link_next_event(link, &at));
    REFUSES(headway_link_pop(link, at, packet, 10, &len, &flips), HEADWAY_ERROR_BUFFER, "a buffer of 10 bytes");
    WORKS(headway_link_pop(link, at, packet, sizeof packet, &len, &flips));
    if (len < 40 || flips != 0) return 1;
    for (i = 0; i < 2000; i++) {
        packet[(i * 7919u) % sizeof packet] = (uint8_t)(i * 31u);
        WORKS(headway_host_receive(host, at, packet, i, &kind));
    }

    /* A structure that is shorter than the library's, as of an older header, and one of no size. */
    memset(&statistics, 0x5a, sizeof statistics);
    WORKS(headway_host_statistics(host, connection, &statistics, offsetof(headway_statistics, pipe)));
    if (statistics.cwnd == 0 || statistics.pipe != UINT64_C(0x5a5a5a5a5a5a5a5a)) return 1;
    REFUSES(headway_host_statistics(host, connection, &statistics, SIZE_MAX), HEADWAY_ERROR_LENGTH, "size");
    REFUSES(headway_host_statistics(host, connection, NULL, 8), HEADWAY_ERROR_NULL, "result");

    /* The end of a connection, of a host, of a link. */
    WORKS(headway_host_abort(host, at, connection));
    WORKS(headway_host_failure(host, connection, &failure));
    if (failure != HEADWAY_FAILURE_ABORTED) return 1;
    REFUSES(headway_host_write(host, connection, "x", 1, &len), HEADWAY_ERROR_REFUSED, "aborted");
    WORKS(headway_host_poll_notification(host, &at, &what));
    WORKS(headway_host_release(host, 1000000000, connection));
    REFUSES(headway_host_release(host, 1000000000, connection), HEADWAY_ERROR_CONNECTION, "released");
    WORKS(headway_host_close_listener(host, 1000000000, listener));
    REFUSES(headway_host_accept(host, listener, &connection), HEADWAY_ERROR_CONNECTION, "closed");
    WORKS(headway_host_free(host));
    REFUSES(headway_host_free(host), HEADWAY_ERROR_HANDLE, "freed");
    REFUSES(headway_host_handle_timeout(host, 2000000000), HEADWAY_ERROR_HANDLE, "freed");
    WORKS(headway_link_free(link));
    REFUSES(headway_link_push(link, 0, packet, 40, &flag), HEADWAY_ERROR_HANDLE, "freed");
    WORKS(headway_host_free(other));
    puts("every mistake was told");
    return 0;
}
