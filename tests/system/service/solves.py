"""A daemon's memory over many solves: what it holds after each, and at the worst moment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from footprint import AnonymousPeak, Footprint, footprint, highest_resident_kb
from workbench import Bench, workbench

from robot.records.latency import STAGES
from robot.settings import RobotProfile, load_profile
from robot.simulate.follow import DaemonFollower
from robot.text.outcomes import Outcome

SPEED = float(os.environ.get("CUBIST_SPEED", "30"))
"""Less, where the computer is busy with other things."""

ATTEMPTS = 4
LARGE = (1920, 1080)

SETTLED = 5
"""Solves after which everything has been imported, and every table and thread is there."""


@dataclass(frozen=True)
class Footprints:
    """``start``: of the daemon at rest; ``after``: at rest after each solve; the worst of all.

    ``settled_after`` so many solves.
    """

    start: Footprint
    after: Sequence[Footprint]
    anonymous_peak_kb: int
    resident_peak_kb: int
    settled_after: int

    @property
    def settled(self) -> Sequence[Footprint]:
        """At rest, once everything has been imported."""
        return self.after[self.settled_after - 1 :]

    @property
    def growth_kb(self) -> int:
        """From the settled daemon to the most it ever held at rest after that."""
        first, *later = [one.anonymous_kb for one in self.settled]
        return max(later, default=first) - first


def seen_by_large_cameras(name: str) -> RobotProfile:
    """A shipped profile; the CUBOTino's camera has 1920x1080, where its places hold as well."""
    profile = load_profile(name)
    if name != "cubotino":
        return profile
    cameras = [camera.model_copy(update={"resolution": LARGE}) for camera in profile.cameras]
    return profile.model_copy(update={"cameras": tuple(cameras)})


async def footprints_of(
    profile: RobotProfile, folder: Path, count: int, settled: int = SETTLED
) -> Footprints:
    """Solve ``count`` different cubes with one daemon; every one must end as it should."""
    async with (
        workbench(profile, folder, speed=SPEED) as bench,
        bench.firmware(),
        bench.daemon() as (child, view),
    ):
        process = child.process.pid
        start, after = footprint(process), []
        with AnonymousPeak(process) as anonymous:
            for seed in range(count):
                await solve(bench, view, seed)
                after.append(footprint(process))
        return Footprints(start, after, anonymous.kb, highest_resident_kb(process), settled)


async def solve(bench: Bench, view: DaemonFollower, seed: int) -> None:
    """Another cube, solved, as the simulated robot says too.

    On a computer too busy for it the line may be given up in the middle of a turn; that takes
    memory as well, and another attempt.
    """
    for _ in range(ATTEMPTS):
        record = await bench.cycle(view, seed)
        if record.outcome is Outcome.SOLVED:
            break
    assert set(record.latency_s) == set(STAGES), record.latency_s
    ended = (record.outcome, bench.robot.solved, bench.robot.violations)
    assert ended == (Outcome.SOLVED, True, []), (ended, record.reason)
