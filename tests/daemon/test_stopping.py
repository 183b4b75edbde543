"""All motion of the robot ends in the same ways, and an emergency stop lasts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.calibration.step import Bench, Trial
from robot.daemon.front_panel import FrontPanel
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.panel.button import Press
from robot.records.documents import ApiRequest, Nothing
from robot.records.runs import RunStore, RunWriter
from robot.text.faults import Conflict, RobotError
from tests.rig.fake_robot import LIMIT_S, MOTION

SOLVE, HOME, SCRAMBLE = (StartRequest(kind=kind) for kind in ("solve", "home", "scramble"))


def turned_twice(bench: Bench, _: ApiRequest) -> Nothing:
    for _turn in range(2):
        bench.machine.motion.perform(MOTION, lambda _: None)
    return Nothing()


TURNING = Trial("turn-twice", "", ApiRequest, Nothing, turned_twice)
LOOKING = Trial("look", "", ApiRequest, Nothing, lambda *_: Nothing(), "GET")


@pytest.fixture
def maintenance(controller, fake, maintenance_of) -> Maintenance:
    return maintenance_of(controller, fake)


@pytest.fixture
async def trial(maintenance: Maintenance, fake: Any, eventually: Any) -> asyncio.Task[Nothing]:
    """Return a trial of two turns, in the middle of the first."""
    fake.motion.hold = threading.Event()
    maintenance.enter()
    task = asyncio.create_task(maintenance.perform(TURNING, ApiRequest()))
    await eventually(fake.motion.moving)
    return task


STOPS: dict[str, Callable[[JobController, Maintenance, FrontPanel], Awaitable[object]]] = {
    "stop": lambda controller, _, __: controller.stop(),
    "short press": lambda _, __, panel: panel.pressed(Press.SHORT),
    "long press": lambda _, __, panel: panel.pressed(Press.LONG),
    "lost connection": lambda _, maintenance, __: maintenance.leave(),
    "emergency stop": lambda controller, _, __: controller.stop(emergency=True),
    "emergency button": lambda _, __, panel: panel.estop(True),
}


@pytest.mark.parametrize("how", STOPS)
async def test_a_trial_ends_with_the_reason(trial, controller, maintenance, panel, fake, how):
    await STOPS[how](controller, maintenance, panel)
    with pytest.raises(RobotError) as ended:
        await trial
    emergency = how.startswith("emergency")
    assert ended.value.code == ("emergency-stop" if emergency else "calibration-stopped")
    assert ("disconnected" in str(ended.value)) is (how == "lost connection")
    assert fake.motion.done.count("perform") == 1
    assert fake.motion.done.count("emergency") == emergency
    assert (controller.state is RobotState.FAULT) is emergency


@pytest.mark.parametrize("how", ["stop", "emergency button"])
async def test_a_stop_waits_for_nothing_else(trial, controller, maintenance, panel, how):
    """Stop while searches and writes to an SD card use all threads of the loop's pool."""
    done = threading.Event()
    pool = ThreadPoolExecutor(1)
    pool.submit(done.wait)
    asyncio.get_running_loop().set_default_executor(pool)
    try:
        async with asyncio.timeout(60):
            await STOPS[how](controller, maintenance, panel)
            with pytest.raises(RobotError):
                await trial
    finally:
        done.set()


async def test_a_slow_stop_becomes_an_emergency_stop(trial, controller, fake, monkeypatch):
    halted, emergency_stop = threading.Event(), fake.motion.emergency_stop

    def halt() -> None:
        emergency_stop()
        halted.set()

    monkeypatch.setattr("robot.daemon.job_control.STOP_LIMIT_S", 0.01)
    monkeypatch.setattr(fake.motion, "stop", lambda: halted.wait(LIMIT_S))
    monkeypatch.setattr(fake.motion, "emergency_stop", halt)
    await controller.stop()
    with pytest.raises(RobotError, match="emergency stop"):
        await trial


@pytest.mark.parametrize(("owner", "name"), [(RunStore, "begin"), (RunWriter, "finish")])
async def test_a_stop_waits_for_records(controller, fake, monkeypatch, eventually, owner, name):
    writing, written, write = threading.Event(), threading.Event(), getattr(owner, name)

    def write_slowly(*arguments: Any) -> Any:
        writing.set()
        assert written.wait(LIMIT_S)
        return write(*arguments)

    monkeypatch.setattr("robot.daemon.job_control.STOP_LIMIT_S", 0.0)
    monkeypatch.setattr(owner, name, write_slowly)
    starting = asyncio.create_task(controller.start(HOME))
    await eventually(writing)
    stopping = asyncio.create_task(controller.stop(emergency=True))
    _, waiting = await asyncio.wait({stopping}, timeout=0.3)
    written.set()
    assert await stopping and await starting
    assert waiting and fake.motion.done.count("emergency") == 1, "not once more after the limit"


@pytest.mark.parametrize("power_off", [False, True])
async def test_the_daemon_ends_without_a_confirmed_stop(trial, controller, fake, power_off):
    fake.motion.stop = Mock(side_effect=RobotError("link-lost"))
    await controller.shut_down(power_off=power_off)
    assert (controller.ended.is_set(), controller.power_off) == (True, power_off)
    await controller.close()
    assert fake.motion.done[-1] == "close"
    fake.motion.hold.set()
    with pytest.raises(RobotError):
        await trial


async def test_nothing_begins_once_the_daemon_ends(controller, maintenance, fake, eventually):
    fake.motion.hold = threading.Event()
    await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    ending = asyncio.create_task(controller.end())
    await asyncio.sleep(0)
    for begin in (controller.start(HOME), controller.acknowledge()):
        with pytest.raises(Conflict, match="shutting down"):
            await begin
    with pytest.raises(Conflict, match="shutting down"):
        maintenance.enter()
    await ending
    assert (await controller.library.runs(1)).runs[0].outcome == "stopped"


async def test_a_stop_between_two_trials_ends_their_program(maintenance, controller, fake):
    maintenance.enter()
    await maintenance.perform(TURNING, ApiRequest())
    assert await controller.stop()
    await maintenance.perform(LOOKING, ApiRequest())
    with pytest.raises(RobotError, match="stopped by a person"):
        await maintenance.perform(TURNING, ApiRequest())
    assert fake.motion.done.count("perform") == 2
    await maintenance.perform(TURNING, ApiRequest())  # somebody goes on in the guide


@pytest.mark.parametrize("acknowledgement", ["home", "acknowledge"])
@pytest.mark.parametrize("mode", ["rest", "job", "maintenance", "trial"])
async def test_an_emergency_stop_lasts_until_a_person_acknowledges_it(
    controller, maintenance, panel, fake, eventually, mode, acknowledgement
):
    fake.motion.hold = threading.Event()
    if mode in {"maintenance", "trial"}:
        maintenance.enter()
    if mode == "job":
        await controller.start(SOLVE)
    elif mode == "trial":
        begun = asyncio.create_task(maintenance.perform(TURNING, ApiRequest()))
    if mode in {"job", "trial"}:
        await eventually(fake.motion.moving)
    await controller.stop(emergency=True)
    fake.motion.hold = None
    if mode == "trial":
        with pytest.raises(RobotError, match="emergency stop"):
            await begun
    if controller.is_calibrated:
        with pytest.raises(RobotError, match="emergency stop"):
            await maintenance.perform(TURNING, ApiRequest())
        with pytest.raises(RobotError, match="emergency stop"):
            await controller.start(SOLVE)
        with pytest.raises(Conflict, match="has been calibrating since"):
            maintenance.enter()  # else the first one's leaving would end the mode of the second
        await maintenance.leave()
    fake.motion.done.clear()
    for request in (SOLVE, SCRAMBLE):
        with pytest.raises(RobotError, match="emergency stop"):
            await controller.start(request)
    for _another in range(2):
        with pytest.raises(RobotError, match="emergency stop"):
            maintenance.enter()
    await panel.stuck(("GPIO 17",))
    await panel.stuck(())
    await panel.pressed(Press.SHORT)
    await controller.stop()
    fault = controller.status().fault
    assert (controller.state, fault and fault.code) == (RobotState.FAULT, "emergency-stop")
    assert fake.motion.done == []
    if acknowledgement == "home":
        await controller.start(HOME)
        await controller.finished()
    else:
        assert await controller.acknowledge()
        assert not await controller.acknowledge()
        assert "home" not in fake.motion.done
    assert (controller.state, controller.status().fault) == (RobotState.IDLE, None)
    await controller.start(SOLVE)
    await controller.finished()
    assert (await controller.library.runs(1)).runs[0].outcome == "solved"


async def test_calibrating_goes_on_after_an_acknowledgement(trial, maintenance, controller, fake):
    """Until then the robot holds the cube, even if values tried out require a rebuilt robot."""
    await controller.stop(emergency=True)
    with pytest.raises(RobotError):
        await trial
    controller.estop_open = True
    with pytest.raises(Conflict, match="release it first"):
        await controller.acknowledge()
    controller.estop_open = False
    fake.motion.hold = None
    await controller.acknowledge()
    assert controller.state is RobotState.MAINTENANCE
    await maintenance.perform(TURNING, ApiRequest())
    await maintenance.try_out({"actuators.lid.positions_us.open": 1340})
    await controller.stop(emergency=True)
    fake.motion.done.clear()
    await maintenance.leave()
    assert "close" not in fake.motion.done
    await controller.acknowledge()
    assert fake.motion.done[-2:] == ["close", "open"]
