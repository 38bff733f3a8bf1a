#include "channel.h"

#include <math.h>
#include <string.h>

static const double DECIBEL = 0.11512925464970229; // of an amplitude: ln(10) / 20
// Those of liquid-dsp's channel with four taps that it chooses itself.
static const float complex FIXED_TAPS[] = {
    1.0f,
    0.2109375f + 0.068359375f * I,
    -0.009765625f + 0.1484375f * I,
    -0.228515625f + 0.19140625f * I,
};
static const double FIRST_PHASE = 0.1;

static float complex through_taps(struct channel *channel, float complex sample);
static float shadow(struct channel *channel);

void channel_init(struct channel *channel, const struct channel_config *config, uint64_t seed, uint64_t stream)
{
    memset(channel, 0, sizeof *channel);
    channel->config = *config;
    random_init(&channel->noise, seed, 4 * stream);
    random_init(&channel->fading, seed, 4 * stream + 1);
    channel->noise_deviation = pow(10, -config->snr_db / 20) / sqrt(2);
    channel->carrier = cexp(FIRST_PHASE * I);
    channel->carrier_step = cexp(config->cfo * I);
    channel->bad_gain = (float)exp(-config->depth_db * DECIBEL);

    channel->tap_count = 1;
    channel->taps[0] = 1;
    if (config->is_multipath && config->drawn_taps == 0) {
        channel->tap_count = sizeof FIXED_TAPS / sizeof *FIXED_TAPS;
        memcpy(channel->taps, FIXED_TAPS, sizeof FIXED_TAPS);
    } else if (config->is_multipath) {
        // As spread as the fixed ones: both parts uniform between -0.25 and 0.25.
        struct random taps;
        random_init(&taps, seed, 4 * stream + 2);
        channel->tap_count = config->drawn_taps;
        for (unsigned i = 1; i < channel->tap_count; i++) {
            float re = (float)(random_uniform(&taps) - 0.5) / 2, im = (float)(random_uniform(&taps) - 0.5) / 2;
            channel->taps[i] = re + im * I;
        }
    }

    // The state that shadowing has after a long time.
    if (config->shadowing == SHADOWING_LOG_NORMAL)
        channel->gain_db = config->deviation_db * random_gaussian(&channel->fading);
    if (config->shadowing == SHADOWING_GILBERT)
        channel->is_bad = random_uniform(&channel->fading) * (config->good_samples + config->bad_samples) < config->bad_samples;
}

void channel_run(struct channel *channel, float complex *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float complex sample = through_taps(channel, samples[i]) * shadow(channel);
        sample *= (float complex)channel->carrier;
        channel->carrier *= channel->carrier_step;
        float re = (float)(channel->noise_deviation * random_gaussian(&channel->noise));
        float im = (float)(channel->noise_deviation * random_gaussian(&channel->noise));
        samples[i] = sample + re + im * I;
    }
    channel->carrier /= cabs(channel->carrier);
}

void channel_idle(struct channel *channel, double samples)
{
    const struct channel_config *config = &channel->config;
    if (config->shadowing == SHADOWING_LOG_NORMAL) {
        double kept = exp(-samples / config->coherence);
        channel->gain_db = kept * channel->gain_db
            + sqrt(1 - kept * kept) * config->deviation_db * random_gaussian(&channel->fading);
    } else if (config->shadowing == SHADOWING_GILBERT) {
        double mean_bad = config->bad_samples / (config->good_samples + config->bad_samples);
        double kept = pow(fmax(0, 1 - 1 / config->good_samples - 1 / config->bad_samples), samples);
        double bad = mean_bad + (channel->is_bad - mean_bad) * kept;
        channel->is_bad = random_uniform(&channel->fading) < bad;
    }
}

static float complex through_taps(struct channel *channel, float complex sample)
{
    if (channel->tap_count == 1)
        return sample;
    memmove(channel->history + 1, channel->history, (channel->tap_count - 1) * sizeof sample);
    channel->history[0] = sample;
    float complex sum = 0;
    for (unsigned i = 0; i < channel->tap_count; i++)
        sum += channel->taps[i] * channel->history[i];
    return sum;
}

// The factor of the next sample.
static float shadow(struct channel *channel)
{
    const struct channel_config *config = &channel->config;
    switch (config->shadowing) {
    case SHADOWING_LOG_NORMAL: {
        // A process of first order, whose correlation decays exponentially.
        double step = 1 / config->coherence;
        channel->gain_db += -step * channel->gain_db
            + sqrt(step * (2 - step)) * config->deviation_db * random_gaussian(&channel->fading);
        return expf((float)(channel->gain_db * DECIBEL));
    }
    case SHADOWING_GILBERT: {
        double mean = channel->is_bad ? config->bad_samples : config->good_samples;
        if (random_uniform(&channel->fading) * mean < 1)
            channel->is_bad = !channel->is_bad;
        return channel->is_bad ? channel->bad_gain : 1.0f;
    }
    case SHADOWING_NONE:
        break;
    }
    return 1.0f;
}
