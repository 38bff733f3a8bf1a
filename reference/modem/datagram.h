// The header of each datagram on the modem's sockets: README.md has the table.
#ifndef MODEM_DATAGRAM_H
#define MODEM_DATAGRAM_H

#include <stddef.h>

#include "phy.h"

#define DATAGRAM_HEADER 8

// The frame in a datagram from a host; NULL if its header is wrong or too short. Of the header only the version counts.
const unsigned char *datagram_frame(const unsigned char *datagram, size_t length, size_t *frame_length);
// The header of what was received.
void datagram_header(const struct received *received, unsigned char header[DATAGRAM_HEADER]);

#endif
