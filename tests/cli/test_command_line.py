"""The command as a whole: help, start-up, broken pipes."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from robot.cli.main import cubist, run

HEAVY = ("numpy", "cv2", "pydantic", "aiohttp", "rich", "solver._native")


INSTALLED = cubist.list_commands(click.Context(cubist))


@pytest.mark.parametrize("name", INSTALLED)
def test_every_command_has_help_and_speaks_json(name: str) -> None:
    context = click.Context(cubist)
    command = cubist.get_command(context, name)
    assert command is not None
    assert command.help
    commands = [command]
    if isinstance(command, click.Group):
        below = (command.get_command(context, each) for each in command.list_commands(context))
        commands += [each for each in below if each is not None]
    with_json = [c for c in commands if any(p.name == "as_json" for p in c.params)]
    assert with_json, f"{name} has no --json"
    for each in commands:
        for option in each.params:
            described = not isinstance(option, click.Option) or option.help or option.show_default
            assert described, f"{name} {option.name} is not explained"


def test_help_and_status_import_nothing_heavy() -> None:
    for module in ("robot.cli.main", "robot.cli.status", "robot.cli.control"):
        script = f"import sys, {module}; print(*sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert not set(HEAVY) & set(done.stdout.split()), module


def test_the_help_of_a_command_imports_no_step_of_calibration() -> None:
    script = "import sys; from robot.cli.main import run; run(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-c", script, "calibrate", "servo", "--help"]
    imported = set(subprocess.run(command, stdout=-1, text=True, check=True).stdout.split())
    assert "robot.calibration.step" in imported
    assert not {"robot.calibration.steps.positions", "cv2", "numpy", "textual"} & imported


def test_a_reader_that_leaves_is_no_error() -> None:
    script = "yes R U | head -2000 | %s -m robot.cli.main solve --scramble - --json | head -1"
    done = subprocess.run(
        ["bash", "-c", script % sys.executable], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("\n") == 1
    assert "Broken pipe" not in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_the_commands_in_whole(capsys: pytest.CaptureFixture[str]) -> None:
    for group in ((), ("robot",), ("runs",), ("config",), ("calibration",), ("calibrate",)):
        assert run([*group, "--help"]) == 0
        listed = capsys.readouterr().out.partition("Commands:")[2]
        assert listed and "..." not in listed
        assert group or all(f"\n  {name} " in listed for name in INSTALLED)
