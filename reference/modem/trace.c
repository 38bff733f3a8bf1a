#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "tally.h"

// The most that headway reads.
#define MOST_PLACES 16777216

// Streams of the seed beside those of the channel.
#define STREAM_DATA 1001
#define STREAM_CUT 1002

static unsigned long write_bits(const unsigned char *sent, size_t length, const struct received *received, struct random *cut);

int trace_run(const struct options *options, char **words)
{
    FILE *json = NULL;
    if (options->json && (json = fopen(options->json, "w")) == NULL)
        options_refuse("--json", "a file that can be written", options->json);
    struct phy *phy = phy_create(&options->phy);
    unsigned char *sent = malloc(options->size);
    if (phy == NULL || sent == NULL) {
        fputs("modem trace: liquid-dsp refuses this configuration\n", stderr);
        return 1;
    }
    struct channel channel;
    channel_init(&channel, &options->channel, options->seed, 0);
    struct random data, cut;
    random_init(&data, options->seed, STREAM_DATA);
    random_init(&cut, options->seed, STREAM_CUT);

    printf("# Frames of a software modem, for headway race --damage trace:FILE. Made by:\n# modem");
    for (; *words; words++) {
        // Where the statistics went does not change the trace.
        if (strcmp(*words, "--json") == 0)
            words++;
        else
            printf(" %s", *words);
    }
    putchar('\n');
    struct tally tally = {0};
    unsigned long places = 0;
    for (uint64_t number = 0; number < options->frames; number++) {
        random_fill(&data, sent, options->size);
        struct received received;
        int has_received = phy_transmit(phy, &channel, (uint32_t)number, sent, options->size, &received);
        switch (tally_frame(&tally, sent, options->size, has_received ? &received : NULL)) {
        case NOT_DETECTED:
            puts("lost");
            break;
        case INTACT:
            puts("ok");
            break;
        case DAMAGED:
        case SHORTENED:
            places += write_bits(sent, options->size, &received, &cut);
            break;
        }
        if (places > MOST_PLACES)
            options_refuse("--frames", "a trace with at most 16777216 damaged bits", "more");
    }
    free(sent);
    phy_destroy(phy);

    tally_print(&tally, stderr);
    fputc('\n', stderr);
    if (json) {
        fputs("{", json);
        tally_json(&tally, json);
        fputs("}\n", json);
    }
    if ((json && fclose(json) != 0) || fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "modem trace: cannot write: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}

// A line with the places of the bits that differ. Traces do not change the length of packets: the part that a receiver did
// not get has random bits.
static unsigned long write_bits(const unsigned char *sent, size_t length, const struct received *received, struct random *cut)
{
    unsigned long places = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned differs = i < received->length ? (unsigned)(sent[i] ^ received->data[i]) : (unsigned)(random_next(cut) & 255);
        for (unsigned bit = 0; bit < 8; bit++)
            if (differs >> (7 - bit) & 1) {
                printf(places ? " %zu" : "bits %zu", 8 * i + bit);
                places++;
            }
    }
    // A cut so short that its random bits are those that were sent.
    puts(places ? "" : "ok");
    return places;
}
