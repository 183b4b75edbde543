"""The scan: a tour of looks at the cube, with repeats of those that left doubt.

Before the robot moves on from a look it has checked that nothing but the cube is in view. While a
hand is, or no cube, it stays where it is and waits for a clear view.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby

from robot.api.endpoints import RobotState
from robot.calibration.sighting import ScanSample
from robot.daemon.job import Job
from robot.machine.assembly import Machine
from robot.machine.scanner import FaceImage
from robot.planner import FaceView, ScanStep, State
from robot.records.runs import notes_of
from robot.text.faults import RobotError, ScanError
from robot.text.notes import Note
from robot.text.steps import JobStep
from solver.errors import CubistError
from solver.files import JsonObject
from solver.search import AnyCube
from vision.decide.reader import CubeReading

UNSURE = "the colours leave more than one possible cube"

TELLING_FACES = 5
"""Number of faces that determine most cubes; with fewer the reader is not asked."""

LOOK_EVERY_S = 0.25
"""Pause between two looks of a robot that waits for a clear view."""

CLEAR_LOOKS = 2
"""Number of looks in a row that must be clear, so that a hand has time to leave."""

WAITING = {
    "no-cube": "wait-for-cube",
    "two-cubes": "wait-for-one-cube",
    "wrong-size": "wait-for-right-size",
    "face-covered": "wait-for-hand",
}
"""The step in which the robot waits for the end of what is in view."""


class _ViewNotClear(Exception):
    """An object other than the cube is in view of these looks; ``found`` names it."""

    def __init__(self, looks: Sequence[FaceView], found: ScanError) -> None:
        super().__init__(str(found))
        self.looks = looks
        self.found = found


@dataclass
class _Held:
    """The mechanism's state, kept while it moves from view to view (None: as homed)."""

    state: State | None


async def scan(
    job: Job, machine: Machine, phase: RobotState, state: State | None
) -> tuple[AnyCube, State | None]:
    """Scan and read the cube, with repeats in doubt. Return it and the robot's state after it.

    Raises ``ScanError``, with what is in view instead of the cube if that did not end in time.
    """
    images: list[FaceImage] = []
    held = _Held(state)
    wanted: str | None = None
    retries, patience_s = machine.policy.scan_retries, machine.policy.wait_for_clear_view_s
    while True:
        try:
            async with _meanwhile() as meanwhile:
                await _look_around(job, machine, phase, held, wanted, images, meanwhile)
                reading = await _read(job, machine, phase, images)
        except _ViewNotClear as view:
            job.live.forget_cube(machine.size)  # nobody is shown a hand's colours as stickers
            patience_s -= await _wait_for_clear_view(job, machine, phase, view, patience_s)
            # Whoever was there may have moved the cube.
            _look_again(job, view.found)
            wanted, images = None, []
            continue
        except ScanError as error:
            if not retries:
                raise
            retries -= 1
            _look_again(job, error)
            wanted, images = None, []
            continue
        if reading.confident:
            break
        if not retries:
            raise ScanError(UNSURE, reading.look_again or "")
        retries -= 1
        wanted = reading.look_again
        code = "looked-again-at" if wanted else "looked-again-unsure"
        note_recovery(job, Note.of(code, faces=wanted))
    if phase is RobotState.SCANNING:
        job.record.facelets = reading.facelets
        job.record.reading = _facts(reading)
    job.live.read(reading.facelets)
    job.save_meanwhile()
    return reading.cube, held.state


async def _wait_for_clear_view(
    job: Job, machine: Machine, phase: RobotState, view: _ViewNotClear, limit_s: float
) -> float:
    """Look again without moving until the view is clear. Return the seconds that took.

    Raises the ``ScanError`` that says what is in view at the end of the time.
    """
    began = job.elapsed_s
    found, clear = view.found, 0
    while clear < CLEAR_LOOKS:
        if job.elapsed_s - began >= limit_s:
            raise found
        step = JobStep.of(WAITING[found.code])
        if job.step != step:
            job.enter(phase, step)
        await asyncio.sleep(LOOK_EVERY_S)
        try:  # a camera that finds the faces itself says already here that there are none
            taken = await job.run_blocking("wait", machine.scanner.take, view.looks, moved=True)
            await job.run_blocking("wait", machine.scanner.check_view, taken)
            clear += 1
        except ScanError as error:
            found, clear = error, 0
    return job.elapsed_s - began


def _look_again(job: Job, error: ScanError) -> None:
    note_recovery(job, Note.of("looked-again", f"looked again: {error}", fault=error.code))


def _facts(reading: CubeReading) -> JsonObject:
    """Return the part of a reading that the record keeps."""
    return {
        "facelets": reading.facelets,
        "confident": reading.confident,
        "margin": round(reading.margin, 2),
        "doubtful": list(reading.doubtful),
        "runner_up": reading.runner_up,
    }


async def _read(
    job: Job, machine: Machine, phase: RobotState, images: Sequence[FaceImage]
) -> CubeReading:
    """Decide the cube. Keep a drawing of the reading, or of its failure, for the record."""
    try:
        reading = await job.run_blocking("read", machine.scanner.read, images)
    except CubistError:
        job.looks = []
        job.explanation = machine.scanner.take_explanation()
        raise
    drawing = machine.scanner.take_explanation()
    if phase is RobotState.SCANNING or not reading.confident:
        job.explanation = drawing
    return reading


@asynccontextmanager
async def _meanwhile() -> AsyncIterator[list[asyncio.Task[None]]]:
    """Tasks that end before the context does.

    What one of them found wrong comes before what the context did: a hand in view says more than
    that no cube could be read.
    """
    tasks: list[asyncio.Task[None]] = []
    try:
        yield tasks
    finally:
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            task.result()


async def _look_around(
    job: Job,
    machine: Machine,
    phase: RobotState,
    held: _Held,
    faces: str | None,
    images: list[FaceImage],
    meanwhile: list[asyncio.Task[None]],
) -> None:
    """Move through a tour, adding to ``images``.

    What need not be known before the robot moves on goes to ``meanwhile``.
    """
    timing = "scan" if phase is RobotState.SCANNING else "check"
    job.looks = [] if phase is RobotState.SCANNING else job.looks
    job.enter(phase, JobStep.of("plan-looks"))
    tour = await job.run_blocking(timing, machine.planner.scan, held.state, faces)
    count = sum(len(step.looks) for step in tour.steps)
    seen = 0
    for number, step in enumerate(tour.steps):
        before, seen = seen, seen + len(step.looks)
        faces_now = _faces(step.looks)
        job.enter(phase, JobStep.of("look", faces=faces_now, seen=seen, count=count))
        job.progress = before / count
        await _move_to(job, machine, step, timing)
        held.state = step.plan.end
        if meanwhile:
            # No more than two pictures are kept whole.
            await asyncio.wait(meanwhile)
        if number == 0:
            job.warn(await job.run_blocking(timing, machine.scanner.settle))
        taken = await job.run_blocking(timing, machine.scanner.take, step.looks, moved=step.moves)
        first = len(images) + 1
        kept = await asyncio.to_thread(_reduce_images, taken)
        images += kept
        if number > 0 and phase is RobotState.SCANNING:
            # A person may have put the cube in askew; now the robot itself has moved it.
            at = step.plan.final_positions
            seen_now = zip(kept, step.looks, strict=True)
            job.looks += [ScanSample(image, view.site, at) for image, view in seen_now]
        view = asyncio.create_task(_check_view(job, machine, step.looks, taken))
        meanwhile.append(view)
        if seen < count:
            # Before the robot moves again: what is there may be a hand, or no cube.
            await asyncio.wait({view})
        # The robot goes on to the next look while this one's pictures are encoded and written.
        # Both at once would take the memory of both.
        meanwhile.append(asyncio.create_task(_show(job, phase, step.looks, taken, first)))
        if view.done():
            view.result()
        early = phase is RobotState.SCANNING and seen < count and machine.policy.end_scan_early
        if early and await _is_known(job, machine, images):
            return
    held.state = tour.end


async def _check_view(
    job: Job, machine: Machine, looks: Sequence[FaceView], taken: Sequence[FaceImage]
) -> None:
    """Raise ``_ViewNotClear`` if a look shows something else than the cube."""
    try:
        await job.run_blocking("view", machine.scanner.check_view, taken)
    except ScanError as found:
        raise _ViewNotClear(looks, found) from found


def _reduce_images(images: Sequence[FaceImage]) -> list[FaceImage]:
    return [image.reduce() for image in images]


def _faces(looks: Sequence[FaceView]) -> str:
    return ", ".join(view.face for view in looks)


async def _move_to(job: Job, machine: Machine, step: ScanStep, timing: str) -> None:
    """Perform the motion that leads to a step's looks, if any."""
    if step.moves:
        schedule = step.plan.schedule()
        job.live.move("look", [step.plan])
        await job.run_blocking(timing, machine.motion.perform, schedule, job.advance_view)
        job.live.arrive(step.plan, None)


async def _show(
    job: Job,
    phase: RobotState,
    looks: Sequence[FaceView],
    taken: Sequence[FaceImage],
    first: int,
) -> None:
    """Show pictures to whoever watches, and put them, from this number on, into the record."""
    for frame, shown in groupby(zip(looks, taken, strict=True), lambda look: look[1].frame):
        of_frame = list(shown)
        names = [f"{phase}-{first + i}-{view.face}.jpg" for i, (view, _) in enumerate(of_frame)]
        first += len(names)
        number = await job.save_photo(names, frame)
        for view, image in of_frame:
            job.live.look(view, image, number)


async def _is_known(job: Job, machine: Machine, images: Sequence[FaceImage]) -> bool:
    """Return whether the faces seen leave only one cube."""
    seen = {image.face for image in images}
    if len(seen) < TELLING_FACES:
        return False
    try:
        return (await job.run_blocking("read", machine.scanner.read, images)).confident
    except (ScanError, RobotError):
        return False


def note_recovery(job: Job, text: Note) -> None:
    """Put a recovery into the record; the same one twice in a row is recorded once."""
    if job.record.recoveries[-1:] != [text]:
        job.record.recoveries.append(text)
        job.record.notes += notes_of([text])
