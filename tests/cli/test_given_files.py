"""Files that people name: whatever they lead to, they are read within bounds or refused."""

import json
import os
from pathlib import Path

import pytest

from robot.cli.main import run
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


@pytest.fixture(params=["pipe", "/dev/zero", "/dev/null", "folder", "dangling", "/dev/tty", "long"])
def strange(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path that leads to no ordinary file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    places = {"long": Path("n" * 5_000), "folder": tmp_path}
    return places.get(request.param, tmp_path / request.param)


def test_only_ordinary_files_are_read(strange):
    with pytest.raises(BadFile, match="cannot be read") as caught:
        read_file(strange, 1_000)
    assert str(strange) in str(caught.value)


def test_text_is_utf_8_with_or_without_a_mark(tmp_path):
    file = tmp_path / "file"
    for start in (b"", b"\xef\xbb\xbf"):
        file.write_bytes(start + "é".encode())
        assert read_text(file, 100) == "é"
    file.write_bytes("é".encode("latin-1"))
    with pytest.raises(BadFile, match="byte 1"):
        read_text(file, 100)


@pytest.mark.parametrize("end", ["\n", ""])
def test_long_lines_are_cut_and_passed_over(tmp_path, end):
    file = tmp_path / "lines"
    file.write_text("ab\nabc\n" + "x" * 10_000 + "\n\n" + "abcd" + end)
    with file.open() as stream:
        assert list(read_lines(stream, 3)) == ["ab", "abc", "xxxx", "", "abcd"]


def test_json_values_follow_one_another_within_bounds():
    text = ' {"a": [1, 2.5e3]}\n[]3 "x"  '
    assert list(parse_json_values(text, "file")) == [{"a": [1, 2500.0]}, [], 3, "x"]
    assert parse_json("9" * LONGEST_NUMBER, "file") == int("9" * LONGEST_NUMBER)
    parse_json("[" * DEEPEST + "]" * DEEPEST, "file")


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
def test_what_is_no_sensible_json_is_refused(text, said):
    with pytest.raises(BadFile, match=said) as caught:
        parse_json(text, "file.json")
    assert str(caught.value).startswith("file.json")
    assert len(str(caught.value)) < 200


def test_an_endless_line_spoils_itself_alone(tmp_path, capsys, monkeypatch):
    file = tmp_path / "lines"
    file.write_text("R U " * 1_000_000 + "\nR U\n")
    with file.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code = run(["solve", "--scramble", "-", "--algorithm", "thistlethwaite", "--json"])
    assert code == 2
    refused, solved = map(json.loads, capsys.readouterr().out.splitlines())
    assert refused["error"] == "bad-notation"
    assert "moves" in solved
