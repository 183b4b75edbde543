"""Pictures of the turning robot: live for viewers, and gathered for the time-lapse of the run.

The camera belongs to the job, which takes no pictures between the first turn and the end of the
plan. Meanwhile a picture may be taken for viewers if it is certain to be finished before the job's
next one: the motion must last longer, at its pace so far, than :attr:`JpegCache.margin_s`. While
the robot homes, scans or searches, viewers see the pictures that the job takes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from robot.daemon.job import Job, run_behind_others
from robot.daemon.live import JpegCache
from robot.machine.assembly import Machine
from robot.records.runs import TIME_LAPSE_NAME
from robot.records.time_lapse import TimeLapse
from solver.errors import CubistError

log = logging.getLogger("cubistd")


class JobVideo:
    """The pictures of one job. Use it in the event loop's thread only.

    ``is_turning`` returns whether the robot is performing the turns of a plan.
    """

    def __init__(
        self, job: Job, machine: Machine, pictures: JpegCache, is_turning: Callable[[], bool]
    ) -> None:
        self._job = job
        self._machine = machine
        self._pictures = pictures
        self._is_turning = is_turning
        self._has_failed = False
        self._added = 0
        self._camera = _first_camera(machine)
        wanted = machine.policy.time_lapse and self._camera is not None
        self._lapse = TimeLapse() if wanted else None

    @property
    def is_camera_free(self) -> bool:
        """True while the turns last long enough that a picture does not delay the job's next."""
        left_s = self._job.motion_left_s
        if self._has_failed or left_s is None or not self._is_turning():
            return False
        return left_s > self._pictures.margin_s

    async def take(self, camera: str) -> None:
        """Take a picture, which :meth:`JpegCache.latest` then returns, if the camera is free.

        After a failure, take none for the rest of the job: the job's own pictures come first.
        """
        take = partial(self._machine.scanner.preview, camera)
        try:
            await self._pictures.fresh_while(camera, take, lambda: self.is_camera_free)
        except CubistError as error:
            self._has_failed = True
            log.warning("run %s: no more video: %s", self._job.record.id, error)
        except Exception:
            # If a picture for viewers fails, the job goes on.
            self._has_failed = True
            log.exception("run %s: no more video", self._job.record.id)

    @asynccontextmanager
    async def gathering(self) -> AsyncIterator[None]:
        """Gather pictures for the time-lapse, if the policy wants one, while the context lasts."""
        if self._lapse is None:
            yield
            return
        self._added = self._number_shown()
        task = asyncio.create_task(self._gather(self._lapse), name="time-lapse")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._add(self._lapse)  # the last picture, after which the job ended at once

    async def _gather(self, lapse: TimeLapse) -> None:
        while True:
            if self.is_camera_free and self._camera is not None:
                await self.take(self._camera)
            await self._add(lapse)
            await asyncio.sleep(lapse.interval_s)

    async def _add(self, lapse: TimeLapse) -> None:
        """Add the first camera's picture if it is a new one.

        Leave out other cameras: a time-lapse that changes its point of view flickers.
        """
        shown = self._pictures.latest(self._camera)
        if shown is None or shown.number == self._added:
            return
        self._added = shown.number
        taken_s = self._job.elapsed_s - self._pictures.age_s(shown)
        try:
            await asyncio.to_thread(lapse.add, taken_s, shown.jpeg)
        except Exception:
            # If a picture fails, the job ends as it would without a time-lapse.
            log.exception("run %s: a picture is missing in the time-lapse", self._job.record.id)

    def _number_shown(self) -> int:
        shown = self._pictures.latest(self._camera)
        return 0 if shown is None else shown.number

    async def save_time_lapse(self) -> bool:
        """Add the time-lapse to the finished job's record. Return whether it has one."""
        lapse, self._lapse = self._lapse, None
        if lapse is None:
            return False
        try:
            animation = await run_behind_others(lapse.animate)
        except Exception:
            # The outcome of the job does not depend on its time-lapse.
            log.exception("run %s: the time-lapse could not be created", self._job.record.id)
            return False
        return bool(animation) and await self._job.add_photo(TIME_LAPSE_NAME, animation)


def _first_camera(machine: Machine) -> str | None:
    try:
        return machine.scanner.camera_named(None)
    except CubistError:
        return None
