"""A turntable below the cube and arms above it, as pieces of plastic.

This module uses no plans or operations, only the positions of table and arms.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from robot.settings import RobotProfile
from robot.settings.profile import SimulatedActuator
from robot.twin.cube import NORMALS, SITE_OF_AXIS, CubeBody, Pose, Slipping, rest_of_quarter, turned
from robot.twin.grip import Grip, Resistance, least_strength
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

ZONE_PART = 0.35
"""Zone in which a position of an arm has its effect, as a fraction of the way to the next one."""
Roll = tuple[tuple[int, int, int], int]
"""Axis and clockwise quarters of a roll of the whole cube."""


@dataclass(frozen=True)
class ArmPlace:
    """A position of an arm: its place, its effect, and the roll it makes when entered.

    ``zone``: range of its effect, if not a fraction of the way to its neighbour. ``grip``: the
    force with which it holds; without one nothing ever slips.
    """

    name: str
    at: float
    role: str
    roll: Roll | None = None
    zone: tuple[float, float] | None = None
    grip: Grip | None = None


class SimulatedArm:
    """A lid or lifter with its named places.

    ``slack_part``: the first fraction of a lift, in which it does not touch the cube yet.
    """

    def __init__(self, name: str, places: Sequence[ArmPlace], slack_part: float = 0.2) -> None:
        self.name = name
        self._slack = slack_part
        self._places = tuple(places)
        self._gaps = {
            one.name: min(
                (abs(one.at - other.at) for other in places if other is not one), default=math.inf
            )
            for one in places
        }
        # Cached: both are needed at every step of every motor, while most arms rest.
        self._latest: tuple[float, ArmPlace | None] = math.nan, None
        self._latest_lift: tuple[float, tuple[Roll, float] | None] = math.nan, None

    def place(self, position: float) -> ArmPlace | None:
        """Return the place with the arm in its zone, if any."""
        if self._latest[0] != position:
            self._latest = position, self._find_place(position)
        return self._latest[1]

    def _find_place(self, position: float) -> ArmPlace | None:
        for place in self._places:
            if place.zone is not None and place.zone[0] <= position <= place.zone[1]:
                return place
        nearest = min(self._places, key=lambda place: abs(place.at - position))
        near = abs(nearest.at - position) <= ZONE_PART * self._gaps[nearest.name]
        return nearest if near and nearest.zone is None else None

    def role(self, position: float) -> str:
        """Return ``open``, ``hold`` or ``block`` in a zone, ``moving`` between zones."""
        place = self.place(position)
        return "moving" if place is None else place.role

    def strength(self, position: float) -> float:
        """Return the force with which it holds the cube, 0 if it does not."""
        place = self.place(position)
        if place is None or place.role != "hold":
            return 0.0
        return math.inf if place.grip is None else place.grip.strength(position)

    def appears(self, position: float) -> ArmPlace | None:
        """Return the place of the arm according to the camera.

        On its way back from a roll, an arm that has let go of the cube no longer hides it, though
        the table must not turn the cube yet.
        """
        place = self.place(position)
        if place is not None or self.lifts(position) is not None:
            return place
        return next((free for free in self._places if self._clears(free, position)), None)

    def _clears(self, free: ArmPlace, position: float) -> bool:
        """Return true if ``position`` lies between ``free`` and a neighbouring roll."""
        return free.role == "open" and any(
            min(free.at, roll.at) < position < max(free.at, roll.at)
            and not any(
                min(free.at, roll.at) < other.at < max(free.at, roll.at) for other in self._places
            )
            for roll in self._places
            if roll.roll is not None
        )

    def depth(self, position: float, places: Collection[str]) -> float:
        """See :class:`robot.twin.registry.Lid`."""
        seen = self.appears(position)
        free = next((one for one in self._places if one.role == "open"), None)
        holds = next((one for one in self._places if one.role == "hold"), None)
        if free is None or holds is None or free.name not in places:
            return -math.inf if seen is not None and seen.name in places else math.inf
        sign = 1 if holds.at > free.at else -1
        past = sign * (position - free.at) - ZONE_PART * self._gaps[free.name]
        if (position - free.at) * sign > 0:
            return past
        return past if seen is not None and seen.name in places else math.inf

    def lifts(self, position: float) -> tuple[Roll, float] | None:
        """Return the roll that the arm is making or has made, and its fraction done, 0..1."""
        if self._latest_lift[0] != position:
            self._latest_lift = position, self._find_lift(position)
        return self._latest_lift[1]

    def _find_lift(self, position: float) -> tuple[Roll, float] | None:
        for place in self._places:
            if place.roll is None:
                continue
            part = 1 - abs(place.at - position) / self._gaps[place.name]
            if part > self._slack:
                return place.roll, (part - self._slack) / (1 - self._slack)
        return None


@dataclass(frozen=True)
class BuiltArm:
    """The places of an arm as actually built, and its stops.

    ``good``: range of the motor in which a position is good.
    """

    places: tuple[ArmPlace, ...]
    stops: tuple[Stop, ...]
    good: Mapping[str, tuple[float, float]]


def build_arm(
    name: str, places: Sequence[ArmPlace], misadjusted: Misadjustment, degree_us: float
) -> BuiltArm:
    """Return an arm that was not built as drawn.

    Its holding place is the first at which a quarter turn almost never slips. It touches the cube
    before that, and presses too hard some way beyond. If its outermost place holds, the arm presses
    against the cube, otherwise against its own stop.
    """
    truth = misadjusted.arm(name)
    found, stops, good = [], [], {}
    lowest, highest = (edge(place.at for place in places) for edge in (min, max))
    free = next(place.at for place in places if place.role == "open")
    soft_us = truth.softness_degrees * degree_us
    for place in places:
        upwards = place.at > free
        sign = 1 if upwards else -1
        is_outermost = place.at == (highest if upwards else lowest) and place.role != "open"
        beyond_us = truth.stop_degrees * degree_us
        if place.role == "hold":
            beyond_us = truth.grip_degrees * degree_us
            touch = place.at - sign * soft_us * least_strength(misadjusted.cube)
            end = place.at + sign * beyond_us
            zone, grip = (min(touch, end), max(touch, end)), Grip(touch, sign, soft_us)
            found.append(replace(place, zone=zone, grip=grip))
            good[place.name] = min(place.at, end), max(place.at, end)
        else:
            found.append(place)
        if is_outermost:
            kind, text = "strained", "pushed against its stop for over a second"
            if place.role == "hold":
                kind, text = "pressed-too-hard", "pressed on the cube for over a second"
            stops.append(Stop(place.at + sign * beyond_us, upwards, kind, text))
    return BuiltArm(tuple(found), tuple(stops), good)


FALLS_PART = 0.2
"""Fraction of a lift (after the slack) above which a cube that has not tipped over falls."""
TIPPING_PART = 0.75
"""Fraction of a lift (after the slack) at which a cube tips over; otherwise it falls back."""


@dataclass
class Lift:
    """A cube being rolled; ``highest`` is the largest fraction of the lift so far."""

    roll: Roll
    highest: float
    part: float
    rolled: bool = False
    excused: bool = False
    """True after a firmware reset in mid-lift: a cube that falls back is then no violation."""


@dataclass
class Held:
    """A cube that is held, in quarters.

    ``centre``: the middle of its play, which moves if it slips; ``askew``: its deviation when the
    arm touched it or the table last turned; ``slipped``: the turn by which it followed the table.
    """

    centre: float
    askew: float
    strength: float = 0.0
    slipped: float = 0.0


class Flipper:
    """Table, arms and cube; ``table`` and ``arms`` are identified by their motors' names.

    ``play``: quarters by which a held cube can turn within its arm, to either side. Such an arm
    turns an askew cube until it fits. The turning bottom layer drags the others along until they
    meet the arm. A layer left a little askew stays so until the cube is rolled. None: the cube fits
    exactly, and its layers spring square by themselves. ``resistance``: the cube's resistance to an
    arm that holds it; the smaller the arm's force, the more the cube follows the table.
    """

    def __init__(
        self,
        body: CubeBody,
        table: str,
        arms: Sequence[SimulatedArm],
        tolerance_quarters: float,
        report: Reporter,
        play: float | None = None,
        resistance: Resistance | None = None,
    ) -> None:
        self.body = body
        self._play = play
        self._resistance = resistance
        self._held = Held(0.0, 0.0)
        self.slips = Slipping()
        self._table = table
        self._arms = tuple(arms)
        self._tolerance = tolerance_quarters
        self._report = report
        self._angle: float | None = None
        self._yaw = self._twist = self._drift = 0.0
        self._mode = "open"
        self._lift: Lift | None = None

    def update(self, positions: Mapping[str, float]) -> None:
        """Apply the motors' ``positions``: the table in quarters, arms in their own units."""
        angle = positions[self._table]
        moved = 0.0 if self._angle is None else angle - self._angle
        self._angle = angle
        self._change_mode(self._combined_role(positions))
        if self._mode == "hold":
            self._press(max(arm.strength(positions[arm.name]) for arm in self._arms))
        self._follow_lift(positions)
        if moved:
            self._turn(moved)

    def place(self, actuator: str, position: float) -> str | None:
        """Return the name of the place an arm is at; None between places or for the table."""
        for arm in self._arms:
            if arm.name == actuator and (place := arm.appears(position)) is not None:
                return place.name
        return None

    def note_reset(self) -> None:
        """See :meth:`SimulatedMechanism.note_reset`."""
        if self._lift is not None:
            self._lift.excused = True

    def set_square(self) -> None:
        """See :meth:`SimulatedMechanism.set_square`."""
        self._twist = float(round(self._twist))
        self._yaw = float(round(self._yaw))

    def pose(self) -> Pose:
        """Return the deviation of cube and bottom layer from the body's recorded stickers."""
        whole = turned(NORMALS["D"], rest_of_quarter(self._yaw))
        if self._lift is not None:
            axis, quarters = self._lift.roll
            made = self._lift.highest - 1 if self._lift.rolled else self._lift.part
            whole = whole @ turned(axis, quarters * made)
        twist = rest_of_quarter(self._twist)
        return Pose(whole, (("D", twist),) if twist else ())

    def _combined_role(self, positions: Mapping[str, float]) -> str:
        roles = {arm.role(positions[arm.name]) for arm in self._arms}
        return next((role for role in ("moving", "block", "hold") if role in roles), "open")

    def _change_mode(self, mode: str) -> None:
        if mode == self._mode:
            return
        if self._mode == "hold":
            self._release()
        if mode == "hold" and abs(rest_of_quarter(self._yaw)) > self._tolerance:
            text = "an arm closed on a cube that did not stand square"
            self._report("hold-not-square", text, "")
        if mode == "hold":
            self._held = Held(float(round(self._yaw)), rest_of_quarter(self._yaw))
            if self._resistance is not None:
                self._resistance.draw()
        self._mode, self._drift = mode, 0.0

    def _press(self, strength: float) -> None:
        """Turn the upper layers square by the walls of an arm: the harder it presses, the more."""
        held = self._held
        if strength <= held.strength:
            held.strength = strength
            return
        held.strength = strength
        if self._play is None:
            return
        square = max(-self._play, min(self._play, held.askew))
        left = abs(square + (held.askew - square) * self._given_way(0.0))
        off = self._yaw - held.centre
        self._move_upper(max(-left, min(left, off)) - off)

    def _release(self) -> None:
        """Let the cube go; it now has the angle of its bottom layer."""
        rest = rest_of_quarter(self._twist)
        if abs(rest) > self._tolerance:
            text = "the cube was let go with its bottom layer between two quarter turns"
            self._report("layer-not-square", text, "")
        elif self._play is not None:
            self._twist = rest
            return
        self._twist = 0.0
        self._set_yaw(self._yaw + rest)

    def _drag(self, quarters: float) -> None:
        """Turn the bottom layer, and the others with it as far as the arm permits."""
        held, dragged = self._held, 0.0
        if self._play is not None:
            off = self._yaw - held.centre
            low, high = min(-self._play, off), max(self._play, off)
            dragged = max(low, min(high, off + quarters)) - off
        slipped = (quarters - dragged) * self._given_way(quarters)
        held.centre += slipped
        before, held.slipped = held.slipped, held.slipped + slipped
        if abs(before) <= self._tolerance < abs(held.slipped):
            self._report("slipped-in-hold", "the cube followed the table although it was held", "")
        self._move_upper(dragged + slipped)
        held.askew = self._yaw - held.centre
        self._turn_bottom(quarters)

    def _given_way(self, quarters: float) -> float:
        """Return the fraction of a turn by which the held layers follow it."""
        if self._resistance is None or math.isinf(self._held.strength):
            return 0.0
        off = rest_of_quarter(self._twist)
        return self._resistance.given_way(self._held.strength, off, quarters)

    def _move_upper(self, quarters: float) -> None:
        """Turn the upper layers against the bottom one."""
        if quarters:
            self._set_yaw(self._yaw + quarters)
            self._turn_bottom(-quarters)

    def _turn_bottom(self, quarters: float) -> None:
        before = round(self._twist)
        self._twist += quarters
        self.body.turn("D", round(self._twist) - before)

    def _follow_lift(self, positions: Mapping[str, float]) -> None:
        """Follow the arm that rolls the cube, if one does."""
        lifts = ((arm.name, arm.lifts(positions[arm.name])) for arm in self._arms)
        name, lift = next(((n, found) for n, found in lifts if found is not None), ("", None))
        if lift is None:
            self._settle()
            return
        roll, part = lift
        if self._lift is None:
            self._lift = Lift(roll, part, part)
            self._check_start(name, positions)
            self._set_yaw(self._yaw + rest_of_quarter(self._twist))  # the other layers square it
            self._twist = 0.0
        self._lift.part = part
        self._lift.highest = max(self._lift.highest, part)
        if part >= TIPPING_PART and not self._lift.rolled:
            self._tip(self._lift)

    def _tip(self, lift: Lift) -> None:
        """Tip the cube over, unless an injected fault makes it slip off the arm."""
        lift.rolled = True
        if self.slips.wanted > 0:
            self.slips.wanted -= 1
        else:
            self.body.rotate(*lift.roll)

    def _check_start(self, lifter: str, positions: Mapping[str, float]) -> None:
        """Report a lift that starts while another arm holds the cube or the cube is not square."""
        others = {arm.role(positions[arm.name]) for arm in self._arms if arm.name != lifter}
        if others - {"open"}:
            self._report("flip-held", "the cube was flipped while another arm was down", "")
        if abs(rest_of_quarter(self._yaw)) > self._tolerance:
            text = "the cube was flipped while the turntable stood between two quarter turns"
            self._report("flip-not-square", text, "")

    def _settle(self) -> None:
        """End a lift; a cube that was lifted but did not tip over has fallen back."""
        lift, self._lift = self._lift, None
        if lift and not lift.rolled and not lift.excused and lift.highest > FALLS_PART:
            self._report("flip-incomplete", "the cube was lifted but did not roll over", "")

    def _turn(self, quarters: float) -> None:
        """Turn the table by ``quarters``, with everything it takes along."""
        if self._mode == "hold":
            self._drag(quarters)
            return
        if self._mode != "open":
            self._check_drift(quarters)
        self._set_yaw(self._yaw + quarters)

    def _set_yaw(self, yaw: float) -> None:
        self.body.rotate(NORMALS["D"], round(yaw) - round(self._yaw))
        self._yaw = yaw

    def _check_drift(self, quarters: float) -> None:
        self._drift += quarters
        if abs(self._drift) <= self._tolerance:
            return
        if self._lift is not None:
            text = "the turntable moved while the cube was being flipped"
        else:
            text = "the turntable moved while an arm was neither open nor holding the cube"
        self._report("turn-while-arm-moves", text, "")


class TableReading(SettingsReading):
    """The turntable of a flipper's settings."""

    actuator: str
    angles: dict[str, int]
    start: str | int


class RollReading(SettingsReading):
    """A position of an arm that rolls the cube, in a flipper's settings."""

    rolls: str
    then: str


class ArmReading(SettingsReading):
    """An arm of a flipper's settings."""

    actuator: str
    positions: dict[str, Literal["open", "hold"] | RollReading]
    start: str


class FlipperReading(SettingsReading):
    """The settings of a flipper."""

    turntable: TableReading
    arms: tuple[ArmReading, ...]


def flipper_parts(profile: RobotProfile, misadjusted: Misadjustment | None) -> MechanismParts:
    """Return table and arms of a profile with a flipper."""
    settings = FlipperReading.model_validate(profile.mechanism)
    table = settings.turntable
    arms = {arm.actuator: _places(arm, profile) for arm in settings.arms}
    starts = {arm.actuator: arm.start for arm in settings.arms}
    if isinstance(table.start, str):
        starts[table.actuator] = table.start
    tolerance = tolerance_quarters(profile, misadjusted)
    rotations = {table.actuator: table.angles}
    stops: dict[str, tuple[Stop, ...]] = {}
    good: dict[str, Mapping[str, tuple[float, float]]] = {}
    play = resistance = None
    if misadjusted is not None:
        per_degree = degree_us(profile, rotations)
        resistance = Resistance(misadjusted.cube, misadjusted.seed)
        for name, places in arms.items():
            built = build_arm(name, places, misadjusted, per_degree)
            arms[name], stops[name], good[name] = [*built.places], built.stops, built.good
            play = misadjusted.arm(name).play_degrees / 90
        stops[table.actuator] = _table_stops(profile, table, misadjusted, per_degree)
    physics = profile.simulation.actuators
    simulated = [
        SimulatedArm(name, places, physics.get(name, SimulatedActuator()).slack_part)
        for name, places in arms.items()
    ]
    return MechanismParts(
        rotations=rotations,
        start_places=starts,
        around=lambda body, report: Flipper(
            body, table.actuator, simulated, tolerance, report, play, resistance
        ),
        stops=stops,
        good=good,
        lids={arm.name: arm for arm in simulated},
    )


def _table_stops(
    profile: RobotProfile, table: TableReading, misadjusted: Misadjustment, degree_us: float
) -> tuple[Stop, ...]:
    """Return the stops of a table with a limited range."""
    places = [profile.actuators[table.actuator].places[name] for name in table.angles]
    if len(places) < 2:
        return ()
    beyond_us = misadjusted.arm(table.actuator).stop_degrees * degree_us
    text = "pushed the table against its stop for over a second"
    return (
        Stop(min(places) - beyond_us, False, "strained", text),
        Stop(max(places) + beyond_us, True, "strained", text),
    )


def _places(arm: ArmReading, profile: RobotProfile) -> list[ArmPlace]:
    at = profile.actuators[arm.actuator].places
    places = []
    for name, role in arm.positions.items():
        if isinstance(role, RollReading):
            places.append(ArmPlace(name, at[name], role.then, _roll(role.rolls)))
        else:
            places.append(ArmPlace(name, at[name], role))
    return [replace(place, zone=_open_zone(place, places)) for place in places]


def _open_zone(place: ArmPlace, places: Sequence[ArmPlace]) -> tuple[float, float] | None:
    """Return the zone of an open place, or None for another.

    It extends without limit beyond an outermost place, and to the middle between two open ones.
    """
    if place.role != "open":
        return None
    near = ZONE_PART * min(abs(place.at - other.at) for other in places if other is not place)
    ends = [-math.inf, math.inf]
    for end, sign in enumerate((-1, 1)):
        others = [other for other in places if (other.at - place.at) * sign > 0]
        if others:
            other = min(others, key=lambda other: abs(other.at - place.at))
            middle = (place.at + other.at) / 2
            ends[end] = middle if other.role == "open" else place.at + sign * near
    return ends[0], ends[1]


def _roll(text: str) -> Roll:
    """Return ``x``, ``x2`` or ``x'`` as an axis and clockwise quarters."""
    return NORMALS[SITE_OF_AXIS[text[0]]], {"": 1, "2": 2, "'": -1}[text[1:]]


SIMULATED_MECHANISMS["flipper"] = flipper_parts
