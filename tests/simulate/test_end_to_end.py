"""From the start button to a solved cube: real firmware, real daemon, simulated robot."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from robot.settings import list_profiles, load_profile

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]
LIMIT_S = 240
REPRESENTATIVE = ("cubotino", "four-arm", "six-motor")
"""One robot of each kind of mechanism; `test_layered_flipper` solves with a crane."""


def robots() -> list[Any]:
    """Every robot; some are for the long campaigns."""
    return [
        pytest.param(name, marks=[pytest.mark.long] * (name not in REPRESENTATIVE))
        for name in list_profiles()
    ]


def speed_of(profile: str) -> str:
    """As fast as it can be simulated; boards that start together cannot be hurried much."""
    return "1" if load_profile(profile).boards else "50"


@pytest.mark.parametrize("profile", robots())
def test_every_robot_solves_a_cube(
    start_demo: StartDemo, solved: Solved, demo_folder: Path, profile: str
) -> None:
    document = solved(start_demo("--robot", profile, "--seed", "1", "--speed", speed_of(profile)))
    assert document["outcome"] == "solved"
    assert document["length"] > 0
    assert list(demo_folder.iterdir()) == []


@pytest.mark.parametrize("firmware", ["linux", pytest.param("maestro", marks=pytest.mark.long)])
def test_an_arduino_s_servos_can_hang_on_the_pi(
    start_demo: StartDemo, solved: Solved, firmware: str
) -> None:
    options = ("--robot", "two-arm-2x2x2", "--firmware", firmware, "--speed", "50")
    assert solved(start_demo(*options))["planned_us"]


def test_what_has_no_servos_cannot_hang_on_a_maestro(start_demo: StartDemo) -> None:
    code, _, log = start_demo("--robot", "six-motor", "--firmware", "maestro").finish()
    assert code != 0
    assert "six-motor has no servos" in log
    assert "Traceback" not in log


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("profile", list_profiles())
def test_every_robot_solves_twenty_cubes(
    start_demo: StartDemo, solved: Solved, profile: str, seed: int
) -> None:
    solved(start_demo("--robot", profile, "--seed", str(seed), "--speed", speed_of(profile)))


def test_a_robot_without_a_start_button_cannot_be_started_by_it(
    start_demo: StartDemo, demo_folder: Path
) -> None:
    profile = load_profile("cubotino").model_dump(mode="json", exclude_unset=True)
    profile["panel"]["start_button_gpio"] = None
    (demo_folder / "mute.yaml").write_text(yaml.safe_dump(profile))
    code, document, log = start_demo("--robot", str(demo_folder / "mute.yaml")).finish()
    assert (code, document) == (3, None)
    assert "panel.start_button_gpio" in log and "Traceback" not in log


def test_the_log_tells_every_step(demo_folder: Path) -> None:
    """Without a terminal, and without ``--json``."""
    command = [sys.executable, "-m", "robot.cli.main", "demo", "--seed", "1", "--speed", "50"]
    ended = subprocess.run(
        command,
        env=os.environ | {"TMPDIR": str(demo_folder)},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    steps = [line.split(" s  ")[-1] for line in ended.stderr.splitlines()]
    looks = [f"looking at {face} ({n} of 6)" for n, face in enumerate("UDBRFL", 1)]
    expected = ["finding the home positions", "planning the looks", *looks]
    first = steps.index(expected[0])
    assert steps[first : first + len(expected)] == expected


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


IMAGES = Path(__file__).resolve().parents[3] / "shared" / "data" / "vision" / "images"


def sets(pattern: str) -> list[Any]:
    """Photo sets as parameters: the first in every run, all of them in the long one."""
    folders = sorted(IMAGES.glob(pattern)) if IMAGES.is_dir() else []
    return [
        pytest.param(folder, id=folder.name, marks=[pytest.mark.long] if number else [])
        for number, folder in enumerate(folders)
    ]


def truth(folder: Path) -> str:
    return str(json.loads((folder / "expected.json").read_text())["expected"])


@pytest.mark.parametrize("folder", [*sets("3x3x3*"), *sets("2x2x2*")])
def test_a_photographed_cube_is_solved(start_demo: StartDemo, folder: Path) -> None:
    run = start_demo("--speed", "50", "--faces", str(folder), "--state", truth(folder))
    code, document, log = run.finish()
    assert document is not None, log
    assert (code, document["solved"], document["violations"]) == (0, True, []), (document, log)


def test_photographs_and_their_truth_belong_together(start_demo: StartDemo, tmp_path: Path) -> None:
    code, document, log = start_demo("--faces", str(tmp_path)).finish()
    assert (code, document) == (2, None)
    assert "--state" in log
