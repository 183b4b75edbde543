"""The date jumps by years while the robot works, as on a Pi whose network comes late."""

from __future__ import annotations

import mmap
import struct
import subprocess
from datetime import timedelta
from pathlib import Path

from robot.api.endpoints import RobotState
from robot.text.outcomes import Outcome
from tests.rig.workbench import LIMIT_S

YEAR_S = 365 * 24 * 3600
JUMPS = {
    RobotState.HOMING: YEAR_S,
    RobotState.SCANNING: -YEAR_S,
    RobotState.SOLVING: YEAR_S,
    RobotState.TURNING: -YEAR_S,
    RobotState.CHECKING: YEAR_S,
}


async def test_a_date_that_jumps_by_years_changes_nothing(make_bench, tmp_path, monkeypatch):
    clock = WallClock(tmp_path)
    clock.set(YEAR_S)
    for name, value in clock.environment.items():
        monkeypatch.setenv(name, value)
    async with make_bench(speed=100) as bench, bench.working() as view:
        solving = await bench.start()
        seen: set[RobotState] = set()
        while (status := await view.status()).job is not None:
            if (jump := JUMPS.get(status.state)) and status.state not in seen:
                seen.add(status.state)
                clock.set(jump)
            assert 0 <= status.job.elapsed_s < LIMIT_S
        solved = await view.run(solving)
        assert (solved.outcome, solved.faults, solved.attempts) == (Outcome.SOLVED, [], 1)
        assert (bench.robot.solved, bench.robot.violations) == (True, [])
        assert RobotState.TURNING in seen
        assert 0 < solved.duration_s < LIMIT_S
        assert all(0 <= wait < LIMIT_S for waits in solved.latency_s.values() for wait in waits)
        clock.set(-YEAR_S)
        homed = await bench.perform(view, "home")
        assert homed.outcome is Outcome.DONE
        assert solved.started_at - homed.started_at > timedelta(days=2 * 365 - 1)
        _, listed = await bench.run_json("runs")
        assert [run["id"] for run in listed] == [homed.id, solved.id]


OFFSET = struct.Struct("q")

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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
"""


class WallClock:
    """The clock of all processes started with :attr:`environment`, offset from the computer's."""

    def __init__(self, folder: Path) -> None:
        library, file = folder / "wall-clock.so", folder / "wall-clock"
        compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(compiler, input=SOURCE, text=True, check=True)
        file.write_bytes(OFFSET.pack(0))
        with file.open("r+b") as opened:
            self._offset = mmap.mmap(opened.fileno(), OFFSET.size)
        self.environment = {"LD_PRELOAD": str(library), "CUBIST_WALL_CLOCK": str(file)}

    def set(self, seconds: int) -> None:
        """Set the clock this many seconds ahead of the computer's."""
        OFFSET.pack_into(self._offset, 0, seconds)
