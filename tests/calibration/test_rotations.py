"""Parts that move in steps while the camera watches.

Jaws begin to hold, and parts turn the cube: their line, stops and films.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto.face_watch import FacePose, nearest_quarter
from robot.calibration.auto.film import Film, FilmedPose
from robot.calibration.auto.finder import stops_finding
from robot.calibration.auto.fitting import TiltGauge
from robot.calibration.auto.grippers import JawFinder
from robot.calibration.auto.rotations import SpinningPart, TiltingGripper
from robot.calibration.auto.stepwise_move import StepwiseMove
from robot.settings import load_profile
from robot.text.faults import CalibrationError

CUBOTINO = load_profile("cubotino")
TWO_ARM = load_profile("two-arm")
QUARTERS = {"ccw": -1, "home": 0, "cw": 1}


class Servo:
    """A session with one servo, whose load lags behind by half of ``slack`` us."""

    def __init__(self, slack: float = 0.0) -> None:
        self.slack = slack
        self.at = self.load = 1500.0
        self.asked: list[float] = []

    def perform(self, _: object, **asked: Any) -> Any:
        to = asked.get("begin_at") if asked["to"] is None else asked["to"]
        if to is not None:
            self.asked.append(to)
            self.load = min(max(self.load, to - self.slack / 2), to + self.slack / 2)
            self.at = to
        return SimpleNamespace(position=self.at, low=0, high=9999)


class Jaws:
    """Jaws of a two-armed robot's lower gripper that hold beyond a pulse."""

    def __init__(self, before: float, slack: float = 0.0) -> None:
        self.servo = Servo(slack)
        gripper = TWO_ARM.mechanism.grippers["D"]
        self.finder = JawFinder(self.servo, TWO_ARM, gripper)
        self.towards = self.finder.towards_closed
        self.holds_from = self.finder.closed - before * self.towards
        self.servo.at = self.servo.load = self.finder.open
        self.finder.actuator.wake(round(self.finder.open))

    def swing(self, degrees: float) -> float:
        holds = (self.servo.load - self.holds_from) * self.towards >= 0
        return 0.0 if holds else -degrees


@pytest.mark.parametrize(("before", "slack"), [(40, 0.0), (46, 12.0), (55, 12.0)])
def test_jaws_hold_from_an_edge_on_and_a_margin_further(before, slack):
    jaws = Jaws(before, slack)
    finder = jaws.finder
    distance = finder.open - finder.closed
    found = finder.find_by(jaws)
    # They grip two steps beyond the edge, which is known to one step. They close from the same side
    # as they were found, so the edge already includes their slack.
    firm = jaws.holds_from + jaws.towards * slack / 2
    assert finder.closed == pytest.approx(firm + jaws.towards * 8, abs=3)
    assert finder.open == pytest.approx(firm + 1.05 * distance, abs=3)
    assert finder.slack_us == pytest.approx(slack, abs=2)
    assert list(found.values.values()) == [round(finder.closed), round(finder.open)]
    sure, unsure = found.uncertain.values()
    assert sure < 10 < 0.2 * abs(distance) < unsure
    assert jaws.servo.at == round(finder.closed), "they hold"
    never = Jaws(-2000)
    with pytest.raises(CalibrationError, match=r"does not hold the cube even at \d+ us"):
        never.finder.find_by(never)


def straight(pulse: float) -> float:
    """Return degrees for a pulse: a quarter turn is 500 us, zero is at 1520 us."""
    return (pulse - 1520) * 0.18


class Watch(Servo):
    """A camera that sees a servo turn the cube, about its line of sight or tilted."""

    lost_face_error = CalibrationError

    def __init__(self, degrees_of: Callable[[float], float], slack: float = 0.0) -> None:
        super().__init__(slack)
        self.profile = TWO_ARM
        self.degrees_of = degrees_of
        self.zero, self.turn_in_view = 0.0, 45.0
        self.remedy = "turn the camera"
        self.is_hidden = self.looks_alike = False
        self.follows: list[bool] = []

    @property
    def truth(self) -> float:
        return self.degrees_of(self.load)

    def look(self, near: float) -> FacePose | None:
        if self.is_hidden:
            return None
        degrees = self.truth - self.zero
        if self.looks_alike:
            degrees = nearest_quarter(degrees, near)
        return FacePose(degrees, np.zeros((9, 3)), np.zeros((4, 2)))

    def level_corners(self, follow: bool) -> Any:
        self.follows.append(follow)
        return None if self.is_hidden else tilted((self.truth + 45) % 90 - 45)

    def level(self, corners: Any) -> Any:
        return corners


def tilted(degrees: float) -> Any:
    return TiltGauge("R", (0.3, -0.4), 6.0).corners(degrees)


def spinning(degrees_of: Callable[[float], float], slack: float = 0.0) -> tuple[Watch, Any]:
    watch = Watch(degrees_of, slack)
    actuator = StepwiseMove(watch, "holder", CUBOTINO.actuators["holder"])
    return watch, SpinningPart(watch, actuator, QUARTERS)


def lined(slack: float = 0.0) -> tuple[Watch, Any]:
    """Return a part that has found its line."""
    watch, part = spinning(straight, slack)
    part.find_line()
    return watch, part


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("slack", [0.0, 12.0, 50.0])
def test_a_servo_s_line_is_swept_to_both_sides(sign, slack):
    watch, part = spinning(lambda pulse: sign * straight(pulse), slack)
    line = part.find_line()
    assert line.degrees_per_us == pytest.approx(sign * 0.18)
    assert line.pulse_at_zero == pytest.approx(1520)
    assert line.slack_us == pytest.approx(slack, abs=1e-6)
    assert watch.asked[0] == 1500, "woken at home"
    assert watch.truth == pytest.approx(0.0, abs=0.2), "it ends at zero"
    if sign > 0:
        ends = [abs(straight(at)) for at in (min(watch.asked), max(watch.asked))]
        assert all(70 <= each < 70 + 0.18 * (40 + slack) + 1 for each in ends)


def test_what_does_not_turn_or_is_out_of_view_is_named():
    watch, part = spinning(lambda _: 0.0)
    with pytest.raises(CalibrationError, match="holder does not turn the cube"):
        part.find_line()
    watch.is_hidden = True
    with pytest.raises(CalibrationError, match="no whole face is in view while holder turns"):
        part.angle()
    watch.turn_in_view = 44.0
    with pytest.raises(CalibrationError, match="only up to 44 degrees"):
        part.angle()
    watch.turn_in_view = 4.0
    with pytest.raises(CalibrationError, match=r"up to 4 .* 5 are needed: turn the camera"):
        part.find_line()


@pytest.mark.parametrize("cw", [1.8, 11.8, -3.8])
def test_stops_are_looked_at_each_from_zero(cw):
    watch, part = lined(12.0)
    ends = (0.0, -0.9, cw)
    watch.degrees_of = lambda pulse: straight(pulse) + ends[(pulse < 1100) + 2 * (pulse > 1900)]
    places, off = part.find_stops()
    # The servo reaches both ends from the middle, and stops half of 12 us before them.
    expected = {"home": 1520, "ccw": 1025 - 6, "cw": 2020 - cw / 0.18 + 6}
    assert places == pytest.approx(expected, abs=1) and places["home"] == 1520
    assert off == {"ccw": pytest.approx(-0.9, abs=0.1), "cw": pytest.approx(cw, abs=0.1)}
    for off in (-4.2, 12.2):
        watch.degrees_of = lambda pulse, off=off: straight(pulse) + (off if pulse > 1900 else 0.0)
        with pytest.raises(CalibrationError, match=rf"is \{off:+} degrees off at 20\d\d us"):
            part.find_stops()


def test_a_servo_stops_at_its_limit_if_that_is_hardly_short_of_a_position():
    watch, part = lined(12.0)
    built = part.actuator.settings
    part.actuator.settings = built.model_copy(update={"limits_us": (500, 2018)})
    places, _ = part.find_stops()
    assert places["cw"] == 2018
    found = stops_finding("table", part, places, {})
    home, ccw, cw = found.uncertain.values()
    assert home == ccw == pytest.approx(cw - 8, abs=0.5), "what is short counts as unsure"
    part.actuator.settings = built.model_copy(update={"limits_us": (500, 2010)})
    with pytest.raises(CalibrationError, match="put its horn on another tooth"):
        part.find_stops()
    watch.degrees_of = lambda pulse: straight(pulse) + (3 if pulse > 1900 else 0.0)
    assert part.find_stops()[0]["cw"] == pytest.approx(2026 - 3 / 0.18, abs=1), "less far"


@pytest.mark.parametrize("off", [-4.1, -3.9, 3.0, 4.1])
def test_square_is_where_other_jaws_hold_the_cube(off):
    watch, part = lined()
    watch.degrees_of = lambda pulse: straight(pulse) + off
    if abs(off) > 4:
        with pytest.raises(CalibrationError, match=f"turned by [+-]{abs(off)} degrees when"):
            part.set_square()
        return
    assert part.set_square() == pytest.approx(off, abs=0.1)
    assert part.angle() == pytest.approx(straight(part.line.pulse_at_zero), abs=0.1)


@pytest.fixture
def tilting() -> tuple[Watch, Any]:
    """Return a gripper beside the cube that has found its line."""
    watch = Watch(straight)
    actuator = StepwiseMove(watch, "right", CUBOTINO.actuators["holder"])
    part = TiltingGripper(watch, actuator, QUARTERS, "R")
    part.find_line()
    return watch, part


def test_a_tilt_is_counted_in_quarters_near_where_it_is_expected(tilting):
    watch, part = tilting
    assert part.line.degrees_per_us == pytest.approx(0.18, rel=1e-3)
    watch.degrees_of = lambda _: 3.0
    for near, degrees in ((0.0, 3.0), (90.0, 93.0), (-180.0, -177.0)):
        part.expect(near)
        assert part.angle() == pytest.approx(degrees, abs=0.02)
    part.shift_zero(1.5)
    assert part.angle() == pytest.approx(-178.5, abs=0.02)
    assert not any(watch.follows), "it is followed only while other jaws are about"
    part.expect(0.0)
    part.shift_zero(-1.5)
    part.swing(4.0)
    part.set_square()
    assert [one for one in watch.follows if one] == watch.follows[-3:] == [True] * 3
    watch.is_hidden = True
    with pytest.raises(CalibrationError, match="no whole face is in view while right turns"):
        part.angle()


def test_a_cube_that_follows_quarter_turns_is_seen_on_the_way():
    """Look halfway: after a whole quarter turn the cube would seem not to have moved."""
    watch, part = lined()
    watch.looks_alike = True
    places = {"home": 1520, "ccw": 1020, "cw": 2020}
    part.go(0.0)
    assert part.follows_held(places) == pytest.approx(30.0, abs=0.5)
    watch.degrees_of = lambda _: 0.4
    assert part.follows_held(places) == pytest.approx(0.0, abs=0.1)


def pictured(*tilts: tuple[float, int], miss: float = 0.0) -> Film:
    """Return a film of faces with these tilts, each of one colour, after one without corners."""
    faces = [FilmedPose(time_us=0)]
    for number, (tilt, colour) in enumerate(tilts):
        corners = tilted(tilt)
        corners[0] += miss
        colours = np.eye(3)[[colour] * 9].tolist()
        faces.append(FilmedPose(time_us=1000 * number, corners=corners.tolist(), colours=colours))
    return Film(pictures=faces)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_film_shows_one_face_after_the_other(tilting, sign):
    _, part = tilting
    film = pictured((1.0, 0), (30.0, 0), (39.0, 0), (-30.0, 1), (20.0, 1), (-20.0, 2))
    times, degrees = zip(*part.read_film(film, sign * 180.0), strict=True)
    assert times == (0, 1000, 3000, 4000, 5000), "not where two faces look alike"
    expected = (0.0, 29.0, sign * 90 - 31.0, sign * 90 + 19.0, sign * 180 - 21.0)
    assert degrees == pytest.approx(expected, abs=0.1)
    assert part.read_film(pictured((1.0, 0), (2.0, 0), miss=0.2), 90.0) == []
    assert part.read_film(pictured(), 90.0) == []
