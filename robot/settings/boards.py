"""The boards that run the firmware, and their abilities that a profile may use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from robot.settings.base import Kinds
from robot.settings.board_table import (
    ACTUATORS,
    CHANNELS,
    FIRST_CHANNEL,
    FIRST_MAESTRO,
    FRAME_US,
    MAX_STEPS_PER_S,
    PIN_NOTES,
    PINS,
    STEPPERS,
    STEPS_PER_S,
)

SERVO_BOARDS: Mapping[str, range] = {
    "pca9685": range(FIRST_CHANNEL, FIRST_CHANNEL + CHANNELS),
    "maestro": range(FIRST_MAESTRO, PINS["linux"].stop),
}
"""Numbers of the channels of servo boards at a Raspberry Pi. They make pulses and nothing else."""

CHANNEL_NAMES = " or ".join(
    f"{board}:0 to {board}:{len(numbers) - 1}" for board, numbers in SERVO_BOARDS.items()
)
"""The names of these channels in a profile."""

FIRST_PIN = min(pins.start for pins in PINS.values())
LAST_PIN = max(pins.stop for pins in PINS.values()) - 1


SKR_PICO_PINS: Mapping[str, int] = {
    "x-step": 11,
    "x-dir": 10,
    "x-en": 12,
    "x-stop": 4,
    "y-step": 6,
    "y-dir": 5,
    "y-en": 7,
    "y-stop": 3,
    "z-step": 19,
    "z-dir": 28,
    "z-en": 2,
    "z-stop": 25,
    "e0-step": 14,
    "e0-dir": 13,
    "e0-en": 15,
    "e0-stop": 16,
    "servos": 29,
    "probe": 22,
    "rgb": 24,
    "th0": 27,
    "thb": 26,
    "fan0": 17,
    "fan1": 18,
    "fan2": 20,
    "hb": 21,
    "he": 23,
}
"""GPIOs of BIGTREETECH's SKR Pico V1.0 by the names of its plugs. A plug X-STOP is also the DIAG
output of that driver, if its jumper is set."""
NAMED_PINS: Mapping[str, Mapping[str, int]] = {"skr-pico": SKR_PICO_PINS}
"""Pins that have names, by board."""


def pin_number(given: object) -> object:
    """Return the number of a channel or pin that is given by its name, or anything else unchanged.

    Raise :class:`ValueError` that lists the plugs or the boards for an unknown name.
    """
    if not isinstance(given, str):
        return given
    board, colon, channel = given.partition(":")
    if board in NAMED_PINS:
        if channel not in NAMED_PINS[board]:
            raise ValueError(f"the plugs of {board} are {', '.join(NAMED_PINS[board])}")
        return NAMED_PINS[board][channel]
    if colon and board not in SERVO_BOARDS:
        boards = ", ".join([*NAMED_PINS, *SERVO_BOARDS])
        raise ValueError(f"boards with named pins: {boards}")
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
        f"port of an Arduino), or {CHANNEL_NAMES}, or a plug of a board, such as skr-pico:x-step",
    ),
]


HEADER = range(2, 28)
"""BCM numbers of the Raspberry Pi's header that are free: 0 and 1 belong to extension boards."""
_I2C: Mapping[int, str] = {2: "SDA", 3: "SCL"}
"""GPIOs of the Raspberry Pi's I2C bus."""
SHARED_CHANNELS = ({12, 18}, {13, 19})
"""GPIOs that share a channel of the Raspberry Pi's PWM, up to the Pi 4 and the Zero 2."""


@dataclass(frozen=True, slots=True)
class BoardTarget:
    """The abilities of a board that a profile may use.

    ``pins``: their numbers. ``note``: information about them for people. ``actuators``: the maximum
    number that it drives, and ``steppers`` among them. ``servo_boards``: channel numbers of each
    servo board that can be connected. ``buses``: the pins that connect some of these, with their
    functions. ``frame_us``: delay after which a new pulse may begin, and by which every travel of a
    servo takes longer. ``is_pi``: its pins are those of the Raspberry Pi, as are the panel's.
    ``max_steps_per_s``: the maximum for a stepper that moves alone. ``shared_channels``: pins of
    which only one can have a servo. ``driver_uart``: the pins for stepper drivers, with their
    functions; empty if the firmware does not support drivers. ``sense_ohm``: the sense resistors of
    the drivers on the board. ``names``: its pins by name.
    """

    pins: tuple[range, ...]
    note: str
    max_steps_per_s: int = max(STEPS_PER_S)
    actuators: int = 8
    steppers: int = 8
    servo_boards: Mapping[str, range] = field(default_factory=dict)
    buses: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    frame_us: int = 0
    is_pi: bool = False
    shared_channels: Sequence[Collection[int]] = ()
    driver_uart: Mapping[int, str] = field(default_factory=dict)
    sense_ohm: float | None = None
    names: Mapping[str, int] = field(default_factory=dict)

    def has_pin(self, number: int) -> bool:
        """Return true if there is a pin with that number."""
        return any(number in some for some in self.pins)

    def servo_board(self, number: int) -> str | None:
        """Return the servo board of a pin, which makes pulses and nothing else."""
        return next((name for name, some in self.servo_boards.items() if number in some), None)

    def name_of(self, number: int) -> str:
        """Return a pin as profiles name it."""
        board = self.servo_board(number)
        plug = next((name for name, pin in self.names.items() if pin == number), None)
        if plug is not None:
            return f"{number} ({plug})"
        return str(number) if board is None else f"{board}:{self.servo_boards[board].index(number)}"

    @property
    def pins_text(self) -> str:
        """The numbers as people write them: ``2..27, 32..47``."""
        return ", ".join(f"{some[0]}..{some[-1]}" for some in self.pins)


BOARD_TARGETS: Kinds[BoardTarget] = Kinds("firmware target")
"""Boards by ``firmware.target``: those of firmware/protocol.toml, and ``skr-pico``. All other facts
about a board are in its family, see ``robot.computer.board_family``."""

BOARD_TARGETS.update(
    {
        name: BoardTarget(
            (pins,), PIN_NOTES[name], MAX_STEPS_PER_S[name], ACTUATORS[name], STEPPERS[name]
        )
        for name, pins in PINS.items()
    }
)
_UART_1: Mapping[int, str] = {8: "sends", 9: "receives"}
BOARD_TARGETS["host"] = replace(BOARD_TARGETS["host"], driver_uart={0: "simulated"})
BOARD_TARGETS["rp2040"] = replace(
    BOARD_TARGETS["rp2040"],
    shared_channels=[{pin, pin + 16} for pin in range(14)],
    driver_uart=_UART_1,
)
BOARD_TARGETS["skr-pico"] = replace(
    BOARD_TARGETS["rp2040"],
    note=f"GPIO numbers, or skr-pico: and the name of a plug: {', '.join(SKR_PICO_PINS)}",
    sense_ohm=0.11,
    names=SKR_PICO_PINS,
)
BOARD_TARGETS["linux"] = replace(
    BOARD_TARGETS["linux"],
    pins=(HEADER, *SERVO_BOARDS.values()),
    note=f"BCM numbers, or {CHANNEL_NAMES}",
    servo_boards=SERVO_BOARDS,
    buses={"pca9685": _I2C},
    frame_us=FRAME_US,
    is_pi=True,
    shared_channels=SHARED_CHANNELS,
)
