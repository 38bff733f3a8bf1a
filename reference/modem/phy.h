// A frame modulated, carried over a channel and demodulated, by liquid-dsp.
#ifndef MODEM_PHY_H
#define MODEM_PHY_H

#include <stddef.h>
#include <stdint.h>

#include "channel.h"

// A frame with its header of a datagram fits into a UDP datagram over IPv4.
#define LONGEST_FRAME 65499

enum check { CHECK_UNKNOWN, CHECK_PASSED, CHECK_FAILED };

struct phy_config {
    int is_gmsk;
    int modulation;  // of OFDM: liquid-dsp's modulation_scheme
    int fec;         // liquid-dsp's fec_scheme
    int crc;         // liquid-dsp's crc_scheme
    double squelch_db; // the received power below which a frame ends, relative to the transmitted one; -INFINITY: none
};

// What the demodulator hands up.
struct received {
    const unsigned char *data;
    size_t length;
    enum check check;
    int is_cut;      // the squelch has closed before the end of the frame
    double rssi_db;  // mean power of the payload, relative to the transmitted one
    double snr_db;   // estimated from the error vectors of the frame's header; NAN: no estimate
};

struct phy;

// NULL if liquid-dsp refuses the configuration.
struct phy *phy_create(const struct phy_config *config);
void phy_destroy(struct phy *phy);

// Transmits one frame of 1 to LONGEST_FRAME bytes with a number in its header, which the channel damages like all else.
// Whether something was received that has this number; it stays until the next call.
int phy_transmit(struct phy *phy, struct channel *channel, uint32_t number, const unsigned char *data, size_t length,
                 struct received *received);

// Samples that a frame takes, with preamble and header.
size_t phy_samples(struct phy *phy, size_t length);

#endif
