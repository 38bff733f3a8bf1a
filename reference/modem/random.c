#include "random.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586;

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

// SplitMix64, which the authors of xoshiro recommend for its state.
static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void random_init(struct random *random, uint64_t seed, uint64_t stream)
{
    uint64_t state = split_mix(&seed) + stream;
    for (int i = 0; i < 4; i++)
        random->state[i] = split_mix(&state);
    random->spare = 0;
    random->has_spare = 0;
}

uint64_t random_next(struct random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9, shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

double random_uniform(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

// Box and Muller.
double random_gaussian(struct random *random)
{
    if (random->has_spare) {
        random->has_spare = 0;
        return random->spare;
    }
    double radius = sqrt(-2 * log(1 - random_uniform(random)));
    double angle = TWO_PI * random_uniform(random);
    random->spare = radius * sin(angle);
    random->has_spare = 1;
    return radius * cos(angle);
}

void random_fill(struct random *random, unsigned char *bytes, size_t length)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (i % 8 == 0)
            value = random_next(random);
        bytes[i] = (unsigned char)(value >> i % 8 * 8);
    }
}
