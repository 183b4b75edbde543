"""Actuators as the microcontroller needs to know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot.link.framing import crc16
from robot.link.protocol import (
    MAX_INTERVAL,
    MIN_INTERVAL,
    NO_PIN,
    SILENCE_HOLD_MS,
    SILENCE_SAFE_MS,
    TICKS_PER_US,
    ActuatorFlag,
    ConfigActuator,
    ConfigBegin,
    ConfigEnd,
    Kind,
    Message,
    Safe,
)
from robot.motion import StepperLimits

TICKS_PER_S = 1_000_000 * TICKS_PER_US
UNLIMITED_STEPS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class EndstopHoming:
    """How a stepper finds its end stop; speeds in steps/s, ``direction`` +1 or -1.

    ``edge_position`` is the position in steps at which the end stop answers.
    """

    pin: int
    direction: int
    speed: float
    slow_speed: float
    backoff_steps: int
    max_travel_steps: int
    edge_position: int = 0
    active_high: bool = False


@dataclass(frozen=True, slots=True)
class ServoSetup:
    """A servo; positions in microseconds of pulse.

    Homing slews to ``start_us`` in ``home_ms``. ``safe`` says what happens when the Pi is lost.
    """

    name: str
    pin: int
    minimum_us: int
    maximum_us: int
    start_us: int
    home_ms: int = 500
    safe: Safe = Safe.OFF
    must_home: bool = True

    @property
    def start(self) -> int:
        """Position after homing."""
        return self.start_us

    @property
    def homed_at(self) -> int:
        """Position at which the microcontroller has homed it."""
        return self.start_us

    def message(self) -> ConfigActuator:
        """As it is sent."""
        return ConfigActuator(
            kind=Kind.SERVO,
            flags=ActuatorFlag.MUST_HOME if self.must_home else 0,
            safe=self.safe,
            pin=self.pin,
            direction_pin=NO_PIN,
            enable_pin=NO_PIN,
            sensor_pin=NO_PIN,
            minimum=self.minimum_us * TICKS_PER_US,
            maximum=self.maximum_us * TICKS_PER_US,
            min_interval=0,
            home_position=self.start_us * TICKS_PER_US,
            home_interval=0,
            home_slow_interval=0,
            home_backoff=0,
            home_travel=0,
            home_ms=self.home_ms,
        )


@dataclass(frozen=True, slots=True)
class StepperSetup:
    """A stepper; positions in steps.

    Without ``homing`` it is taken to stand at ``start_steps`` when homed. After homing against an
    end stop it moves to ``start_steps``, within ``limits``. Positions that differ by a multiple of
    ``period_steps`` are the same: what turns for ever and looks the same again after that.
    """

    name: str
    step_pin: int
    direction_pin: int
    limits: StepperLimits
    enable_pin: int | None = None
    minimum_steps: int = -UNLIMITED_STEPS
    maximum_steps: int = UNLIMITED_STEPS
    start_steps: int = 0
    period_steps: int | None = None
    homing: EndstopHoming | None = None
    invert_direction: bool = False
    enable_high: bool = False
    safe: Safe = Safe.OFF
    must_home: bool = True

    @property
    def start(self) -> int:
        """Position after homing."""
        return self.start_steps

    @property
    def homed_at(self) -> int:
        """Position at which the microcontroller has homed it."""
        return self.homing.edge_position if self.homing else self.start_steps

    def message(self) -> ConfigActuator:
        """As it is sent."""
        homing = self.homing
        return ConfigActuator(
            kind=Kind.STEPPER,
            flags=self._flags(),
            safe=self.safe,
            pin=self.step_pin,
            direction_pin=self.direction_pin,
            enable_pin=NO_PIN if self.enable_pin is None else self.enable_pin,
            sensor_pin=homing.pin if homing else NO_PIN,
            minimum=self.minimum_steps,
            maximum=self.maximum_steps,
            min_interval=max(MIN_INTERVAL, int(TICKS_PER_S / self.limits.max_speed * 0.9)),
            home_position=self.homed_at,
            home_interval=_interval(homing.speed) if homing else 0,
            home_slow_interval=_interval(homing.slow_speed) if homing else 0,
            home_backoff=homing.backoff_steps if homing else 0,
            home_travel=homing.max_travel_steps if homing else 0,
            home_ms=0,
        )

    def _flags(self) -> ActuatorFlag:
        homing = self.homing
        chosen = {
            ActuatorFlag.MUST_HOME: self.must_home,
            ActuatorFlag.INVERT_DIRECTION: self.invert_direction,
            ActuatorFlag.ENABLE_HIGH: self.enable_high,
            ActuatorFlag.HOME_SENSOR: homing is not None,
            ActuatorFlag.HOME_POSITIVE: homing is not None and homing.direction > 0,
            ActuatorFlag.SENSOR_HIGH: homing is not None and homing.active_high,
        }
        flags = ActuatorFlag(0)
        for flag, wanted in chosen.items():
            flags |= flag if wanted else ActuatorFlag(0)
        return flags


ActuatorSetup = ServoSetup | StepperSetup


def configuration(
    setups: Sequence[ActuatorSetup],
    silence_hold_ms: int = SILENCE_HOLD_MS,
    silence_safe_ms: int = SILENCE_SAFE_MS,
) -> list[Message]:
    """The messages that tell the microcontroller its actuators, numbered in their order."""
    messages: list[Message] = [ConfigBegin(silence_hold_ms, silence_safe_ms)]
    messages += [setup.message() for setup in setups]
    crc = crc16(b"".join(message.payload() for message in messages))
    return [*messages, ConfigEnd(crc)]


def _interval(speed: float) -> int:
    return min(MAX_INTERVAL, max(MIN_INTERVAL, round(TICKS_PER_S / speed)))
