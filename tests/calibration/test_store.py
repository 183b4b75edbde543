"""Calibrated values: where they are put, what differs, what is said of those that do not fit."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robot.api.calibrations import Calibration, Source
from robot.api.client import RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.step import Session
from robot.calibration.steps.positions import (
    MOVING,
    MoveRequest,
    Placing,
    Position,
    jaw_position,
    position_items,
    position_keys,
)
from robot.calibration.store import CalibrationStore
from robot.calibration.trials.trial import Bench
from robot.calibration.values import BadCalibration, apply, differences
from robot.machine.confirmed_range import ConfirmedRange, NotConfirmed, direction_key
from robot.settings import load_profile
from solver.errors import InvalidRequest
from tests.rig.state_folder import answered, kept

CUBOTINO = load_profile("cubotino")
OPEN = "actuators.lid.positions_us.open"
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


def test_motors_that_may_stand_askew_are_noted_once(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "new" / "state")
    assert store.note_over() is False
    store.note_under_way()
    store.note_under_way()
    assert (tmp_path / "new/state/calibrating").exists()
    assert store.note_over() is True
    assert store.note_over() is False
    (tmp_path / "file").touch()
    CalibrationStore(tmp_path / "file" / "state").note_under_way()  # nothing to note it in


def test_sizes_that_nobody_takes_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = CalibrationStore(tmp_path)
    file = tmp_path / "calibration.json"
    document = {"robot": "cubotino", "of_size": {"4": {OPEN: 1}, "5": {OPEN: 2}}}
    file.write_text(json.dumps(document))
    assert store.load(CUBOTINO).values == {}
    assert "of_size has values for 4, 5, but cubotino takes cubes of 3 layers" in caplog.text
    caplog.clear()
    store.load(CUBOTINO)
    assert caplog.text == ""
    file.write_text(json.dumps(document | {"of_size": {"4": {OPEN: 1}}}))
    store.load(CUBOTINO)
    assert "values for 4, but" in caplog.text


class Motion:
    """Knows where actuators stand; notes what it is asked."""

    def __init__(self, **places: int) -> None:
        self.places: dict[str, int] = places
        self.done: list[tuple[str, str, int]] = []

    def position(self, name: str) -> int | None:
        return self.places.get(name)

    def home_alone(self, name: str, at: int) -> int:
        self.done.append(("home", name, at))
        self.places[name] = at
        return at

    def jog(self, name: str, target: int) -> int:
        self.done.append(("jog", name, target))
        self.places[name] = target
        return target


def moved(motion: Motion, contact: ConfirmedRange, profile: str = "cubotino", **asked: Any) -> Any:
    machine: Any = type("Machine", (), {"motion": motion})()
    bench = Bench(machine, load_profile(profile), contact)
    return MOVING.run(bench, MoveRequest(**asked))


def test_an_actuator_moves_and_what_it_has_walked_is_known() -> None:
    motion, contact = Motion(lid=1335), ConfirmedRange({})
    found = moved(motion, contact, actuator="lid", to=1350)
    assert (found.actuator, found.position, found.low, found.high) == ("lid", 1350, 1350, 1350)
    found = moved(motion, contact, actuator="lid", to=1330)
    assert (found.position, found.low, found.high) == (1330, 1330, 1350)
    found = moved(motion, contact, actuator="lid")
    assert (found.position, found.low, found.high) == (1330, 1330, 1350)
    assert motion.done == [("jog", "lid", 1350), ("jog", "lid", 1330)]
    for to in (899, 2101):
        with pytest.raises(InvalidRequest, match="its limits are 900 and 2100 us"):
            moved(motion, contact, actuator="lid", to=to)
    with pytest.raises(InvalidRequest, match="there is no 'hat'; there is holder, lid"):
        moved(motion, contact, actuator="hat", to=1)


def test_a_servo_of_which_nothing_is_known_waits_for_its_first_pulse() -> None:
    motion, contact = Motion(), ConfirmedRange({})
    with pytest.raises(NotConfirmed):
        moved(motion, contact, actuator="lid")
    found = moved(motion, contact, actuator="lid", begin_at=1400)
    assert motion.done == [("home", "lid", 1400)]
    assert (found.position, found.low, found.high) == (1400, 1400, 1400)


def test_a_motor_needs_its_direction_and_begins_at_its_own_start() -> None:
    motion = Motion()
    with pytest.raises(NotConfirmed, match="which way table turns"):
        moved(motion, ConfirmedRange({}), "mindcuber", actuator="table")
    contact = ConfirmedRange({direction_key("table"): False})
    found = moved(motion, contact, "mindcuber", actuator="table", to=400)
    assert motion.done == [("home", "table", 0), ("jog", "table", 400)]
    assert (found.low, found.high) == (0, 400)


class Walks:
    """A session whose servo stands at 1500; ``refuses`` its first pulse."""

    def __init__(self, refuses: bool = False) -> None:
        self.profile = CUBOTINO
        self.refuses = refuses
        self.asked: list[tuple[Any, Any]] = []

    def perform(self, _: object, actuator: str, to: int | None, begin_at: int | None) -> Any:
        self.asked.append((to, begin_at))
        if self.refuses and to is None and begin_at is None:
            raise RequestError("no", "not-confirmed", {})
        place = to if to is not None else begin_at or 1500
        return MOVING.answer(actuator=actuator, position=place, low=1480, high=1520)


POSITION = Position(OPEN, "lid", "open", "us", 1335, 1335, (900, 2100), False, 50)


@pytest.mark.parametrize(
    ("begin_at", "asked"),
    [
        (None, [(None, None), (1480, None)]),
        (1510, [(None, 1510), (1510, None)]),
        (1700, [(None, 1700), (1520, None)]),
    ],
)
def test_an_actuator_begins_as_near_as_is_confirmed(begin_at: int | None, asked: Any) -> None:
    session: Any = Walks()
    placing = Placing(session, POSITION)
    assert placing.begin(begin_at) is True
    assert session.asked == asked
    assert placing.reach == (1480, 1520)
    placing.approach(1700)
    placing.approach(1300)
    assert session.asked[-2:] == [(1570, None), (1430, None)]
    assert placing.name == "lid open"
    assert placing.middle == 1500
    assert placing.needs_screen


def test_a_first_pulse_has_to_be_asked_for() -> None:
    session: Any = Walks(refuses=True)
    assert Placing(session, POSITION).begin(None) is False
    assert Placing(session, POSITION).begin(1500) is True
    motor = Position("k", "table", "in", "steps", 0, 0, None, False, 10)
    with pytest.raises(RequestError):
        Placing(session, motor).begin(None)
    assert Placing(session, motor).middle == 0


class Keeps:
    """A daemon's calibration."""

    def __init__(self, robot: str, **values: Any) -> None:
        self.robot, self.values = robot, values

    def call(self, endpoint: Endpoint[Any], body: Any = None, **more: Any) -> Any:
        method, path = endpoint.method, endpoint.target(**more)
        assert (method, path) == ("GET", "/calibration")
        return answered(self.robot, self.values)


def test_positions_are_listed_with_what_is_known_of_them() -> None:
    close = "actuators.lid.positions_us.close"
    measured = Source(how="auto", at=datetime(2026, 5, 4, 12, tzinfo=UTC))
    found = kept("cubotino", {OPEN: 1340}).changed({close: 1500}, {close: measured})
    daemon: Any = SimpleNamespace(call=lambda *_: found.model_dump(mode="json"))
    cells = [item.cells for item in position_items(Session(daemon))]
    assert cells[-3:] == [
        ("lid", "open", "1340 us", "1335", "by a person", "2026-05-03"),
        ("lid", "close", "1500 us", "", "by the robot", "2026-05-04"),
        ("lid", "flip", "1050 us", "", "not confirmed", ""),
    ]
    only = position_items(Session(daemon), lambda one: one.name == "flip")
    assert [item.cells[1] for item in only] == ["flip"]
    assert position_keys(CUBOTINO)["lid.open"] == OPEN
    with pytest.raises(InvalidRequest, match="cubotino has no gripper at R: it has no grippers"):
        jaw_position(Session(daemon), "R", "open")


def test_jaws_are_named_by_their_site() -> None:
    session = Session(Keeps("two-arm"))  # type: ignore[arg-type]
    opened, closed = (jaw_position(session, "D", name) for name in ("open", "closed"))
    assert (opened.actuator, opened.name, closed.name) == ("down-jaw", "open", "closed")
    with pytest.raises(
        InvalidRequest, match="two-arm has no gripper at L: it has grippers at R, D"
    ):
        jaw_position(session, "L", "open")
