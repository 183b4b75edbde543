"""Violations in the simulated robot, as a person watching it would report them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from solver.files import JsonObject

SAME_INCIDENT_US = 500_000.0
"""Interval below which reports of one kind are one incident."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An event that must never happen. ``kind`` is for programs, ``text`` for people."""

    time_us: int
    kind: str
    text: str

    def as_dict(self) -> JsonObject:
        """Return the violation for JSON."""
        return {"time_us": self.time_us, "kind": self.kind, "text": self.text}


class Incidents:
    """A list of violations; one that persists is reported once."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.time_us = 0.0
        self._last: dict[tuple[str, str], float] = {}

    def report(self, kind: str, text: str, subject: str = "") -> None:
        """Record a violation at the present time; ``subject`` separates incidents of a kind."""
        key = (kind, subject)
        last = self._last.get(key)
        self._last[key] = self.time_us
        if last is None or self.time_us - last > SAME_INCIDENT_US:
            self.violations.append(Violation(round(self.time_us), kind, text))


Reporter = Callable[[str, str, str], None]
"""A function ``report(kind, text, subject)`` like :meth:`Incidents.report`."""
