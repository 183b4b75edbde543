"""Everything that may go wrong with the robot, as errors.

Their table :data:`FAULTS` is generated: the rows of the microcontroller and its link come from
``firmware/protocol.toml``, which is also what the firmware is built from, all others from
``firmware/host_faults.toml``. The key is the stable name of the fault, as in records and on the
control socket. :mod:`robot.text.outcomes` has the exit codes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from robot.text.fault_table import FAULTS, Fault, FaultRow
from robot.text.outcomes import Outcome
from solver.errors import CubistError

__all__ = ["FAULTS", "Fault", "FaultRow", "LinkFault", "RobotFault", "Stopped"]


def code_of(fault: Fault) -> str:
    """The stable name of a fault that has a number on the wire: ``not-in-place``."""
    return fault.name.lower().replace("_", "-")


def fault_code(error: CubistError) -> str:
    """The stable name of an error: its own ``code``, or that of its class (``search-failed``)."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()
    return str(getattr(error, "code", name))


def outcome_of(error: CubistError) -> Outcome:
    """How a job ends by an error: as the table says, else by a fault."""
    row = FAULTS.get(fault_code(error))
    return Outcome.FAULT if row is None else row.outcome


def described(row: FaultRow, detail: str = "") -> str:
    """What happened and why: ``the end stop was never reached (lid): the end stop is ...``."""
    where = f" ({detail})" if detail else ""
    return f"{row.about}{where}: {row.cause}"


def advised(what: str, remedy: str) -> str:
    """What happened, and what to do about it."""
    return f"{what.rstrip('.')}. What to do: {remedy.rstrip('.')}." if remedy else what


class RobotFault(CubistError, RuntimeError):
    """A fault of the microcontroller or its link; ``detail`` says which actuator or port.

    ``fault`` has its number on the wire, ``code`` is its stable name.
    """

    def __init__(self, fault: Fault, detail: str = "") -> None:
        row = FAULTS[code_of(fault)]
        super().__init__(advised(described(row, detail), row.remedy))
        self.fault = fault
        self.code = code_of(fault)
        self.about = row.about
        self.cause = row.cause
        self.remedy = row.remedy
        self.detail = detail


class LinkFault(RobotFault, ConnectionError):
    """The connection to the microcontroller failed; nothing is known of the robot's position."""


class Stopped(RobotFault):
    """A plan was ended by a person before its end; all motion has come to rest."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(Fault.STOPPED, detail)


class MotionFault(CubistError, RuntimeError):
    """The robot or its link failed; ``code`` is one of :data:`FAULTS`.

    ``detail`` says where, as an actuator or a port.
    What is not said of this one - ``cause``, ``remedy``, and whether it is ``recoverable``, that is
    whether homing and starting over may help - is as the table has it.
    """

    def __init__(
        self,
        code: str,
        cause: str = "",
        remedy: str = "",
        *,
        detail: str = "",
        recoverable: bool | None = None,
    ) -> None:
        row = FAULTS[code]
        self.code = code
        self.detail = detail
        self.cause = cause or described(row, detail)
        self.remedy = remedy or row.remedy
        self.recoverable = row.recoverable if recoverable is None else recoverable
        super().__init__(advised(self.cause, self.remedy))

    @classmethod
    def of(cls, fault: RobotFault) -> MotionFault:
        """A fault of the microcontroller or its link, as people are told of it."""
        return cls(fault.code, detail=fault.detail)


class Refused(CubistError, RuntimeError):
    """A request that the daemon's present state does not allow."""


class InvalidRequest(CubistError, ValueError):
    """Something asked for that this robot does not have or that has no meaning; nothing moved."""


class RunStopped(Exception):
    """A job, or the motion it was performing, was ended by ``stop``: not an error."""


class NotReadable(CubistError, RuntimeError):
    """What the camera shows is no cube we can be sure of; ``look_again`` names doubtful faces.

    ``code`` says what it shows instead, as far as that can be told: ``no-cube``, ``two-cubes``,
    ``wrong-size``, ``face-covered``, else ``unreadable``.
    """

    def __init__(
        self,
        reason: str,
        look_again: Sequence[str] = (),
        code: str = "unreadable",
        remedy: str = "",
    ) -> None:
        super().__init__(reason)
        self.look_again = tuple(look_again)
        self.code = code
        self.remedy = remedy or FAULTS[code].remedy
