"""All faults of the robot, as errors.

Their table :data:`FAULTS` is read from ``fault_table.json``, which is generated from
``firmware/protocol.toml`` (board and link) and ``firmware/host_faults.toml`` (all others). Reading
those two at every start would take fifty times as long, noticeable on a Pi Zero. The key is the
stable name of the fault, as in records and on the control socket. :mod:`robot.text.outcomes` has
the exit codes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from robot.text.fault_numbers import Fault
from robot.text.outcomes import Outcome, exit_code
from solver.errors import CubistError, ExitCode

__all__ = ["FAULTS", "Fault", "FaultRow", "LinkError", "RobotError", "Stopped"]


class FaultRow(NamedTuple):
    """A fault, its usual cause, the remedy, and the outcome of a job that it ends.

    ``recoverable``: homing and starting over may help. ``stops_at_once``: it ends motion at once.
    ``names_actuator``: its detail on the wire is an actuator's number; ``names_line``: a GPIO's.
    ``loses_outputs``: the board has to acquire its outputs again.
    """

    about: str
    cause: str
    remedy: str
    outcome: Outcome
    recoverable: bool = False
    stops_at_once: bool = False
    names_actuator: bool = False
    loses_outputs: bool = False
    names_line: bool = False


def _load_table() -> Mapping[str, FaultRow]:
    rows = json.loads(Path(__file__).with_name("fault_table.json").read_text(encoding="utf-8"))
    return {
        code: FaultRow(**row | {"outcome": Outcome(row["outcome"])}) for code, row in rows.items()
    }


FAULTS = _load_table()
"""Every fault by its stable name."""


def code_of(fault: Fault) -> str:
    """Return the stable name of a fault that has a number on the wire: ``not-in-place``."""
    return fault.name.lower().replace("_", "-")


def outcome_of(error: CubistError) -> Outcome:
    """Return the outcome of a job that ends with an error: the table's, else a fault."""
    row = FAULTS.get(error.code)
    return Outcome.FAULT if row is None else row.outcome


def exit_code_of(error: CubistError) -> ExitCode:
    """Return the exit code of an error: its class's, else that of the outcome it leads to.

    A bad profile is a fault in the daemon, but bad usage in a command that was given it.
    """
    return exit_code(outcome_of(error)) if error.exit_code is None else error.exit_code


def describe(row: FaultRow, detail: str = "") -> str:
    """Return the fault and its cause: ``the end stop was never reached (lid): it is unplugged``."""
    where = f" ({detail})" if detail else ""
    return f"{row.about}{where}: {row.cause}"


class RobotError(CubistError, RuntimeError):
    """A fault of the robot or its link; ``code`` is one of :data:`FAULTS`.

    ``detail``: the place, such as an actuator or a port. ``cause``, ``remedy`` and ``recoverable``
    (homing and starting over may help) default to those of the table.
    """

    exit_code = None

    def __init__(
        self,
        fault: Fault | str,
        cause: str = "",
        remedy: str = "",
        *,
        detail: str = "",
        recoverable: bool | None = None,
    ) -> None:
        code = fault if isinstance(fault, str) else code_of(fault)
        row = FAULTS[code]
        super().__init__(
            cause or describe(row, detail), remedy or row.remedy, code=code, detail=detail
        )
        self.recoverable = row.recoverable if recoverable is None else recoverable


class LinkError(RobotError):
    """The connection to the microcontroller failed; the robot's position is unknown."""


class Stopped(Exception):
    """A ``stop`` ended a job, or its present motion: not an error.

    All motion has come to rest.
    """


class CalibrationError(CubistError, RuntimeError):
    """A calibration that is not possible; the text has the reason and the remedy."""

    code = "calibration-error"
    exit_code = ExitCode.NO


class Conflict(CubistError, RuntimeError):
    """A request that the robot's present state does not allow: try later, or stop it first."""

    code = "refused"
    exit_code = ExitCode.NO


class ScanError(CubistError, RuntimeError):
    """The camera shows no cube that is certain enough; ``look_again`` names doubtful faces.

    ``looks``: those that show something other than the cube, for which to wait for a clear view.
    ``code``: a value of :class:`vision.reasons.ViewTrouble` if the trouble is known, else
    ``unreadable``.
    """

    exit_code = None

    def __init__(
        self,
        reason: str,
        look_again: Sequence[str] = (),
        code: str = "unreadable",
        remedy: str = "",
    ) -> None:
        super().__init__(reason, code=code)
        self.look_again = tuple(look_again)
        self.looks: Sequence[Any] = ()
        self.remedy = remedy or FAULTS[code].remedy
