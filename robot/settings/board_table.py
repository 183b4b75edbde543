"""What the boards that run the firmware have and can do.

Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping

PINS: Mapping[str, range] = {
    "host": range(2, 70),
    "atmega328p": range(2, 20),
    "atmega2560": range(2, 70),
    "linux": range(2, 88),
}
"""Numbers of the pins, by ``firmware.target``."""
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
FRAME_US = 20_000
"""Between two pulses of a servo."""
FIRST_CHANNEL = 32
"""Number of channel 0 of a PCA9685, on a Raspberry Pi."""
CHANNELS = 16
"""Channels of a PCA9685."""
FIRST_MAESTRO = 64
"""Number of channel 0 of a Pololu Maestro, on a Raspberry Pi or another computer."""
MAX_ACTUATORS = 8
"""Actuators a board may have."""
