"""Servos, steppers and merely timed actuators, as calibrated."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from robot.settings.base import (
    Name,
    Pin,
    PositiveSteps,
    PulseUs,
    Settings,
    SettleMs,
    Steps,
    TravelMs,
    microseconds,
)

CheckedSteps = Annotated[
    int, Field(strict=True, ge=-32_768, le=32_767, description="steps, -32768..32767")
]
CheckPeriod = Annotated[
    int, Field(strict=True, ge=2, le=65_535, description="steps from one place to the next")
]
PlaySteps = Annotated[int, Field(strict=True, ge=0, le=1_000, description="steps, 0..1000")]


class Travel(Settings):
    """How long an actuator takes between two of its named positions, in either direction.

    ``held_ms`` is the time while the cube is held and a layer is turned, ``ms`` when it is not
    given. With ``one_way`` the row is for the first to the second position only.
    """

    between: tuple[Name, Name]
    ms: TravelMs
    held_ms: TravelMs | None = None
    one_way: bool = False


class PositionTimes(Settings):
    """What servos and timed actuators with named positions have in common."""

    travel: tuple[Travel, ...] = ()
    settle_ms: dict[Name, SettleMs] = Field(
        default_factory=dict, description="position reached: milliseconds to come to rest there"
    )
    held_settle_ms: SettleMs = Field(
        default=0.0, description="milliseconds added after a turn of a layer of a held cube"
    )

    def listed_us(self, start: str, end: str, held: bool) -> tuple[int, int] | None:
        """``(travel, settle)`` microseconds between two positions, or None if not listed."""
        for row in self.travel:
            same = (start, end) == row.between
            if same or (not row.one_way and (end, start) == row.between):
                loaded = held and row.held_ms is not None
                travel = row.held_ms if loaded and row.held_ms is not None else row.ms
                return microseconds(travel), self.settle_us(end, held)
        return None

    def settle_us(self, end: str, held: bool) -> int:
        """Microseconds to come to rest at ``end``."""
        extra = self.held_settle_ms if held else 0.0
        return microseconds(self.settle_ms.get(end, 0.0) + extra)


class ServoPins(Settings):
    """Where a servo is connected."""

    pulse: Pin


class ServoOvershoot(Settings):
    """How far a servo turns a layer of a held cube beyond its position, and the time to return."""

    us: Annotated[int, Field(strict=True, ge=1, le=500, description="pulse microseconds, 1..500")]
    back_ms: TravelMs


class Servo(PositionTimes):
    """A hobby servo: pulses for its named positions and the time to let it get there.

    ``speed_us_per_s`` is the slope of the pulse for positions without a ``travel`` row; without
    it the actuator may move only along the rows.
    """

    kind: Literal["servo"]
    pins: ServoPins
    limits_us: tuple[PulseUs, PulseUs] = (500, 2500)
    positions_us: dict[Name, PulseUs] = Field(min_length=1)
    speed_us_per_s: float | None = Field(
        default=None, strict=True, ge=50, le=50_000, description="pulse microseconds per second"
    )
    ease_ms: SettleMs = Field(
        default=0.0, description="milliseconds to gain speed, and to lose it, within each travel"
    )
    overshoot: ServoOvershoot | None = None

    def transition_us(self, start: str, end: str, held: bool = False) -> tuple[int, int] | None:
        """``(travel, settle)`` microseconds from one position to another; None: no way."""
        listed = self.listed_us(start, end, held)
        if listed is not None or self.speed_us_per_s is None:
            return listed
        distance = abs(self.positions_us[end] - self.positions_us[start])
        return round(distance * 1e6 / self.speed_us_per_s), self.settle_us(end, held)

    def settle_us(self, end: str, held: bool) -> int:
        """See :meth:`PositionTimes.settle_us`; with the way back from beyond ``end``."""
        back = self.overshoot.back_ms if held and self.overshoot is not None else 0.0
        return super().settle_us(end, held) + microseconds(back)


class StepperPins(Settings):
    """Where a stepper's driver is connected; ``enable`` may be shared by all drivers."""

    step: Pin
    direction: Pin
    enable: Pin | None = None
    endstop: Pin | None = None


class Homing(Settings):
    """How a stepper finds its zero: seek the end stop, back off, approach it slowly.

    ``direction`` is +1 or -1 in steps; zero is ``offset_steps`` after the end stop's edge.
    """

    direction: Literal[1, -1]
    speed_steps_per_s: PositiveSteps
    slow_speed_steps_per_s: PositiveSteps
    backoff_steps: PositiveSteps
    max_travel_steps: PositiveSteps
    offset_steps: Steps = 0
    endstop_active: Literal["low", "high"] = "low"


class TurnCheck(Settings):
    """A look at the end stop, or an index sensor, whenever a turn has ended.

    It must be active at ``at_steps`` and every ``every_steps`` from there, and nowhere else at
    rest; without ``every_steps`` there is one such place. ``endstop_active`` is for motors without
    ``homing``, which says it otherwise.
    """

    at_steps: CheckedSteps = 0
    every_steps: CheckPeriod | None = None
    endstop_active: Literal["low", "high"] | None = None


class StepperLoad(Settings):
    """Limits that replace the free ones while the motor turns a layer of a held cube."""

    max_speed_steps_per_s: PositiveSteps
    max_acceleration_steps_per_s2: PositiveSteps


class Stepper(Settings):
    """A stepper motor: steps for a turn of what it drives, and the speed it can follow.

    ``start_speed_steps_per_s`` is what it reaches and stops from at once, without a ramp.
    Positions are in steps from the zero found by homing. Rotary steppers need ``steps_per_turn``;
    those that open and close something need ``positions_steps``.
    """

    kind: Literal["stepper"]
    pins: StepperPins
    steps_per_turn: PositiveSteps | None = Field(default=None, multiple_of=4)
    positions_steps: dict[Name, Steps] = Field(default_factory=dict)
    start_speed_steps_per_s: PositiveSteps = 200
    max_speed_steps_per_s: PositiveSteps
    max_acceleration_steps_per_s2: PositiveSteps
    max_jerk_steps_per_s3: float | None = Field(
        default=None, strict=True, gt=0, description="steps/s^3; makes S-curves instead of ramps"
    )
    held: StepperLoad | None = None
    settle_ms: SettleMs = 0.0
    invert_direction: bool = False
    homing: Homing | None = None
    turn_check: TurnCheck | None = None
    backlash_steps: PlaySteps = Field(
        default=0, description="steps of play: taken up so that every motion ends forwards"
    )
    overshoot_steps: PlaySteps = Field(
        default=0, description="steps a layer of a held cube is turned too far, and back"
    )

    @property
    def sensor_active_high(self) -> bool:
        """Level of the end stop or index sensor when active."""
        if self.homing is not None:
            return self.homing.endstop_active == "high"
        return self.turn_check is not None and self.turn_check.endstop_active == "high"


class RotationTimes(Settings):
    """Stated times of a quarter and a half turn of something that rotates."""

    quarter_ms: TravelMs
    half_ms: TravelMs


class Timed(PositionTimes):
    """An actuator of which only times are known: good for planning, not for driving.

    ``positions`` with ``travel`` rows, or a rotation: ``free`` and, when a layer is turned,
    ``held`` (the same when absent).
    """

    kind: Literal["timed"]
    positions: tuple[Name, ...] = ()
    free: RotationTimes | None = None
    held: RotationTimes | None = None

    def transition_us(self, start: str, end: str, held: bool = False) -> tuple[int, int] | None:
        """``(travel, settle)`` microseconds from one position to another; None: no way."""
        return self.listed_us(start, end, held)


Actuator = Annotated[Servo | Stepper | Timed, Field(discriminator="kind")]
