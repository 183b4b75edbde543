"""The owner's administration of the daemon: log, check-up, versions of the profile, restart.

None of it disturbs a job. A check-up takes processor time, so the daemon refuses it while the robot
works, and ends it when a job begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from robot.api.management import (
    CheckUp,
    CheckUpFinding,
    KeptProfile,
    LogLines,
    ProfileInForce,
    ProfileVerdict,
    ProfileVersionList,
)
from robot.api.models import WORKING
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration, apply
from robot.daemon.job_control import JobController
from robot.daemon.log_keeper import LogKeeper
from robot.records.profile_versions import ProfileVersion, ProfileVersions
from robot.settings import BadProfile, Complaint, RobotProfile
from robot.text.faults import Conflict
from robot.text.messages import Note
from solver.errors import CubistError
from solver.files import BadFile, parse_object

log = logging.getLogger("cubistd")

CHECK_UP_LIMIT_S = 60.0
DOCTOR = (sys.executable, "-m", "robot.cli.main", "doctor", "--json")
"""Command of a check-up, in a process of its own because it may load a camera's library."""


@dataclass(frozen=True)
class Surroundings:
    """The circumstances in which the daemon was started.

    ``running``: the number of its profile version. ``environment``: variables with which a
    check-up finds the daemon. ``is_supervised``: something restarts the daemon when it ends.
    """

    running: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    is_supervised: bool = False
    doctor: tuple[str, ...] = DOCTOR


class Management:
    """Handles the owner's requests other than jobs and calibration."""

    def __init__(
        self,
        controller: JobController,
        keeper: LogKeeper,
        versions: ProfileVersions,
        values: CalibrationStore,
        surroundings: Surroundings,
    ) -> None:
        self._controller = controller
        self._keeper = keeper
        self._versions = versions
        self._values = values
        self._surroundings = surroundings
        self._checking = asyncio.Lock()
        self._keeping = asyncio.Lock()

    def log_lines(self, level: str, after: int, count: int) -> LogLines:
        """Return the latest ``count`` log lines of at least ``level``, numbered above ``after``."""
        return LogLines(lines=self._keeper.lines(level, after, count), latest=self._keeper.latest)

    async def check_up(self) -> CheckUp:
        """Return the findings of ``cubist doctor``. Raise :class:`Conflict` while a job is under
        way, or if one begins meanwhile."""
        async with self._checking:
            self._controller.check_at_rest()
            working = asyncio.create_task(self._wait_for_work())
            examining = asyncio.create_task(self._examine())
            try:
                await asyncio.wait({working, examining}, return_when=asyncio.FIRST_COMPLETED)
                if not examining.done():
                    self._controller.check_at_rest()
                    raise Conflict(Note.of("check-up-ended"))
                return examining.result()
            finally:
                working.cancel()
                examining.cancel()
                await asyncio.gather(working, examining, return_exceptions=True)

    async def _wait_for_work(self) -> None:
        with self._controller.events.listening() as events:
            async for event in events:
                if event.state in WORKING:
                    return

    async def _examine(self) -> CheckUp:
        process = await asyncio.create_subprocess_exec(
            *self._surroundings.doctor,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=os.environ | dict(self._surroundings.environment),
        )
        try:
            async with asyncio.timeout(CHECK_UP_LIMIT_S):
                output, errors = await process.communicate()
        except TimeoutError as error:
            raise CubistError(f"the check-up took more than {CHECK_UP_LIMIT_S:g} s") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        try:
            found = [parse_object(line, "doctor") for line in output.splitlines()]
            findings = [CheckUpFinding.model_validate(one) for one in found]
        except (BadFile, ValueError) as error:
            raise CubistError(_last_line(errors or output)) from error
        if not findings:
            raise CubistError(_last_line(errors))
        return CheckUp(at=datetime.now(UTC), findings=findings)

    async def profile(self, number: int | None = None) -> ProfileInForce:
        """Return a version of the profile, by default the one in force; raises
        :class:`robot.records.storage.StorageError`."""
        return await asyncio.to_thread(
            ProfileInForce.describe, self._versions, number, self._surroundings.running
        )

    async def running_profile(self) -> ProfileInForce:
        """Return the version that the daemon started with. Raise like :meth:`profile`."""
        return await self.profile(self._surroundings.running)

    async def versions(self) -> ProfileVersionList:
        """Return all versions of the profile, the newest first."""
        return await asyncio.to_thread(
            ProfileVersionList.describe, self._versions, self._surroundings.running
        )

    async def check_profile(self, text: str) -> ProfileVerdict:
        """Return the faults of a profile's text. Raise :class:`Conflict` during a job."""
        self._controller.check_at_rest()
        try:
            profile = await asyncio.to_thread(self._check, text)
        except BadProfile as error:
            return ProfileVerdict.explain(error)
        return ProfileVerdict(ok=True, title=profile.title)

    def _check(self, text: str) -> RobotProfile:
        profile = self._versions.check(text)
        try:
            apply(profile, self._values.load(profile))
        except BadCalibration as error:
            why = f"the calibration in force does not fit it: {error}"
            raise BadProfile([Complaint(self._versions.original.name, 0, "", why)]) from error
        return profile

    async def keep_profile(self, text: str) -> KeptProfile:
        """Keep a text as a new version. Raise :class:`BadProfile` if it has faults."""

        def keep() -> ProfileVersion:
            self._check(text)
            return self._versions.keep(text)

        return await self._keep(keep)

    async def restore_profile(self, number: int) -> KeptProfile:
        """Keep a version again as a new one. Raise :class:`BadProfile` if it has faults."""

        def restore() -> ProfileVersion:
            self._check(self._versions.text(number))
            return self._versions.restore(number)

        return await self._keep(restore)

    async def _keep(self, keep: Callable[[], ProfileVersion]) -> KeptProfile:
        self._controller.check_at_rest()
        async with self._keeping:
            version = await asyncio.to_thread(keep)
        assert version.at is not None
        log.info(
            "version %d of the profile is kept; it takes effect after a restart", version.number
        )
        return KeptProfile(version=version.number, at=version.at)

    async def restart(self, *, force: bool) -> bool:
        """End the daemon so that it is restarted. Return whether there was anything to stop.

        Raise :class:`Conflict` if nothing would restart the daemon and, unless ``force``, while
        the robot is in use.
        """
        if not self._surroundings.is_supervised:
            raise Conflict(Note.of("not-supervised"))
        if not force:
            self._controller.check_at_rest()
            self._controller.check_not_calibrated()
        return await self._controller.shut_down(power_off=False, restart=True)


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return f"the check-up failed: {lines[-1] if lines else 'it printed nothing'}"
