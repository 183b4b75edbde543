"""The fastest way to perform turns of any number of layers, one list of moves at a time.

A cube of N layers has N - 1 cuts across each axis. Turning the i outer layers of the axis's first
face by some quarters, and turning the N - i others back by as many, differ only by a turn of the
whole cube. A mechanism is free to do either. All that counts is the cuts turned and their quarters.
Consecutive turns on one axis commute and become one *run*: the quarters of each cut, done in
whatever order is fastest.

Example: on a 5x5x5 the moves ``Uw D`` are one run, with cut 2 turned by one quarter and cut 4 by
three. A crane that holds the cube with U up may raise two rows and turn them. It then turns the
cube over for D, or raises four rows and turns those the other way, and the whole cube with them.

Dynamic programming finds the fastest path. Its states are those of the mechanism just after each
turn, and within a run also the sets of cuts already turned. Orientations are those in the moves'
own frame: if a turn was done from the other side, the numbering of the states turns the cube's
frame back. The path between two turns comes from the closure of ``compile``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from robot.mechanism.compile.closure import (
    FAR,
    Closure,
    Weights,
    microseconds_of,
    path_closure,
    rotate_orientation,
)
from robot.mechanism.compile.cost_model import (
    Compiled,
    Times,
    compile_mechanism,
    node_of,
    refine,
    to_classes,
)
from robot.mechanism.frames import ORIENTATIONS, reframe_table
from robot.mechanism.graph import CALM, Mechanism, State, Transition, weight_of
from robot.planner.plan import Plan, make_plan, moves_made
from robot.planner.retrace import PlanningError, path
from solver.cost import AXES, IMPOSSIBLE, BlockTurnTimes, CostModel, merge_moves
from solver.cube.facelets import FACES
from solver.cube.notation import Move
from solver.cube.orientation import Orientation, all_orientations

Ints = NDArray[np.int64]

CutTurn = tuple[int, int, int]
"""Axis, cut (number of layers from the axis's first face) and clockwise quarters (1..3)."""


@dataclass(frozen=True)
class Run:
    """Turns of one axis, in any order: ``cuts`` as ``(cut, quarters)``.

    If the cuts are turned as in :func:`_usual`, the cube ends ``whole`` clockwise quarters about
    the axis's first face short of its orientation after the moves.
    """

    axis: int
    cuts: tuple[tuple[int, int], ...]
    whole: int


def runs_of(moves: Iterable[Move], size: int) -> list[Run]:
    """Return the moves as runs of turns about one axis, without runs that do nothing."""
    runs: list[Run] = []
    axis, layers = 0, np.zeros(size, dtype=np.int64)
    for move in moves:
        if move.axis != axis:
            runs += _run(axis, layers)
            axis, layers = move.axis, np.zeros(size, dtype=np.int64)
        first, last = move.layers(size)
        if move.face == AXES[axis][0]:
            layers[first - 1 : last] += move.quarters
        else:
            layers[size - last : size - first + 1] -= move.quarters
    return runs + _run(axis, layers)


def _run(axis: int, layers: Ints) -> list[Run]:
    """Return the run for the quarters of each layer, counted from the axis's first face, or none
    if nothing turns."""
    steps = (layers[:-1] - layers[1:]) % 4
    cuts = tuple((i + 1, int(q)) for i, q in enumerate(steps.tolist()) if q)
    outermost = sum(_usual(len(layers), cut, quarters) for cut, quarters in cuts)
    whole = int(layers[0] - outermost) % 4
    return [Run(axis, cuts, whole)] if cuts or whole else []


def _usual(size: int, cut: int, quarters: int) -> int:
    """Return the quarters of the outermost layer at the axis's first face when a cut is turned as
    usual: the side with fewer layers turns, or the first face's side if both have as many."""
    return quarters if 2 * cut <= size else 0


@dataclass(frozen=True, eq=False)
class _Edges:
    """Transitions that turn one cut: nodes before and after each, its weight and number."""

    start: Ints
    end: Ints
    weight: Ints
    step: Ints


@dataclass(frozen=True, eq=False)
class _Reached:
    """States just after a turn, one for each of its edges, or the state at the start.

    ``nodes`` are numbered in the moves' frame; ``frame`` is that frame's orientation as the
    mechanism holds the cube. ``weights`` are the least to each node. Node ``i`` was reached from
    ``source[i]`` of ``origins[origin[i]]`` by ``edges.step[i]``.
    """

    nodes: Ints
    weights: Weights
    frame: int = 0
    turn: CutTurn | None = None
    edges: _Edges | None = None
    origins: Sequence[_Reached] = ()
    origin: Ints | None = None
    source: Ints | None = None

    def reframe(self, axis: int, whole: int) -> _Reached:
        """Return a copy whose frame is turned by ``whole`` quarters about the axis."""
        configurations, held = np.divmod(self.nodes, ORIENTATIONS)
        table = reframe_table()[axis, whole]
        nodes = ORIENTATIONS * configurations + table[held]
        return replace(self, nodes=nodes, frame=int(table[self.frame]))


class BlockTurns:
    """Times of turns of any number of layers on a mechanism that turns one block at a time.

    ``closure``: its paths without turns; ``compiled``: its turns of outer layers only, for the
    3x3x3 that a reduction leaves.
    """

    def __init__(self, mechanism: Mechanism, closure: Closure, compiled: Compiled) -> None:
        self.mechanism = mechanism
        self.closure = closure
        self._compiled = compiled
        self._between: dict[tuple[CutTurn, int, CutTurn], Weights] = {}
        self._first: dict[int, NDArray[np.uint32]] = {}

    def start(self, state: State) -> BlockTurnsFrom:
        """Return the times of moves that start in ``state``."""
        return BlockTurnsFrom(self, state)

    @cached_property
    def edges(self) -> dict[CutTurn, _Edges]:
        """The transitions that turn each cut, in every orientation."""
        rows: dict[CutTurn, list[tuple[int, int, int, int]]] = {}
        for number, step in enumerate(self.mechanism.transitions):
            for held in range(ORIENTATIONS) if step.turns else ():
                turn, end = self._seen_from(step, held)
                row = (ORIENTATIONS * step.start + held, end, weight_of(step), number)
                rows.setdefault(turn, []).append(row)
        return {turn: _Edges(*np.array(found, dtype=np.int64).T) for turn, found in rows.items()}

    def _seen_from(self, step: Transition, held: int) -> tuple[CutTurn, int]:
        """Return the cut that a transition turns, and its end if the cut is turned as usual."""
        size = self.mechanism.size
        ((site, quarters),) = step.turns
        face = Orientation(held).face_at(site)
        axis = next(number for number, faces in enumerate(AXES) if face in faces)
        after = rotate_orientation(held, step.rotation)
        if face == AXES[axis][0]:
            cut, outermost = step.layers, quarters
        else:
            cut, outermost = size - step.layers, 0
        whole = (outermost - _usual(size, cut, quarters)) % 4
        end = int(reframe_table()[axis, whole, after])
        return (axis, cut, quarters), ORIENTATIONS * step.end + end

    @cached_property
    def classes(self) -> TurnClasses:
        """The states just after a turn, with those of equal costs merged."""
        return TurnClasses(self)

    def weights_between(self, reached: _Reached, then: CutTurn) -> Weights:
        """Return the weights of the paths from states to a turn. int64[states, edges]."""
        starts = self.edges[then].start
        if reached.turn is None:
            return self.closure.weights_between(reached.nodes, starts)
        key = reached.turn, reached.frame, then
        if key not in self._between:
            self._between[key] = self.closure.weights_between(reached.nodes, starts)
        return self._between[key]

    def model(self, ends: Ints, weights: Weights) -> CostModel:
        """Return the costs of turns of outer layers after these ends, weights included.

        They count from the fastest end.
        """
        least = weights.min()
        first = np.minimum.reduce(
            [
                _later(self._first_from(node), int(weight - least) // CALM)
                for node, weight in _least_by_node(ends, weights)
            ]
        )
        return CostModel(first, self._compiled.turn_costs)

    def _first_from(self, node: int) -> NDArray[np.uint32]:
        """Return the costs of a first composite of outer layers from a node."""
        if node not in self._first:
            self._first[node] = self._compiled.cost_model(_state(node)).first
        return self._first[node]


@lru_cache(maxsize=4)
def block_turns(mechanism: Mechanism) -> BlockTurns:
    """Return the times of turns of any number of layers on ``mechanism``, computed once."""
    return BlockTurns(mechanism, path_closure(mechanism), compile_mechanism(mechanism))


def _move(turn: CutTurn) -> Move:
    axis, cut, quarters = turn
    return Move(AXES[axis][0], quarters, 1, cut)


def _state(node: int) -> State:
    configuration, held = divmod(node, ORIENTATIONS)
    return State(configuration, Orientation(held))


def _least_by_node(nodes: Ints, weights: Weights) -> Iterator[tuple[int, int]]:
    for node in np.unique(nodes):
        yield int(node), int(weights[nodes == node].min())


def _later(first: NDArray[np.uint32], late_us: int) -> NDArray[np.uint32]:
    """Return a model's first costs plus ``late_us``; impossible ones stay impossible."""
    limit = np.uint64(0xFFFFFFFF)
    later = np.minimum(first.astype(np.uint64) + np.uint64(late_us), limit)
    return np.asarray(np.where(first == limit, limit, later), dtype=np.uint32)


class BlockTurnsFrom:
    """Times of lists of moves from one state. See :class:`solver.cost.BlockTurnCosts`."""

    def __init__(self, turns: BlockTurns, state: State) -> None:
        self._turns = turns
        self._state = state

    @property
    def name(self) -> str:
        """The robot's name."""
        return self._turns.mechanism.name

    def time_us(self, moves: Iterable[Move]) -> int:
        """Return the least time of ``moves``, or raise :class:`PlanningError`."""
        return min(int(found.weights.min()) for found in self._perform(moves)) // CALM

    def after(self, moves: Iterable[Move]) -> tuple[int, CostModel]:
        """Return the least time of ``moves``, and the costs of turns of outer layers after it."""
        found = self._perform(moves)
        nodes = np.concatenate([one.nodes for one in found])
        weights = np.concatenate([one.weights for one in found])
        return int(weights.min()) // CALM, self._turns.model(nodes, weights)

    @cached_property
    def turn_times(self) -> BlockTurnTimes:
        """The times of single turns."""
        return self._turns.classes.times_from(self._state)

    def plan(self, moves: Iterable[Move]) -> Plan:
        """Return the fastest plan that performs ``moves``, or raise :class:`PlanningError`."""
        mechanism = self._turns.mechanism
        steps = self._steps(self._perform(moves))
        made = moves_made(mechanism, self._state, steps)
        return make_plan(mechanism, self._state, steps, merge_moves(made))

    def _perform(self, moves: Iterable[Move]) -> list[_Reached]:
        """Return the states after all moves."""
        start = np.array([node_of(self._state)])
        found = [_Reached(start, np.zeros(1, dtype=np.int64))]
        for run in runs_of(moves, self._turns.mechanism.size):
            found = [one.reframe(run.axis, -run.whole % 4) for one in self._perform_run(found, run)]
        return found

    def _perform_run(self, before: list[_Reached], run: Run) -> list[_Reached]:
        """Return the states after all cuts of a run, one entry for each possible last cut."""
        turns = [(run.axis, cut, quarters) for cut, quarters in run.cuts]
        done: list[list[_Reached]] = [before]
        for cuts in range(1, 1 << len(turns)):
            members = [number for number in range(len(turns)) if cuts >> number & 1]
            done.append([self._turn(done[cuts - (1 << last)], turns[last]) for last in members])
        return done[-1]

    def _turn(self, before: Sequence[_Reached], turn: CutTurn) -> _Reached:
        """Return the states after one more turn."""
        edges = self._turns.edges.get(turn)
        if edges is None:
            raise PlanningError(f"{self.name} cannot turn {_move(turn)}")
        ways = [one.weights[:, None] + self._turns.weights_between(one, turn) for one in before]
        sources = [way.argmin(axis=0) for way in ways]
        least = np.stack([way.min(axis=0) for way in ways])
        origin = least.argmin(axis=0)
        every = np.arange(len(edges.end))
        weights = least[origin, every] + edges.weight
        if weights.min() >= FAR:
            raise PlanningError(f"{self.name} cannot turn {_move(turn)} there")
        source = np.stack(sources)[origin, every]
        return _Reached(edges.end, weights, 0, turn, edges, before, origin, source)

    def _steps(self, ends: list[_Reached]) -> list[Transition]:
        """Return the transitions to the fastest of ``ends``, found backwards from the last."""
        at = min(ends, key=lambda one: int(one.weights.min()))
        state = int(at.weights.argmin())
        legs: list[list[Transition]] = []
        while at.edges is not None and at.origin is not None and at.source is not None:
            edge = state
            before, state = at.origins[at.origin[edge]], int(at.source[edge])
            way = path(self._turns.closure, int(before.nodes[state]), int(at.edges.start[edge]))
            legs.append([*way, self._turns.mechanism.transitions[at.edges.step[edge]]])
            at = before
        return [step for leg in reversed(legs) for step in leg]


class TurnClasses:
    """Single turns as matrices, for the search of a reduction.

    States just after a turn form one class if every turn costs the same from all of them, as in
    ``robot.mechanism.compile.cost_model``. A crane of N layers has 8 (N - 1) classes on each axis:
    by the face that is up, the direction of the next roll, and the number of rows raised.
    """

    def __init__(self, turning: BlockTurns) -> None:
        self._turning = turning
        cuts = range(1, turning.mechanism.size)
        self._turns = tuple(product(range(3), cuts, range(1, 4)))
        self._nodes = tuple(self._ends(axis) for axis in range(3))
        self._classes = refine(
            tuple(np.zeros(len(nodes), dtype=np.int64) for nodes in self._nodes),
            [
                [(turn[0], self._times(nodes, turn)) for turn in self._turns]
                for nodes in self._nodes
            ],
        )
        self.states = max(int(classes.max(initial=-1)) + 1 for classes in self._classes)

    def times_from(self, start: State) -> BlockTurnTimes:
        """Return the matrices, with those from ``start`` for every orientation of the cube."""
        cuts, states = self._turning.mechanism.size - 1, self.states
        onward = np.full((3, 3, cuts, 3, states, states), IMPOSSIBLE, dtype=np.uint32)
        for before, (nodes, classes) in enumerate(zip(self._nodes, self._classes, strict=True)):
            _, members = np.unique(classes, return_index=True)
            times = self._times_to_classes(nodes[members])
            onward[before, ..., : len(members), :] = np.moveaxis(times, 0, -2)
        first = np.full((36, 3, cuts, 3, states), IMPOSSIBLE, dtype=np.uint32)
        for held in all_orientations():
            up, front = (FACES.index(held.face_at(site)) for site in "UF")
            seen = "".join(held.site_of(start.orientation.face_at(site)) for site in "UF")
            node = node_of(State(start.configuration, Orientation.named(seen)))
            first[6 * up + front] = self._times_to_classes(np.array([node]))[0]
        return BlockTurnTimes(onward, first)

    def _ends(self, axis: int) -> Ints:
        """Return the nodes just after a turn on ``axis``."""
        ends = [edges.end for turn, edges in self._turning.edges.items() if turn[0] == axis]
        return np.unique(np.concatenate(ends)) if ends else np.zeros(0, dtype=np.int64)

    def _times(self, starts: Ints, turn: CutTurn) -> Times:
        """Return the microseconds from nodes through a turn to the nodes after its axis's turns."""
        nodes = self._nodes[turn[0]]
        least = np.full((len(starts), len(nodes)), FAR)
        edges = self._turning.edges.get(turn)
        if edges is not None:
            ways = self._turning.closure.weights_between(starts, edges.start) + edges.weight
            for column, end in zip(ways.T, np.searchsorted(nodes, edges.end), strict=True):
                least[:, end] = np.minimum(least[:, end], column)
        return microseconds_of(least)

    def _times_to_classes(self, starts: Ints) -> Times:
        """Return the microseconds from nodes through each turn to classes of its axis.

        uint32[nodes, 3, N - 1, 3, classes]: axis, cut and quarters of the turn.
        """
        shape = (len(starts), 3, self._turning.mechanism.size - 1, 3, self.states)
        found = np.full(shape, IMPOSSIBLE, dtype=np.uint32)
        for axis, cut, quarters in self._turns:
            classes = self._classes[axis]
            times = to_classes(self._times(starts, (axis, cut, quarters)), classes)
            found[:, axis, cut - 1, quarters - 1, : times.shape[1]] = times
        return found
