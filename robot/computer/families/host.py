"""No board at all: the firmware as a process on this computer, for simulated robots."""

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

    It is the same program, without the hours that simulating each instruction takes. Its step rate
    is that of the board that the profile names.
    """

    about = "the build for this computer"
    runs_as_granted = True

    def command(self, profile: RobotProfile, folder: Path, board: str = FIRST_BOARD) -> list[str]:
        """Return the program with the board that it stands for."""
        del folder
        target = profile.every_board[board].target
        if BOARD_TARGETS[target].servo_boards:
            # Chips make this board's servo pulses, so a few steps per second are enough for it.
            # This build makes the pulses itself, between steps at its own rates.
            return [executable("cubist-firmware-host")]
        # A board that is not a chip, such as a printer board, uses its family's first target.
        names = (target, *family_of(target).targets)
        stands_for = [("--stands-for", name) for name in names if name in MAX_STEPS_PER_S]
        return [executable("cubist-firmware-host"), *(stands_for[0] if stands_for else ())]


FAMILIES["host"] = BoardFamily(
    folder="host", targets=("host",), simulations={"host": HostSimulation()}
)
