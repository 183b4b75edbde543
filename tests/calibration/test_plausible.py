"""What no robot can be is refused, whoever found it; what switches and gears make is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from robot.api.calibrations import Calibration
from robot.api.client import RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.step import Session
from robot.calibration.steps.steppers import TurnSteps
from robot.calibration.values import BadCalibration, apply, require_plausible
from robot.settings import load_profile
from solver.errors import InvalidRequest

Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]
RIGHT = "actuators.right"
HOLDER = "actuators.holder.travel"
QUAD = "cameras.top.views.U.quad"


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


class TestTheDaemon:
    """It refuses what is told and what is tried out alike."""

    @pytest.fixture
    def profile_name(self) -> str:
        return "four-arm"

    def test_keeps_and_tries_out_nothing_that_cannot_be(self, daemon: Any, ask: Ask) -> None:
        code, _, err = ask("calibrate", "stepper", "backlash", "right", "--to", "1000")
        assert code == 2
        assert "225 degrees of play" in err
        assert "Traceback" not in err
        session = Session()
        with session.maintenance(), pytest.raises(RequestError, match="degrees of play"):
            session.try_out({f"{RIGHT}.backlash_steps": 1000})
        assert ask("calibration", "show")[1][0]["values"] == {}


class Camera:
    """A daemon whose camera has counted whole turns of so many steps."""

    def __init__(self, found: int | None) -> None:
        self.found = found

    def call(self, endpoint: Endpoint[Any], body: Any = None, **more: Any) -> dict[str, Any]:
        if endpoint.path == "/calibration":
            return {"robot": "four-arm", "values": {}}
        turn = body["turn_steps"]
        return {
            "actuator": "right",
            "steps": turn,
            "turn_steps": turn,
            "found_steps": self.found,
            "values": {},
        }


@pytest.mark.parametrize(
    ("seen", "turned", "found"),
    [(1600, 180.0, None), (1600, 356.0, 1616), (None, 180.0, 3200), (3200, 180.0, 3200)],
)
def test_a_person_does_not_overrule_what_the_camera_has_just_counted(
    seen: int | None, turned: float, found: int | None
) -> None:
    steps = TurnSteps(Session(Camera(seen)), "right", 1, turned)  # type: ignore[arg-type]
    if found is None:
        with pytest.raises(InvalidRequest, match="camera saw right make whole turns of 1600 steps"):
            list(steps.measure())
        return
    list(steps.measure())
    assert steps.document["found_steps"] == found
