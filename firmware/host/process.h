/* What the process of a board was started with. */
#ifndef CUBIST_PROCESS_H
#define CUBIST_PROCESS_H

#include <stdbool.h>

struct process_options {
    const char *pty_link;
    const char *pins;
    int serial_fd;
    double speed;
    bool granted;
};

extern struct process_options process_options;

#endif
