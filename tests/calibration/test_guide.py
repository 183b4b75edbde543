"""The calibration's screens, used with their keys, on a daemon whose robot is all pretence."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Digits, Static
from textual.worker import WorkerCancelled

from robot.api.client import RequestError
from robot.calibration.step import STEPS, Session, steps_of
from robot.calibration.steps.camera import Image
from robot.calibration.steps.positions import Placing, positions
from robot.cli.calibrate_commands import COMMANDS
from robot.cli.guide.app import CalibrationApp, MakeScreen, screen_for, screen_of
from robot.cli.guide.camera import ImageWidget
from robot.cli.guide.jog import JogScreen
from robot.cli.guide.screens import MeasureScreen
from robot.machine.confirmed_range import confirmable
from robot.settings import RobotProfile, load_profile
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from tests.rig.state_folder import answered

KEY = "actuators.lid.positions_us.open"
SPEED = "/maintenance/speed"
SCRAMBLED = scrambled(3, 1).facelets()
TABLE = {"actuator": "table", "values": {}}


class FakeClient:
    """Answers as the daemon would."""

    def __init__(self, picture: Image) -> None:
        self.values: dict[str, Any] = {}
        self.before: list[dict[str, Any]] = []
        self.reached: dict[str, list[int]] = {}
        self.asked: list[tuple[str, Any]] = []
        self.timings: dict[str, Any] = {"operations": [], "values": {}}
        self.trials: dict[str, dict[str, Any]] = {}
        self.refusal: RequestError | None = None
        self.robot = "cubotino"
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._jpeg = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))[1].tobytes()

    def call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        import base64

        self.asked.append((path.removeprefix("/maintenance"), body))
        if path == "/calibration" and method == "PUT":
            self.before.append(self.values)
            merged = self.values | body["values"]
            self.values = {key: value for key, value in merged.items() if value is not None}
        if path == "/calibration/undo":
            self.values = self.before.pop()
        if path.startswith("/calibration"):
            return answered(self.robot, self.values)
        if path.startswith("/maintenance/picture"):
            return {"jpeg": base64.b64encode(self._jpeg).decode()}
        if path == "/maintenance/move":
            assert self.may_answer.wait(30)
            if not 900 <= (body["to"] or 1500) <= 2100:
                raise RequestError(400, "bad-request", "beyond its limits")
            return self._moved(body["actuator"], body["to"], body["begin_at"])
        if path == "/maintenance/colours":
            light = {face: [0.5, 0.4, 0.3] for face in "URFDLB"}
            facelets = body["facelets"] or SCRAMBLED
            return {"facelets": facelets, "values": {"colours": {"linear_rgb": light}}}
        if path in self.trials:
            if self.refusal is not None:
                raise self.refusal
            speed = {"speed_steps_per_s": body["speed_steps_per_s"]} if path == SPEED else {}
            return self.trials[path] | speed
        return self.timings if path == "/maintenance/timing" else {}

    def _moved(self, name: str, target: int | None, begin_at: int | None) -> dict[str, Any]:
        prefix = f"actuators.{name}.positions_us."
        kept = [value for key, value in self.values.items() if key.startswith(prefix)]
        reach = [*kept, *self.reached.get(name, [])]
        if not reach and begin_at is None:
            raise RequestError(409, "refused", "no confirmed position")
        place = target or begin_at or reach[0]
        assert not reach or min(reach) - 50 <= place <= max(reach) + 50
        reach.append(place)
        self.reached[name] = [min(reach), max(reach)]
        return {"actuator": name, "position": place, "low": min(reach), "high": max(reach)}

    @property
    def moves(self) -> list[int]:
        return [body["to"] for path, body in self.asked if path == "/move" and body["to"]]


@pytest.fixture(scope="module")
def picture() -> Image:
    """What the simulated robot's camera sees."""
    return Studio(SimulatedRobot(load_profile("cubotino"), scrambled(3, 1))).shoot().image


@pytest.fixture
def client(picture: Image) -> FakeClient:
    return FakeClient(picture)


@pytest.fixture
def session(client: FakeClient) -> Iterator[Session]:
    yield Session(client, load_profile("cubotino"))  # type: ignore[arg-type]


async def settled(pilot: Pilot[int]) -> None:
    """Until everything that was begun has come to its end, or the app has."""
    with contextlib.suppress(
        WorkerCancelled
    ):  # the last step's work ends the app that waits for it
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
        while getattr(pilot.app.screen, "busy", False):
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()


async def press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def message(pilot: Pilot[int]) -> str:
    return str(pilot.app.screen.query_one("#message", Static).content)


def jogging(session: Session, key: str = KEY) -> CalibrationApp:
    position = next(one for one in positions(session) if one.key == key)
    return CalibrationApp(session, [lambda: screen_for(Placing(session, position))])


def screens(session: Session, *names: str) -> list[MakeScreen]:
    return [partial(screen_of, session, STEPS[name]) for name in names]


async def test_arrow_keys_move_and_enter_keeps(session: Session, client: FakeClient) -> None:
    client.values[KEY] = 1335
    app = jogging(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await press(pilot, "up", "up", "left", "pagedown", "u")
        assert app.screen.query_one(Digits).value == "1354"
        await press(pilot, "enter")
    assert client.moves == [1335, 1345, 1355, 1354, 1304, 1354]
    assert "/home" not in [path for path, _ in client.asked]
    assert (client.values, app.return_value) == ({KEY: 1354}, 0)


async def test_giving_up_goes_back_and_keeps_nothing(session: Session, client: FakeClient) -> None:
    client.values[KEY] = 1335
    app = jogging(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await press(pilot, "up", "escape")
    assert (client.moves, client.values) == ([1335, 1345, 1335], {KEY: 1335})


@pytest.mark.parametrize("key", ["escape", "n", "ctrl+q"])
async def test_leaving_stops_what_is_measured(
    session: Session, client: FakeClient, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    begun, stopped, ask = threading.Event(), threading.Event(), client.call

    def call(method: str, path: str, body: Any = None) -> dict[str, Any]:
        if path != "/maintenance/timing":
            return ask(method, path, body)
        begun.set()
        assert stopped.wait(30)
        raise RequestError(503, "robot", "stopped by a person", "calibration-stopped")

    monkeypatch.setattr(client, "call", call)
    monkeypatch.setattr(client, "stop", stopped.set, raising=False)
    app = CalibrationApp(session, screens(session, "timing"))
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press("m")
        assert await asyncio.to_thread(begun.wait, 30)
        await pilot.press(key)
        assert await asyncio.to_thread(stopped.wait, 30)


async def test_beyond_the_limits_is_told_and_forgotten(
    session: Session, client: FakeClient
) -> None:
    client.values[KEY] = 2090
    app = jogging(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await press(pilot, "pageup")
        assert message(pilot) == "beyond its limits"
        await press(pilot, "down", "enter")
    assert client.moves == [2090, 2140, 2080]
    assert client.values == {KEY: 2080}


async def test_a_servo_that_was_never_moved_begins_in_the_middle_and_goes_in_small_steps(
    session: Session, client: FakeClient
) -> None:
    app = jogging(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        assert client.moves == []
        assert "full speed" in str(app.screen.query_one("#help", Static).content)
        await press(pilot, "up", "enter")
        assert client.moves == []
        await press(pilot, "b", "pagedown", "pagedown", "pagedown", "left", "enter")
    assert client.values == {KEY: 1349}
    assert client.moves == [1500, 1450, 1400, 1350, 1349]


async def test_a_key_that_is_held_down_goes_one_step_beyond_what_is_confirmed(
    session: Session, client: FakeClient
) -> None:
    app = jogging(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await press(pilot, "b")
        client.may_answer.clear()
        await pilot.press(*["pagedown"] * 15)
        client.may_answer.set()
        await settled(pilot)
        assert client.moves == [1500, 1450]
        await press(pilot, "escape")


async def test_keys_faster_than_motion_go_to_the_last_place(
    session: Session, client: FakeClient
) -> None:
    client.values[KEY] = 1335
    app = jogging(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await pilot.press(*["up"] * 9, "enter")
        await settled(pilot)
        while app.is_running and isinstance(app.screen, JogScreen):
            await settled(pilot)
    assert client.values == {KEY: 1425}
    assert client.moves[-1] == 1425


async def test_home_sends_nobody_to_where_they_are(session: Session, client: FakeClient) -> None:
    async with CalibrationApp(session, screens(session, "home")).run_test() as pilot:
        await press(pilot, "enter")
        said = message(pilot)
        assert "position ccw of holder" in said and "before this one" in said
        assert "cubist calibrate" not in said
        assert not [path for path, _ in client.asked if path == "/home"]
        client.values = confirmable(session.profile)
        await press(pilot, "enter")
        assert [path for path, _ in client.asked if path == "/home"] == ["/home"]


async def test_what_was_kept_can_be_undone(session: Session, client: FakeClient) -> None:
    client.values[KEY] = 1340
    app = CalibrationApp(session, screens(session, "positions"))
    async with app.run_test() as pilot:
        await settled(pilot)
        table = app.screen.query_one(DataTable)
        row = [str(table.get_row_at(i)[1]) for i in range(table.row_count)].index("open")
        await press(pilot, *["down"] * row, "enter", "up", "enter")
        assert client.values == {KEY: 1350}
        assert table.get_row_at(row)[2:5] == ["1350 us", "1335", "by a person"]
        await press(pilot, "ctrl+z")
        assert client.values == {KEY: 1340}
        await press(pilot, "ctrl+z")
        assert message(pilot) == "" or "nothing to undo" in message(pilot)
    assert client.values == {KEY: 1340}


async def test_the_camera_s_frame_is_found_moved_and_kept(
    session: Session, client: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robot.cli.guide.camera.EVERY_S", 1e6)
    quad = [[x + 0.05, y] for x, y in session.profile.cameras[0].views[0].quad]
    client.values["cameras.top.views.U.quad"] = quad
    app = CalibrationApp(session, screens(session, "camera"))
    async with app.run_test(size=(100, 40)) as pilot:
        await settled(pilot)
        shown = app.screen.query_one("#advice", Static)
        assert "pixels off the face" in str(shown.content)
        picture = app.screen.query_one(ImageWidget)
        assert picture.render_line(10).text.count("▀") > 30
        await press(pilot, "f", "enter")
        found = np.array(client.values["cameras.top.views.U.quad"])
        assert np.abs(found - session.profile.cameras[0].views[0].quad).max() < 0.01
        before = found[1]
        await press(pilot, "tab", "right", "shift+down", "enter")
        moved = (np.array(client.values["cameras.top.views.U.quad"][1]) - before) * (640, 480)
        assert moved == pytest.approx([1, 8], abs=0.02)


async def test_colours_and_timing_are_kept_only_when_wanted(
    session: Session, client: FakeClient
) -> None:
    row = {"operation": "turn D", "count": 2, "planned_us": 1000, "measured_us": 2000}
    client.timings = {"operations": [row], "values": {"policy.search_s": 2.0}}
    app = CalibrationApp(session, screens(session, "colours", "timing"))
    async with app.run_test() as pilot:
        await press(pilot, "enter")
        assert "measure first" in message(pilot)
        await press(pilot, "s")
        assert client.values == {}
        assert ("/colours", {"facelets": "".join(face * 9 for face in "URFDLB")}) in client.asked
        await press(pilot, "enter")
        assert set(client.values) == {"colours"}
        await press(pilot, "n", "m")
        assert app.screen.query_one(DataTable).get_row_at(0) == ["turn D", "2", "1.0 ms", "2.0 ms"]
        await press(pilot, "enter", "n")
    assert client.values["policy.search_s"] == 2.0


async def test_the_menu_leads_everywhere_and_all_goes_through_all(
    session: Session, client: FakeClient
) -> None:
    client.values = confirmable(session.profile)
    app = CalibrationApp(session)
    async with app.run_test() as pilot:
        await settled(pilot)
        await press(pilot, "enter")
        seen = []
        while app.screen.sub_title:
            seen.append(app.screen.sub_title)
            await press(pilot, "n")
        steps = [step.heading for step in STEPS.values() if step.name != "steppers"]  # it has none
        assert seen == [f"step {n} of {len(steps)}: {name}" for n, name in enumerate(steps, 1)]
        await press(pilot, "down", "down", "down", "enter", "enter")
        assert "start position" in message(pilot)
        await press(pilot, "escape", "ctrl+q")
    assert app.return_value == 0


@pytest.fixture
def table_session(client: FakeClient) -> Session:
    """A robot whose table is a stepper."""
    client.robot = "mindcuber"
    return Session(client, load_profile("mindcuber"))  # type: ignore[arg-type]


async def on_row(pilot: Pilot[int], what: str) -> None:
    """Enter the row of the table that says this."""
    table = pilot.app.screen.query_one(DataTable)
    rows = [table.get_row_at(number) for number in range(table.row_count)]
    number = next(number for number, row in enumerate(rows) if what in row)
    table.move_cursor(row=number)
    await press(pilot, "enter")


async def test_a_stepper_is_calibrated_step_by_step(
    table_session: Session, client: FakeClient
) -> None:
    client.trials = {
        "/maintenance/turn": TABLE | {"steps": 400, "inverted": False},
        "/maintenance/steps": TABLE | {"steps": 1600, "found_steps": 3200, "turn_steps": 1600},
        "/maintenance/play": TABLE | {"play_steps": 12, "within_steps": 4, "seen_by": "camera"},
    }
    app = CalibrationApp(table_session, screens(table_session, "steppers"))
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await on_row(pilot, "direction")
        await press(pilot, "m", "x", "enter", "escape")
        assert client.values == {"actuators.table.invert_direction": True}
        await on_row(pilot, "steps")
        await press(pilot, "down", "up", "m")
        assert "3200 steps are a turn" in message(pilot)
        await press(pilot, "enter", "escape")
        assert client.values["actuators.table.steps_per_turn"] == 3200
        await on_row(pilot, "backlash")
        await press(pilot, "m", "up", "enter", "escape")
        assert client.values["actuators.table.backlash_steps"] == 13
        await press(pilot, "ctrl+z", "ctrl+z", "ctrl+z")
    assert client.values == {}


@pytest.mark.parametrize("asked", [False, True])
async def test_a_ramp_ends_with_the_first_lost_steps(
    table_session: Session, client: FakeClient, asked: bool
) -> None:
    good = {"lost": None if asked else False, "seen_by": "camera", "square": True}
    good |= {"actuator": "table", "acceleration_steps_per_s2": 8000, "steps": 1600}
    client.trials = {SPEED: good | {"reached_steps_per_s": 1e6}}
    app = CalibrationApp(table_session, screens(table_session, "steppers"))
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await on_row(pilot, "speed")
        if asked:
            await press(pilot, "m", "y", "y", "x")
            assert "set table and the cube square" in message(pilot)
        else:
            await press(pilot, "m")
            assert "no steps were lost at all" in message(pilot)
        await press(pilot, "enter")
    # 800, 920, 1058 steps/s; or four times what it may now, in steps of 15 percent.
    tried = [body["speed_steps_per_s"] for path, body in client.asked if path == "/speed"]
    last_good = tried[1] if asked else tried[-1]
    assert tried[:3] == [800, 920, 1058]
    assert client.values == {"actuators.table.max_speed_steps_per_s": round(0.8 * last_good)}


REST = [
    {"between": ["home", "cw"], "ms": 700, "held_ms": 800},
    {"between": ["ccw", "cw"], "ms": 1470, "held_ms": 1680},
]


@pytest.mark.parametrize("seen", [True, False])
async def test_travel_is_measured_or_set_by_eye(
    session: Session, client: FakeClient, seen: bool
) -> None:
    answer: dict[str, Any] = {"actuator": "holder", "between": ["ccw", "home"]}
    answer |= {"planned_us": 700_000}
    if seen:
        held_ms = round(340 * 800 / 700, 1)
        rows = [{"between": ["ccw", "home"], "ms": 340, "held_ms": held_ms}, *REST]
        answer |= {"measured_us": 300_000, "within_us": 40_000}
        answer["values"] = {"actuators.holder.travel": rows}
    client.trials = {"/maintenance/travel": answer}
    app = CalibrationApp(session, screens(session, "travel"))
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await press(pilot, "enter", "m")
        if not seen:
            assert "judge the time by eye" in message(pilot)
            await press(pilot, "pageup", "down")
        await press(pilot, "enter", "escape")
    rows = client.values["actuators.holder.travel"]
    assert rows[0]["ms"] == (340 if seen else 790)
    assert rows[0]["held_ms"] == pytest.approx(rows[0]["ms"] * 800 / 700, abs=0.1)
    assert [row["ms"] for row in rows[1:]] == [700, 1470]


async def test_a_measurement_that_fails_says_why_and_may_be_begun_anew(
    session: Session, client: FakeClient
) -> None:
    client.trials = {"/maintenance/travel": {}}
    client.refusal = RequestError(409, "refused", "the table is jammed")
    app = CalibrationApp(session, screens(session, "travel"))
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await press(pilot, "enter", "m")
        assert "the table is jammed" in message(pilot)
        assert "bad" in app.screen.query_one("#message").classes
        asked = len(client.asked)
        await press(pilot, "m")
        assert len(client.asked) > asked
        await press(pilot, "escape")


def every_screen(robot: RobotProfile, session: Session) -> Iterator[Any]:
    yield from (screen_of(session, step) for step in steps_of(robot))
    for step in steps_of(robot):
        for item in step.items(session) if step.items else ():
            yield screen_for(item.begin())


@pytest.mark.parametrize("name", ["cubotino", "mindcuber", "two-arm-2x2x2"])
async def test_titles_and_keys_fit_into_eighty_columns(client: FakeClient, name: str) -> None:
    robot = load_profile(name)
    client.robot = name
    session = Session(client, robot)  # type: ignore[arg-type]
    app = CalibrationApp(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for screen in every_screen(robot, session):
            if screen.heading in {step.heading for step in STEPS.values()}:
                screen.place_of_step = "step 7 of 7: "
            await app.push_screen(screen)
            await settled(pilot)
            heading = f"{app.title} — {screen.sub_title}"
            lines = await drawn_until(
                pilot,
                lambda lines, heading=heading: heading in lines[0] and "^q Quit" in lines[-1],
            )
            assert heading in lines[0]
            keys = [one.binding for one in screen.active_bindings.values() if one.binding.show]
            assert [key.description for key in keys if key.description not in lines[-1]] == []
            assert "^q Quit" in lines[-1]
            await app.pop_screen()


def drawn(app: CalibrationApp) -> Any:
    return app.screen._compositor.render_strips()


async def drawn_until(pilot: Pilot[int], is_there: Callable[[list[str]], bool]) -> list[str]:
    """The lines of the screen when something is there, or what they are after ten seconds.

    Screens are drawn when the computer has time for it, which is after they are settled.
    """
    for _ in range(200):
        lines = ["".join(part.text for part in line) for line in drawn(pilot.app)]  # type: ignore[arg-type]
        if is_there(lines):
            break
        await pilot.pause(0.05)
    return lines


def items_of(session: Session, command: str) -> MakeScreen:
    """The screen of a command that was told nothing."""
    if command == "stepper":
        return partial(screen_of, session, STEPS["steppers"])
    found = next(one for one in COMMANDS if one.name == command)
    return partial(screen_of, session, STEPS["positions"], found.items)


@pytest.mark.parametrize(
    ("kind", "profile", "actuators"),
    [
        ("servo", "cubotino", {"holder", "lid"}),
        ("stepper", "cubotino", set()),
        ("stepper", "mindcuber", {"table"}),
        ("gripper", "two-arm", {"right-jaw", "down-jaw"}),
    ],
)
async def test_each_kind_shows_its_own(
    client: FakeClient, kind: str, profile: str, actuators: set[str]
) -> None:
    robot = load_profile(profile)
    client.call = _named(client.call, profile)  # type: ignore[method-assign]
    session = Session(client, robot)  # type: ignore[arg-type]
    app = CalibrationApp(session, [items_of(session, kind)])
    async with app.run_test() as pilot:
        await settled(pilot)
        table = app.screen.query_one(DataTable)
        assert {str(table.get_row_at(i)[0]) for i in range(table.row_count)} == actuators


def _named(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    return lambda *arguments: call(*arguments) | {"robot": name, "format": 1, "values": {}}


@pytest.mark.parametrize(
    ("values", "is_found", "said"),
    [
        ({"key": 1}, True, ("found it (Enter keeps it)", "")),
        ({}, True, ("found it", "good")),
        ({}, False, ("found it", "bad")),
    ],
)
def test_what_was_measured_is_said_and_asked_for(
    values: dict[str, int], is_found: bool, said: tuple[str, str]
) -> None:
    heard: list[tuple[str, str]] = []
    measurement = SimpleNamespace(values=values, is_found=is_found, text="found it")
    screen: Any = SimpleNamespace(
        measurement=measurement,
        _show_value=lambda: None,
        say=lambda text, mood: heard.append((text, mood)),
    )
    MeasureScreen._conclude(screen)
    assert heard == [said]
