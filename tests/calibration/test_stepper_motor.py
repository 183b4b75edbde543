"""What a stepper tells of itself on the bench: motor, sensor and camera of which all is known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.step import Row
from robot.calibration.steps.steppers import Backlash, Limit
from robot.calibration.trials import stepper_trials
from robot.calibration.trials.stepper_motor import Motor, motor_on
from robot.calibration.trials.stepper_trials import (
    SpeedRequest,
    StepperRequest,
    StepsRequest,
    TurnRequest,
    measured_play,
    tried_speed,
    tried_steps,
    tried_turn,
)
from robot.calibration.trials.trial import Bench
from robot.machine.confirmed_range import confirmable
from robot.motion.schedule import Schedule, TimedTurn
from robot.settings import RobotProfile, load_profile
from robot.settings.stepper import Stepper
from robot.text.faults import RobotError
from robot.twin.cube import scrambled
from solver.errors import InvalidRequest
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

MINDCUBER = load_profile("mindcuber")
TABLE = MINDCUBER.actuators_of(Stepper)["table"]


class Machine:
    """A table that the camera sees turn, ``play`` steps behind its motor.

    ``quarters``: whether each quarter turn looks the same; ``lost``: steps it loses when rushed.
    """

    def __init__(self) -> None:
        self.motion = self.scanner = self
        self.done: list[Any] = []
        self.at = self.load = 0
        self.turn, self.play, self.lost = 1600, 0, 0
        self.parts = 1
        self.is_blind = False
        self.active: Callable[[int], bool] = lambda _: True
        self.fault: RobotError | None = None
        self.off = 0

    def home(self, names: tuple[str, ...] = ()) -> None:
        self.done.append(("home", *names))
        self._goes(0)

    def home_alone(self, name: str, place: int) -> None:
        self.done.append(("home alone", name, place))

    def reconfigure(self, profile: RobotProfile, fastest: dict[str, float]) -> None:
        self.done.append(("reconfigure", profile, fastest))

    def assume_start_positions(self) -> None:
        self.done.append("assume")
        self.off += self.at
        self.at = 0

    def jog(self, name: str, target: int) -> None:
        self.done.append((name, target))
        self._goes(target)

    def _goes(self, target: int) -> None:
        self.at = target
        self.load = min(max(self.load, target), target + self.play)

    def perform(self, schedule: Schedule, _: object) -> None:
        self.done.append(schedule)
        if self.fault is not None:
            raise self.fault
        self.off -= self.lost

    def is_sensor_active(self, name: str) -> bool:
        assert name == "table"
        return self.active(self.load + self.off)

    def settle(self) -> None:
        self.done.append("settle")

    def glance(self) -> tuple[int, Any]:
        place = (self.load + self.off) % (self.turn // self.parts)
        away = min(place, self.turn // self.parts - place)
        return 0, np.full((2, 2), 0.0 if self.is_blind else 0.1 * away, np.float32)

    @property
    def went(self) -> list[int]:
        return [each[1] for each in self.done if isinstance(each, tuple) and each[0] == "table"]


def setup(**more: object) -> Any:
    usual = {
        "name": "table",
        "start_steps": 0,
        "minimum_steps": -10_000,
        "maximum_steps": 10_000,
        "homing": None,
        "check": None,
    }
    return SimpleNamespace(**(usual | more))


def motor(machine: Machine, settings: Stepper = TABLE, **more: object) -> Motor:
    return Motor(machine, settings, setup(**more))  # type: ignore[arg-type]


def homed(direction: int = 1, **more: object) -> dict[str, object]:
    """With an end stop whose edge lies 100 steps before, or behind, the start."""
    edge = -100 * direction
    return {"homing": SimpleNamespace(edge_position=edge, direction=direction), **more}


def test_a_motor_ends_forwards_where_there_is_room_for_it() -> None:
    machine = Machine()
    one = motor(machine, minimum_steps=0)
    one.go(500)
    one.go(50)
    one.go(49)
    assert machine.went == [450, 500, 0, 50, 49]
    assert (one.turn_steps, one.search_steps, one.start) == (1600, 4, 0)
    to_and_fro = TABLE.model_copy(
        update={"steps_per_turn": None, "positions_steps": {"a": -20, "b": 300, "c": 5}}
    )
    one = motor(machine, to_and_fro)
    assert (one.turn_steps, one.search_steps) == (320, 1)


@pytest.mark.parametrize("active", [True, False])
def test_a_mark_tells_whether_a_motor_stands_where_it_should(active: bool) -> None:
    machine = Machine()
    machine.active = lambda _: active
    one = motor(machine, check=SimpleNamespace())
    assert (one.seen_by, one.moved_from()) == ("sensor", not active)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize(
    ("off", "moved"), [(0, False), (12, False), (-12, False), (14, True), (-14, True)]
)
def test_an_end_stop_is_looked_at_on_both_sides_of_its_edge(
    direction: int, off: int, moved: bool
) -> None:
    machine = Machine()
    machine.active = lambda place: (place + 100 * direction) * direction > 0
    machine.off = off
    settings = TABLE.model_copy(update={"backlash_steps": 5})
    one = motor(machine, settings, **homed(direction))
    assert one.moved_from() is moved
    margin = 13
    ends = [machine.went[1], machine.went[3], machine.went[-1]]
    assert ends == [-100 * direction - direction * margin, -100 * direction + direction * margin, 0]
    assert one.seen_by == "sensor"


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


def test_a_motor_with_an_end_stop_is_put_back_by_homing() -> None:
    machine = Machine()
    assert motor(machine, **homed()).put_back()
    assert machine.done == [("home", "table")]


@pytest.mark.parametrize("lost", [0, 7, 130, 799, -31])
def test_a_motor_that_lost_its_place_is_looked_for_by_the_camera(lost: int) -> None:
    machine = Machine()
    one = motor(machine)
    assert one.still is not None
    machine.off = -lost
    assert one.put_back() is True
    assert machine.off % 1600 in {0, 1, 2, 1598, 1599}
    assert machine.done[-2] == ("home",) or machine.done[-1] == ("home",)
    assert "assume" in machine.done
    machine.is_blind = False
    assert not one.still.has_changed()


def test_what_cannot_be_seen_is_not_put_back() -> None:
    machine = Machine()
    machine.is_blind = True
    assert motor(machine).put_back() is False
    machine = Machine()
    to_and_fro = TABLE.model_copy(
        update={"steps_per_turn": None, "positions_steps": {"a": 0, "b": 1600}}
    )
    assert motor(machine, to_and_fro).put_back() is False
    assert "assume" not in machine.done


def test_a_motor_that_goes_to_and_fro_has_no_turns() -> None:
    machine: Any = Machine()
    profile = load_profile("mindcuber")
    bare = TABLE.model_copy(update={"steps_per_turn": None, "positions_steps": {"a": 0, "b": 9}})
    profile = profile.model_copy(update={"actuators": {**profile.actuators, "table": bare}})
    with pytest.raises(InvalidRequest, match="table only goes to and fro: set its positions"):
        tried_steps(Bench(machine, profile), StepsRequest(actuator="table"))
    assert machine.done == []


def test_a_motor_under_trial_is_homed_before_and_after_and_set_up_as_it_was() -> None:
    machine = Machine()
    with motor_on(Bench(machine, MINDCUBER), "table", {"backlash_steps": 9}, 700.0) as one:  # type: ignore[arg-type]
        assert one.settings.backlash_steps == 9
        assert one.name == "table"
        machine.done.append("tried")
    first, second, *rest = machine.done
    assert first == ("home",)
    assert second[1].actuators["table"].backlash_steps == 9
    assert second[2] == {"table": 700.0}
    assert rest == [("home",), "tried", ("home",), ("reconfigure", MINDCUBER, {})]


def test_after_a_trial_that_fails_it_is_set_up_as_it_was() -> None:
    machine = Machine()
    with (
        pytest.raises(RobotError),
        motor_on(Bench(machine, MINDCUBER), "table", {}),  # type: ignore[arg-type]
    ):
        raise RobotError("hung", "so it is", "look")
    assert machine.done[-1] == ("reconfigure", MINDCUBER, {})


class Trials:
    """The trials, with a motor of which all is known."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **more: object) -> None:
        self.machine = Machine()
        self.asked: list[Any] = []
        self.settings = TABLE
        self.more = more
        monkeypatch.setattr(stepper_trials, "motor_on", self.on)
        self.bench = Bench(self.machine, MINDCUBER)  # type: ignore[arg-type]

    def on(self, bench: Bench, name: str, otherwise: Any, fastest: float = 0.0, **how: Any) -> Any:
        self.asked.append((name, dict(otherwise), fastest, how))
        return self

    def __enter__(self) -> Motor:
        return motor(self.machine, self.settings, **self.more)

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> Trials:
    return Trials(monkeypatch)


@pytest.mark.parametrize("inverted", [True, False])
def test_a_direction_is_tried_by_a_quarter_turn_and_back(trials: Trials, inverted: bool) -> None:
    found = tried_turn(trials.bench, TurnRequest(actuator="table", inverted=inverted))
    assert trials.machine.went == [350, 400, -50, 0]
    assert (found.actuator, found.steps, found.inverted) == ("table", 400, inverted)
    assert found.values == {"actuators.table.invert_direction": inverted}
    blind = {"homing": None, "turn_check": None, "invert_direction": inverted}
    assert trials.asked == [("table", blind, 0.0, {"alone": True})]


def test_whole_turns_are_tried_and_seen(trials: Trials) -> None:
    found = tried_steps(trials.bench, StepsRequest(actuator="table", turns=2))
    assert trials.machine.went[:4] == [3150, 3200, -50, 0]
    assert (found.steps, found.turn_steps, found.found_steps, found.values) == (
        *(3200, 1600, 1600, {}),
    )
    assert trials.asked[0][1] == {"steps_per_turn": 1600, "turn_check": None}
    trials.machine.turn = 3200
    found = tried_steps(trials.bench, StepsRequest(actuator="table", turn_steps=2000))
    assert trials.asked[1][1]["steps_per_turn"] == 2000
    assert found.values == {"actuators.table.steps_per_turn": 3200}
    assert found.steps == 1600


@pytest.mark.parametrize(("lost", "square"), [(0, True), (30, True)])
def test_steps_that_were_lost_are_seen_and_put_right(
    trials: Trials, lost: int, square: bool
) -> None:
    trials.machine.lost = lost
    asked = SpeedRequest(actuator="table", speed_steps_per_s=2000)
    found = tried_speed(trials.bench, asked)
    # 2000² / 8000 = 500 steps to get to it and to stop again, half a turn beside.
    assert (found.steps, found.speed_steps_per_s, found.reached_steps_per_s) == (1600, 2000, 2000)
    assert (found.lost, found.square, found.seen_by) == (lost > 0, square, "camera")
    assert found.acceleration_steps_per_s2 == 8000
    assert trials.asked == [("table", {}, 2000, {})]
    (schedule,) = (each for each in trials.machine.done if isinstance(each, Schedule))
    assert schedule.duration_us == schedule.profiles[0].duration_us
    assert schedule.turns == (TimedTurn(0, 0),)


def test_a_table_is_loaded_by_the_arm_that_holds_the_cube(trials: Trials) -> None:
    tried_speed(trials.bench, SpeedRequest(actuator="table", held=True))
    assert trials.machine.done[0] == ("arm", 1500)
    trials.machine.done.clear()
    tried_speed(trials.bench, SpeedRequest(actuator="table"))
    assert ("arm", 1500) not in trials.machine.done


def test_a_motor_out_of_place_is_homed_and_put_back(trials: Trials) -> None:
    trials.machine.fault = RobotError("not-in-place", "so it is", "look")
    found = tried_speed(trials.bench, SpeedRequest(actuator="table"))
    assert (found.lost, found.square) == (True, True)
    rushed = next(i for i, each in enumerate(trials.machine.done) if isinstance(each, Schedule))
    assert trials.machine.done[rushed + 1] == ("home",)
    trials.machine.fault = RobotError("overload", "so it is", "look")
    with pytest.raises(RobotError, match="so it is"):
        tried_speed(trials.bench, SpeedRequest(actuator="table"))


@pytest.mark.parametrize("by", ["camera", "sensor", None])
def test_play_is_told_with_what_tells_it(by: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Trials(monkeypatch, **(homed() if by == "sensor" else {}))
    trials.machine.play = 12
    trials.machine.is_blind = by is None
    trials.machine.active = lambda place: place >= -100
    found = measured_play(trials.bench, StepperRequest(actuator="table"))
    play = None if by is None else 12
    assert (found.play_steps, found.within_steps, found.seen_by) == (play, 4, by)
    values = {} if by is None else {"actuators.table.backlash_steps": 12}
    assert (found.actuator, found.values) == ("table", values)


@pytest.mark.parametrize(
    ("parts", "turn", "found"),
    [
        (1, 1600, 1600),
        (2, 1600, 800),
        (4, 1600, None),
        (1, 3200, 3200),
        (1, 6400, 6400),
        (1, 12800, 12800),
        (1, 25600, None),
        (1, 800, 800),
    ],
)
def test_a_turn_is_whole_where_it_looks_so(
    trials: Trials, parts: int, turn: int, found: int | None
) -> None:
    trials.machine.turn, trials.machine.parts = turn, parts
    asked = StepsRequest(actuator="table")
    assert tried_steps(trials.bench, asked).found_steps == found
    assert trials.machine.at == 0
    trials.machine.is_blind = True
    assert tried_steps(trials.bench, asked).found_steps is None
