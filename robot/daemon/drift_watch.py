"""The robot's drift since its calibration, tracked from job to job."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from datetime import date

from robot.api.models import DriftReport
from robot.calibration.drift import (
    Correction,
    DriftRecord,
    DriftStore,
    values_of,
)
from robot.calibration.sighting import PoseDeviation, sightings
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration, apply
from robot.daemon.job import Job
from robot.settings import RobotProfile
from robot.text.messages import Note
from robot.text.outcomes import Outcome
from solver.errors import CubistError
from solver.files import JsonMapping

log = logging.getLogger("cubistd")

IN_ORDER = frozenset({Outcome.SOLVED, Outcome.ALREADY_SOLVED, Outcome.DONE})
"""Outcomes of a job after which the robot may adjust itself."""


Adjust = Callable[[JsonMapping], Awaitable[None]]
"""Callback that puts calibrated values in force between jobs; see :meth:`Maintenance.adjust`."""


class DriftWatch:
    """Estimates the drift of one robot, and corrects it if ``policy.self_adjust`` is set.

    Call all methods in the event loop's thread. ``profile``: the robot's, without calibration.
    """

    def __init__(
        self,
        profile: RobotProfile,
        calibrations: CalibrationStore,
        store: DriftStore,
        adjust: Adjust,
        today: Callable[[], date] = date.today,
    ) -> None:
        self._profile = profile
        self._calibrations = calibrations
        self._store = store
        self._adjust = adjust
        self._today = today
        self._record: DriftRecord | None = None

    @property
    def notes(self) -> list[Note]:
        """Return warnings about positions that have moved too far."""
        return [] if self._record is None else list(self._record.notes())

    @property
    def estimates(self) -> list[DriftReport]:
        """Return the movements that the pictures show well enough, less the camera's own."""
        if self._record is None:
            return []
        parts = {one: self._record.camera_part(one) for one in self._record.positions}
        return [
            DriftReport(
                actuator=one.actuator,
                position=one.position,
                since=one.since,
                solves=one.solves,
                degrees=round(one.moved_degrees - part, 2),
                corrected_degrees=round(one.corrected, 2),
            )
            for one, part in parts.items()
            if one.is_known and part is not None
        ]

    async def begin(self) -> None:
        """Load the record of earlier runs; do nothing without a usable calibration."""
        with contextlib.suppress(BadCalibration):
            _, self._record = await asyncio.to_thread(self._load)

    async def follow(self, job: Job) -> bool:
        """Update the record with the pictures of a job. Return whether the robot was adjusted.

        The job is finished. A failure here changes neither the robot nor the job's outcome.
        """
        looks, job.looks = job.looks, []
        try:
            profile, record = await asyncio.to_thread(self._load)
            self._record = record
            if not looks:
                return False
            seen = await asyncio.to_thread(sightings, profile, looks)
            self._record = await asyncio.to_thread(self._save_sightings, record, seen)
            may_adjust = profile.policy.self_adjust and job.record.outcome in IN_ORDER
            if may_adjust and await self._adjust_to(job, profile, self._record):
                return True
            await job.add_notes(self.notes)
        except CubistError as error:
            log.warning("run %s: the robot's drift was not tracked: %s", job.record.id, error)
        except Exception:
            log.exception("run %s: the robot's drift was not tracked", job.record.id)
        return False

    async def _adjust_to(self, job: Job, profile: RobotProfile, record: DriftRecord) -> bool:
        """Correct all positions that have moved, or none. Return whether it did."""
        found = record.correction(profile, self._today())
        if found is None:
            return False
        after, correction = found
        await self._adjust(values_of(correction))
        self._record = after
        told = _correction_note(correction, record)
        log.info("run %s: %s", job.record.id, told)
        await job.add_notes([told, *self.notes])
        try:
            await asyncio.to_thread(self._store.save, after)
        except CubistError as error:  # the robot is adjusted anyway
            log.warning("run %s: the correction was not recorded: %s", job.record.id, error)
        return True

    def _load(self) -> tuple[RobotProfile, DriftRecord]:
        calibrated = apply(self._profile, self._calibrations.load(self._profile))
        return calibrated, self._store.load(calibrated, self._today())

    def _save_sightings(self, record: DriftRecord, seen: list[PoseDeviation]) -> DriftRecord:
        after = record.add_solve(seen)
        if after is not record:
            self._store.save(after)
        return after


def _correction_note(correction: Correction, before: DriftRecord) -> Note:
    pulses = ", ".join(
        f"{position} {was} -> {correction.after_us[position]} us"
        for position, was in correction.before_us.items()
    )
    return Note.of(
        "adjusted",
        actuator=correction.actuator,
        degrees=f"{abs(correction.degrees):.1f}",
        since=before.corrections[-1].at if before.corrections else before.since,
        pulses=pulses,
    )
