"""What can go wrong with the robot's muscles and their link: name, cause and remedy."""

from __future__ import annotations

from robot.fault_table import FAULTS, Fault
from solver.errors import CubistError

__all__ = ["FAULTS", "Fault", "LinkFault", "RobotFault", "Stopped"]


class RobotFault(CubistError, RuntimeError):
    """A fault of the robot; ``detail`` says which actuator or port, ``code`` is its number."""

    def __init__(self, fault: Fault, detail: str = "") -> None:
        text = FAULTS[fault]
        where = f" ({detail})" if detail else ""
        super().__init__(f"{text.about}{where}: {text.cause}. What to do: {text.remedy}.")
        self.fault = fault
        self.code = int(fault)
        self.name = fault.name.lower().replace("_", "-")
        self.about = text.about
        self.cause = text.cause
        self.remedy = text.remedy
        self.detail = detail


class LinkFault(RobotFault, ConnectionError):
    """The connection to the microcontroller failed; nothing is known of the robot's position."""


class Stopped(RobotFault):
    """A plan was ended by a person before its end; all motion has come to rest."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(Fault.STOPPED, detail)
