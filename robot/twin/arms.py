"""Parts with named places: lids, lifters, jaws. Near a place they do what that place does.

An arm is in the *zone* of a place when it is near enough; between zones it is on its way, and
nothing may turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ZONE_PART = 0.35
"""An arm does what a position does within this part of the way to the next position."""
SLACK_PART = 0.2
"""The first part of a lift in which the arm does not touch the cube yet."""
Roll = tuple[tuple[int, int, int], int]
"""Axis and clockwise quarters of a roll of the whole cube."""


@dataclass(frozen=True)
class ArmPlace:
    """A position of an arm: where it is, what it does, and the roll it makes when entered."""

    name: str
    at: float
    role: str
    roll: Roll | None = None


class Arm:
    """A lid or lifter with its named places."""

    def __init__(self, name: str, places: Sequence[ArmPlace]) -> None:
        self.name = name
        self._places = tuple(places)

    def place(self, position: float) -> ArmPlace | None:
        """The place in whose zone the arm is, if it is in any."""
        nearest = min(self._places, key=lambda place: abs(place.at - position))
        near = abs(nearest.at - position) <= ZONE_PART * self._gap(nearest)
        return nearest if near else None

    def role(self, position: float) -> str:
        """``open``, ``hold`` or ``block`` in a zone; ``moving`` between zones."""
        place = self.place(position)
        return "moving" if place is None else place.role

    def lifts(self, position: float) -> tuple[Roll, float] | None:
        """The roll the arm is about to make or has made, and the part of the way 0..1."""
        for place in self._places:
            part = 1 - abs(place.at - position) / self._gap(place)
            if place.roll is not None and part > SLACK_PART:
                return place.roll, (part - SLACK_PART) / (1 - SLACK_PART)
        return None

    def _gap(self, place: ArmPlace) -> float:
        """Distance to the nearest other place."""
        return min(abs(place.at - other.at) for other in self._places if other is not place)
