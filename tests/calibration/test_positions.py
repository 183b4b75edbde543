"""Moving an actuator, walking it to a position, and keeping that."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from robot.api.calibrations import Source
from robot.api.client import RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.step import Bench, Session
from robot.calibration.steps.positions import (
    MOVING,
    AllPositions,
    MoveRequest,
    Placing,
    Position,
    jaw_position,
    named_position,
    position_items,
    position_keys,
)
from robot.cli.measuring import conduct
from robot.machine.confirmed_range import ConfirmedRange, NotConfirmed, direction_key
from robot.settings import load_profile
from solver.errors import InvalidRequest
from tests.rig.state_folder import answered, kept

OPEN = "actuators.lid.positions_us.open"
CUBOTINO = load_profile("cubotino")


class Daemon:
    """A servo that stands at 1500 and is confirmed from there to where it has been."""

    def __init__(self, **values: int) -> None:
        self.values: dict[str, Any] = values
        self.low = self.high = 1500
        self.asked: list[tuple[Any, Any]] = []

    def call(self, endpoint: Endpoint[Any], body: Any = None, **more: Any) -> dict[str, Any]:
        method, path = endpoint.method, endpoint.target(**more)
        if path == "/calibration":
            if method == "PUT":
                self.values |= body["values"]
            return answered("cubotino", self.values)
        target = body["to"]
        self.asked.append((target, body["begin_at"]))
        place = 1500 if target is None else target
        self.low, self.high = min(self.low, place), max(self.high, place)
        return {"actuator": "lid", "position": place, "low": self.low, "high": self.high}


def session_of(daemon: Any, profile: str | None = None) -> Session:
    return Session(daemon, load_profile(profile) if profile else None)


@pytest.mark.parametrize(
    ("target", "steps"),
    [
        (1500, []),
        (1530, [1530]),
        (1550, [1550]),
        (1620, [1550, 1600, 1620]),
        (1390, [1450, 1400, 1390]),
    ],
)
def test_it_walks_there_in_steps(target: int, steps: list[int]) -> None:
    daemon = Daemon()
    session = session_of(daemon)
    position = named_position(session, "lid", "open", "servo")
    conduct(Placing(session, position, target, 1510, gently=True), as_json=False)
    assert daemon.asked == [(None, 1510), *((step, None) for step in steps)]


def test_the_calibrated_value_counts_before_the_profile_s() -> None:
    daemon = Daemon()
    assert named_position(session_of(daemon), "lid", "open", "servo").value == 1335
    jaw = named_position(session_of(daemon, "four-arm"), "right-jaw", "open", "servo")
    assert jaw.value == 1600
    daemon.values[OPEN] = 1340
    assert named_position(session_of(daemon), "lid", "open", "servo").value == 1340
    for actuator, position, known in (
        ("hat", "open", "there is no hat; there is holder, lid"),
        ("lid", "up", "there is no up; there is open, close, flip"),
    ):
        with pytest.raises(InvalidRequest, match=known):
            named_position(session_of(daemon), actuator, position, "servo")


def test_unattended_a_direction_that_was_kept_stays() -> None:
    """Somebody has looked which way that motor turns: nobody does now."""
    profile = load_profile("six-motor")
    saved: list[Any] = []
    calibration = kept("six-motor", {direction_key("up"): True})
    session: Any = SimpleNamespace(
        profile=profile, calibrated=profile, calibration=calibration, keep=saved.append
    )
    assert list(AllPositions(session, {}).measure()) == []
    others = [name for name in profile.actuators if name != "up"]
    assert saved == [{direction_key(name): False} for name in others]


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
    session = session_of(Daemon(), "two-arm")
    opened, closed = (jaw_position(session, "D", name) for name in ("open", "closed"))
    assert (opened.actuator, opened.name, closed.name) == ("down-jaw", "open", "closed")
    with pytest.raises(
        InvalidRequest, match="two-arm has no gripper at L: it has grippers at R, D"
    ):
        jaw_position(session, "L", "open")
