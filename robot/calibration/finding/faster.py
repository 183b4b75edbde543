"""Shorter times than those known to be enough: of what no camera sees move, and of coming to rest.

A profile's times are those of its author's servos. Nothing shows how long a lid takes, except that
everything still works when it is given less time. So the times are shortened in steps, and after
each step cubes are scrambled and solved. Times that were filmed are what they are and stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from solver.files import JsonObject

STEP = 0.05
"""Part of the times by which each test is faster than the one before."""


def steps_to(part: float) -> Iterator[float]:
    """The parts that are tried out, up to what was asked for."""
    count = 1
    while count * STEP < part - 1e-9:
        yield count * STEP
        count += 1
    yield part


def shortened(profile: RobotProfile, filmed: Collection[str], part: float) -> JsonObject:
    """Times of the profile's servos, shorter by a part of them, as calibrated values.

    Of those that were ``filmed`` only what friction of the cube adds gets shorter.
    """
    values: JsonObject = {}
    left = 1 - part
    for name, servo in profile.actuators_of(Servo).items():
        key = f"actuators.{name}"
        rows = [row.model_dump(mode="json") for row in servo.travel]
        for row in rows:
            if name not in filmed:
                row["ms"] = round(row["ms"] * left, 1)
            if row["held_ms"] is not None:
                row["held_ms"] = max(row["ms"], round(row["held_ms"] * left, 1))
        values[f"{key}.travel"] = rows
        values[f"{key}.settle_ms"] = {
            position: round(ms * left, 1) for position, ms in servo.settle_ms.items()
        }
        values[f"{key}.held_settle_ms"] = round(servo.held_settle_ms * left, 1)
    return values
