"""Faults on request: what they are called, and what becomes of the cube."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from robot.daemon.models import RobotState
from robot.settings import load_profile
from robot.settings.profile import FIRST_BOARD
from robot.simulate.fault_injection import (
    ACTUATOR_FAULTS,
    INJECTIONS,
    STANDING_FAULTS,
    BadInjection,
    BoardInScene,
    FaultInjection,
    Scene,
    parse_injected_fault,
)
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]


@pytest.fixture
def scene() -> Scene:
    robot = SimulatedRobot(load_profile("mindcuber"), scrambled(3, 1))
    return Scene(robot, Studio(robot), {FIRST_BOARD: BoardInScene(lambda: None, None)})


ROBOT = load_profile("mindcuber")


@pytest.mark.parametrize("name", INJECTIONS)
def test_names_are_understood(name: str) -> None:
    subject = "arm" if name in ACTUATOR_FAULTS else ""
    asked = f"{name}:{subject}".removesuffix(":")
    usual = RobotState.HOMING if name in STANDING_FAULTS else RobotState.TURNING
    assert parse_injected_fault(asked, ROBOT).stage is usual
    fault = parse_injected_fault(f"{asked}@look", ROBOT)
    assert (fault.name, fault.subject, fault.stage) == (name, subject, RobotState.SCANNING)


@pytest.mark.parametrize("text", ["", "earthquake", "slip@lunch", "jam", "jam:leg"])
def test_what_nobody_knows_is_refused(text: str) -> None:
    with pytest.raises(BadInjection, match="choose from"):
        parse_injected_fault(text, ROBOT)


def test_only_some_faults_happen_to_an_actuator() -> None:
    with pytest.raises(BadInjection, match="omit :arm"):
        parse_injected_fault("slip:arm", ROBOT)


def test_some_happen_to_a_board() -> None:
    robot = load_profile("soltvvo")
    assert parse_injected_fault("reset:second", robot).subject == "second"
    with pytest.raises(BadInjection, match="no board is called third; choose from first, second"):
        parse_injected_fault("unplug:third", robot)


async def test_they_happen_to_that_board_alone() -> None:
    reset: list[str] = []
    profile = load_profile("soltvvo")
    robot = SimulatedRobot(profile, scrambled(2, 1))
    boards = {
        name: BoardInScene(functools.partial(reset.append, name), None)
        for name in profile.every_board
    }
    scene = Scene(robot, Studio(robot), boards)
    await parse_injected_fault("reset:second", profile).inject(scene)
    await parse_injected_fault("reset", profile).inject(scene)
    assert reset == ["second", "first"]


async def test_noise_needs_a_cable(scene: Scene) -> None:
    with pytest.raises(BadInjection, match="cable"):
        await parse_injected_fault("noise", ROBOT).inject(scene)


async def test_deeds_reach_robot_and_studio(scene: Scene) -> None:
    await parse_injected_fault("glare", ROBOT).inject(scene)
    await parse_injected_fault("wrong-sticker", ROBOT).inject(scene)
    await parse_injected_fault("slip", ROBOT).inject(scene)
    assert scene.studio.disturbances.light.glare > 0
    before = scene.robot.body.facelets()
    painted = scene.robot.body.repainted(scene.studio.disturbances.repainted).facelets()
    assert sum(a != b for a, b in zip(before, painted, strict=True)) == 1


async def test_each_happens_once_in_its_stage(scene: Scene) -> None:
    injection = FaultInjection([parse_injected_fault("glare@think", ROBOT)], scene, delay_s=0.0)
    injection.enter(RobotState.SCANNING)
    assert not injection.pending
    injection.enter(RobotState.SOLVING)
    assert injection.pending
    injection.cancel()
    injection.enter(RobotState.SOLVING)
    assert not injection.pending


@pytest.mark.parametrize(
    "fault",
    [
        "unplug@turn",
        pytest.param("slip@turn", marks=pytest.mark.long),
        pytest.param("noise@home", marks=pytest.mark.long),
        pytest.param("cast@home", marks=pytest.mark.long),
        pytest.param("unplug@look", marks=pytest.mark.long),
    ],
)
def test_the_same_cube_is_solved_after_all(
    start_demo: StartDemo, solved: Solved, fault: str
) -> None:
    solved(start_demo("--speed", "20", "--fault", fault))


@pytest.mark.long
def test_a_wrong_sticker_never_leads_to_a_wrong_solution(start_demo: StartDemo) -> None:
    """It is found and corrected, or the cube is refused."""
    code, document, log = start_demo("--speed", "50", "--fault", "wrong-sticker@home").finish()
    assert document is not None, log
    assert document["violations"] == []
    assert (code, document["outcome"]) in {(0, "solved"), (1, "unreadable")}
