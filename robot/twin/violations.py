"""Violations in the simulated robot, as a person beside it would see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from solver.files import JsonObject

SAME_INCIDENT_US = 500_000.0
"""Reports of one kind closer together than this are one incident."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Something a robot must never do. ``kind`` is for programs, ``text`` for people."""

    time_us: int
    kind: str
    text: str

    def as_dict(self) -> JsonObject:
        """The violation for JSON."""
        return {"time_us": self.time_us, "kind": self.kind, "text": self.text}


class Incidents:
    """Collects violations; a kind that goes on and on is reported once."""

    def __init__(self) -> None:
        self.violations: list[Violation] = []
        self.time_us = 0.0
        self._last: dict[tuple[str, str], float] = {}

    def report(self, kind: str, text: str, subject: str = "") -> None:
        """Note a violation at the present time; ``subject`` tells incidents of a kind apart."""
        key = (kind, subject)
        last = self._last.get(key)
        self._last[key] = self.time_us
        if last is None or self.time_us - last > SAME_INCIDENT_US:
            self.violations.append(Violation(round(self.time_us), kind, text))


Reporter = Callable[[str, str, str], None]
"""``report(kind, text, subject)``, as :meth:`Incidents.report`."""
