"""Whatever stands behind `cubist`, or in a file of colours: an answer or a complaint."""

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
"""Options, last of all, that keep what is right after all from taking long."""

LEFT_OUT = ("firmware", "logs", "doctor", "simulate", "shutdown")
"""They start other programs, or ask the machine rather than their arguments."""


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
    """A command with some of its options and arguments, whose values are anything."""
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
    """A folder with pipes in it, no daemon, and nobody at the keyboard."""
    monkeypatch.chdir(tmp_path)
    for name in ("pipe", "pipe.yaml"):
        os.mkfifo(tmp_path / name)
    for name in ("CUBIST_RUNTIME_DIR", "CUBIST_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    return tmp_path


def outcome(words: list[str]) -> tuple[int, str]:
    """Exit code of a command, and all that it said."""
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


NUMBERS = st.one_of(
    st.integers(0, 255),
    st.integers(),
    st.floats(),
    st.sampled_from([10**400, -(10**29), 10**29, True, None, "1", [], {}, "9" * 50]),
)


@st.composite
def colour_documents(draw: st.DrawFn) -> str:
    """Colours of a cube, nearly always with something wrong."""
    count = draw(st.sampled_from([54, 54, 54, 24, 96, 1, 0, 53]))
    rgb: list[object] = [[30, 60 + n, 200 - n] for n in range(count)]
    for _ in range(draw(st.integers(0, 2)) if rgb else 0):
        at = draw(st.integers(0, len(rgb) - 1))
        rgb[at] = draw(st.one_of(st.lists(NUMBERS, min_size=2, max_size=4), NUMBERS))
    document: dict[str, object] = {"rgb": draw(st.sampled_from([rgb, rgb, rgb, {}, None, 10**400]))}
    if draw(st.booleans()):
        document["size"] = draw(NUMBERS)
    text = json.dumps(document)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(text)))
        hostile = ["[" * 5_000, "9" * 5_000, "NaN", "\ud800", "\\ud800", "}", '"', "\0"]
        text = text[:at] + draw(st.sampled_from(hostile)) + text[at:]
    return text


@settings(max_examples=150, suppress_health_check=FIXTURE)
@given(colour_documents(), st.booleans())
def test_any_colours_are_answered(surroundings, text, as_json):
    file = surroundings / "scan.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert_answered(["read", "--colours", str(file), *(["--json"] if as_json else [])])


@pytest.mark.parametrize(("name", "command"), EVERY.items())
def test_every_number_has_bounds(name, command):
    for parameter in command.params:
        kind = parameter.type
        if parameter.name == "count" and getattr(parameter, "count", False):
            continue
        if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
            assert isinstance(kind, Whole | Number), f"{name}: {parameter.name}"
            assert kind.min is not None
            assert kind.max is not None
