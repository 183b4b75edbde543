"""Calibrated values: where they are put, what differs, and what no robot can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from robot.api.calibrations import Calibration
from robot.api.client import RequestError
from robot.calibration.step import Session
from robot.calibration.values import BadCalibration, apply, differences, require_plausible
from robot.settings import load_profile

Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]
CUBOTINO = load_profile("cubotino")
OPEN = "actuators.lid.positions_us.open"
RIGHT = "actuators.right"
HOLDER = "actuators.holder.travel"
QUAD = "cameras.top.views.U.quad"


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("mechanism.kind", 1, "only actuators, cameras, colours, policy can be calibrated"),
        ("actuators.hat.positions_us.open", 1, "the profile has no hat there"),
        ("actuators.lid.positions_us.up", 1, "the profile has no up there"),
        ("cameras.bottom.views.U.quad", 1, "the profile has no bottom there"),
        ("cameras.top.views.D.quad", 1, "the profile has no D there"),
        ("actuators.lid.positions_us.open.more", 1, "the profile has no more there"),
        (OPEN, "far", rf"^{OPEN}: Input should be a valid integer.*'far'"),
        (OPEN, 5000, rf"^{OPEN}: .* less than or equal to 2500, not 5000"),
        (QUAD, [[0.3, 2], [0.7, 0.2], [0.7, 0.7], [0.2, 0.7]], r"^cameras\[0\]\.views\[0\]\.quad"),
    ],
)
def test_what_does_not_fit_is_named(key: str, value: object, why: str) -> None:
    with pytest.raises(BadCalibration, match=why):
        apply(CUBOTINO, Calibration(robot="cubotino", values={key: value}))


def test_lists_are_entered_by_number_or_name() -> None:
    quad = [[0.3, 0.2], [0.7, 0.2], [0.72, 0.7], [0.28, 0.7]]
    found = apply(CUBOTINO, Calibration(robot="cubotino", values={QUAD: quad, OPEN: 1340}))
    assert [list(corner) for corner in found.cameras[0].views[0].quad] == quad
    assert found.actuators["lid"].places["open"] == 1340
    assert CUBOTINO.actuators["lid"].places["open"] == 1335


def test_what_differs_is_listed_in_order() -> None:
    flip = "actuators.lid.positions_us.flip"
    found = Calibration(
        robot="cubotino", values={OPEN: 1340, flip: 1050, "policy.solve_retries": 9}
    )
    assert list(differences(CUBOTINO, found)) == [
        (OPEN, 1335, 1340),
        ("policy.solve_retries", CUBOTINO.policy.solve_retries, 9),
    ]


def holder_times(ms: float) -> list[dict[str, Any]]:
    return [
        {"between": ["ccw", "home"], "ms": ms},
        {"between": ["home", "cw"], "ms": 700},
        {"between": ["ccw", "cw"], "ms": 1470},
    ]


@pytest.mark.parametrize(
    ("robot", "values", "refused"),
    [
        ("four-arm", {f"{RIGHT}.backlash_steps": 60}, ""),
        ("four-arm", {f"{RIGHT}.backlash_steps": 1000}, "225 degrees of play"),
        ("four-arm", {f"{RIGHT}.steps_per_turn": 3200}, ""),
        ("four-arm", {f"{RIGHT}.steps_per_turn": 1620}, ""),
        ("four-arm", {f"{RIGHT}.steps_per_turn": 16}, "no microstep switch makes 16 steps"),
        ("four-arm", {f"{RIGHT}.steps_per_turn": 2200}, "no microstep switch"),
        ("four-arm", {f"{RIGHT}.max_speed_steps_per_s": 100}, ""),
        ("four-arm", {f"{RIGHT}.max_speed_steps_per_s": 80_000}, "far from the"),
        ("four-arm", {f"{RIGHT}.max_acceleration_steps_per_s2": 9_999_999}, "far from the"),
        (
            "four-arm",
            {
                f"{RIGHT}.held": {
                    "max_speed_steps_per_s": 80_000,
                    "max_acceleration_steps_per_s2": 8000,
                }
            },
            "held.max_speed_steps_per_s: 80000 is far",
        ),
        ("cubotino", {HOLDER: holder_times(150)}, ""),
        ("cubotino", {HOLDER: holder_times(10)}, "10 ms from ccw to home cannot be"),
        ("cubotino", {HOLDER: holder_times(15_000)}, "15000 ms from ccw to home cannot be"),
        ("cubotino", {QUAD: [[0.3, 0.2], [0.7, 0.2], [0.72, 0.7], [0.28, 0.7]]}, ""),
        (
            "cubotino",
            {QUAD: [[0.1, 0.2], [0.9, 0.2], [0.53, 0.9], [0.47, 0.9]]},
            "sides of the face",
        ),
    ],
)
def test_values_are_near_to_the_profile_s(robot: str, values: dict[str, Any], refused: str) -> None:
    profile = load_profile(robot)
    calibrated = apply(profile, Calibration(robot=robot, values=values))
    if not refused:
        require_plausible(profile, calibrated, values)
        return
    with pytest.raises(BadCalibration, match=refused):
        require_plausible(profile, calibrated, values)
    # Who changes something else is not bothered with what is kept already.
    require_plausible(profile, calibrated, ["policy.search_s"])


@pytest.fixture
def profile_name() -> str:
    return "four-arm"


def test_the_daemon_keeps_and_tries_out_nothing_that_cannot_be(daemon: Any, ask: Ask) -> None:
    code, _, err = ask("calibrate", "stepper", "backlash", "right", "--to", "1000")
    assert code == 2
    assert "225 degrees of play" in err
    session = Session()
    with session.maintenance(), pytest.raises(RequestError, match="degrees of play"):
        session.try_out({f"{RIGHT}.backlash_steps": 1000})
    assert ask("calibration", "show")[1][0]["values"] == {}
