"""Press, solve, take the cube out, put another in: nothing the daemon has grows with it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from robot.twin.cube import scrambled

Bench = Any
MakeBench = Any
LIMIT_S = 240.0
POLL_S = 0.02

SETTLED = 3
"""Cycles after which everything has been imported."""

GROWTH_KB = 64
"""Growth of the memory from one cycle to the next that is not told from noise.

The lower quartile is held to it: what leaks grows in each cycle, while a thread's first allocation
takes megabytes at once, and once only.
"""

LARGEST_GROWTH_KB = 96 * 1024
SPARE_THREADS = 4


@dataclass(frozen=True)
class Footprint:
    """What a process holds."""

    memory_kb: int
    files: int
    threads: int


def footprint(process: int) -> Footprint:
    status = Path(f"/proc/{process}/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return Footprint(
        memory_kb=int(fields["RssAnon"].split()[0]),
        files=len(list(Path(f"/proc/{process}/fd").iterdir())),
        threads=int(fields["Threads"]),
    )


async def cycle(bench: Bench, view: Any, number: int) -> None:
    """Another cube, a press of the button, and a cube that is solved."""
    bench.robot.insert(scrambled(bench.profile.cube.size, number))
    before = (await view.status()).last_run
    async with view.events() as events, asyncio.timeout(LIMIT_S):
        await bench.press()
        async for event in events:
            if event.event == "finished":
                break
    status = await bench.rest(view)
    assert status.last_run is not None
    assert before is None or status.last_run.id != before.id
    assert (status.last_run.outcome, bench.robot.solved) == ("solved", True)
    assert bench.robot.violations == []


@pytest.mark.parametrize("cycles", [6, pytest.param(200, marks=pytest.mark.long)])
async def test_nothing_grows(make_bench: MakeBench, cycles: int) -> None:
    async with (
        make_bench("six-motor", speed=100) as bench,
        bench.firmware(),
        bench.daemon() as (child, view),
    ):
        seen: list[Footprint] = []
        for number in range(cycles):
            await cycle(bench, view, number)
            seen.append(footprint(child.process.pid))
    settled = seen[SETTLED:]
    growth_kb = [after.memory_kb - before.memory_kb for before, after in pairwise(settled)]
    assert sorted(growth_kb)[len(growth_kb) // 4] < GROWTH_KB, seen
    assert sum(growth_kb) < LARGEST_GROWTH_KB, seen
    assert max(one.files for one in settled) <= settled[0].files + 1, seen
    # Python's pool has a thread more for each time that all were busy.
    assert max(one.threads for one in settled) <= settled[0].threads + SPARE_THREADS, seen
