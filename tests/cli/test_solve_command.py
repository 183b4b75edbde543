"""`cubist solve` keeps its contract: documents, exit codes, one process for many cubes."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import count
from typing import Any
from unittest.mock import Mock

import pytest

from robot.cli.main import run
from robot.cli.search_job import LIMIT_S, ProgressLine
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube
from solver.solution import Progress

SOLVED = "UUUUUUUUURRRRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB"
FLIPPED = "UUUUURUUURURRRRRRRFFFFFFFFFDDDDDDDDDLLLLLLLLLBBBBBBBBB"
MIRRORED = "".join(face * 16 for face in "URFDLB").translate(str.maketrans("LR", "RL"))
DATABASE = ("--algorithm", "heuristic-db", "--depth", "1")


@pytest.fixture
def solve(ask: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs `cubist solve ... --json`: exit code, documents, stderr."""

    def call(*arguments: str, stdin: str = "") -> Any:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        return ask("solve", *arguments)

    return call


def test_an_answer_has_the_promised_keys_and_solves(solve):
    code, (answer,), err = solve("--scramble", "R U2 F' L D", "--time-limit", "0.1")
    assert (code, err) == (0, "")
    promised = "state, algorithm, metric, moves, length, optimal, lower_bound, search_s, cpu_s"
    assert list(answer)[:9] == promised.split(", ")
    assert Cube.from_facelets(answer["state"]).apply(answer["moves"]).is_solved
    assert (answer["algorithm"], answer["metric"]) == ("two-phase", "htm")
    assert len(answer["moves"].split()) == answer["length"] <= 5


@pytest.mark.parametrize("robot", [(), ("--robot", "cubotino")])
def test_a_search_cut_by_the_clock_is_told(solve, capfd, monkeypatch, robot):
    cuts = count()
    wanted = ("--scramble", "R U2 F'", "--time-limit", "0.1", *robot)
    for now, is_cut in ((lambda: next(cuts), True), (lambda: 7, False)):
        monkeypatch.setattr("solver._native.clock_cuts", now)
        _, (answer,), _ = solve(*wanted)
        assert answer["cut_by_clock"] is is_cut
        run(["solve", *wanted])
        assert ("ended by the clock" in capfd.readouterr().err) is is_cut


def test_a_robot_s_plan_has_the_promised_keys(solve):
    code, (answer,), _ = solve("--scramble", "R U F", "--robot", "cubotino", "--time-limit", "0.2")
    assert code == 0
    operations = answer["operations"]
    starts = [operation["start_us"] for operation in operations]
    assert starts == sorted(starts)
    ends = [operation["start_us"] + operation["duration_us"] for operation in operations]
    assert answer["duration_us"] >= max(ends)
    assert 0 < answer["lower_bound_us"] <= answer["duration_us"]
    assert answer["optimal"] == (answer["lower_bound_us"] == answer["duration_us"])
    assert answer["exhausted"] == "proven"
    assert answer["initial_orientation"] == "UF"
    assert {operation["op"] for operation in operations} >= {"turn", "rotate", "lid"}


def test_a_stream_of_states_is_one_process(solve):
    code, answers, _ = solve("--scramble", "-", stdin='R\n"R U"\n\nR U F')
    assert code == 0
    assert [answer["length"] for answer in answers] == [1, 2, 3]
    assert (answers[0]["lower_bound"], answers[0]["optimal"]) == (1, True)
    names = "UF UR UB UL DF DR DB DL FR FL BR BL UFR URB UBL ULF DRF DFL DLB DBR"
    assert solve(names)[1][0]["state"] == SOLVED


def test_a_refused_state_is_named_and_the_others_go_on(solve):
    code, (flipped, mirrored, solved), err = solve("-", stdin=f"{FLIPPED}\n{MIRRORED}\n{SOLVED}\n")
    assert (code, err) == (1, "")
    assert (flipped["state"], flipped["error"]) == (FLIPPED, "illegal-cube")
    assert (flipped["reason"], flipped["detail"]["kind"]) == ("edge UR is flipped", "flip")
    assert (mirrored["error"], mirrored["detail"]) == ("illegal-cube", {"kind": "mirrored-scheme"})
    assert (solved["moves"], solved["length"]) == ("", 0)


def test_a_bad_line_is_named(solve, capfd, monkeypatch):
    lines = f"{SOLVED}\n\n{FLIPPED}\nthis is none\n"
    _, (_, flipped, none), _ = solve("-", stdin=lines)
    assert (flipped["line"], none["line"]) == (3, 4)
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert run(["solve", "-"]) == 2
    said = capfd.readouterr().err.splitlines()
    assert ["line 3: edge UR is flipped" in said[0], "line 4: " in said[1]] == [True, True]


@pytest.mark.parametrize("size", [1, 2, 8])
def test_any_size_by_database(solve, size):
    code, (answer,), _ = solve("--size", str(size), *DATABASE, "--scramble", "R")
    assert code == 0
    assert answer["length"] == min(1, size - 1)  # a 1x1x1 only changes its orientation
    code, (again,), _ = solve(*DATABASE, answer["state"])
    assert (code, again["moves"]) == (0, answer["moves"])


def test_a_goal_and_the_centres_are_told(solve):
    arguments = ("--scramble", "R U", "--to", "R U2", "--time-limit", "0.1")
    code, (answer,), _ = solve(*arguments)
    assert (code, answer["to"], answer["moves"]) == (0, "R U2", "U")
    assert answer["centres_turned"] == {"R": 1, "U": 2}
    _, (answer,), _ = solve("-", "--to", '--scramble "R U2"', stdin='--scramble "R U"')
    assert (answer["moves"], answer["centres_turned"]) == ("U", {"R": 1, "U": 2})
    _, (answer,), _ = solve("--scramble", "x M", "--time-limit", "0.1")
    assert answer["centres_turned"] == {}
    upright = ("--scramble", "R U2 F'", "--centres", "--time-limit", "0.1")
    for more in ((), ("--robot", "six-motor")):
        code, (answer,), _ = solve(*upright, *more)
        assert (code, answer["moves"], answer["centres_turned"]) == (0, "F U2 R'", {})
    code, listed, _ = solve("--to", "list", "--size", "4")
    assert (code, "stripes" in [one["pattern"] for one in listed]) == (0, True)


@pytest.mark.parametrize("size", [4, pytest.param(9, marks=pytest.mark.long)])
def test_large_cubes_are_solved_by_reduction(solve, size):
    limit = ("--time-limit", "0.05")
    scramble = "R Uw 2F 3Rw2 x D' Bw L2 U Rw F2 Dw B' L Uw2 R F' Lw D"
    code, (answer,), _ = solve("--size", str(size), "--scramble", scramble, *limit)
    assert (code, answer["algorithm"], answer["metric"]) == (0, "reduction", "obtm")
    assert StickerCube(answer["state"], size).apply(answer["moves"]).is_solved
    assert " ".join(phase["moves"] for phase in answer["phases"]).split() == answer["moves"].split()
    assert answer["phases"][-1]["name"] == "3x3x3"
    _, (small,), _ = solve(answer["state"], *limit, "--notation", "sign")
    assert "w" in answer["moves"] and "w" not in small["moves"]
    assert StickerCube(small["state"], size).apply(small["moves"]).is_solved


def test_what_is_out_of_reach_ends_with_the_limit_and_says_so(solve, monkeypatch):
    monkeypatch.setitem(LIMIT_S, "heuristic-db", 0.05)
    scramble = "R Uw F2 2R B L' Rw U2 Bw F' R Dw"
    code, (answer,), _ = solve("--size", "4", *DATABASE, "--scramble", scramble)
    assert (code, answer["error"]) == (4, "no-solution")
    assert "not found within the limit" in answer["reason"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a STATE"),
        (("-",), "standard input holds no state"),
        (("--scramble", "-"), "standard input holds no state"),
        ((SOLVED, "--scramble", "R"), "give a STATE"),
        ((SOLVED, "--metric", "steps"), "steps"),
        ((SOLVED, "--time-limit", "0"), "--time-limit"),
        ((SOLVED, "--robot", "none-such"), "none-such"),
        ((SOLVED, "--robot", "cubotino", "--metric", "htm"), "give only one"),
        ((SOLVED, "--robot", "cubotino", "--algorithm", "thistlethwaite"), "thistlethwaite"),
        ((SOLVED, "--robot", "cubotino", "--solutions", "2"), "omit --solutions"),
        ((SOLVED, "--robot", "cubotino", "--target", "20"), "omit --target"),
        ((SOLVED, "--to", "cross", "--tables", "large"), "pieces free has no option tables"),
        ((SOLVED, "--tables", "medium"), "two-phase has no option tables"),
        ((SOLVED, "--algorithm", "optimal", "--depth", "9"), "optimal has no option depth"),
        ((SOLVED, "--algorithm", "thistlethwaite", "--solutions", "2"), "omit solutions"),
        ((SOLVED, "--timeline", "a.svg"), "add --robot"),
        ((SOLVED, "--centres", "--algorithm", "optimal"), "needs --algorithm two-phase"),
        ((SOLVED, "--centres", "--centres-turned", "R"), "--centres-turned"),
        (("-", "--execute"), "one cube instead of -"),
        (("--scramble", "-", "--execute"), "one cube instead of -"),
        ((SOLVED, "--execute", "--metric", "qtm"), "omit --metric"),
        ((SOLVED, "--execute", "--robot", "cubotino"), "omit --robot"),
        ((SOLVED, "--execute", "--algorithm", "two-phase"), "omit --algorithm"),
        ((SOLVED, "--execute", "--time-limit", "2"), "omit --time-limit"),
        ((SOLVED, "--execute", "--threads", "1"), "omit --threads"),
        ((SOLVED, "--execute", "--timeline", "a.svg"), "omit --timeline"),
        ((SOLVED, "--to", "chekerboard"), "Name one of checkerboard"),
        ((SOLVED, "--algorithm", "magic"), "magic"),
        (("--size", "0", "--scramble", "R"), "--size"),
        (("--colour",), "--colour"),
    ],
)
def test_bad_usage_is_exit_code_2_with_one_object(solve, arguments, said):
    code, answers, err = solve(*arguments, stdin="\n \n")
    assert (code, len(answers)) == (2, 1)
    assert answers[0]["error"] and said in answers[0]["reason"]
    assert said in err and "Traceback" not in err


def test_without_json_people_get_text(capfd):
    assert run(["solve", "--scramble", "R U"]) == 0
    assert capfd.readouterr().out.startswith("U' R'\n")
    assert run(["solve", FLIPPED]) == 1
    assert "edge UR is flipped" in capfd.readouterr().err


def test_an_internal_error_is_no_traceback(monkeypatch, capfd):
    broken = Mock(side_effect=ZeroDivisionError("oops"))
    monkeypatch.setattr("robot.cli.search_job.interruptible", broken)
    assert run(["solve", "--scramble", "R"]) == 3
    err = capfd.readouterr().err
    assert "internal error: ZeroDivisionError: oops" in err and "Traceback" not in err
    monkeypatch.setenv("CUBIST_DEBUG", "1")  # as the message suggests
    with pytest.raises(ZeroDivisionError):
        run(["solve", "--scramble", "R"])


# Progress of a search and of its tables


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


SEARCHING = Progress("searching", depth=15, nodes=1_200_000_000, rate=30_000_000)
MAKING = "making the tables of a search in /a/folder/far/away"
IN_STEPS = [
    Progress("making it", done / 10, making=True, remaining_s=3.0) for done in (0, 1, 2, 10)
]


@pytest.mark.parametrize(
    ("stream", "every_s", "reports", "shown"),
    [
        (Terminal(), 1.0, [Progress("one"), Progress("two")], ["", "one", "two", ""]),
        (Terminal(), 0.05, [Progress("one"), Progress("too soon")], ["", "one", ""]),
        (Terminal(), 1.0, [Progress("tables", done=0.42)], ["", "tables 42%", ""]),
        (Terminal(), 1.0, [SEARCHING], ["", "searching, depth 15, 1.2 G nodes, 30.0 M/s", ""]),
        (
            Terminal(),
            1.0,
            [
                Progress(MAKING, done, making=True, remaining_s=left)
                for done, left in ((0.0, None), (0.25, 100.0), (0.5, 99.4), (1.0, 0.0))
            ],
            [
                "",
                "[....................]   0 %: making the tables of a sea...",
                f"{MAKING}\n",
                "[#####...............]  25 %, 2 min left: making the tab...",
                "[##########..........]  50 %, 99 s left: making the tabl...",
                "[####################] 100 %, 0 s left: making the table...",
                "",
            ],
        ),
        (io.StringIO(), 1.0, [Progress("one")], [""]),
        (io.StringIO(), 0.0, IN_STEPS, [""]),
        (io.StringIO(), 0.4, IN_STEPS, ["making it, about 3 s left\nmaking it: done in 1.2 s\n"]),
    ],
)
def test_progress_on_a_terminal_and_in_a_pipe(stream, every_s, reports, shown, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    now = [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        for progress in reports:
            line.report(progress)
            now[0] += every_s
    assert stream.getvalue().split("\r\x1b[K") == shown
