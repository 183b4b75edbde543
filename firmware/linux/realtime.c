#define _GNU_SOURCE
#include "realtime.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "machine.h"

#define PRIORITY 20 /* above ordinary programs, below the kernel's interrupt threads (50) */

static void complain(const char *what)
{
    fprintf(stderr,
            "%s: %s: %s. Pulses may be late. Start it as root, or with the limits RTPRIO and "
            "MEMLOCK raised.\n",
            machine_name, what, strerror(errno));
}

void realtime_start(void)
{
    const struct sched_param wanted = {.sched_priority = PRIORITY};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &wanted)) {
        complain("no real-time priority");
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
        complain("memory cannot be locked");
    }
}
