"""What the boards that run the firmware have and can do.

Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping

PINS: Mapping[str, range] = {
    "host": range(2, 70),
    "atmega328p": range(2, 20),
    "atmega2560": range(2, 70),
    "rp2040": range(2, 30),
    "linux": range(2, 88),
}
"""Numbers of the pins, by ``firmware.target``."""
PIN_NOTES: Mapping[str, str] = {
    "host": "a simulated board has the pins of the largest one; 0 and 1 are its serial port",
    "atmega328p": "2 to 13, A0 to A5 are 14 to 19; 0 and 1 are its serial port",
    "atmega2560": "2 to 53, A0 to A15 are 54 to 69; 0 and 1 are its serial port",
    "rp2040": "GPIO numbers; a Pico has 2 to 22 and 26 to 28; 0 and 1 are its serial port",
    "linux": "BCM numbers 2 to 27; 32 to 47: channels of a PCA9685, 64 to 87: of a Pololu Maestro",
}
"""What a person should know of them."""
MAX_STEPS_PER_S: Mapping[str, int] = {
    "host": 60_000,
    "atmega328p": 60_000,
    "atmega2560": 60_000,
    "rp2040": 500_000,
    "linux": 1_000,
}
"""Steps that a plan may ask of a motor that moves alone, by ``firmware.target``."""
ACTUATORS: Mapping[str, int] = {
    "host": 16,
    "atmega328p": 8,
    "atmega2560": 8,
    "rp2040": 16,
    "linux": 8,
}
"""Most actuators of a board."""
STEPPERS: Mapping[str, int] = {
    "host": 16,
    "atmega328p": 8,
    "atmega2560": 8,
    "rp2040": 8,
    "linux": 8,
}
"""Most steppers among them."""
WIDE_MASKS = 8
"""Boards of more actuators have masks of two bytes."""
PULSE_US = (300, 2500)
"""Shortest and longest pulse of a servo."""
STEPS_PER_S = (50, 500000)
"""Lowest and highest speed of a stepper."""
TICKS_PER_US = 2
"""Clock of all motion."""
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
MAX_DRIVERS = 4
"""Drivers on one UART, at addresses 0 to 3."""
