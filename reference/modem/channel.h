// What a signal meets between two modems: taps, shadowing, a carrier frequency offset, and white Gaussian noise.
#ifndef MODEM_CHANNEL_H
#define MODEM_CHANNEL_H

#include <complex.h>
#include <stddef.h>
#include <stdint.h>

#include "random.h"

#define MOST_TAPS 16

enum shadowing { SHADOWING_NONE, SHADOWING_LOG_NORMAL, SHADOWING_GILBERT };

struct channel_config {
    double snr_db;        // of the transmitted signal, before taps and shadowing, to the noise
    unsigned drawn_taps;  // how many are drawn from the seed; 0: the fixed ones
    int is_multipath;
    enum shadowing shadowing;
    double deviation_db;  // log-normal: standard deviation
    double coherence;     // log-normal: samples after which the correlation is 1/e
    double good_samples;  // Gilbert: mean length of the time at full level
    double bad_samples;   // Gilbert: mean length of the time at the level -depth_db
    double depth_db;
    double cfo;           // carrier frequency offset in radians per sample
};

struct channel {
    struct channel_config config;
    struct random noise, fading;
    unsigned tap_count;
    float complex taps[MOST_TAPS], history[MOST_TAPS];
    double complex carrier, carrier_step;
    double noise_deviation;
    double gain_db;  // log-normal
    int is_bad;      // Gilbert
    float bad_gain;  // Gilbert
};

// The same configuration, seed and stream always give the same channel.
void channel_init(struct channel *channel, const struct channel_config *config, uint64_t seed, uint64_t stream);
// Replaces transmitted samples by received ones.
void channel_run(struct channel *channel, float complex *samples, size_t count);
// Lets time pass in which nothing is transmitted and no one listens: shadowing changes.
void channel_idle(struct channel *channel, double samples);

#endif
