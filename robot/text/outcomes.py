"""Ends of jobs and commands: every outcome with its meaning and its exit code, in one table.

A command's exit code follows from the outcome it reports, so that an outcome has the same code in
every command. Faults (:mod:`robot.text.faults`) name the outcome they lead to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from solver.errors import ExitCode


class Outcome(StrEnum):
    """The outcome of a job, by its name in records and in JSON."""

    SOLVED = "solved"
    ALREADY_SOLVED = "already-solved"
    DONE = "done"
    NOT_SOLVED = "not-solved"
    UNREADABLE = "unreadable"
    NO_CUBE = "no-cube"
    TWO_CUBES = "two-cubes"
    WRONG_SIZE = "wrong-size"
    FACE_COVERED = "face-covered"
    REFLECTION = "reflection"
    TOO_BRIGHT = "too-bright"
    TOO_DARK = "too-dark"
    BLURRED = "blurred"
    CUT_OFF = "cut-off"
    SLIPPED = "slipped"
    JAMMED = "jammed"
    NOT_CONFIRMED = "not-confirmed"
    NO_SOLUTION = "no-solution"
    STOPPED = "stopped"
    FAULT = "fault"
    INTERRUPTED = "interrupted"


class OutcomeRow(NamedTuple):
    """The meaning of an outcome, to print after ``the job ended:``, and the exit code."""

    about: str
    exit_code: ExitCode


OUTCOMES: Mapping[Outcome, OutcomeRow] = {
    Outcome.SOLVED: OutcomeRow("the camera sees a solved cube", ExitCode.DONE),
    Outcome.ALREADY_SOLVED: OutcomeRow("the cube was solved before anything moved", ExitCode.DONE),
    Outcome.DONE: OutcomeRow(
        "homed, scrambled or made a pattern, or turned with no check requested", ExitCode.DONE
    ),
    Outcome.NOT_SOLVED: OutcomeRow(
        "turned as planned, and again, and still not solved", ExitCode.NO
    ),
    Outcome.UNREADABLE: OutcomeRow(
        "the camera cannot read the cube with enough certainty, even after looking again",
        ExitCode.NO,
    ),
    Outcome.NO_CUBE: OutcomeRow("the camera sees no cube", ExitCode.NO),
    Outcome.TWO_CUBES: OutcomeRow("the camera sees more than one cube", ExitCode.NO),
    Outcome.WRONG_SIZE: OutcomeRow("the camera sees a cube of another size", ExitCode.NO),
    Outcome.FACE_COVERED: OutcomeRow(
        "a hand, or something else, is in front of the cube", ExitCode.NO
    ),
    Outcome.REFLECTION: OutcomeRow("a lamp is reflected in the cube", ExitCode.NO),
    Outcome.TOO_BRIGHT: OutcomeRow("the camera's picture is too bright", ExitCode.NO),
    Outcome.TOO_DARK: OutcomeRow("the camera's picture is too dark", ExitCode.NO),
    Outcome.BLURRED: OutcomeRow("the camera's picture is blurred", ExitCode.NO),
    Outcome.CUT_OFF: OutcomeRow("the camera sees only a part of the face", ExitCode.NO),
    Outcome.SLIPPED: OutcomeRow(
        "the cube did not move as it should have, even after homing and starting over",
        ExitCode.FAILED,
    ),
    Outcome.JAMMED: OutcomeRow(
        "a motor did not reach its end stop or index sensor, or does not leave it", ExitCode.FAILED
    ),
    Outcome.NOT_CONFIRMED: OutcomeRow(
        "nobody has confirmed yet where the robot may go; nothing moved", ExitCode.NO
    ),
    Outcome.NO_SOLUTION: OutcomeRow("the search found no solution in its time", ExitCode.STOPPED),
    Outcome.STOPPED: OutcomeRow("stopped by a person", ExitCode.STOPPED),
    Outcome.FAULT: OutcomeRow("another fault of the robot or its link", ExitCode.FAILED),
    Outcome.INTERRUPTED: OutcomeRow("the daemon ended before the job did", ExitCode.FAILED),
}
"""Every outcome. A record that is still open (no outcome) belongs to a daemon that is gone."""


def exit_code(outcome: str | None, *, good: bool = True) -> ExitCode:
    """Return the exit code of an outcome; None is that of a record still open.

    ``good``: whether the command's other conditions hold. If not, "done" becomes "no".
    """
    code = OUTCOMES[Outcome(outcome or Outcome.INTERRUPTED)].exit_code
    return ExitCode.NO if code is ExitCode.DONE and not good else code


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the exit code of several results: the one that most needs a person."""
    found = set(codes)
    order = (ExitCode.FAILED, ExitCode.USAGE, ExitCode.STOPPED, ExitCode.NO)
    return next((code for code in order if code in found), ExitCode.DONE)


def is_success(outcome: str | None) -> bool:
    """Return True if a job with this outcome has reached its goal."""
    return exit_code(outcome) is ExitCode.DONE


def before_the_end(troubles: Sequence[str], reason: str) -> list[str]:
    """Return a run's troubles without repetitions and without the one that ended it."""
    return [each for each in dict.fromkeys(troubles) if not (reason and each.endswith(reason))]
