"""The simulated robot: its cost, demos, solves on a bad line, automatic calibrations."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np

from robot.settings import load_profile
from robot.settings.profile import for_cube
from robot.twin.cube import scrambled
from robot.twin.simulated import RECORD, Kind, PinStream, SimulatedRobot
from robot.twin.studio import Studio
from tests.bench.figures import children_cpu_s, chosen, emit, timed, whole, whole_robot
from tests.calibration.found import calibrated
from tests.rig.simulated_run import SimulatedRun
from tests.rig.simulated_time import DAMAGES

DEMOS = 5
STEPS = 20_000
FRAMES = 20


def measure_simulation() -> None:
    """Emit processor times of pins and pictures, then whole demos."""
    robot = SimulatedRobot(load_profile("mindcuber"), scrambled(3, 1))
    stream, data = PinStream(robot, lambda _: None), _steps(pin=2)
    _, spent = timed(stream.feed, data)
    emit("twin-pin-edge", 1e6 * spent / (2 * STEPS), "us CPU", 2 * STEPS)
    studio = Studio(robot)
    _, spent = timed(lambda: [studio.shoot() for _ in range(FRAMES)])
    emit("twin-picture", 1e3 * spent / FRAMES, "ms CPU", FRAMES, {"resolution": [640, 480]})
    before = children_cpu_s()
    results = [_demo(seed) for seed in range(DEMOS)]
    spent = children_cpu_s() - before
    good = sum(result["solved"] and not result["violations"] for result in results)
    off = max(abs(result["executed_us"] / result["planned_us"] - 1) for result in results)
    emit("demo-solved", good, "solves", DEMOS, {"worst_off_plan": off})
    emit("demo-cpu", spent / DEMOS, "s CPU", DEMOS, {"speed": 50})


def _steps(pin: int) -> bytes:
    """Return edges of a table that turns at a constant speed its motor can reach from rest."""
    records = np.zeros(2 * STEPS, dtype=RECORD)
    rises = np.arange(STEPS) * 20_000
    records["ticks"] = np.stack([rises, rises + 10], axis=1).ravel()
    records["pin"], records["kind"] = pin, Kind.LEVEL
    records["level"][::2] = 1
    return records.tobytes()


def _demo(seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "robot.cli.main", "demo", "--json", "--speed", "50"]
    run = subprocess.run([*command, "--seed", str(seed)], check=False, stdout=subprocess.PIPE)
    document: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return document


ROBOTS = ("mindcuber", *["six-motor"] * 9, "cubotino", *["six-motor"] * 9)


def measure_campaign() -> None:
    """Emit outcomes of solves in simulated time on a bad line: solved or refused, never unsafe.

    ``CUBIST_SOLVES=1000 CUBIST_FROM=0 make bench ARGS=campaign``: seeds start at FROM.
    """
    first = chosen("FROM", 0, lambda text: whole(text, least=0))
    count, rate = chosen("SOLVES", 20, whole), chosen("RATE", 0.01, float)
    ends: Counter[str] = Counter()
    violations = 0
    for seed in range(first, first + count):
        outcome, bad = _solve(seed, rate)
        ends[outcome] += 1
        violations += bad
    detail = {"rate": rate, "from": first, "violations": violations, **ends}
    emit("firmware-bad-line-solved", ends["solved"], "solves", count, detail)


def _solve(seed: int, rate: float) -> tuple[str, int]:
    """Return the outcome of a solve, and the number of violations the simulated robot detected."""
    profile = load_profile(ROBOTS[seed % len(ROBOTS)])
    damage = list(DAMAGES.values())[(seed + seed // len(ROBOTS)) % len(DAMAGES)]
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


CALIBRATED_SOLVES = 20
COPIED = ("planned_before_s", "planned_s", "took_s", "slower")


def measure_calibration() -> None:
    """Emit the number of cubes that each robot solves after automatic calibration, in simulated
    time.

    ``CUBIST_ROBOT=two-arm CUBIST_SEEDS=36101-36120 make bench ARGS=calibration``: the robots of
    these seeds, first to last. ``CUBIST_SIZE=4``: a robot for cubes of that size.
    """
    name = chosen("ROBOT", "cubotino", whole_robot)
    profile = load_profile(name)
    usual = profile.cube.size
    size = chosen("SIZE", usual, lambda text: for_cube(profile, whole(text)).cube.size)
    for seed in chosen("SEEDS", 36001, _seeds):
        more = {} if size == usual else {"size": size}
        outcome, spent = timed(calibrated, name, str(seed), solves=CALIBRATED_SOLVES, **more)
        document, errors = outcome.document, outcome.off_degrees
        # A trial may lose steps of a weak motor, which is then made slower.
        excused = "lost-steps" if "lost" in str(document.get("slower")) else ""
        sure = [abs(off) <= outcome.uncertain_degrees[key] for key, off in errors.items()]
        detail = {
            "robot": name,
            "seed": seed,
            "cpu_s": round(spent),
            "why_not": outcome.why_not,
            "violations": Counter(one.kind for one in outcome.violations if one.kind != excused),
            "off_degrees": {key: round(off, 2) for key, off in errors.items()},
            "within_uncertainty": [sum(sure), len(sure)],
            **{key: document.get(key) for key in COPIED},
        }
        emit("calibrated-solves", outcome.solved, "solves", CALIBRATED_SOLVES, detail)


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), whole(last or first, int(first)) + 1)
