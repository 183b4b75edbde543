"""Messages and limits of the link.

Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from struct import Struct
from typing import ClassVar, Self

VERSION = 7
"""Version of this protocol; both sides must have the same."""
FIRMWARE_VERSION = "0.5.0"
"""Version of the firmware built from this tree."""
TICKS_PER_US = 2
"""Clock of all motion."""
MAX_PAYLOAD = 48
"""Bytes of payload in a frame of the host."""
MAX_REPLY = 68
"""Bytes of payload in a frame of a board."""
WINDOW = 6
"""Most sequenced frames in flight without acknowledgement."""
HEARTBEAT_MS = 50
"""Longest pause between frames of the host while anything moves or is about to move."""
HEARTBEAT_AT_REST_MS = 500
"""Longest pause between frames of the host at rest."""
SILENCE_HOLD_MS = 220
"""Silence of the host after which motion holds (the Pi may set 100 to 2000)."""
SILENCE_SAFE_MS = 3000
"""Silence of the host after which outputs go to their safe state."""
MAX_PROFILES = 64
"""Profile numbers 0 to 63."""
MAX_DRIVERS = 4
"""Drivers on one UART, at addresses 0 to 3."""
MAX_DRIVER_REGISTERS = 8
"""Registers that ConfigDriver sets."""
NO_PIN = 255
"""A pin that is not connected."""
ANY_SESSION = 255
"""Session number of an emergency stop, which boards obey in every session."""
MIN_INTERVAL = 4
"""Ticks: shortest time between two steps on any board."""
RATE_UNIT = 100
"""Steps/s: unit of the rates in Welcome."""
MAX_INTERVAL = 40000
"""Ticks: longest time between two steps."""
SERVO_FRAME = 40000
"""Ticks between two pulses of a servo."""
MIN_PULSE = 600
"""Ticks: shortest servo pulse."""
MAX_PULSE = 5000
"""Ticks: longest servo pulse."""
FIRST_CHANNEL = 32
"""Number of channel 0 of a PCA9685, on a Raspberry Pi."""
CHANNELS = 16
"""Channels of a PCA9685."""
FIRST_MAESTRO = 64
"""Number of channel 0 of a Pololu Maestro, on a Raspberry Pi or another computer."""
LOOKAHEAD = 20000
"""Ticks: a turn counts as in progress this long before its start."""
MAX_DELAY_US = 16777215
"""Longest time between the starts of two successive turns."""


class Message:
    """A message: header fields are the frame's, these are the payload's."""

    TYPE: ClassVar[int]
    LAYOUT: ClassVar[Struct]
    WIDE: ClassVar[Struct | None] = None
    """Its layout at boards whose masks of actuators have two bytes, if that differs."""
    TAIL: ClassVar[bool] = False
    """Whether bytes of any number follow the other fields."""
    __slots__: tuple[str, ...] = ()

    def payload(self, wide: bool = False) -> bytes:
        """Return the payload as it travels; ``wide``: to a board with masks of two bytes."""
        values = [getattr(self, name) for name in self.__slots__]
        tail: bytes = values.pop() if self.TAIL else b""
        return self._layout(wide).pack(*values) + tail

    @classmethod
    def parse(cls, payload: bytes, wide: bool = False) -> Self:
        """Parse a payload; raises ``struct.error`` for a wrong length."""
        make: Callable[..., Self] = cls
        layout = cls._layout(wide)
        if not cls.TAIL:
            return make(*layout.unpack(payload))
        size = layout.size
        return make(*layout.unpack(payload[:size]), payload[size:])

    @classmethod
    def _layout(cls, wide: bool) -> Struct:
        return cls.WIDE if wide and cls.WIDE is not None else cls.LAYOUT


class ActuatorKind(IntEnum):
    """ActuatorKind on the wire."""

    SERVO = 0
    """Pulses at 50 Hz."""
    STEPPER = 1
    """Step, direction and enable."""


class BoardState(IntEnum):
    """BoardState on the wire."""

    UNCONFIGURED = 0
    """Outputs released, no actuators configured."""
    IDLE = 1
    """At rest."""
    HOMING = 2
    """Homing actuators."""
    RUNNING = 3
    """Executing a plan."""
    HOLDING = 4
    """Finishing the turns in progress."""
    HELD = 5
    """At rest in the middle of a plan; GO resumes it, ABORT drops it."""
    FAULT = 6
    """A fault is latched; send CLEAR once its cause is gone."""


class Timing(IntEnum):
    """Timing on the wire."""

    AFTER_ALL = 0
    """Starts when all turns before it have ended."""
    WITH = 1
    """Starts together with the turn before it."""
    AFTER_PREVIOUS = 2
    """Starts when the turn before it ends."""
    DELAY = 3
    """Starts a number of microseconds (three more bytes) after the start of the turn before it."""


class ActuatorFlag(IntFlag):
    """ActuatorFlag on the wire."""

    INVERT_DIRECTION = 1
    """The direction pin is low for positive steps."""
    ENABLE_HIGH = 2
    """The enable pin is active high."""
    SENSOR_HIGH = 4
    """Its sensor is active high."""
    HOME_POSITIVE = 8
    """The end stop lies in the direction of positive steps."""
    HOME_SENSOR = 16
    """Homes against an end stop; a stepper without one keeps its known position or, if unknown,
    is taken to be at its home position."""
    MUST_HOME = 32
    """Refuses turns until it is homed."""
    SAFE_OFF = 64
    """Loses pulses or driver power after an emergency stop or when the host is lost; without this
    flag it stays powered, like a gripper that holds the cube."""


class DriverPhase(IntEnum):
    """DriverPhase on the wire."""

    SETTING_UP = 0
    """Its settings are being written."""
    READY = 1
    """Has its settings, and no fault."""
    FAILED = 2
    """Had a fault; CLEAR sets it up again."""


class TurnBit(IntEnum):
    """TurnBit on the wire."""

    PROFILE_MASK = 63
    """First byte: profile number."""
    TIMING_SHIFT = 6
    """First byte: timing in the two high bits."""
    ACTUATOR_MASK = 15
    """Second byte: actuator."""
    REVERSE = 16
    """Second byte: steps in the negative direction."""


class Board(IntEnum):
    """Board on the wire."""

    HOST = 0
    """A simulated board."""
    ATMEGA328P = 1
    """Arduino Uno, Nano."""
    ATMEGA2560 = 2
    """Arduino Mega."""
    LINUX = 3
    """A process on the Raspberry Pi."""
    RP2040 = 4
    """Raspberry Pi Pico."""


class ResetCause(IntEnum):
    """ResetCause on the wire."""

    POWER_ON = 0
    EXTERNAL = 1
    """Reset button, or the serial port was opened."""
    BROWN_OUT = 2
    """Supply voltage too low."""
    WATCHDOG = 3
    """The program hung."""


STEP_SEGMENT = Struct("<Hhh")
"""Interval, count, add."""
SERVO_SEGMENT = Struct("<HI")
"""Pulse, duration."""
DRIVER_REGISTER = Struct("<BI")
"""Number, value."""
DRIVER_STATE = Struct("<BBBIH")
"""Actuator, phase, flags, status, load."""


@dataclass(frozen=True, slots=True)
class Hello(Message):
    """Opens a session; answered by Welcome. A new session finishes the turns in progress and
    drops the rest."""

    TYPE: ClassVar[int] = 0x01
    LAYOUT: ClassVar[Struct] = Struct("<BH")

    version: int
    """Protocol version of the host."""
    nonce: int
    """Chosen at random; Welcome returns it."""


@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Heartbeat; answered by Status."""

    TYPE: ClassVar[int] = 0x02
    LAYOUT: ClassVar[Struct] = Struct("<B")

    echo: int
    """Returned in Status, so that the host can match the answer."""


@dataclass(frozen=True, slots=True)
class Locate(Message):
    """Asks for the positions; answered by Positions."""

    TYPE: ClassVar[int] = 0x03
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class Drivers(Message):
    """Asks for the states of the stepper drivers; answered by DriverStates, by boards that have
    the drivers' UART."""

    TYPE: ClassVar[int] = 0x04
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class ConfigBegin(Message):
    """Forgets all actuators; only at rest."""

    TYPE: ClassVar[int] = 0x10
    LAYOUT: ClassVar[Struct] = Struct("<HH")

    silence_hold_ms: int
    """See SILENCE_HOLD_MS."""
    silence_safe_ms: int
    """See SILENCE_SAFE_MS."""


@dataclass(frozen=True, slots=True)
class ConfigActuator(Message):
    """Configures one actuator; they come in the order of their numbers."""

    TYPE: ClassVar[int] = 0x11
    LAYOUT: ClassVar[Struct] = Struct("<BBBBBBiiHiHHHIHh")

    kind: int
    """Kind."""
    flags: int
    """ActuatorFlag bits."""
    pin: int
    """Pin of the servo pulse or of the steps."""
    direction_pin: int
    enable_pin: int
    """Several actuators may share it."""
    sensor_pin: int
    """End stop or index sensor."""
    minimum: int
    """Lowest position: steps, or ticks of pulse."""
    maximum: int
    """Highest position."""
    min_interval: int
    """Ticks between steps at its highest speed."""
    home_position: int
    """Position at the edge of the end stop, of a homed servo, or of a stepper without end stop
    whose position is unknown."""
    home_interval: int
    """Stepper: ticks per step while seeking the end stop; servo: milliseconds of the slew to its
    home position."""
    home_slow_interval: int
    """Ticks per step while approaching it a second time."""
    home_backoff: int
    """Steps away from the end stop before that."""
    home_travel: int
    """Steps after which the end stop counts as missing."""
    check_period: int
    """Stepper: steps between positions at which its sensor is active, which the board checks
    after each turn; 0: no check."""
    check_position: int
    """Stepper: a position at which the sensor is active."""


@dataclass(frozen=True, slots=True)
class ConfigDriver(Message):
    """Configures the TMC2209 driver of a stepper, after all actuators, on boards that have the
    drivers' UART."""

    TYPE: ClassVar[int] = 0x13
    LAYOUT: ClassVar[Struct] = Struct("<BBHH")
    TAIL: ClassVar[bool] = True

    actuator: int
    """Number of the stepper."""
    address: int
    """Address of the driver on the UART."""
    slow_interval: int
    """Ticks between steps from which on the driver's report of an open load counts."""
    stall_blank: int
    """0: its sensor is a switch. Else homing ends where the motor stalls, its sensor is the
    driver's DIAG output, and a stall counts after so many steps of a motion."""

    registers: bytes


@dataclass(frozen=True, slots=True)
class ConfigEnd(Message):
    """Ends the configuration."""

    TYPE: ClassVar[int] = 0x12
    LAYOUT: ClassVar[Struct] = Struct("<H")

    crc: int
    """CRC-16 of the payloads of ConfigBegin, of all ConfigActuator and of all ConfigDriver, in
    order."""


@dataclass(frozen=True, slots=True)
class ClearProfiles(Message):
    """Forgets all profiles; only at rest."""

    TYPE: ClassVar[int] = 0x20
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class ProfileBegin(Message):
    """Begins the next profile; numbers count up from 0."""

    TYPE: ClassVar[int] = 0x21
    LAYOUT: ClassVar[Struct] = Struct("<BBIH")

    kind: int
    """Kind."""
    segments: int
    """Number of segments that follow."""
    duration: int
    """Ticks from start to rest, settling included."""
    crc: int
    """CRC-16 of all segments as sent."""


@dataclass(frozen=True, slots=True)
class ProfileSegments(Message):
    """Segments of the profile, as StepSegment or ServoSegment; the board checks the CRC after the
    last one."""

    TYPE: ClassVar[int] = 0x22
    LAYOUT: ClassVar[Struct] = Struct("<")
    TAIL: ClassVar[bool] = True

    segments: bytes


@dataclass(frozen=True, slots=True)
class PlanBegin(Message):
    """Empties the queue for a new plan; only at rest."""

    TYPE: ClassVar[int] = 0x30
    LAYOUT: ClassVar[Struct] = Struct("<HH")

    plan: int
    """Number of the plan, returned in Status."""
    turns: int
    """Number of its turns."""


@dataclass(frozen=True, slots=True)
class Turns(Message):
    """Whole turns for the queue, 2 or 5 bytes each; a frame beyond the credit is refused without
    acknowledgement."""

    TYPE: ClassVar[int] = 0x31
    LAYOUT: ClassVar[Struct] = Struct("<")
    TAIL: ClassVar[bool] = True

    turns: bytes


@dataclass(frozen=True, slots=True)
class Go(Message):
    """Starts the plan at rest, or resumes it when held; BAD_STATE during homing and after the
    plan was dropped."""

    TYPE: ClassVar[int] = 0x32
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class Hold(Message):
    """Finishes the turns in progress, then holds."""

    TYPE: ClassVar[int] = 0x33
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class Abort(Message):
    """Drops the rest of a held plan."""

    TYPE: ClassVar[int] = 0x34
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class GoAt(Message):
    """Starts the plan at a tick less than 17 minutes ahead, so that several boards start
    together; only at rest."""

    TYPE: ClassVar[int] = 0x35
    LAYOUT: ClassVar[Struct] = Struct("<I")

    tick: int
    """Ticks since boot, as in Status."""


@dataclass(frozen=True, slots=True)
class Home(Message):
    """Homes actuators, together; only at rest."""

    TYPE: ClassVar[int] = 0x40
    LAYOUT: ClassVar[Struct] = Struct("<B")
    WIDE: ClassVar[Struct | None] = Struct("<H")

    actuators: int


@dataclass(frozen=True, slots=True)
class Clear(Message):
    """Clears a latched fault."""

    TYPE: ClassVar[int] = 0x41
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class Release(Message):
    """Switches outputs off: motors without power, servos without pulses, nothing homed."""

    TYPE: ClassVar[int] = 0x42
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class PowerDown(Message):
    """Switches some actuators off, as RELEASE does; the others hold and stay homed; only at rest.
    A servo goes on later with its last pulse."""

    TYPE: ClassVar[int] = 0x43
    LAYOUT: ClassVar[Struct] = Struct("<BB")
    WIDE: ClassVar[Struct | None] = Struct("<HH")

    actuators: int
    lost: int
    """Those among them that may turn without power, so that their positions are unknown."""


@dataclass(frozen=True, slots=True)
class Bootloader(Message):
    """Restarts into the bootloader that takes a firmware by USB; only at rest, and only on boards
    that have one."""

    TYPE: ClassVar[int] = 0x44
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class EmergencyStop(Message):
    """Stops everything at once; sent with session, sequence number and acknowledgement of 255."""

    TYPE: ClassVar[int] = 0x7F
    LAYOUT: ClassVar[Struct] = Struct("<")


@dataclass(frozen=True, slots=True)
class Welcome(Message):
    """Describes the microcontroller and its abilities."""

    TYPE: ClassVar[int] = 0x81
    LAYOUT: ClassVar[Struct] = Struct("<BHIHBBBBHHHHHB")

    version: int
    """Protocol version."""
    nonce: int
    """Nonce of the Hello that this answers."""
    boot_id: int
    """Differs after every reset."""
    config_crc: int
    """CRC of its configuration, 0 for none."""
    board: int
    """Board."""
    major: int
    """Firmware version."""
    minor: int
    patch: int
    profile_units: int
    """Room for profiles, in segments; each profile takes one more."""
    queue_bytes: int
    """Room for turns."""
    rate_one: int
    """Hundreds of steps/s for one axis at a time."""
    rate_two: int
    """Hundreds of steps/s for each of two axes at a time."""
    rate_six: int
    """Hundreds of steps/s for each of six axes at a time."""
    reset_cause: int
    """ResetCause."""


@dataclass(frozen=True, slots=True)
class Status(Message):
    """Answers Ping; also sent when the state changes."""

    TYPE: ClassVar[int] = 0x82
    LAYOUT: ClassVar[Struct] = Struct("<BBBBBHHIHBBHBBBBI")
    WIDE: ClassVar[Struct | None] = Struct("<BBBHHHHIHBBHBBHBI")

    state: int
    """State."""
    fault: int
    """Fault, 0 for none."""
    fault_detail: int
    """Actuator or message type the fault is about."""
    homed: int
    moving: int
    plan: int
    """Number of the plan."""
    turns_done: int
    """Turns of it completed."""
    executed: int
    """Ticks from the start of the plan to the end of its last completed turn."""
    free: int
    """Free bytes of the turn queue."""
    underruns: int
    """Times the queue ran dry before the end of the plan, since boot."""
    late: int
    """Turns that could not start on time, since boot."""
    bad_frames: int
    """Frames with a wrong CRC or length, since boot."""
    lost_bytes: int
    """Bytes lost to a full receive buffer or a slow interrupt, since boot."""
    held: int
    """Times the host fell silent, since boot."""
    sensors: int
    """Actuators whose sensor is active."""
    echo: int
    """Echo of the last Ping."""
    now: int
    """Ticks since boot; wraps after 35 minutes."""


@dataclass(frozen=True, slots=True)
class Ack(Message):
    """Cumulative acknowledgement (in the header) with credit."""

    TYPE: ClassVar[int] = 0x83
    LAYOUT: ClassVar[Struct] = Struct("<H")

    free: int
    """Free bytes of the turn queue."""


@dataclass(frozen=True, slots=True)
class Positions(Message):
    """Positions of the actuators; of those in motion, the position at the end of their turn."""

    TYPE: ClassVar[int] = 0x84
    LAYOUT: ClassVar[Struct] = Struct("<HB")
    WIDE: ClassVar[Struct | None] = Struct("<HH")
    TAIL: ClassVar[bool] = True

    config_crc: int
    """CRC of its configuration, 0 for none."""
    known: int
    """The actuators whose position is known."""

    positions: bytes


@dataclass(frozen=True, slots=True)
class DriverStates(Message):
    """States of the stepper drivers, as DriverState, in the order of their configuration."""

    TYPE: ClassVar[int] = 0x85
    LAYOUT: ClassVar[Struct] = Struct("<")
    TAIL: ClassVar[bool] = True

    drivers: bytes


MESSAGES: Mapping[int, type[Message]] = {
    m.TYPE: m
    for m in (
        Hello,
        Ping,
        Locate,
        Drivers,
        ConfigBegin,
        ConfigActuator,
        ConfigDriver,
        ConfigEnd,
        ClearProfiles,
        ProfileBegin,
        ProfileSegments,
        PlanBegin,
        Turns,
        Go,
        Hold,
        Abort,
        GoAt,
        Home,
        Clear,
        Release,
        PowerDown,
        Bootloader,
        EmergencyStop,
        Welcome,
        Status,
        Ack,
        Positions,
        DriverStates,
    )
}
"""Every message by its type on the wire."""
