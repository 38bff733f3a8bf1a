#include "phy.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <liquid/liquid.h>

#define SUBCARRIERS 64
#define CYCLIC_PREFIX 16
#define TAPER 4
#define USER_HEADER 8
#define GMSK_SAMPLES_PER_SYMBOL 2

// Samples are processed, and their power is measured, in steps of this many.
#define STEP 16
// The squelch averages over this many steps: one OFDM symbol.
#define SQUELCH_STEPS ((SUBCARRIERS + CYCLIC_PREFIX) / STEP)
// What the receiver hears after each frame: noise, which also flushes its filters.
#define TAIL_SAMPLES 1024

struct phy {
    struct phy_config config;
    ofdmflexframegen ofdm_generator;
    ofdmflexframesync ofdm_synchronizer;
    gmskframegen gmsk_generator;
    struct gmskframesync_s *gmsk_synchronizer; // a header of liquid-dsp 1.5 marks its other name as deprecated by mistake
    unsigned data_subcarriers;

    // Of the frame in transmission:
    uint32_t number;
    float complex *samples; // transmitted, with its tail; each step is overwritten by what was received
    float *powers;          // mean received power of each step
    size_t steps, most_steps;
    int has_received;
    struct received received;
    unsigned char data[LONGEST_FRAME];
};

static void assemble(struct phy *phy, uint32_t number, const unsigned char *data, size_t length);
static size_t modulate(struct phy *phy, uint32_t number, const unsigned char *data, size_t length);
static void reserve(struct phy *phy, size_t steps);
static int generate(struct phy *phy, float complex *samples);
static void listen(struct phy *phy, struct channel *channel, float complex *samples);
static int on_frame(unsigned char *header, int header_valid, unsigned char *payload, unsigned length, int payload_valid,
                    framesyncstats_s stats, void *context);
static void measure(struct phy *phy, unsigned length);
static size_t payload_samples(struct phy *phy, size_t length);

struct phy *phy_create(const struct phy_config *config)
{
    struct phy *phy = calloc(1, sizeof *phy);
    if (phy == NULL)
        return NULL;
    phy->config = *config;
    if (config->is_gmsk) {
        phy->gmsk_generator = gmskframegen_create();
        phy->gmsk_synchronizer = gmskframesync_create(on_frame, phy);
    } else {
        ofdmflexframegenprops_s properties;
        ofdmflexframegenprops_init_default(&properties);
        properties.check = (unsigned)config->crc;
        properties.fec0 = (unsigned)config->fec;
        properties.fec1 = LIQUID_FEC_NONE;
        properties.mod_scheme = (unsigned)config->modulation;
        unsigned char carriers[SUBCARRIERS];
        ofdmframe_init_default_sctype(SUBCARRIERS, carriers);
        unsigned nulls, pilots;
        ofdmframe_validate_sctype(carriers, SUBCARRIERS, &nulls, &pilots, &phy->data_subcarriers);
        phy->ofdm_generator = ofdmflexframegen_create(SUBCARRIERS, CYCLIC_PREFIX, TAPER, carriers, &properties);
        phy->ofdm_synchronizer = ofdmflexframesync_create(SUBCARRIERS, CYCLIC_PREFIX, TAPER, carriers, on_frame, phy);
    }
    if (config->is_gmsk ? !phy->gmsk_generator || !phy->gmsk_synchronizer : !phy->ofdm_generator || !phy->ofdm_synchronizer) {
        phy_destroy(phy);
        return NULL;
    }
    return phy;
}

void phy_destroy(struct phy *phy)
{
    if (phy == NULL)
        return;
    if (phy->ofdm_generator)
        ofdmflexframegen_destroy(phy->ofdm_generator);
    if (phy->ofdm_synchronizer)
        ofdmflexframesync_destroy(phy->ofdm_synchronizer);
    if (phy->gmsk_generator)
        gmskframegen_destroy(phy->gmsk_generator);
    if (phy->gmsk_synchronizer)
        gmskframesync_destroy(phy->gmsk_synchronizer);
    free(phy->samples);
    free(phy->powers);
    free(phy);
}

int phy_transmit(struct phy *phy, struct channel *channel, uint32_t number, const unsigned char *data, size_t length,
                 struct received *received)
{
    phy->number = number;
    phy->steps = 0;
    phy->has_received = 0;
    size_t steps = modulate(phy, number, data, length);
    for (size_t step = 0; step < steps; step++)
        listen(phy, channel, phy->samples + step * STEP);
    *received = phy->received;
    return phy->has_received;
}

size_t phy_samples(struct phy *phy, size_t length)
{
    static const unsigned char zeros[LONGEST_FRAME];
    assemble(phy, 0, zeros, length);
    size_t samples;
    if (phy->config.is_gmsk) {
        samples = gmskframegen_getframelen(phy->gmsk_generator);
        gmskframegen_reset(phy->gmsk_generator);
    } else {
        samples = (size_t)ofdmflexframegen_getframelen(phy->ofdm_generator) * (SUBCARRIERS + CYCLIC_PREFIX);
        ofdmflexframegen_reset(phy->ofdm_generator);
    }
    return samples;
}

static void assemble(struct phy *phy, uint32_t number, const unsigned char *data, size_t length)
{
    unsigned char header[USER_HEADER] = {
        (unsigned char)(number >> 24), (unsigned char)(number >> 16), (unsigned char)(number >> 8), (unsigned char)number,
    };
    if (phy->config.is_gmsk)
        gmskframegen_assemble(phy->gmsk_generator, header, data, (unsigned)length, (crc_scheme)phy->config.crc,
                              (fec_scheme)phy->config.fec, LIQUID_FEC_NONE);
    else
        ofdmflexframegen_assemble(phy->ofdm_generator, header, data, (unsigned)length);
}

// Writes a frame and its tail to `samples`; how many steps they are.
static size_t modulate(struct phy *phy, uint32_t number, const unsigned char *data, size_t length)
{
    // liquid-dsp fills frames up with symbols from the C library's generator, which all threads share.
    static pthread_mutex_t generator = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&generator);
    srand(number + 1);
    assemble(phy, number, data, length);
    size_t steps = 0;
    for (int is_last = 0; !is_last; steps++) {
        reserve(phy, steps + 1 + TAIL_SAMPLES / STEP);
        is_last = generate(phy, phy->samples + steps * STEP);
    }
    pthread_mutex_unlock(&generator);
    memset(phy->samples + steps * STEP, 0, TAIL_SAMPLES * sizeof *phy->samples);
    return steps + TAIL_SAMPLES / STEP;
}

static void reserve(struct phy *phy, size_t steps)
{
    if (steps <= phy->most_steps)
        return;
    phy->most_steps = 2 * steps;
    phy->samples = realloc(phy->samples, phy->most_steps * STEP * sizeof *phy->samples);
    phy->powers = realloc(phy->powers, phy->most_steps * sizeof *phy->powers);
    if (phy->samples == NULL || phy->powers == NULL)
        abort();
}

// The next step of the frame; whether it was the last.
static int generate(struct phy *phy, float complex *samples)
{
    if (phy->config.is_gmsk)
        return gmskframegen_write(phy->gmsk_generator, samples, STEP);
    return ofdmflexframegen_write(phy->ofdm_generator, samples, STEP);
}

static void listen(struct phy *phy, struct channel *channel, float complex *samples)
{
    channel_run(channel, samples, STEP);
    float power = 0;
    for (int i = 0; i < STEP; i++)
        power += crealf(samples[i]) * crealf(samples[i]) + cimagf(samples[i]) * cimagf(samples[i]);
    phy->powers[phy->steps++] = power / STEP;
    if (phy->config.is_gmsk)
        gmskframesync_execute(phy->gmsk_synchronizer, samples, STEP);
    else
        ofdmflexframesync_execute(phy->ofdm_synchronizer, samples, STEP);
}

// liquid-dsp calls this with each frame whose header was received, and for headers that are damaged.
static int on_frame(unsigned char *header, int header_valid, unsigned char *payload, unsigned length, int payload_valid,
                    framesyncstats_s stats, void *context)
{
    struct phy *phy = context;
    if (!header_valid || payload == NULL || length == 0 || length > LONGEST_FRAME || phy->has_received)
        return 0;
    uint32_t number = (uint32_t)header[0] << 24 | (uint32_t)header[1] << 16 | (uint32_t)header[2] << 8 | header[3];
    if (number != phy->number)
        return 0;
    struct received *received = &phy->received;
    memcpy(phy->data, payload, length);
    received->data = phy->data;
    received->check = phy->config.crc == LIQUID_CRC_NONE ? CHECK_UNKNOWN : payload_valid ? CHECK_PASSED : CHECK_FAILED;
    // liquid-dsp estimates no error vectors of GMSK.
    received->snr_db = phy->config.is_gmsk ? NAN : -stats.evm;
    measure(phy, length);
    if (received->is_cut)
        received->check = CHECK_FAILED;
    phy->has_received = received->length > 0;
    return 0;
}

// The power of the payload, which ends now, and where the squelch cuts it.
static void measure(struct phy *phy, unsigned length)
{
    size_t steps = payload_samples(phy, length) / STEP;
    if (steps > phy->steps)
        steps = phy->steps;
    if (steps == 0)
        steps = 1;
    const float *powers = phy->powers + phy->steps - steps;
    double sum = 0, least = pow(10, phy->config.squelch_db / 10);
    size_t open = steps; // steps before the squelch closes
    for (size_t i = 0; i < steps; i++) {
        sum += powers[i];
        if (i + SQUELCH_STEPS > steps || open < steps)
            continue;
        double mean = 0;
        for (size_t j = i; j < i + SQUELCH_STEPS; j++)
            mean += powers[j] / SQUELCH_STEPS;
        if (mean < least)
            open = i;
    }
    phy->received.rssi_db = 10 * log10(sum / (double)steps + 1e-12);
    phy->received.is_cut = open < steps;
    phy->received.length = open < steps ? (size_t)length * open / steps : length;
}

// Samples of the payload alone.
static size_t payload_samples(struct phy *phy, size_t length)
{
    size_t bits = 8 * (size_t)packetizer_compute_enc_msg_len((unsigned)length, phy->config.crc, phy->config.fec, LIQUID_FEC_NONE);
    if (phy->config.is_gmsk)
        return bits * GMSK_SAMPLES_PER_SYMBOL;
    size_t bits_per_symbol = modulation_types[phy->config.modulation].bps * phy->data_subcarriers;
    return (bits + bits_per_symbol - 1) / bits_per_symbol * (SUBCARRIERS + CYCLIC_PREFIX);
}
