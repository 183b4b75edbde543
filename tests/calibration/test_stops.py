"""Stops of a robot that calibrates or homes, at any moment: it rests and reports the true reason.

The commands are processes as people start them; robot, boards and daemon live in simulated time. No
motor that only counts its steps stays askew without a warning to people.
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
from robot.calibration.auto.motors import let_turn
from robot.calibration.steps.positions import MOVING
from robot.panel.button import Press
from robot.panel.gpio import RpiGpio
from robot.settings import load_profile
from robot.settings.stepper import Stepper
from robot.twin.cube import scrambled
from robot.twin.misadjustment import BUILT_AS_DRAWN, Misadjustment, parse_misadjustment
from solver.errors import ExitCode
from tests.rig.gpio import FakeModule
from tests.rig.simulated_calibration import LIMIT_S, SimulatedCalibration, VirtualDaemon
from tests.rig.simulated_run import SimulatedRun

IN_TIME = 0.93
"""Fraction of a command's time in which the moments lie: some runs are shorter than others."""
MOMENTS = 12
EMERGENCY_S = 0.05
"""Board time within which an emergency stop has ended all motion."""

LONGEST_TURN_S = 2.0
"""Longest board time of any one turn of these commands."""

AUTO = ("auto", "--real", "--robot", "cubotino", "--json")
SCENES: dict[str, tuple[tuple[str, ...], ...]] = {
    "calibration": (
        ("servo", "lid", "close", "--to", "1500", "--try"),
        ("travel", "holder", "home", "cw", "--try"),
        ("timing", "--try"),
    ),
    "auto": (AUTO,),
    "homing": (("home",),),
}
STOPS = ("emergency stop", "stop", "Ctrl-C", "lost connection", "button")

SIX_MOTOR = load_profile("six-motor")
TURN = SIX_MOTOR.actuators_of(Stepper)["right"].steps_per_turn or 0
ASKEW = TURN // 20


@contextmanager
def daemon(command: tuple[str, ...]) -> Iterator[VirtualDaemon]:
    """Run the daemon of a CUBOTino with a scrambled cube.

    For automatic calibration the robot differs from its profile.
    """
    truth = parse_misadjustment("7") if command is AUTO else None
    with (
        tempfile.TemporaryDirectory(prefix="cubist-") as folder,
        SimulatedRun(load_profile("cubotino"), scrambled(3, 7), misadjusted=truth) as run,
    ):
        yield VirtualDaemon(run, Path(folder), RpiGpio(FakeModule()))


@functools.cache
def lasts(command: tuple[str, ...]) -> tuple[float, float]:
    """Return when an undisturbed robot begins and ends its motion, in its own seconds."""

    async def undisturbed(there: VirtualDaemon) -> None:
        async with there.running():
            process = await there.command("calibrate", *command)
            out, err = await process.communicate()
            assert process.returncode == 0, (out, err)
            await there.until_nobody_calibrates()

    with daemon(command) as there:
        asyncio.run(undisturbed(there))
        times = [at for at, _ in there.recorder.changes]
        return times[0], times[-1]


@dataclass
class Ended:
    """The end of a command that was stopped.

    ``fault``: the robot's; ``refusal``: the one that keeps the next person from calibrating.
    """

    code: int | None
    out: str
    err: str
    fault: str | None
    refusal: str | None


async def stopped(there: VirtualDaemon, command: tuple[str, ...], how: str, at_s: float) -> Ended:
    """Stop a command at a moment, and return how it ended."""
    async with there.running() as panel:
        there.freezer.freeze_at(at_s)
        process = await there.command("calibrate", *command)
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

        def refusal() -> str | None:
            try:
                with ControlClient(there.folder / "control.sock").maintenance():
                    return None
            except RequestError as refused:
                return refused.code

        refused = await asyncio.to_thread(refusal)
        return Ended(process.returncode, out.decode(), err.decode(), fault and fault.code, refused)


def cases() -> Iterator[Any]:
    """Yield every stop in every scene at twelve moments; one of each kind is not long."""
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
def test_a_stopped_command_leaves_the_robot_at_rest_and_says_why(command, how, part):
    began_s, ended_s = lasts(command)
    with daemon(command) as there:
        before = there.store.load(there.run.profile)
        ended = asyncio.run(stopped(there, command, how, began_s + part * (ended_s - began_s)))
        assert there.store.load(there.run.profile) == before
        frozen_at_s = there.freezer.frozen_at_s
        assert frozen_at_s is not None
        after = there.recorder.after(frozen_at_s)
        rested_s = max((at for at, _ in after), default=0.0)
        moving = there.recorder.moving(frozen_at_s)
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


@contextmanager
def robot() -> Iterator[tuple[SimulatedRun, SimulatedCalibration]]:
    """Run a robot whose wiring differs from its profile."""
    with SimulatedRun(SIX_MOTOR, scrambled(3, 3), misadjusted=Misadjustment(3)) as run:
        yield run, SimulatedCalibration(run)


def turned(session: SimulatedCalibration, steps: int) -> None:
    """Turn one motor by some steps; no trial brings it back."""
    let_turn(session, SIX_MOTOR.actuators_of(Stepper))
    session.perform(MOVING, actuator="right", to=None)
    session.perform(MOVING, actuator="right", to=steps)


def degrees(run: SimulatedRun) -> float:
    """Return the true angle of the face."""
    return sum(90 * quarters for site, quarters in run.robot.pose().layers if site == "R")


@pytest.mark.parametrize("steps", [-ASKEW, TURN // 4])
def test_motors_return_to_where_a_stopped_command_began(steps):
    """Include the profile's quarter turn, which may really be half of one."""
    with robot() as (run, session):
        with session.maintenance():
            turned(session, steps)
            assert abs(degrees(run)) > 5
        assert abs(degrees(run)) < 2  # its play
        assert run.robot.violations == []


@pytest.mark.parametrize(("steps", "is_stopped"), [(TURN - ASKEW, False), (ASKEW, True)])
def test_what_is_too_far_away_or_stopped_stays_and_is_named(steps, is_stopped):
    with robot() as (run, session), session.maintenance():
        turned(session, steps)
        away = degrees(run)
        if is_stopped:
            session.motion.emergency_stop()
        assert session.motion.bring_back(["right"]) == ("right",)
        assert abs(degrees(run)) > 5 and degrees(run) == away


def test_a_first_pulse_leaves_the_others_and_homing_brings_all_to_their_start():
    """Check that parts that may hold the cube stay. One that becomes unknown is at its start."""
    profile = load_profile("four-arm")
    with SimulatedRun(profile, scrambled(3, 1), misadjusted=BUILT_AS_DRAWN) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            let_turn(session, ["right"])
            session.perform(MOVING, actuator="right", to=None)
            session.perform(MOVING, actuator="right", to=20)
            places = {"right": 20, "front-jaw": 1605, "back-jaw": 1615, "left-jaw": 1625}
            for jaw in list(places)[1:]:
                session.perform(MOVING, actuator=jaw, to=places[jaw], begin_at=places[jaw] - 5)
            motion = session.motion
            with session.contact.trusting(tuple(profile.actuators)):
                assert {name: motion.position(name) for name in places} == places
                starts = {name: 1250 if "jaw" in name else 0 for name in profile.actuators}
                motion.home()
                assert {name: motion.position(name) for name in starts} == starts
                motion.jog("right", 0)
                motion.assume_start_positions()
                motion.home()
                assert {name: motion.position(name) for name in starts} == starts
        assert run.robot.violations == []
