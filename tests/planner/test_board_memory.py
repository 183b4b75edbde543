"""Whatever a shipped robot does in a solve, its profiles fit its board at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from robot.link.encoding import Shape, shape_of
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import Mechanism, State, Transition
from robot.mechanism.registry import build_mechanism
from robot.planner.approach import fastest_path_to, plan_approach
from robot.planner.plan import schedule_of
from robot.settings import list_profiles, load_profile
from solver.cube.orientation import Orientation

ROOT = Path(__file__).parents[2]
EVERY_CONFIGURATION, EVERY_ORIENTATION = 2, 5
"""Of the states in which a turn may begin."""
UNO = "atmega328p"
SMALL = [
    pytest.param(name, marks=[] if name == "two-arm" else [pytest.mark.long])
    for name in list_profiles()
    if load_profile(name).firmware.target == UNO
]


def uno_units() -> int:
    """Room for profiles, in segments, as the firmware has it."""
    board = (ROOT / "firmware/avr/board.h").read_text()
    found = re.search(r"BOARD_ATMEGA328P\n(?:.*\n)*?#define BOARD_PROFILE_UNITS (\d+)", board)
    assert found is not None
    return int(found[1])


def shapes_of(mechanism: Mechanism, steps: Iterable[Transition]) -> set[Shape]:
    """What has to be uploaded for them."""
    held = Orientation(0)
    schedules = (schedule_of(mechanism, State(step.start, held), [(0, step)]) for step in steps)
    return {shape_of(profile) for schedule in schedules for profile in schedule.profiles}


@pytest.mark.parametrize("name", SMALL)
def test_a_solve_after_any_look_fits_an_uno(name: str) -> None:
    mechanism = build_mechanism(load_profile(name))
    room = uno_units()
    turning = shapes_of(mechanism, mechanism.transitions)
    assert sum(shape.units for shape in turning) <= room
    ends = [
        State(number, Orientation(held))
        for number in range(0, len(mechanism.configurations), EVERY_CONFIGURATION)
        for held in range(0, ORIENTATIONS, EVERY_ORIENTATION)
    ]
    for number in range(len(mechanism.configurations), len(mechanism.looking.configurations)):
        approach = plan_approach(mechanism, State(number, Orientation(0)))
        ways = [fastest_path_to(mechanism, approach, end) for end in ends]
        for way in {tuple(map(id, way)): way for way in (approach.transitions, *ways)}.values():
            both = turning | shapes_of(mechanism.looking, way)
            assert sum(shape.units for shape in both) <= room
