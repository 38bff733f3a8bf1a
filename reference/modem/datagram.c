#include "datagram.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define VERSION 1
#define FLAG_CUT 4
#define UNKNOWN_LEVEL INT16_MIN

static void put_level(unsigned char *place, double level_db);

const unsigned char *datagram_frame(const unsigned char *datagram, size_t length, size_t *frame_length)
{
    if (length < DATAGRAM_HEADER || datagram[0] > VERSION)
        return NULL;
    *frame_length = length - DATAGRAM_HEADER;
    return datagram + DATAGRAM_HEADER;
}

void datagram_header(const struct received *received, unsigned char header[DATAGRAM_HEADER])
{
    memset(header, 0, DATAGRAM_HEADER);
    header[0] = VERSION;
    // CHECK_UNKNOWN, CHECK_PASSED, CHECK_FAILED: 0, 1, 2.
    header[1] = (unsigned char)(received->check | (received->is_cut ? FLAG_CUT : 0));
    put_level(header + 2, received->rssi_db);
    put_level(header + 4, received->snr_db);
}

// Tenths of a decibel, as far as they fit.
static void put_level(unsigned char *place, double level_db)
{
    int16_t level = UNKNOWN_LEVEL;
    if (!isnan(level_db))
        level = (int16_t)lround(fmax(-3000, fmin(3000, level_db)) * 10);
    place[0] = (unsigned char)((uint16_t)level >> 8);
    place[1] = (unsigned char)level;
}
