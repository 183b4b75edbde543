"""Files that people name: whatever they lead to, they are read within bounds or refused."""

import json
import os
from pathlib import Path

import pytest

from robot.cli.main import run
from solver.cube.notation import MOST_MOVES, parse_moves
from solver.errors import BadNotation
from solver.files import (
    DEEPEST,
    LONGEST_NUMBER,
    BadFile,
    parse_json,
    parse_json_values,
    read_file,
    read_lines,
    read_text,
)


def pipe(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture(params=["pipe", "/dev/zero", "/dev/null", "folder", "dangling", "/dev/tty", "long"])
def strange(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path that leads to no ordinary file."""
    if request.param == "pipe":
        return pipe(tmp_path)
    if request.param == "folder":
        return tmp_path
    if request.param == "dangling":
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        return tmp_path / "dangling"
    return Path("n" * 5_000 if request.param == "long" else request.param)


def test_only_ordinary_files_are_read(strange: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read") as caught:
        read_file(strange, 1_000)
    assert str(strange) in str(caught.value)


@pytest.mark.parametrize(("limit", "told"), [(3 << 10, "3 kB"), (5 << 20, "5 MB")])
def test_a_limit_is_told_in_kilobytes_or_megabytes(tmp_path: Path, limit: int, told: str) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(limit + 1)
    with pytest.raises(BadFile, match=f"larger than the limit of {told}$"):
        read_file(tmp_path / "file", limit)


def test_text_is_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for start in (b"", b"\xef\xbb\xbf"):
        file.write_bytes(start + "é".encode())
        assert read_text(file, 100) == "é"
    file.write_bytes("é".encode("latin-1"))
    with pytest.raises(BadFile, match="byte 1"):
        read_text(file, 100)


@pytest.mark.parametrize("end", ["\n", ""])
def test_long_lines_are_cut_and_passed_over(tmp_path: Path, end: str) -> None:
    file = tmp_path / "lines"
    file.write_text("ab\nabc\n" + "x" * 10_000 + "\n\n" + "abcd" + end)
    with file.open() as stream:
        assert list(read_lines(stream, 3)) == ["ab", "abc", "xxxx", "", "abcd"]


def test_json_values_follow_one_another() -> None:
    text = ' {"a": [1, 2.5e3]}\n[]3 "x"  '
    assert list(parse_json_values(text, "file")) == [{"a": [1, 2500.0]}, [], 3, "x"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("{", ":1: not JSON"),
        ("1 2", "more than one"),
        ("\n\nnone", ":3: not JSON"),
        ("[" * 100_000, "nested"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested"),
        ("9" * (LONGEST_NUMBER + 1), "is too long"),
        ("9" * 10_000, "is too long"),
        ("1." + "9" * 10_000, "is too long"),
        ("NaN", "not a JSON number"),
        ("[-Infinity]", "not a JSON number"),
    ],
)
def test_what_is_no_sensible_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadFile, match=said) as caught:
        parse_json(text, "file.json")
    assert str(caught.value).startswith("file.json")
    assert len(str(caught.value)) < 200


def test_what_is_at_the_bounds_of_json_is_read() -> None:
    assert parse_json("9" * LONGEST_NUMBER, "file") == int("9" * LONGEST_NUMBER)
    parse_json("[" * DEEPEST + "]" * DEEPEST, "file")


COMMANDS = (
    ["config", "check"],
    ["robot", "check"],
    ["read", "--colours"],
    ["solve", "--scramble", "R", "--robot"],
    ["demo", "--robot"],
    ["calibration", "import"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("target", ["pipe", "/dev/zero"])
def test_commands_refuse_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], target: str
) -> None:
    path = tmp_path / "robot.yaml"
    os.mkfifo(path) if target == "pipe" else path.symlink_to(target)
    assert run([*command, str(path)]) == 2
    said = capsys.readouterr()
    assert "robot.yaml: cannot be read: it is a" in said.out + said.err


def test_as_many_moves_are_read_as_can_be_performed_at_once() -> None:
    assert len(parse_moves("R" * MOST_MOVES)) == MOST_MOVES
    with pytest.raises(BadNotation, match=f"more than {MOST_MOVES:,} moves"):
        parse_moves("R U" * MOST_MOVES)
    with pytest.raises(BadNotation, match="not a move"):
        parse_moves("9" * 5_000 + "R")


def test_an_endless_line_spoils_itself_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lines"
    file.write_text("R U " * 1_000_000 + "\nR U\n")
    with file.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code = run(["solve", "--scramble", "-", "--algorithm", "thistlethwaite", "--json"])
    assert code == 2
    refused, solved = map(json.loads, capsys.readouterr().out.splitlines())
    assert refused["error"] == "bad-notation"
    assert "moves" in solved


def test_cubes_larger_than_any_search_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "UUUUUU" * 101 * 101]) in {1, 2}
    assert run(["solve", solved(101)]) == 2
    assert "a cube of size 101" in capsys.readouterr().err
    assert run(["solve", "--algorithm", "heuristic-db", solved(41)]) == 2
    assert "up to 40 can be searched" in capsys.readouterr().err


def solved(size: int) -> str:
    return "".join(face * size**2 for face in "URFDLB")
