"""The figures of ``cubist robot check`` and ``compare``: sizes, tables, scan tour and solves."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from robot.mechanism.compile.cost_model import compile_mechanism
from robot.mechanism.graph import Mechanism
from robot.planner import build_mechanism, plan_scan, plan_solve
from robot.planner.retrace import PlanningError
from robot.settings.profile import RobotProfile
from solver import pocket as pocket_robot
from solver import two_phase
from solver.cube.cube import AnyCube, Cube
from solver.cube.pocket import PocketCube
from solver.nxn.turns import scrambled
from solver.reduction import phased
from solver.solution import Progress

RANDOM_TURNS = 10
"""Number of random turns for each sticker of a face."""


@dataclass(frozen=True)
class Graph:
    """Sizes of a compiled mechanism. ``classes``: states that the search distinguishes."""

    configurations: int
    transitions: int
    states: int
    classes: int
    compile_s: float


@dataclass(frozen=True)
class Scan:
    """The scan tour: number of stops and of pictures, and its duration."""

    stops: int
    looks: int
    duration_us: int


@dataclass(frozen=True)
class Tables:
    """The search tables on disk for a robot, and the ``metric`` that guides the search.

    ``metric`` is None for a 2x2x2, whose search uses the robot's time only.
    """

    metric: str | None
    disk_bytes: int


@dataclass(frozen=True)
class Solves:
    """Plans for random cubes, in microseconds; ``moves`` on average."""

    cubes: int
    mean_us: float
    best_us: int
    worst_us: int
    moves: float


@dataclass(frozen=True)
class Survey:
    """All figures of one robot. ``drivable``: all actuators have pins."""

    name: str
    title: str
    kind: str
    size: int
    drivable: bool
    graph: Graph
    tables: Tables
    scan: Scan | None
    cannot_see: str
    solves: Solves | None

    def as_dict(self) -> dict[str, object]:
        """Return the figures for ``--json``."""
        return asdict(self)


def survey(
    profile: RobotProfile,
    cubes: int,
    search_s: float,
    on_cube: Callable[[int], None] = lambda _: None,
    progress: Callable[[Progress], None] | None = None,
) -> Survey:
    """Compile, scan and solve ``cubes`` random cubes with ``search_s`` seconds each.

    ``on_cube`` is called after every cube, ``progress`` while missing tables are made. Raise
    BadProfile for a robot that cannot solve a cube.
    """
    started = time.process_time()
    mechanism = build_mechanism(profile)
    classes = compile_mechanism(mechanism)
    compile_s = time.process_time() - started
    scan, cannot_see = _scan(mechanism)
    return Survey(
        name=profile.name,
        title=profile.title,
        kind=profile.mechanism.kind,
        size=profile.cube.size,
        drivable=mechanism.profile.is_drivable,
        graph=Graph(
            len(mechanism.configurations),
            len(mechanism.transitions),
            sum(len(nodes) for nodes in classes.nodes),
            classes.states,
            round(compile_s, 3),
        ),
        tables=tables_of(mechanism),
        scan=scan,
        cannot_see=cannot_see,
        solves=_solves(mechanism, cubes, search_s, on_cube, progress) if cubes else None,
    )


def tables_of(mechanism: Mechanism) -> Tables:
    """Return the tables that plans for ``mechanism`` need, without making any."""
    costs = compile_mechanism(mechanism).turn_costs
    if mechanism.size == 2:
        return Tables(None, pocket_robot.table_bytes(costs))
    metric = two_phase.ready_for(costs).metric
    own = phased.table_bytes(mechanism.size) if mechanism.size in phased.SIZES else 0
    return Tables(metric, two_phase.table_bytes(metric) + own)


def _scan(mechanism: Mechanism) -> tuple[Scan | None, str]:
    if not mechanism.profile.cameras:
        return None, "it has no camera"
    try:
        tour = plan_scan(mechanism)
    except PlanningError as error:
        return None, str(error)
    looks = sum(len(step.looks) for step in tour.steps)
    return Scan(len(tour.steps), looks, tour.duration_us), ""


def random_cube(size: int, rng: np.random.Generator) -> AnyCube:
    """Return a random cube; one of 4 and more layers after enough random turns to leave no trace
    of the solved state."""
    if size == 2:
        return PocketCube.random(rng)
    if size == 3:
        return Cube.random(rng)
    return scrambled(size, RANDOM_TURNS * size * size, rng)[0]


def _solves(
    mechanism: Mechanism,
    cubes: int,
    search_s: float,
    on_cube: Callable[[int], None],
    progress: Callable[[Progress], None] | None,
) -> Solves:
    """Solve random cubes, the same ones for every robot, so that robots can be compared."""
    rng = np.random.default_rng(2024)
    plans = []
    for number in range(cubes):
        cube = random_cube(mechanism.size, rng)
        plans.append(plan_solve(cube, mechanism, time_limit=search_s, progress=progress))
        on_cube(number + 1)
    durations = [plan.duration_us for plan in plans]
    return Solves(
        cubes=cubes,
        mean_us=statistics.mean(durations),
        best_us=min(durations),
        worst_us=max(durations),
        moves=statistics.mean(len(plan.moves) for plan in plans),
    )
