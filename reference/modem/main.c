#include <stdio.h>
#include <string.h>

#include "live.h"
#include "options.h"
#include "trace.h"

int main(int count, char **words)
{
    const char *command = count > 1 ? words[1] : NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--help") == 0) {
            options_help();
            return 0;
        }
    }
    if (command && strcmp(command, "trace") == 0) {
        struct options options = options_read(COMMAND_TRACE, words + 2);
        return trace_run(&options, words + 1);
    }
    if (command && strcmp(command, "live") == 0) {
        struct options options = options_read(COMMAND_LIVE, words + 2);
        return live_run(&options);
    }
    options_refuse("modem", "trace, live or --help", command);
}
