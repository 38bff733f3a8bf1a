// The words of a command line.
#ifndef MODEM_OPTIONS_H
#define MODEM_OPTIONS_H

#include <stdint.h>

#include "channel.h"
#include "phy.h"

struct options {
    struct phy_config phy;
    struct channel_config channel;
    uint64_t seed;
    const char *json; // a file, or NULL

    // trace
    uint64_t frames, size;

    // live
    const char *near, *far, *near_peer, *far_peer;
    double bits_per_second; // 0: as fast as the processor
    uint64_t queue;         // frames
    double seconds;         // 0: until a signal
};

enum command { COMMAND_TRACE, COMMAND_LIVE };

// Reads the words after the name of a command. A word that is wrong ends the program with one line and exit code 2.
struct options options_read(enum command command, char **words);
// The help of both commands.
void options_help(void);
// Ends the program with one line, for what can be found out only later.
_Noreturn void options_refuse(const char *option, const char *expected, const char *found);

#endif
