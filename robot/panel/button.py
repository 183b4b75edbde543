"""Short, long and very long presses of a button, and hands on two touch pads, from samples of
bouncing contacts. There are no clock and no pins here.

A contact that is closed at the start, or for longer than anybody presses, is stuck: shorted, or
covered, or a touch module whose polarity is not the profile's. It must neither start the robot nor
switch it off, so it is trusted again only after it has been open for as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Press(StrEnum):
    """A press of the button, by its length."""

    SHORT = "short"
    LONG = "long"
    VERY_LONG = "very-long"


SETTLE_US = 25_000
"""A level counts once it has held this long without a change.

Contacts bounce for up to 20 ms. Mains pick-up changes level every 8 to 10 ms, so it never holds
that long.
"""

LONG_US = 1_500_000
VERY_LONG_US = 5_000_000
STUCK_US = 15_000_000
"""A button that is pressed for longer is stuck."""

HOLD_US = 550_000
"""Time for which both hands must lie on the pads before lifting them counts, as at competitions."""

PAD_STUCK_US = 60_000_000
"""A pad that is covered for longer is stuck: nobody leaves a hand there."""


class Debouncer:
    """The steady level behind a noisy input, from samples and edges alike."""

    def __init__(self, settle_us: int, level: bool = False) -> None:
        self.level = level
        self._settle_us = settle_us
        self._raw = level
        self._since_us = 0

    @property
    def settling(self) -> bool:
        """Return whether the level may be changing: sample often, or interference is missed."""
        return self._raw != self.level

    def sample(self, level: bool, time_us: int) -> int | None:
        """Take the raw level at a time. If the steady level changes, return when that began."""
        if level != self._raw:
            self._raw, self._since_us = level, time_us
        if self._raw == self.level or time_us - self._since_us < self._settle_us:
            return None
        self.level = self._raw
        return self._since_us

    def edge(self, time_us: int) -> None:
        """Note that the input changed at this time. It has to be steady again from then on."""
        self._since_us = max(self._since_us, time_us)


class Contact(Debouncer):
    """A debounced contact (``True``: closed), trusted while it was recently open for longer than
    it was closed.

    ``stuck_us``: the time that counts as recent, and so the time for which a rested contact may be
    closed. A contact that is open at the first sample counts as rested.
    """

    def __init__(self, settle_us: int, stuck_us: int) -> None:
        super().__init__(settle_us)
        self._stuck_us = stuck_us
        self._rested_us: int | None = None
        self._sampled_us = 0

    @property
    def believed(self) -> bool:
        """Return whether its level is trusted."""
        return self._rested_us is None or self._rested_us > 0

    @property
    def stuck(self) -> bool:
        """Return whether it is closed and not trusted."""
        return self.level and not self.believed

    def sample(self, level: bool, time_us: int) -> int | None:
        """See :meth:`Debouncer.sample`."""
        if self._rested_us is None:
            self._rested_us = -self._stuck_us if level else self._stuck_us
            self._sampled_us = time_us
        changed_us = super().sample(level, time_us)
        passed_us = (time_us - self._sampled_us) * (-1 if self.level else 1)
        self._rested_us = max(-self._stuck_us, min(self._stuck_us, self._rested_us + passed_us))
        self._sampled_us = time_us
        return changed_us


class Button:
    """Presses from samples of a contact (``True``: pressed).

    A press is reported when the button is released: only then is it certain that the button is not
    stuck. :attr:`held_very_long` says when to release it.
    """

    def __init__(self) -> None:
        self._contact = Contact(SETTLE_US, STUCK_US)
        self._pressed_us: int | None = None
        self._now_us = 0

    @property
    def settling(self) -> bool:
        """Return whether to sample often, see :attr:`Debouncer.settling`."""
        return self._contact.settling

    @property
    def stuck(self) -> bool:
        """Return whether it is pressed and not trusted."""
        return self._contact.stuck

    @property
    def held_very_long(self) -> bool:
        """Return whether the press under way would be a very long one if it ended now."""
        pressed_us = self._pressed_us
        return pressed_us is not None and self._now_us - pressed_us >= VERY_LONG_US

    def edge(self, time_us: int) -> None:
        """Note that the contact changed at this time."""
        self._contact.edge(time_us)

    def sample(self, pressed: bool, time_us: int) -> Press | None:
        """Take the contact's level at a time. Return the press that ended with it, if any."""
        self._now_us = time_us
        changed_us = self._contact.sample(pressed, time_us)
        if not self._contact.believed:
            self._pressed_us = None
        elif changed_us is not None and self._contact.level:
            self._pressed_us = changed_us
        elif changed_us is not None:
            return self._release(changed_us)
        return None

    def _release(self, time_us: int) -> Press | None:
        pressed_us, self._pressed_us = self._pressed_us, None
        if pressed_us is None:
            return None
        held_us = time_us - pressed_us
        if held_us >= VERY_LONG_US:
            return Press.VERY_LONG
        return Press.LONG if held_us >= LONG_US else Press.SHORT


class Hands(StrEnum):
    """An event of the pads."""

    LAID = "laid"
    READY = "ready"
    LIFTED = "lifted"


class Pads:
    """Converts samples of the pads (``True``: a hand is on it) to events.

    A pad that is covered at the first sample, or for longer than anybody waits, is stuck: broken,
    or of the other polarity. Hands have no effect until it is trusted again.
    """

    def __init__(self, count: int) -> None:
        self._pads = [Contact(SETTLE_US, PAD_STUCK_US) for _ in range(count)]
        self._since_us: int | None = None
        self._ready = False

    @property
    def stuck(self) -> tuple[bool, ...]:
        """Return for each pad whether it is stuck."""
        return tuple(pad.stuck for pad in self._pads)

    @property
    def in_use(self) -> bool:
        """Return whether a hand is on a pad, or comes or goes: sample often."""
        return any((pad.level and pad.believed) or pad.settling for pad in self._pads)

    def sample(self, covered: Sequence[bool], time_us: int) -> Hands | None:
        """Take the levels of the pads. Return the event of the hands, if any."""
        for pad, level in zip(self._pads, covered, strict=True):
            pad.sample(level, time_us)
        if not all(pad.believed for pad in self._pads):
            self._ready, self._since_us = False, None
            return None
        if not all(pad.level for pad in self._pads):
            return self._lift()
        if self._since_us is None:
            self._since_us = time_us
            return Hands.LAID
        if not self._ready and time_us - self._since_us >= HOLD_US:
            self._ready = True
            return Hands.READY
        return None

    def _lift(self) -> Hands | None:
        ready, self._ready, self._since_us = self._ready, False, None
        return Hands.LIFTED if ready else None
