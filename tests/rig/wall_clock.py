"""A wall clock that a test sets, for whole processes: libc's, in place of the computer's.

Only what asks for the date sees it. Monotonic clocks, timers and waits go on as they are, as on a
Raspberry Pi whose clock is set by the network.
"""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
from pathlib import Path

OFFSET = struct.Struct("q")

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *offset_s;

__attribute__((constructor)) static void map_offset(void)
{
    const char *path = getenv("CUBIST_WALL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ, MAP_SHARED, file, 0);
    offset_s = mapped == MAP_FAILED ? 0 : mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && offset_s && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += *offset_s;
    }
    return failed;
}

time_t time(time_t *also)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return also ? (*also = now.tv_sec) : now.tv_sec;
}

int gettimeofday(struct timeval *now, void *zone)
{
    (void)zone;
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return 0;
}
"""


class WallClock:
    """The clock of all processes begun with :attr:`environment`, seconds off the computer's."""

    def __init__(self, folder: Path) -> None:
        library, file = folder / "wall-clock.so", folder / "wall-clock"
        compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(compiler, input=SOURCE, text=True, check=True)
        file.write_bytes(OFFSET.pack(0))
        with file.open("r+b") as opened:
            self._offset = mmap.mmap(opened.fileno(), OFFSET.size)
        self.environment = {"LD_PRELOAD": str(library), "CUBIST_WALL_CLOCK": str(file)}

    def set(self, seconds: int) -> None:
        """Set it so many seconds ahead of the computer's clock."""
        OFFSET.pack_into(self._offset, 0, seconds)

    def now(self) -> float:
        """Return what a process takes for the seconds since 1970."""
        return float(subprocess.check_output(["date", "+%s"], env=os.environ | self.environment))
