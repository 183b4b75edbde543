"""`cubist solve` keeps its contract: documents, exit codes, one process for many cubes."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from robot.cli.main import run
from robot.cli.search_job import LIMIT_S
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube

SOLVED = "UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB"
FLIPPED = "UUUUURUUURURRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB"
Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run `cubist ... --json`: exit code, the documents on stdout, stderr."""

    def call(*arguments: str, stdin: str = "") -> tuple[int, list[dict[str, Any]], str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = run([*arguments, "--json"])
        out, err = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return call


def test_an_answer_has_the_promised_keys_and_solves(ask: Ask) -> None:
    code, (answer,), err = ask("solve", "--scramble", "R U2 F' L D", "--time-limit", "0.1")
    assert (code, err) == (0, "")
    promised = "state, algorithm, metric, moves, length, optimal, lower_bound, search_s, cpu_s"
    assert list(answer)[:9] == promised.split(", ")
    assert answer["cut_by_clock"] in {True, False}
    assert Cube.from_facelets(answer["state"]).apply(answer["moves"]).is_solved
    assert (answer["algorithm"], answer["metric"]) == ("two-phase", "htm")
    assert len(answer["moves"].split()) == answer["length"] <= 5


@pytest.mark.parametrize("robot", [(), ("--robot", "cubotino")])
def test_a_search_cut_by_the_clock_is_told(
    ask: Ask,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    robot: tuple[str, ...],
) -> None:
    cuts = count()
    monkeypatch.setattr("solver._native.clock_cuts", lambda: next(cuts))
    wanted = ("solve", "--scramble", "R U2 F'", "--time-limit", "0.1", *robot)
    _, (answer,), _ = ask(*wanted)
    assert answer["cut_by_clock"] is True
    run(list(wanted))
    assert "ended by the clock" in capfd.readouterr().err
    monkeypatch.setattr("solver._native.clock_cuts", lambda: 7)
    _, (answer,), _ = ask(*wanted)
    assert answer["cut_by_clock"] is False
    run(list(wanted))
    assert "clock" not in capfd.readouterr().err


def test_a_robot_s_plan_moves_the_cube_to_solved(ask: Ask) -> None:
    code, (answer,), _ = ask(
        "solve", "--scramble", "R U F", "--robot", "cubotino", "--time-limit", "0.2"
    )
    assert code == 0
    operations = answer["operations"]
    starts = [operation["start_us"] for operation in operations]
    assert starts == sorted(starts)
    ends = [operation["start_us"] + operation["duration_us"] for operation in operations]
    assert answer["duration_us"] >= max(ends)
    assert 0 < answer["lower_bound_us"] <= answer["duration_us"]
    assert answer["optimal"] == (answer["lower_bound_us"] == answer["duration_us"])
    assert answer["initial_orientation"] == "UF"
    assert {operation["op"] for operation in operations} >= {"turn", "rotate", "lid"}


def test_a_stream_of_states_is_one_process(ask: Ask) -> None:
    lines = "\n".join(["R", "R U", "", "R U F"])
    code, answers, _ = ask("solve", "--scramble", "-", stdin=lines)
    assert code == 0
    assert [answer["length"] for answer in answers] == [1, 2, 3]
    assert (answers[0]["lower_bound"], answers[0]["optimal"]) == (1, True)
    names = "UF UR UB UL DF DR DB DL FR FL BR BL UFR URB UBL ULF DRF DFL DLB DBR"
    assert ask("solve", names)[1][0]["state"] == SOLVED


def test_a_refused_state_is_named_and_the_others_go_on(ask: Ask) -> None:
    code, answers, err = ask("solve", "-", stdin=f"{FLIPPED}\n{SOLVED}\n")
    assert (code, err) == (1, "")
    assert answers[0]["state"] == FLIPPED
    assert answers[0]["error"] == "illegal-cube"
    assert answers[0]["reason"] == "edge UR is flipped"
    assert answers[0]["detail"]["kind"] == "flip"
    assert (answers[1]["moves"], answers[1]["length"]) == ("", 0)


@pytest.mark.parametrize("size", [1, 2, 8])
def test_any_size_by_database(ask: Ask, size: int) -> None:
    search = ("--algorithm", "heuristic-db", "--depth", "1")
    code, (answer,), _ = ask("solve", "--size", str(size), *search, "--scramble", "R")
    assert code == 0
    assert answer["length"] == min(1, size - 1)  # a 1x1x1 is only held otherwise
    code, (again,), _ = ask("solve", *search, answer["state"])
    assert code == 0
    assert again["moves"] == answer["moves"]


@pytest.mark.parametrize("size", [4, pytest.param(9, marks=pytest.mark.long)])
def test_large_cubes_are_solved_by_reduction(ask: Ask, size: int) -> None:
    code, (answer,), _ = ask(
        "solve", "--size", str(size), "--scramble", "R Uw 2F 3Rw2 x D' Bw", "--time-limit", "0.05"
    )
    assert (code, answer["algorithm"], answer["metric"]) == (0, "reduction", "obtm")
    assert StickerCube(answer["state"], size).apply(answer["moves"]).is_solved
    assert " ".join(phase["moves"] for phase in answer["phases"]).split() == answer["moves"].split()
    assert answer["phases"][-1]["name"] == "3x3x3"
    _, (small,), _ = ask("solve", answer["state"], "--time-limit", "0.05", "--notation", "sign")
    assert "w" in answer["moves"] and "w" not in small["moves"]
    assert StickerCube(small["state"], size).apply(small["moves"]).is_solved


def test_an_illegal_large_cube_is_refused_with_the_reason(ask: Ask) -> None:
    mirrored = "".join(face * 16 for face in "URFDLB").translate(str.maketrans("LR", "RL"))
    code, (answer,), _ = ask("solve", mirrored)
    assert (code, answer["error"]) == (1, "illegal-cube")
    assert answer["detail"] == {"kind": "mirrored-scheme"}
    assert "mirrored" in answer["reason"]


@pytest.mark.parametrize("stdin", ["", "\n \n"])
@pytest.mark.parametrize("arguments", [("solve", "-"), ("solve", "--scramble", "-")])
def test_no_state_on_standard_input_is_bad_usage(
    ask: Ask, arguments: tuple[str], stdin: str
) -> None:
    code, answers, err = ask(*arguments, stdin=stdin)
    assert (code, answers) == (2, [])
    assert "standard input holds no state" in err


def test_what_is_out_of_reach_ends_with_the_limit_and_says_so(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMIT_S, "heuristic-db", 0.05)
    search = ("--algorithm", "heuristic-db", "--depth", "1")
    scramble = "R Uw F2 2R B L' Rw U2 Bw F' R Dw"
    code, (answer,), _ = ask("solve", "--size", "4", *search, "--scramble", scramble)
    assert (code, answer["error"]) == (4, "no-solution")
    assert "not found within the limit" in answer["reason"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve",),
        ("solve", SOLVED, "--scramble", "R"),
        ("solve", SOLVED, "--metric", "steps"),
        ("solve", SOLVED, "--time-limit", "0"),
        ("solve", SOLVED, "--time-limit", "nan"),
        ("solve", SOLVED, "--robot", "none-such"),
        ("solve", SOLVED, "--robot", "cubotino", "--metric", "htm"),
        ("solve", SOLVED, "--robot", "cubotino", "--algorithm", "thistlethwaite"),
        ("solve", SOLVED, "--robot", "cubotino", "--solutions", "2"),
        ("solve", SOLVED, "--robot", "cubotino", "--target", "20"),
        ("solve", SOLVED, "--algorithm", "magic"),
        ("solve", "--size", "0", "--scramble", "R"),
        ("no-such-command",),
        ("status", "--colour"),
    ],
)
def test_bad_usage_is_exit_code_2_with_nothing_on_stdout(ask: Ask, arguments: tuple[str]) -> None:
    code, answers, err = ask(*arguments)
    assert (code, answers) == (2, [])
    assert err
    assert "Traceback" not in err


def test_without_json_people_get_text(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "--scramble", "R U"]) == 0
    assert capfd.readouterr().out.startswith("U' R'\n")
    assert run(["solve", FLIPPED]) == 1
    assert "edge UR is flipped" in capfd.readouterr().err


def test_an_internal_error_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("robot.cli.search_job.interruptible", broken)
    assert run(["solve", "--scramble", "R"]) == 3
    err = capfd.readouterr().err
    assert "internal error: ZeroDivisionError: oops" in err
    assert "Traceback" not in err
    monkeypatch.setenv("CUBIST_DEBUG", "1")  # as the message says
    with pytest.raises(ZeroDivisionError):
        run(["solve", "--scramble", "R"])
