"""From a cube in the robot to the plan that solves it fastest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np

from robot.mechanism.compile.closure import FAR, Closure, close, turns_layers
from robot.mechanism.compile.cost_model import Compiled, compile_mechanism, node_of
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import CALM, Mechanism, State, Transition, weight_of
from robot.planner.block_turns import BlockTurns
from robot.planner.plan import Plan, after, make_plan
from robot.planner.retrace import NoWay, best_ends, path, transitions_between
from solver.cost import CostModel, moves_of
from solver.cube.notation import Move, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.search import AnyCube, make_ready, solve
from solver.solution import CancelFlag, Progress, Request, Solution

LAYERED_SIZES = range(4, 8)
"""Cubes of which more than outer layers have to be turned."""

ALGORITHM = {2: "exact", 3: "two-phase"} | dict.fromkeys(LAYERED_SIZES, "reduction")
"""The search in a robot's time for each size of cube."""

METRIC = {2: "htm", 3: "htm"} | dict.fromkeys(LAYERED_SIZES, "obtm")
"""What else is counted of its solutions."""


@lru_cache(maxsize=8)
def compiled(mechanism: Mechanism) -> Compiled:
    """``mechanism`` compiled, once."""
    return compile_mechanism(mechanism)


@lru_cache(maxsize=8)
def ways(mechanism: Mechanism) -> Closure:
    """Ways between all states of ``mechanism`` in which no layer turns, computed once."""
    return close(mechanism)


@lru_cache(maxsize=4)
def cost_model(mechanism: Mechanism, start: State) -> CostModel:
    """What turns cost on ``mechanism`` from ``start``."""
    return compiled(mechanism).cost_model(start)


@lru_cache(maxsize=4)
def block_turns(mechanism: Mechanism) -> BlockTurns:
    """What turns of any number of layers take on ``mechanism``."""
    return BlockTurns(mechanism, ways(mechanism), compiled(mechanism))


def plan_composites(mechanism: Mechanism, start: State, composites: Sequence[int]) -> Plan:
    """The fastest way to perform composites of the cube (``solver.cost``) from ``start``.

    Raises :class:`robot.planner.retrace.NoWay` when the mechanism cannot perform them.
    """
    tables = compiled(mechanism)
    node = node_of(start)
    steps: list[Transition] = []
    for composite, end in zip(composites, best_ends(tables, node, composites), strict=True):
        steps += transitions_between(tables, node, composite, end)
        node = end
    return make_plan(mechanism, start, steps, moves_of(composites))


def plan_solve(  # noqa: PLR0913 - as solver.search.solve
    cube: AnyCube,
    mechanism: Mechanism,
    start: State | None = None,
    *,
    algorithm: str | None = None,
    time_limit: float = 1.0,
    threads: int = 1,
    cancel: CancelFlag | None = None,
    on_better: Callable[[int], None] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """The fastest plan found in ``time_limit`` seconds of search that solves ``cube``.

    ``cube`` in its own frame, held as ``start`` says (the state after homing when not given).
    ``algorithm``: one that searches in a robot's time; that of ALGORITHM when not given.
    ``on_better`` hears the duration in microseconds of every better plan, on the search's thread;
    ``progress`` hears how far tables are that have to be made first.
    Raises SearchFailed when nothing was found in time, UnknownAlgorithm as ``solve`` does.
    """
    approach = to_rest(mechanism, mechanism.start if start is None else start)
    if cube.is_solved:
        return approach if approach.transitions else replace(approach, lower_bound_us=0)

    def report(solution: Solution) -> None:
        if on_better is not None and solution.cost_us is not None:
            on_better(approach.duration_us + solution.cost_us)

    is_layered = cube.size in LAYERED_SIZES
    turns = block_turns(mechanism).start(approach.end) if is_layered else None
    solution = solve(
        cube,
        algorithm=algorithm or ALGORITHM[cube.size],
        cost=None if is_layered else cost_model(mechanism, approach.end),
        block_costs=turns,
        metric=METRIC[cube.size],
        time_limit=time_limit,
        threads=threads,
        cancel=cancel,
        on_better=report,
        progress=progress,
    )
    if turns is None:
        plan = plan_composites(mechanism, approach.end, solution.composites or ())
    else:
        plan = turns.plan(parse_moves(" ".join(solution.moves)))
    bound = lower_bound_us(solution)
    if approach.transitions:
        steps, bound = _begun_at_once(approach, plan), _with_approach(bound, approach)
        plan = make_plan(approach.mechanism, approach.start, steps, plan.moves)
    return replace(
        plan,
        lower_bound_us=bound,
        search_s=solution.search_s,
        cpu_s=solution.cpu_s,
        cut_by_clock=solution.cut_by_clock,
    )


def plan_scramble(
    cube: StickerCube,
    mechanism: Mechanism,
    start: State | None = None,
    *,
    cancel: CancelFlag | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """A way to do to a cube of 4 and more layers what makes the solved one ``cube``: the moves that
    solve it, taken back. Raises SearchFailed as ``plan_solve`` does.
    """
    solution = solve(
        cube,
        algorithm=ALGORITHM[cube.size],
        metric=METRIC[cube.size],
        cancel=cancel,
        progress=progress,
    )
    solving = parse_moves(" ".join(solution.moves))
    # A cube without centres is solved however it is held, and taken back from there.
    held = _held_as(cube.apply(solving))
    moves = [*held, *(move.inverse for move in reversed(solving))]
    approach = to_rest(mechanism, mechanism.start if start is None else start)
    plan = block_turns(mechanism).start(approach.end).plan(moves)
    steps = approach.transitions + plan.transitions
    return make_plan(approach.mechanism, approach.start, steps, plan.moves)


def _held_as(solved: StickerCube) -> tuple[Move, ...]:
    """Turns of the whole cube that bring the solved one from its usual colours to these."""
    turns = [Move(face, quarters, 1, 0) for face in "URF" for quarters in (1, 2, 3)]
    ways = [(), *((one,) for one in turns), *product(turns, repeat=2)]
    usual = StickerCube.solved(solved.size)
    return next(way for way in ways if usual.apply(way) == solved)


def prepare(mechanism: Mechanism, cancel: CancelFlag, progress: Callable[[Progress], None]) -> None:
    """Load the tables that plans for ``mechanism`` need, and make those that are not there.

    Raises SearchFailed when ``cancel`` is set meanwhile.
    """
    cost = cost_model(mechanism, mechanism.start)
    request = Request(cost=cost, cancel=cancel, progress=progress)
    if mechanism.size in LAYERED_SIZES:
        block_turns(mechanism)
    make_ready(mechanism.size, request)


def lower_bound_us(solution: Solution) -> int | None:
    """The time in which no solution can be done, as far as the search proved any."""
    if solution.extra.get("proven"):
        return solution.cost_us
    bound: int | None = solution.extra.get("lower_bound_us")
    return bound


def _with_approach(bound_us: int | None, approach: Plan) -> int | None:
    """What is proven of the time from where the cube was looked at.

    Another way to rest could leave a better start, but no better than by going back from this one.
    """
    nodes = np.array([node_of(approach.end)]), np.array([node_of(approach.start)])
    back = ways(approach.mechanism).between(*nodes).item()
    return None if bound_us is None or back >= FAR else max(0, bound_us - back // CALM)


def _begun_at_once(approach: Plan, plan: Plan) -> tuple[Transition, ...]:
    """Both plans' steps without a detour: up to the first turn of a layer the robot need not rest
    where the search began.
    """
    steps = plan.transitions
    turns = (n for n, step in enumerate(steps) if turns_layers(step, plan.mechanism.size))
    first = next(turns, len(steps))
    before = make_plan(plan.mechanism, plan.start, steps[:first])
    return (*straight_to(plan.mechanism, approach, before.end), *steps[first:])


def straight_to(mechanism: Mechanism, approach: Plan, end: State) -> tuple[Transition, ...]:
    """The fastest way to ``end`` from where the cube was looked at, by whatever positions.

    It takes no more kinds of motion that no turn needs than the way to rest (``approach``) does: a
    board must have room for all motions of a solve.
    """
    looking, start = approach.mechanism, approach.start
    usual = _own_kinds(mechanism)
    room = len(_kinds(approach.transitions) - usual)
    found: list[list[Transition]] = []
    with suppress(NoWay):
        found.append(path(ways(looking), node_of(start), node_of(end)))
    for step in looking.transitions:
        if step.start == start.configuration and step.end < len(mechanism.configurations):
            with suppress(NoWay):
                found.append([step, *_way(mechanism, after(looking, start, step), end)])
    found = [way for way in found if len(_kinds(way) - usual) <= room]
    found.append([*approach.transitions, *_way(mechanism, approach.end, end)])
    return tuple(min(found, key=lambda way: sum(weight_of(step) for step in way)))


def _way(mechanism: Mechanism, start: State, end: State) -> list[Transition]:
    return path(ways(mechanism), node_of(start), node_of(end))


Kind = tuple[str, str | None, str | None, int, bool]


def _kinds(steps: Iterable[Transition]) -> set[Kind]:
    """Their different motions, whenever they begin."""
    return {
        (motion.actuator, motion.start, motion.end, motion.quarters, motion.held)
        for step in steps
        for motion in step.motions
    }


@lru_cache(maxsize=8)
def _own_kinds(mechanism: Mechanism) -> set[Kind]:
    return _kinds(mechanism.transitions)


def to_rest(mechanism: Mechanism, start: State) -> Plan:
    """The fastest way from where the cube was looked at to where turns can begin; often empty."""
    if start.configuration < len(mechanism.configurations):
        return make_plan(mechanism, start, ())
    closure = ways(mechanism.looking)
    rests = np.arange(ORIENTATIONS * len(mechanism.configurations))
    resting = closure.between(np.array([node_of(start)]), rests)
    steps = path(closure, node_of(start), int(resting.argmin()))
    return make_plan(mechanism.looking, start, steps)
