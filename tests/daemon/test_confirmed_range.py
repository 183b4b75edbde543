"""A robot with unconfirmed positions: no request moves it.

The daemon, its link and the firmware are real; the tests watch the traffic on the line.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from robot.api.client import ControlClient, RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.store import CalibrationStore
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.daemon.routes import ROUTES
from robot.link.protocol import Go, Home
from robot.link.wire import CobsReader
from robot.machine.assembly import Machine
from robot.machine.confirmed_range import ConfirmedRange, confirmable
from robot.settings import RobotProfile, load_profile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.twin.cube import scrambled
from tests.rig.simulated_run import SimulatedRun, SimulatedRunMotion

MOTION = {Home.TYPE: "home", Go.TYPE: "go"}
"""Messages that start motion."""

ROBOTS = (
    "cubotino",
    "six-motor",
    pytest.param("mindcuber", marks=pytest.mark.long),
    pytest.param("two-arm", marks=pytest.mark.long),
)
"""Servos; steppers alone; a servo and a stepper that turns endlessly; grippers."""


class Uncalibrated:
    """A robot that nobody has calibrated, and every motion its daemon asked of the board."""

    def __init__(self, simulated: SimulatedRun) -> None:
        self.simulated, self.profile = simulated, simulated.profile
        self.moved: list[str] = []
        reader, write = CobsReader(), simulated.port.write

        def watched(data: bytes) -> None:
            kinds = [MOTION.get(frame.type) for frame in reader.feed(data)]
            self.moved += [kind for kind in kinds if kind is not None]
            write(data)

        simulated.port.write = watched

    def machine(self) -> Machine:
        return self.simulated.machine_with(SimulatedRunMotion(self.simulated))


@pytest.fixture
def fake(profile_name: str) -> Iterator[Uncalibrated]:
    profile = load_profile(profile_name)
    cube, contact = scrambled(profile.cube.size, 1), ConfirmedRange({})
    with SimulatedRun(profile, cube, contact=contact) as simulated:
        yield Uncalibrated(simulated)


@pytest.fixture
def maintenance_of(short_folder: Path, fake: Uncalibrated) -> Callable[..., Maintenance]:
    """Return a function that makes maintenance like ``cubistd`` and links the fake to it."""

    def again(profile: RobotProfile) -> Machine:
        fake.simulated.profile = profile
        return fake.machine()

    def make(controller: JobController, _: object) -> Maintenance:
        fake.controller = controller
        store = CalibrationStore(short_folder / "state")
        return Maintenance(controller, fake.profile, store, fake.simulated.contact, again)

    return make


def bodies(profile: RobotProfile) -> Mapping[str, list[dict[str, Any]]]:
    """Return all kinds of bodies for each request that may move something."""
    servos = {name: one for name, one in profile.actuators.items() if isinstance(one, Servo)}
    steppers = [name for name, one in profile.actuators.items() if isinstance(one, Stepper)]
    moves: list[dict[str, Any]] = []
    for servo, settings in servos.items():
        places = [*settings.positions_us.values(), *settings.limits_us]
        moves += [{"actuator": servo}, *({"actuator": servo, "to": place} for place in places)]
    moves += [{"actuator": stepper, "to": steps} for stepper in steppers for steps in (0, 5, 4000)]
    each = [{"actuator": stepper} for stepper in steppers]
    ways = [
        {"actuator": servo, "between": list(way)}
        for servo, settings in servos.items()
        for way in itertools.permutations(settings.positions_us, 2)
    ]
    facelets = "".join(face * profile.cube.size**2 for face in "URFDLB")
    return {
        "/start": [
            *({}, {"kind": "home"}, {"facelets": facelets}),
            *({"kind": "scramble"}, {"kind": "scramble", "moves": "R U"}),
        ],
        "/home": [{}],
        "/stop": [{}, {"emergency": True}],
        "/acknowledge": [{}],
        "/maintenance/home": [{}, {"as_profile": False}],
        "/maintenance/move": moves,
        "/maintenance/colours": [{}, {"facelets": facelets}],
        "/maintenance/timing": [{}],
        "/maintenance/travel": ways,
        "/maintenance/film": ways,
        "/maintenance/proof": [{}],
        "/maintenance/steps": [*each, *({**one, "turns": 3} for one in each)],
        "/maintenance/speed": [*each, *({**one, "held": True} for one in each)],
        "/maintenance/play": each,
        "/calibration/restore": [{}],
        "/calibration/undo": [{}],
        "/calibration/import": [{"robot": profile.name, "values": confirmable(profile)}],
        "/maintenance/turn": [],  # finds out the direction by a small motion that is asked for
    }


NOT_MOTION = {"/shutdown", "/maintenance", "/restart", "/checkup"}
NOT_MOTION |= {"/profile/check", "/profile/restore"}


def asked(client: ControlClient, path: str, body: Mapping[str, Any]) -> RequestError | None:
    """Return the refusal of a request, or None if it succeeded."""
    try:
        client.call(Endpoint("POST", path), body)
    except RequestError as refusal:
        return refusal
    return None


def test_every_writing_route_is_tried():
    orders = {route.path for route in ROUTES if route.method == "POST"}
    assert orders == set(bodies(load_profile("cubotino"))) | NOT_MOTION


@pytest.mark.parametrize("profile_name", ROBOTS)
def test_nothing_that_can_be_asked_of_the_daemon_moves_it(daemon):
    client = ControlClient()
    refused: set[str] = set()
    tried = bodies(daemon.profile)
    for calibrating in (False, True):
        for path, several in tried.items():
            for body in several:
                if calibrating:
                    client.acknowledge()
                with client.maintenance() if calibrating else contextlib.nullcontext():
                    refusal = asked(client, path, body)
                assert not daemon.controller.is_calibrated
                assert daemon.moved == [], (path, body)
                if refusal is not None and refusal.code == "not-confirmed":
                    assert (refusal.status, refusal.error) == (409, "refused")
                    assert "cubist calibrate" in refusal.reason or "--from" in refusal.reason
                    refused.add(path)
    needless = {"/stop", "/acknowledge", *(path for path in tried if path.startswith("/cal"))}
    if not any(isinstance(one, Servo) for one in daemon.profile.actuators.values()):
        needless |= {"/maintenance/steps", "/maintenance/speed", "/maintenance/play"}
    assert refused >= {path for path, several in tried.items() if several} - needless


def test_the_first_contact_is_gentle(daemon, ask):
    lid = ("calibrate", "servo", "lid")
    code, _, err = ask(*lid, "open", "--to", "1335")
    assert (code, daemon.moved) == (1, [])  # a person has to give the first pulse
    assert "full speed" in err
    assert "--from 1500" in err
    assert ask(*lid, "close", "--to", "1500", "--from", "1500")[0] == 0
    assert daemon.moved == ["home"]
    code, _, err = ask(*lid, "open", "--to", "1335")
    assert code == 1
    assert "1335 us is too far beyond 1500..1500 us" in err
    for place in ("1450", "1400", "1350"):
        assert ask(*lid, "open", "--to", place, "--try")[0] == 0
    assert ask(*lid, "open", "--to", "1335")[1][0]["saved"] is True
    # Whatever else is confirmed, the rest is not.
    assert ask("start")[0] == 1
    assert daemon.moved.count("home") == 2  # the daemon rebuilds the robot after a save


def test_steps_come_no_faster_than_a_person_can_follow(daemon):
    """Check the pace whatever the rate of requests, for example from a key held down."""
    client, robot = ControlClient(), daemon.simulated.robot
    with client.maintenance():
        client.call(Endpoint("POST", "/maintenance/move"), {"actuator": "lid", "begin_at": 1500})
        began_us = robot.time_us
        for place in range(1450, 900 - 1, -50):
            client.call(Endpoint("POST", "/maintenance/move"), {"actuator": "lid", "to": place})
        walked_us = robot.time_us - began_us
        client.call(Endpoint("POST", "/maintenance/move"), {"actuator": "lid", "to": 1500})
        back_us = robot.time_us - began_us - walked_us
    assert walked_us > 12 * 300_000
    assert back_us < walked_us / 4, "where somebody has seen it go it moves freely"


def test_trusting_the_profile_is_said_each_time(daemon, ask):
    assert ask("calibrate", "home", "--as-profile")[0] == 0
    assert "home" in daemon.moved
    daemon.moved.clear()
    assert (ask("calibrate", "home")[0], ask("home")[0], daemon.moved) == (1, 1, [])
