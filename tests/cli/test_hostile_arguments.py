"""Any arguments of `cubist`, and any file that people name, get an answer or a complaint."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robot.cli.main import COMMANDS, cubist, run
from robot.cli.numbers import Number, Whole
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

FIXTURE = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
HOSTILE = [
    *("", "-", "--", "0", "1", "3", "-1", "9" * 5_000, "-" + "9" * 400, "nan", "inf", "1e400"),
    *("é", "\udcff", "\n", "x" * 5_000, "/dev/zero", "/dev/null", ".", "pipe", "%s", "[red]", "{}"),
    *("R U", "R" * 30_000, "U" * 54, "none.yaml", "cubotino", "pipe.yaml", "{", "'", "@", "--json"),
]
BRIEF = {
    "solve": ["--time-limit", "0.01", "--tables", "default", "--threads", "1"],
    "robot check": ["--cubes", "0"],
    "robot compare": ["--cubes", "0"],
    "demo": ["--speed", "0"],
    "simulate": ["--speed", "0"],
    "calibrate auto": ["--real"],
}
"""Options appended so that arguments that turn out valid do not take long."""

LEFT_OUT = ("firmware", "logs", "doctor", "simulate", "shutdown")
"""Commands that start other programs, or query the machine rather than their arguments."""


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cubist)
    pending = [(name, cubist.get_command(context, name)) for name in sorted(COMMANDS)]
    while pending:
        name, command = pending.pop(0)
        if isinstance(command, click.Group):
            keys = command.list_commands(context)
            pending += [(f"{name} {key}", command.get_command(context, key)) for key in keys]
        if command is not None:
            yield name, command


EVERY = dict(commands())
TRIED = sorted(name for name in EVERY if name.split()[0] not in LEFT_OUT)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """Draw a command with some of its options and arguments, with any values."""
    name = draw(st.sampled_from(TRIED))
    words = name.split()
    value = st.one_of(
        st.sampled_from(HOSTILE), st.text(max_size=8).map(lambda text: text.replace("\0", ""))
    )
    for parameter in EVERY[name].params:
        if isinstance(parameter, click.Argument):
            words += draw(st.lists(value, min_size=int(parameter.required), max_size=1))
        elif draw(st.integers(0, 3)) == 0:
            words.append(draw(st.sampled_from(parameter.opts)))
            if not getattr(parameter, "is_flag", False):
                words.append(draw(value))
    return words + BRIEF.get(name, [])


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with pipes in it. No daemon runs, and nobody is at the keyboard."""
    monkeypatch.chdir(tmp_path)
    for name in ("pipe", "pipe.yaml"):
        os.mkfifo(tmp_path / name)
    for name in ("CUBIST_RUNTIME_DIR", "CUBIST_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    return tmp_path


def outcome(words: list[str]) -> tuple[int, str]:
    """Return the exit code of a command and all of its output."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace") for _ in range(2))
    before, sys.stdin = sys.stdin, io.StringIO("")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(words)
    finally:
        sys.stdin = before
    for stream in (out, err):
        stream.flush()
    said = b"".join(stream.buffer.getvalue() for stream in (out, err))
    return code, said.decode("utf-8", "replace")


def assert_answered(words: list[str]) -> None:
    code, said = outcome(words)
    assert "Traceback" not in said, words
    assert "internal error" not in said, (words, said)
    nobody_there = "cubistd is not running" in said or "no page is served" in said
    assert code in {0, 1, 2, 4} or nobody_there, (words, said)
    assert said.strip() or code == 0, words


@pytest.mark.parametrize("count", [250, pytest.param(5_000, marks=pytest.mark.long)])
@pytest.mark.timeout(1800)
def test_any_arguments_are_answered(surroundings, count):
    assert surroundings.is_dir()
    run_with_examples = settings(max_examples=count, suppress_health_check=FIXTURE)
    run_with_examples(given(command_lines())(assert_answered))()


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "--scramble", "R", "--target", "9" * 99],
        ["solve", "--scramble", "R", "--depth", "9" * 99, "--algorithm", "heuristic-db"],
        ["demo", "--seed", "-1"],
        ["runs", "show", "9" * 5_000],
        ["runs", "show", "²"],
        ["solve", "".join(face * 101**2 for face in "URFDLB")],
        ["solve", "--algorithm", "heuristic-db", "".join(face * 41**2 for face in "URFDLB")],
    ],
)
def test_too_much_is_bad_usage(surroundings, words):
    assert surroundings.is_dir()
    assert outcome(words)[0] == 2
    assert_answered(words)


@pytest.mark.parametrize(("name", "command"), EVERY.items())
def test_every_number_has_bounds(name, command):
    for parameter in command.params:
        kind = parameter.type
        if parameter.name == "count" and getattr(parameter, "count", False):
            continue
        if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
            assert isinstance(kind, Whole | Number), f"{name}: {parameter.name}"
            assert None not in (kind.min, kind.max)


@pytest.fixture(params=["pipe", "/dev/zero", "/dev/null", "folder", "dangling", "/dev/tty", "long"])
def strange(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a path that leads to no ordinary file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    places = {"long": Path("n" * 5_000), "folder": tmp_path}
    return places.get(request.param, tmp_path / request.param)


def test_only_ordinary_files_are_read(strange):
    with pytest.raises(BadFile, match="cannot be read") as caught:
        read_file(strange, 1_000)
    assert str(strange) in str(caught.value)


@pytest.mark.timeout(20)
def test_a_pipe_that_takes_a_file_s_place_is_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    ordinary = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda *_, **__: ordinary)
    with pytest.raises(BadFile, match="cannot be read"):
        read_file(tmp_path / "pipe", 1_000)


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
