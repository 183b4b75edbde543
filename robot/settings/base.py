"""The base of every settings model and the numbers, with units, that they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from robot.settings.board_table import CHANNELS, FIRST_CHANNEL, FIRST_MAESTRO, PINS, PULSE_US

SERVO_BOARDS: Mapping[str, range] = {
    "pca9685": range(FIRST_CHANNEL, FIRST_CHANNEL + CHANNELS),
    "maestro": range(FIRST_MAESTRO, PINS["linux"].stop),
}
"""Numbers of the channels of servo boards at a Raspberry Pi; they make pulses and nothing else."""

CHANNEL_NAMES = " or ".join(
    f"{board}:0 to {board}:{len(numbers) - 1}" for board, numbers in SERVO_BOARDS.items()
)
"""How people name them."""

Site = Literal["U", "R", "F", "D", "L", "B"]
"""A face position of the robot: x to the right, y up, z towards the viewer."""
OPPOSITE = {"U": "D", "D": "U", "R": "L", "L": "R", "F": "B", "B": "F"}
AXIS_OF = {"U": "y", "D": "y", "R": "x", "L": "x", "F": "z", "B": "z"}
"""The robot axis through each site."""
Axis = Literal["x", "y", "z"]
Rotation = Literal["x", "x2", "x'", "y", "y2", "y'", "z", "z2", "z'"]
"""A turn of the whole cube about a robot axis: x as an R turn, y as U, z as F."""
Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_-]{0,31}$",
        description="a name: small letters, digits, - and _, at most 32, a letter first",
    ),
]
FIRST_PIN = min(pins.start for pins in PINS.values())
LAST_PIN = max(pins.stop for pins in PINS.values()) - 1
Gpio = Annotated[
    int, Field(strict=True, ge=0, le=27, description="a GPIO (BCM) number of the Raspberry Pi")
]
Level = Literal["low", "high"]
"""Of a pin: ground, or the supply of its logic."""
PulseUs = Annotated[
    int,
    Field(
        strict=True,
        ge=PULSE_US[0],
        le=PULSE_US[1],
        description=f"a servo pulse in microseconds, {PULSE_US[0]}..{PULSE_US[1]}",
    ),
]
TravelMs = Annotated[
    float,
    Field(strict=True, ge=1, le=20_000, description="milliseconds, 1..20000 (not seconds)"),
]
SettleMs = Annotated[
    float, Field(strict=True, ge=0, le=5_000, description="milliseconds, 0..5000 (not seconds)")
]
Steps = Annotated[
    int,
    Field(strict=True, ge=-1_000_000, le=1_000_000, description="steps, -1000000..1000000"),
]
PositiveSteps = Annotated[
    int, Field(strict=True, ge=1, le=1_000_000, description="steps, 1..1000000")
]
Acceleration = Annotated[
    int, Field(strict=True, ge=1, le=10_000_000, description="steps/s^2, 1..10000000")
]


def pin_number(given: object) -> object:
    """The number of a channel that is given by its name; anything else as it is."""
    if not isinstance(given, str):
        return given
    board, _, channel = given.partition(":")
    numbers = SERVO_BOARDS.get(board, range(0))
    if not channel.isascii() or not channel.isdecimal() or str(int(channel)) != channel:
        return given
    return numbers[int(channel)] if int(channel) < len(numbers) else given


Pin = Annotated[
    int,
    BeforeValidator(pin_number),
    Field(
        strict=True,
        ge=FIRST_PIN,
        le=LAST_PIN,
        description=f"a pin number of the board, {FIRST_PIN}..{LAST_PIN} (0 and 1 are the serial "
        f"port of an Arduino), or {CHANNEL_NAMES}",
    ),
]


class Settings(BaseModel):
    """A frozen part of a profile; unknown keys are errors, and so are infinite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def microseconds(milliseconds: float) -> int:
    """Milliseconds of a profile as the integer microseconds used inside."""
    return round(milliseconds * 1000)
