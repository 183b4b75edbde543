"""What the simulated robot costs, and whether whole demos end solved."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from robot.settings import load_profile
from robot.twin.cube import scrambled
from robot.twin.simulated import RECORD, Kind, PinStream, SimulatedRobot
from robot.twin.studio import Studio
from tests.bench.figures import Emit

DEMOS = 5
STEPS = 20_000
FRAMES = 20


def main(emit: Emit) -> None:
    """Emit processor times of pins and pictures, then whole demos."""
    robot = SimulatedRobot(load_profile("mindcuber"), scrambled(3, 1))
    stream = PinStream(robot, lambda _: None)
    data = _steps(pin=2)
    spent = _processor_time(lambda: stream.feed(data))
    emit("twin-pin-edge", 1e6 * spent / (2 * STEPS), "us CPU", 2 * STEPS, {})
    studio = Studio(robot)
    spent = _processor_time(lambda: [studio.shoot() for _ in range(FRAMES)])
    emit("twin-picture", 1e3 * spent / FRAMES, "ms CPU", FRAMES, {"resolution": [640, 480]})
    _demos(emit)


def _steps(pin: int) -> bytes:
    """Edges of a table that turns at an even pace its motor can follow from rest."""
    records = np.zeros(2 * STEPS, dtype=RECORD)
    rises = np.arange(STEPS) * 20_000
    records["ticks"] = np.stack([rises, rises + 10], axis=1).ravel()
    records["pin"], records["kind"] = pin, Kind.LEVEL
    records["level"][::2] = 1
    return records.tobytes()


def _demos(emit: Emit) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    results = [_demo(seed) for seed in range(DEMOS)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    good = sum(result["solved"] and not result["violations"] for result in results)
    off = max(abs(result["executed_us"] / result["planned_us"] - 1) for result in results)
    emit("demo-solved", good, "solves", DEMOS, {"worst_off_plan": off})
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    emit("demo-cpu", spent / DEMOS, "s CPU", DEMOS, {"speed": 50})


def _demo(seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "robot.cli.main", "demo", "--json", "--speed", "50"]
    run = subprocess.run([*command, "--seed", str(seed)], check=False, stdout=subprocess.PIPE)
    document: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return document


def _processor_time(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
