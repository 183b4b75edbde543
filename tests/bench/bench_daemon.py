"""The daemon: start, idle load, latencies from the button on, and memory over many solves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np

from robot.planner import build_mechanism, plan_scan
from robot.records.latency import STAGES, percentile
from robot.records.run_record import RunRecord
from robot.settings import load_profile
from robot.twin.cube import scrambled
from tests.bench.figures import (
    children_cpu_s,
    chosen,
    emit,
    several,
    used_cpu_s,
    whole,
    whole_robot,
)
from tests.rig.footprint import SETTLED, footprints_of, seen_by_large_cameras
from tests.rig.workbench import Bench, workbench

STARTS = {
    "cubist-help": ["-m", "robot.cli.main", "--help"],
    "cubist-solve": ["-m", "robot.cli.main", "solve", "--scramble", "R U F", "--json"],
    "cubistd-import": ["-c", "import robot.daemon.main"],
}
REPEATS = 5
REST_S = 30.0
SETTLED_S = 5.0
"""Delay after the start and the last request of a client."""


@contextlib.asynccontextmanager
async def _standing(name: str) -> AsyncIterator[Bench]:
    """Run a robot at real speed with its firmware."""
    with tempfile.TemporaryDirectory(prefix="cubistd-") as folder:
        async with workbench(load_profile(name), Path(folder), speed=1) as bench, bench.firmware():
            yield bench


def measure_daemon() -> None:
    """Emit the processor time of starting programs, and of an idle daemon."""
    for name, arguments in STARTS.items():
        times = [children_cpu_s()]
        for _ in range(REPEATS):
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            times.append(children_cpu_s())
        median = float(np.median(np.diff(times)))
        emit(f"start-{name}", median, "s", REPEATS, {"cpu": True})
    for robot in ("cubotino", "six-motor"):
        emit(f"rest-{robot}", asyncio.run(_rest_percent(robot)), "% of a core", 1, {"cpu": True})


async def _rest_percent(robot: str) -> float:
    """Return the load of ``cubistd`` while its robot is connected and idle, without requests."""
    async with _standing(robot) as bench, bench.daemon() as (child, _):
        await asyncio.sleep(SETTLED_S)
        before_s, began = used_cpu_s(child.process.pid), time.monotonic()
        await asyncio.sleep(REST_S)
        used_s = used_cpu_s(child.process.pid) - before_s
        return round(100 * used_s / (time.monotonic() - began), 2)


def measure_latency() -> None:
    """Emit times for which a robot waits apart from its own motion: every stage, the scan including
    its motion, and the total until the robot turns. ``CUBIST_ROBOTS`` and ``CUBIST_SOLVES`` select.
    """
    for name in chosen("ROBOTS", "six-motor four-arm", several(whole_robot)):
        records = asyncio.run(_solved(name, chosen("SOLVES", 20, whole)))
        samples: dict[str, list[float]] = defaultdict(list)
        for record in records:
            for stage, seconds in record.latency_s.items():
                samples[stage] += seconds
        samples["scan"] = [record.timings_s["scan"] for record in records]
        samples["until-turning"] = [_until_turning_s(record) for record in records]
        for stage in (*STAGES, "scan", "until-turning"):
            if found := samples[stage]:
                detail = {"p99": round(1e3 * percentile(found, 0.99), 2)}
                if stage == "scan":  # motion of a tour that sees every face once
                    steps = plan_scan(build_mechanism(load_profile(name))).steps
                    detail["motion"] = round(sum(s.plan.duration_us for s in steps) / 1e3, 2)
                median = round(1e3 * percentile(found, 0.5), 2)
                emit(f"latency-{name}-{stage}", median, "ms, p50", len(found), detail)


BUTTON_S = 0.15
WATCH_S = 0.002


def measure_button() -> None:
    """Emit the elapsed time from the release of the button to a solved cube, with the means of its
    parts in ms and the computer's load before. The figure is valid on an idle computer only.
    ``CUBIST_ROBOTS`` and ``CUBIST_SOLVES`` select.
    """
    for name in chosen("ROBOTS", "six-motor-record", several(whole_robot)):
        load = round(os.getloadavg()[0], 1)
        found = asyncio.run(_pressed(name, chosen("SOLVES", 20, whole)))
        took_s = [took for took, _ in found]
        parts = {part: [one[part] for _, one in found] for part in found[0][1]}
        detail: dict[str, Any] = {"load": load, "max": round(max(took_s), 3)}
        detail |= {part: round(1e3 * float(np.mean(values)), 1) for part, values in parts.items()}
        emit(f"button-{name}", round(float(np.mean(took_s)), 3), "s, mean", len(found), detail)


async def _pressed(name: str, count: int) -> list[tuple[float, dict[str, float]]]:
    """Return seconds of ``count`` solves and of their parts, after a first one. Check each."""
    found = []
    async with _standing(name) as bench, bench.daemon() as (_, view):
        await bench.confirm()
        pin = bench.profile.panel.start_button_gpio
        assert pin is not None
        for seed in range(count + 1):
            bench.robot.insert(scrambled(bench.profile.cube.size, seed))
            last = (await view.status()).last_run
            await bench.server.panel.press(pin, BUTTON_S)
            begun = time.monotonic()
            while not bench.robot.solved:
                await asyncio.sleep(WATCH_S)
            took_s = time.monotonic() - begun
            while (status := await view.status()).job is not None or status.last_run == last:
                await asyncio.sleep(0.05)
            assert status.last_run is not None and status.last_run.outcome == "solved"
            record = await view.run(status.last_run.id)
            assert bench.robot.violations == [] and record.executed_us == record.planned_us
            found.append((took_s, _parts_s(record, took_s)))
    return found[1:]


def _parts_s(record: RunRecord, took_s: float) -> dict[str, float]:
    """Return the seconds of the parts of a solve; ``button``: until the job starts, plus any time
    not in another part."""
    at_s = {event.text.partition(":")[0]: event.at_s for event in reversed(record.events)}
    stages = {stage: sum(found) for stage, found in record.latency_s.items()}
    turning_s = next(event.at_s for event in record.events if event.text.startswith("turning:"))
    motion_s = (record.planned_us or 0) / 1e6
    parts = {
        "home": at_s["planning the looks"],
        "look": record.timings_s["scan"] + record.timings_s.get("read", 0.0),
        "search": stages["search"],
        "retrace": stages["retrace"],
        "upload": stages["upload"],
        "turn": motion_s,
    }
    until = turning_s + stages["upload"] + motion_s
    return parts | {"between": until - sum(parts.values()), "button": took_s - until}


async def _solved(name: str, count: int) -> list[RunRecord]:
    """Return records of ``count`` solves after a first one, which loads tables and libraries."""
    async with _standing(name) as bench, bench.daemon() as (_, view):
        await bench.confirm()
        records = [await bench.cycle(view, seed) for seed in range(count + 1)]
    assert all(record.outcome == "solved" for record in records), records
    return records[1:]


def _until_turning_s(record: RunRecord) -> float:
    """Return the time from planning the scan to the command to turn."""
    begun = next(event.at_s for event in record.events if event.text == "planning the looks")
    turned = next(event.at_s for event in record.events if event.text.startswith("turning:"))
    return turned - begun


def measure_memory() -> None:
    """Emit the memory of ``cubistd`` over many solves with a camera of 1920x1080.

    ``CUBIST_ROBOTS`` and ``CUBIST_SOLVES`` select.
    """
    count = chosen("SOLVES", 50, whole)
    for name in chosen("ROBOTS", "cubotino two-arm six-motor", several(whole_robot)):
        with tempfile.TemporaryDirectory(prefix="cubistd-") as folder:
            held = asyncio.run(footprints_of(seen_by_large_cameras(name), Path(folder), count))
        numbers = [number for number in (1, SETTLED, 15, 30, 50) if number <= count]
        after = {"start": held.start} | {n: held.after[n - 1] for n in numbers}
        at_rest_mb = {at: round(one.anonymous_kb / 1000, 1) for at, one in after.items()}
        for figure, kb, at_rest in (
            ("anonymous-peak", held.anonymous_peak_kb, at_rest_mb),
            ("resident-peak", held.resident_peak_kb, {}),
            ("growth", held.growth_kb, {}),
        ):
            detail = {"at_rest_mb": at_rest}
            emit(f"memory-{name}-{figure}", round(kb / 1000, 1), "MB", count, detail)
