"""Whole solves in simulated time on a bad line: all solved or refused, never anything unsafe.

``CUBIST_SOLVES=1000 CUBIST_FROM=0 make bench ARGS=campaign``; the seeds are counted from FROM.
"""

from __future__ import annotations

import sys
from collections import Counter

from robot.settings import load_profile
from robot.twin.cube import scrambled
from tests.bench.figures import Emit, chosen
from tests.rig import simulated_time
from tests.rig.simulated_run import SimulatedRun

ROBOTS = ("mindcuber", *["six-motor"] * 9, "cubotino", *["six-motor"] * 9)
DAMAGES = ("drop", "repeat", "insert", "flip", "reorder")
RATE = 0.01
SOLVES = 20


def solve(seed: int, rate: float) -> tuple[str, int]:
    """How a solve ended, and how many violations the simulated robot saw."""
    profile = load_profile(ROBOTS[seed % len(ROBOTS)])
    damage = getattr(simulated_time, DAMAGES[(seed + seed // len(ROBOTS)) % len(DAMAGES)])
    with SimulatedRun(profile, scrambled(profile.cube.size, seed), seed=seed) as run:
        run.port.outwards.damage = damage(rate)
        run.port.inwards.damage = damage(rate)
        verdict = run.solve()
        claimed = verdict.record.outcome
        if (claimed == "solved") != verdict.solved:
            claimed = f"{claimed}, but the robot says otherwise"
        if claimed != "solved" or verdict.violations:
            print(seed, profile.name, verdict.record.reason, verdict.violations, file=sys.stderr)
        return claimed, len(verdict.violations)


def main(emit: Emit) -> None:
    """So many solves; how they ended."""
    first = int(chosen("FROM", "0"))
    count = int(chosen("SOLVES", SOLVES))
    rate = float(chosen("RATE", RATE))
    ends: Counter[str] = Counter()
    violations = 0
    for seed in range(first, first + count):
        outcome, bad = solve(seed, rate)
        ends[outcome] += 1
        violations += bad
    detail = {"rate": rate, "from": first, "violations": violations, **ends}
    emit("firmware-bad-line-solved", ends["solved"], "solves", count, detail)
