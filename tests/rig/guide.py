"""Guide sessions for tests: a daemon's client for calibration, and dialogs without a screen."""

from __future__ import annotations

import asyncio
import base64
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

import cv2
from textual.pilot import Pilot

from robot.api.client import RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.step import Session
from robot.guide.session import GuideSession, MakeDialog
from robot.guide.state import DialogPress, DialogState
from robot.settings import load_profile
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from tests.rig.profiles import kept

SCRAMBLED = scrambled(3, 1).facelets()


@functools.cache
def camera_jpeg() -> bytes:
    image = Studio(SimulatedRobot(load_profile("cubotino"), scrambled(3, 1))).shoot().image
    return bytes(cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))[1])


class FakeCalibrationClient:
    """A client of a daemon whose robot moves at once.

    ``values`` are kept; ``asked`` are all requests. ``trials`` has answers by path, or functions
    that make them from a request; ``failures`` has errors to raise instead. A move waits for
    ``may_answer``.
    """

    def __init__(self, robot: str = "cubotino", **values: Any) -> None:
        self.robot = robot
        self.values: dict[str, Any] = values
        self.asked: list[tuple[str, Any]] = []
        self.trials: dict[str, Any] = {}
        self.failures: dict[str, Exception] = {}
        self.stops = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._before: list[dict[str, Any]] = []
        self._reached: dict[str, list[int]] = {}

    @property
    def session(self) -> Session:
        return Session(self, load_profile(self.robot))

    @property
    def moves(self) -> list[int]:
        """All positions that actuators were sent to."""
        return [body["to"] for path, body in self.asked if path == "/move" and body["to"]]

    def stop(self) -> bool:
        self.stops += 1
        self.may_answer.set()
        return True

    def call(self, endpoint: Endpoint[Any], body: Any = None, **more: Any) -> dict[str, Any]:
        method, path = endpoint.method, endpoint.target(**more)
        self.asked.append((path.removeprefix("/maintenance"), body))
        path = path.partition("?")[0]
        if path in self.failures:
            raise self.failures[path]
        if path.startswith("/calibration"):
            return self._keep(method, path, body)
        if path == "/maintenance/picture" and path not in self.trials:
            return {"jpeg": base64.b64encode(camera_jpeg()).decode()}
        if path == "/maintenance/move":
            assert self.may_answer.wait(30)
            return self._move(body["actuator"], body["to"], body["begin_at"])
        if path == "/maintenance/colours":
            light = {face: [0.5, 0.4, 0.3] for face in "URFDLB"}
            facelets = body["facelets"] or SCRAMBLED
            return {"facelets": facelets, "values": {"colours": {"linear_rgb": light}}}
        found = self.trials.get(path, {})
        return dict(found(body) if callable(found) else found)

    def _keep(self, method: str, path: str, body: Any) -> dict[str, Any]:
        if method == "PUT":
            self._before.append(self.values)
            merged = self.values | body["values"]
            self.values = {key: value for key, value in merged.items() if value is not None}
        if path == "/calibration/undo":
            self.values = self._before.pop()
        return kept(self.robot, self.values).model_dump(mode="json")

    def _move(self, name: str, target: int | None, begin_at: int | None) -> dict[str, Any]:
        if not 900 <= (target or 1500) <= 2100:
            raise RequestError(400, "bad-request", "beyond its limits")
        prefix = f"actuators.{name}.positions_us."
        kept = [value for key, value in self.values.items() if key.startswith(prefix)]
        reach = [*kept, *self._reached.get(name, [])]
        if not reach and begin_at is None:
            raise RequestError(409, "refused", "no confirmed position")
        place = target or begin_at or reach[0]
        assert not reach or min(reach) - 50 <= place <= max(reach) + 50
        reach.append(place)
        self._reached[name] = [min(reach), max(reach)]
        return {"actuator": name, "position": place, "low": min(reach), "high": max(reach)}


class ManualExecutor(Executor):
    """Executes tasks at once, or in :meth:`finish` while ``waits`` is set."""

    def __init__(self) -> None:
        self.waits = False
        self._tasks: list[Callable[[], object]] = []

    def submit(self, work: Callable[..., Any], /, *args: Any, **more: Any) -> Future[Any]:
        self._tasks.append(functools.partial(work, *args, **more))
        if not self.waits:
            self.finish()
        return Future()

    def finish(self) -> None:
        self.waits = False
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task()


class DialogRig:
    """A guide session without a screen; ``states`` are all states shown."""

    def __init__(self, session: Session, *first: MakeDialog) -> None:
        self.states: list[DialogState] = []
        self.pictures: list[bytes] = []
        self.robot = ManualExecutor()
        self.is_over = False
        self.guide = GuideSession(
            session, self.states.append, lambda jpeg, _: self.pictures.append(jpeg), self.robot
        )
        self.guide.begin(first)
        self.settle()

    def settle(self) -> DialogState:
        """Handle all events; return the state of the dialog on top."""
        while self.guide.has_events and not self.is_over:
            self.is_over = not self.guide.handle_event()
        return self.state

    def finish(self) -> DialogState:
        self.robot.finish()
        return self.settle()

    def press(self, *does: str, **more: Any) -> DialogState:
        """Perform actions one after another; return the last state."""
        for do in does:
            self.guide.press(DialogPress(do=do, dialog=self.state.dialog, **more))
            self.settle()
        return self.state

    @property
    def state(self) -> DialogState:
        return self.states[-1]

    @property
    def notice(self) -> tuple[str, str]:
        return self.state.notice.text, self.state.notice.mood

    @property
    def value(self) -> str:
        return self.state.contents.value.text

    @property
    def actions(self) -> list[str]:
        return [action.do for action in self.state.actions if not action.by_key]


async def settle_app(pilot: Pilot[int]) -> None:
    """Wait until a :class:`CalibrationApp` shows the result of everything started so far."""
    app = pilot.app
    while True:
        handled = threading.Event()
        app.guide.later(handled.set)
        while not handled.is_set() and app.is_running:
            await asyncio.sleep(0.002)
        if not app.is_running or not (app.guide.busy or app.guide.has_events):
            break
    await pilot.pause()


async def press_keys(pilot: Pilot[int], keys: Sequence[str]) -> None:
    """Press keys in a :class:`CalibrationApp`, each once the previous one has had its effect."""
    for key in keys:
        await pilot.press(key)
        await settle_app(pilot)
