"""The configuration of actuators for the microcontroller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robot.link.drivers import DriverSetup
from robot.link.protocol import (
    MAX_INTERVAL,
    MIN_INTERVAL,
    NO_PIN,
    SILENCE_HOLD_MS,
    SILENCE_SAFE_MS,
    TICKS_PER_US,
    ActuatorFlag,
    ActuatorKind,
    ConfigActuator,
    ConfigBegin,
    ConfigEnd,
    Message,
)
from robot.link.wire import crc16
from robot.motion.stepper import StepperLimits
from robot.settings.board_table import TICKS_PER_S

UNLIMITED_STEPS = 2**31 - 1

SERVO_SLOW_US = 1000.0
"""Minimum time for each microsecond of pulse of a slow motion: half a turn takes two seconds."""


@dataclass(frozen=True, slots=True)
class EndstopHoming:
    """A stepper's search for its end stop. Speeds in steps/s, ``direction`` +1 or -1.

    ``edge_position``: the position in steps at which the end stop becomes active.
    """

    pin: int
    direction: int
    speed: float
    slow_speed: float
    backoff_steps: int
    max_travel_steps: int
    edge_position: int
    active_high: bool = False


@dataclass(frozen=True, slots=True)
class TurnCheckSetup:
    """The check of a stepper's sensor after each turn. The sensor is active at ``at_steps``, every
    ``every_steps`` (1..65535) from there, and nowhere else. Homing, if any, uses the same pin and
    level.
    """

    pin: int
    every_steps: int
    at_steps: int = 0
    active_high: bool = False


@dataclass(frozen=True, slots=True)
class ServoSetup:
    """A servo; positions in microseconds of pulse.

    Homing sends ``stands_at``, if given, and then slews to ``start_us`` in ``home_ms``. If the Pi
    is lost, the servo is switched off; without ``safe_off`` it holds its position. ``slow_us``:
    time for each microsecond of pulse of a slow motion.
    """

    name: str
    pin: int
    minimum_us: int
    maximum_us: int
    start_us: int
    home_ms: int = 500
    safe_off: bool = True
    must_home: bool = True
    stands_at: int | None = None
    slow_us: float = SERVO_SLOW_US

    @property
    def start(self) -> int:
        """Position after homing."""
        return self.start_us

    @property
    def homed_at(self) -> int:
        """Position after homing by the microcontroller."""
        return self.start_us if self.stands_at is None else self.stands_at

    @property
    def period_steps(self) -> int | None:
        """Always None: no two pulses look the same."""
        return None

    @property
    def counts_only(self) -> bool:
        """Always false: its signal is a position."""
        return False

    def standing_at(self, place: int | None) -> ServoSetup:
        """Return a copy whose first pulse is ``place`` (default: its start)."""
        return replace(self, stands_at=place)

    @property
    def can_be_taken_up(self) -> bool:
        """Always true: a pulse is a position to continue from."""
        return True

    @property
    def goes_on_from_there(self) -> bool:
        """True if, once homed, it returns to its start without being homed again."""
        return self.stands_at is not None

    @property
    def keeps_position_unpowered(self) -> bool:
        """Always true: it returns to its last pulse even if something moved it meanwhile."""
        return True

    def allowing(self, steps_per_s: float) -> ServoSetup:
        """Return itself: it makes no steps."""
        del steps_per_s
        return self

    def way_to_start(self, at: int) -> int:
        """Return the microseconds of pulse from ``at`` to the start."""
        return self.start_us - at

    def is_askew(self, sensed: bool) -> bool:
        """Always false: it has no sensor."""
        del sensed
        return False

    def place_of(self, position: int) -> int:
        """Convert a position on the wire to microseconds of pulse."""
        return position // TICKS_PER_US

    def message(self) -> ConfigActuator:
        """Return the message that configures it."""
        return ConfigActuator(
            kind=ActuatorKind.SERVO,
            flags=_flags(
                {ActuatorFlag.MUST_HOME: self.must_home, ActuatorFlag.SAFE_OFF: self.safe_off}
            ),
            pin=self.pin,
            direction_pin=NO_PIN,
            enable_pin=NO_PIN,
            sensor_pin=NO_PIN,
            minimum=self.minimum_us * TICKS_PER_US,
            maximum=self.maximum_us * TICKS_PER_US,
            min_interval=0,
            home_position=self.homed_at * TICKS_PER_US,
            home_interval=self.home_ms,
            home_slow_interval=0,
            home_backoff=0,
            home_travel=0,
            check_period=0,
            check_position=0,
        )


@dataclass(frozen=True, slots=True)
class StepperSetup:
    """A stepper; positions in steps.

    Without ``homing`` the microcontroller homes it by assuming that it is at ``stands_at``
    (default: ``start_steps``), unless it knows the position. After homing it moves to
    ``start_steps``, within ``limits``. Positions that differ by a multiple of ``period_steps`` look
    the same. With play (``backlash_steps``) homing and every motion end forwards. Without power it
    stays in place if it is ``self_locking``. Calibration may try up to ``fastest`` steps/s.
    """

    name: str
    step_pin: int
    direction_pin: int
    limits: StepperLimits
    enable_pin: int | None = None
    minimum_steps: int = -UNLIMITED_STEPS
    maximum_steps: int = UNLIMITED_STEPS
    start_steps: int = 0
    backlash_steps: int = 0
    period_steps: int | None = None
    homing: EndstopHoming | None = None
    check: TurnCheckSetup | None = None
    driver: DriverSetup | None = None
    invert_direction: bool = False
    enable_high: bool = False
    safe_off: bool = True
    must_home: bool = True
    self_locking: bool = False
    fastest: float = 0.0
    stands_at: int | None = None

    @property
    def start(self) -> int:
        """Position after homing."""
        return self.start_steps

    @property
    def homed_at(self) -> int:
        """Position after homing by the microcontroller, with play taken up backwards."""
        if self.homing is None:
            return self.start_steps if self.stands_at is None else self.stands_at
        return self.homing.edge_position - (self.backlash_steps if self.homing.direction < 0 else 0)

    @property
    def counts_only(self) -> bool:
        """True if it has no end stop and takes its position at homing for its start."""
        return self.homing is None

    def standing_at(self, place: int | None) -> StepperSetup:
        """Return a copy that is assumed to be at ``place``; itself, if it has an end stop."""
        return replace(self, stands_at=place) if self.counts_only else self

    @property
    def can_be_taken_up(self) -> bool:
        """True if it can continue from its position without looking for its end stop."""
        return self.counts_only

    @property
    def goes_on_from_there(self) -> bool:
        """Always false: it homes to its end stop, or where it is."""
        return False

    @property
    def keeps_position_unpowered(self) -> bool:
        """True if its position still counts after its driver was off."""
        return self.self_locking

    def allowing(self, steps_per_s: float) -> StepperSetup:
        """Return a copy that may go up to this speed."""
        return replace(self, fastest=steps_per_s)

    def place_of(self, position: int) -> int:
        """Convert a position on the wire to steps: they are the same."""
        return position

    def way_to_start(self, at: int) -> int:
        """Return the steps from ``at`` to the nearest place that looks like the start."""
        way, period = self.start_steps - at, self.period_steps
        return way if period is None else (way + period // 2) % period - period // 2

    def is_askew(self, sensed: bool) -> bool:
        """Return whether its sensor reports that it stands between two resting positions."""
        recurs = self.check is not None and self.check.every_steps == self.period_steps
        return recurs and not sensed

    def message(self) -> ConfigActuator:
        """Return the message that configures it."""
        homing, check = self.homing, self.check
        sensor = homing or check
        fastest = max(self.limits.max_speed, self.fastest)
        return ConfigActuator(
            kind=ActuatorKind.STEPPER,
            flags=self._flags(),
            pin=self.step_pin,
            direction_pin=self.direction_pin,
            enable_pin=NO_PIN if self.enable_pin is None else self.enable_pin,
            sensor_pin=sensor.pin if sensor else NO_PIN,
            minimum=self.minimum_steps,
            maximum=self.maximum_steps,
            min_interval=max(MIN_INTERVAL, int(TICKS_PER_S / fastest * 0.9)),
            home_position=self.homed_at,
            home_interval=_interval(homing.speed) if homing else 0,
            home_slow_interval=_interval(homing.slow_speed) if homing else 0,
            home_backoff=homing.backoff_steps if homing else 0,
            home_travel=homing.max_travel_steps if homing else 0,
            check_period=check.every_steps if check else 0,
            check_position=check.at_steps if check else 0,
        )

    def _flags(self) -> ActuatorFlag:
        homing = self.homing
        sensor = homing or self.check
        chosen = {
            ActuatorFlag.MUST_HOME: self.must_home,
            ActuatorFlag.INVERT_DIRECTION: self.invert_direction,
            ActuatorFlag.ENABLE_HIGH: self.enable_high,
            ActuatorFlag.HOME_SENSOR: homing is not None,
            ActuatorFlag.HOME_POSITIVE: homing is not None and homing.direction > 0,
            ActuatorFlag.SENSOR_HIGH: sensor is not None and sensor.active_high,
            ActuatorFlag.SAFE_OFF: self.safe_off,
        }
        return _flags(chosen)


ActuatorSetup = ServoSetup | StepperSetup


def configuration(
    setups: Sequence[ActuatorSetup],
    silence_hold_ms: int = SILENCE_HOLD_MS,
    silence_safe_ms: int = SILENCE_SAFE_MS,
) -> list[Message]:
    """Return the messages that configure the actuators, numbered in their order."""
    messages: list[Message] = [ConfigBegin(silence_hold_ms, silence_safe_ms)]
    messages += [setup.message() for setup in setups]
    for number, setup in enumerate(setups):
        if isinstance(setup, StepperSetup) and setup.driver is not None:
            messages.append(setup.driver.message(number))
    return [*messages, ConfigEnd(configuration_crc(messages))]


def configuration_crc(messages: Sequence[Message]) -> int:
    """Return the checksum with which board and host recognise the same configuration."""
    described = [message for message in messages if not isinstance(message, ConfigEnd)]
    return crc16(b"".join(message.payload() for message in described))


def _flags(chosen: Mapping[ActuatorFlag, bool]) -> ActuatorFlag:
    flags = ActuatorFlag(0)
    for flag, wanted in chosen.items():
        flags |= flag if wanted else ActuatorFlag(0)
    return flags


def _interval(speed: float) -> int:
    return min(MAX_INTERVAL, max(MIN_INTERVAL, round(TICKS_PER_S / speed)))
