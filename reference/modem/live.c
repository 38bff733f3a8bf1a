#include "live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "address.h"
#include "datagram.h"
#include "tally.h"

#define MOST_DATAGRAM (DATAGRAM_HEADER + LONGEST_FRAME)
// A direction that is later than this does not catch up: its channel has been idle.
#define MOST_LATENESS 10000000
// The frame by which samples are related to time.
#define USUAL_FRAME 1500
#define SECOND 1000000000
// How many datagrams are read before the clock is looked at.
#define MOST_AT_ONCE 64

struct frame {
    int64_t arrival;
    size_t length;
    unsigned char *data;
};

struct counters {
    struct tally tally;
    uint64_t datagrams, refused, dropped; // at the socket of the sending end
    uint64_t sent, no_peer, not_sent;     // at that of the receiving end
    uint64_t late;
    int64_t latest;
};

// One end: who was heard there last.
struct end {
    const char *name;
    int descriptor;
    struct address address;
    pthread_mutex_t mutex;
    struct address peer;
    int is_peer_fixed;
};

struct direction {
    const struct options *options;
    struct end *from, *to;
    struct phy *phy;
    struct channel channel;
    double samples_per_bit;
    int stop; // an eventfd that is readable when all ends
    struct frame *queue; // with one place more, for the frame that is next on a free channel
    size_t queue_size, queue_first, queue_count;
    int is_busy; // a frame occupies the channel
    int64_t free_at;
    uint32_t number;
    unsigned char datagram[MOST_DATAGRAM + 1];
    pthread_mutex_t mutex;
    struct counters counters;
};

static void open_end(struct end *end, const char *name, const char *option, const char *text, const char *peer_option, const char *peer);
static void open_direction(struct direction *direction, const struct options *options, struct end *from, struct end *to, uint64_t stream, int stop);
static void close_direction(struct direction *direction);
static void *run_direction(void *context);
static void read_datagrams(struct direction *direction);
static void carry(struct direction *direction);
static int wait_until(struct direction *direction, int64_t when);
static void hand_up(struct direction *direction, const struct received *received);
static void print_statistics(struct direction *directions, double seconds, FILE *json);
static int64_t now(void);

int live_run(const struct options *options)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    FILE *json = NULL;
    if (options->json && (json = fopen(options->json, "w")) == NULL)
        options_refuse("--json", "a file that can be written", options->json);
    static struct end near, far;
    open_end(&near, "near", "--near", options->near, "--near-peer", options->near_peer);
    open_end(&far, "far", "--far", options->far, "--far-peer", options->far_peer);
    int stop = eventfd(0, EFD_CLOEXEC);
    if (stop < 0) {
        fprintf(stderr, "modem live: no eventfd: %s\n", strerror(errno));
        return 1;
    }
    static struct direction directions[2];
    open_direction(&directions[0], options, &near, &far, 0, stop);
    open_direction(&directions[1], options, &far, &near, 1, stop);

    int64_t begin = now();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, run_direction, &directions[i]) != 0) {
            fputs("modem live: no thread\n", stderr);
            return 1;
        }
    }
    puts("ready");
    fflush(stdout);

    for (;;) {
        int64_t left = options->seconds > 0 ? (int64_t)(options->seconds * SECOND) - (now() - begin) : SECOND;
        if (left <= 0)
            break;
        struct timespec time = {left / SECOND, left % SECOND};
        int signal = sigtimedwait(&signals, NULL, &time);
        if (signal == SIGUSR1)
            print_statistics(directions, (double)(now() - begin) / SECOND, NULL);
        else if (signal > 0)
            break;
    }

    if (eventfd_write(stop, 1) != 0)
        abort();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    print_statistics(directions, (double)(now() - begin) / SECOND, json);
    for (int i = 0; i < 2; i++)
        close_direction(&directions[i]);
    if (json && fclose(json) != 0) {
        fprintf(stderr, "modem live: cannot write: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}

static void open_end(struct end *end, const char *name, const char *option, const char *text, const char *peer_option, const char *peer)
{
    end->name = name;
    end->address = address_read(option, text);
    if (peer) {
        end->peer = address_read(peer_option, peer);
        if (end->peer.storage.ss_family != end->address.storage.ss_family)
            options_refuse(peer_option, "an address of the same kind as that of its end", peer);
        end->is_peer_fixed = 1;
    }
    end->descriptor = address_bind(option, text, &end->address);
    pthread_mutex_init(&end->mutex, NULL);
}

static void open_direction(struct direction *direction, const struct options *options, struct end *from, struct end *to, uint64_t stream, int stop)
{
    direction->options = options;
    direction->from = from;
    direction->to = to;
    direction->stop = stop;
    direction->phy = phy_create(&options->phy);
    direction->queue_size = options->queue + 1;
    direction->queue = calloc(direction->queue_size, sizeof *direction->queue);
    if (direction->phy == NULL || direction->queue == NULL) {
        fputs("modem live: liquid-dsp refuses this configuration\n", stderr);
        exit(1);
    }
    direction->samples_per_bit = (double)phy_samples(direction->phy, USUAL_FRAME) / (8 * USUAL_FRAME);
    channel_init(&direction->channel, &options->channel, options->seed, stream);
    pthread_mutex_init(&direction->mutex, NULL);
}

static void close_direction(struct direction *direction)
{
    for (; direction->queue_count > 0; direction->queue_count--) {
        free(direction->queue[direction->queue_first].data);
        direction->queue_first = (direction->queue_first + 1) % direction->queue_size;
    }
    free(direction->queue);
    phy_destroy(direction->phy);
}

static void *run_direction(void *context)
{
    struct direction *direction = context;
    direction->free_at = now();
    while (wait_until(direction, direction->queue_count > 0 ? 0 : INT64_MAX))
        if (direction->queue_count > 0)
            carry(direction);
    return NULL;
}

// Takes what has arrived at the socket into the queue.
static void read_datagrams(struct direction *direction)
{
    struct end *from = direction->from;
    for (int i = 0; i < MOST_AT_ONCE; i++) {
        struct address sender;
        memset(&sender, 0, sizeof sender);
        sender.length = sizeof sender.storage;
        ssize_t length = recvfrom(from->descriptor, direction->datagram, sizeof direction->datagram, MSG_TRUNC,
                                  (struct sockaddr *)&sender.storage, &sender.length);
        if (length < 0) {
            // What a socket says of an earlier datagram that it sent.
            if (errno == ECONNREFUSED || errno == EINTR)
                continue;
            return;
        }
        // A Unix socket without a name cannot be answered.
        if (!from->is_peer_fixed && sender.length > sizeof(sa_family_t)) {
            pthread_mutex_lock(&from->mutex);
            from->peer = sender;
            pthread_mutex_unlock(&from->mutex);
        }

        size_t frame_length = 0;
        const unsigned char *frame = NULL;
        if (length <= MOST_DATAGRAM)
            frame = datagram_frame(direction->datagram, (size_t)length, &frame_length);
        int is_refused = frame == NULL, is_frame = frame_length > 0;
        int is_dropped = is_frame && direction->queue_count + (size_t)direction->is_busy >= direction->queue_size;
        unsigned char *data = NULL;
        if (is_frame && !is_dropped)
            is_dropped = (data = malloc(frame_length)) == NULL;
        pthread_mutex_lock(&direction->mutex);
        direction->counters.datagrams++;
        direction->counters.refused += (uint64_t)is_refused;
        direction->counters.dropped += (uint64_t)is_dropped;
        pthread_mutex_unlock(&direction->mutex);
        if (data == NULL)
            continue;
        memcpy(data, frame, frame_length);
        size_t last = (direction->queue_first + direction->queue_count++) % direction->queue_size;
        direction->queue[last] = (struct frame){now(), frame_length, data};
    }
}

// The first frame of the queue occupies the channel, and what arrives of it is handed up when it ends.
static void carry(struct direction *direction)
{
    struct frame frame = direction->queue[direction->queue_first];
    direction->queue_first = (direction->queue_first + 1) % direction->queue_size;
    direction->queue_count--;
    direction->is_busy = 1;

    double bits_per_second = direction->options->bits_per_second;
    int64_t begin = direction->free_at > frame.arrival ? direction->free_at : frame.arrival;
    if (bits_per_second > 0) {
        double idle = (double)(begin - direction->free_at) / SECOND;
        if (idle > 0)
            channel_idle(&direction->channel, idle * bits_per_second * direction->samples_per_bit);
    }
    struct received received;
    int has_received = phy_transmit(direction->phy, &direction->channel, direction->number++, frame.data, frame.length, &received);

    int64_t lateness = 0;
    if (bits_per_second > 0) {
        direction->free_at = begin + (int64_t)(8 * (double)frame.length / bits_per_second * SECOND);
        if (!wait_until(direction, direction->free_at)) {
            free(frame.data);
            return;
        }
        lateness = now() - direction->free_at;
        if (lateness > MOST_LATENESS)
            direction->free_at = now();
    }
    direction->is_busy = 0;
    pthread_mutex_lock(&direction->mutex);
    tally_frame(&direction->counters.tally, frame.data, frame.length, has_received ? &received : NULL);
    direction->counters.late += lateness > MOST_LATENESS;
    if (lateness > direction->counters.latest)
        direction->counters.latest = lateness;
    pthread_mutex_unlock(&direction->mutex);
    if (has_received)
        hand_up(direction, &received);
    free(frame.data);
}

// Takes datagrams until a time, 0 for those that are there, INT64_MAX until the next one. 0 when all is to end.
static int wait_until(struct direction *direction, int64_t when)
{
    for (;;) {
        int64_t left = when == INT64_MAX ? INT64_MAX : when - now();
        struct timespec time = {0, 0};
        if (left > 0 && left != INT64_MAX)
            time = (struct timespec){left / SECOND, left % SECOND};
        struct pollfd polled[] = {{direction->from->descriptor, POLLIN, 0}, {direction->stop, POLLIN, 0}};
        int ready = ppoll(polled, 2, left == INT64_MAX ? NULL : &time, NULL);
        if (ready < 0 && errno != EINTR)
            abort();
        if (ready > 0 && polled[1].revents)
            return 0;
        if (ready > 0)
            read_datagrams(direction);
        if (left <= 0 || (when == INT64_MAX && direction->queue_count > 0))
            return 1;
    }
}

static void hand_up(struct direction *direction, const struct received *received)
{
    struct end *to = direction->to;
    pthread_mutex_lock(&to->mutex);
    struct address peer = to->peer;
    pthread_mutex_unlock(&to->mutex);
    unsigned char header[DATAGRAM_HEADER];
    datagram_header(received, header);
    struct iovec parts[] = {{header, sizeof header}, {(void *)received->data, received->length}};
    struct msghdr message = {
        .msg_name = &peer.storage, .msg_namelen = peer.length, .msg_iov = parts, .msg_iovlen = 2,
    };
    int is_sent = peer.length > 0 && sendmsg(to->descriptor, &message, MSG_NOSIGNAL) >= 0;
    pthread_mutex_lock(&direction->mutex);
    direction->counters.sent += (uint64_t)is_sent;
    direction->counters.no_peer += peer.length == 0;
    direction->counters.not_sent += peer.length > 0 && !is_sent;
    pthread_mutex_unlock(&direction->mutex);
}

static void print_statistics(struct direction *directions, double seconds, FILE *json)
{
    if (json)
        fprintf(json, "{\"seconds\": %.3f", seconds);
    for (int i = 0; i < 2; i++) {
        struct direction *direction = &directions[i];
        pthread_mutex_lock(&direction->mutex);
        struct counters counters = direction->counters;
        pthread_mutex_unlock(&direction->mutex);
        fprintf(stderr,
                "%s to %s, %.1f s: datagrams %" PRIu64 ", refused %" PRIu64 ", dropped by the queue %" PRIu64 "; ",
                direction->from->name, direction->to->name, seconds, counters.datagrams, counters.refused, counters.dropped);
        tally_print(&counters.tally, stderr);
        fprintf(stderr,
                "; handed up %" PRIu64 ", without a peer %" PRIu64 ", not taken by the peer %" PRIu64
                "; late by more than 10 ms %" PRIu64 ", at most %.1f ms\n",
                counters.sent, counters.no_peer, counters.not_sent, counters.late, (double)counters.latest / 1e6);
        if (json) {
            fprintf(json,
                    ", \"%s\": {\"datagrams\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"dropped\": %" PRIu64
                    ", \"handed_up\": %" PRIu64 ", \"no_peer\": %" PRIu64 ", \"not_taken\": %" PRIu64 ", \"late\": %" PRIu64
                    ", \"latest_seconds\": %.6f, ",
                    i == 0 ? "near_to_far" : "far_to_near", counters.datagrams, counters.refused, counters.dropped, counters.sent,
                    counters.no_peer, counters.not_sent, counters.late, (double)counters.latest / 1e9);
            tally_json(&counters.tally, json);
            fputc('}', json);
        }
    }
    if (json)
        fputs("}\n", json);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}
