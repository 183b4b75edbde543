"""Robots that were not built exactly as designed: automatic calibration, and solves after it."""

from __future__ import annotations

from typing import Any

from tests.bench.figures import chosen, emit, timed
from tests.calibration.found import Outcome, calibrated

SOLVES = 20


def measure_calibration() -> None:
    """Emit the number of cubes that each robot solves after automatic calibration, in simulated
    time.

    ``CUBIST_ROBOT=two-arm CUBIST_SEEDS=36101-36120 make bench ARGS=calibration``: the robots of
    these seeds, first to last. ``CUBIST_SIZE=4``: a robot for cubes of that size.
    """
    name = chosen("ROBOT", "cubotino")
    first, _, last = chosen("SEEDS", 36001).partition("-")
    size = int(chosen("SIZE", 0)) or None
    for seed in range(int(first), int(last or first) + 1):
        outcome, spent = timed(calibrated, name, str(seed), solves=SOLVES, size=size)
        detail = {"robot": name, "seed": seed, "cpu_s": round(spent)} | _describe(outcome)
        emit("calibrated-solves", outcome.solved, "solves", SOLVES, detail)


def _describe(outcome: Outcome) -> dict[str, Any]:
    """Return a robot's violations, its times and its calibration errors."""
    document = outcome.document
    # A trial may lose steps of a weak motor, which is then made slower.
    is_slowed = "lost" in str(document.get("slower"))
    violations = [
        violation.kind
        for violation in outcome.violations
        if violation.kind != "lost-steps" or not is_slowed
    ]
    sure = [
        abs(degrees) <= outcome.uncertain_degrees[key]
        for key, degrees in outcome.off_degrees.items()
    ]
    return {
        "why_not": outcome.why_not,
        "violations": {kind: violations.count(kind) for kind in violations},
        "planned_before_s": document.get("planned_before_s"),
        "planned_s": document.get("planned_s"),
        "took_s": document.get("took_s"),
        "off_degrees": {key: round(off, 2) for key, off in outcome.off_degrees.items()},
        "within_uncertainty": [sum(sure), len(sure)],
        "slower": document.get("slower"),
    }
