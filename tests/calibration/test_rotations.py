"""What turns the cube: its line, its stops, and what a film shows of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto.face_watch import FacePose
from robot.calibration.auto.film import Film, FilmedPose
from robot.calibration.auto.fitting import ServoLine
from robot.calibration.auto.rotations import SpinningPart, TiltingGripper
from robot.calibration.auto.stepwise_move import StepwiseMove
from robot.settings import load_profile
from solver.errors import CalibrationError

HOLDER = load_profile("cubotino").actuators["holder"]
QUARTERS = {"ccw": -1, "home": 0, "cw": 1}


class Watch:
    """A camera that sees how far a servo has turned the cube."""

    lost_face_error = CalibrationError

    def __init__(self, degrees_of: Callable[[float], float]) -> None:
        self.degrees_of = degrees_of
        self.at = self.load = 1500.0
        self.slack = self.zero = 0.0
        self.turn_in_view = 45.0
        self.is_hidden = False
        self.near: list[float] = []
        self.went: list[float] = []

    def perform(self, _: object, **asked: Any) -> Any:
        to = asked.get("begin_at") if asked["to"] is None else asked["to"]
        self.load = min(max(self.load, to - self.slack / 2), to + self.slack / 2)
        self.at = to
        self.went.append(to)
        return SimpleNamespace(position=to, low=0, high=9999)

    def look(self, near: float) -> FacePose | None:
        self.near.append(near)
        if self.is_hidden:
            return None
        degrees = self.degrees_of(self.load) - self.zero
        return FacePose(degrees, np.zeros((9, 3)), np.zeros((4, 2)))


def spinning(degrees_of: Callable[[float], float], slack: float = 0.0) -> tuple[Watch, Any]:
    watch = Watch(degrees_of)
    watch.slack = slack
    actuator = StepwiseMove(watch, "holder", HOLDER)  # type: ignore[arg-type]
    return watch, SpinningPart(watch, actuator, QUARTERS)  # type: ignore[arg-type]


def straight(pulse: float) -> float:
    """A quarter turn to 500 us, zero at 1520 us."""
    return (pulse - 1520) * 0.18


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("slack", [0.0, 12.0, 50.0])
def test_a_servo_s_line_is_swept_to_both_sides(sign: int, slack: float) -> None:
    watch, part = spinning(lambda pulse: sign * straight(pulse), slack)
    line = part.find_line()
    assert line.degrees_per_us == pytest.approx(sign * 0.18)
    assert line.pulse_at_zero == pytest.approx(1520)
    assert line.slack_us == pytest.approx(slack, abs=1e-6)
    assert watch.went[0] == 1500, "woken at home"
    steps = np.diff(watch.went[:-1])
    assert set(np.abs(steps[1:])) == {40}
    assert watch.degrees_of(watch.load) == pytest.approx(0.0, abs=0.2), "it ends at zero"
    far = [abs(watch.degrees_of(at)) for at in (min(watch.went), max(watch.went))]
    if sign > 0:
        assert all(70 <= each < 70 + 0.18 * (40 + slack) + 1 for each in far)


def test_what_does_not_turn_is_named() -> None:
    _, part = spinning(lambda _: 0.0)
    with pytest.raises(CalibrationError, match="the cube does not turn with holder"):
        part.find_line()


def test_a_face_out_of_view_is_named_with_its_cause() -> None:
    watch, part = spinning(straight)
    watch.is_hidden = True
    with pytest.raises(
        CalibrationError, match="no whole face is in view while holder turns the cube"
    ):
        part.angle()
    watch.turn_in_view = 44.0
    with pytest.raises(CalibrationError, match="only up to 44 degrees"):
        part.angle()


def lined(slack: float = 0.0, off: Callable[[float], float] = lambda _: 0.0) -> tuple[Watch, Any]:
    """One whose line is known."""
    watch, part = spinning(lambda pulse: straight(pulse) + off(pulse), slack)
    part._line = ServoLine(0.18, 1520.0, slack, 0.0)
    part.actuator.wake(1520)
    watch.went.clear()
    return watch, part


def test_slack_is_taken_up_from_whichever_side_it_turns() -> None:
    watch, part = lined(12.0)
    part.go(9.0)
    assert watch.went == [1576]
    assert (part.angle(), part.expected) == (pytest.approx(9), pytest.approx(9))
    part.turn(-9.0)
    assert watch.went == [1576, 1464]
    assert part.expected == pytest.approx(9), "the cube may stay where it is"
    part.settle()
    assert watch.degrees_of(watch.load) == pytest.approx(0, abs=0.1)
    assert straight(watch.went[-2]) == pytest.approx(-6, abs=1.3)


def test_a_swing_tells_how_far_the_cube_has_followed() -> None:
    watch, part = lined()
    assert part.swing(9.0) == pytest.approx(9.0)
    assert watch.went == [1495, 1545, 1520]
    assert watch.near[1] == 0.0, "what is held stays"
    watch.degrees_of = lambda _: 0.0
    assert part.swing(9.0) == 0.0


@pytest.mark.parametrize("off", [-4.0, 3.0, 4.1, -4.1])
def test_square_is_where_other_jaws_hold_the_cube(off: float) -> None:
    watch, part = lined(off=lambda _: off)
    if abs(off) > 4:
        with pytest.raises(CalibrationError, match=f"turned by [+-]{abs(off)} degrees when"):
            part.set_square()
        return
    part.actuator.go(1800)
    watch.went.clear()
    assert part.set_square() == pytest.approx(off)
    assert watch.zero == pytest.approx(off)
    assert part.line.pulse_at_zero == pytest.approx(1520 + off / 0.18)
    assert watch.went == [1520, round(1520 + off / 0.18)]


def test_stops_are_looked_at_each_from_zero() -> None:
    watch, part = lined(
        12.0, lambda pulse: 1.804 if pulse > 1900 else -0.9 if pulse < 1100 else 0.0
    )
    places, off = part.find_stops()
    assert places == {"home": 1520, "ccw": 1025, "cw": 2010}
    assert off == {"ccw": -0.9, "cw": 1.8}
    assert list(places) == ["home", "ccw", "cw"]
    assert watch.went == [1514, 1526, 1014, 1526, 2026, 1514], (
        "each from the side that it comes from"
    )
    assert watch.near[:2] == [-90.0, 90.0]


@pytest.mark.parametrize(("wrong", "is_far"), [(3.9, False), (-3.9, False), (4.2, True)])
def test_a_stop_too_far_from_the_line_is_named(wrong: float, is_far: bool) -> None:
    _, part = lined(off=lambda pulse: wrong if pulse > 1900 else 0.0)
    if is_far:
        with pytest.raises(
            CalibrationError, match=r"holder stands \+4.2 degrees off at 2020 us, where cw"
        ):
            part.find_stops()
    else:
        assert part.find_stops()[1]["cw"] == wrong


class Level:
    """A face that is seen from above: its first corner's x says how far it is tilted."""

    follows: list[bool]
    lost_face_error = CalibrationError

    def __init__(self) -> None:
        self.tilt: float | None = 0.0
        self.follows = []

    def level_corners(self, follow: bool) -> Any:
        self.follows.append(follow)
        return None if self.tilt is None else np.full((4, 2), self.tilt)

    def level(self, corners: Any) -> Any:
        return corners


class Gauge:
    """Reads what :class:`Level` shows; ``scale`` is what it was adapted to."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self.views = 0

    def degrees(self, corners: Any) -> float:
        return float(self.scale * corners[0, 0])

    def misses(self, corners: Any, tilt: float) -> float:
        return float(corners[0, 1] - corners[0, 0])

    def fit_camera(self, views: Any) -> Gauge:
        found = Gauge(2 * self.scale)
        found.views = len(views)
        return found


def tilting() -> tuple[Level, Any]:
    level = Level()
    actuator = StepwiseMove(None, "right", HOLDER)  # type: ignore[arg-type]
    part: Any = TiltingGripper(level, actuator, QUARTERS, "R")  # type: ignore[arg-type]
    part._gauge = Gauge()
    return level, part


def test_a_tilt_is_counted_in_quarters_near_where_it_is_expected() -> None:
    level, part = tilting()
    level.tilt = 3.0
    assert part.angle() == 3.0
    part.expect(90.0)
    assert part.angle() == 93.0
    part.expect(-180.0)
    assert part.angle() == -177.0
    part.shift_zero(1.0)
    part.shift_zero(0.5)
    assert part.angle() == -178.5
    level.tilt = None
    with pytest.raises(CalibrationError, match="no whole face is in view while right turns"):
        part.angle()


def test_a_tilted_face_is_followed_only_while_other_jaws_are_about() -> None:
    level, part = tilting()
    part._line = ServoLine(1.0, 0.0, 0.0, 0.0)
    part.actuator.go = lambda _: None
    level.tilt = 1.0
    part.swing(4.0)
    assert level.follows == [True, True]
    part.angle()
    assert level.follows[2:] == [False]
    assert part.set_square() == 1.0
    assert level.follows[3:] == [True]
    assert part.angle() == 0.0
    assert level.follows[4:] == [False]


def pictured(*tilts: tuple[float, int], miss: float = 0.0) -> Film:
    """Faces tilted so far, each of a colour; one without corners before them."""
    faces = [FilmedPose(time_us=0)]
    for number, (tilt, colour) in enumerate(tilts):
        one = [0.0, 0.0, 0.0]
        one[colour] = 1.0
        faces.append(
            FilmedPose(
                time_us=1000 * number,
                corners=[(tilt, tilt + miss)] * 4,
                colours=[tuple(one)] * 9,  # type: ignore[list-item]
            )
        )
    return Film(pictures=faces)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_film_shows_one_face_after_the_other(sign: int) -> None:
    _, part = tilting()
    part._line = ServoLine(1.0, 0.0, 0.0, 0.0)
    film = pictured((1.0, 0), (30.0, 0), (39.0, 0), (-30.0, 1), (20.0, 1), (-20.0, 2))
    assert part.read_film(film, sign * 180.0) == [
        (0, 0.0),
        (1000, 29.0),
        (3000, sign * 90 - 31.0),
        (4000, sign * 90 + 19.0),
        (5000, sign * 180 - 21.0),
    ]
    assert part.read_film(pictured((38.0, 0), (-38.0, 0)), 90.0) == [(0, 0.0), (1000, -76.0)]
    assert part.read_film(pictured((1.0, 0), (2.0, 0), miss=0.07), 90.0) == []
    assert len(part.read_film(pictured((1.0, 0), (2.0, 0), miss=0.05), 90.0)) == 2
    assert part.read_film(pictured(), 90.0) == []
