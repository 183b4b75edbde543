"""Settings of steppers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from robot.settings.actuators import ACTUATOR_SETTINGS, ActuatorSettings, check_distinct
from robot.settings.base import Acceleration, Name, PositiveSteps, Settings, SettleMs, Steps
from robot.settings.board_table import STEPS_PER_S
from robot.settings.boards import Pin
from robot.settings.document import Finding, Path
from robot.settings.drivers import LEAST_STALL_FULL_STEPS_PER_S, DriverSettings

LEAST_STEPS = 4
STALL_BLANK_FULL_STEPS = 6
"""Full steps at the beginning of a motion in which a driver's reports of the load are useless."""
STALL_BACKOFF_FULL_STEPS = 20
"""Minimum backoff: more than twice that, and a stall. A jammed motor then stalls before it can have
come back."""

CheckedSteps = Annotated[
    int, Field(strict=True, ge=-32_768, le=32_767, description="steps, -32768..32767")
]
CheckPeriod = Annotated[
    int, Field(strict=True, ge=2, le=65_535, description="steps from one position to the next")
]
PlaySteps = Annotated[int, Field(strict=True, ge=0, le=1_000, description="steps, 0..1000")]


class StepperPins(Settings):
    """Pins of a stepper's driver; ``enable`` may be shared by all drivers.

    ``endstop``: the end stop or index sensor, or the DIAG output of a driver that detects stalls.
    """

    step: Pin
    direction: Pin
    enable: Pin | None = None
    endstop: Pin | None = None


class HomingSettings(Settings):
    """A stepper's search for its zero: seek the end stop, back off, approach it slowly.

    ``direction`` is +1 or -1 in steps; zero is ``offset_steps`` after the end stop's edge. With
    ``by: stall`` there is no switch: the motor runs against a mechanical stop until its driver
    reports the stall.
    """

    by: Literal["end-stop", "stall"] = "end-stop"
    direction: Literal[1, -1]
    speed_steps_per_s: PositiveSteps
    slow_speed_steps_per_s: PositiveSteps
    backoff_steps: PositiveSteps
    max_travel_steps: PositiveSteps
    offset_steps: Steps = 0
    endstop_active: Literal["low", "high"] = "low"


class TurnCheckSettings(Settings):
    """A check of the end stop, or of an index sensor, after each turn.

    It must be active at ``at_steps`` and every ``every_steps`` from there, and nowhere else at
    rest. Without ``every_steps`` there is one such position. ``endstop_active`` is for motors
    without ``homing``, which has this key, too.
    """

    at_steps: CheckedSteps = 0
    every_steps: CheckPeriod | None = None
    endstop_active: Literal["low", "high"] | None = None


class StepperLoad(Settings):
    """Limits that replace the free ones while the motor turns a layer of a held cube."""

    max_speed_steps_per_s: PositiveSteps
    max_acceleration_steps_per_s2: Acceleration


class Stepper(ActuatorSettings):
    """A stepper motor: steps per turn of the part that it drives, and the speed it can follow.

    ``start_speed_steps_per_s``: the speed with which it starts and stops without a ramp. Positions
    are in steps from the zero found by homing. Rotary steppers need ``steps_per_turn``; those that
    open and close something need ``positions_steps``.
    """

    unit: ClassVar[str] = "steps"
    positions_key: ClassVar[str] = "positions_steps"
    rotation_key: ClassVar[str] = "steps_per_turn"
    fixed_keys: ClassVar[frozenset[str]] = ActuatorSettings.fixed_keys | {
        "homing",
        "turn_check",
        "driver",
    }
    can_be_inverted: ClassVar[bool] = True
    most_scaled: ClassVar[float] = 16.0
    """A microstep switch alone changes the number of steps by a factor of eight."""

    kind: Literal["stepper"]
    pins: StepperPins
    steps_per_turn: PositiveSteps | None = Field(default=None, multiple_of=4)
    positions_steps: dict[Name, Steps] = Field(default_factory=dict)
    start_speed_steps_per_s: PositiveSteps = 200
    max_speed_steps_per_s: PositiveSteps
    max_acceleration_steps_per_s2: Acceleration
    max_jerk_steps_per_s3: float | None = Field(
        default=None, strict=True, gt=0, description="steps/s^3; makes S-curves instead of ramps"
    )
    held: StepperLoad | None = None
    settle_ms: SettleMs = 0.0
    invert_direction: bool = False
    homing: HomingSettings | None = None
    turn_check: TurnCheckSettings | None = None
    driver: DriverSettings | None = None
    backlash_steps: PlaySteps = Field(
        default=0, description="steps of play: every motion ends forwards to take it up"
    )
    overshoot_steps: PlaySteps = Field(
        default=0, description="steps to turn a layer of a held cube too far, then back"
    )

    @property
    def sensor_active_high(self) -> bool:
        """Level of the end stop or index sensor when active; a driver's DIAG output is high."""
        if self.homes_by_stall:
            return True
        if self.homing is not None:
            return self.homing.endstop_active == "high"
        return self.turn_check is not None and self.turn_check.endstop_active == "high"

    @property
    def homes_by_stall(self) -> bool:
        """True if it homes to a mechanical stop, without a switch."""
        return self.homing is not None and self.homing.by == "stall"

    @property
    def places(self) -> Mapping[str, int]:
        """Steps of its positions from zero."""
        return self.positions_steps

    @property
    def is_inverted(self) -> bool:
        """See :attr:`ActuatorSettings.is_inverted`."""
        return self.invert_direction

    @property
    def margin(self) -> int:
        """See :attr:`ActuatorSettings.margin`."""
        return self.overshoot_steps + self.backlash_steps

    @property
    def connections(self) -> Mapping[str, int]:
        """See :meth:`ActuatorSettings.connections`."""
        return self.pins.model_dump(exclude_none=True)

    def check(self, path: Path) -> Iterator[Finding]:
        """Yield a missing purpose, positions too near, impossible speeds, and missing pins."""
        if self.steps_per_turn is None and not self.positions_steps:
            yield path, "give steps_per_turn (it rotates) or positions_steps (it opens and closes)"
        least = max(LEAST_STEPS, self.backlash_steps + 1)
        yield from check_distinct((*path, "positions_steps"), self, least)
        yield from self._check_speeds(path)
        if self.homing is not None and self.pins.endstop is None:
            yield (*path, "pins"), "homing needs the end stop's pin: endstop"
        if self.turn_check is not None:
            yield from self._check_turn_check(path, self.turn_check)
        homing = self.homing
        if homing is not None and homing.slow_speed_steps_per_s > homing.speed_steps_per_s:
            yield (*path, "homing", "slow_speed_steps_per_s"), "must not exceed speed_steps_per_s"
        if homing is not None and homing.backoff_steps >= homing.max_travel_steps:
            yield (*path, "homing", "backoff_steps"), "must be less than max_travel_steps"
        if self.driver is not None:
            yield from self.driver.check((*path, "driver"))
        if homing is not None and homing.by == "stall":
            yield from self._check_stall(path, homing)

    @property
    def highest_speeds(self) -> Mapping[Path, int]:
        """The highest speeds of its motions, by key."""
        speeds: dict[Path, int] = {("max_speed_steps_per_s",): self.max_speed_steps_per_s}
        if self.held is not None:
            speeds["held", "max_speed_steps_per_s"] = self.held.max_speed_steps_per_s
        if self.homing is not None:
            speeds["homing", "speed_steps_per_s"] = self.homing.speed_steps_per_s
        return speeds

    def _check_speeds(self, path: Path) -> Iterator[Finding]:
        slowest, fastest = STEPS_PER_S
        start: dict[Path, int] = {("start_speed_steps_per_s",): self.start_speed_steps_per_s}
        speeds = start | dict(self.highest_speeds)
        if self.homing is not None:
            speeds["homing", "slow_speed_steps_per_s"] = self.homing.slow_speed_steps_per_s
        for key, speed in speeds.items():
            if not slowest <= speed <= fastest:
                yield (*path, *key), f"a board makes {slowest}..{fastest} steps/s, not {speed}"

    def _check_stall(self, path: Path, homing: HomingSettings) -> Iterator[Finding]:
        """Yield the reasons why the driver cannot report a stall."""
        driver, place = self.driver, (*path, "homing", "by")
        if driver is None:
            yield place, "only a TMC2209 reports a stall: describe it in driver"
            return
        if driver.mode != "stealthchop":
            yield place, "StallGuard works only in StealthChop: set driver.mode to stealthchop"
        if driver.stall_threshold is None:
            yield place, "needs driver.stall_threshold; 60 is a good first try"
        if self.turn_check is not None:
            yield (*path, "turn_check"), "the end stop's pin is the driver's DIAG: leave it out"
        least = LEAST_STALL_FULL_STEPS_PER_S * driver.microsteps
        if homing.slow_speed_steps_per_s < least:
            text = f"StallGuard needs {least} steps/s at {driver.microsteps} microsteps"
            yield (*path, "homing", "slow_speed_steps_per_s"), text
        room = STALL_BACKOFF_FULL_STEPS * driver.microsteps
        if homing.backoff_steps < room:
            text = f"a stall shows only after some full steps: at least {room} steps needed"
            yield (*path, "homing", "backoff_steps"), text

    def _check_turn_check(self, path: Path, check: TurnCheckSettings) -> Iterator[Finding]:
        if self.pins.endstop is None:
            yield (*path, "pins"), "turn_check needs the end stop's or index sensor's pin: endstop"
        if self.homing is not None and check.endstop_active not in {
            None,
            self.homing.endstop_active,
        }:
            yield (
                (*path, "turn_check", "endstop_active"),
                "must be the same as in homing; leave it out here",
            )


ACTUATOR_SETTINGS["stepper"] = Stepper
