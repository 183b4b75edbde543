"""Every step by its commands, its screens and the control socket: one table, the same values.

A person with nothing but keys calibrates a badly built robot, which then solves three cubes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Digits, Static

from robot.api.calibrations import Calibration
from robot.api.client import ControlClient
from robot.api.endpoints import Endpoint
from robot.calibration.step import LONGEST_TRIAL_S, STEPS, Session, steps_of
from robot.cli.guide_screen import CalibrationApp
from robot.daemon.routes import ROUTES
from robot.guide.dialogs import step_dialog
from robot.guide.texts import GuideText
from robot.settings import RobotProfile, load_profile
from robot.simulate.simulation import robot_to_practise_on
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.registry import position_errors
from robot.twin.simulated import SimulatedRobot
from tests.calibration.conftest import keep, painted, show_cube
from tests.rig.guide import press_keys, settle_app
from vision.measure.sticker_colours import FACES

BY_ITSELF = "auto"
"""The step without questions or a person watching. It has its own tests."""
TRIALS = [trial for name, step in STEPS.items() if name != BY_ITSELF for trial in step.trials]
SOLVED = "".join(face * 9 for face in FACES)
QUAD = "cameras.top.views.U.quad"
MOTOR = "actuators.table."
COLOURS = {"colours": None}
LONGER = [
    {"between": way, "ms": ms, "held_ms": None, "one_way": False}
    for *way, ms in (("rest", "hold", 360.0), ("hold", "pull", 450.0), ("rest", "pull", 800.0))
]


@dataclass(frozen=True)
class Case:
    """A thing to calibrate: its row in the step's list, three ways to do it, and the values kept.

    ``kept`` are the keys that get a value by the command and by the screen, with the values that
    are the same every time.
    """

    step: str
    command: str
    keys: str
    asked: dict[str, Any]
    trial: str
    row: tuple[str, ...] = ()
    kept: dict[str, Any] = field(default_factory=dict)
    by_eye: dict[str, Any] | None = None
    code: int = 0

    @property
    def name(self) -> str:
        return " ".join([self.step, *self.row])


def stepper(what: str, option: str, keys: str, trial: str, **kept: Any) -> Case:
    """Return the case of the table's motor. ``kept`` are values by their last part of the key."""
    asked = {"turn": {"inverted": True}, "steps": {"turns": 2}, "speed": {"speed_steps_per_s": 800}}
    values = {f"{MOTOR}{key}": value for key, value in kept.items()}
    command = f"stepper {what} table {option}"
    body = {"actuator": "table"} | asked.get(trial, {})
    return Case("steppers", command, keys, body, trial, ("table", what), values)


CASES = (
    Case(
        "positions",
        "servo arm hold --to 1510 --from 1500",
        "b up enter escape",
        {"actuator": "arm", "to": None, "begin_at": 1500},
        "move",
        ("arm", "hold"),
        {"actuators.arm.positions_us.hold": 1510},
    ),
    stepper("direction", "--went wrong", "m x y enter", "turn", invert_direction=True),
    stepper("steps", "--turned 180", "m up enter", "steps", steps_per_turn=3200),
    stepper("speed", "--last-good 920", "m y y x enter", "speed", max_speed_steps_per_s=736),
    stepper("backlash", "--to 2", "m up up enter", "play", backlash_steps=2),
    Case("home", "home --as-profile", "enter", {"as_profile": True}, "home"),
    Case("camera", "camera --place U", "f enter", {}, "picture", kept={QUAD: None}),
    Case(
        "travel",
        "travel arm rest hold --save",
        "m up enter",
        {"actuator": "arm", "between": ["rest", "hold"]},
        "travel",
        ("arm", "rest", "hold"),
        by_eye={"actuators.arm.travel": LONGER},
        code=1,
    ),
    Case("colours", "colours --solved", "s enter", {"facelets": SOLVED}, "colours", kept=COLOURS),
    Case("timing", "timing", "m", {}, "timing"),
)


@pytest.fixture
def profile_name() -> str:
    return "mindcuber"  # it needs every step


@pytest.fixture
def robot(daemon: Any) -> ControlClient:
    """Return a client of a robot with a solved cube before its camera. No other client moves it.

    At first no value is as the steps would find it in the profile: the face is elsewhere.
    """
    jpeg = painted("mindcuber")
    daemon.scanner.picture = lambda _: jpeg
    show_cube(daemon, SOLVED)
    quad = [[x + 0.03, y] for x, y in load_profile("mindcuber").cameras[0].views[0].quad]
    keep({f"{MOTOR}invert_direction": False, QUAD: quad})
    return ControlClient()


def changes(client: ControlClient, before: dict[str, Any]) -> dict[str, Any]:
    after = client.call(Endpoint("GET", "/calibration"))["values"]
    return {key: value for key, value in after.items() if before.get(key) != value}


def test_the_table_has_every_step_and_every_trial():
    assert {case.step for case in CASES} | {BY_ITSELF} == set(STEPS)
    assert sorted(case.trial for case in CASES) == sorted(trial.name for trial in TRIALS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_commands_screens_and_the_socket_do_the_same(robot, ask, case):
    if case.step == "home":
        places = load_profile("mindcuber").actuators["arm"].places
        keep({f"actuators.arm.positions_us.{name}": at for name, at in places.items()})
    before = robot.call(Endpoint("GET", "/calibration"))["values"]
    by_socket(robot, case)
    assert changes(robot, before) == {}

    code, told, err = ask("calibrate", *case.command.split())
    assert (code, bool(told)) == (case.code, True), err
    by_command = changes(robot, before)
    assert by_command.keys() == case.kept.keys()

    keep(dict.fromkeys(by_command) | before)
    by_screen = await kept_by_keys(robot, case, before)
    assert by_screen == (by_command if case.by_eye is None else case.by_eye)
    assert all(value in (None, by_screen[key]) for key, value in case.kept.items())
    assert changes(robot, before) == {}


def by_socket(client: ControlClient, case: Case) -> None:
    """Check that the trial is as the server serves it, and its answer as described."""
    trial = next(one for one in TRIALS if one.name == case.trial)
    route = next(one for one in ROUTES if one.endpoint == trial.endpoint)
    assert route.answer is trial.answer
    trial.request.model_validate(case.asked)
    with client.maintenance():
        asked = case.asked if trial.method == "POST" else None
        trial.answer.model_validate(client.call(trial.endpoint, asked))


async def kept_by_keys(client: ControlClient, case: Case, before: dict[str, Any]) -> dict[str, Any]:
    """Return the values kept on the screen, then undo them."""
    session = Session(client)
    with session.maintenance():
        app = CalibrationApp(session, [step_dialog(STEPS[case.step])])
        async with app.run_test(size=(80, 24)) as pilot:
            await settle_app(pilot)
            if case.row:
                enter_row(pilot, case.row)
                await settle_app(pilot)
            await press_keys(pilot, case.keys.split())
            found = changes(client, before)
            await press_keys(pilot, ["ctrl+z", "ctrl+q"])
    return found


def enter_row(pilot: Pilot[int], row: tuple[str, ...]) -> None:
    table = pilot.app.screen.query_one(DataTable)
    rows = [tuple(table.get_row_at(number)) for number in range(table.row_count)]
    number = next(number for number, cells in enumerate(rows) if cells[: len(row)] == row)
    table.move_cursor(row=number)
    table.action_select_cursor()


SEES_DEGREES = 0.6
"""Smallest error of a part that a person sees by eye."""


@dataclass
class Person:
    """A person who presses keys, and looks at the robot and at the screen in between."""

    pilot: Pilot[int]
    profile: RobotProfile
    twin: SimulatedRobot
    keys: list[str] = field(default_factory=list)

    async def press(self, *keys: str) -> None:
        self.keys += keys
        await press_keys(self.pilot, keys)

    @property
    def heading(self) -> str:
        return str(self.pilot.app.screen.sub_title).rpartition(": ")[2]

    def text_of(self, part: str) -> str:
        return str(self.pilot.app.screen.query_one(part, Static).content)

    def look(self) -> tuple[float, float]:
        """Return the error of the heading's part in degrees, and in microseconds of pulse."""
        actuator, _, position = self.heading.rpartition(" ")
        key = f"actuators.{actuator}.positions_us.{position}"
        pulse = int(self.pilot.app.screen.query_one(Digits).value)
        here, beyond = (
            position_errors(self.profile, self.twin.misadjusted, {key: at})[key]
            for at in (pulse, pulse + 100)
        )
        return abs(here), here * 100 / (beyond - here)

    async def place(self) -> None:
        """Bring the part in the heading to its correct position, and keep that."""
        for _ in range(2):  # it is next, and its position is unknown
            if "choose Begin" in self.text_of("#help"):
                await self.press("b")
        if abs(self.look()[1]) > 60:
            await self.press("g")
        while self.look()[0] > SEES_DEGREES:
            off = self.look()[1]
            size = next(size for size in (50, 10, 1) if abs(off) >= 0.6 * size)
            names = {50: ("pageup", "pagedown"), 10: ("up", "down"), 1: ("right", "left")}[size]
            await self.press(names[off > 0])
        await self.press("enter")


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("robot", "most"), [("cubotino", 60), ("two-arm", 80), ("otvinta", 110)])
async def test_a_person_with_keys_alone_gets_a_robot_that_solves(robot, most):
    profile = load_profile(robot)
    truth = Misadjustment(94901)
    with robot_to_practise_on(profile, misadjusted=truth, speed=4.0) as twin:
        client = ControlClient(timeout_s=LONGEST_TRIAL_S)
        session = Session(client, profile)
        with session.maintenance():
            app = CalibrationApp(session)
            async with app.run_test(size=(80, 24)) as pilot:
                await settle_app(pilot)
                person = Person(pilot, profile, twin)
                await person.press("enter")
                while person.heading != "Positions":
                    await person.press("n")
                await person.press("enter")
                while person.heading != "Positions":
                    await person.place()
                assert person.text_of("#message") == GuideText.ALL_KEPT
                # The cube was out all the while, which the simulated robot does not know.
                assert {one.kind for one in twin.violations} <= {"dropped"}
                twin.incidents.violations.clear()
                twin.insert(scrambled(profile.cube.size, 1))
                await person.press("n", "enter", "n")
                assert person.heading == "Camera"
                while "\n" not in person.text_of("#advice"):
                    await pilot.pause(0.2)
                await person.press("f", "enter", "n", "n")
                assert person.heading.startswith("Colours")
                await person.press("m", "enter", "ctrl+q")
        assert len(person.keys) <= most
        for number in range(3):
            twin.insert(scrambled(profile.cube.size, 2 + number))
            client.start()
            with client.events() as events:
                if client.status()["job"] is not None:
                    next(event for event in events if event["event"] == "finished")
            assert client.status()["last_run"]["outcome"] == "solved", number
            assert twin.solved
        assert twin.violations == []


def test_a_robot_lacks_the_steps_that_keep_something():
    profile, nothing = load_profile("cubotino"), Calibration(robot="cubotino")
    missing = [step.name for step in steps_of(profile) if not step.is_done(profile, nothing)]
    assert missing == ["positions", "camera", "travel", "colours"]
