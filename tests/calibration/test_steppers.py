"""Steppers on the bench: simulated motors that lose steps and have play, and a fully known table.

They include facts that neither sensor nor camera shows, and the results of the measurements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from robot.calibration.step import Bench, Confirmation, next_of
from robot.calibration.steps.steppers import Backlash, Direction, Limit, TurnSteps
from robot.calibration.trials.stepper_motor import Stillness
from robot.calibration.trials.stepper_trials import (
    PLAYING,
    SPEEDING,
    STEPPING,
    SpeedRequest,
    StepperRequest,
    StepsRequest,
    TurnRequest,
    measured_play,
    tried_speed,
    tried_steps,
    tried_turn,
)
from robot.motion.schedule import Schedule
from robot.settings import RobotProfile, load_profile
from robot.text.faults import RobotError
from robot.twin.cube import scrambled
from robot.twin.misadjustment import BUILT_AS_DRAWN
from solver.errors import InvalidRequest
from tests.calibration.conftest import calibrating
from tests.rig.guide import FakeCalibrationClient
from tests.rig.profiles import changed
from tests.rig.simulated_run import SimulatedRun

STALL = 2400
"""Speed at which the motor stalls: half as much again as the profile's table needs."""

TABLE = StepsRequest(actuator="table")
INDEX = {
    "direction": 1,
    "speed_steps_per_s": 200,
    "slow_speed_steps_per_s": 100,
    "backoff_steps": 20,
    "max_travel_steps": 900,
    "offset_steps": 10,
}
MINDCUBER = load_profile("mindcuber")
SPEED = SpeedRequest(actuator="table")
HELD = {"max_speed_steps_per_s": 1000.0, "max_acceleration_steps_per_s2": 8000}
KEY = "actuators.table"


def flipper(homing: Any = None, play: int = 0, **table: Any) -> RobotProfile:
    """Return a flipper whose table is a stepper. ``table`` overrides its profile."""
    if homing:
        table |= {"pins.endstop": 5, "homing": homing, "turn_check": {"every_steps": 400}}
    motor = {"stall_speed_steps_per_s": STALL, "play_steps": play}
    changes = {f"{KEY}.{name}": value for name, value in table.items()}
    return changed("mindcuber", changes | {"simulation.actuators.table": motor})


@pytest.mark.parametrize(("homing", "said"), [(None, 3200), (INDEX, 800)])
def test_trials_find_what_the_simulated_motor_has_and_harm_nothing(homing, said):
    table = StepperRequest(actuator="table")
    with SimulatedRun(flipper(homing, play=8), scrambled(3, 1)) as r:
        before = r.robot.body.held_upright().facelets()
        turn = TurnRequest(actuator="table", inverted=bool(homing))
        turned = r.calibrate(lambda *on: tried_turn(Bench(*on), turn))
        assert (turned.steps, turned.inverted) == (400, bool(homing))
        play = r.calibrate(lambda *on: measured_play(Bench(*on), table))
        assert play.play_steps is not None and abs(play.play_steps - 8) <= play.within_steps
        assert play.values == {"actuators.table.backlash_steps": play.play_steps}
        if not homing:
            held = SpeedRequest(actuator="table", held=True)
            hidden = r.calibrate(lambda *on: tried_speed(Bench(*on), held))
            assert (hidden.lost, hidden.seen_by) == (None, None), "the arm hides the cube"
        wrong = flipper(homing, play=8, steps_per_turn=said)
        tried = r.calibrate(lambda robot, _: tried_steps(Bench(robot, wrong), TABLE))
        assert (tried.found_steps, bool(tried.values)) == (1600, True)
        assert r.robot.violations == []
        for speed, lost in ((STALL + 100, True), (STALL - 100, False)):
            asked = SpeedRequest(actuator="table", speed_steps_per_s=speed)
            sped = r.calibrate(lambda *on, asked=asked: tried_speed(Bench(*on), asked))
            assert (sped.lost, sped.square, sped.reached_steps_per_s) == (lost, True, speed)
            assert sped.seen_by == ("sensor" if homing else "camera")
        assert {violation.kind for violation in r.robot.violations} == {"lost-steps"}
        assert r.robot.body.held_upright().facelets() == before


@pytest.mark.parametrize(
    ("speed", "acceleration", "lost"), [(800, 7000, False), (3000, 60_000, True)]
)
def test_a_sensor_with_a_narrow_field_tells_lost_steps(speed, acceleration, lost):
    limits = {"speed_steps_per_s": speed, "acceleration_steps_per_s2": acceleration}
    with calibrating(load_profile("cubotone"), confirmed=True) as (_, session):
        tried = session.perform(SPEEDING, actuator="table", **limits)
    assert (tried.lost, tried.seen_by, tried.square) == (lost, "sensor", True)


def test_a_lift_whose_way_begins_at_its_end_stop_is_tried():
    with calibrating(load_profile("crane"), confirmed=True) as (run, session):
        tried = session.perform(SPEEDING, actuator="elevator")
        play = session.perform(PLAYING, actuator="elevator")
    assert run.robot.violations == []
    assert (tried.lost, tried.seen_by, play.play_steps) == (False, "sensor", 0)


@pytest.mark.long
@pytest.mark.parametrize("play", [0, 16])
def test_a_motor_that_homes_by_its_stall_is_seen_by_the_camera_and_kept_off_its_stop(play):
    arms = changed("four-arm-skr-pico", {"simulation.actuators.front": {"play_steps": play}})
    with calibrating(arms, confirmed=True, misadjusted=BUILT_AS_DRAWN) as (run, session):
        turned = session.perform(STEPPING, actuator="front")
        found = session.perform(PLAYING, actuator="front")
        sped = session.perform(SPEEDING, actuator="front")
    assert run.robot.violations == []
    # A quarter to either side is its range.
    assert (turned.steps, turned.found_steps) == (400, None)
    assert found.play_steps is not None and abs(found.play_steps - play) <= found.within_steps
    assert list(found.values) == (["actuators.front.backlash_steps"] if play else [])
    assert (sped.lost, sped.seen_by, sped.steps) == (False, "camera", 400)


class Table:
    """A machine whose table the camera sees turn, ``play`` steps behind its motor.

    ``turn``: steps of its turn; ``parts``: parts of a turn that look the same; ``lost``: steps lost
    in the next fast motion; ``lost_each``: steps lost in every one; ``off``: steps lost so far;
    ``hunting``: largest apparent motion in steps of a hunting autofocus.
    """

    def __init__(self) -> None:
        self.motion = self.scanner = self
        self.setups: list[Any] = []
        self.at = self.load = self.off = self.time_us = 0
        self.play = self.lost = self.lost_each = self.hunting = 0
        self.turn, self.parts, self.light = 1600, 1, 100
        self.is_blind = False
        self.active: Callable[[int], bool] = lambda _: True
        self.fault: RobotError | None = None

    def home(self, names: tuple[str, ...] = ()) -> None:
        self.jog("table", 0)

    def reconfigure(self, profile: RobotProfile, fastest: dict[str, float]) -> None:
        self.setups.append((profile.actuators["table"], fastest))

    def assume_start_positions(self) -> None:
        self.off += self.at
        self.at = 0

    def jog(self, name: str, target: int) -> None:
        if name == "table":
            self.at = target
            self.load = min(max(self.load, target), target + self.play)

    def perform(self, schedule: Schedule, _: object) -> None:
        if self.fault is not None:
            raise self.fault
        self.off -= self.lost + self.lost_each
        self.lost = 0

    def is_sensor_active(self, name: str) -> bool:
        return self.active(self.load + self.off)

    def settle(self) -> None: ...

    def glance(self) -> tuple[int, Any]:
        part = self.turn // self.parts
        place = (self.load + self.off) % part
        away = 0.0 if self.is_blind else 0.1 * min(place, part - place)
        self.time_us += 33_000
        away += 0.1 * self.hunting * abs(math.sin(self.time_us / 400_000))
        self.light = 210 - self.light  # it flickers
        shown = 1 + away / 100 * np.array([[1, -1], [-1, 1]], np.float32)
        return self.time_us, shown * self.light


@pytest.fixture
def table() -> Any:
    return Table()


@pytest.mark.parametrize("lost", [0, 30, 799, -31, None])
def test_the_camera_finds_a_motor_that_lost_its_place(table, lost):
    table.lost, table.fault = lost or 0, None if lost is not None else RobotError("not-in-place")
    asked = SpeedRequest(actuator="table", speed_steps_per_s=700)
    tried = tried_speed(Bench(table, MINDCUBER), asked)
    assert (tried.lost, tried.square, tried.seen_by) == (lost != 0, True, "camera")
    assert table.off % 1600 in {0, 1, 2, 1598, 1599}
    table.setups.clear()
    table.fault = RobotError("overload")
    with pytest.raises(RobotError):
        tried_speed(Bench(table, MINDCUBER), asked)
    during, after = table.setups
    assert (during[1], after) == ({"table": 700.0}, (MINDCUBER.actuators["table"], {}))


def test_a_motor_that_loses_but_a_step_at_each_start_is_found_out(table):
    table.lost_each = 1
    still = Stillness(table)
    table.off = 1
    assert not still.has_changed(), "the camera does not see one"
    table.off = 0
    assert tried_speed(Bench(table, MINDCUBER), SPEED).lost


def test_an_autofocus_that_hunts_is_not_taken_for_lost_steps(table):
    still = Stillness(table)
    table.hunting = 5
    assert [still.has_changed() for _ in range(5)] == [False] * 5
    table.off = 12
    assert still.has_changed()


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize(
    ("lost", "is_lost"), [(0, False), (12, False), (-12, False), (14, True), (-14, True)]
)
def test_an_end_stop_is_looked_at_on_both_sides_of_its_edge(table, direction, lost, is_lost):
    edge = 100 * direction
    homing = INDEX | {"direction": direction, "offset_steps": edge}
    profile = flipper(homing, backlash_steps=5)
    table.active = lambda place: (place + edge) * direction > 0
    table.lost = lost
    tried = tried_speed(Bench(table, profile), SPEED)
    assert (tried.lost, tried.seen_by) == (is_lost, "sensor")


@pytest.mark.parametrize("by", ["camera", "sensor", None])
def test_play_is_measured_by_what_shows_it(table, by):
    table.play, table.is_blind = 12, by != "camera"
    table.active = lambda place: place >= -100
    profile = flipper(INDEX) if by == "sensor" else MINDCUBER
    found = measured_play(Bench(table, profile), StepperRequest(actuator="table"))
    play = None if by is None else 12
    assert (found.play_steps, found.within_steps, found.seen_by) == (play, 4, by)
    assert found.values == ({} if by is None else {"actuators.table.backlash_steps": 12})


@pytest.mark.parametrize(
    ("parts", "turn", "found"),
    [
        *((1, turn, turn) for turn in (800, 1600, 3200, 12800)),
        (2, 1600, 800),
        (4, 1600, None),
        (1, 25600, None),
    ],
)
def test_a_turn_is_whole_where_it_looks_so(table, parts, turn, found):
    table.turn, table.parts = turn, parts
    assert tried_steps(Bench(table, MINDCUBER), TABLE).found_steps == found
    table.is_blind = True
    assert tried_steps(Bench(table, MINDCUBER), TABLE).found_steps is None


class Motor(FakeCalibrationClient):
    """A client of a daemon whose table loses steps above 2400 steps/s.

    ``sees``: its camera detects that; ``turn_steps``: steps that the camera counts in a turn;
    ``turns``: directions tried.
    """

    def __init__(self) -> None:
        super().__init__("mindcuber")
        self.sees, self.turn_steps = True, 3200
        self.turns: list[bool] = []
        names = ("turn", "steps", "speed", "play")
        self.trials = {f"/maintenance/{name}": partial(self.answer, name) for name in names}

    def answer(self, trial: str, asked: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"actuator": "table"}
        if trial == "speed":
            speed = asked.get("speed_steps_per_s", 1600)
            found |= {"speed_steps_per_s": speed, "acceleration_steps_per_s2": 8000}
            found |= {"steps": 1600, "reached_steps_per_s": min(speed, 3000)}
            lost = speed > STALL if self.sees else None
            return found | {"lost": lost, "seen_by": "camera", "square": True}
        found["values"] = {}
        if trial == "turn":
            self.turns.append(asked["inverted"])
            return found | {"steps": 400, "inverted": asked["inverted"]}
        if trial == "steps":
            steps = {"steps": 1600 * asked["turns"], "turn_steps": 1600}
            return found | steps | {"found_steps": self.turn_steps if self.sees else None}
        play = {"play_steps": 12 if self.sees else None, "within_steps": 4}
        return found | play | {"seen_by": "camera"}


@pytest.fixture
def motor() -> Motor:
    return Motor()


def measured(measurement: Any, *answers: bool) -> Any:
    """Run a measurement with these answers to its questions, and return it."""
    script, given = measurement.measure(), iter(answers)
    shown = next_of(script, None)
    while shown is not None:
        shown = next_of(script, next(given, None) if isinstance(shown, Confirmation) else None)
    return measurement


@pytest.mark.parametrize(
    ("asked", "field", "value"),
    [
        ({"what": "speed", "begin": 2500}, "max_speed_steps_per_s", None),
        ({"what": "speed", "begin": 2000}, "max_speed_steps_per_s", 1840),
        ({"what": "speed", "begin": 2000, "end": 2299}, "max_speed_steps_per_s", 1600),
        ({"what": "speed", "last_good": 3000}, "max_speed_steps_per_s", 2400),
        ({"what": "acceleration", "held": True, "last_good": 10000}, "held", HELD),
    ],
)
def test_a_limit_is_four_fifths_of_what_was_good(motor, asked, field, value):
    limit = measured(Limit(motor.session, "table", **asked))
    assert limit.is_found is (value is not None)
    assert limit.values.get(f"{KEY}.{field}") == value


@pytest.mark.parametrize(
    ("answers", "good", "lost_at"), [([True, False], 2000, 2300), ([False], None, 2000)]
)
def test_what_a_person_says_counts_where_nothing_sees_it(motor, answers, good, lost_at):
    motor.sees = False
    limit = measured(Limit(motor.session, "table", "speed", begin=2000), *answers)
    assert limit.document["last_good"] == good
    assert f"lost at {lost_at}; set table and the cube square by hand" in limit.text
    with pytest.raises(InvalidRequest, match="try one value at a time"):
        measured(Limit(motor.session, "table", "speed"))


@pytest.mark.parametrize(
    ("went", "answers", "inverted"),
    [
        (None, [True], False),
        (None, [False, True], True),
        (None, [False, False, True], False),
        ("right", [], False),
        ("wrong", [], True),
    ],
)
def test_a_direction_is_what_somebody_saw(motor, went, answers, inverted):
    found = measured(Direction(motor.session, "table", went), *answers)
    assert found.values == {f"{KEY}.invert_direction": inverted}
    assert motor.turns[-1] is inverted
    told = ("wrong", "reversed") if inverted else ("right", "right")
    assert (found.document["went"], found.text) == (told[0], f"table: {told[1]}")


@pytest.mark.parametrize(
    ("turned", "turns", "found"),
    [(180, 1, 3200), (360, 1, 1600), (720, 2, 1600), (359, 1, 1604), (None, 1, 3200)],
)
def test_steps_of_a_turn_by_what_was_seen(motor, turned, turns, found):
    motor.sees = turned is None
    one = measured(TurnSteps(motor.session, "table", turns, turned))
    assert (one.number, one.value, one.document["found_steps"]) == (found, found, found)
    assert one.document["steps"] == 1600 * turns
    same = found == 1600
    assert one.values == ({} if same else {f"{KEY}.steps_per_turn": found})
    assert one.text == f"table: {found} steps per turn" + ("" if same else ", not 1600")
    assert one.is_found


def test_play_is_measured_said_or_set_by_eye(motor):
    one = measured(Backlash(motor.session, "table"))
    assert one.text == "table: 0 -> 12 steps of play, within 4, by the camera"
    assert one.values == {f"{KEY}.backlash_steps": 12}
    assert (one.document["before"], one.document["play_steps"]) == (0, 12)
    one.adjust(-10)
    assert (one.value, one.values) == (2, {f"{KEY}.backlash_steps": 2})
    one.adjust(-10)
    assert (one.value, one.values) == (0, {})
    said = measured(Backlash(motor.session, "table", 7))
    assert said.text == "table: 0 -> 7 steps of play, within 0, by the person"
    motor.sees = False
    unseen = measured(Backlash(motor.session, "table"))
    assert (unseen.is_found, unseen.values, unseen.value) == (False, {}, 0)
    assert "neither a sensor nor the camera" in unseen.text
