"""Whether a command asks a person on a terminal, and what it says of their answers afterwards."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from robot.cli.numbers import Whole
from robot.cli.output import emit, json_option, note
from robot.cli.positions import present, set_position, tell
from robot.client import ControlClient
from robot.outcomes import ExitCode

if TYPE_CHECKING:
    from robot.cli.guide.screens import StepScreen
    from robot.settings import RobotProfile


@dataclass(frozen=True)
class Placing:
    """What a command that sets a position was told; a ``target`` of None is asked for."""

    target: int | None
    save: bool
    profile: str | None
    as_json: bool
    begin_at: int | None = None


def position_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add what commands that set a position have in common, as the argument ``placing``."""

    @functools.wraps(command)
    def placed(
        *arguments: Any,
        target: int | None,
        save: bool,
        profile: str | None,
        as_json: bool,
        begin_at: int | None,
        **others: Any,
    ) -> int:
        placing = Placing(target, save, profile, as_json, begin_at)
        return command(*arguments, placing=placing, **others)

    for option in (
        json_option,
        click.option("--robot", "profile", help="The daemon's profile, where it is not the usual."),
        click.option("--save/--try", default=True, help="Keep the value, or only move there."),
        click.option(
            "--from",
            "begin_at",
            type=Whole(-1_000_000, 1_000_000),
            help="First pulse of a servo that was never moved: it jumps there; take its arm off.",
        ),
        click.option(
            "--to",
            "target",
            type=Whole(-1_000_000, 1_000_000),
            help="Where it should be; else arrow keys move.",
        ),
    ):
        placed = option(placed)
    return placed


def set_or_ask(key: str, placing: Placing) -> int:
    """Set a position, with the arrow keys where there is no target; the command's exit code."""
    if placing.target is not None:
        done = set_position(key, placing.target, placing.save, placing.profile, placing.begin_at)
        tell(done, placing.as_json)
        return ExitCode.DONE
    present(ControlClient(), key, placing.profile)
    return interactively(key, placing.profile, placing.as_json)


def interactively(what: str | None, profile: str | None, as_json: bool) -> int:
    """Calibrate on the screen: a kind of thing, one position by its key, or from the menu (None).

    Raises ``UsageError`` where there is no terminal.
    """
    require_terminal("say all of it on the command line, see `cubist calibrate --help`")
    from robot.settings import load_profile

    name = profile or ControlClient().call("GET", "/calibration")["robot"]
    return show_screens(load_profile(name), [what] if what else [], as_json)


def require_terminal(otherwise: str) -> None:
    """Raise ``UsageError`` where nobody sits at a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(f"there is no terminal to ask at: {otherwise}")


def show_screens(robot: RobotProfile, which: Sequence[str], as_json: bool) -> int:
    """The calibration's screens, the menu when none is named; then tell what was changed."""
    from robot.cli.guide.app import CalibrationApp
    from robot.cli.guide.session import in_maintenance

    before = _values()
    with in_maintenance(robot) as session:
        app = CalibrationApp(session, [_screen(name, robot, session) for name in which])
        code = app.run()
    if code != 0:
        return ExitCode.STOPPED
    _tell_changes(before, _values(), as_json)
    return ExitCode.DONE


def _screen(name: str, robot: RobotProfile, session: Any) -> Callable[[], StepScreen]:
    from robot.cli.guide.app import jog_screen, screens_for

    if "." not in name:
        return screens_for(name, robot)
    return jog_screen(next(one for one in session.positions() if one.key == name))


def _values() -> dict[str, Any]:
    found: dict[str, Any] = ControlClient().call("GET", "/calibration")["values"]
    return found


def _tell_changes(before: dict[str, Any], after: dict[str, Any], as_json: bool) -> None:
    if before == after and not as_json:
        note("nothing was changed")
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if as_json:
            emit({"key": key, "before": old, "after": new, "saved": True})
        else:
            note(f"{key}: {_text(old)} -> {_text(new)}")


def _text(value: Any) -> str:
    return "as in the profile" if value is None else str(value)
