#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <liquid/liquid.h>

#define BOTH (1 << COMMAND_TRACE | 1 << COMMAND_LIVE)
#define MOST_PARTS 4

struct option {
    const char *name;
    int commands; // a bit for each
    const char *value;
    const char *expected;
    const char *help;
    int (*read)(struct options *options, const char *text); // whether the text is right
};

static int read_snr(struct options *options, const char *text);
static int read_modulation(struct options *options, const char *text);
static int read_fec(struct options *options, const char *text);
static int read_check(struct options *options, const char *text);
static int read_channel(struct options *options, const char *text);
static int read_taps(struct options *options, const char *text);
static int read_shadowing(struct options *options, const char *text);
static int read_cfo(struct options *options, const char *text);
static int read_squelch(struct options *options, const char *text);
static int read_seed(struct options *options, const char *text);
static int read_frames(struct options *options, const char *text);
static int read_size(struct options *options, const char *text);
static int read_near(struct options *options, const char *text);
static int read_far(struct options *options, const char *text);
static int read_near_peer(struct options *options, const char *text);
static int read_far_peer(struct options *options, const char *text);
static int read_rate(struct options *options, const char *text);
static int read_queue(struct options *options, const char *text);
static int read_duration(struct options *options, const char *text);
static int read_json(struct options *options, const char *text);

#define ADDRESS "a Unix datagram socket such as unix:/run/near, or a loopback address for UDP such as 127.0.0.1:5000 or [::1]:5000"

static const struct option OPTIONS[] = {
    {"--snr", BOTH, "DB", "a signal-to-noise ratio from -50dB to 100dB, such as 11dB",
     "Of the transmitted signal, before taps and shadowing, to the noise; required", read_snr},
    {"--modulation", BOTH, "NAME", "bpsk, qpsk, 8psk, 16qam or gmsk",
     "Of the subcarriers of OFDM, or GMSK [qpsk]", read_modulation},
    {"--fec", BOTH, "NAME", "none, rep3, rep5, h74, h84, h128, g2412, secded2216, secded3932 or secded7264",
     "Outer code of the payload, as liquid-dsp names it [none]", read_fec},
    {"--check", BOTH, "NAME", "none, crc16, crc24 or crc32",
     "The modem's own check of the payload: adds bytes, and says whether it failed [none]", read_check},
    {"--channel", BOTH, "NAME", "awgn or multipath",
     "Noise alone, or also taps and slow shadowing [awgn]", read_channel},
    {"--taps", BOTH, "fixed|N", "fixed, or from 2 to 16 taps, with --channel multipath",
     "Of multipath: the four fixed ones, or N drawn from the seed [fixed]", read_taps},
    {"--shadowing", BOTH, "MODEL", "none, lognormal:DEVIATION:SAMPLES such as lognormal:6.5dB:1000, or gilbert:GOOD:BAD:DEPTH "
     "such as gilbert:200000:20000:15dB, lengths from 1 to 1e12 samples, levels from 0dB to 100dB",
     "[none; with multipath lognormal:6.48dB:1000]", read_shadowing},
    {"--cfo", BOTH, "RADIANS", "from -0.05 to 0.05 radians per sample, such as 0.0005",
     "Carrier frequency offset [0.0005]", read_cfo},
    {"--squelch", BOTH, "DB", "none, or a level from -100dB to 0dB such as -12dB, without --fec",
     "The received power, relative to the transmitted, below which a frame ends [none]", read_squelch},
    {"--seed", BOTH, "N", "a number from 0 to 18446744073709551615", "Of all that is random [1]", read_seed},
    {"--json", BOTH, "FILE", "a file that can be written", "Write the statistics there as JSON", read_json},
    {"--frames", 1 << COMMAND_TRACE, "N", "from 1 to 1000000 frames", "How many [1000]", read_frames},
    {"--size", 1 << COMMAND_TRACE, "BYTES", "from 1 to 65499 bytes", "Length of each frame [1500]", read_size},
    {"--near", 1 << COMMAND_LIVE, "ADDRESS", ADDRESS, "Socket of one end; required", read_near},
    {"--far", 1 << COMMAND_LIVE, "ADDRESS", ADDRESS, "Socket of the other end; required", read_far},
    {"--near-peer", 1 << COMMAND_LIVE, "ADDRESS", ADDRESS,
     "Where --near sends [to whom it received from last]", read_near_peer},
    {"--far-peer", 1 << COMMAND_LIVE, "ADDRESS", ADDRESS, "Where --far sends [likewise]", read_far_peer},
    {"--rate", 1 << COMMAND_LIVE, "RATE", "a rate from 1kbit to 1gbit, such as 2mbit",
     "Of each direction: how long a frame occupies the channel [not paced]", read_rate},
    {"--queue", 1 << COMMAND_LIVE, "FRAMES", "from 1 to 65536 frames",
     "Of each direction, where frames wait for the channel; what does not fit is dropped [64]", read_queue},
    {"--duration", 1 << COMMAND_LIVE, "TIME", "a time from 1ms to 1000h, such as 60s",
     "End after this time [at SIGINT or SIGTERM]", read_duration},
};
#define OPTION_COUNT (sizeof OPTIONS / sizeof *OPTIONS)

static const char *const COMMANDS[] = {"trace", "live"};

static void refuse_missing(const char *name);
static void check_together(struct options *options);

struct options options_read(enum command command, char **words)
{
    struct options options = {
        .phy = {.modulation = LIQUID_MODEM_QPSK, .fec = LIQUID_FEC_NONE, .crc = LIQUID_CRC_NONE, .squelch_db = -INFINITY},
        .channel = {.snr_db = NAN, .cfo = 0.0005, .shadowing = SHADOWING_NONE, .deviation_db = -1},
        .seed = 1, .frames = 1000, .size = 1500, .queue = 64,
    };
    for (; *words; words++) {
        const struct option *option = NULL;
        for (size_t i = 0; i < OPTION_COUNT; i++)
            if (OPTIONS[i].commands & 1 << command && strcmp(OPTIONS[i].name, *words) == 0)
                option = &OPTIONS[i];
        if (option == NULL) {
            char name[32];
            snprintf(name, sizeof name, "modem %s", COMMANDS[command]);
            options_refuse(name, "an option that --help lists, such as --snr", *words);
        }
        words++;
        if (*words == NULL || !option->read(&options, *words))
            options_refuse(option->name, option->expected, *words);
    }
    if (isnan(options.channel.snr_db))
        refuse_missing("--snr");
    if (command == COMMAND_LIVE && options.near == NULL)
        refuse_missing("--near");
    if (command == COMMAND_LIVE && options.far == NULL)
        refuse_missing("--far");
    check_together(&options);
    return options;
}

void options_help(void)
{
    puts("A software modem over a channel model. What it does to frames, as a damage trace or in real time.\n\n"
         "  modem trace --snr 11dB > awgn-11dB.txt\n"
         "  modem live --snr 11dB --near 127.0.0.1:5000 --far 127.0.0.1:5001 --rate 2mbit");
    static const char *const TITLES[] = {"Both", "trace", "live"};
    static const int SETS[] = {BOTH, 1 << COMMAND_TRACE, 1 << COMMAND_LIVE};
    for (int set = 0; set < 3; set++) {
        printf("\n%s:\n", TITLES[set]);
        for (size_t i = 0; i < OPTION_COUNT; i++)
            if (OPTIONS[i].commands == SETS[set])
                printf("  %s %s\n      %s.\n      Expected: %s.\n", OPTIONS[i].name, OPTIONS[i].value, OPTIONS[i].help,
                       OPTIONS[i].expected);
    }
}

void options_refuse(const char *option, const char *expected, const char *found)
{
    fprintf(stderr, "%s: expected %s; found ", option, expected);
    if (found == NULL) {
        fputs("nothing\n", stderr);
        exit(2);
    }
    fputc('"', stderr);
    // One line, whatever was given.
    for (size_t i = 0; found[i] && i < 100; i++) {
        unsigned char c = (unsigned char)found[i];
        if (c < ' ' || c == 127 || c == '"' || c == '\\')
            fprintf(stderr, "\\x%02x", c);
        else
            fputc(c, stderr);
    }
    fputs(strlen(found) > 100 ? "\"...\n" : "\"\n", stderr);
    exit(2);
}

static void refuse_missing(const char *name)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (strcmp(OPTIONS[i].name, name) == 0)
            options_refuse(name, OPTIONS[i].expected, NULL);
    abort();
}

// What depends on two options.
static void check_together(struct options *options)
{
    struct channel_config *channel = &options->channel;
    if (!channel->is_multipath && channel->drawn_taps != 0)
        options_refuse("--taps", "--channel multipath with a number of taps", "awgn");
    if (options->phy.fec != LIQUID_FEC_NONE && !isinf(options->phy.squelch_db))
        options_refuse("--squelch", "no --fec, whose interleaver puts the end of a frame anywhere", fec_scheme_str[options->phy.fec][0]);
    // As liquid-dsp's channel does with a standard deviation of 2 dB and a Doppler frequency of 0.001.
    if (channel->is_multipath && channel->deviation_db < 0) {
        channel->shadowing = SHADOWING_LOG_NORMAL;
        channel->deviation_db = 6.48;
        channel->coherence = 1000;
    }
}

// A number with a unit, which may be missing if `unit` is preceded by a `?`.
static int read_number(const char *text, const char *unit, double least, double most, double *number)
{
    // strtod would also read white space, infinities, and hexadecimal numbers.
    if (strspn(text, "+-.0123456789eE") == 0)
        return 0;
    char *end;
    double value = strtod(text, &end);
    int is_optional = *unit == '?';
    if (end == text || (strcmp(end, unit + is_optional) != 0 && !(is_optional && *end == '\0')))
        return 0;
    if (!(value >= least && value <= most))
        return 0;
    *number = value;
    return 1;
}

static int read_whole(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno != 0 || value < least || value > most)
        return 0;
    *number = value;
    return 1;
}

static int read_snr(struct options *options, const char *text)
{
    return read_number(text, "?dB", -50, 100, &options->channel.snr_db);
}

static int read_modulation(struct options *options, const char *text)
{
    static const struct {
        const char *name;
        int scheme;
    } SCHEMES[] = {
        {"bpsk", LIQUID_MODEM_BPSK}, {"qpsk", LIQUID_MODEM_QPSK}, {"8psk", LIQUID_MODEM_PSK8}, {"16qam", LIQUID_MODEM_QAM16},
    };
    options->phy.is_gmsk = strcmp(text, "gmsk") == 0;
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++) {
        if (strcmp(text, SCHEMES[i].name) == 0) {
            options->phy.modulation = SCHEMES[i].scheme;
            return 1;
        }
    }
    return options->phy.is_gmsk;
}

// The codes that liquid-dsp has by itself, without libfec.
static int read_fec(struct options *options, const char *text)
{
    for (int scheme = LIQUID_FEC_NONE; scheme <= LIQUID_FEC_SECDED7264; scheme++) {
        if (strcmp(text, fec_scheme_str[scheme][0]) == 0) {
            options->phy.fec = scheme;
            return 1;
        }
    }
    return 0;
}

static int read_check(struct options *options, const char *text)
{
    static const struct {
        const char *name;
        int scheme;
    } SCHEMES[] = {
        {"none", LIQUID_CRC_NONE}, {"crc16", LIQUID_CRC_16}, {"crc24", LIQUID_CRC_24}, {"crc32", LIQUID_CRC_32},
    };
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++) {
        if (strcmp(text, SCHEMES[i].name) == 0) {
            options->phy.crc = SCHEMES[i].scheme;
            return 1;
        }
    }
    return 0;
}

static int read_channel(struct options *options, const char *text)
{
    options->channel.is_multipath = strcmp(text, "multipath") == 0;
    return options->channel.is_multipath || strcmp(text, "awgn") == 0;
}

static int read_taps(struct options *options, const char *text)
{
    uint64_t taps = 0;
    if (strcmp(text, "fixed") != 0 && !read_whole(text, 2, MOST_TAPS, &taps))
        return 0;
    options->channel.drawn_taps = (unsigned)taps;
    return 1;
}

static int read_shadowing(struct options *options, const char *text)
{
    struct channel_config *channel = &options->channel;
    char copy[128];
    if (strlen(text) >= sizeof copy)
        return 0;
    strcpy(copy, text);
    char *parts[MOST_PARTS], *rest = copy;
    int count = 0;
    for (char *part; (part = strsep(&rest, ":")) != NULL; count++) {
        if (count == MOST_PARTS)
            return 0;
        parts[count] = part;
    }
    if (count == 1 && strcmp(parts[0], "none") == 0) {
        channel->shadowing = SHADOWING_NONE;
        channel->deviation_db = 0;
        return 1;
    }
    if (count == 3 && strcmp(parts[0], "lognormal") == 0) {
        channel->shadowing = SHADOWING_LOG_NORMAL;
        return read_number(parts[1], "?dB", 0, 100, &channel->deviation_db)
            && read_number(parts[2], "", 1, 1e12, &channel->coherence);
    }
    if (count == 4 && strcmp(parts[0], "gilbert") == 0) {
        channel->shadowing = SHADOWING_GILBERT;
        channel->deviation_db = 0;
        return read_number(parts[1], "", 1, 1e12, &channel->good_samples)
            && read_number(parts[2], "", 1, 1e12, &channel->bad_samples)
            && read_number(parts[3], "?dB", 0, 100, &channel->depth_db);
    }
    return 0;
}

static int read_cfo(struct options *options, const char *text)
{
    return read_number(text, "", -0.05, 0.05, &options->channel.cfo);
}

static int read_squelch(struct options *options, const char *text)
{
    if (strcmp(text, "none") == 0) {
        options->phy.squelch_db = -INFINITY;
        return 1;
    }
    return read_number(text, "?dB", -100, 0, &options->phy.squelch_db);
}

static int read_seed(struct options *options, const char *text)
{
    return read_whole(text, 0, UINT64_MAX, &options->seed);
}

static int read_frames(struct options *options, const char *text)
{
    return read_whole(text, 1, 1000000, &options->frames);
}

static int read_size(struct options *options, const char *text)
{
    return read_whole(text, 1, LONGEST_FRAME, &options->size);
}

// Addresses are resolved when their sockets are opened.
static int read_word(const char **word, const char *text)
{
    *word = text;
    return *text != '\0';
}

static int read_near(struct options *options, const char *text)
{
    return read_word(&options->near, text);
}

static int read_far(struct options *options, const char *text)
{
    return read_word(&options->far, text);
}

static int read_near_peer(struct options *options, const char *text)
{
    return read_word(&options->near_peer, text);
}

static int read_far_peer(struct options *options, const char *text)
{
    return read_word(&options->far_peer, text);
}

static int read_json(struct options *options, const char *text)
{
    return read_word(&options->json, text);
}

static int read_rate(struct options *options, const char *text)
{
    static const struct {
        const char *unit;
        double bits;
    } UNITS[] = {{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (read_number(text, UNITS[i].unit, 1e3 / UNITS[i].bits, 1e9 / UNITS[i].bits, &options->bits_per_second)) {
            options->bits_per_second *= UNITS[i].bits;
            return 1;
        }
    }
    return 0;
}

static int read_queue(struct options *options, const char *text)
{
    return read_whole(text, 1, 65536, &options->queue);
}

static int read_duration(struct options *options, const char *text)
{
    static const struct {
        const char *unit;
        double seconds;
    } UNITS[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (read_number(text, UNITS[i].unit, 1e-3 / UNITS[i].seconds, 3.6e6 / UNITS[i].seconds, &options->seconds)) {
            options->seconds *= UNITS[i].seconds;
            return 1;
        }
    }
    return 0;
}
