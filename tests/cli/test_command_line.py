"""The command as a whole: packages, help, start-up; ``cubist config`` and ``robot check``."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from robot.cli.main import COMMANDS, cubist, run
from robot.cli.manpage import SERVICES, manual_page
from robot.settings import profile_path

CHECKOUT = Path(__file__).parents[2]
SHELLS = {
    "bash": (
        ("--norc", "--noprofile", "-i"),
        "source usr/share/bash-completion/completions/cubist",
    ),
    "zsh": (
        ("-f", "-i"),
        "fpath+=($PWD/usr/share/zsh/vendor-completions)\nautoload -U compinit\ncompinit -u -D",
    ),
    "fish": (("--no-config", "-i"), "source usr/share/fish/vendor_completions.d/cubist.fish"),
}
"""Options that make a shell interactive without a person's settings, and the file it loads."""

HEAVY = {"numpy", "cv2", "pydantic", "aiohttp", "rich", "solver._native"}
LIGHT = ["import robot.cli.status, robot.cli.control", "from robot.cli.main import run"]
STEP = "from robot.cli.main import run; run(['calibrate', 'servo', '--help'])"
CONTEXT = click.Context(cubist)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_speaks_json(name):
    command = cubist.get_command(CONTEXT, name)
    assert command is not None and command.help
    commands = [command]
    if isinstance(command, click.Group):
        below = (command.get_command(CONTEXT, each) for each in command.list_commands(CONTEXT))
        commands += [each for each in below if each is not None]
    assert any(p.name == "as_json" for each in commands for p in each.params), f"{name}: no --json"
    for each in commands:
        for option in each.params:
            described = not isinstance(option, click.Option) or option.help or option.show_default
            assert described, f"{name} {option.name} is not explained"


def commands_below(command: click.Command) -> Iterator[click.Command]:
    """Yield a command and all commands of its groups."""
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(CONTEXT):
            found = command.get_command(CONTEXT, name)
            if found is not None:
                yield from commands_below(found)


def test_every_command_of_a_module_can_be_typed():
    offered = list(commands_below(cubist))
    for path in (CHECKOUT / "robot/cli").glob("*.py"):
        module = import_module(f"robot.cli.{path.stem}")
        for one in vars(module).values():
            if isinstance(one, click.Command):
                told = f"robot/cli/main.py: COMMANDS has no row for {one.name} of {path.name}"
                assert one in offered, told


@pytest.mark.parametrize(
    ("program", "absent"),
    [(LIGHT[0], HEAVY), (LIGHT[1], HEAVY), (STEP, {"robot.calibration.steps.positions", "cv2"})],
)
def test_what_is_not_needed_is_not_imported(program, absent):
    command = [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"]
    imported = set(subprocess.run(command, stdout=-1, text=True, check=True).stdout.split())
    assert "robot.cli.output" in imported
    assert not absent & imported


def test_help_lists_the_commands_in_whole(capsys):
    for group in ((), ("robot",), ("runs",), ("config",), ("calibration",), ("calibrate",)):
        assert run([*group, "--help"]) == 0
        listed = capsys.readouterr().out.partition("Commands:")[2]
        assert listed and "..." not in listed
        assert group or all(f"\n  {name} " in listed for name in COMMANDS)


def test_a_wrong_profile_is_told_with_line_and_key_and_the_others_are_answered_for(tmp_path, capfd):
    path = tmp_path / "mine.yaml"
    path.write_text(profile_path("cubotino").read_text().replace("size: 3", "sise: 3"))
    for command in ("config", "robot"):
        assert run([command, "check", str(path), "--json"]) == 2
        (found,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert not found["ok"]
        assert any(each["key"] == "cube.sise" and each["line"] > 0 for each in found["complaints"])
        assert run([command, "check", str(path)]) == 2
        assert "cube.sise" in capfd.readouterr().out
    assert run(["config", "check", "nowhere", "n" * 300, "cubotino"]) == 2
    out, err = capfd.readouterr()
    missing, long, right = out.splitlines()
    assert "no profile named nowhere" in missing
    assert "no profile named nnn" in long
    assert (right, err) == ("cubotino: CUBOTino, a flipper with two servos: all right", "")


def test_an_installation_that_lost_its_profiles_is_not_all_right(tmp_path, monkeypatch, capfd):
    (tmp_path / "config").mkdir()
    monkeypatch.setattr("robot.settings.loader.profile_folders", lambda: (tmp_path / "config",))
    for command in (["config", "check"], ["config", "show"]):
        assert run(command) == 2
        assert "Install it again" in capfd.readouterr().err


def test_every_program_has_a_manual_page():
    for program in ("cubist", *SERVICES):
        lines = manual_page(program).splitlines()
        assert lines[0].startswith(f".TH {program.upper()} 1")
        assert {".SH NAME", ".SH SYNOPSIS"} <= set(lines)
    assert "\\-\\-page\\-calibrates" in manual_page("cubistd")


def test_show_and_schema(capfd):
    for words, key, value in (
        (["show", "cubotino"], "name", "cubotino"),
        (["schema"], "title", "RobotProfile"),
    ):
        assert run(["config", *words, "--json"]) == 0
        assert json.loads(capfd.readouterr().out)[key] == value
        assert run(["config", *words]) == 0
        assert value in capfd.readouterr().out


MAIN = """\
import os
from robot.text import words
def main(): print(__name__, words, os.environ["OPENBLAS_NUM_THREADS"])
"""
ROOMS = {"cubist": "cli", **{room: room for room in ("daemon", "web", "display", "mqtt")}}
"""Packages of the programs, by the function that starts them."""
FILES = {f"robot/{room}/main.py": MAIN for room in ROOMS.values()} | {
    "robot/__init__.py": '"""Ours."""',
    "robot/cli/__init__.py": "",
    "robot/text.py": "words = 'ours'",
    "solver/__init__.py": "",
    "vision/__init__.py": "",
}
OTHERS = "robotframework-7.0.dist-info"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder as pip leaves it, with small packages of our names."""
    site = tmp_path / "site"
    shutil.copytree(Path(__file__).parents[2] / "robot/cubist_robot", site / "cubist_robot")
    record = ""
    for name, text in FILES.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
        record += f"{name},sha256={digest.decode().rstrip('=')},{len(text)}\n"
    (site / "cubist_robot-1.0.dist-info").mkdir()
    (site / "cubist_robot-1.0.dist-info/RECORD").write_text(record)
    return site


def run_cubist(site: Path, *before: Path, program: str = "cubist") -> tuple[int, str]:
    """Run a program with other folders on the path before ours; return exit code and output."""
    path = os.pathsep.join(map(str, [*before, site]))
    # -S: without the packages of this checkout's environment.
    command = [sys.executable, "-S", "-c", f"import cubist_robot; cubist_robot.{program}()"]
    environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, env=environment, cwd=site.parent, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("program", "room"), ROOMS.items())
def test_our_own_packages_are_run_without_idle_threads_of_numpy(site, program, room):
    assert run_cubist(site, program=program) == (0, f"robot.{room}.main ours 1\n")


@pytest.mark.parametrize("foreign", ["robot/__init__.py", "solver.py"])
def test_a_package_that_hides_ours_is_named_with_its_path(site, foreign):
    hiding = site.parent / "workshop" / foreign
    hiding.parent.mkdir(parents=True)
    hiding.write_text("raise SystemExit('it ran')")
    code, said = run_cubist(site, site.parent / "workshop")
    assert code == 2
    assert str(hiding) in said and f"Take {site.parent / 'workshop'} out of PYTHONPATH" in said


@pytest.mark.parametrize("name", ["robot/__init__.py", "robot/text.py"])
def test_a_package_that_overwrote_a_file_of_ours_is_named(site, name):
    (site / name).write_text('"""Theirs."""')
    (site / OTHERS).mkdir()
    (site / OTHERS / "RECORD").write_text(f"robot/run.py,,\n{name},,\n")
    code, said = run_cubist(site)
    assert code == 2
    assert str(site / name) in said and "'robotframework'" in said


def test_a_package_that_is_missing_is_named(site):
    shutil.rmtree(site / "vision")
    code, said = run_cubist(site)
    assert code == 2 and str(site / "vision") in said


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of an installation with its manual pages and completions."""
    root = tmp_path_factory.mktemp("root")
    script = '. systemd/contents; make_documents "$0" "$1" -P'
    subprocess.run(["bash", "-ec", script, root, sys.executable], cwd=CHECKOUT, check=True)
    return root


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes(shell, documents):
    """Type ``cubist statu``, Tab, `` --help``, Enter at a terminal."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    options, load = SHELLS[shell]
    terminal, ours = pty.openpty()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    places = {"HOME": str(documents), "PATH": path, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    command = ["setsid", "--ctty", "--wait", shell, *options]
    with (
        subprocess.Popen(command, stdin=ours, stdout=ours, stderr=ours, cwd=documents, env=places),
        os.fdopen(terminal, "r+b", 0) as screen,
    ):
        os.close(ours)
        screen.write(f"{load}\ncubist statu\t --help\nexit\n".encode())
        shown = b""
        try:
            while part := screen.read(4096):
                shown += part
        except OSError:
            pass  # the end of a terminal whose program has gone
    assert b"Usage: cubist status" in shown
