// Both directions in real time, between two sockets.
#ifndef MODEM_LIVE_H
#define MODEM_LIVE_H

#include "options.h"

// The exit code.
int live_run(const struct options *options);

#endif
