// What became of frames, counted.
#ifndef MODEM_TALLY_H
#define MODEM_TALLY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "phy.h"

struct tally {
    uint64_t frames, not_detected, intact, damaged, shortened; // damaged: of the length that was sent
    uint64_t blocks, intact_blocks;                            // of 32 bytes, the last of a frame may be shorter
    uint64_t intact_headers;                                   // the first 52 bytes
    uint64_t bits, wrong_bits;                                 // of damaged frames
};

enum outcome { NOT_DETECTED, INTACT, DAMAGED, SHORTENED };

// `received` is NULL if nothing was.
enum outcome tally_frame(struct tally *tally, const unsigned char *sent, size_t length, const struct received *received);
// One line, without its end.
void tally_print(const struct tally *tally, FILE *file);
// Members of a JSON object, without the braces.
void tally_json(const struct tally *tally, FILE *file);

#endif
