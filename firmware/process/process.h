/* What the process of a board was started with. */
#ifndef CUBIST_PROCESS_H
#define CUBIST_PROCESS_H

#include <stdbool.h>

struct process_options {
    char **arguments; /* all, as given */
    const char *pty_link;
    const char *pins;
    int serial_fd;
    double speed;
    bool granted;
    bool exact; /* a real robot hangs on it: wakes to the microsecond, makes up for little */
};

extern struct process_options process_options;

#endif
