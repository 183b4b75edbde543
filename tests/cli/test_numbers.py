"""Numbers on the command line: every option has bounds, and says so when they are left."""

import math
from collections.abc import Iterator

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.cli.main import COMMANDS, cubist
from robot.cli.numbers import SEED, Number, Whole
from robot.cli.solve import LARGEST_SIZE
from solver.reduction.search import LARGEST


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Commands, with those within groups, by what a person types."""
    context = click.Context(cubist)
    pending = [(name, cubist.get_command(context, name)) for name in COMMANDS]
    while pending:
        name, command = pending.pop()
        if command is None:
            continue
        yield name, command
        if isinstance(command, click.Group):
            keys = command.list_commands(context)
            pending += [(f"{name} {key}", command.get_command(context, key)) for key in keys]


@pytest.mark.parametrize(("name", "command"), list(every_command()))
def test_every_number_has_bounds(name: str, command: click.Command) -> None:
    for parameter in command.params:
        kind = parameter.type
        if parameter.name == "count" and getattr(parameter, "count", False):
            continue
        if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
            assert isinstance(kind, Whole | Number), f"{name}: {parameter.name}"
            assert kind.min is not None
            assert kind.max is not None


def converted(kind: click.ParamType, text: str) -> float | None:
    try:
        return kind.convert(text, None, None)
    except click.BadParameter as error:
        assert len(error.format_message()) < 200
        return None


@given(st.one_of(st.integers().map(str), st.floats().map(repr), st.text(max_size=60)))
def test_only_numbers_between_the_bounds_pass(text: str) -> None:
    whole = converted(Whole(1, 9), text)
    assert whole is None or (isinstance(whole, int) and 1 <= whole <= 9)
    number = converted(Number(0, 9, above=True), text)
    assert number is None or 0 < number <= 9


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "9" * 5_000, "1e400", "", "0x5", "-1"])
def test_what_is_no_number_is_refused(text: str) -> None:
    assert converted(Whole(0, 5), text) is None
    assert converted(Number(0, 5), text) is None


def test_bounds_themselves_pass() -> None:
    assert converted(Whole(2, 7), "2") == 2
    assert converted(Whole(2, 7), "7") == 7
    assert converted(Number(0.5, 7), "0.5") == 0.5
    assert converted(Number(0.5, 7, above=True), "0.5") is None
    assert converted(SEED, "0") == 0
    assert math.isclose(converted(Number(0, 7), "6.9999") or 0, 6.9999)


def test_the_largest_cube_is_the_same_everywhere() -> None:
    assert LARGEST_SIZE == LARGEST
