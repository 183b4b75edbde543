"""Layered flippers in a profile: elevator, turntable above it, flipper and squisher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from robot.mechanism.flipper import Turntable
from robot.settings.base import Name, Rotation, Settings
from robot.settings.document import Finding, Path
from robot.settings.mechanisms import (
    MECHANISM_SETTINGS,
    Actuators,
    MechanismSettings,
    RotatingPart,
    check_positions,
)


class UpperTurntable(Turntable):
    """The frame above the cube that turns the rows in it. Angles count clockwise from above."""


class ElevatorSettings(Settings):
    """The part that raises the cube; ``rows`` names its positions with 0, 1, 2 ... rows of the cube
    in the turntable. It starts with none."""

    actuator: Name
    rows: tuple[Name, ...] = Field(min_length=3, max_length=8)


class SwingSettings(Settings):
    """The part that rolls a lowered cube: by ``rolls`` from ``first`` to ``second`` position, and
    back again on its return. Below a raised cube it moves empty."""

    actuator: Name
    first: Name = "first"
    second: Name = "second"
    rolls: Rotation = "x"


class SquisherSettings(Settings):
    """The part that holds the rows below the turntable.

    ``again``: it opens and closes again after each turn of layers, to square those of larger cubes.
    """

    actuator: Name
    open: Name = "open"
    closed: Name = "closed"
    again: bool = False


class LayeredFlipperSettings(MechanismSettings):
    """A robot that turns any number of upper layers against the others, or the whole cube."""

    most_layers: ClassVar[int] = 7

    kind: Literal["layered-flipper"]
    turntable: UpperTurntable
    elevator: ElevatorSettings
    flipper: SwingSettings
    squisher: SquisherSettings

    @property
    def rotating(self) -> tuple[RotatingPart, ...]:
        """The turntable."""
        return (self.turntable,)

    @property
    def homed_first(self) -> tuple[str, ...]:
        """Turntable, squisher and elevator: layers are squared before the squisher lets go, and the
        cube comes down before it is rolled."""
        return (self.turntable.actuator, self.squisher.actuator, self.elevator.actuator)

    @property
    def carriers(self) -> tuple[str, ...]:
        """The elevator, which may hold the cube up."""
        return (self.elevator.actuator,)

    @property
    def holding(self) -> tuple[tuple[str, str], ...]:
        """See :meth:`MechanismSettings.holding`."""
        return ((self.squisher.actuator, self.squisher.closed),)

    def purpose_of(self, actuator: str, position: str) -> str:
        """See :meth:`MechanismSettings.purpose_of`."""
        if actuator == self.turntable.actuator:
            return "table-quarter" if self.turntable.angles.get(position) else "table-start"
        if actuator == self.elevator.actuator and position in self.elevator.rows:
            return "lift-down" if position == self.elevator.rows[0] else "lift-row"
        if actuator == self.squisher.actuator:
            return "jaws-open" if position == self.squisher.open else "jaws-closed"
        return "swing-end" if actuator == self.flipper.actuator else ""

    def check(self, actuators: Actuators, size: int) -> Iterator[Finding]:
        """Yield missing motions of the parts, and missing or unordered rows of the elevator."""
        path: Path = ("mechanism",)
        yield from self.turntable.check((*path, "turntable"), "actuator", actuators)
        yield from self._check_rows((*path, "elevator"), actuators, size)
        swing = {"first": self.flipper.first, "second": self.flipper.second}
        yield from check_positions(
            (*path, "flipper"), "actuator", self.flipper.actuator, actuators, swing
        )
        if self.flipper.rolls[0] == "y" or self.flipper.rolls.endswith("2"):
            yield (
                (*path, "flipper", "rolls"),
                "must be a quarter turn about x or z",
            )
        if self.flipper.first == self.flipper.second:
            yield (*path, "flipper", "second"), "must be another position than the first"
        squisher = {"open": self.squisher.open, "closed": self.squisher.closed}
        yield from check_positions(
            (*path, "squisher"), "actuator", self.squisher.actuator, actuators, squisher
        )

    def _check_rows(self, path: Path, actuators: Actuators, size: int) -> Iterator[Finding]:
        name, rows = self.elevator.actuator, self.elevator.rows
        yield from check_positions(path, "actuator", name, actuators, {})
        if len(rows) != size + 1:
            text = f"a cube of {size} layers needs {size + 1} positions, for 0 to {size} rows"
            yield (*path, "rows"), f"{text}; these are {len(rows)}"
        if name not in actuators:
            return
        places = actuators[name].places
        for row in sorted(set(rows) - actuators[name].position_names):
            known = ", ".join(sorted(actuators[name].position_names)) or "none"
            yield (*path, "rows"), f"{name} has no position {row}; it has {known}"
        heights = [places[row] for row in rows if row in places]
        if heights not in (sorted(heights), sorted(heights, reverse=True)):
            text = (
                f"the positions {heights} of {name} neither rise nor fall steadily from row to row"
            )
            yield (*path, "rows"), text


MECHANISM_SETTINGS["layered-flipper"] = LayeredFlipperSettings
