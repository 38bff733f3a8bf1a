#include "tally.h"

#include <inttypes.h>
#include <string.h>

#define BLOCK 32
// An IPv4 header and a TCP header with timestamps.
#define HEADER 52

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

static int is_intact(const unsigned char *sent, const struct received *received, size_t from, size_t to)
{
    return received != NULL && received->length >= to && memcmp(sent + from, received->data + from, to - from) == 0;
}

enum outcome tally_frame(struct tally *tally, const unsigned char *sent, size_t length, const struct received *received)
{
    tally->frames++;
    for (size_t from = 0; from < length; from += BLOCK) {
        tally->blocks++;
        tally->intact_blocks += (uint64_t)is_intact(sent, received, from, least(from + BLOCK, length));
    }
    tally->intact_headers += (uint64_t)is_intact(sent, received, 0, least(HEADER, length));
    if (received == NULL) {
        tally->not_detected++;
        return NOT_DETECTED;
    }
    if (received->length == length && is_intact(sent, received, 0, length)) {
        tally->intact++;
        return INTACT;
    }
    size_t common = least(length, received->length);
    tally->bits += 8 * common;
    for (size_t i = 0; i < common; i++)
        tally->wrong_bits += (uint64_t)__builtin_popcount((unsigned)(sent[i] ^ received->data[i]));
    if (received->length < length) {
        tally->shortened++;
        return SHORTENED;
    }
    tally->damaged++;
    return DAMAGED;
}

void tally_print(const struct tally *tally, FILE *file)
{
    fprintf(file,
            "frames %" PRIu64 ", not detected %" PRIu64 ", intact %" PRIu64 " (%.2f %%), damaged %" PRIu64
            ", shortened %" PRIu64 "; of all sent, intact: blocks of 32 bytes %.2f %%, headers of 52 bytes %.2f %%; "
            "bit error rate of damaged frames %.2e",
            tally->frames, tally->not_detected, tally->intact, 100 * share(tally->intact, tally->frames), tally->damaged,
            tally->shortened, 100 * share(tally->intact_blocks, tally->blocks),
            100 * share(tally->intact_headers, tally->frames), share(tally->wrong_bits, tally->bits));
}

void tally_json(const struct tally *tally, FILE *file)
{
    fprintf(file,
            "\"frames\": %" PRIu64 ", \"not_detected\": %" PRIu64 ", \"intact\": %" PRIu64 ", \"damaged\": %" PRIu64
            ", \"shortened\": %" PRIu64 ", \"intact_share\": %.6f, \"intact_blocks_share\": %.6f, "
            "\"intact_headers_share\": %.6f, \"bit_error_rate\": %.3e",
            tally->frames, tally->not_detected, tally->intact, tally->damaged, tally->shortened,
            share(tally->intact, tally->frames), share(tally->intact_blocks, tally->blocks),
            share(tally->intact_headers, tally->frames), share(tally->wrong_bits, tally->bits));
}
