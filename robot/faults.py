"""Everything that may go wrong with the robot, in one table: cause, remedy and how a job ends.

The rows of the microcontroller and its link come from ``firmware/protocol.toml``, which is also
what the firmware is built from; all others stand here. The key is the stable name of the fault, as
in records and on the control socket. :mod:`robot.outcomes` has the exit codes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from robot.fault_table import WIRE_FAULTS, Fault, FaultRow
from robot.outcomes import Outcome
from solver.errors import CubistError

__all__ = ["FAULTS", "Fault", "FaultRow", "LinkFault", "RobotFault", "Stopped"]


def code_of(fault: Fault) -> str:
    """The stable name of a fault that has a number on the wire: ``not-in-place``."""
    return fault.name.lower().replace("_", "-")


def _of_camera(about: str, cause: str, remedy: str) -> FaultRow:
    return FaultRow(about, cause, remedy, Outcome.FAULT, recoverable=False)


def _in_view(about: str, remedy: str, outcome: Outcome) -> FaultRow:
    return FaultRow(about, "it is what the camera shows", remedy, outcome, recoverable=False)


FAULTS: Mapping[str, FaultRow] = {
    **{code_of(fault): row for fault, row in WIRE_FAULTS.items()},
    "cube-slipped": FaultRow(
        "the cube did not move as it should have",
        "it sits askew or is hard to turn, or a motor is jammed",
        "see that the cube sits straight and turns freely, and that no motor is jammed, then start "
        "again",
        Outcome.SLIPPED,
        recoverable=True,
    ),
    "unreadable": _in_view(
        "the cube cannot be read",
        "clean the lens, check the light and that the cube sits well, then start again",
        Outcome.UNREADABLE,
    ),
    "no-cube": _in_view("no cube is in view", "put a cube in, then start again", Outcome.NO_CUBE),
    "two-cubes": _in_view(
        "more than one cube is in view",
        "leave only the cube that is to be solved in the camera's view, then start again",
        Outcome.TWO_CUBES,
    ),
    "wrong-size": _in_view(
        "the cube is of another size",
        "put a cube in of the size the robot is for, then start again",
        Outcome.WRONG_SIZE,
    ),
    "face-covered": _in_view(
        "something is in front of the cube",
        "take your hands and whatever else is in the way out of the robot, then start again",
        Outcome.FACE_COVERED,
    ),
    "camera-absent": _of_camera(
        "the camera is not there",
        "its cable is loose, or the profile names another one",
        "check the cable and the camera's name in the robot profile",
    ),
    "camera-busy": _of_camera(
        "the camera is in use",
        "another program has it",
        "stop the other program that uses it (another cubistd?)",
    ),
    "camera-vanished": _of_camera(
        "the camera went away",
        "its cable or its supply failed",
        "check cable and power supply, then start again",
    ),
    "camera-black": _of_camera(
        "the camera's pictures are black",
        "the lens is covered, or there is no light",
        "take the lens cap off, switch the light on, check the cable",
    ),
    "camera-frozen": _of_camera(
        "the camera shows the same picture again and again",
        "its driver hangs",
        "unplug the camera and plug it in again",
    ),
    "camera-stale": _of_camera(
        "the camera's pictures come too late",
        "the computer is too busy or the camera too slow",
        "lower the camera's resolution in the profile",
    ),
    "camera-empty": _of_camera(
        "there are no photographs to show",
        "the folder is empty",
        "put photographs into the folder",
    ),
    "button-stuck": FaultRow(
        "a button or touch pad is pressed all the time",
        "something lies on it, a wire is shorted, or its polarity is set wrong",
        "free it; check its wires, and start_button_active or pads_active in the profile",
        Outcome.FAULT,
        recoverable=False,
    ),
    "panel-failed": FaultRow(
        "the panel's pins cannot be used any more",
        "another program took them, or their library failed",
        "stop what uses them (`gpioinfo` shows it), then restart the service cubistd",
        Outcome.FAULT,
        recoverable=False,
    ),
    "search-failed": FaultRow(
        "no solution was found",
        "the search ended before it found one",
        "allow it more time",
        Outcome.NO_SOLUTION,
        recoverable=False,
    ),
    "internal": FaultRow(
        "an internal error",
        "a mistake in this program",
        "start again; report it with the journal (`cubist logs`) if it comes again",
        Outcome.FAULT,
        recoverable=False,
    ),
}
"""Every fault by its stable name."""


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
        row = WIRE_FAULTS[fault]
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

    What is not said of this one - ``cause``, ``remedy``, and whether it is ``recoverable``, that is
    whether homing and starting over may help - is as the table has it.
    """

    def __init__(
        self, code: str, cause: str = "", remedy: str = "", *, recoverable: bool | None = None
    ) -> None:
        row = FAULTS[code]
        self.code = code
        self.cause = cause or described(row)
        self.remedy = remedy or row.remedy
        self.recoverable = row.recoverable if recoverable is None else recoverable
        super().__init__(advised(self.cause, self.remedy))


class Refused(CubistError, RuntimeError):
    """A request that the daemon's present state does not allow."""
