"""Moving an actuator with the arrow keys until it is where it should be."""

from __future__ import annotations

from collections.abc import Callable

import click

STEPS = {
    "\x1b[A": 10,
    "\x1b[B": -10,
    "\x1b[C": 1,
    "\x1b[D": -1,
    "\x1b[5~": 50,
    "\x1b[6~": -50,
}
"""Up and down, right and left, page up and page down."""

HELP = "arrow keys move (up/down 10, left/right 1, page 50), Enter keeps, u undoes, q gives up"


def jog(
    move: Callable[[int], int], start: int, read_key: Callable[[], str] = click.getchar
) -> int | None:
    """Let a person move; the position they kept, or None when they gave up.

    ``move`` goes to a position and returns where it is then; what it refuses is told and undone.
    Giving up goes back to ``start``.
    """
    click.echo(HELP, err=True)
    passed = [move(start)]
    while True:
        click.echo(f"\r{passed[-1]:6d} ", nl=False, err=True)
        key = read_key()
        if key in {"\r", "\n"}:
            return passed[-1]
        if key in {"q", "\x03", "\x1b"}:
            move(start)
            return None
        _act(key, passed, move)


def _act(key: str, passed: list[int], move: Callable[[int], int]) -> None:
    from robot.daemon.client import RequestRefused

    if key == "u" and len(passed) > 1:
        passed.pop()
        move(passed[-1])
    elif key in STEPS:
        try:
            passed.append(move(passed[-1] + STEPS[key]))
        except RequestRefused as error:
            click.echo(f"\r{error}", err=True)
