/* Command-line options of a board's process. */
#ifndef CUBIST_PROCESS_H
#define CUBIST_PROCESS_H

#include <stdbool.h>

struct process_options {
    char **arguments; /* the complete command line */
    const char *pty_link;
    const char *pins;
    int serial_fd;
    double speed;
    bool granted;
    bool exact; /* drives a real robot: wakes to the microsecond and catches up little */
};

extern struct process_options process_options;

#endif
