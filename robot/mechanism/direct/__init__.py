"""Robots with a motor on each face, in a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from robot.settings.base import AXIS_OF, Name, Site
from robot.settings.document import Finding, Path
from robot.settings.mechanisms import (
    MECHANISM_SETTINGS,
    Actuators,
    MechanismSettings,
    check_rotates,
    missing,
)

MEASURED_PURPOSES = {
    "home": "face-zero",
    "direction": "face-direction",
    "steps": "face-turn",
}


class DirectSettings(MechanismSettings):
    """A motor on each of five or six faces; the cube as a whole never moves.

    ``together``: motors of opposite faces may run at once. ``overlap_degrees``: the next axis
    starts when the turns before it have at most this angle left.
    """

    kind: Literal["direct"]
    motors: dict[Site, Name] = Field(min_length=1, max_length=6)
    together: bool = True
    overlap_degrees: Annotated[
        float, Field(ge=0, le=40, description="degrees a layer may be off when the next starts")
    ] = 0.0

    def measured_purpose(self, what: str) -> str:
        """See :meth:`MechanismSettings.measured_purpose`."""
        return MEASURED_PURPOSES.get(what, "")

    def check(self, actuators: Actuators, size: int) -> Iterator[Finding]:
        """Yield motors that cannot turn their face without limit, and missing or repeated ones."""
        place: Path = ("mechanism", "motors")
        for site, name in self.motors.items():
            actuator = actuators.get(name)
            if actuator is None:
                yield (*place, site), missing(name, actuators)
            elif not actuator.turns_freely:
                yield (
                    (*place, site),
                    f"{name} is a {actuator.kind}, which cannot turn without limit",
                )
            else:
                yield from check_rotates((*place, site), name, actuator)
        names = list(self.motors.values())
        for site, name in self.motors.items():
            if names.count(name) > 1:
                yield (*place, site), f"{name} cannot drive two faces"
        absent = [site for site in "URFDLB" if site not in self.motors]
        if size == 3 and len(absent) > 1:
            text = f"no motor can turn {', '.join(absent)}; a 3x3x3 needs five motors or more"
            yield place, text
        if len({AXIS_OF[site] for site in self.motors}) < 3:
            yield place, "a cube needs a motor on each of its three axes"


MECHANISM_SETTINGS["direct"] = DirectSettings
