"""README and docs name only existing things, README's commands work, the picture is up to date."""

from __future__ import annotations

import pkgutil
import re
import runpy
import shlex
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from robot.cli.main import COMMANDS, run
from robot.daemon.routes import ROUTES
from robot.settings import list_profiles, load_profile
from robot.text.purposes import PURPOSES
from solver.errors import ExitCode

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAME = re.compile(r"(?<![\w./-])(?:robot|vision|solver)(?:\.\w+)+(?![\w/-])")
ROOMS = ("robot", "vision", "solver")
FOLDERS = "robot|vision|solver|firmware|tests|config|systemd|docs"
FILE = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./-]*[\w/]")
BLOCK = re.compile(r"```.*?```", re.DOTALL)
PLACEHOLDER = re.compile(r"\b[A-Z]+\.")
"""A name that the reader fills in, as in `robot/cli/NAME.py`."""
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def code_of(text: str) -> Iterator[str]:
    """Yield the contents of code spans and code blocks."""
    yield from BLOCK.findall(text)
    yield from re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", BLOCK.sub("", text))


def exists(name: str) -> bool:
    """Return whether a dotted name is a module, an attribute, or a field that instances have."""
    with suppress(ImportError, AttributeError):
        return pkgutil.resolve_name(name) is not None
    owner, _, field = name.rpartition(".")
    with suppress(ImportError, AttributeError):
        kinds = pkgutil.resolve_name(owner).__mro__
        return any(field in vars(kind).get("__annotations__", {}) for kind in kinds)
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_path_and_link_leads_somewhere(page):
    text = page.read_text()
    code = "\n".join(code_of(text))
    assert [name for name in sorted(set(NAME.findall(code))) if not exists(name)] == []
    paths = [path for path in sorted(set(FILE.findall(code))) if not PLACEHOLDER.search(path)]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []
    for line in text.splitlines():  # to be pasted: `<name>` is a redirection for the shell
        if line.strip().startswith(("git ", "cubist ", "sudo ", "make ")):
            assert not re.search(r"<[a-z ]+>", line), line


def test_every_command_is_described():
    described = {code.split()[0] for code in code_of((ROOT / "docs/cli.md").read_text()) if code}
    missing = set(COMMANDS) - described
    assert not missing, f"docs/cli.md has no row for {missing}"


def test_every_endpoint_is_described():
    """Look up the last part of maintenance endpoints. Those with a command are in docs/cli.md."""
    codes = " ".join(code_of((ROOT / "docs/daemon.md").read_text()))
    described = set(re.findall(r"/[a-z/{}]+", codes)) | {f"/{command}" for command in COMMANDS}
    paths = {route.path for route in ROUTES} - described
    missing = {path for path in paths if path.removeprefix("/maintenance") not in described}
    assert not missing, (
        f"{missing}: add the command to COMMANDS in robot/cli/main.py, or a row to docs/daemon.md"
    )


def test_every_profile_is_described():
    rows = re.findall(r"^\| (`[^|]*) \|", (ROOT / "docs/robots.md").read_text(), re.MULTILINE)
    described = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    missing = set(list_profiles()) - described
    assert not missing, f"docs/robots.md: the table of profiles has no row for {missing}"


def test_the_picture_of_the_rooms_is_today_s():
    drawing = runpy.run_path(str(ROOT / "docs/draw_rooms.py"))
    said = "the imports have changed: run `make picture` and commit docs/pictures/rooms.svg"
    assert drawing["PICTURE"].read_text() == drawing["drawn"](), said


def test_no_class_name_is_defined_twice():
    """Check that a class name means one thing in the whole product."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in (path for package in ROOMS for path in (ROOT / package).rglob("*.py")):
        for name in re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE):
            files[name].append(str(path.relative_to(ROOT)))
    assert len(files) > 500
    assert {name: where for name, where in files.items() if len(where) > 1} == {}


def test_the_purposes_of_positions_are_those_that_the_guide_shows():
    blocks = []
    for code, one in PURPOSES.items():
        text = f"**`{code}`**: {one.right} {one.cube} {one.touch} Watch: {one.watch}"
        blocks.append("\n".join((*textwrap.wrap(text, 120), "", "```", one.drawing, "```")))
    page = (ROOT / "docs/calibration.md").read_text(encoding="utf-8")
    assert "\n\n".join(blocks) in page


@pytest.mark.parametrize("robot", list_profiles())
def test_every_position_of_a_shipped_robot_has_a_purpose(robot):
    profile = load_profile(robot)
    codes = {
        profile.mechanism.purpose_of(name, position)
        for name, actuator in profile.actuators.items()
        for position in actuator.places
    }
    assert codes <= PURPOSES.keys()


README = (ROOT / "README.md").read_text(encoding="utf-8")
TRY_IT = README.partition("## Try it")[2].partition("## On a robot")[0]
TYPED = [line.strip() for line in re.findall(r"^    (cubist [^#\n]*)", TRY_IT, re.MULTILINE)]
assert len(TYPED) >= 9, "README's commands are not read as they stand"
ELSEWHERE = {
    "cubist calibrate all --robot cubotino": (ExitCode.USAGE, "terminal"),
    "cubist status": (ExitCode.FAILED, "cubist simulate"),
}
"""Commands that need a terminal or a daemon: exit code and words without either."""
SLOW = ("cubist demo", "cubist simulate")


@pytest.mark.parametrize("command", TYPED)
def test_every_command_works_as_it_is_written(command, capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    code, words = ELSEWHERE.get(command, (ExitCode.DONE, ""))
    asked = shlex.split(command)[1:]
    if command.startswith(SLOW):  # other tests run them; this one checks that their options exist
        asked.append("--help")
    assert run(asked) == code
    told = capfd.readouterr()
    assert words in told.out + told.err


WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/newcomer.yml").read_text())
STEPS = [step["run"] for step in WORKFLOW["jobs"]["try-it"]["steps"] if "run" in step]


def test_the_workflow_runs_the_commands_of_readme_as_a_newcomer():
    commands = re.findall(r"^    (make \w+) ", README, re.MULTILINE)
    assert commands == ["make demo", "make test"]
    ran = [step for step in STEPS if step.startswith("su ")]
    as_newcomer = "su - newcomer -c 'cd cubist && {}'"
    assert ran == [as_newcomer.format(command) for command in [*commands, "make lint"]]


def test_the_workflow_installs_what_readme_names():
    [needed] = re.findall(r"sudo apt install (.*)", README)
    [installed] = re.findall(r"install -y --no-install-recommends (.*)", STEPS[0])
    assert set(needed.split()) <= set(installed.split())
