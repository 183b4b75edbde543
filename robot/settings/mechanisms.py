"""How the actuators are put together: the kinds of mechanism."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from robot.settings.base import Axis, Name, Rotation, Settings, Site

Quarters = Annotated[
    int, Field(strict=True, ge=-8, le=8, description="a whole number of quarter turns, -8..8")
]


class Turntable(Settings):
    """The table below the cube. Angles count in the sense of a D turn, clockwise from below.

    A servo names the quarter turns of its positions in ``angles``; a stepper or timed actuator
    gives ``range_quarters``, or nothing when it may turn for ever.
    """

    actuator: Name
    angles: dict[Name, Quarters] = Field(default_factory=dict)
    range_quarters: tuple[Quarters, Quarters] | None = None
    start: Name | Quarters = 0


class Roll(Settings):
    """An arm's position that rolls the cube when it is entered; ``then`` is what it does there."""

    rolls: Rotation
    then: Literal["open", "hold", "block"] = "block"


ArmRole = Literal["open", "hold"] | Roll
"""``open``: the cube is free; ``hold``: all but the bottom layer is held; or a roll."""


class Arm(Settings):
    """A lid or lifter above the table: what each of its actuator's positions does to the cube."""

    actuator: Name
    positions: dict[Name, ArmRole] = Field(min_length=2)
    start: Name


class FlipperSettings(Settings):
    """A turntable below and one or more arms; only the bottom layer can be turned."""

    kind: Literal["flipper"]
    turntable: Turntable
    arms: tuple[Arm, ...] = Field(min_length=1, max_length=3)


class Gripper(Settings):
    """A rotating gripper at a site: the actuators of its rotation and of its jaws.

    Angles count clockwise seen from outside the site. A servo names the quarter turns of its
    positions in ``angles``; a stepper or timed actuator gives ``range_quarters``, or nothing when
    it may turn for ever. Jaws that look the same after half a turn have ``symmetry`` 2. ``jaws`` is
    the robot axis along which they lie at angle 0; in that direction they are in the way of
    neighbours. ``covers``: what closed jaws hide on the two sites they reach over: nothing, the
    ``middle`` of the row next to the gripper, or all of that ``row``.
    """

    rotation: Name
    jaw: Name
    open: Name = "open"
    closed: Name = "closed"
    angles: dict[Name, Quarters] = Field(default_factory=dict)
    range_quarters: tuple[Quarters, Quarters] | None = None
    start: Name | Quarters = 0
    symmetry: Literal[1, 2] = 2
    jaws: Axis | None = None
    covers: Literal["nothing", "middle", "row"] = "nothing"


class GrippersSettings(Settings):
    """Grippers at two to six sites. At rest all are closed.

    ``others``: while a layer turns, closed grippers of other axes ``hold`` the rest of the cube,
    or must ``release`` it, a 2x2x2 then being held by two opposite grippers alone. ``regrip``: a
    gripper may open, rotate and close again while layers of another axis turn ``at-once``, only
    when its jaws are ``clear`` of the turning ones, or ``never``. ``holders``: how many grippers
    must stay closed and still for the cube not to fall or slip; while a layer turns those beside
    its axis count (any, where regrips are ``at-once``).
    """

    kind: Literal["grippers"]
    grippers: dict[Site, Gripper] = Field(min_length=2, max_length=6)
    others: Literal["hold", "release"] = "hold"
    regrip: Literal["clear", "at-once", "never"] = "clear"
    holders: Annotated[int, Field(strict=True, ge=1, le=3)] = 1


class DirectSettings(Settings):
    """A motor on each of five or six faces; the cube as a whole never moves.

    ``together``: motors of opposite faces may run at once. ``overlap_degrees``: the next axis
    starts when no more than this angle is left of the turns before it.
    """

    kind: Literal["direct"]
    motors: dict[Site, Name] = Field(min_length=1, max_length=6)
    together: bool = True
    overlap_degrees: Annotated[
        float, Field(ge=0, le=40, description="degrees a layer may be off when the next starts")
    ] = 0.0


MechanismSettings = Annotated[
    FlipperSettings | GrippersSettings | DirectSettings, Field(discriminator="kind")
]
