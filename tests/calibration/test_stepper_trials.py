"""Steppers on the bench: simulated motors that lose steps and have play, then a table of which all
is known, with what neither its sensor nor its camera can tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from robot.calibration.step import Row
from robot.calibration.steps.steppers import Backlash, Limit
from robot.calibration.trials.stepper_trials import (
    SpeedRequest,
    SpeedTried,
    StepperRequest,
    StepsRequest,
    TurnRequest,
    measured_play,
    tried_speed,
    tried_steps,
    tried_turn,
)
from robot.calibration.trials.trial import Bench
from robot.machine.assembly import Machine
from robot.machine.confirmed_range import confirmable
from robot.motion.schedule import Schedule
from robot.settings import RobotProfile, load_profile
from robot.settings.stepper import Stepper
from robot.text.faults import RobotError
from robot.twin.cube import CubeBody, scrambled
from solver.errors import InvalidRequest
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

STALL = 2400
"""Half as much again as the table of the profile is meant to do."""

TABLE = StepsRequest(actuator="table")

INDEX = {
    "direction": 1,
    "speed_steps_per_s": 200,
    "slow_speed_steps_per_s": 100,
    "backoff_steps": 20,
    "max_travel_steps": 900,
    "offset_steps": 10,
}


def flipper(homing: bool = False, play: int = 0, **table: Any) -> RobotProfile:
    """A flipper whose table is a stepper; ``table`` is what its profile says otherwise."""
    document = load_profile("mindcuber").model_dump(mode="json", exclude_unset=True)
    settings = document["actuators"]["table"]
    settings.update(table)
    if homing:
        settings["pins"]["endstop"] = 5
        settings.update(homing=INDEX, turn_check={"every_steps": 400})
    document["simulation"]["actuators"]["table"] = {
        "stall_speed_steps_per_s": STALL,
        "play_steps": play,
    }
    return RobotProfile.model_validate(document)


def trying(asked: SpeedRequest, robot: Machine, profile: RobotProfile) -> SpeedTried:
    return tried_speed(Bench(robot, profile), asked)


def robot_of(profile: RobotProfile, body: CubeBody | None = None) -> SimulatedRun:
    return SimulatedRun(profile, body or scrambled(3, 1))


@pytest.mark.parametrize("homing", [False, True])
def test_lost_steps_are_noticed_and_made_good(homing: bool) -> None:
    with robot_of(flipper(homing)) as r:
        cube = r.robot.body.held_upright().facelets()
        for speed, lost in ((STALL - 100, False), (STALL + 100, True), (STALL - 100, False)):
            asked = SpeedRequest(actuator="table", speed_steps_per_s=speed)
            tried = r.calibrate(partial(trying, asked))
            assert (tried.lost, tried.square) == (lost, True)
            assert tried.seen_by == ("sensor" if homing else "camera")
            assert tried.reached_steps_per_s == speed
        assert {violation.kind for violation in r.robot.violations} == {"lost-steps"}
        assert r.robot.body.held_upright().facelets() == cube


def test_what_no_camera_sees_is_for_a_person_to_judge() -> None:
    asked = SpeedRequest(actuator="table", held=True)
    with robot_of(flipper()) as r:
        tried = r.calibrate(partial(trying, asked))
        assert (tried.lost, tried.seen_by) == (None, None)
        assert r.robot.violations == []


@pytest.mark.parametrize(
    ("homing", "play"), [pytest.param(False, 0, marks=pytest.mark.long), (False, 20), (True, 12)]
)
def test_play_is_measured(homing: bool, play: int) -> None:
    with robot_of(flipper(homing, play)) as r:
        found = r.calibrate(lambda *on: measured_play(Bench(*on), StepperRequest(actuator="table")))
    assert found.play_steps is not None
    assert abs(found.play_steps - play) <= found.within_steps
    assert found.values == {"actuators.table.backlash_steps": found.play_steps}


@pytest.mark.parametrize(
    ("said", "found"), [(1600, 1600), pytest.param(800, 1600, marks=pytest.mark.long), (3200, 1600)]
)
def test_a_wrong_microstep_switch_is_found(said: int, found: int) -> None:
    with robot_of(flipper(play=8)) as r:
        wrong = flipper(play=8, steps_per_turn=said)
        tried = r.calibrate(lambda robot, _: tried_steps(Bench(robot, wrong), TABLE))
        assert tried.found_steps == found
        assert bool(tried.values) == (said != found)
        assert r.robot.violations == []


@pytest.mark.parametrize("inverted", [False, True])
def test_a_quarter_turn_shows_the_direction(inverted: bool) -> None:
    with robot_of(flipper(homing=True)) as r:
        before = r.robot.body.facelets()
        asked = TurnRequest(actuator="table", inverted=inverted)
        tried = r.calibrate(lambda *on: tried_turn(Bench(*on), asked))
        assert (tried.steps, tried.inverted) == (400, inverted)
        assert r.robot.body.facelets() == before
        assert r.robot.violations == []


@pytest.mark.parametrize("what", ["speed", pytest.param("acceleration", marks=pytest.mark.long)])
def test_a_lift_whose_way_begins_at_its_end_stop_is_tried(what: str) -> None:
    """Its edge is looked at from both sides, the one behind it, too."""
    crane = load_profile("crane")
    with SimulatedRun(crane, scrambled(crane.cube.size, 1)) as run:
        session = SimulatedCalibration(run)
        session.keep(confirmable(crane))
        with session.maintenance():
            limit = Limit(session, "elevator", what)
            results = [row.cells[1] for row in limit.measure() if isinstance(row, Row)]
            backlash = Backlash(session, "elevator")
            assert list(backlash.measure()) == []
        found = {violation.kind for violation in run.robot.violations}
        assert found <= {"lost-steps"}, "nothing else than what was looked for"
    assert results[:3] == ["good"] * 3
    assert limit.document["after"] >= limit.document["before"]
    assert backlash.document["play_steps"] == 0


class Table:
    """A machine whose table the camera sees turn, ``play`` steps behind its motor.

    ``turn``: steps of its turn; ``parts``: after which of them it looks the same; ``lost``: steps
    it loses when rushed; ``off``: those that it has lost.
    """

    def __init__(self) -> None:
        self.motion = self.scanner = self
        self.setups: list[Any] = []
        self.homed = self.at = self.load = self.off = 0
        self.turn, self.play, self.lost, self.parts = 1600, 0, 0, 1
        self.is_blind = False
        self.active: Callable[[int], bool] = lambda _: True
        self.fault: RobotError | None = None

    def home(self, names: tuple[str, ...] = ()) -> None:
        self.homed += 1
        self._go(0)

    def home_alone(self, name: str, place: int) -> None: ...

    def reconfigure(self, profile: RobotProfile, fastest: dict[str, float]) -> None:
        self.setups.append((profile.actuators["table"], fastest))

    def assume_start_positions(self) -> None:
        self.off += self.at
        self.at = 0

    def jog(self, name: str, target: int) -> None:
        if name == "table":
            self._go(target)

    def _go(self, target: int) -> None:
        self.at = target
        self.load = min(max(self.load, target), target + self.play)

    def perform(self, schedule: Schedule, _: object) -> None:
        if self.fault is not None:
            raise self.fault
        self.off -= self.lost

    def is_sensor_active(self, name: str) -> bool:
        return self.active(self.load + self.off)

    def settle(self) -> None: ...

    def glance(self) -> tuple[int, Any]:
        part = self.turn // self.parts
        place = (self.load + self.off) % part
        away = 0.0 if self.is_blind else 0.1 * min(place, part - place)
        return 0, np.full((2, 2), away, np.float32)


MINDCUBER = load_profile("mindcuber")
SPEED = SpeedRequest(actuator="table")


@pytest.fixture
def table() -> Table:
    return Table()


def bench(table: Any, profile: RobotProfile = MINDCUBER) -> Bench:
    return Bench(table, profile)


@pytest.mark.parametrize("lost", [0, 30, 130, 799, -31])
def test_the_camera_finds_a_motor_that_lost_its_place(table: Table, lost: int) -> None:
    table.lost = lost
    tried = tried_speed(bench(table), SPEED)
    assert (tried.lost, tried.square, tried.seen_by) == (lost != 0, True, "camera")
    assert table.off % 1600 in {0, 1, 2, 1598, 1599}


def test_a_motor_that_is_reported_out_of_place_is_put_back(table: Table) -> None:
    table.fault = RobotError("not-in-place")
    tried = tried_speed(bench(table), SPEED)
    assert (tried.lost, tried.square) == (True, True)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize(
    ("lost", "is_lost"), [(0, False), (12, False), (-12, False), (14, True), (-14, True)]
)
def test_an_end_stop_is_looked_at_on_both_sides_of_its_edge(
    table: Table, direction: int, lost: int, is_lost: bool
) -> None:
    profile = flipper(homing=True, backlash_steps=5)
    settings, edge = profile.actuators["table"], 100 * direction
    assert isinstance(settings, Stepper) and settings.homing is not None
    homing = settings.homing.model_copy(update={"direction": direction, "offset_steps": edge})
    settings = settings.model_copy(update={"homing": homing})
    profile = profile.model_copy(update={"actuators": {**profile.actuators, "table": settings}})
    table.active = lambda place: (place + edge) * direction > 0
    table.lost = lost
    tried = tried_speed(bench(table, profile), SPEED)
    assert (tried.lost, tried.seen_by) == (is_lost, "sensor")


@pytest.mark.parametrize("by", ["camera", "sensor", None])
def test_play_is_measured_by_what_shows_it(table: Table, by: str | None) -> None:
    table.play, table.is_blind = 12, by != "camera"
    table.active = lambda place: place >= -100
    profile = flipper(homing=True) if by == "sensor" else MINDCUBER
    found = measured_play(bench(table, profile), StepperRequest(actuator="table"))
    play = None if by is None else 12
    assert (found.play_steps, found.within_steps, found.seen_by) == (play, 4, by)
    assert found.values == ({} if by is None else {"actuators.table.backlash_steps": 12})


@pytest.mark.parametrize(
    ("parts", "turn", "found"),
    [
        (1, 1600, 1600),
        (2, 1600, 800),
        (4, 1600, None),
        (1, 3200, 3200),
        (1, 12800, 12800),
        (1, 25600, None),
        (1, 800, 800),
    ],
)
def test_a_turn_is_whole_where_it_looks_so(
    table: Table, parts: int, turn: int, found: int | None
) -> None:
    table.turn, table.parts = turn, parts
    assert tried_steps(bench(table), TABLE).found_steps == found
    table.is_blind = True
    assert tried_steps(bench(table), TABLE).found_steps is None


def test_a_motor_that_goes_to_and_fro_has_no_turns(table: Table) -> None:
    settings = MINDCUBER.actuators["table"].model_copy(
        update={"steps_per_turn": None, "positions_steps": {"a": 0, "b": 9}}
    )
    profile = MINDCUBER.model_copy(update={"actuators": {**MINDCUBER.actuators, "table": settings}})
    with pytest.raises(InvalidRequest, match="table only goes to and fro"):
        tried_steps(bench(table, profile), TABLE)
    assert table.homed == 0


@pytest.mark.parametrize("fault", [None, RobotError("overload")])
def test_a_motor_is_set_up_as_it_was_after_its_trial(
    table: Table, fault: RobotError | None
) -> None:
    table.fault = fault
    asked = SpeedRequest(actuator="table", speed_steps_per_s=700)
    if fault is None:
        tried_speed(bench(table), asked)
    else:
        with pytest.raises(RobotError):
            tried_speed(bench(table), asked)
    during, after = table.setups
    assert during[1] == {"table": 700.0}
    assert after == (MINDCUBER.actuators["table"], {})


def test_nothing_homes_before_the_direction_is_known(table: Table) -> None:
    assert tried_turn(bench(table), TurnRequest(actuator="table")).steps == 400
    assert table.homed == 0
