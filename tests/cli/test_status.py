"""``cubist status`` and its screen: contents, languages, and the fit on the terminal."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from robot.api.paths import UNIT, how_to_start_the_daemon
from robot.cli import status
from robot.cli.main import run
from robot.cli.status import tell_status
from robot.cli.status_screen import performed_moves, picture, sticker_colours
from robot.daemon.log_keeper import LogKeeper
from robot.records.run_record import FaultRecord
from robot.text.faults import RobotError
from robot.text.messages import JobStep, coded
from robot.text.terminal import FACE_COLOURS
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube
from solver.errors import ExitCode
from tests.rig.documents import (
    FakeClient,
    cube_json,
    job_json,
    live_json,
    status_json,
    turning_json,
)

SCRAMBLED = Cube.solved().apply("R U2 F' L D")


def shown(now: dict[str, Any], view: dict[str, Any], width: int = 80) -> list[str]:
    """Return the picture on a terminal of this width, as lines without colours."""
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(picture(now, view, width))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("language", "state", "step", "cause"),
    [
        ("en", "scanning", "looking at U (1 of 6)", "the end stop was never reached (lid)"),
        ("de", "Ansehen", "sieht U an (1 von 6)", "der Endschalter wurde nie erreicht (Deckel)"),
        ("ja", "読み取り中", "U 面を見ています (1/6)", "リミットスイッチに届きませんでした (ふた)"),
    ],
)
def test_status_and_its_screen(language, state, step, cause, monkeypatch, capsys):
    monkeypatch.setenv("CUBIST_LANGUAGE", language)
    look = JobStep.of("look", faces="U", seen=1, count=6)
    fault = FaultRecord.of(RobotError("home-missing", detail="lid")).model_dump()
    at_work = status_json("scanning", job=job_json(look, **coded(look)))
    in_trouble = status_json(state="fault", fault=fault, warnings=["dim light"])
    for now in (at_work, in_trouble):
        tell_status(now)
    printed = capsys.readouterr().out
    screen = "\n".join([*shown(at_work, live_json(), 200), *shown(in_trouble, live_json())])
    assert state in printed and state.upper() in screen
    for text in (step, cause[:40], "dim light"):
        assert text in printed and text in screen


@pytest.mark.parametrize("command", ["status", "start", "web"])
def test_no_daemon_is_followed_by_what_to_do(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    assert run([command, "--json"]) == ExitCode.FAILED
    out, err = capsys.readouterr()
    assert json.loads(out)["error"] == "no-daemon"
    assert "cubist simulate" in err, "no service is installed here"
    (tmp_path / UNIT).write_text("[Unit]")
    assert "systemctl start cubistd" in how_to_start_the_daemon([tmp_path])


@pytest.mark.parametrize(("level", "priority"), [("warning", "warning"), ("error", "err")])
def test_the_journal_is_asked_for_a_level_by_its_own_name(level, priority, tmp_path, monkeypatch):
    asked = tmp_path / "asked"
    (tmp_path / "journalctl").write_text(f'#!/bin/sh\necho "$@" >{asked}\n')
    (tmp_path / "journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    assert run(["logs", "--level", level]) == ExitCode.DONE
    assert f"--priority {priority} " in asked.read_text()


def test_following_the_daemon_s_own_log_misses_no_line(tmp_path, monkeypatch, ask):
    keeper, bursts, client = LogKeeper(tmp_path), iter(["abcd", "efghi"]), FakeClient()

    def log_more(_: float = 0) -> None:
        for text in next(bursts, ""):
            keeper.emit(logging.LogRecord("robot", logging.INFO, "", 0, text, (), None))

    def call(_: Any, query: dict[str, Any]) -> Any:
        if query["after"] == keeper.latest:
            raise KeyboardInterrupt
        lines = keeper.lines(**query)
        return {"lines": [one.model_dump(mode="json") for one in lines], "latest": keeper.latest}

    log_more()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(client, "call", call)
    monkeypatch.setattr(status, "daemon_client", lambda: client)
    monkeypatch.setattr("time.sleep", log_more)
    _, shown, _ = ask("logs", "--follow", "--lines", "2")
    assert [line["text"] for line in shown[:-1]] == list("cdefghi")


@pytest.mark.parametrize("profile", ["cubotino", "six-motor"])
def test_the_drawn_cube_follows_the_motion_until_it_is_solved(profile):
    counts = []
    for at in (0.0, 0.5, 1.0):
        view = turning_json(profile, SCRAMBLED, at)
        (title,) = [line for line in shown(status_json(), view) if "moves " in line]
        counts.append(int(title.split()[2]))
    moves = performed_moves(view)
    assert counts[0] == 0 < counts[1] < counts[2] == len(moves)
    assert [name for name, _ in moves] == view["motion"]["moves"].split()
    ends = [end_us for _, end_us in moves]
    assert ends == sorted(ends) and ends[0] > 0 and ends[-1] <= view["motion"]["duration_us"]
    drawn = sticker_colours(view["cube"], [name for name, _ in moves])
    assert all(len(set(drawn[first : first + 9])) == 1 for first in range(0, 54, 9))


words = st.lists(
    st.sampled_from([face + suffix for face in "URFDLB" for suffix in ("", "2", "'", "w", "w2")]),
    max_size=12,
)


@given(size=st.integers(4, 7), moves=words)
def test_moves_carry_the_stickers_along(size, moves):
    start = StickerCube.solved(size).apply("R U 2F L'")
    drawn = sticker_colours(cube_json(start), moves)
    turned = start.apply(" ".join(moves))
    assert drawn == [FACE_COLOURS[letter] for letter in turned.letters]
