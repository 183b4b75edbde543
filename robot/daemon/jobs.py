"""The jobs: solve the cube, home, scramble. Each is a coroutine that returns how it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from robot.daemon.job import Job
from robot.daemon.perform import note, perform
from robot.daemon.states import State
from robot.faults import MotionFault
from robot.machine.interfaces import Look, MotionPlan, NotReadable, Reading, Robot, fault_record
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


async def home(job: Job, robot: Robot) -> Outcome:
    """Bring every actuator to its start position."""
    await _home(job, robot)
    return Outcome.DONE


async def scramble(job: Job, robot: Robot, cube: Any) -> Outcome:
    """Do to whatever cube is held what makes the solved one ``cube``."""
    await _home(job, robot)
    job.enter(State.SOLVING, "planning the scramble")
    plan = await job.do("plan", robot.mind.scramble, cube, None, job.hear)
    note(job, [plan])
    await perform(job, robot, plan)
    return Outcome.DONE


async def solve(job: Job, robot: Robot) -> Outcome:
    """Home, look, think, turn, look again; after a fault of the motion, all of it once more."""
    slipped = False
    for attempt in range(robot.policy.solve_retries + 1):
        job.record.attempts = attempt + 1
        try:
            return await _solve_once(job, robot, after_slip=slipped)
        except MotionFault as fault:
            if attempt == robot.policy.solve_retries or not fault.recoverable:
                raise
            slipped = fault.code == SLIPPED
            job.record.faults.append(fault_record(fault))
            job.enter(State.HOMING, f"recovering: {fault.cause}")
            await _reconnect(job, robot)
            _note_recovery(job, f"homed and started over after a fault: {fault.cause}")
    raise AssertionError("the loop returns or raises")


async def solve_known(job: Job, robot: Robot, reading: Reading) -> Outcome:
    """Solve a cube whose state is known, without looking at it first."""
    await _home(job, robot)
    job.record.facelets = reading.facelets
    return await _turn_until_solved(job, robot, reading, None)


async def _solve_once(job: Job, robot: Robot, *, after_slip: bool) -> Outcome:
    """One attempt with a cube yet to be seen.

    ``after_slip``: the attempt before lost the cube, so that no cube in view now means that it is
    not where it should be or hidden by what is stuck, not that somebody has to put one in.
    """
    await _home(job, robot)
    try:
        reading, state = await _scan(job, robot, State.SCANNING, None)
    except NotReadable as error:
        if not after_slip or error.code != NO_CUBE:
            raise
        raise MotionFault(
            SLIPPED, f"after turning, homing and looking anew the cube is not seen: {error}"
        ) from error
    return await _turn_until_solved(job, robot, reading, state)


async def _reconnect(job: Job, robot: Robot) -> None:
    """Wait for a board that was unplugged or restarts, for as long as the policy allows."""
    attempts = max(1, round(robot.policy.reconnect_s / robot.policy.reconnect_every_s))
    for attempt in range(attempts):
        try:
            return await job.do("reconnect", robot.hands.open)
        except MotionFault:
            if attempt == attempts - 1:
                raise
        await asyncio.sleep(robot.policy.reconnect_every_s)
    return None


async def _turn_until_solved(job: Job, robot: Robot, reading: Reading, state: Any) -> Outcome:
    """Think, turn, look again; what is then found unsolved is solved on from there."""
    if reading.is_solved:
        # An earlier attempt may have turned to the end before something else went wrong.
        return Outcome.SOLVED if job.record.moves else Outcome.ALREADY_SOLVED
    for attempt in range(robot.policy.solve_retries + 1):
        if attempt:
            _note_recovery(job, UNSOLVED)
        plan = await _think(job, robot, reading, state)
        state = await perform(job, robot, plan, reading.cube)
        if not robot.policy.check_after:
            return Outcome.DONE
        reading, state = await _checked(job, robot, state)
        if reading.is_solved:
            return Outcome.SOLVED
    return Outcome.NOT_SOLVED


async def _checked(job: Job, robot: Robot, state: Any) -> tuple[Reading, Any]:
    """See the cube that was turned; that it cannot be read any more is the motion's failure."""
    try:
        return await _scan(job, robot, State.CHECKING, state)
    except NotReadable as error:
        raise MotionFault(
            SLIPPED,
            f"after turning, the camera does not see what it should: {error}",
        ) from error


def _note_recovery(job: Job, text: str) -> None:
    """Put into the record what was done about a trouble; the same twice in a row is said once."""
    if job.record.recoveries[-1:] != [text]:
        job.record.recoveries.append(text)


async def _home(job: Job, robot: Robot) -> None:
    job.enter(State.HOMING, "finding the home positions")
    await job.do("home", robot.hands.home)


async def _scan(job: Job, robot: Robot, phase: State, state: Any) -> tuple[Reading, Any]:
    """See all faces and read them; again those that left doubt. Also where the robot ends up."""
    looks: list[Look] = []
    stand = _Stand(state)
    wanted: tuple[str, ...] | None = None
    for attempt in range(robot.policy.scan_retries + 1):
        last = attempt == robot.policy.scan_retries
        try:
            await _look_around(job, robot, phase, stand, wanted, looks)
            reading = await _read(job, robot, phase, looks)
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
    if phase is State.SCANNING:
        job.record.facelets = reading.facelets
        job.record.reading = dict(reading.detail)
    await job.save()
    return reading, stand.state


async def _read(job: Job, robot: Robot, phase: State, looks: Sequence[Look]) -> Reading:
    """Decide the cube; how the scan was read, or what could not be, is drawn for the record."""
    try:
        reading = await job.do("read", robot.mind.read, looks)
    except CubistError:
        job.explanation = robot.mind.explanation()
        raise
    drawing = robot.mind.explanation()
    if phase is State.SCANNING or not reading.confident:
        job.explanation = drawing
    return reading


async def _look_around(
    job: Job,
    robot: Robot,
    phase: State,
    stand: _Stand,
    faces: tuple[str, ...] | None,
    looks: list[Look],
) -> None:
    """Move through a tour, adding to ``looks``."""
    timing = "scan" if phase is State.SCANNING else "check"
    job.enter(phase, "planning the looks")
    tour = await job.do(timing, robot.mind.tour, stand.state, faces)
    for number, view in enumerate(tour.views):
        job.enter(phase, f"looking at {view.face} ({number + 1} of {len(tour.views)})")
        if view.schedule is not None:
            await job.do(timing, robot.hands.perform, view.schedule, job.advance)
        stand.state = view.state
        if number == 0:
            await job.do(timing, robot.eyes.settle)
        look = await job.do(timing, robot.eyes.look, view)
        looks.append(look)
        await job.save_photo(f"{phase}-{len(looks)}-{look.face}.jpg", look.picture)
        if number == 0 and phase is State.SCANNING:
            # Before the robot turns what may be a hand, or nothing.
            await job.do("read", robot.mind.recognise, look)
        more = phase is State.SCANNING and number + 1 < len(tour.views)
        if more and await _is_known(job, robot, looks):
            return
    stand.state = tour.end


async def _is_known(job: Job, robot: Robot, looks: Sequence[Look]) -> bool:
    """Whether what was seen leaves one cube; asked only where a profile wants early ends."""
    if not robot.policy.end_scan_early or len({look.face for look in looks}) < TELLING_FACES:
        return False
    try:
        return (await job.do("read", robot.mind.read, looks)).confident
    except (NotReadable, MotionFault):
        return False


async def _think(job: Job, robot: Robot, reading: Reading, state: Any) -> MotionPlan:
    job.enter(State.SOLVING, "searching the soonest way")
    plan = await job.do("search", robot.mind.plan, reading.cube, state, job.cancel, job.hear)
    note(job, [plan])
    await job.save()
    return plan
