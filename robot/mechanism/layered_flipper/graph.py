"""Layered flippers: the turntable turns as many upper rows as the elevator has raised into it.

Turning more than half of the rows equals turning the fewer rows below them the other way, and the
cube as a whole. So both ways to do a turn lead to the same cube, in different orientations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from robot.mechanism.durations import Rotary, travel_us
from robot.mechanism.graph import (
    ActuatorMotion,
    Configuration,
    Mechanism,
    Operation,
    State,
    Transition,
    signed_quarters,
)
from robot.mechanism.layered_flipper import LayeredFlipperSettings
from robot.mechanism.registry import MECHANISMS, MechanismKind
from robot.settings.profile import RobotProfile
from solver.cube.orientation import Orientation


@dataclass(frozen=True, slots=True)
class MachinePose:
    """The turntable's angle, rows raised, the flipper's position, and if the rest is held."""

    angle: int
    rows: int
    flipper: str
    held: bool = False


def build_layered_flipper(profile: RobotProfile, settings: LayeredFlipperSettings) -> Mechanism:
    """Return the graph of a layered flipper: one configuration for each pose.

    Raise :class:`robot.settings.document.BadProfile` for an impossible motion.
    """
    return _Builder(profile, settings).mechanism()


class _Builder:
    """A builder of the graph, pose by pose."""

    def __init__(self, profile: RobotProfile, settings: LayeredFlipperSettings) -> None:
        self._profile = profile
        self._settings = settings
        self._size = profile.cube.size
        self._table = Rotary(profile, settings.turntable)
        flips = (settings.flipper.first, settings.flipper.second)
        self._poses = [
            MachinePose(angle, rows, flip, held)
            for angle, rows, flip in product(self._table.angles, range(self._size + 1), flips)
            for held in ((False, True) if 0 < rows < self._size else (False,))
        ]
        self._index = {pose: number for number, pose in enumerate(self._poses)}

    def mechanism(self) -> Mechanism:
        """Return the mechanism; at its start the cube is down and not held."""
        start = MachinePose(self._table.start, 0, self._settings.flipper.first)
        return Mechanism(
            profile=self._profile,
            configurations=tuple(self._configuration(pose) for pose in self._poses),
            transitions=tuple(step for pose in self._poses for step in self._steps(pose)),
            start=State(self._index[start], Orientation(0)),
        )

    def _configuration(self, pose: MachinePose) -> Configuration:
        settings = self._settings
        return Configuration(
            {
                self._table.actuator: self._table.position(pose.angle),
                settings.elevator.actuator: settings.elevator.rows[pose.rows],
                settings.flipper.actuator: pose.flipper,
                settings.squisher.actuator: self._squisher_at(pose.held),
            }
        )

    def _squisher_at(self, held: bool) -> str:
        return self._settings.squisher.closed if held else self._settings.squisher.open

    def _steps(self, pose: MachinePose) -> Iterator[Transition]:
        between = 0 < pose.rows < self._size
        if between:
            yield from self._squish(pose)
        if pose.held:
            yield from self._turns(pose)
            return
        yield from self._lifts(pose)
        if not between:
            yield from self._swing(pose)
        if pose.rows == self._size:
            yield from self._spins(pose)
        elif pose.rows == 0:
            yield from self._returns(pose)

    def _squish(self, pose: MachinePose) -> Iterator[Transition]:
        """Yield the transition that holds the rest of the cube, or lets it go."""
        after = replace(pose, held=not pose.held)
        op = "hold" if after.held else "let-go"
        motion = self._squeeze(after.held)
        if motion is not None:
            yield self._step(pose, after, (motion,), Operation(op, motion.duration_us))

    def _squeeze(self, held: bool, offset_us: int = 0) -> ActuatorMotion | None:
        name = self._settings.squisher.actuator
        return self._travel(name, self._squisher_at(not held), self._squisher_at(held), offset_us)

    def _travel(self, name: str, start: str, end: str, offset_us: int = 0) -> ActuatorMotion | None:
        duration = travel_us(self._profile, name, start, end, held=False)
        if duration is None:
            return None
        return ActuatorMotion(name, duration, start=start, end=end, offset_us=offset_us)

    def _lifts(self, pose: MachinePose) -> Iterator[Transition]:
        """Yield the transitions that raise or lower the cube to another row."""
        elevator = self._settings.elevator
        for rows in range(self._size + 1):
            motion = None
            if rows != pose.rows:
                start, end = elevator.rows[pose.rows], elevator.rows[rows]
                motion = self._travel(elevator.actuator, start, end)
            if motion is not None:
                lift = Operation("raise", motion.duration_us, fields={"rows": rows})
                yield self._step(pose, replace(pose, rows=rows), (motion,), lift)

    def _swing(self, pose: MachinePose) -> Iterator[Transition]:
        """Yield the roll of a lowered cube, or the flipper's empty swing below a raised one."""
        flipper = self._settings.flipper
        onwards = pose.flipper == flipper.first
        after = replace(pose, flipper=flipper.second if onwards else flipper.first)
        motion = self._travel(flipper.actuator, pose.flipper, after.flipper)
        if motion is None:
            return
        takes_us, fields = motion.duration_us, {"to": after.flipper}
        if pose.rows:
            swung = Operation("swing", takes_us, fields=fields)
            yield self._step(pose, after, (motion,), swung)
            return
        axis, quarters = flipper.rolls[0], 3 if flipper.rolls.endswith("'") else 1
        quarters = quarters if onwards else 4 - quarters
        way = signed_quarters(quarters)
        rolled = Operation("rotate", takes_us, axis=axis, quarter_turns=way, fields=fields)
        step = self._step(pose, after, (motion,), rolled)
        yield replace(step, rotation=(axis, quarters))

    def _spins(self, pose: MachinePose) -> Iterator[Transition]:
        """Yield turns of the whole cube by the turntable."""
        for angle, motion in self._motions(pose, held=False):
            fields = {"table": motion.actuator}
            quarters, takes = motion.quarters % 4, motion.duration_us
            way = signed_quarters(quarters)
            spun = Operation("rotate", takes, axis="y", quarter_turns=way, fields=fields)
            step = self._step(pose, replace(pose, angle=angle), (motion,), spun)
            yield replace(step, rotation=("y", quarters))

    def _turns(self, pose: MachinePose) -> Iterator[Transition]:
        """Yield turns of the upper rows by the turntable against the held rows."""
        below = self._size - pose.rows
        site, layers = ("U", pose.rows) if pose.rows <= below else ("D", below)
        for angle, motion in self._motions(pose, held=True):
            motions = self._square_again(motion)
            quarters, takes = motion.quarters % 4, motions[-1].end_us
            way = signed_quarters(quarters)
            turned = Operation("turn", takes, site=site, quarter_turns=way, layers=layers)
            step = self._step(pose, replace(pose, angle=angle), motions, turned)
            step = replace(step, turns=((site, quarters),), layers=layers)
            if site == "D":
                whole = Operation("rotate", takes, axis="y", quarter_turns=way)
                step = replace(step, operations=(turned, whole), rotation=("y", quarters))
            yield step

    def _square_again(self, turn: ActuatorMotion) -> tuple[ActuatorMotion, ...]:
        """Return the turn, and the motions that square the layers after it."""
        if not self._settings.squisher.again:
            return (turn,)
        opened = self._squeeze(False, turn.end_us)
        closed = None if opened is None else self._squeeze(True, opened.end_us)
        return (turn,) if opened is None or closed is None else (turn, opened, closed)

    def _returns(self, pose: MachinePose) -> Iterator[Transition]:
        """Yield turns of the empty turntable, which bring one of limited range back."""
        for angle, quarters in self._table.returns(pose.angle):
            motion = self._table.motion(pose.angle, angle, quarters, held=False)
            if motion is not None:
                fields = {"table": motion.actuator}
                back = Operation("return", motion.duration_us, fields=fields)
                yield self._step(pose, replace(pose, angle=angle), (motion,), back)

    def _motions(self, pose: MachinePose, *, held: bool) -> Iterator[tuple[int, ActuatorMotion]]:
        for angle, quarters in self._table.turns(pose.angle):
            motion = self._table.motion(pose.angle, angle, quarters, held)
            if motion is not None:
                yield angle, motion

    def _step(
        self,
        pose: MachinePose,
        after: MachinePose,
        motions: tuple[ActuatorMotion, ...],
        operation: Operation,
    ) -> Transition:
        ends = self._index[pose], self._index[after]
        duration = max(motion.end_us for motion in motions)
        return Transition(*ends, duration, motions, (operation,))


MECHANISMS["layered-flipper"] = MechanismKind(build_layered_flipper)
