"""The scan: a tour that takes pictures of the cube's faces, repeated for faces left in doubt.

Before the robot moves on, the scan checks that nothing but the cube is in view. While a hand is in
view, or no cube, the robot stays where it is and waits for a clear view.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby

from robot.api.endpoints import RobotState
from robot.calibration.learned_colours import Lesson
from robot.calibration.sighting import ScanSample
from robot.daemon.job import Job
from robot.machine.assembly import Machine
from robot.machine.scanner import FaceImage, scan_error
from robot.planner import FaceView, ScanStep, State
from robot.records.run_record import notes_of
from robot.text.faults import RobotError, ScanError
from robot.text.messages import JobStep, Note
from solver.cube.cube import AnyCube
from solver.errors import CubistError
from solver.files import JsonObject
from vision.decide.reader import CubeReading

UNSURE = "the colours leave more than one possible cube"

TELLING_FACES = 5
"""Number of faces that determine most cubes. The scan does not end early with fewer."""

LOOK_EVERY_S = 0.25
"""Pause between two pictures while the robot waits for a clear view."""

CLEAR_LOOKS = 2
"""Number of clear pictures required in a row, so that a hand has time to leave."""

WAITING = {
    "no-cube": "wait-for-cube",
    "two-cubes": "wait-for-one-cube",
    "wrong-size": "wait-for-right-size",
    "face-covered": "wait-for-hand",
    "reflection": "wait-for-shade",
    "too-bright": "wait-for-light",
    "too-dark": "wait-for-light",
    "blurred": "wait-for-focus",
    "cut-off": "wait-for-cube",
}
"""The step in which the robot waits for a clear view, by the trouble in view."""


async def scan(
    job: Job, machine: Machine, phase: RobotState, state: State | None
) -> tuple[AnyCube, State | None]:
    """Scan and read the cube, repeating if in doubt. Return it and the robot's state afterwards.

    Raise ``ScanError`` if that fails. It names what is in view if the view did not clear in time.
    """
    scanned = _Scan(job, machine, phase, state)
    if phase is RobotState.SCANNING:
        job.lesson, job.is_proven = None, False
    reading = await scanned.run()
    if phase is RobotState.SCANNING:
        job.lesson = Lesson.from_images(reading.facelets, scanned.images)
        job.record.facelets = reading.facelets
        job.record.reading = _facts(reading)
    job.live.read(reading.facelets)
    job.save_meanwhile()
    return reading.cube, scanned.state


class _Scan:
    """One scan of the cube: the ``images`` taken, and the mechanism's ``state`` after each motion.

    ``phase``: the scan before the search, or the check after the turns. Background tasks check the
    pictures, then encode and write them while the robot moves on.
    """

    def __init__(self, job: Job, machine: Machine, phase: RobotState, state: State | None) -> None:
        self.state = state
        self._job = job
        self._machine = machine
        self._phase = phase
        self._is_check = phase is not RobotState.SCANNING
        self._timing = "check" if self._is_check else "scan"
        self.images: list[FaceImage] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> CubeReading:
        """Take pictures of the faces and read them, repeating until the cube is certain."""
        job, policy = self._job, self._machine.policy
        faces: str | None = None
        retries, patience_s = policy.scan_retries, policy.wait_for_clear_view_s
        while True:
            try:
                async with self._background_tasks():
                    await self._look_at(faces)
                    reading = await self._read()
            except ScanError as error:
                if error.looks:
                    job.live.forget_cube(self._machine.size)  # they may be a hand's colours
                    patience_s -= await self._wait_for_clear_view(error, patience_s)
                elif not retries:
                    raise
                else:
                    retries -= 1
                # A person may have moved the cube.
                _look_again(job, error)
                faces, self.images = None, []
                continue
            if reading.confident:
                return reading
            if not retries:
                if reading.flaw is not None:
                    raise scan_error(reading.flaw, reading.look_again or "")
                raise ScanError(reading.reason or UNSURE, reading.look_again or "")
            retries -= 1
            faces = reading.look_again
            code = "looked-again-at" if faces else "looked-again-unsure"
            note_recovery(job, Note.of(code, faces=faces))

    @asynccontextmanager
    async def _background_tasks(self) -> AsyncIterator[None]:
        """Wait for all background tasks before the context ends.

        An error of a task takes precedence: a hand in view explains more than an unreadable cube.
        """
        self._tasks = []
        try:
            yield
        finally:
            if self._tasks:
                await asyncio.wait(self._tasks)
            for task in self._tasks:
                task.result()

    async def _look_at(self, faces: str | None) -> None:
        """Perform a tour that shows these faces (default: all), and take their pictures."""
        job, scanner = self._job, self._machine.scanner
        if not self._is_check:
            job.looks = []
        job.enter(self._phase, JobStep.of("plan-looks"))
        tour = await job.run_blocking(self._timing, self._machine.planner.scan, self.state, faces)
        count = sum(len(step.looks) for step in tour.steps)
        seen = 0
        for number, step in enumerate(tour.steps):
            before, seen = seen, seen + len(step.looks)
            named = ", ".join(view.face for view in step.looks)
            job.enter(self._phase, JobStep.of("look", faces=named, seen=seen, count=count))
            job.progress = before / count
            await self._move_to(step)
            if self._tasks:
                # At most two full-size pictures stay in memory.
                await asyncio.wait(self._tasks)
            if number == 0:
                job.warn(await job.run_blocking(self._timing, scanner.settle))
            taken = await job.run_blocking(self._timing, scanner.take, step.looks, moved=step.moves)
            earlier = list(self.images)
            self.images += await self._reduce(taken, step, is_placed=number > 0)
            view = asyncio.create_task(self._check_view(step.looks, taken, earlier))
            self._tasks.append(view)
            if seen < count:
                # Before the robot moves again: a hand may be in view, or no cube.
                await asyncio.wait({view})
            # The robot moves on while these pictures are encoded and written, but not while they
            # are checked: both at once would need the memory of both.
            self._tasks.append(asyncio.create_task(self._show(step.looks, taken)))
            if view.done():
                view.result()
            if seen < count and await self._may_end_early():
                return
        self.state = tour.end

    async def _move_to(self, step: ScanStep) -> None:
        if step.moves:
            job, schedule = self._job, step.plan.schedule()
            job.live.move("look", [step.plan])
            perform = self._machine.motion.perform
            await job.run_blocking(self._timing, perform, schedule, job.advance_view)
            job.live.arrive(step.plan, None)
        self.state = step.plan.end

    async def _reduce(
        self, taken: Sequence[FaceImage], step: ScanStep, *, is_placed: bool
    ) -> list[FaceImage]:
        """Return the images with reduced pictures, and note them for the drift watch.

        A person may have inserted the cube askew. It ``is_placed`` once the robot has moved it;
        only then are images noted.
        """
        images = await asyncio.to_thread(lambda: [image.reduce() for image in taken])
        if is_placed and not self._is_check:
            at = step.plan.final_positions
            seen = zip(images, step.looks, strict=True)
            self._job.looks += [ScanSample(image, view.site, at) for image, view in seen]
        return images

    async def _may_end_early(self) -> bool:
        """Return whether the policy lets the scan end early and the images allow only one cube."""
        if self._is_check or not self._machine.policy.end_scan_early:
            return False
        if len({image.face for image in self.images}) < TELLING_FACES:
            return False
        try:
            read = self._machine.scanner.read
            return (await self._job.run_blocking("read", read, self.images)).confident
        except (ScanError, RobotError):
            return False

    async def _read(self) -> CubeReading:
        """Read the cube. Keep a drawing of the reading, or of its failure, for the record."""
        job, scanner = self._job, self._machine.scanner
        try:
            reading = await job.run_blocking("read", scanner.read, self.images)
        except CubistError:
            job.looks = []
            job.explanation = scanner.take_explanation()
            raise
        drawing = scanner.take_explanation()
        if not (self._is_check and reading.confident):
            job.explanation = drawing
        return reading

    async def _wait_for_clear_view(self, view: ScanError, limit_s: float) -> float:
        """Take pictures without moving until the view is clear. Return the seconds it took.

        After ``limit_s``, raise the ``ScanError`` that names what is in view then.
        """
        job, scanner = self._job, self._machine.scanner
        began = job.elapsed_s
        found, clear = view, 0
        while clear < CLEAR_LOOKS:
            if job.elapsed_s - began >= limit_s:
                raise found
            step = JobStep.of(WAITING[found.code])
            if job.step != step:
                job.enter(self._phase, step)
            await asyncio.sleep(LOOK_EVERY_S)
            try:  # where a camera's faces are searched for, take() already fails if none is found
                taken = await job.run_blocking("wait", scanner.take, view.looks, moved=True)
                await job.run_blocking("wait", scanner.check_view, taken)
                clear += 1
            except ScanError as error:
                found, clear = error, 0
        return job.elapsed_s - began

    async def _check_view(
        self, looks: Sequence[FaceView], taken: Sequence[FaceImage], before: Sequence[FaceImage]
    ) -> None:
        """Raise ``ScanError`` with these ``looks`` if a picture shows anything but the cube.

        ``before``: the images taken before these.
        """
        try:
            await self._job.run_blocking("view", self._machine.scanner.check_view, taken, before)
        except ScanError as found:
            found.looks = looks
            raise

    async def _show(self, looks: Sequence[FaceView], taken: Sequence[FaceImage]) -> None:
        """Show pictures to viewers, and save them with the record."""
        for frame, shown in groupby(zip(looks, taken, strict=True), lambda look: look[1].frame):
            of_frame = list(shown)
            names = [self._job.name_picture(self._phase, view.face) for view, _ in of_frame]
            for name, (_, image) in zip(names, of_frame, strict=True):
                self._job.record.corners[name] = image.corners
            number = await self._job.save_photo(names, frame)
            for view, image in of_frame:
                self._job.live.look(view, image, number)


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


def note_recovery(job: Job, text: Note) -> None:
    """Record a recovery, unless it repeats the last one."""
    if job.record.recoveries[-1:] != [text]:
        job.record.recoveries.append(text)
        job.record.notes += notes_of([text])
