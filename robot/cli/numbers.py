"""Types of numeric options: always with bounds, and never NaN."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from solver.errors import shortened

if TYPE_CHECKING:
    from robot.twin.misadjustment import Misadjustment

_LONGEST = 40
"""Maximum number of characters of a number; no range here needs more."""


class Whole(click.IntRange):
    """A whole number from ``low`` to ``high``."""

    def __init__(self, low: int, high: int) -> None:
        super().__init__(low, high)

    def convert(self, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; raises ``BadParameter`` for anything else."""
        _refuse_long(self, value, param, ctx)
        return int(super().convert(value, param, ctx))


class Number(click.FloatRange):
    """A number from ``low`` to ``high``; ``above``: more than ``low``."""

    def __init__(self, low: float, high: float, *, above: bool = False) -> None:
        super().__init__(low, high, min_open=above)

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; ``BadParameter`` for all else and ``nan``, which no range excludes."""
        _refuse_long(self, value, param, ctx)
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail("nan is not a number", param, ctx)
        return number


SEED = Whole(0, 2**32 - 1)
"""The type of seeds for random choices."""


def _refuse_long(
    kind: Whole | Number, value: object, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    """Reject numbers of thousands of digits, which neither Python nor a person wants to read."""
    if isinstance(value, str) and len(value) > _LONGEST:
        kind.fail(f"{shortened(value)!r} is too long for a number", param, ctx)


def _misadjustment(_: click.Context, __: click.Parameter, text: str | None) -> Misadjustment | None:
    from robot.twin.misadjustment import parse_misadjustment

    return None if text is None else parse_misadjustment(text)


size_option = click.option(
    "--size",
    type=Whole(2, 7),
    help="Layers of the cube, for a robot that takes several sizes.  [default: the profile's]",
)
misadjust_option = click.option(
    "--misadjust",
    "misadjusted",
    metavar="SEED[:SCALE]",
    callback=_misadjustment,
    help="Simulate a badly adjusted robot; each seed makes a different one.",
)


class RegisteredName(click.Choice[str]):
    """A choice among the names that a registry has when the command runs."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        """The names."""
        return tuple(self._names())

    @choices.setter
    def choices(self, fixed: tuple[str, ...]) -> None:
        """Ignore the fixed choices that click sets."""
