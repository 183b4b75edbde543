"""``cubist status`` and its screen: what they say, in which language, and that it fits."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from robot.api.paths import UNIT, how_to_start_the_daemon
from robot.cli.main import run
from robot.cli.status import tell_status
from robot.cli.status_screen import performed_moves, picture, sticker_colours
from robot.cli.texts import TerminalText, drift_lines
from robot.records.run_record import FaultRecord
from robot.text.faults import RobotError
from robot.text.languages import LANGUAGES
from robot.text.messages import JobStep, coded
from robot.text.terminal import FACE_COLOURS
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube
from solver.errors import ExitCode
from tests.rig.documents import cube_json, job_json, live_json, run_json, status_json, turning_json

STILL = {"actuator": "holder", "position": "home", "since": "2026-11-25", "solves": 5}
SCRAMBLED = Cube.solved().apply("R U2 F' L D")


def shown(now: dict[str, Any], view: dict[str, Any], width: int = 80) -> list[str]:
    """The picture on a terminal of this width, as lines without colours."""
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


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"en"}))
def test_a_status_is_of_one_language(language, monkeypatch, capsys):
    monkeypatch.setenv("CUBIST_LANGUAGE", language)
    job = job_json("...", step_code="home", progress=0.6, remaining_s=3.0)
    last = run_json(11, "slipped", duration_s=4.7)
    drift = [STILL | {"degrees": 1.2, "corrected_degrees": 0.5}]
    tell_status(status_json("turning", simulated=True, last_run=last, drift=drift, job=job))
    told = capsys.readouterr().out
    english = {word for text in TerminalText for word in text.split() if word.isalpha()}
    same = {"a", "in", "home", "cubistd"}  # names, and words of other languages
    assert [word for word in told.split() if word in english - same] == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"homed": False, "simulated": True}, ["cubotino, simulated, not homed"]),
        ({"homed": False, "released": ["lid"]}, ["cubotino, at rest (lid without power)"]),
        (
            {"state": "homing", "job": job_json("homing", progress=0.42, remaining_s=2.6)},
            ["homing  cubotino, cubistd", ": homing (42 %, 3 s left)"],
        ),
        (
            {"preparation": {"step": "making tables", "progress": None, "remaining_s": None}},
            ["\n  making tables"],
        ),
        (
            {
                "state": "fault",
                "fault": {"code": "odd", "cause": "it broke", "remedy": ""},
                "warnings": ["dim light"],
                "drift": [STILL | {"degrees": 1.25, "corrected_degrees": -0.5}],
                "last_run": {"id": "000002", "outcome": "solved", "duration_s": 61.25},
            },
            [
                "it broke\n  What to do: see the journal (`cubist logs`)",
                "holder home has moved +1.2 degrees since 2026-11-25 (5 solves), -0.5 of them",
                "dim light\n  last run: 000002 solved in 61.2 s",
            ],
        ),
    ],
)
def test_a_status_names_job_fault_drift_and_last_run(more, told, capfd):
    tell_status(status_json() | more)
    out = capfd.readouterr().out
    assert all(text in out for text in told), out


@pytest.mark.parametrize(
    ("degrees", "corrected", "lines"),
    [(-0.02, 0.0, 0), (0.04, -0.04, 0), (0.06, 0.0, 1), (-1.2, 0.0, 1), (0.0, 0.5, 1)],
)
def test_a_robot_that_has_not_moved_is_not_said_to(degrees, corrected, lines):
    drift = [STILL | {"degrees": degrees, "corrected_degrees": corrected}]
    told = drift_lines(status_json(drift=drift))
    assert len(told) == lines and not any("0.0 " in line.split("(")[0] for line in told if degrees)


@pytest.mark.parametrize("command", ["status", "start", "web"])
def test_no_daemon_is_followed_by_what_to_do(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    assert run([command, "--json"]) == ExitCode.FAILED
    out, err = capsys.readouterr()
    assert json.loads(out)["error"] == "no-daemon"
    assert "cubist simulate" in err, "no service is installed here"
    (tmp_path / UNIT).write_text("[Unit]")
    assert "systemctl start cubistd" in how_to_start_the_daemon([tmp_path])


def test_an_address_that_no_phone_can_open_is_not_drawn_for_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    page = {"urls": ["http://127.0.0.1:8421/#token"], "process": os.getpid(), "local": True}
    (tmp_path / "web.json").write_text(json.dumps(page))
    assert run(["web", "--qr"]) == 0
    out, err = capsys.readouterr()
    assert out == "http://127.0.0.1:8421/#token\n"
    assert "phone" in err


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_every_cube_fits_an_ordinary_terminal(size, width):
    cube = cube_json(StickerCube.solved(size))
    lines = shown(status_json(simulated=True), live_json(cube=cube), width)
    if size <= 3 or width >= 80:
        assert sum(line.count("██") for line in lines) == 6 * size * size
    assert max(map(len, lines)) <= min(width, 80)
    assert width < 80 or len(lines) <= 24


@pytest.mark.parametrize("profile", ["cubotino", "six-motor"])
def test_the_drawn_cube_follows_the_motion_until_it_is_solved(profile):
    """Whatever the robot: each move is struck off when its last turn has ended."""
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
    """As on the model of stickers."""
    start = StickerCube.solved(size).apply("R U 2F L'")
    drawn = sticker_colours(cube_json(start), moves)
    turned = start.apply(" ".join(moves))
    assert drawn == [FACE_COLOURS[letter] for letter in turned.letters]


def test_measured_colours_come_before_usual_ones():
    seen: list[str | None] = [None] * 24
    seen[3] = "#123456"
    view = {"size": 2, "facelets": "?" * 24, "seen": seen, "palette": {}}
    assert sticker_colours(view) == seen
    known = cube_json(StickerCube.solved(2), palette={"R": "#abcdef"})
    assert sticker_colours(known)[4] == "#abcdef"
    assert sticker_colours(known)[0] == FACE_COLOURS["U"]
