/*
 * Two hosts and a damaging link, in virtual time: a network of one's own in a hundred lines.
 *
 *     cargo build --release -p headway-capi
 *     cc -std=c11 -Icrates/headway-capi/include crates/headway-capi/examples/two_hosts.c \
 *         -Ltarget/release -lheadway_capi -Wl,-rpath,target/release -o two_hosts
 *     ./two_hosts 1
 *
 * The client writes a megabyte, which the link damages on its way; the server compares every byte. The network, its
 * names and the order of its events are those of `headway race`, so that the packets are the same too, bit by bit:
 * crates/headway-capi/tests/simulator.rs compares the digest that this program prints with the simulator's.
 */
#include <headway.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 1000000
#define FORWARD "rate=10mbit delay=50ms queue=100p damage=burst:5%:5 header-hit=40%"
#define REVERSE "rate=10mbit delay=50ms queue=100p"
#define CLIENT "10.0.1.1:40000"
#define SERVER "10.0.2.1:5001"

static uint8_t sent[SIZE], received[1 << 20];
static size_t written, arrived;
static int writable, client_closed, server_closed;
static headway_host *client, *server;
static headway_link *forward, *reverse;
static headway_listener listener;
static headway_connection opened, accepted;

/* FNV-1a of every packet that enters or leaves a host, with its time and direction. */
static uint64_t digest = UINT64_C(0xcbf29ce484222325);

static void check(headway_status status) {
    if (status != HEADWAY_OK) {
        fprintf(stderr, "headway error %d: %s\n", (int)status, headway_last_error());
        exit(1);
    }
}

static void add(const void *bytes, size_t len) {
    size_t i;
    for (i = 0; i < len; i++) digest = (digest ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void record(uint64_t now, uint8_t outbound, const void *packet, size_t len) {
    uint8_t time[8];
    int i;
    for (i = 0; i < 8; i++) time[i] = (uint8_t)(now >> (8 * i));
    add(time, 8);
    add(&outbound, 1);
    add(packet, len);
}

/* The program at the client: connects, writes, closes. */
static void client_program(uint64_t now) {
    headway_connection connection;
    headway_notification what;
    if (opened == 0) check(headway_host_connect(client, now, CLIENT, SERVER, &opened));
    do {
        check(headway_host_poll_notification(client, &connection, &what));
        writable |= what == HEADWAY_NOTIFICATION_CONNECTED || what == HEADWAY_NOTIFICATION_WRITABLE;
    } while (what != HEADWAY_NOTIFICATION_NONE);
    if (writable && !client_closed) {
        size_t taken;
        check(headway_host_write(client, opened, sent + written, SIZE - written, &taken));
        written += taken;
        writable = written == SIZE;
        client_closed = writable;
        if (client_closed) check(headway_host_shutdown(client, now, opened));
    }
}

/* The program at the server: accepts, reads and compares, closes after the client. */
static void server_program(uint64_t now) {
    headway_connection connection;
    headway_notification what;
    size_t len;
    bool finished;
    if (accepted == 0) check(headway_host_accept(server, listener, &accepted));
    do check(headway_host_poll_notification(server, &connection, &what));
    while (what != HEADWAY_NOTIFICATION_NONE);
    if (accepted == 0) return;
    check(headway_host_read(server, accepted, received, sizeof received, &len));
    if (arrived + len > SIZE || memcmp(received, sent + arrived, len) != 0) {
        fprintf(stderr, "bytes from %zu on differ from what was sent\n", arrived);
        exit(1);
    }
    arrived += len;
    check(headway_host_is_finished(server, accepted, &finished));
    if (finished && !server_closed) {
        server_closed = 1;
        check(headway_host_shutdown(server, now, accepted));
    }
}

/* The turn of a host: its program, then everything that it sends goes into its link. */
static void turn(headway_host *host, uint64_t now) {
    uint8_t packet[1500];
    size_t len;
    if (host == client) client_program(now);
    else server_program(now);
    for (;;) {
        check(headway_host_poll_transmit(host, now, packet, sizeof packet, &len));
        if (len == 0) return;
        record(now, 1, packet, len);
        check(headway_link_push(host == client ? forward : reverse, now, packet, len, NULL));
    }
}

/* Brings on what has arrived at the end of a link. */
static void deliver(headway_link *link, headway_host *host, uint64_t now) {
    uint8_t packet[1500];
    size_t len;
    for (;;) {
        check(headway_link_pop(link, now, packet, sizeof packet, &len, NULL));
        if (len == 0) return;
        record(now, 0, packet, len);
        check(headway_host_receive(host, now, packet, len, NULL));
        turn(host, now);
    }
}

static int is_over(void) {
    headway_state state;
    if (arrived < SIZE) return 0;
    check(headway_host_state(client, opened, &state));
    return state == HEADWAY_STATE_CLOSED || state == HEADWAY_STATE_TIME_WAIT || state == HEADWAY_STATE_FIN_WAIT_2;
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, now = 0, complete = 0, i;
    headway_statistics statistics;
    headway_path_counts path;
    headway_link_counters counters;

    for (i = 0; i < SIZE; i++) sent[i] = (uint8_t)((i * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
    check(headway_host_new("10.0.2.1", "variant=headway", "receiver", seed, &server));
    check(headway_host_new("10.0.1.1", "variant=headway", "sender", seed, &client));
    check(headway_link_new(FORWARD, "forward link", seed, &forward));
    check(headway_link_new(REVERSE, "reverse link", seed, &reverse));
    check(headway_host_listen(server, "10.0.2.1:5001", 1, &listener));
    turn(server, now);
    turn(client, now);

    while (!is_over()) {
        /* What is due first acts; at the same time links before hosts, so that packets arrive before timers expire. */
        uint64_t due[4];
        int first = 0, actor;
        check(headway_link_next_event(forward, &due[0]));
        check(headway_link_next_event(reverse, &due[1]));
        check(headway_host_next_deadline(server, &due[2]));
        check(headway_host_next_deadline(client, &due[3]));
        for (actor = 1; actor < 4; actor++)
            if (due[actor] < due[first]) first = actor;
        if (due[first] == HEADWAY_NEVER) {
            fprintf(stderr, "nothing can happen any more\n");
            return 1;
        }
        now = due[first] > now ? due[first] : now;
        switch (first) {
        case 0: deliver(forward, server, now); break;
        case 1: deliver(reverse, client, now); break;
        case 2: check(headway_host_handle_timeout(server, now)); turn(server, now); break;
        default: check(headway_host_handle_timeout(client, now)); turn(client, now); break;
        }
        if (complete == 0 && arrived == SIZE) complete = now;
    }

    check(headway_host_statistics(client, opened, &statistics, sizeof statistics));
    check(headway_host_path_counts(client, opened, &path, sizeof path));
    check(headway_link_statistics(forward, &counters, sizeof counters));
    printf("%zu bytes, each compared, in %" PRIu64 " ns\n", arrived, complete);
    printf("%" PRIu64 " of %" PRIu64 " packets damaged; %" PRIu64 " retransmissions, %" PRIu64 " timeouts\n",
           counters.hit, counters.offered, statistics.retransmissions, statistics.timeouts);
    printf("losses: %" PRIu64 " reported, %" PRIu64 " taken for damage, %" PRIu64 " for congestion, %" PRIu64 " unknown\n",
           path.reported, path.damage, path.congestion, path.unknown);
    printf("digest %016" PRIx64 "\n", digest);
    check(headway_host_free(client));
    check(headway_host_free(server));
    check(headway_link_free(forward));
    check(headway_link_free(reverse));
    return 0;
}
