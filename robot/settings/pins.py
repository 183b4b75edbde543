"""Pins by their numbers on the wire, and by the names that profiles have for servo boards'."""

from __future__ import annotations

from collections.abc import Mapping

from robot.settings.board_table import CHANNELS, FIRST_CHANNEL, FIRST_MAESTRO, PINS

SERVO_BOARDS: Mapping[str, range] = {
    "pca9685": range(FIRST_CHANNEL, FIRST_CHANNEL + CHANNELS),
    "maestro": range(FIRST_MAESTRO, PINS["linux"].stop),
}
"""Numbers of the channels of servo boards at a Raspberry Pi; they make pulses and nothing else."""

CHANNEL_NAMES = " or ".join(
    f"{board}:0 to {board}:{len(numbers) - 1}" for board, numbers in SERVO_BOARDS.items()
)
"""How people name them."""


def pin_number(given: object) -> object:
    """The number of a channel that is given by its name; anything else as it is."""
    if not isinstance(given, str):
        return given
    board, _, channel = given.partition(":")
    numbers = SERVO_BOARDS.get(board, range(0))
    if not channel.isascii() or not channel.isdecimal() or str(int(channel)) != channel:
        return given
    return numbers[int(channel)] if int(channel) < len(numbers) else given
