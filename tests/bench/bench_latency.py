"""What a robot waits for beside its own motion, from the button to the first pulse.

The real daemon solves different cubes on simulated robots at real speed.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from pathlib import Path

from robot.planner import build_mechanism, plan_scan
from robot.records.latency import STAGES, percentile
from robot.records.runs import RunRecord
from robot.settings import load_profile
from tests.bench.figures import Emit, chosen
from tests.rig.workbench import workbench

ROBOTS = ("six-motor", "four-arm")
SOLVES = 20


def main(emit: Emit) -> None:
    """Every stage, the scan with the motion in it, and all until the robot turns.

    ``CUBIST_ROBOTS`` and ``CUBIST_SOLVES`` choose.
    """
    count = int(chosen("SOLVES", SOLVES))
    for name in chosen("ROBOTS", " ".join(ROBOTS)).split():
        records = asyncio.run(_records(name, count))
        samples: dict[str, list[float]] = defaultdict(list)
        for record in records:
            for stage, seconds in record.latency_s.items():
                samples[stage] += seconds
        samples["scan"] = [record.timings_s["scan"] for record in records]
        samples["until-turning"] = [_until_turning_s(record) for record in records]
        for stage in (*STAGES, "scan", "until-turning"):
            if found := samples[stage]:
                figures = {"p99": round(1e3 * percentile(found, 0.99), 2)}
                if stage == "scan":
                    figures["motion"] = round(_tour_ms(name), 2)
                emit(
                    f"latency-{name}-{stage}",
                    round(1e3 * percentile(found, 0.5), 2),
                    "ms, p50",
                    len(found),
                    figures,
                )


async def _records(name: str, count: int) -> list[RunRecord]:
    """Of as many solves, without the first: it fetches tables and libraries from the disk."""
    with tempfile.TemporaryDirectory(prefix="cubistd-") as folder:
        async with (
            workbench(load_profile(name), Path(folder), speed=1) as bench,
            bench.firmware(),
            bench.daemon() as (_, view),
        ):
            await bench.confirm()
            records = [await bench.cycle(view, seed) for seed in range(count + 1)]
    assert all(record.outcome == "solved" for record in records), records
    return records[1:]


def _tour_ms(name: str) -> float:
    """What the robot moves in a tour of looks that sees every face once."""
    steps = plan_scan(build_mechanism(load_profile(name))).steps
    return sum(step.plan.duration_us for step in steps) / 1e3


def _until_turning_s(record: RunRecord) -> float:
    """From the first look to the order to turn."""
    begun = next(event.at_s for event in record.events if event.text == "planning the looks")
    turned = next(event.at_s for event in record.events if event.text.startswith("turning:"))
    return turned - begun
