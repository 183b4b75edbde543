"""The demo with the AVR's own program, instruction by instruction under simavr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from robot.computer.board_family import board_for
from robot.settings import load_profile

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("profile", "board"), [("cubotino-uno", "uno"), ("mindcuber", "uno"), ("six-motor", "mega")]
)
def test_the_board_has_the_pins(profile: str, board: str) -> None:
    assert board_for(load_profile(profile)).name == board


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param("cubotino-uno", marks=pytest.mark.long),
        pytest.param("mindcuber", marks=pytest.mark.long),
        # The shortest plan of a stepper robot keeps the everyday run short.
        "six-motor",
    ],
)
def test_the_real_program_solves_a_cube(
    start_demo: StartDemo, solved: Solved, profile: str
) -> None:
    solved(start_demo("--robot", profile, "--firmware", "avr", "--speed", "2"))
