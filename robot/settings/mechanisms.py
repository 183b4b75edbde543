"""Settings common to all kinds of mechanism; each kind's own settings are in its folder."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field

from robot.settings.actuators import TOGETHER, ActuatorSettings, Servo
from robot.settings.base import Kinds, KindSettings, Name, Settings, Site
from robot.settings.document import Finding, Path

Quarters = Annotated[
    int, Field(strict=True, ge=-8, le=8, description="a whole number of quarter turns, -8..8")
]
Actuators = Mapping[str, ActuatorSettings]

BUILT_IN_MECHANISMS = ("flipper", "layered-flipper", "grippers", "direct")
"""Kinds that come with Cubist: each is a folder of robot/mechanism and a module of robot/twin."""

MECHANISM_SETTINGS: Kinds[type[MechanismSettings]] = Kinds(
    "kind of mechanism", "robot.mechanism.{kind}", BUILT_IN_MECHANISMS
)
"""The settings of each kind of mechanism. Its graph is registered in ``robot.mechanism.registry``,
its simulation in ``robot.twin.registry``."""


MOST_UNEVEN = 1.5
"""Largest ratio between the pulses of two quarter turns of one servo."""


class Jaws(NamedTuple):
    """The actuator that opens and closes a gripper, and its two positions."""

    actuator: str
    open: str
    closed: str


class MechanismSettings(KindSettings):
    """The settings of a mechanism of any kind, in the form that the rest of the program uses."""

    most_layers: ClassVar[int] = 3
    """Layers of the largest cube it can solve. With four or more, inner layers must turn, too."""

    @classmethod
    def registry(cls) -> Mapping[str, type[MechanismSettings]]:
        """Return every kind of mechanism."""
        return MECHANISM_SETTINGS

    @property
    def rotating(self) -> tuple[RotatingPart, ...]:
        """Its tables and grippers; motors fixed to a face of the cube are not among them."""
        return ()

    @property
    def homed_first(self) -> tuple[str, ...]:
        """Actuators to be homed before the others: those that hold or roll the cube."""
        return ()

    @property
    def carriers(self) -> tuple[str, ...]:
        """Actuators whose force keeps a cube at rest from falling."""
        return ()

    @property
    def jaws(self) -> Mapping[Site, Jaws]:
        """The jaws of its grippers by site."""
        return {}

    @property
    def holding(self) -> tuple[tuple[str, str], ...]:
        """``(actuator, position)`` of each arm that can hold the cube above a table."""
        return ()

    def purpose_of(self, actuator: str, position: str) -> str:
        """The code of a position's purpose in :data:`robot.text.purposes.PURPOSES`; "" if none."""
        del actuator, position
        return ""

    def measured_purpose(self, what: str) -> str:
        """The code, like :meth:`purpose_of`, of a value that is measured on its motors."""
        del what
        return ""

    @abstractmethod
    def check(self, actuators: Actuators, size: int) -> Iterator[Finding]:
        """Yield every reason why it is impossible with these actuators and a cube of this size."""

    def check_built_like(
        self, built: Actuators, calibrated: Actuators, known: Mapping[str, Collection[str]]
    ) -> Iterator[Finding]:
        """Yield every reason why calibrated positions are impossible for this robot, whose profile
        has ``built``. ``known``: the positions to check, by actuator."""
        for name, positions in known.items():
            path: Path = ("actuators", name)
            part = self.rotated_by(name)
            if part is None:
                yield from calibrated[name].check_built_like(path, built[name], positions)
            else:
                yield from part.check_built_like(path, built[name], calibrated[name], positions)

    def rotated_by(self, actuator: str) -> RotatingPart | None:
        """Return the table or gripper that an actuator rotates."""
        return next((part for part in self.rotating if part.motor == actuator), None)


class RotatingPart(Settings, ABC):
    """A table or gripper: the angles that its actuator may turn it to, in quarter turns.

    A servo names the quarter turns of its positions in ``angles``. A stepper or timed actuator
    gives ``range_quarters``, or nothing if it may turn endlessly.
    """

    angles: dict[Name, Quarters] = Field(default_factory=dict)
    range_quarters: tuple[Quarters, Quarters] | None = None
    start: Name | Quarters = 0

    @property
    @abstractmethod
    def motor(self) -> str:
        """The actuator that rotates it."""

    @property
    @abstractmethod
    def looks(self) -> int:
        """Number of angles that look different: 1 if every quarter turn looks the same."""

    def degree_us(self, servo: Servo) -> float:
        """Return the pulse microseconds per degree of its ``servo``, signed like its angles."""
        places = sorted((servo.positions_us[name], angle) for name, angle in self.angles.items())
        (low, first), *_, (high, last) = places
        return (high - low) / (90 * (last - first))

    def check(self, path: Path, key: str, actuators: Actuators) -> Iterator[Finding]:
        """Check that the actuator, named at ``key``, exists and turns it over its angles."""
        actuator = actuators.get(self.motor)
        if actuator is None:
            yield (*path, key), missing(self.motor, actuators)
        elif actuator.turns_freely:
            yield from self._check_range(path, key, actuator)
        else:
            yield from self._check_angles(path, actuator)

    def check_built_like(
        self,
        path: Path,
        built: ActuatorSettings,
        calibrated: ActuatorSettings,
        known: Collection[str],
    ) -> Iterator[Finding]:
        """Yield every reason why ``known`` positions are impossible for its angles: quarter turns
        go both ways, or have very different sizes, also compared with ``built``. A motor may be
        mounted the other way round, so that all of them are reversed."""
        in_order = sorted(self.angles.keys() & known, key=self.angles.__getitem__)
        before: float | None = None
        for first, second in itertools.pairwise(in_order):
            quarters = self.angles[second] - self.angles[first]
            here, usual = (
                (one.places[second] - one.places[first]) / quarters for one in (calibrated, built)
            )
            text = f"a quarter turn from {first} to {second} is {here:.0f} {calibrated.unit}"
            scale = calibrated.most_scaled
            if not abs(usual) / scale <= abs(here) <= abs(usual) * scale:
                text += f", but {usual:.0f} in the profile"
            elif before is not None and not 1 / MOST_UNEVEN <= here / before <= MOST_UNEVEN:
                text += f", but {before:.0f} up to {first}"
            else:
                before = here
                continue
            yield (*path, calibrated.positions_key, second), f"{text}. {TOGETHER}"

    def _check_angles(self, path: Path, actuator: ActuatorSettings) -> Iterator[Finding]:
        """Check an actuator that turns between named positions."""
        name, places = self.motor, actuator.places
        if len(self.angles) < 2:
            text = f"{name} is a {actuator.kind}: name two or more positions and their angles"
            yield (*path, "angles"), text
        for position in sorted(set(self.angles) - set(places)):
            known = ", ".join(sorted(places))
            yield (*path, "angles", position), f"{name} has no such position; it has {known}"
        if len(set(self.angles.values())) < len(self.angles):
            yield (*path, "angles"), "two positions have the same angle"
        in_order = sorted(self.angles, key=self.angles.__getitem__)
        pulses = [places[one] for one in in_order if one in places]
        if pulses not in (sorted(pulses), sorted(pulses, reverse=True)):
            text = f"the pulses {pulses} of {name} neither rise nor fall steadily with the angle"
            yield (*path, "angles"), text
        if self.range_quarters is not None:
            text = f"a {actuator.kind}'s range is given by angles; leave this out"
            yield (*path, "range_quarters"), text
        if self.start not in self.angles:
            yield (*path, "start"), f"must be one of the angles' names: {', '.join(self.angles)}"

    def _check_range(self, path: Path, key: str, actuator: ActuatorSettings) -> Iterator[Finding]:
        """Check an actuator that turns by any number of quarter turns."""
        if self.angles:
            yield (*path, "angles"), f"{self.motor} is not a servo: give range_quarters or nothing"
        yield from check_rotates((*path, key), self.motor, actuator)
        low, high = self.range_quarters or (-8, 8)
        if high - low < 1:
            yield (*path, "range_quarters"), "cannot reach a second angle: the range is empty"
        if isinstance(self.start, str) or not low <= self.start <= high:
            yield (*path, "start"), f"must be a number of quarter turns in {low}..{high}"


def missing(name: str, actuators: Actuators) -> str:
    """Return the complaint about an actuator that does not exist."""
    return f"no actuator named {name}; the profile has {', '.join(sorted(actuators))}"


def check_rotates(path: Path, name: str, actuator: ActuatorSettings) -> Iterator[Finding]:
    """Check that the actuator can rotate something."""
    if not actuator.rotates:
        yield path, f"{name} does not rotate: it has no {actuator.rotation_key}"


def check_positions(
    path: Path, key: str, name: str, actuators: Actuators, needed: Mapping[str, str]
) -> Iterator[Finding]:
    """Check that the actuator ``name`` exists and has the positions ``needed``, given by key."""
    actuator = actuators.get(name)
    if actuator is None:
        yield (*path, key), missing(name, actuators)
        return
    for role, position in needed.items():
        if position not in actuator.position_names:
            known = ", ".join(sorted(actuator.position_names)) or "none"
            yield (*path, role), f"{name} has no position {position}; it has {known}"
