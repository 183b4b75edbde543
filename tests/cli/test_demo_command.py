"""``cubist demo``: the effect of its options. The demos themselves are in ``tests/simulate``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from robot.cli import simulate
from robot.cli.main import run
from robot.text.outcomes import Outcome
from solver.cube.cube import Cube
from solver.errors import ExitCode


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, Mock]]:
    """Return a function that runs ``cubist demo --json``: exit code, and the call of the demo."""
    record = SimpleNamespace(outcome=Outcome.SOLVED)
    ended = SimpleNamespace(record=record, good=True, as_dict=lambda: {"it": "ended"})
    demo = Mock(return_value=ended)
    monkeypatch.setattr(simulate, "run_demo", demo)
    return lambda *options: (run(["demo", "--json", *options]), demo)


def test_options_of_a_demo_are_kept(ask):
    arguments = ("--robot", "crane", "--size", "5", "--seed", "3", "--speed", "2.5")
    _, demo = ask(*arguments, "--firmware", "host", "--fault", "glare@look", "--web")
    options, _, beside = demo.call_args.args
    assert (options.body.size, options.profile.cube.size, options.seed) == (5, 5, 3)
    assert options.profile_file.name == "crane.yaml"
    assert [(fault.name, fault.subject) for fault in options.faults] == [("glare", "")]
    assert options.title.endswith(" · cube 3 · 2.5 times as fast")
    assert (options.speed, options.firmware) == (2.5, "host")
    assert beside is simulate.shown_on_a_page


def test_photographs_and_their_state_go_together(ask, tmp_path):
    state = Cube.solved().facelets()
    for options in (("--faces", str(tmp_path)), ("--state", state)):
        code, demo = ask(*options)
        assert code == ExitCode.USAGE and not demo.called


@pytest.mark.parametrize("size", [2, 3])
def test_the_state_says_of_which_size_the_cube_is(ask, size, tmp_path, monkeypatch):
    photographs = {"U": "picture"}
    monkeypatch.setattr(simulate, "load_photographs", lambda folder: photographs)
    letters = "".join(face * size * size for face in "URFDLB")
    _, demo = ask("--faces", str(tmp_path), "--state", f"{letters[:9]} {letters[9:]}")
    options = demo.call_args.args[0]
    assert (options.body.size, options.profile.cube.size) == (size, size)
    assert options.photographs is photographs
    assert (options.profile_file is None) == (size == 2), "the file's robot holds a 3x3x3"
    assert f"cube in {tmp_path.name}" in options.title
