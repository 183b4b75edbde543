"""From a bouncing contact to presses: short, long and very long. No clock, no pin: only samples."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Press(StrEnum):
    """What a person did with the button."""

    SHORT = "short"
    LONG = "long"
    VERY_LONG = "very-long"


@dataclass(frozen=True)
class ButtonTimes:
    """Limits in microseconds.

    ``settle_us``: a level counts once it has held this long without a change. Contacts bounce for
    up to 20 ms; mains pick-up changes level every 8 to 10 ms, so it never holds that long.
    """

    settle_us: int = 25_000
    long_us: int = 1_500_000
    very_long_us: int = 5_000_000


class Debouncer:
    """The steady level behind a noisy input, from samples and edges alike."""

    def __init__(self, settle_us: int, level: bool = False) -> None:
        self.level = level
        self._settle_us = settle_us
        self._raw = level
        self._since_us = 0

    @property
    def settling(self) -> bool:
        """Whether the level may be about to change: look often now, or pick-up goes unnoticed."""
        return self._raw != self.level

    def sample(self, level: bool, time_us: int) -> int | None:
        """Take the raw level at a time; when the steady level changes, when that began."""
        if level != self._raw:
            self._raw, self._since_us = level, time_us
        if self._raw == self.level or time_us - self._since_us < self._settle_us:
            return None
        self.level = self._raw
        return self._since_us

    def edge(self, time_us: int) -> None:
        """The input changed at this time, to whatever level: steadiness starts anew."""
        self._since_us = max(self._since_us, time_us)


class Button:
    """Presses from samples of a contact (``True``: pressed).

    A short press is told when the button is let go, a long one at release too unless it grows into
    a very long one, which is told the moment its time is reached: a person watching for the light
    to change lets go then. A button pressed at the first sample (stuck, or held while the Pi
    starts) is ignored until it was let go once.
    """

    def __init__(self, times: ButtonTimes | None = None) -> None:
        self._times = times or ButtonTimes()
        self._contact = Debouncer(self._times.settle_us)
        self._pressed_us: int | None = None
        self._armed: bool | None = None

    @property
    def pressed_us(self) -> int | None:
        """When the press under way began, None when there is none."""
        return self._pressed_us

    @property
    def settling(self) -> bool:
        """Whether to sample often, see :attr:`Debouncer.settling`."""
        return self._contact.settling

    def edge(self, time_us: int) -> None:
        """The contact changed at this time."""
        self._contact.edge(time_us)

    def sample(self, pressed: bool, time_us: int) -> Press | None:
        """Take the contact's level at a time; the press that this completes, if any."""
        if self._armed is None:
            self._armed = not pressed
        self._armed = self._armed or not pressed
        changed_us = self._contact.sample(pressed and self._armed, time_us)
        if changed_us is not None and self._contact.level:
            self._pressed_us = changed_us
        elif changed_us is not None:
            return self._released(changed_us)
        return self._held(time_us)

    def _held(self, time_us: int) -> Press | None:
        if self._pressed_us is None or time_us - self._pressed_us < self._times.very_long_us:
            return None
        self._pressed_us = None
        return Press.VERY_LONG

    def _released(self, time_us: int) -> Press | None:
        pressed_us, self._pressed_us = self._pressed_us, None
        if pressed_us is None:
            return None
        return Press.LONG if time_us - pressed_us >= self._times.long_us else Press.SHORT
