"""How long a servo really takes, seen by the camera: hobby servos do not say where they are.

The servo is sent from one named position to another at once, while pictures are taken as fast as
the camera can. It moves from the first picture that differs from the one before it to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot.calibration.results import Travel
from robot.machine.interfaces import InvalidRequest, Machine
from robot.motion import servo_slew
from robot.motion.schedule import Schedule, TimedTurn
from robot.settings import RobotProfile
from robot.settings.actuators import Servo

AT_ONCE_US = 20_000
"""The pulse jumps within one of its periods: how fast the servo then follows is its own affair."""

PATIENCE = 2.0
"""How many times the planned travel to watch."""

STILL_PICTURES = 6
NOISE_FACTOR = 3.0
LEAST_CHANGE = 0.25
"""Mean change of grey levels from one picture to the next that is more than noise, at least."""

Grey = NDArray[np.float32]
Glance = Callable[[], tuple[int, Grey]]

FEWEST_CHANGES = 4
LONGEST_GAP = 2
"""Pictures from one change to the next while something moves in full view."""


@dataclass(frozen=True)
class Motion:
    """When something moved: microseconds of the camera's clock, each known to ``within_us``."""

    began_us: int
    ended_us: int
    within_us: int


def measured_travel(
    machine: Machine, profile: RobotProfile, name: str, way: tuple[str, str]
) -> Travel:
    """Home, go to the first position, then as fast as can be to the second, and watch.

    Raises ``MotionFault``, and ``InvalidRequest`` for what is no servo or has no such positions.
    """
    servo, (start_us, end_us) = _positions(profile, name, way)
    transition = servo.transition_us(*way)
    if transition is None:
        raise InvalidRequest(f"{name}: the profile gives no travel from {way[0]} to {way[1]}")
    planned_us = transition[0]
    machine.motion.home()
    machine.motion.jog(name, start_us)
    watch_us = round(PATIENCE * planned_us)
    move = servo_slew(name, start_us, end_us, AT_ONCE_US, watch_us)
    schedule = Schedule((move,), (TimedTurn(0, 0),), move.duration_us)
    seen = motion_in(_watched(machine, schedule))
    machine.motion.home()
    if seen is None:
        return Travel(actuator=name, between=way, planned_us=planned_us)
    measured_us = seen.ended_us - seen.began_us
    row_us = measured_us + seen.within_us
    return Travel(
        actuator=name,
        between=way,
        planned_us=planned_us,
        measured_us=measured_us,
        within_us=seen.within_us,
        values={f"actuators.{name}.travel": _with_row(servo, way, row_us)},
    )


def motion_in(pictures: Sequence[tuple[int, Grey]], still: int = STILL_PICTURES) -> Motion | None:
    """What moved in a series of pictures, the first ``still`` of which show it at rest.

    None where nothing moves, where it still does at the end, or where it was out of sight on the
    way: a part of a motion must not be taken for all of it.
    """
    changes = [
        float(np.abs(after - before).mean()) for (_, before), (_, after) in pairwise(pictures)
    ]
    threshold = max(LEAST_CHANGE, NOISE_FACTOR * max(changes[: still - 1], default=0.0))
    moved = [number for number, change in enumerate(changes) if change > threshold]
    if len(moved) < FEWEST_CHANGES or moved[-1] == len(changes) - 1:
        return None
    if any(later - sooner > LONGEST_GAP for sooner, later in pairwise(moved)):
        return None
    times = [time for time, _ in pictures]
    first, last = moved[0], moved[-1]
    # It began between two pictures, and ended between two others.
    earliest, latest = times[first], times[first + 1]
    sooner, later = times[last], times[last + 1]
    return Motion(
        began_us=(earliest + latest) // 2,
        ended_us=(sooner + later) // 2,
        within_us=(latest - earliest + later - sooner + 1) // 2,
    )


def _watched(machine: Machine, schedule: Schedule) -> list[tuple[int, Grey]]:
    """Pictures of before, during and after a schedule."""
    machine.scanner.settle()
    pictures = [machine.scanner.glance() for _ in range(STILL_PICTURES)]
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(machine.motion.perform, schedule, lambda _: None)
        while not moving.done():
            pictures.append(machine.scanner.glance())
        moving.result()
    return pictures


def _positions(
    profile: RobotProfile, name: str, way: tuple[str, str]
) -> tuple[Servo, tuple[int, int]]:
    servo = profile.actuators.get(name)
    if not isinstance(servo, Servo):
        known = ", ".join(key for key, one in profile.actuators.items() if isinstance(one, Servo))
        raise InvalidRequest(f"actuator: {name!r} is no servo; there is {known or 'none'}")
    for position in way:
        if position not in servo.positions_us:
            known = ", ".join(servo.positions_us)
            raise InvalidRequest(f"between: {name} has no {position!r}; there is {known}")
    return servo, (servo.positions_us[way[0]], servo.positions_us[way[1]])


def _with_row(servo: Servo, way: tuple[str, str], travel_us: int) -> list[dict[str, Any]]:
    """The servo's travel rows with this one's time, both ways; times with a layer in proportion."""
    milliseconds = round(travel_us / 1e3, 1)
    rows = []
    for row in servo.travel:
        document = row.model_dump(mode="json")
        if set(row.between) == set(way):
            if row.held_ms is not None:
                document["held_ms"] = round(row.held_ms * milliseconds / row.ms, 1)
            document["ms"] = milliseconds
        rows.append(document)
    return rows
