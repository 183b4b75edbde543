"""Plans: sequences of transitions, as operations for people and turns for the firmware."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from robot.mechanism.compile.closure import rotate_orientation, turns_layers, whole_rotation
from robot.mechanism.durations import rotation_profile, travel_profile
from robot.mechanism.graph import ActuatorMotion, Mechanism, Operation, State, Transition
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from solver.cube.notation import Move
from solver.cube.orientation import Orientation


@dataclass(frozen=True, eq=False)
class Plan:
    """The transitions between two states, with the costs of the motions that execute them.

    ``moves`` are the cube's turns in notation. An empty plan has no transitions. No plan for the
    same cube and start takes less than ``lower_bound_us`` (None if unknown). The search for the
    moves took ``search_s`` of wall-clock time and ``cpu_s`` of processor time. ``cut_by_clock`` is
    that of the search's :class:`solver.solution.Solution`. ``exhausted`` says why the search ended:
    ``proven``, ``under cut-offs``, or False.
    """

    mechanism: Mechanism
    transitions: tuple[Transition, ...]
    start: State
    end: State
    moves: tuple[str, ...] = ()
    lower_bound_us: int | None = None
    search_s: float = 0.0
    cpu_s: float = 0.0
    cut_by_clock: bool = False
    exhausted: str | bool = False

    @property
    def optimal(self) -> bool:
        """True if the plan is proven to be a fastest one."""
        return self.lower_bound_us is not None and self.duration_us <= self.lower_bound_us

    @property
    def initial_orientation(self) -> Orientation:
        """The cube's orientation before the plan."""
        return self.start.orientation

    @property
    def final_orientation(self) -> Orientation:
        """The cube's orientation after the plan."""
        return self.end.orientation

    @property
    def initial_positions(self) -> Mapping[str, str | int]:
        """The actuators' positions before the plan: a position's name or quarter turns."""
        return self.mechanism.configurations[self.start.configuration].positions

    @property
    def final_positions(self) -> Mapping[str, str | int]:
        """The actuators' positions after the plan."""
        return self.mechanism.configurations[self.end.configuration].positions

    @property
    def motions(self) -> Iterator[tuple[int, ActuatorMotion]]:
        """The actuators' motions, with their starts."""
        for start_us, step in self.timed_transitions():
            for motion in step.motions:
                yield start_us + motion.offset_us, motion

    @cached_property
    def duration_us(self) -> int:
        """The end of the last motion."""
        last_us = self.mechanism.configurations[self.end.configuration].residual_motion_us
        return sum(step.duration_us for step in self.transitions) + last_us * bool(self.transitions)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """The robot's operations, ordered by start."""
        found = [
            replace(operation, start_us=start_us + operation.start_us)
            for start_us, step in self.timed_transitions()
            for operation in step.operations
        ]
        return tuple(sorted(found, key=lambda operation: operation.start_us))

    def timed_transitions(self) -> Iterator[tuple[int, Transition]]:
        """Yield each transition with its start in microseconds."""
        time_us = 0
        for step in self.transitions:
            yield time_us, step
            time_us += step.duration_us

    def schedule(self) -> Schedule:
        """Return the turns for the firmware, computed once. See :func:`schedule_of`."""
        return self._schedule

    @cached_property
    def _schedule(self) -> Schedule:
        return schedule_of(self.mechanism, self.start, self.timed_transitions())


def make_plan(
    mechanism: Mechanism, start: State, transitions: Sequence[Transition], moves: Sequence[str] = ()
) -> Plan:
    """Return the plan of ``transitions`` from ``start``; each starts where the last one ends."""
    state = start
    for step in transitions:
        if step.start != state.configuration:
            raise ValueError(f"a transition from {step.start} cannot follow {state.configuration}")
        state = state_after(mechanism, state, step)
    return Plan(mechanism, tuple(transitions), start, state, tuple(moves))


def state_after(mechanism: Mechanism, state: State, step: Transition) -> State:
    """Return the state in which a transition ends.

    Turning both layers of a 2x2x2 together rotates the cube; turning one leaves its frame in place.
    """
    rotation = whole_rotation(step, mechanism.size)
    return State(step.end, Orientation(rotate_orientation(state.orientation.index, rotation)))


def moves_made(mechanism: Mechanism, state: State, steps: Sequence[Transition]) -> tuple[str, ...]:
    """Return the turns of the cube that ``steps`` make from ``state``, in notation."""
    moves: list[str] = []
    for step in steps:
        if turns_layers(step, mechanism.size):
            for site, quarters in step.turns:
                face = state.orientation.face_at(site)
                moves.append(str(Move(face, quarters, 1, step.layers)))
        state = state_after(mechanism, state, step)
    return tuple(moves)


def schedule_of(
    mechanism: Mechanism, start: State, timed: Iterable[tuple[int, Transition]]
) -> Schedule:
    """Return the schedule of ``timed`` transitions; equal motions share a profile.

    Raise :class:`solver.errors.InvalidRequest` for a robot whose profile states only times.
    """
    quarters = _quarters(mechanism.configurations[start.configuration].positions)
    profiles: dict[MotionProfile, int] = {}
    turns: list[TimedTurn] = []
    end_us = 0
    for start_us, step in timed:
        for motion in step.motions:
            profile = _profile(mechanism, motion, quarters)
            number = profiles.setdefault(profile, len(profiles))
            turns.append(TimedTurn(start_us + motion.offset_us, number))
            end_us = max(end_us, turns[-1].start_us + profile.duration_us)
    turns.sort(key=lambda turn: turn.start_us)
    return Schedule(tuple(profiles), tuple(turns), end_us)


def _quarters(positions: Mapping[str, str | int]) -> dict[str, int]:
    """Return the angles of the rotating steppers, in quarter turns."""
    return {name: place for name, place in positions.items() if isinstance(place, int)}


def _profile(
    mechanism: Mechanism, motion: ActuatorMotion, quarters: dict[str, int]
) -> MotionProfile:
    """Return the motion's profile, and update the angles of rotating steppers in ``quarters``."""
    robot, name = mechanism.profile, motion.actuator
    if motion.start is not None and motion.end is not None:
        return travel_profile(robot, name, motion.start, motion.end, motion.held)
    before = quarters.get(name, 0)
    quarters[name] = before + motion.quarters
    return rotation_profile(robot, name, before, motion.quarters, motion.held)
