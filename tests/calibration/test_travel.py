"""Finding a motion in a series of pictures."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robot.calibration.travel import (
    STILL_PICTURES,
    Grey,
    Travel,
    TravelRequest,
    measured_travel,
    motion_in,
    travel_values,
)
from robot.calibration.trial import Bench
from robot.faults import InvalidRequest
from robot.motion.schedule import Schedule
from robot.settings import Servo, load_profile

NOISE = 0.8


def pictures(positions: list[float], every_us: int = 10_000) -> list[tuple[int, Grey]]:
    """A bright bar at these places of a dark, noisy picture."""
    rng = np.random.default_rng(1)
    columns = np.arange(80)
    return [
        (
            number * every_us,
            (100 * np.clip(4 - np.abs(columns - at), 0, 1) + rng.normal(0, NOISE, (60, 80))).astype(
                np.float32
            ),
        )
        for number, at in enumerate(positions)
    ]


def test_a_motion_is_found_between_its_pictures() -> None:
    seen = motion_in(pictures([20.0] * 10 + [20.0 + step for step in range(1, 31)] + [50.0] * 10))
    assert seen is not None
    assert seen.ended_us - seen.began_us == pytest.approx(300_000, abs=seen.within_us)
    assert seen.within_us == 10_000


@pytest.mark.parametrize(
    "positions",
    [
        [20.0] * 40,
        [20.0] * 10 + [20.0 + step for step in range(30)],
        [20.0] * 10 + [60.0] + [20.0] * 20,
        [20.0] * 10 + [21.0, 22.0, 23.0] + [23.0] * 9 + [24.0, 25.0, 26.0] + [26.0] * 10,
    ],
    ids=["still", "no end", "a glimpse", "out of sight on the way"],
)
def test_what_is_not_a_motion_from_beginning_to_end(positions: list[float]) -> None:
    assert motion_in(pictures(positions)) is None


LIMIT_S = 240.0


def travel(fake: Any, actuator: str, start: str, end: str) -> Travel:
    request = TravelRequest(actuator=actuator, between=[start, end])
    return measured_travel(Bench(fake.machine(), load_profile("cubotino")), request)


def test_a_servo_s_travel_is_watched_while_it_moves(fake: Any) -> None:
    """The camera's bar moves from the first picture after the command on, for 30 pictures."""
    scene = pictures([20.0] * (STILL_PICTURES + 1) + [20.0 + n for n in range(1, 31)] + [50.0] * 90)
    taken = itertools.count()
    seen_all = threading.Event()

    def glance() -> tuple[int, Grey]:
        number = next(taken)
        if number == 100:
            seen_all.set()
        return scene[min(number, len(scene) - 1)]

    def perform(schedule: Schedule, _: Callable[[float], None]) -> int:
        fake.motion.done.append("perform")
        assert seen_all.wait(LIMIT_S), "nobody watches while it moves"
        return schedule.duration_us

    fake.scanner.glance, fake.motion.perform = glance, perform
    servo = load_profile("cubotino").actuators["holder"]
    found = travel(fake, "holder", "home", "cw")
    jog = f"jog holder {servo.positions_us['home']}"
    assert fake.motion.done == ["home", jog, "perform", "home"]
    assert found.measured_us == pytest.approx(300_000, abs=found.within_us)
    (row,) = (
        row
        for row in found.values["actuators.holder.travel"]
        if set(row["between"]) == {"home", "cw"}
    )
    assert row["ms"] == pytest.approx((found.measured_us + found.within_us) / 1e3, abs=0.1)


def test_only_what_a_servo_has_is_measured(fake: Any) -> None:
    with pytest.raises(InvalidRequest, match="'wing' is no servo; there is"):
        travel(fake, "wing", "home", "cw")
    with pytest.raises(InvalidRequest, match="holder has no 'up'; there is"):
        travel(fake, "holder", "home", "up")
    assert fake.motion.done == []


def test_times_with_a_layer_follow_to_a_tenth_of_a_millisecond() -> None:
    servo = load_profile("cubotino").actuators_of(Servo)["holder"]
    row = next(row for row in servo.travel if row.held_ms is not None)
    assert row.held_ms is not None
    rows = travel_values("holder", servo, row.between, 123.456)["actuators.holder.travel"]
    (found, *_) = (one for one in rows if tuple(one["between"]) == row.between)
    exact = row.held_ms * 123.5 / row.ms
    assert abs(exact - round(exact, 1)) > 0.01, "neither does it come out even"
    assert (found["ms"], found["held_ms"]) == (123.5, round(exact, 1))
