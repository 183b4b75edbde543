"""Actuators of which only times are known."""

from __future__ import annotations

from robot.motion.drive import DRIVES, Drive
from robot.settings.actuators import RotationTimes, Timed
from robot.settings.base import microseconds


class TimedDrive(Drive):
    """Stated times; there is no motion to be played."""

    def __init__(self, name: str, settings: Timed) -> None:
        super().__init__(name)
        self._settings = settings

    def travel_us(self, start: str, end: str, held: bool) -> int | None:
        """See :meth:`Drive.travel_us`."""
        times = self._settings.transition_us(start, end, held)
        return None if times is None else sum(times)

    def rotation_us(self, quarters: int, held: bool) -> int:
        """See :meth:`Drive.rotation_us`."""
        settings = self._settings
        if settings.free is None:
            return super().rotation_us(quarters, held)
        times = settings.held if held and settings.held is not None else settings.free
        settle = microseconds(settings.held_settle_ms) if held else 0
        return _stated_us(times, abs(quarters)) + settle


def _stated_us(times: RotationTimes, quarters: int) -> int:
    """A half turn's time and a quarter's give the slope for longer rotations."""
    quarter, half = microseconds(times.quarter_ms), microseconds(times.half_ms)
    return quarter if quarters == 1 else half + (quarters - 2) * (half - quarter)


DRIVES["timed"] = TimedDrive
