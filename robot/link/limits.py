"""Limits of the microcontroller, and the check that a plan stays within them."""

from __future__ import annotations

from dataclasses import dataclass

from robot.link.encoding import WirePlan
from robot.link.protocol import Board, ResetCause, Welcome
from robot.motion.schedule import MotionProfile, Schedule, StepSegment
from robot.settings.board_table import TICKS_PER_S
from robot.text.faults import Fault, RobotError


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The firmware's own description; rates in steps/s of each axis moving at a time."""

    board: Board
    firmware_version: str
    protocol_version: int
    boot_id: int
    config_crc: int
    reset_cause: ResetCause
    profile_units: int
    queue_bytes: int
    rate_one: int
    rate_two: int
    rate_six: int

    @classmethod
    def of(cls, welcome: Welcome) -> Capabilities:
        """Read them from the firmware's greeting."""
        return cls(
            board=Board(welcome.board),
            firmware_version=f"{welcome.major}.{welcome.minor}.{welcome.patch}",
            protocol_version=welcome.version,
            boot_id=welcome.boot_id,
            config_crc=welcome.config_crc,
            reset_cause=ResetCause(welcome.reset_cause),
            profile_units=welcome.profile_units,
            queue_bytes=welcome.queue_bytes,
            rate_one=welcome.rate_one,
            rate_two=welcome.rate_two,
            rate_six=welcome.rate_six,
        )

    def rate(self, axes: int, beside_servos: bool = False) -> float:
        """Steps/s each of so many axes can make at a time; time per step grows evenly.

        Where servos are connected every step is looked at for whether it would delay a pulse,
        except at a Raspberry Pi, whose kernel makes the pulses.
        """
        if beside_servos and self.board != Board.LINUX:
            return self.rate(max(axes, 2)) / 2
        if axes <= 1:
            return self.rate_one
        slope = (1 / self.rate_six - 1 / self.rate_two) / 4
        return 1 / (1 / self.rate_two + max(slope, 0.0) * (axes - 2))


def check_plan(
    schedule: Schedule, plan: WirePlan, capabilities: Capabilities, *, beside_servos: bool = False
) -> None:
    """Raise :class:`RobotError` (``BEYOND_BOARD``) with the reason if the board cannot do it."""
    units = sum(shape.units for shape in plan.shapes)
    if units > capabilities.profile_units:
        raise RobotError(
            Fault.BEYOND_BOARD,
            detail=f"profiles take {units} units of memory, "
            f"this board has {capabilities.profile_units}",
        )
    for axes, rate, start_us in _crowded_moments(schedule):
        possible = capabilities.rate(axes, beside_servos)
        if rate > possible:
            where = " beside servos" if beside_servos else ""
            raise RobotError(
                Fault.BEYOND_BOARD,
                detail=f"{axes} motors at up to {rate:.0f} steps/s "
                f"{start_us / 1e6:.3f} s into the plan, "
                f"this board makes {possible:.0f} steps/s each{where}",
            )


def peak_rate(profile: MotionProfile) -> float:
    """Highest speed of a profile in steps/s; 0 for a servo."""
    shortest = [
        min(run.interval_ticks, run.interval_ticks + run.add_ticks * (abs(run.count) - 1))
        for run in profile.segments
        if isinstance(run, StepSegment)
    ]
    return TICKS_PER_S / min(shortest) if shortest else 0.0


def _crowded_moments(schedule: Schedule) -> list[tuple[int, float, int]]:
    """(motors moving, highest speed among them, time) whenever a motor starts."""
    rates = [peak_rate(profile) for profile in schedule.profiles]
    moving: list[tuple[int, float]] = []
    moments = []
    for turn in schedule.turns:
        rate = rates[turn.profile]
        if not rate:
            continue
        moving = [item for item in moving if item[0] > turn.start_us]
        moving.append((turn.start_us + schedule.profiles[turn.profile].duration_us, rate))
        moments.append((len(moving), max(speed for _, speed in moving), turn.start_us))
    return moments
