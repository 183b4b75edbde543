"""Injected faults: their names, and their effect on the cube."""

from __future__ import annotations

import asyncio
import functools
from types import SimpleNamespace
from unittest.mock import Mock, call

import numpy as np
import pytest

from robot.api.endpoints import RobotState
from robot.settings import load_profile
from robot.settings.profile import FIRST_BOARD
from robot.simulate.fault_injection import (
    ACTUATOR_FAULTS,
    INJECTIONS,
    STANDING_FAULTS,
    BoardInScene,
    FaultInjection,
    Scene,
    parse_injected_fault,
    subjects_of_faults,
)
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Disturbances, OddScene, Studio
from solver.errors import InvalidRequest

ROBOT, HOMED, DRIVEN = map(load_profile, ("mindcuber", "soltvvo", "four-arm-skr-pico"))


@pytest.mark.parametrize("name", INJECTIONS)
def test_names_are_understood(name):
    robot = next(one for one in (ROBOT, HOMED, DRIVEN) if name in subjects_of_faults(one))
    subject = subjects_of_faults(robot)[name][0] if name in ACTUATOR_FAULTS else ""
    asked = f"{name}:{subject}".removesuffix(":")
    usual = RobotState.HOMING if name in STANDING_FAULTS else RobotState.TURNING
    assert parse_injected_fault(asked, robot).stage is usual
    fault = parse_injected_fault(f"{asked}@look", robot)
    assert (fault.name, fault.subject, fault.stage) == (name, subject, RobotState.SCANNING)


@pytest.mark.parametrize(
    ("robot", "text", "told"),
    [
        ("mindcuber", "", "choose from"),
        ("mindcuber", "earthquake", "choose from"),
        ("mindcuber", "slip@lunch", "choose from"),
        ("mindcuber", "slip:arm", "slip takes no actuator"),
        ("cubotino", "lost-steps:lid", "lost-steps needs a stepper, and cubotino has none"),
        ("six-motor", "end-stop:up", "end-stop needs a stepper with an end stop, and six-motor"),
        ("six-motor", "undervoltage", "undervoltage needs a stepper with a TMC2209, and six-motor"),
        ("crane", "end-stop:turntable", "as in end-stop:elevator; choose from elevator$"),
        ("mindcuber", "lost-steps:arm", "as in lost-steps:table; choose from table$"),
        ("soltvvo", "unplug:third", "no board is called third; choose from first, second"),
        ("mindcuber", "jam", "jam needs an actuator, as in jam:table; choose from table, arm$"),
        ("mindcuber", "jam:leg", "jam needs an actuator, as in jam:table; choose from table, arm$"),
    ],
)
def test_what_cannot_happen_is_refused(robot, text, told):
    """Check that it is refused: otherwise it would be requested and never happen."""
    profile = load_profile(robot)
    with pytest.raises(InvalidRequest, match=told):
        parse_injected_fault(text, profile)
    name, _, subject = text.partition(":")
    assert subject not in subjects_of_faults(profile).get(name, ())


@pytest.mark.parametrize(
    ("asked", "calls"),
    [
        ("slip", [call.slip_cube()]),
        ("jam:right", [call.jam("right")]),
        ("lost-steps:right", [call.lose_steps("right", 200)]),
        ("end-stop:right", [call.stick_end_stop("right", active=False)]),
        ("glare", [call.glare(0.8)]),
        ("cast", [call.colour_cast((1.0, 0.72, 0.38))]),
        ("reset", [call.reset("first")]),
        ("reset:second", [call.reset("second")]),
        ("unplug", [call.cut(), call.mend()]),
    ],
)
async def test_each_does_to_robot_board_or_cable_what_it_is_called(monkeypatch, asked, calls):
    monkeypatch.setattr("robot.simulate.fault_injection.UNPLUGGED_S", 0.0)
    reached = Mock(**{f"{name}.return_value": None for name, _, _ in calls})
    boards = {
        name: BoardInScene(functools.partial(reached.reset, name), reached)
        for name in HOMED.every_board
    }
    await parse_injected_fault(asked, HOMED).inject(Scene(reached, reached, boards))
    assert reached.mock_calls == calls


@pytest.mark.parametrize("corner", ["R", "U"])
async def test_a_wrong_sticker_is_another_than_was_there(corner):
    letters = np.array(list(corner + "".join(face * 9 for face in "URFDLB")[1:]))
    robot = SimpleNamespace(body=SimpleNamespace(letters=letters))
    studio = SimpleNamespace(disturbances=SimpleNamespace(repainted={}))
    await parse_injected_fault("wrong-sticker", ROBOT).inject(Scene(robot, studio, {}))
    assert studio.disturbances.repainted == {0: "U" if corner == "R" else "R"}


async def test_each_happens_once_in_its_stage_and_everything_is_mended():
    robot, cable = SimulatedRobot(ROBOT, scrambled(3, 1)), Mock()
    board = BoardInScene(lambda: None, cable)
    scene = Scene(robot, Studio(robot), {FIRST_BOARD: board})
    planned = [parse_injected_fault(text, ROBOT) for text in ("glare@think", "hand")]
    injection = FaultInjection(planned, scene, delay_s=3600.0)
    injection.enter(RobotState.SCANNING)
    assert not injection.pending
    injection.enter(RobotState.SOLVING)
    assert injection.pending
    injection.cancel()
    assert scene.studio.disturbances.light.glare == 0.0
    injection.enter(RobotState.SOLVING)
    assert not injection.pending
    injection.enter(RobotState.HOMING)
    while injection.pending:
        await asyncio.sleep(0)
    assert scene.studio.disturbances.odd is OddScene.HAND, "an odd view is there at once"
    for name in ("noise", "jam:arm", "wrong-sticker", "glare"):
        await parse_injected_fault(name, ROBOT).inject(scene)
    assert cable.noise == 0.01
    scene.mend()
    assert (cable.noise, cable.mock_calls) == (0.0, [call.mend()])
    assert scene.studio.disturbances == Disturbances(scene.studio.disturbances.light)
    assert scene.studio.disturbances.light.glare == 0.0


@pytest.mark.long
@pytest.mark.parametrize("fault", ["slip@turn", "noise@home", "cast@home", "unplug@look"])
def test_the_same_cube_is_solved_after_all(start_demo, fault):
    start_demo("--speed", "20", "--fault", fault).assert_solved()


@pytest.mark.long
def test_a_wrong_sticker_never_leads_to_a_wrong_solution(start_demo):
    """Check that it is found and corrected, or the cube is refused."""
    code, document, log = start_demo("--speed", "50", "--fault", "wrong-sticker@home").finish()
    assert document.get("violations") == [], log
    assert (code, document["outcome"]) in {(0, "solved"), (1, "unreadable")}
