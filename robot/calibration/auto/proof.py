"""The trial "proof": read the cube, solve it, and look whether it is solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robot.calibration.step import Bench, Trial
from robot.machine.solve_planner import SolvePlanner
from robot.mechanism.registry import build_mechanism
from robot.records.documents import ApiDocument, ApiRequest
from robot.text.faults import ScanError
from solver.solution import Progress

if TYPE_CHECKING:
    from robot.machine.assembly import Machine
    from robot.planner import State
    from solver.search import AnyCube


class ProofRequest(ApiRequest):
    """``solved``: the cube is known to be, by the proof before, and needs no look."""

    solved: bool = False


class Proof(ApiDocument):
    """The outcome of a solve: the cube read before it, the moves, the times, and the look after it.

    ``planned_before_us``: as long would take what is planned for the same cube by what is kept.
    """

    solved: bool
    facelets: str
    moves: str
    planned_us: int
    planned_before_us: int
    executed_us: int


def _prove(bench: Bench, asked: ProofRequest) -> Proof:
    """Read the cube, scramble it first if it is solved, solve it, look again.

    Raises ``RobotError``, ``ScanError``, ``Stopped`` and what the search raises.
    """
    machine = bench.machine
    state = None
    if asked.solved:
        machine.motion.home()
    else:
        cube, state = _scan_cube(machine)
    if asked.solved or cube.is_solved:
        scramble = machine.planner.scramble_cube(None)
        plan = machine.planner.plan_scramble(scramble, state, bench.cancel, _ignore_progress)
        machine.motion.perform(plan.schedule(), lambda _: None)
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
        raise ScanError("the cube cannot be read beyond doubt", reading.look_again or "")
    return reading.cube, state


def _ignore_progress(_: Progress) -> None:
    """Ignore the progress of the search."""


PROVING = Trial(
    "proof", "Solve the cube, scrambled first if need be, and look", ProofRequest, Proof, _prove
)
