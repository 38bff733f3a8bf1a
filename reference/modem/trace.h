// Frames through the modem as fast as possible, and what became of each as a damage trace.
#ifndef MODEM_TRACE_H
#define MODEM_TRACE_H

#include "options.h"

// The exit code.
int trace_run(const struct options *options, char **words);

#endif
