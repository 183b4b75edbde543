"""The boards that run the firmware, as far as a profile is concerned: their pins."""

from __future__ import annotations

from robot.settings.board_table import FIRST_PIN, PINS
from robot.settings.kinds import Kinds

BOARD_PINS: Kinds[range] = Kinds("firmware target")
"""The pins of each ``firmware.target``. How its firmware is built and flashed is registered in
``robot.machine.firmware_build``."""

BOARD_PINS.update({target: range(FIRST_PIN, pins) for target, pins in PINS.items()})
