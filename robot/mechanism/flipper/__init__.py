"""Flippers in a profile: a turntable below the cube, and arms above that hold and roll the cube."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from robot.settings.actuators import ClearPart, check_clear_part
from robot.settings.base import Name, Rotation, Settings
from robot.settings.document import Finding, Path
from robot.settings.mechanisms import (
    MECHANISM_SETTINGS,
    Actuators,
    MechanismSettings,
    RotatingPart,
    check_positions,
)


class Turntable(RotatingPart):
    """The table below the cube. Angles count like a D turn, clockwise seen from below."""

    actuator: Name

    @property
    def motor(self) -> str:
        """See :meth:`RotatingPart.motor`."""
        return self.actuator

    @property
    def looks(self) -> int:
        """See :meth:`RotatingPart.looks`: a table looks the same after each quarter turn."""
        return 1


class Roll(Settings):
    """An arm's position that rolls the cube when entered; ``then`` is its effect afterwards."""

    rolls: Rotation
    then: Literal["open", "hold", "block"] = "block"


ArmRole = Literal["open", "hold"] | Roll
"""The effect of a position: ``open``: the cube is free; ``hold``: all but the bottom layer is held;
or a roll."""


class ArmSettings(Settings):
    """A lid or lifter above the table, with the effect of each position on the cube.

    ``clear_part``: fraction of the travel back from a roll to ``start`` after which the arm is
    clear of the cube. While the robot scans the cube, the arm need not go further. ``look_part``:
    fraction after which the cube lies flat and the camera sees it, but the table must not turn it
    yet.
    """

    actuator: Name
    positions: dict[Name, ArmRole] = Field(min_length=2)
    start: Name
    clear_part: ClearPart = 1.0
    look_part: ClearPart | None = None

    @property
    def looks_from(self) -> float:
        """The least fraction of the travel back from a roll at which the camera sees the cube."""
        return min(self.clear_part, self.look_part or 1.0)

    @property
    def lifts(self) -> str | None:
        """The position that rolls the cube when entered from ``start``; None if there is none."""
        return next((n for n, role in self.positions.items() if isinstance(role, Roll)), None)

    def check(self, path: Path, actuators: Actuators) -> Iterator[Finding]:
        """Yield positions unknown to the actuator, a bad start, and bad parts of the travel."""
        yield from check_positions(path, "actuator", self.actuator, actuators, {})
        actuator = actuators.get(self.actuator)
        known = actuator.position_names if actuator is not None else self.positions.keys()
        for name in sorted(self.positions.keys() - known):
            there = ", ".join(sorted(known)) or "none"
            text = f"{self.actuator} has no such position; it has {there}"
            yield (*path, "positions", name), text
        if self.start not in self.positions:
            yield (*path, "start"), f"must be one of {', '.join(self.positions)}"
        elif isinstance(self.positions[self.start], Roll):
            yield (*path, "start"), "must not be a position that rolls the cube"
        yield from check_clear_part(path, self.clear_part, actuator)
        if self.look_part is not None:
            yield from check_clear_part(path, self.look_part, actuator, "look_part")
            if self.look_part >= self.clear_part:
                text = f"must be less than clear_part, {self.clear_part:g}; leave it out"
                yield (*path, "look_part"), text


class FlipperSettings(MechanismSettings):
    """A turntable below and one or more arms; only the bottom layer can be turned."""

    kind: Literal["flipper"]
    turntable: Turntable
    arms: tuple[ArmSettings, ...] = Field(min_length=1, max_length=3)

    @property
    def rotating(self) -> tuple[RotatingPart, ...]:
        """The table."""
        return (self.turntable,)

    @property
    def homed_first(self) -> tuple[str, ...]:
        """The arms: a lid goes up before the table turns below it."""
        return tuple(arm.actuator for arm in self.arms)

    @property
    def holding(self) -> tuple[tuple[str, str], ...]:
        """See :meth:`MechanismSettings.holding`."""
        return tuple(
            (arm.actuator, name)
            for arm in self.arms
            for name, role in arm.positions.items()
            if role == "hold"
        )

    def purpose_of(self, actuator: str, position: str) -> str:
        """See :meth:`MechanismSettings.purpose_of`."""
        if actuator == self.turntable.actuator:
            return "table-quarter" if self.turntable.angles.get(position) else "table-start"
        for arm in self.arms:
            if arm.actuator == actuator and position in arm.positions:
                role = arm.positions[position]
                return "arm-roll" if isinstance(role, Roll) else f"arm-{role}"
        return ""

    def check(self, actuators: Actuators, size: int) -> Iterator[Finding]:
        """Yield what keeps table or arms from moving, or the cube from being held and rolled."""
        del size
        yield from self.turntable.check(("mechanism", "turntable"), "actuator", actuators)
        for index, arm in enumerate(self.arms):
            yield from arm.check(("mechanism", "arms", index), actuators)
        roles = [role for arm in self.arms for role in arm.positions.values()]
        rolls = [role for role in roles if isinstance(role, Roll)]
        if "hold" not in roles and not any(roll.then == "hold" for roll in rolls):
            yield ("mechanism", "arms"), "no position holds the cube, so no layer can be turned"
        if not any(roll.rolls[0] != "y" for roll in rolls):
            yield (
                ("mechanism", "arms"),
                "no position rolls the cube, so four faces cannot be turned",
            )


MECHANISM_SETTINGS["flipper"] = FlipperSettings
