"""The robot's colours, learned from job to job."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import date

from robot.calibration.learned_colours import learn_colours
from robot.calibration.store import CalibrationStore
from robot.calibration.values import apply
from robot.daemon.job import Job
from robot.machine.scanner import COLOURS_KEY
from robot.settings import RobotProfile
from robot.text.outcomes import Outcome
from solver.errors import CubistError
from solver.files import JsonMapping

log = logging.getLogger("cubistd")

Keep = Callable[[JsonMapping], Awaitable[None]]
"""Callback that stores calibrated colours for the scanner to use; see :meth:`Maintenance.learn`."""


class ColourWatch:
    """Learns the colours of one robot if ``policy.learn_colours`` is set.

    ``profile``: the robot's profile without its calibration.
    """

    def __init__(
        self,
        profile: RobotProfile,
        calibrations: CalibrationStore,
        keep: Keep,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._profile = profile
        self._calibrations = calibrations
        self._keep = keep
        self._today = today

    async def follow(self, job: Job) -> None:
        """Learn from a finished job. A failure here does not change its outcome.

        Use only jobs whose check found the cube solved by the turns of the first plan, since this
        proves that the scan read the right cube.
        """
        lesson, job.lesson = job.lesson, None
        solved = job.record.outcome is Outcome.SOLVED and job.is_proven
        if lesson is None or not solved or not self._profile.policy.learn_colours:
            return
        try:
            calibration = await asyncio.to_thread(self._calibrations.load, self._profile)
            profile = apply(self._profile, calibration)
            learned = await asyncio.to_thread(learn_colours, profile, lesson, self._today())
            if learned is None:
                log.info("run %s: nothing learned about the colours", job.record.id)
                return
            await self._keep({COLOURS_KEY: learned.model_dump(mode="json")})
        except CubistError as error:
            log.warning("run %s: cannot learn the colours: %s", job.record.id, error)
        except Exception:
            log.exception("run %s: cannot learn the colours", job.record.id)
