"""The jobs: solve the cube, home, scramble. Each is a coroutine that returns its outcome.

A plan can be improved while it is performed. It is cut at a point where the robot is at rest. While
the robot performs the head, a search looks for a faster tail. The search ends before the head does,
and the robot goes on with the result. Head and tail are separate schedules, so the microcontroller
never waits for a search in the middle of a motion.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence

from robot.api.endpoints import RobotState
from robot.api.models import Preparation, StartRequest
from robot.computer.memory import give_back
from robot.daemon.job import Job
from robot.daemon.live import operations_of
from robot.daemon.scanning import note_recovery, scan
from robot.machine.assembly import Machine
from robot.machine.solve_planner import SolvePlanner, SplitPlan
from robot.planner import ANY_SOLVED, Aim, Plan, State
from robot.records.run_record import FaultRecord
from robot.text.faults import RobotError, ScanError
from robot.text.messages import JobStep, Note, coded
from robot.text.outcomes import Outcome
from solver.cost import merge_moves
from solver.cube.cube import AnyCube
from solver.errors import CubistError, InvalidRequest
from solver.solution import Progress

log = logging.getLogger("cubistd")

Performer = Callable[[Job, Machine], Awaitable[Outcome]]

SLIPPED = "cube-slipped"
UNREADABLE = "unreadable"

RECONNECT_PAUSES = 20
"""Maximum number of pauses between attempts to reconnect."""

ENOUGH = 0.85
"""Fraction of the head after which the search for a faster tail ends."""


def performer(request: StartRequest, planner: SolvePlanner) -> Performer:
    """Return the coroutine function of the requested job; raises ``InvalidRequest``."""
    if request.kind == "home":
        return home
    if request.kind == "scramble":
        cube = planner.scramble_cube(request.moves)
        return lambda job, machine: scramble(job, machine, cube)
    known = None if request.facelets is None else planner.parse_cube(request.facelets)
    aim = planner.read_aim(
        request.to,
        request.facelets,
        centres=request.centres,
        centres_turned=request.centres_turned,
    )
    if known is not None:
        return lambda job, machine: solve_known(job, machine, known, aim)
    return lambda job, machine: solve(job, machine, aim)


async def home(job: Job, machine: Machine) -> Outcome:
    """Bring every actuator to its start position."""
    await _home(job, machine)
    return Outcome.DONE


async def scramble(job: Job, machine: Machine, cube: AnyCube) -> Outcome:
    """Apply the scramble that turns a solved cube into ``cube``."""
    await _home(job, machine)
    job.enter(RobotState.SOLVING, JobStep.of("plan-scramble"))
    work = machine.planner.plan_scramble
    plan = await job.run_blocking("plan", work, cube, None, job.cancel, job.hear)
    await note(job, machine, [plan])
    await perform(job, machine, plan)
    return Outcome.DONE


async def solve(job: Job, machine: Machine, aim: Aim = ANY_SOLVED) -> Outcome:
    """Home, scan, plan, turn and check. Start over after a recoverable fault.

    A fault after the turns began leaves unknown how far the centres are turned. If ``aim`` wants
    them upright, it ends the job.
    """
    for attempt in range(machine.policy.solve_retries + 1):
        job.record.attempts = attempt + 1
        try:
            return await _solve_once(job, machine, aim)
        except RobotError as fault:
            is_last = attempt == machine.policy.solve_retries
            is_centre_lost = aim.turned is not None and job.record.moves is not None
            if is_last or is_centre_lost or not fault.recoverable:
                raise
            job.record.faults.append(FaultRecord.of(fault))
            text = f"recovering: {fault.cause}"
            job.enter(RobotState.HOMING, JobStep.of("recover", text, fault=fault.code))
            await _reconnect(job, machine)
            told = f"homed and started over after a fault: {fault.cause}"
            note_recovery(job, Note.of("started-over", told, fault=fault.code))
    raise AssertionError("the loop returns or raises")


async def solve_known(job: Job, machine: Machine, cube: AnyCube, aim: Aim = ANY_SOLVED) -> Outcome:
    """Solve a cube whose state is known, without scanning it first."""
    await _home(job, machine)
    job.record.facelets = cube.facelets()
    job.live.read(job.record.facelets)
    return await _turn_until_solved(job, machine, cube, None, aim)


async def _solve_once(job: Job, machine: Machine, aim: Aim) -> Outcome:
    await _home(job, machine)
    cube, state = await scan(job, machine, RobotState.SCANNING, None)
    return await _turn_until_solved(job, machine, cube, state, aim)


async def _reconnect(job: Job, machine: Machine) -> None:
    """Wait for a board that was unplugged or restarts, for about ``machine.reconnect_s``.

    An attempt takes several seconds of it if the port opens but no board answers.
    """
    pause_s = machine.reconnect_s / RECONNECT_PAUSES
    last_begin_s = job.elapsed_s + machine.reconnect_s - pause_s
    while True:
        try:
            return await job.run_blocking("reconnect", machine.motion.open)
        except RobotError:
            if job.elapsed_s > last_begin_s:
                raise
        await asyncio.sleep(pause_s)


async def _turn_until_solved(
    job: Job, machine: Machine, cube: AnyCube, state: State | None, aim: Aim
) -> Outcome:
    """Plan, turn and check. If the cube has not reached its goal, go on from there."""
    if aim.is_reached(cube):
        # An earlier attempt may have finished its turns before something else failed.
        there = Outcome.SOLVED if job.record.moves else Outcome.ALREADY_SOLVED
        return there if aim.goal is None else Outcome.DONE
    for attempt in range(machine.policy.solve_retries + 1):
        if attempt:
            note_recovery(job, Note.of("solved-again"))
        plan = await _plan(job, machine, cube, state, aim)
        state = await perform(job, machine, plan, cube, aim)
        aim = aim.subtract_moves((job.record.moves or "").split())
        if not machine.policy.check_after:
            return Outcome.DONE
        cube, state = await _scan_again(job, machine, state)
        if aim.is_reached(cube):
            job.is_proven = attempt == 0
            return Outcome.SOLVED if aim.goal is None else Outcome.DONE
    return Outcome.NOT_SOLVED


async def _scan_again(
    job: Job, machine: Machine, state: State | None
) -> tuple[AnyCube, State | None]:
    """Scan the cube after the turns.

    If the view is clear but the cube is unreadable, report a fault of the motion. Other scan errors
    pass unchanged.
    """
    try:
        return await scan(job, machine, RobotState.CHECKING, state)
    except ScanError as error:
        if error.code != UNREADABLE:
            raise
        raise RobotError(
            SLIPPED,
            f"after turning, the camera does not see the expected cube: {error}",
        ) from error


async def _home(job: Job, machine: Machine) -> None:
    job.enter(RobotState.HOMING, JobStep.of("home"))
    job.live.forget_cube(machine.size)
    await job.run_blocking("home", machine.motion.home)
    job.live.home(machine.planner.start_positions)


async def _plan(job: Job, machine: Machine, cube: AnyCube, state: State | None, aim: Aim) -> Plan:
    job.enter(RobotState.SOLVING, JobStep.of("search"))
    search = machine.planner.plan
    try:
        plan = await job.run_blocking("search", search, cube, state, job.cancel, job.hear, aim)
    except InvalidRequest as error:
        # The cube that was seen does not fit the given centres.
        raise ScanError(str(error)) from error
    await note(job, machine, [plan])
    job.save_meanwhile()
    return plan


async def perform(
    job: Job,
    machine: Machine,
    plan: Plan,
    cube: AnyCube | None = None,
    aim: Aim = ANY_SOLVED,
) -> State:
    """Perform a plan and return the mechanism's state at its end.

    ``cube``: the cube before the plan. If it is given and the policy allows it, the rest of the
    plan to ``aim`` is improved while the robot turns. The plan must be noted in the record, which
    then follows what was performed.
    """
    job.enter(RobotState.TURNING, _turning(job))
    done: list[Plan] = []
    executed_us = 0
    before = cube
    while (parts := await _parts(job, machine, plan, before, again=bool(done))) is not None:
        whole = [*done, parts.head, parts.tail]
        done_us = sum(part.duration_us for part in done)
        job.live.move("turn", whole, done_us, job.record.greedy_us)
        aim = aim.subtract_moves(parts.head.moves)
        took_us, plan = await _turn_and_improve(
            job, machine, parts, aim, _progress(job, whole, len(done))
        )
        executed_us += took_us
        before = parts.cube
        done.append(parts.head)
        await note(job, machine, [*done, plan])
        if plan is not parts.tail:
            job.enter(RobotState.TURNING, _turning(job, faster=True))
    progress = _progress(job, [*done, plan], len(done))
    head_us = sum(part.duration_us for part in done)
    job.live.move("turn", [*done, plan], head_us, job.record.greedy_us)
    turn = machine.motion.perform
    executed_us += await job.run_blocking("turn", turn, plan.schedule(), progress)
    job.record.planned_us = sum(part.duration_us for part in [*done, plan])
    job.record.executed_us = executed_us
    moves = " ".join(move for part in [*done, plan] for move in part.moves)
    job.live.arrive(plan, None if cube is None else cube.apply(moves).facelets())
    return plan.end


async def note(job: Job, machine: Machine, parts: Sequence[Plan]) -> None:
    """Record the moves of these successive plans, and the time they save.

    A turn that was cut in two counts as one move, as in the whole plan.
    """
    job.record.moves = " ".join(merge_moves([move for part in parts for move in part.moves]))
    job.record.planned_us = sum(part.duration_us for part in parts)
    job.record.orientation = parts[0].initial_orientation.name
    job.record.operations = list(operations_of(parts))
    job.record.greedy_us = await job.run_blocking("search", machine.planner.greedy_us, parts)


def _turning(job: Job, *, faster: bool = False) -> JobStep:
    """Return the step with the record's figures. ``faster``: a faster tail was found."""
    seconds = f"{(job.record.planned_us or 0) / 1e6:.1f}"
    if job.record.move_count == 1:
        return JobStep.of("turn-once", seconds=seconds)
    code = "turn-faster" if faster else "turn"
    return JobStep.of(code, moves=job.record.move_count, seconds=seconds)


async def _parts(
    job: Job, machine: Machine, plan: Plan, cube: AnyCube | None, *, again: bool
) -> SplitPlan | None:
    if cube is None or not machine.policy.improve_while_turning:
        return None
    return await job.run_blocking("split", machine.planner.split, cube, plan, again=again)


async def _turn_and_improve(
    job: Job,
    machine: Machine,
    parts: SplitPlan,
    aim: Aim,
    progress: Callable[[float], None],
) -> tuple[int, Plan]:
    """Perform the head while searching for a faster tail; return its microseconds and the tail."""
    enough = threading.Event()

    def advance(fraction: float) -> None:
        progress(fraction)
        if fraction >= ENOUGH:
            enough.set()

    search = asyncio.create_task(asyncio.to_thread(machine.planner.improve, parts, enough, aim))
    head = parts.head.schedule()
    try:
        took_us = await job.run_blocking("turn", machine.motion.perform, head, advance)
    finally:
        enough.set()
        await asyncio.wait({search})
    return took_us, search.result()


def _progress(job: Job, parts: Sequence[Plan], current: int) -> Callable[[float], None]:
    """Convert progress of the current part to progress of the whole plan, for the job."""
    before_us = sum(part.duration_us for part in parts[:current])
    total_us = max(1, sum(part.duration_us for part in parts))
    own_us = parts[current].duration_us
    return lambda fraction: job.advance((before_us + fraction * own_us) / total_us)


class TablePreparation:
    """Loads or makes the tables of a machine's scanner and planner. ``state`` is set meanwhile."""

    def __init__(self) -> None:
        self.state: Preparation | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancel = threading.Event()

    def start(self, machine: Machine) -> None:
        """Begin in the background."""
        self.state = _preparation(JobStep.of("load-tables"))
        self._task = asyncio.create_task(self._prepare(machine))

    async def finished(self) -> None:
        """Wait for the end."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def cancel(self) -> None:
        """Make the preparation end early."""
        self._cancel.set()

    async def _prepare(self, machine: Machine) -> None:
        loop = asyncio.get_running_loop()

        def report(progress: Progress) -> None:
            loop.call_soon_threadsafe(self._set, progress)

        try:
            await asyncio.to_thread(machine.scanner.prepare)
            await asyncio.to_thread(machine.planner.prepare, self._cancel, report)
            await asyncio.to_thread(give_back)
        except CubistError as error:
            if not self._cancel.is_set():
                log.warning("the tables of the search are not ready: %s", error)
        finally:
            self.state = None

    def _set(self, progress: Progress) -> None:
        if self.state is None or self.state.step != progress.text:
            log.info("%s", progress.text)
        step = JobStep.of("make-tables", progress.text)
        self.state = _preparation(step, progress.done, progress.remaining_s)


def _preparation(
    step: JobStep, progress: float | None = None, remaining_s: float | None = None
) -> Preparation:
    known = {"step": step, "progress": progress, "remaining_s": remaining_s}
    return Preparation.model_validate(known | coded(step))
