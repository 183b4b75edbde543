"""One job: its record, its stop flag and its timed steps in threads."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

from robot.api.endpoints import RobotState
from robot.api.models import JobStatus
from robot.calibration.learned_colours import Lesson
from robot.calibration.sighting import ScanSample
from robot.computer.memory import release_library_pages
from robot.daemon.live import JpegCache, LiveBoard
from robot.link.group import complaints
from robot.machine.scanner import as_jpeg
from robot.records.run_record import LinkRecord, RunEvent, RunRecord, notes_of
from robot.records.runs import EXPLANATION_NAME, RunWriter
from robot.records.storage import StorageError
from robot.text.faults import Stopped
from robot.text.messages import JobStep, Note, coded
from robot.text.outcomes import Outcome
from solver.solution import Progress
from vision.frame import Frame

log = logging.getLogger("cubistd")

P = ParamSpec("P")
T = TypeVar("T")

Report = Callable[[RobotState, str], None]

TOLD_EVERY = 0.1
"""Fraction of a step after which its progress is published again."""

LEAST_PRIORITY = 10
"""Niceness of a thread that nobody waits for."""

ENOUGH_TO_ESTIMATE = 0.02
"""Fraction of a motion that must be done before its remaining time is estimated."""


class Job:
    """The job under way: its record, its stop flag, and the progress of its steps.

    The job calls ``report`` with each state and step, and ``progressed`` with each tenth of a step,
    both in the event loop's thread. ``before``: the link's statistics at its start. ``live`` and
    ``pictures`` show it to viewers.

    ``cancel``, the flag of its run of motion, stops the job; steps in threads watch it.
    ``explanation`` draws how the cube was read, at the end, when nobody waits. ``looks``: the
    pictures of the last scan from which the drift of the robot's table can be measured. ``lesson``:
    its images and the cube read from them. ``is_proven``: the turns planned for that cube solved
    it.
    """

    def __init__(
        self,
        writer: RunWriter,
        report: Report,
        before: LinkRecord,
        clock: Callable[[], float] = time.monotonic,
        progressed: Callable[[float], None] = lambda _: None,
        live: LiveBoard | None = None,
        pictures: JpegCache | None = None,
    ) -> None:
        self.live = live or LiveBoard(lambda *_, **__: None)
        self.pictures = pictures or JpegCache()
        self.writer = writer
        self.cancel = threading.Event()
        self.step: str = JobStep.of("start")
        self.progress: float | None = None
        self.remaining_s: float | None = None
        self._motion_began: tuple[float, float] | None = None
        self._heard_at = 0.0
        self._interrupted: str | None = None
        self.explanation: Callable[[], bytes] | None = None
        self.looks: list[ScanSample] = []
        self.lesson: Lesson | None = None
        self.is_proven = False
        self._report = report
        self._progressed = progressed
        self._told = 0.0
        self._clock = clock
        self._started = clock()
        self._before = before
        self._loop = asyncio.get_running_loop()
        self._writing = asyncio.Lock()
        self._saving: set[asyncio.Task[None]] = set()
        self._pictures_named: Counter[RobotState] = Counter()

    @property
    def record(self) -> RunRecord:
        """Return the record, which changes as the job goes on."""
        return self.writer.record

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the start."""
        return self._clock() - self._started

    @property
    def motion_left_s(self) -> float | None:
        """Seconds to the end of the motion under way, at its pace so far; None while unknown."""
        if self.remaining_s is None or self._motion_began is None:
            return None
        return self.remaining_s - (self._clock() - self._heard_at)

    def status(self) -> JobStatus:
        """Return the job's status."""
        document = {
            "run": self.record.id,
            "kind": self.record.kind,
            "step": self.step,
            "elapsed_s": round(self.elapsed_s, 3),
            "progress": self.progress,
            "remaining_s": self.remaining_s,
        }
        return JobStatus.model_validate(document | coded(self.step))

    def enter(self, state: RobotState, step: str) -> None:
        """Enter a state and report its step. Raise ``Stopped`` once the job is stopped.

        Release the memory that the previous stage has mapped for libraries.
        """
        self.check()
        if state is not RobotState.TURNING:  # turning begins without delay
            release_library_pages()
        self._note(state, step)

    def _note(self, state: RobotState, step: str) -> None:
        self.step, self.progress, self._told = step, None, 0.0
        self.remaining_s = self._motion_began = None
        self.record.events.append(
            RunEvent.model_validate({"at_s": round(self.elapsed_s, 3), "text": step, **coded(step)})
        )
        self._report(state, step)

    def hear(self, progress: Progress) -> None:
        """Report that the search waits for tables, and their progress. Called on any thread."""
        if progress.making:
            self._loop.call_soon_threadsafe(self._hear, progress)

    def _hear(self, progress: Progress) -> None:
        if self.cancel.is_set():  # an emergency stop may have ended the state already
            return
        if progress.done == 1.0:
            if self._interrupted is not None:
                self._note(RobotState.SOLVING, self._interrupted)
            self._interrupted = None
            return
        if progress.text != self.step:
            self._interrupted = self._interrupted or self.step
            self._note(RobotState.SOLVING, JobStep.of("make-tables", progress.text))
        self.progress, self.remaining_s = progress.done, progress.remaining_s

    def check(self) -> None:
        """Raise ``Stopped`` once the job is stopped."""
        if self.cancel.is_set():
            raise Stopped

    async def run_blocking(
        self, timing: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a blocking function in a thread, and add its seconds to ``timings_s[timing]``."""
        self.check()
        begun = self._clock()
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        finally:
            timings = self.record.timings_s
            timings[timing] = round(timings.get(timing, 0.0) + self._clock() - begun, 6)

    def note_link_statistics(self, now: LinkRecord) -> None:
        """Put the link's statistics since the start into the record, with warnings about them."""
        self.record.link = now - self._before
        self.warn(complaints(self.record.link))

    def warn(self, texts: Iterable[Note]) -> None:
        """Put warnings into the record, each once."""
        new = [text for text in texts if text not in self.record.warnings]
        self.record.warnings += new
        self.record.notes += notes_of(new)
        for text in new:
            log.warning("run %s: %s", self.record.id, text)

    async def add_notes(self, texts: Sequence[Note]) -> None:
        """Put warnings into the finished job's record."""
        if texts:
            self.record.warnings += texts
            self.record.notes += notes_of(texts)
            await self._keep(self.writer.save)

    def note_end(self, outcome: Outcome) -> None:
        """Note the outcome, and the duration without the time that the disk then takes."""
        self._note_duration()
        self.record.outcome = outcome

    def _note_duration(self) -> None:
        self.record.duration_s = round(self.elapsed_s, 3)

    async def save(self) -> None:
        """Write the record."""
        if self.record.outcome is None:
            self._note_duration()
        await self._keep(self.writer.save)

    def save_meanwhile(self) -> None:
        """Write the record while the job goes on: the robot does not wait for the disk."""
        self._meanwhile(self.save())

    def _meanwhile(self, saving: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(saving)
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def finish(self) -> None:
        """Write the finished job's record, then draw how the cube was read.

        The outcome comes first: the drawing is large, and the disk may be full.
        """
        # An unexpected failure there occurs again here.
        await asyncio.gather(*self._saving, return_exceptions=True)
        await self._keep(self.writer.finish)
        drawn = len(self.record.photos)
        await self.save_explanation()
        if len(self.record.photos) > drawn:
            await self._keep(self.writer.save)

    def name_picture(self, phase: RobotState, face: str) -> str:
        """Return the file name of the next picture of a face, with a number.

        The numbers increase over all scans of a phase, so that no scan overwrites another one.
        """
        self._pictures_named[phase] += 1
        return f"{phase}-{self._pictures_named[phase]}-{face}.jpg"

    async def save_photo(self, names: Sequence[str], frame: Frame) -> int:
        """Save a picture with the record as JPEG, once for each name, while the job goes on.

        Return its number among the pictures that viewers see.
        """
        encoded = await asyncio.to_thread(as_jpeg, frame)
        number = self.pictures.show(frame.camera, encoded)
        for name in names:
            self._meanwhile(self._keep(self.writer.save_photo, name, encoded))
        return number

    async def add_photo(self, name: str, encoded: bytes) -> bool:
        """Add a picture to the finished job's record. Return whether it was saved."""
        await self._keep(self.writer.save_photo, name, encoded)
        if name not in self.record.photos:
            return False
        await self._keep(self.writer.save)
        return True

    async def save_explanation(self) -> None:
        """Draw how the cube was read, if it was, and save the drawing."""
        # It holds the pictures, whose memory is released before the job is.
        drawing, self.explanation = self.explanation, None
        if drawing is None:
            return
        try:
            drawn = await run_in_own_thread(drawing)
            await self._keep(self.writer.save_photo, EXPLANATION_NAME, drawn)
        except Exception:
            # The outcome of the job does not depend on the drawing.
            log.exception("run %s: the reading could not be drawn", self.record.id)

    async def _keep(self, function: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Save, one call at a time. If the disk fails, the job goes on."""
        try:
            async with self._writing:
                await asyncio.to_thread(function, *args, **kwargs)
        except StorageError as error:
            log.warning("not recorded: %s", error)

    def advance(self, fraction: float) -> None:
        """Note the progress of the current step, 0..1. Called on any thread."""
        self._loop.call_soon_threadsafe(self._set_progress, fraction)

    def advance_view(self, fraction: float) -> None:
        """Note the progress of a motion that is only a part of the step. Called on any thread."""
        self._loop.call_soon_threadsafe(self.live.advance, fraction)

    def _set_progress(self, fraction: float) -> None:
        self.progress = min(max(fraction, 0.0), 1.0)
        self.remaining_s = self._estimated_remaining_s(self.progress)
        self._heard_at = self._clock()
        self.live.advance(self.progress)
        if self.progress >= self._told + TOLD_EVERY:
            self._told = TOLD_EVERY * int(self.progress / TOLD_EVERY)
            self._progressed(self.progress)

    def _estimated_remaining_s(self, progress: float) -> float | None:
        """Return the seconds left at the motion's pace so far; None at its beginning.

        They are seconds of this computer's clock; a simulated robot's clock may run faster.
        """
        now = self._clock()
        if self._motion_began is None:
            self._motion_began = (now, progress)
        began_s, began_at = self._motion_began
        if progress - began_at < ENOUGH_TO_ESTIMATE:
            return None
        return (now - began_s) * (1.0 - progress) / (progress - began_at)


async def run_in_own_thread(function: Callable[[], T]) -> T:
    """Run a function at once, in a thread that ends with it.

    Use it for a stop, which must not queue behind searches and a slow disk in the loop's thread
    pool, and for drawing, because OpenCV keeps 6 MB for every thread that has drawn.
    """
    pool = ThreadPoolExecutor(1, "own")
    try:
        return await asyncio.get_running_loop().run_in_executor(pool, function)
    finally:
        pool.shutdown(wait=False)


async def run_behind_others(function: Callable[[], T]) -> T:
    """Run a function that nobody waits for, in a thread of its own with low priority."""

    def run() -> T:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LEAST_PRIORITY)
        return function()

    return await run_in_own_thread(run)
