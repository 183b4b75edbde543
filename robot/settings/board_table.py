"""What the boards that run the firmware have and can do.

Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping

FIRST_PIN = 2
"""0 and 1 are the serial port."""
PINS: Mapping[str, int] = {
    "host": 70,
    "atmega328p": 20,
    "atmega2560": 70,
}
"""By ``firmware.target``: pins have numbers below this one."""
PULSE_US = (300, 2500)
"""Shortest and longest pulse of a servo."""
STEPS_PER_S = (50, 83333)
"""Lowest and highest speed of a stepper."""
TICKS_PER_US = 2
"""The clock of motion."""
TICKS_PER_S = 2_000_000
"""The same in a second."""
MAX_INTERVAL_TICKS = 40_000
"""Longest time between two steps."""
