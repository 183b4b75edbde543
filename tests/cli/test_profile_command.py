"""``cubist profile`` on the files of a daemon that does not run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import click
import pytest

from robot.api.client import DaemonError
from robot.cli import profile
from robot.cli.main import run
from robot.settings import profile_path
from solver.errors import ExitCode

ORIGINAL = profile_path("mindcuber").read_text()
QUICKER = ORIGINAL.replace("steps_per_turn: 1600", "steps_per_turn: 3200", 1)
WRONG = ORIGINAL.replace("steps_per_turn: 1600", "steps_per_turn: some", 1)


@pytest.fixture
def say(short_folder, monkeypatch, capfd) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs ``cubist profile`` and returns exit code, stdout and stderr."""
    for name in ("CUBIST_RUNTIME_DIR", "CUBIST_STATE_DIR"):
        monkeypatch.setenv(name, str(short_folder))
    monkeypatch.setenv("CUBIST_PROFILE", "mindcuber")

    def said(*options: str | Path) -> tuple[int, str, str]:
        code = run(["profile", *map(str, options)])
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return said


def test_what_is_kept_is_listed_and_taken_back(say, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(QUICKER)
    assert say("restore")[0] == ExitCode.NO, "there is nothing to go back to"
    assert say("keep", file)[:2] == (
        0,
        "kept as version 1; it takes effect after `cubist restart`\n",
    )
    assert say("show")[1] == QUICKER
    assert say("show", "--version", "0")[1] == ORIGINAL
    first, original = say("versions")[1].splitlines()
    assert first.split()[0] == "1" and first.endswith("in force")
    assert original.split()[0] == "0" and "the original file" in original
    assert say("restore")[0] == 0
    assert say("show")[1] == ORIGINAL
    listed = [json.loads(line) for line in say("versions", "--json")[1].splitlines()]
    assert [one["version"] for one in listed] == [2, 1, 0]
    assert say("restore", "77")[0] == ExitCode.USAGE


def test_a_wrong_file_is_refused_with_its_line_and_nothing_is_kept(say, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(WRONG)
    line = 1 + WRONG[: WRONG.index("steps_per_turn: some")].count("\n")
    for command in ("check", "keep"):
        code, _, complained = say(command, file)
        assert code == ExitCode.USAGE
        assert f"line {line}: actuators.table.steps_per_turn" in complained
    file.write_text(ORIGINAL.replace("name: mindcuber", "name: another", 1))
    code, _, complained = say("keep", file)
    assert code == ExitCode.USAGE and "must stay mindcuber" in complained
    assert len(say("versions")[1].splitlines()) == 1
    code, shown, _ = say("check")
    assert (code, shown.endswith("all right\n")) == (0, True)


@pytest.mark.parametrize("again", [True, False])
def test_what_is_wrong_is_edited_again_or_put_aside(say, monkeypatch, tmp_path, again):
    edit = Mock(side_effect=[WRONG, QUICKER])
    monkeypatch.setattr(profile, "require_terminal", lambda *_: None)
    monkeypatch.setattr(click, "edit", edit)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: again)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, _, told = say("edit")
    edited = [call.args[0] for call in edit.call_args_list]
    assert edited == [ORIGINAL, WRONG][: 1 + again], "nobody has to begin anew"
    assert say("show")[1] == (QUICKER if again else ORIGINAL)
    if again:
        assert code == 0
    else:
        (aside,) = tmp_path.iterdir()
        assert (code, aside.read_text(), str(aside) in told) == (ExitCode.USAGE, WRONG, True)


@pytest.mark.parametrize(
    ("text", "fails", "error"),
    [
        (QUICKER, "robot.cli.profile.ProfileFiles.check", DaemonError("gone")),
        (QUICKER, "robot.cli.profile.ProfileFiles.keep", DaemonError("gone")),
        (WRONG, "click.confirm", [True, click.Abort()]),
    ],
)
def test_an_edited_text_outlives_daemon_and_ctrl_c(say, monkeypatch, tmp_path, text, fails, error):
    monkeypatch.setattr(profile, "require_terminal", lambda *_: None)
    monkeypatch.setattr(click, "edit", Mock(side_effect=[text, None]))
    monkeypatch.setattr(fails, Mock(side_effect=error))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, _, told = say("edit")
    (aside,) = tmp_path.iterdir()
    assert code in {ExitCode.FAILED, ExitCode.STOPPED}
    assert aside.read_text() == text and str(aside) in told
