"""Whatever stops a robot that calibrates or homes, at any moment: it rests, with the true reason.

The commands are processes as people start them; robot, boards and daemon live in simulated time.
"""

from __future__ import annotations

import asyncio
import functools
import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from robot.api.client import ControlClient, RequestError
from robot.panel.button import Press
from robot.panel.gpio import RpiGpio
from robot.settings import load_profile
from robot.twin.cube import scrambled
from robot.twin.misadjustment import parse_misadjustment
from solver.errors import ExitCode
from tests.rig.gpio import FakeModule
from tests.rig.simulated_calibration import LIMIT_S, VirtualDaemon
from tests.rig.simulated_run import SimulatedRun

IN_TIME = 0.93
"""Part of a command's time in which the moments lie: one run may be shorter than another."""
MOMENTS = 12
EMERGENCY_S = 0.05
"""Board time within which an emergency stop has ended all motion."""

LONGEST_TURN_S = 2.0
"""Board time that any one turn of these commands takes, at most."""

SERVO = ("calibrate", "servo", "lid", "close", "--to", "1500", "--try")
TRAVEL = ("calibrate", "travel", "holder", "home", "cw", "--try")
TIMING = ("calibrate", "timing", "--try")
AUTO = ("calibrate", "auto", "--real", "--robot", "cubotino", "--json")
HOME = ("calibrate", "home")

SCENES: dict[str, tuple[tuple[str, ...], ...]] = {
    "calibration": (SERVO, TRAVEL, TIMING),
    "auto": (AUTO,),
    "homing": (HOME,),
}
STOPS = ("emergency stop", "stop", "Ctrl-C", "lost connection", "button")


@contextmanager
def daemon(command: tuple[str, ...]) -> Iterator[VirtualDaemon]:
    """The daemon of a CUBOTino with a scrambled cube; one that finds its values was not built as
    the profile says."""
    truth = parse_misadjustment("7") if command is AUTO else None
    with (
        tempfile.TemporaryDirectory(prefix="cubist-") as folder,
        SimulatedRun(load_profile("cubotino"), scrambled(3, 7), misadjusted=truth) as run,
    ):
        yield VirtualDaemon(run, Path(folder), RpiGpio(FakeModule()))


@functools.cache
def lasts(command: tuple[str, ...]) -> tuple[float, float]:
    """When the robot begins and ends to move, where nobody stops it, in its own seconds."""

    async def undisturbed(there: VirtualDaemon) -> int | None:
        async with there.running():
            process = await there.command(*command)
            out, err = await process.communicate()
            assert process.returncode == 0, (out, err)
            await there.until_nobody_calibrates()
        return process.returncode

    with daemon(command) as there:
        asyncio.run(undisturbed(there))
        times = [at for at, _ in there.recorder.changes]
        return times[0], times[-1]


@dataclass
class Ended:
    """How a command ended that was stopped, and the robot with it."""

    code: int | None
    out: str
    err: str
    frozen_at_s: float
    fault: str | None
    refusal: str | None


async def stopped(there: VirtualDaemon, command: tuple[str, ...], how: str, at_s: float) -> Ended:
    """Stop a command at a moment, and see what becomes of it."""
    async with there.running() as panel:
        there.freezer.freeze_at(at_s)
        process = await there.command(*command)
        reading = asyncio.create_task(process.communicate())
        while not there.freezer.reached.is_set():
            assert not reading.done(), reading.result()
            await asyncio.sleep(0.01)
        controller = there.controller
        match how:
            case "emergency stop":
                await controller.stop(emergency=True)
            case "stop":
                await controller.stop()
            case "button":
                await panel.pressed(Press.SHORT)
            case "Ctrl-C":
                process.send_signal(signal.SIGINT)
            case "lost connection":
                process.kill()
        out, err = await asyncio.wait_for(reading, LIMIT_S)
        await there.until_nobody_calibrates()
        await asyncio.to_thread(there.run.loop.pass_time, 3.0)
        fault = controller.status().fault
        refusal = await asyncio.to_thread(_refusal, there)
        at = there.freezer.frozen_at_s
        assert at is not None
        return Ended(
            process.returncode, out.decode(), err.decode(), at, fault and fault.code, refusal
        )


def _refusal(there: VirtualDaemon) -> str | None:
    """The fault for which the next person may not calibrate."""
    try:
        with ControlClient(there.folder / "control.sock").maintenance():
            return None
    except RequestError as refused:
        return refused.code


def cases() -> Iterator[Any]:
    """Every stop in every scene at twelve moments; one of each kind is not long."""
    for scene, commands in SCENES.items():
        for number, how in enumerate(STOPS):
            for moment in range(MOMENTS):
                command = commands[moment % len(commands)]
                part = IN_TIME * (moment // len(commands) + 0.5) / (MOMENTS // len(commands))
                quick = scene == "calibration" and moment == (2 * number) % MOMENTS
                marks = () if quick else (pytest.mark.long,)
                name = f"{scene}-{how}-{moment}".replace(" ", "-")
                yield pytest.param(command, how, part, id=name, marks=marks)


@pytest.mark.parametrize(("command", "how", "part"), [*cases()])
def test_it_rests_with_the_true_reason(command: tuple[str, ...], how: str, part: float) -> None:
    began_s, ended_s = lasts(command)
    with daemon(command) as there:
        before = there.store.load(there.run.profile)
        ended = asyncio.run(stopped(there, command, how, began_s + part * (ended_s - began_s)))
        assert there.store.load(there.run.profile) == before
        after = there.recorder.after(ended.frozen_at_s)
        rested_s = max((at for at, _ in after), default=0.0)
        moving = there.recorder.moving(ended.frozen_at_s)
    emergency = how == "emergency stop"
    assert rested_s <= (EMERGENCY_S if emergency else LONGEST_TURN_S)
    assert {name for _, name in after} <= moving, "nothing begins after a stop"
    assert (ended.fault, ended.refusal) == (("emergency-stop",) * 2 if emergency else (None, None))
    if how == "lost connection":
        return
    assert ended.code == (ExitCode.FAILED if emergency else ExitCode.STOPPED), ended
    reason = "emergency stop" if emergency else "stopped by a person"
    if "--json" in command:
        last = json.loads(ended.out.splitlines()[-1])
        assert (last["calibrated"], last["saved"], last["values"]) == (False, False, {})
        assert last["because"].startswith(reason)
    elif how != "Ctrl-C":
        assert reason in ended.err
    if how == "Ctrl-C":
        assert "stopping: the robot finishes the turn in progress" in ended.err
        assert "calibration from before stays in force" in ended.err
