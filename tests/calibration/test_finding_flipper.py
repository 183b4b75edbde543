"""The results of the flipper's finder for a lid and a table of which everything is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto.face_watch import FacePose, nearest_quarter, quarters_between
from robot.calibration.auto.finder import Finding
from robot.calibration.auto.fitting import ServoLine
from robot.calibration.auto.flipper import FlipperFinder
from robot.calibration.auto.holding import HoldCurve, find_hold
from robot.calibration.auto.rotations import SpinningPart
from robot.calibration.steps.positions import MOVING
from robot.machine.confirmed_range import confirmable
from robot.settings import RobotProfile, load_profile
from robot.text.faults import CalibrationError
from tests.calibration.conftest import calibrating
from tests.rig.profiles import changed

FACES = [np.eye(3)[[k % 3] * 9] for k in range(3)]
"""Faces of one colour each: no two share a sticker."""


def arm_at(**places: int) -> RobotProfile:
    """Return a MindCuber whose arm has other positions."""
    return changed("mindcuber", {f"actuators.arm.positions_us.{n}": at for n, at in places.items()})


@pytest.mark.parametrize("known", ["confirmed", "imported", "nothing"])
def test_a_lid_that_was_left_down_is_opened_by_the_robot_and_by_nobody_s_hand(known: str) -> None:
    profile = load_profile("cubotino")
    down = profile.actuators["lid"].places["close"]
    with calibrating(profile, confirmed=known == "confirmed") as (run, session):
        session.import_values(confirmable(profile) if known == "imported" else {})
        session.perform(MOVING, actuator="lid", to=down, begin_at=down)
        findings = FlipperFinder(session).find()
        if known == "confirmed":
            assert next(findings).stage == "camera"
            assert run.robot.place("lid") == "open"
            return
        with pytest.raises(CalibrationError, match="with `cubist calibrate servo`, never by hand"):
            next(findings)
        assert session.perform(MOVING, actuator="lid", to=None).position == down


class World:
    """A lid that hides, holds and rolls the cube at set pulses, and a table that turns it.

    As a ``session`` it records in ``went`` where lid and table were moved.
    """

    def __init__(self, profile: RobotProfile) -> None:
        self.profile = self.calibrated = profile
        self.went: list[tuple[str, float]] = []
        self.covers: Callable[[float], bool] = lambda _: False
        self.holds: Callable[[float], bool] = lambda _: False
        self.rolls: Callable[[float], bool] = lambda _: False
        self.is_gone = False
        self.face = 0
        self.lid = self.cube = self.stands = 0.0
        self.leaves: Iterator[float] = iter(())
        """Positions in which the walls of the lid leave a held cube."""
        self.finder = FlipperFinder(self)  # type: ignore[arg-type]
        self.finder.lid.high = 9999
        self.finder.watch = self  # type: ignore[assignment]
        self.finder.table = Table(self, profile)  # type: ignore[assignment]

    def perform(self, _: object, actuator: str, to: int | None, begin_at: int | None = None) -> Any:
        place = begin_at if to is None else to
        assert place is not None
        self.went.append((actuator, place))
        if self.rolls(place):
            self.face = (self.face + 1) % 3
        self.lid = place
        return SimpleNamespace(position=place, low=0, high=9999)

    def try_out(self, values: Any) -> None: ...

    def look(self, near: float = 0.0) -> FacePose | None:
        if self.covers(self.lid) or self.is_gone:
            return None
        shown = np.rot90(FACES[self.face].reshape(3, 3, 3), round(self.cube / 90))
        return FacePose(near, shown.reshape(9, 3), np.zeros((4, 2)))


class Table(SpinningPart):
    """A table that turns the cube while the lid does not hold it."""

    name = "holder"
    is_stepper = False
    line = ServoLine(9 / 50, 1500.0, 6.0, 0.0)

    def __init__(self, world: World, profile: RobotProfile) -> None:
        self._world = world
        self.quarters = {"ccw": -1, "home": 0, "cw": 1}
        self.expected = self.centre = 0.0

    def go(self, degrees: float) -> None:
        world = self._world
        world.went.append(("table", degrees))
        if world.holds(world.lid):
            world.cube = next(world.leaves, world.cube)
        else:
            world.cube += degrees - world.stands
        world.stands = self.expected = degrees

    def expect(self, degrees: float) -> None:
        self.expected = degrees

    def angle(self) -> float:
        return nearest_quarter(self._world.cube - self.centre, self.expected)

    def recentre(self, degrees: float) -> None:
        self.centre += degrees


@pytest.fixture
def world() -> World:
    """Return a CUBOTino close to its profile: the picture is clear between 1200 and 1420 us."""
    here = World(load_profile("cubotino"))
    here.lid = 1335
    here.finder.lid.at = 1335
    here.covers = lambda pulse: pulse >= 1420 or pulse <= 1200
    here.holds = lambda pulse: pulse >= 1480
    here.rolls = lambda pulse: pulse <= 1050
    return here


def lid_values(found: Finding) -> dict[str, Any]:
    return {key.rpartition(".")[2]: value for key, value in found.values.items()}


def test_a_lid_is_open_in_the_middle_holds_from_a_pulse_on_and_rolls_beyond(world: World) -> None:
    found = world.finder.find_open()
    assert (lid_values(found), world.lid) == ({"open": 1310}, 1310)
    assert list(found.uncertain.values()) == [2.0]
    world.went.clear()
    found = world.finder.find_hold()
    # Open is as in the profile between where the cube lies flat and hold: 0.348 * 285 of 264 us.
    opens_at = lid_values(found)["open"]
    assert lid_values(found) == pytest.approx({"open": 1307, "close": 1488}, abs=2)
    assert found.evidence["holds_from_us"] == pytest.approx(found.evidence["firm_from_us"], abs=3)
    assert found.evidence["gain"] == pytest.approx(165 / 177, abs=0.02)
    assert {way for name, way in world.went if name == "table"} == {-2.25, 2.25}
    world.went.clear()
    found = world.finder.find_roll()
    (rolls_at,) = lid_values(found).values()
    assert rolls_at == pytest.approx(999, abs=2)
    assert [at for _, at in world.went] == [rolls_at, opens_at] * 2, "another face came twice"
    # As far from open as in the profile, where it is 165 us from hold: 285 / 165 of at least 2 us.
    assert list(found.uncertain.values()) == [pytest.approx(4, abs=1)]
    world.rolls = lambda pulse: pulse <= 975
    (deeper,) = lid_values(world.finder.find_roll()).values()
    assert 950 < deeper <= 975


def test_a_lid_that_does_not_hold_roll_or_square_is_named(world: World) -> None:
    finder = world.finder
    finder.find_open()
    world.holds = lambda pulse: pulse >= 1680
    with pytest.raises(CalibrationError, match="lid does not hold the cube even at 1670 us"):
        finder.find_hold()
    world.holds = lambda pulse: pulse >= 1480
    finder.find_hold()
    world.rolls = lambda pulse: pulse <= 940
    with pytest.raises(CalibrationError, match="lid does not roll the cube even at 96"):
        finder.find_roll()
    rolled = iter([True, False] * 9)
    world.rolls = lambda pulse: pulse < 1100 and next(rolled)
    with pytest.raises(CalibrationError, match="does not roll"):
        finder.find_roll()
    world.is_gone = True
    with pytest.raises(CalibrationError, match="out of view although the lid is open"):
        finder.find_roll()
    world.leaves = iter(range(99))
    with pytest.raises(
        CalibrationError, match="lid leaves the cube at a different angle each time"
    ):
        finder.find_square()


def test_a_reflection_or_a_face_that_stands_askew_is_no_quarter_turn() -> None:
    colours = np.random.default_rng(1).random((9, 3))
    square = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    before = FacePose(0.0, colours, square)
    shining = colours.copy()
    shining[4] = 1.0
    turned = np.rot90(colours.reshape(3, 3, 3)).reshape(9, 3)
    assert quarters_between(before, FacePose(0.0, shining, square)) == 0
    assert quarters_between(before, FacePose(0.0, turned, square)) == 1
    begun_elsewhere = np.roll(square, -1, axis=0)
    assert quarters_between(before, FacePose(0.0, turned, begun_elsewhere)) == 0


def test_an_arm_that_rolls_beyond_where_it_holds() -> None:
    here = World(arm_at(rest=997))
    here.lid = here.finder.lid.at = 1000
    here.covers = lambda pulse: pulse >= 1200
    here.holds = lambda pulse: pulse >= 1460
    here.rolls = lambda pulse: pulse >= 1990
    assert here.finder.find_open().values == {}
    assert here.lid < 1199 - 4 * 11, "away from where it gets into the picture"
    found = here.finder.find_hold()
    at = lid_values(found)
    assert at["hold"] == pytest.approx(1466, abs=2)
    assert at["rest"] == pytest.approx(1460 - 1.05 * 503, abs=3)
    assert here.lid == at["rest"]
    # The scale of its servo is unknown: a fifth of the travel may be wrong.
    assert [*found.uncertain.values()] == [pytest.approx(2.5, abs=0.5), pytest.approx(103, abs=1)]
    assert here.finder.find_roll().values == {"actuators.arm.positions_us.pull": at["hold"] + 533}


@pytest.mark.parametrize("softness_us", [12, 40])
def test_what_holds_is_found_far_enough_in_however_much_the_looks_scatter(softness_us):
    short = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        touches = 1400 + draw.uniform(0, 10)

        def followed(pulse: float, at: float = touches, draw: Any = draw) -> float:
            rest = np.clip(1 - (pulse - at) / softness_us, 0.1, 1)
            return float(rest + 0.05 * draw.standard_normal())

        place = find_hold("lid", followed, 1300, 1700).place(1, (900, 2100))
        short += place < touches + 2 * 0.9 * softness_us
    assert short <= 4


def test_round_corners_of_a_curve_do_not_press_the_cube_harder():
    def followed(pulse: float) -> float:
        straight = np.clip(1 - (np.array([-16, 0, 16]) + pulse - 1400) / 60, 0.3, 0.95)
        return float(straight.mean())

    curve = find_hold("lid", followed, 1300, 1700)
    assert curve.place(1, (900, 2100)) - curve.firm <= 1.15 * curve.softness_us + 2


@pytest.mark.parametrize(("lowest", "pulse"), [(1270, 1276), (1305, 1305), (1320, 1276)])
def test_a_limit_may_leave_half_of_the_margin(lowest, pulse):
    curve = HoldCurve(begins=1400, firm=1340)
    assert curve.place(-1, (lowest, 2000)) == pytest.approx(pulse, abs=2)


def test_only_robots_with_one_servo_per_arm_and_all_positions_are_supported() -> None:
    profile = load_profile("mindcuber")
    assert FlipperFinder.supports(profile)
    elevator = load_profile("crane").actuators["elevator"]
    for name in ("arm", "table"):
        homed = {**profile.actuators, name: elevator}
        assert not FlipperFinder.supports(profile.model_copy(update={"actuators": homed}))
    for places in ((1000, 1500, 1400), (1500, 1000, 1100)):
        arm = arm_at(**dict(zip(("rest", "hold", "pull"), places, strict=True)))
        with pytest.raises(CalibrationError, match="rolls the cube on its way to its hold"):
            World(arm)
    positions = {"open": "open", "close": "hold"}
    with pytest.raises(CalibrationError, match="lid has no position for: roll"):
        World(changed("cubotino", {"mechanism.arms.0.positions": positions}))
