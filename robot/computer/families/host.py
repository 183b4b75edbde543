"""No board at all: the firmware as a process of this computer, for robots that are simulated."""

from __future__ import annotations

from pathlib import Path

from robot.computer.board_family import FAMILIES, BoardFamily, BoardSimulation, executable
from robot.settings import RobotProfile


class HostSimulation(BoardSimulation):
    """The portable firmware, which also stands for an Arduino's.

    It is the same program, without the hours that single instructions take.
    """

    about = "the build for this computer"
    runs_as_granted = True

    def command(self, profile: RobotProfile, folder: Path) -> list[str]:
        """Return the program."""
        del profile, folder
        return [executable("cubist-firmware-host")]


FAMILIES["host"] = BoardFamily(
    folder="host", targets=("host",), simulations={"host": HostSimulation()}
)
