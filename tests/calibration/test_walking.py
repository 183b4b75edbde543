"""Parts that move step by step while the camera watches: edges, jaws that begin to hold, and what
turns the cube, with its line, its stops, and what a film shows of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto.face_watch import FacePose
from robot.calibration.auto.film import Film, FilmedPose
from robot.calibration.auto.fitting import USUAL_DEGREE_US, TiltGauge, servo_degree_us
from robot.calibration.auto.grippers import JawFinder
from robot.calibration.auto.rotations import SpinningPart, TiltingGripper
from robot.calibration.auto.stepwise_move import StepwiseMove
from robot.settings import RobotProfile, load_profile
from robot.text.faults import CalibrationError

CUBOTINO = load_profile("cubotino")
TWO_ARM = load_profile("two-arm")
QUARTERS = {"ccw": -1, "home": 0, "cw": 1}


class Servo:
    """A session with one servo; what it drives lags behind by half of ``slack`` us."""

    def __init__(self, slack: float = 0.0, confirmed: tuple[int, int] | None = None) -> None:
        self.slack, self.confirmed = slack, confirmed
        self.at = self.load = 1500.0
        self.asked: list[float] = []

    def perform(self, _: object, **asked: Any) -> Any:
        to = asked.get("begin_at") if asked["to"] is None else asked["to"]
        if to is not None:
            self.asked.append(to)
            self.load = min(max(self.load, to - self.slack / 2), to + self.slack / 2)
            self.at = to
            if self.confirmed is not None:
                low, high = self.confirmed
                self.confirmed = min(low, to), max(high, to)
        low, high = self.confirmed or (0, 9999)
        return SimpleNamespace(position=self.at, low=low, high=high)


def lid_of(servo: Servo, at: int) -> StepwiseMove:
    found = StepwiseMove(servo, "lid", CUBOTINO.actuators["lid"])  # type: ignore[arg-type]
    found.wake(at)
    return found


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("slack", [0.0, 8.0])
def test_an_edge_is_walked_over_and_back(direction: int, slack: float) -> None:
    servo = Servo(slack)
    lid = lid_of(servo, 1500 - 85 * direction)
    found = lid.find_edge(lambda: (servo.load - 1500) * direction >= 0, direction)
    assert (found.middle, found.slack_us) == (1500, slack)
    assert (found.forwards - found.backwards) * direction == slack
    assert (1500 - lid.at) * direction > 0, "it ends before it"


@pytest.mark.parametrize(("away", "is_found"), [(300, True), (310, False)])
def test_an_edge_is_looked_for_within_a_quarter_of_the_limits(away: int, is_found: bool) -> None:
    servo = Servo()
    lid = lid_of(servo, 1000)
    if is_found:
        lid.find_edge(lambda: servo.load >= 1000 + away, 1)
        return
    with pytest.raises(CalibrationError, match="lid went 300 us from 1000 us on"):
        lid.find_edge(lambda: servo.load >= 1000 + away, 1)


@pytest.mark.parametrize("target", [899, 900, 2100, 2101])
def test_a_servo_goes_to_its_limits_and_not_beyond(target: int) -> None:
    servo = Servo()
    lid = lid_of(servo, 1500)
    if 900 <= target <= 2100:
        lid.go(target)
    else:
        with pytest.raises(CalibrationError, match="beyond its limits_us"):
            lid.go(target)
    assert lid.at == (target if 900 <= target <= 2100 else 1500)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_not_confirmed_is_walked_to_step_by_step(sign: int) -> None:
    servo = Servo(confirmed=(1480, 1520))
    lid_of(servo, 1500).go(1500 + sign * 160)
    assert servo.asked[1:] == [1500 + sign * away for away in (70, 120, 160)]


def test_a_degree_is_as_long_as_positions_of_a_rotation_have_it() -> None:
    assert servo_degree_us(CUBOTINO) == pytest.approx(1000 / 180)
    assert servo_degree_us(load_profile("mindcuber")) == USUAL_DEGREE_US
    document = CUBOTINO.model_dump(mode="json")
    document["actuators"]["holder"]["positions_us"] = {"ccw": 2000, "home": 1500, "cw": 1000}
    assert servo_degree_us(RobotProfile.model_validate(document)) == pytest.approx(1000 / 180)


class Jaws:
    """Jaws of the gripper below of a two-armed robot that hold from a pulse on."""

    def __init__(self, before: float, slack: float = 0.0) -> None:
        self.servo = Servo(slack)
        gripper = TWO_ARM.mechanism.grippers["D"]  # type: ignore[attr-defined]
        self.finder = JawFinder(self.servo, TWO_ARM, gripper)  # type: ignore[arg-type]
        self.towards = self.finder.towards_closed
        self.holds_from = self.finder.closed - before * self.towards
        self.servo.at = self.servo.load = self.finder.open
        self.finder.actuator.wake(round(self.finder.open))

    def swing(self, degrees: float) -> float:
        holds = (self.servo.load - self.holds_from) * self.towards >= 0
        return 0.0 if holds else -degrees


@pytest.mark.parametrize("slack", [0.0, 12.0])
@pytest.mark.parametrize("before", [40, 46, 55])
def test_jaws_hold_from_an_edge_on_and_a_margin_further(slack: float, before: int) -> None:
    jaws = Jaws(before, slack)
    finder = jaws.finder
    distance = finder.open - finder.closed
    found = finder.find_by(jaws)  # type: ignore[arg-type]
    margin = 3 * servo_degree_us(TWO_ARM) * jaws.towards
    assert finder.closed == pytest.approx(jaws.holds_from + margin, abs=2)
    assert finder.open == pytest.approx(finder.closed + 1.05 * distance)
    assert finder.slack_us == pytest.approx(slack, abs=2)
    assert list(found.values.values()) == [round(finder.closed), round(finder.open)]
    sure, unsure = found.uncertain.values()
    assert sure < 10 < 0.2 * abs(distance) < unsure
    assert jaws.servo.at == round(finder.closed), "they hold"


def test_jaws_that_never_hold_are_named() -> None:
    jaws = Jaws(-2000)
    with pytest.raises(CalibrationError, match=r"does not hold the cube even at \d+ us"):
        jaws.finder.find_by(jaws)  # type: ignore[arg-type]


def straight(pulse: float) -> float:
    """A quarter turn to 500 us, zero at 1520 us."""
    return (pulse - 1520) * 0.18


class Watch(Servo):
    """A camera that sees how far a servo has turned the cube, about its line of sight or tilted."""

    lost_face_error = CalibrationError

    def __init__(self, degrees_of: Callable[[float], float], slack: float = 0.0) -> None:
        super().__init__(slack)
        self.degrees_of = degrees_of
        self.zero, self.turn_in_view = 0.0, 45.0
        self.is_hidden = False
        self.follows: list[bool] = []

    @property
    def truth(self) -> float:
        return self.degrees_of(self.load)

    def look(self, near: float) -> FacePose | None:
        if self.is_hidden:
            return None
        return FacePose(self.truth - self.zero, np.zeros((9, 3)), np.zeros((4, 2)))

    def level_corners(self, follow: bool) -> Any:
        self.follows.append(follow)
        return None if self.is_hidden else tilted((self.truth + 45) % 90 - 45)

    def level(self, corners: Any) -> Any:
        return corners


def tilted(degrees: float) -> Any:
    return TiltGauge("R", (0.3, -0.4), 6.0).corners(degrees)


def spinning(degrees_of: Callable[[float], float], slack: float = 0.0) -> tuple[Watch, Any]:
    watch = Watch(degrees_of, slack)
    actuator = StepwiseMove(watch, "holder", CUBOTINO.actuators["holder"])  # type: ignore[arg-type]
    return watch, SpinningPart(watch, actuator, QUARTERS)  # type: ignore[arg-type]


def lined(slack: float = 0.0) -> tuple[Watch, Any]:
    """One that has found its line."""
    watch, part = spinning(straight, slack)
    part.find_line()
    return watch, part


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("slack", [0.0, 12.0, 50.0])
def test_a_servo_s_line_is_swept_to_both_sides(sign: int, slack: float) -> None:
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


def test_what_does_not_turn_or_is_out_of_view_is_named() -> None:
    watch, part = spinning(lambda _: 0.0)
    with pytest.raises(CalibrationError, match="the cube does not turn with holder"):
        part.find_line()
    watch.is_hidden = True
    with pytest.raises(CalibrationError, match="no whole face is in view while holder turns"):
        part.angle()
    watch.turn_in_view = 44.0
    with pytest.raises(CalibrationError, match="only up to 44 degrees"):
        part.angle()


@pytest.mark.parametrize("slack", [0.0, 12.0])
@pytest.mark.parametrize("degrees", [9.0, -9.0])
def test_slack_is_taken_up_from_whichever_side_it_turns(slack: float, degrees: float) -> None:
    watch, part = lined(slack)
    part.go(degrees)
    assert (part.angle(), watch.truth) == (pytest.approx(degrees, abs=0.1),) * 2
    part.turn(-degrees)
    assert watch.truth == pytest.approx(-degrees, abs=0.1)
    part.settle()
    assert watch.truth == pytest.approx(0, abs=0.1)


def test_a_swing_tells_how_far_the_cube_has_followed() -> None:
    watch, part = lined()
    assert part.swing(9.0) == pytest.approx(9.0, abs=0.2)
    assert watch.truth == pytest.approx(0, abs=0.1)
    watch.degrees_of = lambda _: 0.0
    assert part.swing(9.0) == 0.0


@pytest.mark.parametrize("off", [-4.1, -3.9, 3.0, 4.1])
def test_square_is_where_other_jaws_hold_the_cube(off: float) -> None:
    watch, part = lined()
    watch.degrees_of = lambda pulse: straight(pulse) + off
    if abs(off) > 4:
        with pytest.raises(CalibrationError, match=f"turned by [+-]{abs(off)} degrees when"):
            part.set_square()
        return
    assert part.set_square() == pytest.approx(off, abs=0.1)
    assert part.angle() == pytest.approx(straight(part.line.pulse_at_zero), abs=0.1)


def test_stops_are_looked_at_each_from_zero() -> None:
    watch, part = lined(12.0)
    watch.degrees_of = lambda pulse: (
        straight(pulse) + (1.8 if pulse > 1900 else -0.9 if pulse < 1100 else 0.0)
    )
    places, off = part.find_stops()
    assert places == {"home": 1520, "ccw": 1025, "cw": 2010}
    assert off == {"ccw": pytest.approx(-0.9, abs=0.1), "cw": pytest.approx(1.8, abs=0.1)}


@pytest.mark.parametrize(("wrong", "is_far"), [(3.8, False), (-3.8, False), (4.2, True)])
def test_a_stop_too_far_from_the_line_is_named(wrong: float, is_far: bool) -> None:
    watch, part = lined()
    watch.degrees_of = lambda pulse: straight(pulse) + (wrong if pulse > 1900 else 0.0)
    if is_far:
        with pytest.raises(CalibrationError, match=r"holder stands \+4.2 degrees off at 2020 us"):
            part.find_stops()
    else:
        assert part.find_stops()[1]["cw"] == pytest.approx(wrong, abs=0.1)


@pytest.fixture
def tilting() -> tuple[Watch, Any]:
    """A gripper beside the cube that has found its line."""
    watch = Watch(straight)
    actuator = StepwiseMove(watch, "right", CUBOTINO.actuators["holder"])  # type: ignore[arg-type]
    part = TiltingGripper(watch, actuator, QUARTERS, "R")  # type: ignore[arg-type]
    part.find_line()
    return watch, part


def test_a_tilt_is_counted_in_quarters_near_where_it_is_expected(
    tilting: tuple[Watch, Any],
) -> None:
    watch, part = tilting
    assert part.line.degrees_per_us == pytest.approx(0.18, rel=1e-3)
    watch.degrees_of = lambda _: 3.0
    for near, degrees in ((0.0, 3.0), (90.0, 93.0), (-180.0, -177.0)):
        part.expect(near)
        assert part.angle() == pytest.approx(degrees, abs=0.02)
    part.shift_zero(1.5)
    assert part.angle() == pytest.approx(-178.5, abs=0.02)
    watch.is_hidden = True
    with pytest.raises(CalibrationError, match="no whole face is in view while right turns"):
        part.angle()


def test_a_tilted_face_is_followed_only_while_other_jaws_are_about(
    tilting: tuple[Watch, Any],
) -> None:
    watch, part = tilting
    assert not any(watch.follows)
    watch.follows.clear()
    part.swing(4.0)
    part.set_square()
    assert all(watch.follows)
    part.angle()
    assert not watch.follows[-1]


def pictured(*tilts: tuple[float, int], miss: float = 0.0) -> Film:
    """Faces tilted so far, each of a colour; one without corners before them."""
    faces = [FilmedPose(time_us=0)]
    for number, (tilt, colour) in enumerate(tilts):
        corners = tilted(tilt)
        corners[0] += miss
        one = [0.0, 0.0, 0.0]
        one[colour] = 1.0
        faces.append(
            FilmedPose(
                time_us=1000 * number,
                corners=corners.tolist(),
                colours=[tuple(one)] * 9,  # type: ignore[list-item]
            )
        )
    return Film(pictures=faces)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_film_shows_one_face_after_the_other(tilting: tuple[Watch, Any], sign: int) -> None:
    _, part = tilting
    film = pictured((1.0, 0), (30.0, 0), (39.0, 0), (-30.0, 1), (20.0, 1), (-20.0, 2))
    times, degrees = zip(*part.read_film(film, sign * 180.0), strict=True)
    assert times == (0, 1000, 3000, 4000, 5000), "not where two faces look alike"
    expected = (0.0, 29.0, sign * 90 - 31.0, sign * 90 + 19.0, sign * 180 - 21.0)
    assert degrees == pytest.approx(expected, abs=0.1)
    assert part.read_film(pictured((1.0, 0), (2.0, 0), miss=0.2), 90.0) == []
    assert part.read_film(pictured(), 90.0) == []
