"""The jobs: solve the cube, home, scramble. Each is a coroutine that returns how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robot.daemon.job import Job
from robot.daemon.perform import note, perform
from robot.daemon.states import RobotState
from robot.faults import MotionFault
from robot.machine.interfaces import (
    FaceImage,
    Machine,
    MotionPlan,
    NotReadable,
    Reading,
    fault_record,
)
from robot.outcomes import Outcome
from solver.errors import CubistError

SLIPPED = "cube-slipped"
NO_CUBE = "no-cube"
UNSURE = "the colours leave more than one possible cube"
UNSOLVED = "the cube was not solved after the turns: solved again from there"

TELLING_FACES = 5
"""Faces that tell most cubes; of fewer it is not worth asking."""


@dataclass
class _Stand:
    """Where the mechanism stands, kept while it moves from look to look (None: as homed)."""

    state: Any


async def home(job: Job, machine: Machine) -> Outcome:
    """Bring every actuator to its start position."""
    await _home(job, machine)
    return Outcome.DONE


async def scramble(job: Job, machine: Machine, cube: Any) -> Outcome:
    """Do to whatever cube is held what makes the solved one ``cube``."""
    await _home(job, machine)
    job.enter(RobotState.SOLVING, "planning the scramble")
    plan = await job.run_blocking("plan", machine.planner.scramble, cube, None, job.hear)
    note(job, [plan])
    await perform(job, machine, plan)
    return Outcome.DONE


async def solve(job: Job, machine: Machine) -> Outcome:
    """Home, look, think, turn, look again; after a fault of the motion, all of it once more."""
    slipped = False
    for attempt in range(machine.policy.solve_retries + 1):
        job.record.attempts = attempt + 1
        try:
            return await _solve_once(job, machine, after_slip=slipped)
        except MotionFault as fault:
            if attempt == machine.policy.solve_retries or not fault.recoverable:
                raise
            slipped = fault.code == SLIPPED
            job.record.faults.append(fault_record(fault))
            job.enter(RobotState.HOMING, f"recovering: {fault.cause}")
            await _reconnect(job, machine)
            _note_recovery(job, f"homed and started over after a fault: {fault.cause}")
    raise AssertionError("the loop returns or raises")


async def solve_known(job: Job, machine: Machine, reading: Reading) -> Outcome:
    """Solve a cube whose state is known, without looking at it first."""
    await _home(job, machine)
    job.record.facelets = reading.facelets
    return await _turn_until_solved(job, machine, reading, None)


async def _solve_once(job: Job, machine: Machine, *, after_slip: bool) -> Outcome:
    """One attempt with a cube yet to be seen.

    ``after_slip``: the attempt before lost the cube, so that no cube in view now means that it is
    not where it should be or hidden by what is stuck, not that somebody has to put one in.
    """
    await _home(job, machine)
    try:
        reading, state = await _scan(job, machine, RobotState.SCANNING, None)
    except NotReadable as error:
        if not after_slip or error.code != NO_CUBE:
            raise
        raise MotionFault(
            SLIPPED, f"after turning, homing and looking anew the cube is not seen: {error}"
        ) from error
    return await _turn_until_solved(job, machine, reading, state)


async def _reconnect(job: Job, machine: Machine) -> None:
    """Wait for a board that was unplugged or restarts, for as long as the policy allows."""
    attempts = max(1, round(machine.policy.reconnect_s / machine.policy.reconnect_every_s))
    for attempt in range(attempts):
        try:
            return await job.run_blocking("reconnect", machine.motion.open)
        except MotionFault:
            if attempt == attempts - 1:
                raise
        await asyncio.sleep(machine.policy.reconnect_every_s)
    return None


async def _turn_until_solved(job: Job, machine: Machine, reading: Reading, state: Any) -> Outcome:
    """Think, turn, look again; what is then found unsolved is solved on from there."""
    if reading.is_solved:
        # An earlier attempt may have turned to the end before something else went wrong.
        return Outcome.SOLVED if job.record.moves else Outcome.ALREADY_SOLVED
    for attempt in range(machine.policy.solve_retries + 1):
        if attempt:
            _note_recovery(job, UNSOLVED)
        plan = await _think(job, machine, reading, state)
        state = await perform(job, machine, plan, reading.cube)
        if not machine.policy.check_after:
            return Outcome.DONE
        reading, state = await _checked(job, machine, state)
        if reading.is_solved:
            return Outcome.SOLVED
    return Outcome.NOT_SOLVED


async def _checked(job: Job, machine: Machine, state: Any) -> tuple[Reading, Any]:
    """See the cube that was turned; that it cannot be read any more is the motion's failure."""
    try:
        return await _scan(job, machine, RobotState.CHECKING, state)
    except NotReadable as error:
        raise MotionFault(
            SLIPPED,
            f"after turning, the camera does not see what it should: {error}",
        ) from error


def _note_recovery(job: Job, text: str) -> None:
    """Put into the record what was done about a trouble; the same twice in a row is said once."""
    if job.record.recoveries[-1:] != [text]:
        job.record.recoveries.append(text)


async def _home(job: Job, machine: Machine) -> None:
    job.enter(RobotState.HOMING, "finding the home positions")
    await job.run_blocking("home", machine.motion.home)


async def _scan(job: Job, machine: Machine, phase: RobotState, state: Any) -> tuple[Reading, Any]:
    """See all faces and read them; again those that left doubt. Also where the robot ends up."""
    looks: list[FaceImage] = []
    stand = _Stand(state)
    wanted: tuple[str, ...] | None = None
    for attempt in range(machine.policy.scan_retries + 1):
        last = attempt == machine.policy.scan_retries
        try:
            await _look_around(job, machine, phase, stand, wanted, looks)
            reading = await _read(job, machine, phase, looks)
        except NotReadable as error:
            if last:
                raise
            _note_recovery(job, f"looked again: {error}")
            wanted, looks = None, []
            continue
        if reading.confident:
            break
        if last:
            raise NotReadable(UNSURE, reading.look_again)
        wanted = reading.look_again or None
        at = f" at {' '.join(wanted)}" if wanted else ""
        _note_recovery(job, f"looked again{at}: {UNSURE}")
    if phase is RobotState.SCANNING:
        job.record.facelets = reading.facelets
        job.record.reading = dict(reading.detail)
    await job.save()
    return reading, stand.state


async def _read(
    job: Job, machine: Machine, phase: RobotState, looks: Sequence[FaceImage]
) -> Reading:
    """Decide the cube; how the scan was read, or what could not be, is drawn for the record."""
    try:
        reading = await job.run_blocking("read", machine.planner.read, looks)
    except CubistError:
        job.explanation = machine.planner.explanation()
        raise
    drawing = machine.planner.explanation()
    if phase is RobotState.SCANNING or not reading.confident:
        job.explanation = drawing
    return reading


async def _look_around(
    job: Job,
    machine: Machine,
    phase: RobotState,
    stand: _Stand,
    faces: tuple[str, ...] | None,
    looks: list[FaceImage],
) -> None:
    """Move through a tour, adding to ``looks``."""
    timing = "scan" if phase is RobotState.SCANNING else "check"
    job.enter(phase, "planning the looks")
    tour = await job.run_blocking(timing, machine.planner.tour, stand.state, faces)
    for number, view in enumerate(tour.views):
        job.enter(phase, f"looking at {view.face} ({number + 1} of {len(tour.views)})")
        if view.schedule is not None:
            await job.run_blocking(timing, machine.motion.perform, view.schedule, job.advance)
        stand.state = view.state
        if number == 0:
            await job.run_blocking(timing, machine.scanner.settle)
        look = await job.run_blocking(timing, machine.scanner.look, view)
        looks.append(look)
        await job.save_photo(f"{phase}-{len(looks)}-{look.face}.jpg", look.picture)
        if number == 0 and phase is RobotState.SCANNING:
            # Before the robot turns what may be a hand, or nothing.
            await job.run_blocking("read", machine.planner.recognise, look)
        more = phase is RobotState.SCANNING and number + 1 < len(tour.views)
        if more and await _is_known(job, machine, looks):
            return
    stand.state = tour.end


async def _is_known(job: Job, machine: Machine, looks: Sequence[FaceImage]) -> bool:
    """Whether what was seen leaves one cube; asked only where a profile wants early ends."""
    if not machine.policy.end_scan_early or len({look.face for look in looks}) < TELLING_FACES:
        return False
    try:
        return (await job.run_blocking("read", machine.planner.read, looks)).confident
    except (NotReadable, MotionFault):
        return False


async def _think(job: Job, machine: Machine, reading: Reading, state: Any) -> MotionPlan:
    job.enter(RobotState.SOLVING, "searching for the fastest way")
    plan = await job.run_blocking(
        "search", machine.planner.plan, reading.cube, state, job.cancel, job.hear
    )
    note(job, [plan])
    await job.save()
    return plan
