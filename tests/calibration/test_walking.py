"""Edges that are walked to in small steps, jaws that begin to hold, and lines of servos."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto.direct import BINS, RADII, Unrolled
from robot.calibration.auto.fitting import (
    USUAL_DEGREE_US,
    fit_values,
    servo_degree_us,
)
from robot.calibration.auto.grippers import JawFinder
from robot.calibration.auto.stepwise_move import Edge, StepwiseMove
from robot.settings import RobotProfile, load_profile
from solver.errors import CalibrationError

CUBOTINO = load_profile("cubotino")
TWO_ARM = load_profile("two-arm")


class Servo:
    """A session with one servo; what it drives lags behind by half of ``slack`` us."""

    def __init__(self, slack: float = 0.0, confirmed: tuple[int, int] | None = None) -> None:
        self.slack, self.confirmed = slack, confirmed
        self.at = self.load = 0.0
        self.asked: list[dict[str, Any]] = []

    def perform(self, _: object, **asked: Any) -> Any:
        self.asked.append(asked)
        to = asked.get("begin_at") if asked["to"] is None else asked["to"]
        if to is not None:
            self.load = to - self.slack / 2 if to > self.at else to + self.slack / 2
            self.at = to
            if self.confirmed is not None:
                low, high = self.confirmed
                self.confirmed = min(low, to), max(high, to)
        low, high = self.confirmed or (0, 9999)
        return SimpleNamespace(position=self.at, low=low, high=high)


def actuator(
    servo: Servo, at: int, profile: RobotProfile = CUBOTINO, name: str = "lid"
) -> StepwiseMove:
    found = StepwiseMove(servo, name, profile.actuators[name])  # type: ignore[arg-type]
    found.wake(at)
    return found


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("slack", [0.0, 8.0])
def test_an_edge_is_walked_over_and_back(direction: int, slack: float) -> None:
    servo = Servo(slack)
    lid = actuator(servo, 1500 - 85 * direction)
    found = lid.find_edge(lambda: (servo.load - 1500) * direction >= 0, direction)
    assert (found.middle, found.slack_us) == (1500, slack)
    assert (found.forwards - found.backwards) * direction == slack
    assert (1500 - lid.at) * direction > 0, "it ends before it"
    assert Edge(10.0, 4.0).middle == 7.0
    assert Edge(4.0, 10.0).slack_us == 6.0


@pytest.mark.parametrize(("away", "is_found"), [(300, True), (310, False)])
def test_an_edge_is_looked_for_within_a_quarter_of_the_limits(away: int, is_found: bool) -> None:
    servo = Servo()
    lid = actuator(servo, 1000)
    if is_found:
        lid.find_edge(lambda: servo.load >= 1000 + away, 1)
        return
    with pytest.raises(
        CalibrationError, match="lid went 300 us from 1000 us on and nothing changed"
    ):
        lid.find_edge(lambda: servo.load >= 1000 + away, 1)


@pytest.mark.parametrize("target", [900, 2100, 899.6])
def test_a_walker_goes_to_its_limits(target: float) -> None:
    servo = Servo()
    lid = actuator(servo, 1500)
    lid.go(target)
    assert lid.at == round(target)
    before = len(servo.asked)
    lid.go(target)
    assert len(servo.asked) == before, "it is there"


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_not_confirmed_is_walked_to_step_by_step(sign: int) -> None:
    servo = Servo(confirmed=(1480, 1520))
    lid = actuator(servo, 1500)
    assert (lid.at, lid.low, lid.high) == (1500, 1480, 1520)
    lid.go(1500 + sign * 160)
    steps = [asked["to"] for asked in servo.asked[1:]]
    assert steps == [1500 + sign * away for away in (70, 120, 160)]
    assert lid.key("open") == "actuators.lid.positions_us.open"


class Jaws:
    """Jaws of the gripper below of a two-armed robot that hold from a pulse on."""

    def __init__(self, holds_from: float, slack: float = 0.0) -> None:
        self.servo = Servo(slack)
        gripper = TWO_ARM.mechanism.grippers["D"]  # type: ignore[attr-defined]
        self.finder = JawFinder(self.servo, TWO_ARM, gripper)  # type: ignore[arg-type]
        self.towards = self.finder.towards_closed
        self.closed, self.open = self.finder.closed, self.finder.open
        self.holds_from = holds_from
        self.name = gripper.rotation
        self.swings: list[float] = []

    def holds(self) -> bool:
        return (self.servo.load - self.holds_from) * self.towards >= 0

    def swing(self, degrees: float) -> float:
        self.swings.append(degrees)
        return 0.0 if self.holds() else -degrees


@pytest.mark.parametrize("slack", [0.0, 12.0])
@pytest.mark.parametrize("before", [40, 46, 55])
def test_jaws_hold_from_an_edge_on_and_a_margin_further(slack: float, before: int) -> None:
    usual = Jaws(0.0)
    edge = usual.closed - before * usual.towards
    jaws = Jaws(edge, slack)
    jaws.finder.actuator.wake(round(jaws.open))
    distance = jaws.open - jaws.closed
    found = jaws.finder.find_by(jaws)  # type: ignore[arg-type]
    margin = 3 * servo_degree_us(TWO_ARM) * jaws.towards
    assert jaws.finder.closed == pytest.approx(edge + margin, abs=2)
    assert jaws.finder.open == pytest.approx(jaws.finder.closed + 1.05 * distance)
    assert jaws.finder.slack_us == pytest.approx(slack, abs=2)
    assert found.evidence["holds_from_us"] == pytest.approx(edge, abs=2)
    assert list(found.values.values()) == [round(jaws.finder.closed), round(jaws.finder.open)]
    sure = 2 + jaws.finder.slack_us / 2
    assert list(found.uncertain.values()) == [
        round(sure, 1),
        round(sure + 0.2 * abs(distance), 1),
    ]
    assert jaws.servo.at == round(jaws.finder.closed), "they hold"
    assert set(jaws.swings) == {4.0}
    jaws.finder.go_open()
    assert jaws.servo.at == round(jaws.finder.open)
    jaws.finder.go_closed()
    assert jaws.servo.at == round(jaws.finder.closed)


@pytest.mark.parametrize(("steps", "holds"), [(10, True), (11, False)])
def test_jaws_are_closed_so_far_and_no_further(steps: int, holds: bool) -> None:
    jaws = Jaws(0.0)
    start = round(jaws.open)
    jaws.holds_from = start + 30 * steps * jaws.towards
    jaws.finder.actuator.wake(start)
    farthest = start + 300 * jaws.towards
    if holds:
        assert jaws.finder.find_edge(jaws.holds, farthest) == pytest.approx(jaws.holds_from, abs=2)
    else:
        with pytest.raises(CalibrationError, match=f"does not hold the cube even at {farthest} us"):
            jaws.finder.find_edge(jaws.holds, farthest)


def test_a_degree_is_as_long_as_positions_of_a_rotation_have_it() -> None:
    assert servo_degree_us(CUBOTINO) == pytest.approx(1000 / 180)
    assert servo_degree_us(load_profile("mindcuber")) == USUAL_DEGREE_US == pytest.approx(100 / 9)
    document = CUBOTINO.model_dump(mode="json")
    document["actuators"]["holder"]["positions_us"] = {"ccw": 2000, "home": 1500, "cw": 1000}
    assert servo_degree_us(RobotProfile.model_validate(document)) == pytest.approx(1000 / 180)


def test_what_fits_best_is_found_from_a_start_a_little_off() -> None:
    seen = np.array([1.0, 2.0])

    def misses(at: Any) -> Any:
        return np.array([np.sin(at[0]) - np.sin(seen[0]), at[0] * at[1] - 2.0, at[1] - seen[1]])

    assert fit_values(misses, np.array([0.7, 2.5])) == pytest.approx(seen, abs=1e-6)


def test_a_face_agrees_with_itself_as_it_is_turned_whatever_the_light() -> None:
    draw = np.random.default_rng(4)
    picture = draw.normal(size=(len(RADII), BINS, 3))
    picture -= picture.mean(axis=1, keepdims=True)
    first = Unrolled(picture)
    for turned, light in ((0, 1.0), (40, 1.0), (-33, 0.4)):
        later = Unrolled(light * np.roll(picture, turned, axis=1))
        found, agreement = later.turned_from(first, turned / 2 + 3.0)
        assert found == pytest.approx(turned / 2, abs=0.3)
        assert agreement == pytest.approx(1.0)
    assert abs(Unrolled(picture[::-1]).turned_from(first, 0.0)[1]) < 0.3
    found, _ = Unrolled(np.roll(picture, 100, axis=1)).turned_from(first, 0.0)
    assert abs(found) <= 40.5, "no further than it is looked for"


@pytest.mark.parametrize("degrees", [0.1, 10.2, -20.35])
def test_a_turn_is_known_to_a_part_of_what_the_picture_is_divided_into(degrees: float) -> None:
    def face(turned: float) -> Unrolled:
        angles = np.radians(np.arange(BINS) * 360 / BINS - turned)
        waves = np.sin(angles) + 0.7 * np.cos(2 * angles + 0.4) + 0.4 * np.sin(5 * angles)
        return Unrolled(np.ones((len(RADII), 1, 3)) * waves[None, :, None])

    found, agreement = face(degrees).turned_from(face(0.0), 0.0)
    assert found == pytest.approx(degrees, abs=0.01)
    assert agreement == pytest.approx(1.0, abs=1e-3)
