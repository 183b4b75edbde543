"""No board at all: the firmware as a process of this computer, for robots that are simulated."""

from __future__ import annotations

from pathlib import Path

from robot.computer.board_family import (
    FAMILIES,
    BoardFamily,
    BoardSimulation,
    executable,
    family_of,
)
from robot.settings import RobotProfile
from robot.settings.board_table import MAX_STEPS_PER_S
from robot.settings.boards import BOARD_TARGETS
from robot.settings.profile import FIRST_BOARD


class HostSimulation(BoardSimulation):
    """The portable firmware, which also stands for any microcontroller's.

    It is the same program, without the hours that single instructions take, and makes steps as fast
    as the board that the profile names.
    """

    about = "the build for this computer"
    runs_as_granted = True

    def command(self, profile: RobotProfile, folder: Path, board: str = FIRST_BOARD) -> list[str]:
        """Return the program with the board that it stands for."""
        del folder
        target = profile.every_board[board].target
        if BOARD_TARGETS[target].servo_boards:
            # Chips make the pulses of its servos, so few steps a second are enough for it. This
            # build makes the pulses itself, between steps at its own rates.
            return [executable("cubist-firmware-host")]
        # A board that is no chip of its own, such as a printer board, has its family's first.
        names = (target, *family_of(target).targets)
        stands_for = [("--stands-for", name) for name in names if name in MAX_STEPS_PER_S]
        return [executable("cubist-firmware-host"), *(stands_for[0] if stands_for else ())]


FAMILIES["host"] = BoardFamily(
    folder="host", targets=("host",), simulations={"host": HostSimulation()}
)
