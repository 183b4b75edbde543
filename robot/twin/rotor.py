"""Whether the rotor of a stepper can follow the steps it is told to make."""

from __future__ import annotations

from collections import deque

WINDOW_STEPS = 8
"""The rotor's inertia evens out what is shorter than this."""
PAUSE_US = 5_000.0
"""After so long without a step, and three times the last interval, the rotor is at rest."""


class Rotor:
    """Follows steps with limited torque.

    Speed is that over the last few steps: single intervals are never even. The rotor's energy
    (speed squared, in steps^2/s^2) can change by twice the stall acceleration with each step; a
    command that runs further ahead of it than three steps' worth, or than a seventh of the energy,
    makes the rotor slip.
    """

    def __init__(self, stall_speed: float, stall_acceleration: float) -> None:
        self._stall_speed = stall_speed
        self._gain = 2 * stall_acceleration
        self._times: deque[float] = deque(maxlen=WINDOW_STEPS + 1)
        self._energy = 0.0

    @property
    def turning(self) -> bool:
        """Whether steps have come lately."""
        return bool(self._times)

    def can_start(self, interval_us: float) -> bool:
        """Whether a rotor at rest follows a step so long after one it did not follow."""
        return (1e6 / max(interval_us, 0.5)) ** 2 <= 3 * self._gain

    def step(self, time_us: float) -> str | None:
        """Make a step; None, or why the rotor slips instead."""
        fault = self.wait(time_us)
        self._times.append(time_us)
        if fault is not None or len(self._times) < 2:
            return fault
        elapsed = max(time_us - self._times[0], 0.5)
        speed = 1e6 * (len(self._times) - 1) / elapsed
        if speed > self._stall_speed:
            self.forget()
            return f"{speed:.0f} steps/s is more than it can do"
        return self._accelerate(speed)

    def wait(self, time_us: float) -> str | None:
        """No step has come until now; None, or why the rotor runs on."""
        if not self._times or time_us - self._times[-1] <= self._longest_pause():
            return None
        return self.stop()

    def stop(self) -> str | None:
        """Steps end, or turn round; None, or why the rotor runs on."""
        speed = self._energy**0.5
        too_fast = self._energy > 3 * self._gain
        self.forget()
        return f"stopped dead from {speed:.0f} steps/s" if too_fast else None

    def forget(self) -> None:
        """The rotor is at rest."""
        self._times.clear()
        self._energy = 0.0

    def _accelerate(self, speed: float) -> str | None:
        wanted = speed**2
        ahead = wanted - self._energy
        self._energy += max(-self._gain, min(self._gain, ahead))
        if abs(ahead) <= 3 * self._gain + 0.15 * wanted:
            return None
        self._energy = wanted
        change = "accelerated" if ahead > 0 else "slowed down"
        return f"{change} too suddenly at {speed:.0f} steps/s"

    def _longest_pause(self) -> float:
        if len(self._times) < 2:
            return PAUSE_US
        return max(3 * (self._times[-1] - self._times[-2]), PAUSE_US)
