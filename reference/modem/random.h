// Random numbers that depend on a seed alone (xoshiro256**, Blackman and Vigna 2018).
#ifndef MODEM_RANDOM_H
#define MODEM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
    double spare; // the second of a pair of Gaussian numbers
    int has_spare;
};

// Streams of one seed are independent.
void random_init(struct random *random, uint64_t seed, uint64_t stream);
uint64_t random_next(struct random *random);
// At least 0, less than 1.
double random_uniform(struct random *random);
// Mean 0, standard deviation 1.
double random_gaussian(struct random *random);
void random_fill(struct random *random, unsigned char *bytes, size_t length);

#endif
