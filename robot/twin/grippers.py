"""Jaws that hold the cube from its sides, turn, open and close.

A closed gripper holds the outer layer of its site. The effect of its turn depends on the other
grippers that hold the cube: with a closed gripper on a crossing axis its layer turns; alone, or
together with the opposite gripper, it turns the whole cube. The two jaws lie along a line across
the gripper's axis. In that direction they reach over the neighbouring layers and block them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from robot.settings import RobotProfile
from robot.twin.cube import (
    AT_REST_QUARTERS,
    NORMALS,
    OPPOSITE,
    SITE_OF_AXIS,
    CubeBody,
    FloatArray,
    Pose,
    Slipping,
    TwistingCube,
    rest_of_quarter,
    turned,
)
from robot.twin.flipper import ZONE_PART, ArmPlace, SimulatedArm, build_arm
from robot.twin.grip import Resistance
from robot.twin.misadjustment import Misadjustment
from robot.twin.registry import (
    SIMULATED_MECHANISMS,
    MechanismParts,
    SettingsReading,
    Stop,
    degree_us,
    tolerance_quarters,
)
from robot.twin.violations import Reporter


@dataclass
class SimulatedGripper:
    """One gripper: its site, the motor that turns it (positions in quarters), its jaws.

    ``across`` is the robot direction along which the jaws lie when the motor is at 0; ``width`` is
    the fraction of a face's width that each covers, 0..1.
    """

    site: str
    rotation: str
    jaws: SimulatedArm
    across: tuple[int, int, int]
    width: float = 0.0
    angle: float | None = None
    grip: str = "hold"
    strength: float = math.inf

    @property
    def holds(self) -> bool:
        """True if the jaws are closed on the cube."""
        return self.grip == "hold"

    def reach(self, other: SimulatedGripper) -> float:
        """Return the reach of the jaws, 0..1, towards the site of ``other``."""
        angle, towards = (self.angle or 0.0) * math.pi / 2, NORMALS[other.site]
        along = sum(map(operator.mul, self.across, towards))
        aside = sum(map(operator.mul, self._aside, towards))
        return float(abs(along * math.cos(angle) + aside * math.sin(angle)))

    @cached_property
    def _aside(self) -> tuple[int, int, int]:
        """The direction of ``across`` after a quarter turn."""
        right, down, ahead = np.cross(self.across, NORMALS[self.site]).tolist()
        return right, down, ahead

    def covers(self, size: int) -> list[FloatArray]:
        """Return the jaws over the two faces they reach, each as deep as the gripper's layer."""
        if self.grip == "open" or not self.width:
            return []
        normal = np.array(NORMALS[self.site], dtype=float)
        direction = turned(NORMALS[self.site], self.angle or 0.0) @ np.array(self.across)
        side = np.cross(normal, direction) * self.width
        rim, end = 1.15 * normal, (1 - 2 / size) * normal
        return [
            np.array([rim - side, rim + side, end + side, end - side]) + sign * 1.04 * direction
            for sign in (1, -1)
        ]


class GripperMechanism:
    """Grippers around one cube."""

    def __init__(
        self,
        cube: TwistingCube,
        grippers: Sequence[SimulatedGripper],
        tolerance_quarters: float,
        report: Reporter,
        resistance: Resistance | None = None,
    ) -> None:
        self.slips = Slipping()
        self._resistance = resistance
        self._slipped: dict[str, float] = {}
        self._cube = cube
        self._grippers = tuple(grippers)
        self._tolerance = tolerance_quarters
        self._report = report
        self._drift: dict[str, float] = {}

    @property
    def body(self) -> CubeBody:
        """The cube between the jaws."""
        return self._cube.body

    def update(self, positions: Mapping[str, float]) -> None:
        """Apply the motors' ``positions``: rotations in quarters, jaws in their own units."""
        for gripper in self._grippers:
            jaws = positions[gripper.jaws.name]
            gripper.strength = gripper.jaws.strength(jaws)
            self._set_grip(gripper, gripper.jaws.role(jaws))
        for gripper in self._grippers:
            angle = positions[gripper.rotation]
            moved = 0.0 if gripper.angle is None else angle - gripper.angle
            gripper.angle = angle
            if moved:
                self._turn(gripper, moved)

    def place(self, actuator: str, position: float) -> str | None:
        """Return the name of the place that jaws are at; None between places or for a rotation."""
        for gripper in self._grippers:
            if gripper.jaws.name == actuator and (place := gripper.jaws.place(position)):
                return place.name
        return None

    def note_reset(self) -> None:
        """See :meth:`SimulatedMechanism.note_reset`: jaws stay as they are."""

    def set_square(self) -> None:
        """See :meth:`SimulatedMechanism.set_square`."""
        self._cube.set_square()

    def pose(self) -> Pose:
        """Return the positions of cube and layers."""
        jaws = [jaw for gripper in self._grippers for jaw in gripper.covers(self.body.size)]
        return replace(self._cube.pose(), covers=tuple(jaws))

    def _set_grip(self, gripper: SimulatedGripper, grip: str) -> None:
        if grip == gripper.grip:
            return
        before, gripper.grip = gripper.grip, grip
        self._drift[gripper.site] = 0.0
        self._slipped.clear()
        if before == "hold":
            self._let_go(gripper)
        if grip == "hold":
            self._take_hold(gripper)
        if grip != "open":
            self._check_jaws(gripper)

    def _let_go(self, gripper: SimulatedGripper) -> None:
        if not any(other.holds for other in self._grippers):
            self._report("dropped", "no gripper holds the cube: it falls", "")
        if self._cube.quarters_off_square(gripper.site) > self._tolerance:
            text = f"gripper {gripper.site} let go of its layer between two quarter turns"
            self._report("layer-not-square", text, gripper.site)
        else:
            self._cube.settle(gripper.site)
        self._leave_to_others()

    def _leave_to_others(self) -> None:
        """Align a cube that a single gripper holds with its jaws, even if these are askew."""
        holders = [gripper for gripper in self._grippers if gripper.holds]
        if len(holders) != 1:
            return
        (alone,) = holders
        off = rest_of_quarter(alone.angle or 0.0)
        if max(abs(off), self._cube.quarters_off_square(alone.site)) <= self._tolerance:
            self._cube.lean(alone.site, off)

    def _take_hold(self, gripper: SimulatedGripper) -> None:
        axis, tilt = self._cube.tilt
        off = abs(rest_of_quarter(gripper.angle or 0.0))
        along = gripper.site in {axis, OPPOSITE[axis]}
        if abs(tilt) > self._tolerance and not along:
            text = f"gripper {gripper.site} closed on a cube that was not square to it"
            self._report("grip-not-square", text, gripper.site)
        elif off > self._tolerance and not along:
            text = f"gripper {gripper.site} closed between two quarter turns"
            self._report("grip-not-square", text, gripper.site)
        elif not along:
            self._cube.settle_whole()

    def _turn(self, gripper: SimulatedGripper, quarters: float) -> None:
        """Turn a gripper by ``quarters``, with the layer or cube it holds."""
        self._check_jaws(gripper)
        if gripper.grip == "moving":
            self._check_drift(gripper, quarters)
        if not gripper.holds:
            return
        quarters = self.slips.carry(gripper.site, quarters)
        if crossing := self._crossing_holders(gripper):
            self._turn_held(gripper, crossing, quarters)
            return
        opposite = self._gripper_at(OPPOSITE[gripper.site])
        if opposite is None or not opposite.holds:
            self._cube.turn_whole(gripper.site, quarters)
            self._check_swept(gripper)
        elif self.body.size == 2:
            self._turn_held(gripper, [opposite], quarters)
        else:
            self._share_turn(gripper, quarters)

    def _share_turn(self, gripper: SimulatedGripper, quarters: float) -> None:
        """Turn a cube held by two opposite grippers only: its middle turns half as far as each."""
        self._cube.turn_whole(gripper.site, quarters / 2)
        self._cube.turn_layer(gripper.site, quarters / 2)
        self._cube.turn_layer(OPPOSITE[gripper.site], quarters / 2)
        if self._cube.quarters_off_square(gripper.site) > self._tolerance:
            text = f"gripper {gripper.site} turned its layer while nobody held the cube's middle"
            self._report("layer-not-held", text, gripper.site)

    def _turn_held(
        self, gripper: SimulatedGripper, others: Sequence[SimulatedGripper], quarters: float
    ) -> None:
        """Turn a layer while others hold the cube, less the slip of the jaws on both sides."""
        site = gripper.site
        if self._resistance is None:
            self._cube.turn_layer(site, quarters)
            return
        if self._cube.quarters_off_square(site) < AT_REST_QUARTERS:
            self._resistance.draw()
        off = rest_of_quarter(self._cube.twist(site))
        lost = self._resistance.given_way(gripper.strength, off, quarters)
        holding = sum(other.strength for other in others)
        followed = self._resistance.given_way(holding, off, quarters) * (1 - lost)
        self._cube.turn_layer(site, quarters * (1 - lost - followed))
        if followed:
            self._cube.turn_whole(site, quarters * followed)
        before = self._slipped.get(site, 0.0)
        self._slipped[site] = after = before + quarters * (lost + followed)
        if abs(before) <= self._tolerance < abs(after):
            text = f"the jaws slipped on the cube while gripper {site} turned a layer"
            self._report("slipped-in-hold", text, site)

    def _crossing_holders(self, gripper: SimulatedGripper) -> list[SimulatedGripper]:
        along = {gripper.site, OPPOSITE[gripper.site]}
        return [one for one in self._grippers if one.holds and one.site not in along]

    def _gripper_at(self, site: str) -> SimulatedGripper | None:
        return next((gripper for gripper in self._grippers if gripper.site == site), None)

    def _check_jaws(self, gripper: SimulatedGripper) -> None:
        """Report jaws that collide with a neighbour's, if neither are open."""
        if gripper.grip == "open":
            return
        for other in self._grippers:
            across = other.site not in {gripper.site, OPPOSITE[gripper.site]}
            if across and other.grip != "open" and self._collide(gripper, other):
                pair = "".join(sorted(gripper.site + other.site))
                text = f"the jaws of grippers {pair[0]} and {pair[1]} ran into each other"
                self._report("jaws-collide", text, pair)

    def _collide(self, one: SimulatedGripper, other: SimulatedGripper) -> bool:
        """Return true if jaws over a neighbour's layer block its turn, or meet its jaws."""
        limit = math.sin(self._tolerance * math.pi / 2)
        over, back = one.reach(other) > limit, other.reach(one) > limit
        one_turns = abs(rest_of_quarter(one.angle or 0.0)) > self._tolerance
        other_turns = abs(rest_of_quarter(other.angle or 0.0)) > self._tolerance
        return (over and back) or (over and other_turns) or (back and one_turns)

    def _check_swept(self, gripper: SimulatedGripper) -> None:
        """Report half open jaws beside a cube that turns as a whole, as its edges stick out."""
        if abs(self._cube.tilt[1]) <= self._tolerance:
            return
        for other in self._grippers:
            if other.grip == "moving":
                text = f"the cube turned against the half open jaws of gripper {other.site}"
                self._report("cube-hits-jaws", text, other.site)

    def _check_drift(self, gripper: SimulatedGripper, quarters: float) -> None:
        drift = self._drift.get(gripper.site, 0.0) + quarters
        self._drift[gripper.site] = drift
        if abs(drift) > self._tolerance:
            text = f"gripper {gripper.site} turned while its jaws were neither open nor closed"
            self._report("turn-while-jaws-move", text, gripper.site)


class GripperReading(SettingsReading):
    """One gripper of a robot's settings."""

    rotation: str
    jaw: str
    open: str
    closed: str
    angles: dict[str, int]
    start: str | int
    jaws: str | None
    covers: str


class GrippersReading(SettingsReading):
    """The settings of a robot with grippers."""

    grippers: dict[str, GripperReading]


def gripper_parts(profile: RobotProfile, misadjusted: Misadjustment | None) -> MechanismParts:
    """Return the grippers of a profile."""
    settings = GrippersReading.model_validate(profile.mechanism).grippers
    tolerance = tolerance_quarters(profile, misadjusted)
    starts = {one.jaw: one.closed for one in settings.values()}
    starts |= {one.rotation: one.start for one in settings.values() if isinstance(one.start, str)}
    rotations = {one.rotation: one.angles for one in settings.values()}
    jaws = {one.jaw: _jaws(one, profile) for one in settings.values()}
    stops: dict[str, tuple[Stop, ...]] = {}
    good: dict[str, Mapping[str, tuple[float, float]]] = {}
    resistance = None
    if misadjusted is not None:
        per_degree = degree_us(profile, rotations)
        resistance = Resistance(misadjusted.cube, misadjusted.seed)
        for name, places in jaws.items():
            built = build_arm(name, places, misadjusted, per_degree)
            jaws[name], stops[name], good[name] = [*built.places], built.stops, built.good
    grippers = [
        _gripper(site, one, tuple(settings), profile, jaws[one.jaw])
        for site, one in settings.items()
    ]
    return MechanismParts(
        rotations=rotations,
        start_places=starts,
        around=lambda body, report: GripperMechanism(
            TwistingCube(body, tolerance, report), grippers, tolerance, report, resistance
        ),
        stops=stops,
        good=good,
        carriers={one.jaw: frozenset({one.closed}) for one in settings.values()},
    )


def _jaws(settings: GripperReading, profile: RobotProfile) -> list[ArmPlace]:
    at = profile.actuators[settings.jaw].places
    opened, closed = float(at[settings.open]), float(at[settings.closed])
    # Jaws opened wider than needed are also open.
    clear = opened + ZONE_PART * (closed - opened)
    wide = (clear, math.inf) if opened > closed else (-math.inf, clear)
    return [
        ArmPlace(settings.open, opened, "open", zone=wide),
        ArmPlace(settings.closed, closed, "hold"),
    ]


def _gripper(
    site: str,
    settings: GripperReading,
    sites: tuple[str, ...],
    profile: RobotProfile,
    places: Sequence[ArmPlace],
) -> SimulatedGripper:
    across = SITE_OF_AXIS[settings.jaws] if settings.jaws else _free_direction(site, sites)
    width = {"nothing": 0.0, "middle": 1 / profile.cube.size, "row": 1.0}[settings.covers]
    jaws = SimulatedArm(settings.jaw, places)
    return SimulatedGripper(site, settings.rotation, jaws, NORMALS[across], width)


def _free_direction(site: str, sites: tuple[str, ...]) -> str:
    """Return a direction across the gripper's axis, away from all neighbours if possible."""
    directions = [axis for axis in "URF" if axis not in {site, OPPOSITE[site]}]
    free = [axis for axis in directions if axis not in sites and OPPOSITE[axis] not in sites]
    return (free or directions)[0]


SIMULATED_MECHANISMS["grippers"] = gripper_parts
