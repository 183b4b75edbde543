"""The trial "proof": read the cube, solve it, and check that it is solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot.calibration.step import Bench, Trial
from robot.machine.solve_planner import SolvePlanner
from robot.mechanism.registry import build_mechanism
from robot.records.documents import ApiDocument, ApiRequest
from robot.text.faults import ScanError
from solver.cube.cube import AnyCube
from solver.solution import Progress

if TYPE_CHECKING:
    from robot.machine.assembly import Machine
    from robot.planner import Plan, State


class ProofRequest(ApiRequest):
    """A request to prove the calibration. ``solved``: the previous proof left the cube solved, so
    it is not scanned first."""

    solved: bool = False


class Proof(ApiDocument):
    """The outcome of a solve: whether the cube is ``solved``, the cube before it, moves and times.

    ``operations``: number of turns of layers and of the cube, including those of a scramble before.
    ``planned_before_us``: planned time for the same cube with the kept calibration.
    """

    solved: bool
    facelets: str
    moves: str
    operations: int
    planned_us: int
    planned_before_us: int
    executed_us: int


def _prove(bench: Bench, asked: ProofRequest) -> Proof:
    """Read the cube, scramble it first if it is solved, solve it, and scan it again.

    Raise ``RobotError``, ``ScanError``, ``Stopped`` and the errors of the search.
    """
    machine = bench.machine
    state, operations = None, 0
    if asked.solved:
        machine.motion.home()
    else:
        cube, state = _scan_cube(machine)
    if asked.solved or cube.is_solved:
        scramble = machine.planner.scramble_cube(None)
        plan = machine.planner.plan_scramble(scramble, state, bench.cancel, _ignore_progress)
        machine.motion.perform(plan.schedule(), lambda _: None)
        operations += _count_operations(plan)
        cube, state = _scan_cube(machine)
    plan = machine.planner.plan(cube, state, bench.cancel, _ignore_progress)
    kept = bench.kept or bench.profile
    before = SolvePlanner(kept, build_mechanism(kept))
    planned_before_us = before.plan(cube, state, bench.cancel, _ignore_progress).duration_us
    executed_us = machine.motion.perform(plan.schedule(), lambda _: None)
    after, _state = _scan_cube(machine)
    return Proof(
        solved=after.is_solved,
        facelets=cube.facelets(),
        moves=" ".join(plan.moves),
        operations=operations + _count_operations(plan),
        planned_us=plan.duration_us,
        planned_before_us=planned_before_us,
        executed_us=executed_us,
    )


def _scan_cube(machine: Machine) -> tuple[AnyCube, State]:
    """Home, scan and read the cube. Return it and the state of the mechanism after the scan."""
    machine.motion.home()
    images, state = machine.scan()
    reading = machine.scanner.read(images)
    if not reading.confident or reading.cube is None:
        raise ScanError("the cube cannot be read with certainty", reading.look_again or "")
    return reading.cube, state


def _count_operations(plan: Plan) -> int:
    """Return the number of operations that turn a layer or the cube."""
    return sum(one.op in {"turn", "rotate"} for one in plan.operations)


def fault_chance(faultless: int, coming: int) -> float:
    """Return the chance of a fault in ``coming`` operations, after ``faultless`` ones.

    Computed by Bayes with Jeffreys' prior for the chance of a fault in one operation, because
    nothing is known of it before.
    """
    none = 1.0
    for number in range(faultless, faultless + coming):
        none *= (number + 0.5) / (number + 1)
    return 1 - none


def _ignore_progress(_: Progress) -> None:
    """Ignore the progress of the search."""


PROVING = Trial(
    "proof",
    "Solve the cube, after a scramble if it is solved, and check it",
    ProofRequest,
    Proof,
    _prove,
)
