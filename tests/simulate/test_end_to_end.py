"""From the start button to a solved cube: real firmware, real daemon, simulated robot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.settings import list_profiles

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]


@pytest.mark.parametrize("profile", list_profiles())
def test_every_robot_solves_a_cube(
    start_demo: StartDemo, solved: Solved, demo_folder: Path, profile: str
) -> None:
    document = solved(start_demo("--robot", profile, "--seed", "1", "--speed", "50"))
    assert document["outcome"] == "solved"
    assert document["length"] > 0
    assert list(demo_folder.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("profile", list_profiles())
def test_every_robot_solves_twenty_cubes(
    start_demo: StartDemo, solved: Solved, profile: str, seed: int
) -> None:
    solved(start_demo("--robot", profile, "--seed", str(seed), "--speed", "50"))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 150))
def test_fifty_cubes_on_the_default_robot(start_demo: StartDemo, solved: Solved, seed: int) -> None:
    solved(start_demo("--seed", str(seed), "--speed", "50"))
