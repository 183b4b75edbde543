"""Measuring and reporting for the calibration commands, and the screen they may show instead."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import click

from robot.calibration.step import Items, Measurement, Row, Session, Step
from robot.cli.output import emit, note, require_terminal, shown_colour
from robot.cli.texts import value_text
from robot.settings import RobotProfile
from robot.text.faults import exit_code_of
from solver.errors import CubistError, ExitCode
from solver.files import JsonMapping

TAKE_OVER = "take-over"
"""Key in click's ``meta``: whether to end another person's calibration session."""

AT_REST = "The robot has stopped where it was; `cubist home` brings it to its start position."


def open_session(profile: RobotProfile | None = None) -> Session:
    """Return a session for this terminal; it takes over from another if the option says so."""
    take_over = click.get_current_context().meta.get(TAKE_OVER, False)
    return Session(profile=profile, at=_terminal_name(), take_over=take_over)


def _terminal_name() -> str:
    """Return the name of this terminal and the address of its computer: ``pts/3, 192.168.1.7``."""
    name = ""
    with contextlib.suppress(OSError):
        name = os.ttyname(sys.stdin.fileno()).removeprefix("/dev/")
    client = os.environ.get("SSH_CONNECTION", "").partition(" ")[0]
    return ", ".join(filter(None, (name or f"pid {os.getpid()}", client)))[:64]


@contextlib.contextmanager
def calibrating(session: Session) -> Iterator[None]:
    """Hold the robot in maintenance while the context lasts; Ctrl-C stops it at once.

    After Ctrl-C it prints which values were kept, and that the robot has stopped.
    """
    try:
        with session.maintenance():
            try:
                yield
            except KeyboardInterrupt:
                note("stopping: the robot finishes the turn in progress")
                with contextlib.suppress(CubistError):
                    session.stop()
                raise
    except KeyboardInterrupt:
        note(_describe_interruption(session))
        raise


def _describe_interruption(session: Session) -> str:
    """Describe the calibration in force after a calibration was interrupted.

    Kept values stay, since somebody has seen the robot with them. All of them are one version.
    """
    count = len(session.kept_keys)
    if count == 0:
        return f"The calibration from before stays in force. {AT_REST}"
    values = "1 value that was" if count == 1 else f"{count} values that were"
    undo = "`cubist calibration restore` takes back what this command kept"
    return f"{values} kept until then stay in force ({undo}). {AT_REST}"


def conduct(measurement: Measurement, as_json: bool) -> None:
    """Run a measurement: show its rows, and ask the person at the terminal."""
    script = measurement.measure()
    answer: bool | None = None
    with contextlib.suppress(StopIteration):
        while True:
            message = script.send(answer)
            answer = None
            if isinstance(message, Row):
                _show(message, measurement, as_json)
            elif sys.stdin.isatty() and sys.stderr.isatty():
                answer = click.confirm(message.question, err=True)


def _show(row: Row, measurement: Measurement, as_json: bool) -> None:
    if as_json:
        if row.document is not None:
            emit(row.document)
        return
    first, *others = row.cells
    colour = None if row.colour is None else shown_colour(row.colour)
    click.secho(first, bg=colour, fg=colour and "black", nl=False)
    named = zip(measurement.columns[1:], others, strict=True)
    click.echo("  " + ", ".join(f"{column} {cell}".strip() for column, cell in named))


def finish(measurement: Measurement, kept: bool, as_json: bool, **more: object) -> ExitCode:
    """Report the result and whether it was kept; return the exit code for it."""
    if as_json:
        saved = {"saved": kept} if measurement.keeps else {}
        emit(more | measurement.document | saved)
    elif measurement.text:
        note(measurement.text + ("" if kept or not measurement.values else " (not saved)"))
    if measurement.error is not None:
        code = exit_code_of(measurement.error)
        # The measurement made the request that was refused, not the person who typed the command.
        return ExitCode.NO if code is ExitCode.USAGE else code
    return ExitCode.DONE if measurement.is_found else ExitCode.NO


def calibrate_on_screen(
    session: Session,
    *steps: Step,
    items: Items | None = None,
    measurement: Measurement | None = None,
    as_json: bool = False,
) -> int:
    """Calibrate on the screen and report the changes; return the command's exit code.

    Shows these steps, with other ``items`` in their list, or one ``measurement``, else the menu.
    Raises ``UsageError`` if there is no terminal.
    """
    require_terminal("give all values on the command line, see `cubist calibrate --help`")
    from robot.cli.guide_screen import CalibrationApp
    from robot.guide.dialogs import measurement_dialog, step_dialog

    dialogs = [step_dialog(step, items) for step in steps]
    if measurement is not None:
        dialogs = [measurement_dialog(measurement)]
    before = session.calibration.values
    app = CalibrationApp(session, dialogs)
    with session.maintenance(app.guide.end):
        code = app.calibrate()
    if session.taken_over:
        note(str(session.taken_over["text"]))
        return ExitCode.STOPPED
    if app.guide.was_stopped:
        note(AT_REST)
    if code != 0:
        return ExitCode.STOPPED
    _report_changes(before, session.calibration.values, as_json)
    return ExitCode.DONE


def _report_changes(before: JsonMapping, after: JsonMapping, as_json: bool) -> None:
    if before == after and not as_json:
        note("nothing was changed")
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if as_json:
            emit({"key": key, "before": old, "after": new, "saved": True})
        else:
            note(f"{key}: {value_text(old)} -> {value_text(new)}")
