"""Performing a plan, and, where the profile wants it, searching a faster rest of it meanwhile.

The plan is cut where the robot rests. While it performs the head, the rest is searched anew; the
search ends before the head does, and the robot goes on with what was found. Head and rest are
schedules of their own, so the microcontroller never waits for a search in the middle of a motion.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from robot.daemon.job import Job
from robot.daemon.states import RobotState
from robot.machine.interfaces import Machine, MotionPlan, Parts
from solver.cost import merged_moves

ENOUGH = 0.85
"""Part of the head after which the search for a faster rest ends."""


async def perform(job: Job, machine: Machine, plan: MotionPlan, cube: Any | None = None) -> Any:
    """Perform a plan; the mechanism's state at its end.

    ``cube`` is the cube before it: where it is given and the policy says so, the rest is improved
    on the way. The record, in which the plan is noted, tells what was performed.
    """
    job.enter(RobotState.TURNING, _turning(job))
    done: list[MotionPlan] = []
    executed_us = 0
    parts = await _parts(job, machine, plan, cube)
    if parts is not None:
        progress = _progress(job, [parts.head, parts.tail], 0)
        executed_us, plan = await _turn_and_think(job, machine, parts, progress)
        done.append(parts.head)
        note(job, [*done, plan])
        if plan is not parts.tail:
            job.enter(RobotState.TURNING, f"{_turning(job)}, with a faster end")
    progress = _progress(job, [*done, plan], len(done))
    executed_us += await job.run_blocking("turn", machine.motion.perform, plan.schedule, progress)
    job.record.planned_us = sum(part.duration_us for part in [*done, plan])
    job.record.executed_us = executed_us
    return plan.end


def note(job: Job, parts: Sequence[MotionPlan]) -> None:
    """Put into the record what is performed: these plans, one after the other.

    A turn that a cut went through the middle of is one move, as it was in the whole plan.
    """
    moves = [move for part in parts for move in part.moves.split()]
    job.record.moves = " ".join(merged_moves(moves))
    job.record.planned_us = sum(part.duration_us for part in parts)
    job.record.operations = list(_operations(parts))


def _turning(job: Job) -> str:
    """The step, in the record's own figures."""
    seconds = (job.record.planned_us or 0) / 1e6
    moves = "1 move" if job.record.move_count == 1 else f"{job.record.move_count} moves"
    return f"turning: {moves} in {seconds:.1f} s"


def _operations(parts: Sequence[MotionPlan]) -> Iterator[dict[str, Any]]:
    before_us = 0
    for part in parts:
        for operation in part.operations:
            yield _later(operation, before_us)
        before_us += part.duration_us


def _later(operation: Mapping[str, Any], by_us: int) -> dict[str, Any]:
    return {**operation, "start_us": operation["start_us"] + by_us}


async def _parts(job: Job, machine: Machine, plan: MotionPlan, cube: Any | None) -> Parts | None:
    if cube is None or not machine.policy.improve_while_turning:
        return None
    return await job.run_blocking("split", machine.planner.split, cube, plan)


async def _turn_and_think(
    job: Job, machine: Machine, parts: Parts, progress: Callable[[float], None]
) -> tuple[int, MotionPlan]:
    """Perform the head while a faster tail is searched; microseconds it took, and the tail."""
    enough = threading.Event()

    def advance(fraction: float) -> None:
        progress(fraction)
        if fraction >= ENOUGH:
            enough.set()

    thinking = asyncio.create_task(asyncio.to_thread(machine.planner.improved, parts, enough))
    try:
        took_us = await job.run_blocking(
            "turn", machine.motion.perform, parts.head.schedule, advance
        )
    finally:
        enough.set()
        await asyncio.wait({thinking})
    return took_us, thinking.result()


def _progress(job: Job, parts: Sequence[MotionPlan], current: int) -> Callable[[float], None]:
    """Tells the job how far all parts are when the current one is so far."""
    before_us = sum(part.duration_us for part in parts[:current])
    total_us = max(1, sum(part.duration_us for part in parts))
    own_us = parts[current].duration_us
    return lambda fraction: job.advance((before_us + fraction * own_us) / total_us)
