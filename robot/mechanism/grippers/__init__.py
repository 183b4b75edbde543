"""Grippers in a profile: at two to six sites, each with a rotation and jaws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from robot.settings.actuators import ClearPart, check_clear_part
from robot.settings.base import AXIS_OF, OPPOSITE, Axis, Name, Site
from robot.settings.document import Finding, Path
from robot.settings.mechanisms import (
    MECHANISM_SETTINGS,
    Actuators,
    Jaws,
    MechanismSettings,
    RotatingPart,
    check_positions,
)


class GripperSettings(RotatingPart):
    """A rotating gripper at a site: the actuators of its rotation and of its jaws.

    Angles count clockwise seen from outside the site. Jaws that look the same after half a turn
    have ``symmetry`` 2. ``jaws`` is the robot axis along which they lie at angle 0; in that
    direction they block neighbours. ``covers``: the part of the two sites they reach over that
    closed jaws hide: ``nothing``, the ``middle`` of the row next to the gripper, or that whole
    ``row``. Jaws opened by the fraction ``clear_part`` of their travel are clear of the cube. While
    the robot scans it, they need not open further.
    """

    rotation: Name
    jaw: Name
    open: Name = "open"
    closed: Name = "closed"
    symmetry: Literal[1, 2] = 2
    jaws: Axis | None = None
    covers: Literal["nothing", "middle", "row"] = "nothing"
    clear_part: ClearPart = 1.0

    @property
    def motor(self) -> str:
        """See :meth:`RotatingPart.motor`."""
        return self.rotation

    @property
    def looks(self) -> int:
        """See :meth:`RotatingPart.looks`."""
        return 4 // self.symmetry


class GrippersSettings(MechanismSettings):
    """Grippers at two to six sites. At rest all are closed.

    ``others``: while a layer turns, closed grippers of other axes ``hold`` the rest of the cube, or
    must ``release`` it, so that two opposite grippers alone hold a 2x2x2. ``regrip``: while layers
    of another axis turn, a gripper may open, rotate and close ``at-once``, only while its jaws are
    ``clear`` of the turning layers, or ``never``. ``holders``: number of grippers that must stay
    closed and still, so that the cube does not fall or slip. While a layer turns, only grippers of
    other axes count (all, if regrips are ``at-once``). ``square_degrees``: angle off square up to
    which jaws may still be opening, or already closing, while the robot scans the cube.
    """

    kind: Literal["grippers"]
    grippers: dict[Site, GripperSettings] = Field(min_length=2, max_length=6)
    others: Literal["hold", "release"] = "hold"
    regrip: Literal["clear", "at-once", "never"] = "clear"
    holders: Annotated[int, Field(strict=True, ge=1, le=3)] = 1
    square_degrees: Annotated[
        float, Field(ge=0, le=10, description="degrees the cube may be off square, 0..10")
    ] = 0.0

    @property
    def rotating(self) -> tuple[RotatingPart, ...]:
        """All grippers."""
        return tuple(self.grippers.values())

    @property
    def homed_first(self) -> tuple[str, ...]:
        """The jaws: they close before grippers rotate."""
        return self.carriers

    @property
    def carriers(self) -> tuple[str, ...]:
        """All jaws."""
        return tuple(dict.fromkeys(gripper.jaw for gripper in self.grippers.values()))

    @property
    def jaws(self) -> Mapping[Site, Jaws]:
        """See :meth:`MechanismSettings.jaws`."""
        return {site: Jaws(one.jaw, one.open, one.closed) for site, one in self.grippers.items()}

    def purpose_of(self, actuator: str, position: str) -> str:
        """See :meth:`MechanismSettings.purpose_of`."""
        for gripper in self.grippers.values():
            if actuator == gripper.rotation:
                return "gripper-quarter" if gripper.angles.get(position) else "gripper-start"
            if actuator == gripper.jaw and position in {gripper.open, gripper.closed}:
                return "jaws-open" if position == gripper.open else "jaws-closed"
        return ""

    def check(self, actuators: Actuators, size: int) -> Iterator[Finding]:
        """Yield what keeps grippers from rotating, opening, or turning and holding a cube."""
        place: Path = ("mechanism", "grippers")
        for site, gripper in self.grippers.items():
            path: Path = (*place, site)
            yield from gripper.check(path, "rotation", actuators)
            needed = {"open": gripper.open, "closed": gripper.closed}
            yield from check_positions(path, "jaw", gripper.jaw, actuators, needed)
            yield from check_clear_part(path, gripper.clear_part, actuators.get(gripper.jaw))
            if gripper.jaws == AXIS_OF[site]:
                text = f"jaws at {site} lie across its axis, not along {gripper.jaws}"
                yield (*path, "jaws"), text
        sites = set(self.grippers)
        if len({AXIS_OF[site] for site in sites}) < 2:
            yield place, "all grippers are on one axis: four faces can never be turned"
        paired = any(OPPOSITE[site] in sites for site in sites)
        if self.others == "release" and (size > 2 or not paired):
            text = "only a 2x2x2 can be held by two opposite grippers alone: write hold"
            yield ("mechanism", "others"), text
        if self.others == "hold" and self.holders >= len(sites):
            text = (
                f"with {self.holders} of {len(sites)} grippers holding still, none is left to turn"
            )
            yield ("mechanism", "holders"), text


MECHANISM_SETTINGS["grippers"] = GrippersSettings
