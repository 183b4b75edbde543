"""A turntable below the cube and arms above it, as pieces of plastic.

Nothing here knows of plans or operations: only where the table and the arms are.
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
"""An arm does what a position does within this part of the way to the next position."""
Roll = tuple[tuple[int, int, int], int]
"""Axis and clockwise quarters of a roll of the whole cube."""


@dataclass(frozen=True)
class ArmPlace:
    """A position of an arm: where it is, what it does, and the roll it makes when entered.

    ``zone``: from where to where it does that, if not within a part of the way to its neighbour.
    ``grip``: the force with which it holds; without one nothing ever slips.
    """

    name: str
    at: float
    role: str
    roll: Roll | None = None
    zone: tuple[float, float] | None = None
    grip: Grip | None = None


class SimulatedArm:
    """A lid or lifter with its named places.

    ``slack_part``: the first part of a lift in which it does not touch the cube yet.
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
        # Both are asked at every step of every motor, while most arms rest.
        self._latest: tuple[float, ArmPlace | None] = math.nan, None
        self._latest_lift: tuple[float, tuple[Roll, float] | None] = math.nan, None

    def place(self, position: float) -> ArmPlace | None:
        """The place in whose zone the arm is, if it is in any."""
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
        """``open``, ``hold`` or ``block`` in a zone; ``moving`` between zones."""
        place = self.place(position)
        return "moving" if place is None else place.role

    def strength(self, position: float) -> float:
        """Return the force with which it holds the cube, 0 where it does not."""
        place = self.place(position)
        if place is None or place.role != "hold":
            return 0.0
        return math.inf if place.grip is None else place.grip.strength(position)

    def appears(self, position: float) -> ArmPlace | None:
        """The place that a camera takes the arm to be at: one that has let go of the cube on its
        way back from a roll hides it no more, though the cube must not be turned below it yet."""
        place = self.place(position)
        if place is not None or self.lifts(position) is not None:
            return place
        return next((free for free in self._places if self._clears(free, position)), None)

    def _clears(self, free: ArmPlace, position: float) -> bool:
        """Return true if ``position`` lies between ``free`` and a roll that comes next to it."""
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
        """The roll the arm is about to make or has made, and the part of the way 0..1."""
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
    """The places of an arm as it was really built, and what is in its way.

    ``good``: between which two places of its motor a position is as good as any.
    """

    places: tuple[ArmPlace, ...]
    stops: tuple[Stop, ...]
    good: Mapping[str, tuple[float, float]]


def build_arm(
    name: str, places: Sequence[ArmPlace], misadjusted: Misadjustment, degree_us: float
) -> BuiltArm:
    """Return an arm that was not built as drawn.

    Its place that holds is the first at which a quarter turn next to never slips. It touches the
    cube before, and presses too hard some way beyond. An arm whose outermost place holds presses
    against the cube, any other against its own stop.
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
"""From higher than this part of a lift (after the slack) a cube that has not tipped over falls."""
TIPPING_PART = 0.75
"""A cube lifted this far (after the slack) falls over; otherwise it falls back."""


@dataclass
class Lift:
    """A cube being rolled; ``highest`` is the part of the way made so far."""

    roll: Roll
    highest: float
    part: float
    rolled: bool = False
    excused: bool = False
    """The firmware was reset in the middle of it: that the cube falls back is nobody's fault."""


@dataclass
class Held:
    """A cube that is held, in quarters.

    ``centre``: the angle about which it has its play, which moves if it slips; ``askew``: how far
    off it was when it was touched or last turned; ``slipped``: how far it has followed the table.
    """

    centre: float
    askew: float
    strength: float = 0.0
    slipped: float = 0.0


class Flipper:
    """Table, arms and cube; ``table`` and ``arms`` are known by their motors' names.

    ``play``: by how many quarters a held cube can turn within its arm. Such an arm turns a cube
    that stands askew until it fits, the turning bottom layer drags the others along until they meet
    the arm, and a layer left a little askew stays so until the cube is rolled. None: a cube that
    fits exactly, and whose layers spring square by themselves. ``resistance``: the cube's against
    an arm that holds it with a force; the less it is held, the more it follows the table.
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
        """The motors are now at ``positions``: the table in quarters, arms in their own units."""
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
        """Name of the place an arm is at, None on its way or for the table."""
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
        """Return the deviation of cube and bottom layer from the body's booked stickers."""
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
        """The walls of an arm turn the upper layers square, the more the harder it presses."""
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
        """The cube is let go: it now stands as its bottom layer does."""
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
        """The bottom layer turns, and the others with it as far as the arm lets them."""
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
        """Return the part of a turn by which the held layers follow it."""
        if self._resistance is None or math.isinf(self._held.strength):
            return 0.0
        off = rest_of_quarter(self._twist)
        return self._resistance.given_way(self._held.strength, off, quarters)

    def _move_upper(self, quarters: float) -> None:
        """The upper layers turn while the bottom one stays."""
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
            self._set_yaw(
                self._yaw + rest_of_quarter(self._twist)
            )  # its neighbours square the layer
            self._twist = 0.0
        self._lift.part = part
        self._lift.highest = max(self._lift.highest, part)
        if part >= TIPPING_PART and not self._lift.rolled:
            self._tip(self._lift)

    def _tip(self, lift: Lift) -> None:
        """The cube falls over; or it slips off the arm, where that fault has been asked for."""
        lift.rolled = True
        if self.slips.wanted > 0:
            self.slips.wanted -= 1
        else:
            self.body.rotate(*lift.roll)

    def _check_start(self, lifter: str, positions: Mapping[str, float]) -> None:
        """The cube is about to be lifted: nobody may hold it and it must stand square."""
        others = {arm.role(positions[arm.name]) for arm in self._arms if arm.name != lifter}
        if others - {"open"}:
            self._report("flip-held", "the cube was flipped while another arm was down", "")
        if abs(rest_of_quarter(self._yaw)) > self._tolerance:
            text = "the cube was flipped while the turntable stood between two quarter turns"
            self._report("flip-not-square", text, "")

    def _settle(self) -> None:
        """The arm is down again; a cube that was lifted but not tipped over has fallen back."""
        lift, self._lift = self._lift, None
        if lift and not lift.rolled and not lift.excused and lift.highest > FALLS_PART:
            self._report("flip-incomplete", "the cube was lifted but did not roll over", "")

    def _turn(self, quarters: float) -> None:
        """The table has moved by ``quarters``, with whatever it takes along."""
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
    """Table and arms of a profile with a flipper."""
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
    """The ends of a table that does not turn for ever."""
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
    """Return where an arm is as open as at a place: also beyond one that is outermost, and up to
    the middle between two that are open. None for one that is not open."""
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
    """``x``, ``x2`` or ``x'`` as an axis and clockwise quarters."""
    return NORMALS[SITE_OF_AXIS[text[0]]], {"": 1, "2": 2, "'": -1}[text[1:]]


SIMULATED_MECHANISMS["flipper"] = flipper_parts
