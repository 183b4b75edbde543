"""What presses do to the robot, and what the light tells of it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from robot.daemon.front_panel import FrontPanel
from robot.daemon.job_control import JobController
from robot.daemon.main import _open_panel
from robot.daemon.models import RobotState, StartRequest
from robot.daemon.service import parse
from robot.faults import Refused
from robot.panel.button import Hands, Press
from robot.panel.gpio import PanelFault, Pull
from robot.panel.inspection import Inspection
from robot.panel.panel import Input, Output, PanelPins
from robot.settings import load_profile

PADS = (Input(5, True, "down"), Input(6, True, "down"))


class FakeGpio:
    """Pins whose inputs rest at their pull; outputs are remembered."""

    def __init__(self) -> None:
        self.levels: dict[int, bool] = {}
        self.outputs: dict[int, bool] = {}
        self.cleaned = 0

    def setup_input(self, pin: int, pull: Pull) -> None:
        self.levels[pin] = pull == "up"

    def setup_output(self, pin: int, level: bool) -> None:
        self.outputs[pin] = level

    def input(self, pin: int) -> bool:
        return self.levels[pin]

    def output(self, pin: int, level: bool) -> None:
        self.outputs[pin] = level

    def on_edge(self, pin: int, callback: Callable[[int], None]) -> None: ...

    def cleanup(self) -> None:
        self.cleaned += 1


@pytest.fixture
def gpio() -> FakeGpio:
    return FakeGpio()


@pytest.fixture
async def panel(controller: JobController, gpio: FakeGpio) -> AsyncIterator[FrontPanel]:
    front = FrontPanel(controller, gpio, PanelPins(start_button=Input(17), led=Output(27)))
    front.open()
    yield front
    await front.close()
    assert gpio.cleaned


async def test_a_short_press_starts_and_the_next_one_stops(
    panel: FrontPanel, controller: JobController, fake: Any, eventually: Any
) -> None:
    fake.motion.hold = threading.Event()
    await panel.pressed(Press.SHORT)
    await eventually(fake.motion.moving)
    assert controller.state is RobotState.SCANNING
    await panel.pressed(Press.SHORT)
    assert controller.state is RobotState.IDLE
    assert (await controller.runs(1))[0].outcome == "stopped"


async def test_a_long_press_homes(panel: FrontPanel, controller: JobController) -> None:
    await panel.pressed(Press.LONG)
    await controller.finished()
    assert (await controller.runs(1))[0].kind == "home"


async def test_a_very_long_press_stops_and_asks_for_power_off(
    panel: FrontPanel, controller: JobController, fake: Any, eventually: Any
) -> None:
    fake.motion.hold = threading.Event()
    await panel.pressed(Press.SHORT)
    await eventually(fake.motion.moving)
    await panel.pressed(Press.VERY_LONG)
    assert controller.power_off
    assert controller.ended.is_set()
    assert "stop" in fake.motion.done


async def test_a_press_that_is_refused_does_no_harm(
    panel: FrontPanel, controller: JobController
) -> None:
    controller.enter_maintenance()
    await panel.pressed(Press.SHORT)
    assert controller.state is RobotState.MAINTENANCE


async def test_the_emergency_stop(panel: FrontPanel, controller: JobController, fake: Any) -> None:
    await panel.estop(True)
    assert controller.state is RobotState.FAULT
    assert "emergency" in fake.motion.done
    await panel.pressed(Press.SHORT)
    with pytest.raises(Refused, match="release it first"):
        await controller.start(StartRequest())
    assert "home" not in fake.motion.done
    await panel.estop(False)
    assert controller.state is RobotState.FAULT
    await panel.pressed(Press.SHORT)
    await controller.finished()
    assert (await controller.runs(1))[0].outcome == "solved"


async def test_a_stuck_button_is_a_fault_until_it_is_let_go(
    panel: FrontPanel, controller: JobController
) -> None:
    await panel.stuck(("GPIO 17",))
    status = controller.status()
    assert (status.state, status.fault and status.fault.code) == (RobotState.FAULT, "button-stuck")
    assert status.fault is not None
    assert "GPIO 17" in status.fault.cause
    assert "start_button_active" in status.fault.remedy
    await controller.start(StartRequest())  # nobody needs the button for that
    await controller.finished()
    assert (await controller.runs(1))[0].outcome == "solved"
    assert controller.state is RobotState.FAULT
    await panel.stuck(())
    assert (controller.state, controller.status().fault) == (RobotState.IDLE, None)


async def test_a_button_that_gets_stuck_does_not_disturb_a_job(
    panel: FrontPanel, controller: JobController, fake: Any, eventually: Any
) -> None:
    fake.motion.hold = threading.Event()
    await controller.start(StartRequest())
    await eventually(fake.motion.moving)
    await panel.stuck(("GPIO 17",))
    assert controller.state is RobotState.SCANNING
    fake.motion.hold.set()
    await controller.finished()
    assert (await controller.runs(1))[0].outcome == "solved"
    assert controller.state is RobotState.FAULT


async def test_a_pressed_button_at_the_start_is_shown_by_the_light(
    controller: JobController, gpio: FakeGpio
) -> None:
    front = FrontPanel(controller, gpio, PanelPins(Input(17, active=True, pull="up"), Output(27)))
    front.open()
    while controller.state is not RobotState.FAULT:
        await asyncio.sleep(0.01)
    gpio.levels[17] = False
    while controller.state is not RobotState.IDLE:
        await asyncio.sleep(0.01)
    await front.close()
    assert await controller.runs(1) == []
    assert not controller.ended.is_set()


async def test_a_panel_that_fails_is_an_open_emergency_stop(
    controller: JobController, gpio: FakeGpio
) -> None:
    front = FrontPanel(controller, gpio, PanelPins(estop=Input(23, active=True)))
    await front.failed(PanelFault("GPIO 23: gone"))
    with pytest.raises(Refused, match="emergency stop"):
        await controller.start(StartRequest())


@pytest.mark.parametrize(("more", "moves"), [({}, True), ({"estop_gpio": 23}, False)])
async def test_a_panel_that_cannot_be_opened_is_an_open_emergency_stop_if_it_has_one(
    controller: JobController,
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, int],
    moves: bool,
) -> None:
    def none(twin: object) -> FakeGpio:
        raise PanelFault("no chip of GPIOs")

    monkeypatch.setattr("robot.daemon.main.make_gpio", none)
    cubotino = load_profile("cubotino")
    panel = cubotino.panel.model_copy(update={"start_button_gpio": 17, "estop_gpio": None} | more)
    profile = cubotino.model_copy(update={"panel": panel})
    async with contextlib.AsyncExitStack() as stack:
        await _open_panel(stack, controller, profile, parse([]))
        with contextlib.nullcontext() if moves else pytest.raises(Refused, match="emergency stop"):
            await controller.start(StartRequest())
            await controller.finished()


async def test_a_panel_without_emergency_stop_may_fail(
    panel: FrontPanel, controller: JobController
) -> None:
    await panel.failed(PanelFault("GPIO 17: gone"))
    await panel.pressed(Press.SHORT)
    await controller.finished()
    assert (await controller.runs(1))[0].outcome == "solved"


@pytest.fixture
async def pads(controller: JobController, gpio: FakeGpio) -> AsyncIterator[FrontPanel]:
    """A panel whose inspection never ends by itself."""
    front = FrontPanel(controller, gpio, PanelPins(Input(17), pads=PADS), inspection_s=1e6)
    front.open()
    yield front
    await front.close()


async def test_lifting_the_hands_starts(
    controller: JobController, gpio: FakeGpio, eventually: Any
) -> None:
    front = FrontPanel(controller, gpio, PanelPins(pads=PADS))
    started = threading.Event()
    begin = controller.store.begin

    def told(*arguments: Any) -> Any:
        started.set()
        return begin(*arguments)

    controller.store.begin = told  # type: ignore[method-assign]
    await front.hands(Hands.READY)
    await front.hands(Hands.LIFTED)
    await eventually(started)
    while controller.status().last_run is None:
        await asyncio.sleep(0.01)
    assert (await controller.runs(1))[0].outcome == "solved"


@pytest.mark.parametrize("how", ["hands", "button", "estop"])
async def test_an_inspection_can_be_called_off(
    pads: FrontPanel, controller: JobController, how: str
) -> None:
    await pads.hands(Hands.LIFTED)
    assert pads._inspection.running
    if how == "hands":
        await pads.hands(Hands.LAID)
    elif how == "button":
        await pads.pressed(Press.SHORT)
    else:
        await pads.estop(True)
    assert not pads._inspection.running
    assert await controller.runs(1) == []


async def test_a_panel_that_is_closed_starts_nothing_any_more(
    pads: FrontPanel, controller: JobController
) -> None:
    await pads.hands(Hands.LIFTED)
    await pads.close()
    assert controller.status().inspection_left_s is None
    assert await controller.runs(1) == []


async def test_the_countdown_is_told_while_it_lasts(
    pads: FrontPanel, controller: JobController
) -> None:
    assert controller.status().inspection_left_s is None
    await pads.hands(Hands.LIFTED)
    left_s = controller.status().inspection_left_s
    assert left_s is not None and 0 < left_s <= 1e6
    await pads.pressed(Press.SHORT)
    assert controller.status().inspection_left_s is None


async def test_hands_are_ignored_while_something_else_is_done(
    pads: FrontPanel, controller: JobController
) -> None:
    controller.enter_maintenance()
    await pads.hands(Hands.LIFTED)
    assert not pads._inspection.running
    assert controller.state is RobotState.MAINTENANCE


async def test_an_inspection_is_counted_down_with_warnings() -> None:
    slept, said = [], []
    ended = asyncio.Event()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def start() -> None:
        ended.set()

    inspection = Inspection(15.0, said.append, start, sleep)
    inspection.begin()
    inspection.begin()
    await ended.wait()
    assert slept == [8.0, 4.0, 3.0]
    assert said == ["inspection", "warning", "last warning"]
    assert not inspection.cancel()


@pytest.mark.parametrize(
    ("seconds", "slept", "said"),
    [
        (7.0, [4.0, 3.0], ["inspection", "last warning"]),
        (5.0, [2.0, 3.0], ["inspection", "last warning"]),
        (3.0, [3.0], ["inspection"]),
        (0.0, [0.0], []),
    ],
)
async def test_a_short_inspection_has_fewer_warnings(
    seconds: float, slept: list[float], said: list[str]
) -> None:
    waited: list[float] = []
    heard: list[str] = []
    ended = asyncio.Event()

    async def sleep(time_s: float) -> None:
        waited.append(time_s)

    async def start() -> None:
        ended.set()

    inspection = Inspection(seconds, heard.append, start, sleep, lambda: 100.0)
    assert inspection.left_s is None
    inspection.begin()
    assert inspection.left_s == seconds
    await ended.wait()
    assert (waited, heard, inspection.running) == (slept, said, False)
