"""The robot's reactions to presses, and the states shown by the light."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from itertools import groupby
from unittest.mock import AsyncMock, Mock, call

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import WORKING, StartRequest
from robot.daemon.front_panel import FrontPanel
from robot.panel.button import Hands, Press
from robot.panel.gpio import PanelError
from robot.panel.panel import Input, Inspection, Panel, PanelPins
from robot.records.runs import RunWriter
from robot.text.faults import Conflict, RobotError
from robot.text.messages import Note
from tests.rig.fake_robot import LIMIT_S, run_job

HOME = StartRequest(kind="home")
GONE = RobotError("link-lost")
PADS = (Input(5, True, "down"), Input(6, True, "down"))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the states shown and sounds made by the next panel; sounds in capitals."""
    told: list[str] = []
    monkeypatch.setattr(Panel, "show", lambda _, shown: told.append(shown))
    monkeypatch.setattr(Panel, "sound", lambda _, sound: told.append(sound.upper()))
    return told


async def test_presses_start_stop_and_switch_off(panel, controller, fake, eventually):
    fake.motion.hold = threading.Event()
    for press in (Press.SHORT, Press.VERY_LONG):
        fake.motion.moving.clear()
        await panel.pressed(Press.SHORT)
        await eventually(fake.motion.moving)
        assert controller.state is RobotState.SCANNING
        await panel.pressed(press)
        assert controller.state is RobotState.IDLE
        assert (await controller.library.runs(1)).runs[0].outcome == "stopped"
        is_off = press is Press.VERY_LONG
        assert (controller.power_off, controller.ended.is_set()) == (is_off, is_off)


async def test_a_press_waits_for_the_record_and_starts(panel, controller, monkeypatch, eventually):
    at_end, written = threading.Event(), threading.Event()
    finish = RunWriter.finish

    def finish_slowly(writer: RunWriter) -> None:
        at_end.set()
        written.wait(LIMIT_S)
        finish(writer)

    monkeypatch.setattr(RunWriter, "finish", finish_slowly)
    await controller.start(HOME)
    await eventually(at_end)
    assert controller.state in WORKING
    pressed = asyncio.create_task(panel.pressed(Press.SHORT))
    await asyncio.sleep(0)
    written.set()
    await pressed
    await controller.finished()
    runs = (await controller.library.runs(2)).runs
    assert [(run.kind, run.outcome) for run in runs] == [("solve", "solved"), ("home", "done")]


async def test_a_press_stops_a_connecting_robot(panel, controller, fake, monkeypatch, eventually):
    connecting, connected = threading.Event(), threading.Event()

    def connect_slowly() -> None:
        connecting.set()
        assert connected.wait(LIMIT_S)

    monkeypatch.setattr(fake.motion, "open", connect_slowly)
    monkeypatch.setattr(fake.motion, "stop", connected.set)
    controller.condition.set_fault(RobotError("link-lost"))
    starting = asyncio.create_task(panel.pressed(Press.SHORT))
    await eventually(connecting)
    await panel.hands(Hands.LIFTED)  # nor does this begin an inspection
    inspection_left_s = controller.inspection_left_s()
    await panel.pressed(Press.SHORT)
    connected.set()
    await starting
    await controller.finished()
    assert [run.outcome for run in (await controller.library.runs(1)).runs] == ["stopped"]
    assert (inspection_left_s, "home" in fake.motion.done) == (None, False)


async def test_only_a_long_press_ends_a_released_emergency_stop(panel, controller, fake, told):
    await panel.estop(True)
    await panel.estop(False)
    await panel.pressed(Press.SHORT)
    assert controller.state is RobotState.FAULT
    assert "home" not in fake.motion.done, "who presses again and again means no start"
    await panel.pressed(Press.LONG)
    await controller.finished()
    assert fake.motion.done.count("home") == 1 and controller.status().fault is None
    told.clear()
    fake.motion.emergency_stop = Mock(side_effect=RobotError("no-answer"))
    await panel.estop(True)
    assert "FAULT" in told


async def test_a_stuck_button_is_a_fault_until_it_is_let_go(panel, controller):
    await panel.stuck(("GPIO 17",))
    status = controller.status()
    assert (status.state, status.fault.code) == (RobotState.FAULT, "button-stuck")
    assert "GPIO 17" in status.fault.cause
    assert "start_button_active" in status.fault.remedy
    assert (await run_job(controller)).outcome == "solved", "nobody needs the button for that"
    assert controller.state is RobotState.FAULT
    await panel.failed(PanelError("GPIO 5: gone"))
    await panel.stuck(())
    fault = controller.status().fault
    assert (controller.state, fault and fault.code) == (RobotState.FAULT, "panel-failed")


@pytest.mark.parametrize("estop", [Input(23, active=True), None])
async def test_a_panel_that_fails_is_an_open_emergency_stop_if_it_has_one(controller, gpio, estop):
    front = FrontPanel(controller, gpio, PanelPins(start_button=Input(17), estop=estop))
    await front.failed(PanelError("GPIO 23: gone"))
    await front.pressed(Press.SHORT)
    await controller.finished()
    outcomes = [run.outcome for run in (await controller.library.runs(1)).runs]
    assert outcomes == ([] if estop else ["solved"])
    if estop:
        with pytest.raises(Conflict, match="emergency stop"):
            await controller.start(StartRequest())


@pytest.fixture
async def pads(controller, gpio, told) -> AsyncIterator[FrontPanel]:
    """Yield a panel whose inspection never ends by itself."""
    front = FrontPanel(controller, gpio, PanelPins(Input(17), pads=PADS), inspection_s=1e6)
    front.open()
    await settled(front)
    told.clear()
    yield front
    await front.close()


async def test_lifting_the_hands_starts(controller, gpio):
    front = FrontPanel(controller, gpio, PanelPins(pads=PADS))
    await front.hands(Hands.READY)
    await front.hands(Hands.LIFTED)
    async with asyncio.timeout(LIMIT_S):
        while (last := controller.status().last_run) is None:
            await asyncio.sleep(0.01)
    assert last.outcome == "solved"


async def test_an_inspection_is_counted_down_with_warnings():
    said, sleep, ended = [], AsyncMock(), asyncio.Event()
    inspection = Inspection(15.0, said.append, AsyncMock(side_effect=ended.set), sleep)
    inspection.begin()
    inspection.begin()
    await ended.wait()
    assert sleep.call_args_list == [call(8.0), call(4.0), call(3.0)]
    assert said == ["inspection", "warning", "last warning"]
    assert not inspection.cancel()


async def settled(panel: FrontPanel) -> None:
    """Wait until the event loop has handled everything queued."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_hands_are_shown_from_the_pads_to_the_start(pads, controller, told):
    for hands, shown in (
        (Hands.LAID, []),  # nothing to be called off
        (Hands.READY, ["ready", "READY"]),
        (Hands.LIFTED, ["inspection"]),
        (Hands.LAID, ["idle"]),
    ):
        await pads.hands(hands)
        assert told == shown
        told.clear()
    for state in set(RobotState) - {RobotState.MAINTENANCE}:
        controller.condition.state = state
        await pads.hands(Hands.READY)
        is_free = state in {RobotState.IDLE, RobotState.FAULT}
        assert told == (["ready", "READY"] if is_free else []), state
        told.clear()
    controller.condition.state = RobotState.IDLE


async def test_a_short_press_only_ends_the_inspection(pads, controller, fake, told):
    kinds: list[str] = []
    for is_inspection, press, kind in (
        (True, Press.SHORT, None),
        (True, Press.LONG, "home"),
        (False, Press.SHORT, "solve"),
    ):
        if is_inspection:
            await pads.hands(Hands.LIFTED)
        await pads.pressed(press)
        await controller.finished()
        kinds = [kind, *kinds] if kind else kinds
        assert [run.kind for run in (await controller.library.runs(9)).runs] == kinds
    await settled(pads)
    told.clear()
    fake.motion.done.clear()
    controller.estop_open = True
    for press, request in ((Press.SHORT, StartRequest()), (Press.LONG, HOME)):
        await pads.pressed(press)
        with pytest.raises(Conflict) as refusal:
            await controller.start(request)
        assert refusal.value.cause == Note.of("estop-open")
    await controller.finished()
    assert (told, fake.motion.done) == (["FAULT"] * 2, []), "refusals sound, and nothing moves"


async def test_states_are_shown_and_endings_heard(pads, controller, fake, told):
    fake.scanner.readings = ["scrambled", "solved", "solved"]
    await run_job(controller)
    await settled(pads)
    shown = [one for one in dict.fromkeys(told) if one.islower()]
    assert shown == ["homing", "scanning", "solving", "turning", "checking", "idle"]
    assert [one for one in told if one.isupper()] == ["SOLVED"]
    for request, ending in ((StartRequest(), ["idle", "SOLVED"]), (HOME, ["homing", "idle"])):
        told.clear()
        await run_job(controller, request)
        await settled(pads)
        assert [one for one, _ in groupby(told)][-2:] == ending
    for act, expected in (
        (lambda: controller.report_panel(PanelError("GPIO 17: gone")), ["fault", "FAULT"]),
        # Another fault is news; the same one, and motors that go to rest, are not.
        (lambda: controller.condition.set_fault(GONE), ["fault", "FAULT"]),
        (lambda: controller.condition.set_fault(GONE), []),
        (lambda: controller.condition.note_released(("lid",)), ["fault"]),
        # A step during a fault, and the end of a job in one, do not repeat the sound.
        (lambda: controller.condition.publish("step", "waiting"), ["fault"]),
        (lambda: controller.condition.publish("finished", "jammed", outcome="fault"), ["fault"]),
    ):
        told.clear()
        act()
        await settled(pads)
        assert told == expected
