"""Plans that solve or scramble the cube in the robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from robot.mechanism.compile.cost_model import compile_mechanism, cost_model, node_of
from robot.mechanism.graph import Mechanism, State, Transition
from robot.planner.approach import bound_with_approach, plan_approach, skip_rest
from robot.planner.block_turns import block_turns
from robot.planner.plan import Plan, make_plan
from robot.planner.retrace import best_ends, transitions_between
from solver.cost import moves_of
from solver.cube.centres import CentreTurns, add_turns, count_turns, turn_upright
from solver.cube.cube import AnyCube, Cube
from solver.cube.notation import Move, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import InvalidRequest
from solver.goal import Goal
from solver.search import make_ready, solve
from solver.solution import PROVEN, CancelFlag, Progress, Request, Solution

LAYERED_SIZES = range(4, 8)
"""Sizes of cubes that have inner layers to turn."""

ALGORITHM = {2: "exact", 3: "two-phase"} | dict.fromkeys(LAYERED_SIZES, "reduction")
"""The search that minimizes a robot's time, for each size of cube."""

METRIC = {2: "htm", 3: "htm"} | dict.fromkeys(LAYERED_SIZES, "obtm")
"""The metric that counts the moves of its solutions, for each size of cube."""


@dataclass(frozen=True)
class Aim:
    """The state to reach: ``goal`` (None: solved), with upright centres or any.

    ``turned``: the present turns of the centres if they must end upright, else None.
    """

    goal: Goal | None = None
    turned: CentreTurns | None = None

    def is_reached(self, cube: AnyCube) -> bool:
        """Return true if ``cube`` has reached the aim."""
        is_there = cube.is_solved if self.goal is None else self.goal.is_reached(cube)
        return is_there and not any(self.turned or ())

    def subtract_moves(self, moves: Iterable[str]) -> Aim:
        """Return the aim that remains after ``moves``."""
        if self.turned is None:
            return self
        made = count_turns(parse_moves(" ".join(moves)))
        return replace(self, turned=add_turns(self.turned, made))

    def centres_of(self, cube: AnyCube) -> CentreTurns | None:
        """Return the turns that a solution must make to the centres; None if any will do.

        Raise InvalidRequest if no solution can leave them upright.
        """
        if self.turned is None:
            return None
        other = cube if self.goal is None else self.goal.cube_to_solve(cube)
        if not isinstance(other, Cube):
            raise InvalidRequest("Only centres of a 3x3x3 can be kept upright")
        return turn_upright(other, self.turned)


ANY_SOLVED = Aim()
"""The usual aim: a solved cube with any turns of its centres."""


def plan_composites(mechanism: Mechanism, start: State, composites: Sequence[int]) -> Plan:
    """Return the fastest plan that performs composites of the cube (``solver.cost``).

    Raise :class:`robot.planner.retrace.PlanningError` if the mechanism cannot perform them.
    """
    tables = compile_mechanism(mechanism)
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
    goal: Goal | None = None,
    centres: CentreTurns | None = None,
) -> Plan:
    """Return the fastest plan found in ``time_limit`` seconds of search that solves ``cube``.

    With ``goal`` the plan brings the cube to that instead. ``centres`` are as in :class:`Request`.
    ``cube`` is in its own frame, held as in ``start`` (default: the state after homing).
    ``algorithm`` must minimize a robot's time (default: that of ALGORITHM). ``on_better`` gets the
    duration in microseconds of every better plan, on the search's thread. ``progress`` reports the
    generation of missing tables. Raise SearchError if the robot cannot solve the cube or the search
    was stopped, and InvalidRequest as ``solve`` does.
    """
    approach = plan_approach(mechanism, mechanism.start if start is None else start)
    is_there = cube.is_solved if goal is None else goal.is_reached(cube)
    if is_there and not any(centres or ()):
        there = replace(approach, exhausted=PROVEN)
        return there if there.transitions else replace(there, lower_bound_us=0)

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
        goal=goal,
        centres=centres,
    )
    if turns is None:
        plan = plan_composites(mechanism, approach.end, solution.composites or ())
    else:
        plan = turns.plan(parse_moves(" ".join(solution.moves)))
    bound: int | None = solution.extra.get("lower_bound_us")
    exhausted: str | bool = solution.extra.get("exhausted", False)
    if solution.extra.get("proven"):
        bound, exhausted = solution.cost_us, PROVEN
    if approach.transitions:
        plan, bound = skip_rest(approach, plan), bound_with_approach(bound, approach)
    return replace(
        plan,
        lower_bound_us=bound,
        search_s=solution.search_s,
        cpu_s=solution.cpu_s,
        cut_by_clock=solution.cut_by_clock,
        exhausted=exhausted,
    )


def plan_scramble(
    cube: StickerCube,
    mechanism: Mechanism,
    start: State | None = None,
    *,
    cancel: CancelFlag | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Plan:
    """Return a plan that turns a solved cube of 4 and more layers into ``cube``.

    It undoes the moves of a solution. Raise SearchError as ``plan_solve`` does.
    """
    solution = solve(
        cube,
        algorithm=ALGORITHM[cube.size],
        metric=METRIC[cube.size],
        cancel=cancel,
        progress=progress,
    )
    solving = parse_moves(" ".join(solution.moves))
    # A cube without centres may be solved in any orientation. Undo the moves from that one.
    rotation = rotation_to(cube.apply(solving))
    moves = [*rotation, *(move.inverse for move in reversed(solving))]
    approach = plan_approach(mechanism, mechanism.start if start is None else start)
    plan = block_turns(mechanism).start(approach.end).plan(moves)
    steps = approach.transitions + plan.transitions
    return make_plan(approach.mechanism, approach.start, steps, plan.moves)


def rotation_to(solved: StickerCube) -> tuple[Move, ...]:
    """Return whole-cube turns that lead from the usual orientation to that of ``solved``."""
    turns = [Move(face, quarters, 1, 0) for face in "URF" for quarters in (1, 2, 3)]
    rotations = [(), *((one,) for one in turns), *product(turns, repeat=2)]
    usual = StickerCube.solved(solved.size)
    return next(rotation for rotation in rotations if usual.apply(rotation) == solved)


def prepare(mechanism: Mechanism, cancel: CancelFlag, progress: Callable[[Progress], None]) -> None:
    """Load the tables that plans for ``mechanism`` need, and make missing ones.

    Raise SearchError if ``cancel`` is set meanwhile.
    """
    cost = cost_model(mechanism, mechanism.start)
    request = Request(cost=cost, cancel=cancel, progress=progress)
    if mechanism.size in LAYERED_SIZES:
        block_turns(mechanism)
    make_ready(mechanism.size, request)
