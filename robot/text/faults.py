"""Everything that may go wrong with the robot, as errors.

Their table :data:`FAULTS` is read from ``fault_table.json``, which is generated from
``firmware/protocol.toml`` (board and link) and ``firmware/host_faults.toml`` (all others): reading
the two at every start takes fifty times as long, noticeable on a Pi Zero. The key is the stable
name of the fault, as in records and on the control socket. :mod:`robot.text.outcomes` has the exit
codes.
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

    ``recoverable``: homing and starting over may help. ``stops_at_once``: it ends motion in its
    middle. ``names_actuator``: its detail on the wire is the number of one.
    ``names_line``: it is the number of a GPIO. ``loses_outputs``: the board has to take its outputs
    anew.
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
    """Return the outcome of a job that ends by an error: the table's, else a fault."""
    row = FAULTS.get(error.code)
    return Outcome.FAULT if row is None else row.outcome


def exit_code_of(error: CubistError) -> ExitCode:
    """Return the exit code of an error: that of its class, else of the outcome it leads to.

    A bad profile is a fault of the daemon that met it, but bad usage of the command given it.
    """
    return exit_code(outcome_of(error)) if error.exit_code is None else error.exit_code


def describe(row: FaultRow, detail: str = "") -> str:
    """Return what happened and why: ``the end stop was never reached (lid): it is unplugged``."""
    where = f" ({detail})" if detail else ""
    return f"{row.about}{where}: {row.cause}"


class RobotError(CubistError, RuntimeError):
    """A fault of the robot or its link; ``code`` is one of :data:`FAULTS`.

    ``detail`` says where, as an actuator or a port. ``cause``, ``remedy`` and ``recoverable``
    (homing and starting over may help) are those of the table unless given.
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
    """The connection to the microcontroller failed; nothing is known of the robot's position."""


class Stopped(Exception):
    """A job, or the motion it was performing, was ended by ``stop``: not an error.

    All motion has come to rest.
    """


class CalibrationError(CubistError, RuntimeError):
    """A calibration that cannot be made; the text says why and what to do."""

    code = "calibration-error"
    exit_code = ExitCode.NO


class Conflict(CubistError, RuntimeError):
    """A request that the robot's present state does not allow: ask later, or stop it first."""

    code = "refused"
    exit_code = ExitCode.NO


class ScanError(CubistError, RuntimeError):
    """The camera shows no cube that is certain enough; ``look_again`` names doubtful faces.

    ``looks``: the looks that show something else than the cube, where a clear view is waited for.

    ``code`` names what it shows instead, if that is known, by a value of
    :class:`vision.reasons.ViewTrouble`, else ``unreadable``.
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
