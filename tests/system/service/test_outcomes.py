"""Ends of a job, as people and programs see them: odd views, jams, slips, a date that jumps."""

from __future__ import annotations

import asyncio
import mmap
import struct
import subprocess
from datetime import timedelta
from functools import cached_property
from pathlib import Path

import pytest

from robot.api.endpoints import RobotState
from robot.simulate.progress import DaemonFollower
from robot.text.outcomes import Outcome
from robot.twin.cube import scrambled
from robot.twin.misadjustment import LookTruth, Misadjustment
from robot.twin.studio import OddScene
from tests.rig.workbench import LIMIT_S, Bench

NAMES = {
    OddScene.NO_CUBE: "no-cube",
    OddScene.TWO_CUBES: "two-cubes",
    OddScene.WRONG_SIZE: "wrong-size",
    OddScene.HAND: "face-covered",
}


async def test_what_is_in_view_is_told_and_then_the_cube_is_solved(make_bench):
    async with make_bench(speed=100, wait_for_clear_view_s=0.5) as bench, bench.working() as view:
        for odd, name in NAMES.items():
            bench.studio.disturbances.odd = odd
            record = await bench.perform(view)
            assert (record.outcome, record.moves) == (name, None)
            fault = record.faults[-1]
            assert (fault.code, bool(fault.remedy)) == (name, True)
        bench.studio.disturbances.odd = None
        assert (await bench.perform(view)).outcome == "solved"
        assert (bench.robot.solved, bench.robot.violations) == (True, [])


class StickerlessCube(Misadjustment):
    """A robot built as drawn, with a stickerless cube that has its maker's logo in a centre."""

    def __init__(self) -> None:
        super().__init__(0, 0.0)

    @cached_property
    def look(self) -> LookTruth:
        return LookTruth(is_stickerless=True, has_logo=True)


LIGHTS = {
    "day": (1.0, 1.0, 1.0),
    "lamp": (1.0, 0.8, 0.5),
    "dusk": (0.3, 0.3, 0.35),
    "bright": (1.4, 1.4, 1.4),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ["cubotino", "two-arm"])
async def test_a_solved_stickerless_cube_with_a_logo_is_seen(make_bench, name):
    """Solve cubes whose faces show hardly an edge, neither at the first scan nor at the check."""
    robot = make_bench(name, speed=100, misadjusted=StickerlessCube())
    async with robot as bench, bench.working() as view:
        for number, (light, cast) in enumerate(LIGHTS.items()):
            bench.studio.colour_cast(cast)
            assert (await bench.cycle(view, number)).outcome == "solved", light
            assert (await bench.perform(view)).outcome == "already-solved", light
            assert bench.robot.solved and not bench.robot.violations


async def start_and_disturb_the_check(bench: Bench, number: int, odd: OddScene) -> str:
    """Start a run, put something else into view during its check, and return its number."""
    bench.robot.insert(scrambled(3, number))
    run = await bench.start()
    while not bench.robot.solved:
        await asyncio.sleep(0)
    await asyncio.sleep(0.01 * (number % 5))
    bench.studio.disturbances.odd = odd
    return run


async def wait_with_the_hand_there(bench: Bench, view: DaemonFollower) -> None:
    """Check that the robot's motors stay where they are while it waits for the hand to go."""
    async with asyncio.timeout(LIMIT_S):
        while (status := await view.status()).job is None or (
            status.job.step_code != "wait-for-hand"
        ):
            await asyncio.sleep(0.01)
    where = {name: bench.robot.place(name) for name in bench.profile.actuators}
    for _ in range(100):
        await asyncio.sleep(0.005)
        assert not bench.robot.moving
        assert {name: bench.robot.place(name) for name in bench.profile.actuators} == where


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 20))]
)
async def test_nothing_moves_while_a_hand_is_in_view_at_the_check(make_bench, seed):
    async with make_bench(speed=100, wait_for_clear_view_s=240.0) as bench, bench.working() as view:
        run = await start_and_disturb_the_check(bench, seed, OddScene.HAND)
        await wait_with_the_hand_there(bench, view)
        bench.studio.disturbances.odd = None
        record = await bench.ended(view, run)
        assert (record.outcome, record.attempts) == ("solved", 1), record.reason
        assert (bench.robot.solved, bench.robot.violations) == (True, [])
        run = await start_and_disturb_the_check(bench, seed, OddScene.HAND)
        await wait_with_the_hand_there(bench, view)
        assert await asyncio.to_thread(bench.client().stop)
        assert (await bench.ended(view, run)).outcome == "stopped"


YEAR_S = 365 * 24 * 3600
JUMPS = {
    RobotState.HOMING: YEAR_S,
    RobotState.SCANNING: -YEAR_S,
    RobotState.SOLVING: YEAR_S,
    RobotState.TURNING: -YEAR_S,
    RobotState.CHECKING: YEAR_S,
}


async def test_a_date_that_jumps_by_years_changes_nothing(make_bench, tmp_path, monkeypatch):
    """Let the date jump while the robot works, as on a Pi whose network comes late."""
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
        OFFSET.pack_into(self._offset, 0, seconds)
