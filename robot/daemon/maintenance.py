"""Maintenance: a person calibrates over a connection. The mode ends with that connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Literal

from robot.api.calibrations import (
    Calibration,
    ChangedValue,
    ImportRequest,
    Restored,
    Source,
    VersionList,
)
from robot.api.endpoints import Place
from robot.calibration.report import report_calibration
from robot.calibration.step import Asked, Bench, Found, Trial
from robot.calibration.store import CalibrationStore, Revision
from robot.calibration.values import (
    BadCalibration,
    apply,
    changes,
    ignored_keys,
    require_plausible,
    require_possible,
)
from robot.daemon.job_control import JobController
from robot.daemon.motion_run import CALLER, Caller
from robot.link import LostPositions
from robot.machine.assembly import Machine
from robot.machine.confirmed_range import ConfirmedRange, guessed_steps
from robot.settings import RobotProfile
from robot.settings.stepper import Stepper
from robot.text.faults import Conflict, RobotError
from robot.text.messages import Note
from solver.errors import CubistError
from solver.files import JsonMapping, JsonObject

CONNECTION_ENDED = "the program that was calibrating disconnected"

LEAVE_LIMIT_S = 20.0
"""Seconds that a daemon that ends waits for motors to turn back."""

MakeMachine = Callable[[RobotProfile], Machine]
log = logging.getLogger("cubistd")


class Maintenance:
    """Runs single trials on the robot, for calibration, and stores calibrated values.

    Trials and a person's changes need the mode, and serve only the program that began it.
    :meth:`values`, :meth:`versions`, :meth:`adjust` and :meth:`learn` always work.

    All values stored in one session form one version, which each value rewrites. However the mode
    ends, the values stored until then stay, and a person can take them back as a whole.

    ``contact`` holds the confirmed range; maintenance adds to it. ``make_machine`` rebuilds the
    robot from a calibrated profile, before trials that move more than one actuator and at the end
    of the mode.
    """

    def __init__(
        self,
        controller: JobController,
        profile: RobotProfile,
        store: CalibrationStore,
        contact: ConfirmedRange,
        make_machine: MakeMachine,
    ) -> None:
        self._controller = controller
        self._profile = profile
        self._store = store
        self._make_machine = make_machine
        self._busy = asyncio.Lock()
        self._is_open = False
        self._left = asyncio.Event()
        self._left.set()
        self._holder: Caller | None = None
        self._taken_over: tuple[Caller, Note] | None = None
        self._changed = False
        self._contact = contact
        self._provisional: JsonObject = {}
        self._revision = Revision(store)

    async def begin(self) -> None:
        """Report the calibration when the daemon starts."""
        await self._report()
        if (found := self._controller.calibration) is not None:
            for note in found.notes(self._profile.name):
                log.warning("%s", note)

    async def _report(self) -> None:
        """Update the calibration shown in the status."""
        self._controller.calibration = await asyncio.to_thread(
            report_calibration, self._profile, self._store
        )

    def enter(
        self, place: Place = "terminal", process: int = 0, at: str = ""
    ) -> asyncio.Future[Note]:
        """Begin maintenance for a program with that process ID.

        Return a future that gets the reason to leave if another person takes over. Raise like
        ``JobController.enter_maintenance``.
        """
        program = self._controller.enter_maintenance(place, process, at)
        self._contact.calibrating = self._is_open = True
        self._left.clear()
        self._holder = CALLER.get(None)
        self._provisional = {}
        self._revision = Revision(self._store)
        return program.taken_over

    async def end_session(self, at: str) -> None:
        """End the session in progress, if any, for a person at the terminal ``at``. Raise like
        :meth:`JobController.end_calibrating`."""
        if self._controller.end_calibrating(at):
            await self._left.wait()

    async def wait_for_end(self) -> None:
        """Wait until the session in progress, if any, has ended and its motors have turned back.

        Its connection must be closed already. Wait for at most :data:`LEAVE_LIMIT_S`.
        """
        try:
            await asyncio.wait_for(self._left.wait(), LEAVE_LIMIT_S)
        except TimeoutError:
            log.error("the calibration did not end in %g s", LEAVE_LIMIT_S)

    async def leave(self, taken_over: Note | None = None) -> None:
        """End the mode and put the saved values in force. ``taken_over`` names who took over.

        A trial still under way has no client: it ends at the next safe point, and nothing moves
        afterwards. Otherwise motors that only count their steps first turn back to their starts,
        because their counts become invalid with the values that were tried out. A person hears of
        those that cannot before anything homes. As after a stop, nothing turns back after a
        take-over.
        """
        self._is_open = False
        if taken_over is not None and self._holder is not None:
            self._taken_over = self._holder, taken_over
        await self._attempt(self._controller.end_trial(taken_over or CONNECTION_ENDED))
        async with self._busy:
            self._contact.calibrating = False
            lost = await self._bring_back() if self._changed else ()
            if error := await self._attempt(self._forget_tried_out()):
                error = RobotError("calibration-unusable", str(error))
                self._contact.forbid(error)
            motion = self._controller.next_machine.motion
            if lost:
                motion.mark_positions_lost(LostPositions.of_calibration(lost))
            if not motion.has_lost_positions:  # a restart asks for the others again
                await self._attempt(asyncio.to_thread(self._store.note_over))
            try:
                await self._controller.leave_maintenance(error)
            finally:
                self._left.set()

    async def _attempt(self, step: Awaitable[object]) -> CubistError | None:
        """Carry out one step of leaving. Return its error, so that the other steps follow."""
        try:
            await step
        except CubistError as error:
            log.error("while ending the calibration: %s", error)
            return error
        except Exception as error:
            log.exception("while ending the calibration")
            return RobotError("internal", f"internal error: {error}")
        return None

    async def _bring_back(self) -> tuple[str, ...]:
        """Turn motors back and return those that are lost.

        See :meth:`robot.machine.motion_controller.MotionController.bring_back`. If that fails,
        every motor that only counts its steps is lost.
        """
        motion = self._controller.machine.motion
        lost = self._counting

        async def bring_back() -> None:
            nonlocal lost
            with self._controller.bringing_back():
                guessed = guessed_steps(self._provisional)
                lost = await asyncio.to_thread(motion.bring_back, guessed)

        await self._attempt(bring_back())
        return lost

    @property
    def _counting(self) -> tuple[str, ...]:
        """Return the names of motors that only count their steps."""
        steppers = self._profile.actuators_of(Stepper)
        return tuple(name for name, one in steppers.items() if one.homing is None)

    async def _forget_tried_out(self) -> None:
        """Withdraw values that were only tried out, and rebuild the robot without them."""
        if self._provisional:
            self._provisional = {}
            self._set(await self.values())
        await self._renew()

    async def _renew(self) -> None:
        """Rebuild the robot if any value has changed since it was built."""
        if self._changed:
            calibrated = apply(self._profile, await self.values())
            await self._controller.replace(await asyncio.to_thread(self._make_machine, calibrated))
            self._changed = False

    async def perform(self, trial: Trial[Asked, Found], request: Asked) -> Found:
        """Run a trial with the current calibration.

        Raise ``RobotError`` with the reason if the trial was stopped.
        """
        async with self._busy:
            self._require()
            if trial.renews:
                await self._renew()
            stored = await self._stored()
            kept = apply(self._profile, stored)
            profile = apply(self._profile, stored.changed(self._provisional))
            if self._counting:
                await asyncio.to_thread(self._store.note_under_way)
            self._require()  # the connection may have ended meanwhile
            async with self._controller.trial(moves=trial.moves) as run:
                machine = self._controller.machine
                bench = Bench(machine, profile, self._contact, kept, run.cancel)
                with (
                    self._contact.trusting(trial.trusted(profile, request)),
                    machine.scanner.remembering(),
                ):
                    return await asyncio.to_thread(trial.run, bench, request)

    async def values(self) -> Calibration:
        """Return the calibration, including values that are only tried out."""
        return (await self._stored()).changed(self._provisional)

    async def _stored(self) -> Calibration:
        return await asyncio.to_thread(self._store.load, self._profile)

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[Calibration]:
        """Make one change in the mode, while no trial runs; yield the stored calibration."""
        async with self._busy:
            self._require()
            yield await self._stored()

    async def versions(self) -> VersionList:
        """List all versions of this robot's calibration, the oldest first."""
        robot = self._profile.name
        listed = await asyncio.to_thread(self._store.versions, self._profile)
        others = await asyncio.to_thread(self._store.others, robot)
        return VersionList(robot=robot, versions=listed, others=others)

    async def try_out(self, values: JsonMapping) -> Calibration:
        """Use these values instead of those tried out before, until the mode ends, without storing
        them. Raise :class:`BadCalibration`."""
        async with self._changing() as stored:
            calibrated = apply(self._profile, stored.changed(values))
            require_plausible(self._profile, calibrated, values)
            self._provisional = dict(values)
            return self._set(stored)

    async def save(
        self,
        values: JsonMapping,
        how: Literal["person", "auto"] = "person",
        uncertain: JsonMapping | None = None,
    ) -> Calibration:
        """Store values that the caller has seen on this robot; ``None`` restores the profile's.

        Raise :class:`BadCalibration`. See :class:`robot.api.calibrations.CalibrationRequest`.
        """
        now, unsure = self._store.now(), uncertain or {}
        sources = {key: Source(how=how, at=now, uncertain=unsure.get(key)) for key in values}
        async with self._changing() as stored:
            return await self._keep(stored, stored.changed(values, sources), how)

    async def take_over(self, asked: ImportRequest) -> Calibration:
        """Replace all values with those of a file, or with those stored for another robot.

        Nobody has seen this robot with them, so only values that were confirmed before are
        confirmed now. Raise :class:`BadCalibration`.
        """
        async with self._changing() as stored:
            values, another = await self._values_to_import(asked)
            source = Source(how="import", at=self._store.now(), confirmed=False, robot=another)
            seen = {
                key: stored.sources[key]
                for key, value in stored.confirmed.items()
                if key in values and values[key] == value
            }
            all_of_it = dict.fromkeys(stored.values) | values
            after = stored.changed(all_of_it, dict.fromkeys(values, source) | seen)
            return await self._keep(stored, after, "import")

    async def _values_to_import(self, asked: ImportRequest) -> tuple[JsonObject, str | None]:
        """Return the values, and the other robot that they belong to, if any."""
        own = self._profile.name
        if asked.values is None:
            assert asked.from_another is not None
            values = await asyncio.to_thread(self._store.values_of_another, asked.from_another)
            unused = ignored_keys(self._profile, values)  # an earlier release may have kept some
            return {k: one for k, one in values.items() if k not in unused}, asked.from_another
        robot = asked.robot
        if robot == own and asked.from_another is None:
            robot = None
        elif robot != asked.from_another:
            raise BadCalibration(
                f"this is a calibration of {robot}, but the robot is {own}: values that suit "
                f"one may break the other. To start from it anyway, use --from-another {robot}; "
                "its positions must then be confirmed one by one"
            )
        return {key: value for key, value in asked.values.items() if value is not None}, robot

    async def _keep(
        self, before: Calibration, after: Calibration, how: Literal["person", "auto", "import"]
    ) -> Calibration:
        if after == before:
            return before.changed(self._provisional)
        require_possible(self._profile, before, after)
        found = changes(before.values, after.values)
        calibrated = apply(self._profile, after.changed(self._provisional))
        require_plausible(self._profile, calibrated, found.keys() & after.values.keys())
        kept = await asyncio.to_thread(self._revision.keep, before, after, how)
        log.info("calibration: %d values changed (%s), version %d", len(found), how, kept.version)
        await self._report()
        return self._set(kept)

    async def undo(self) -> Calibration:
        """Take back the last change that was stored since the mode began.

        Raise :class:`Conflict` if there was none.
        """
        async with self._busy:
            self._require()
            before = await asyncio.to_thread(self._revision.undo)
            if before is None:
                raise Conflict(Note.of("nothing-before"))
            await self._report()
            return self._set(before)

    async def restore(self, number: int | None = None) -> Restored:
        """Put a version (default: the previous one) in force again, as a new version."""
        async with self._busy:
            self._require()
            if not await asyncio.to_thread(self._store.has_versions, self._profile):
                raise Conflict(Note.of("nothing-before"))
            before: Calibration | None = None
            with suppress(BadCalibration):  # restoring is the way out of an unreadable one
                before = await self._stored()
            made = await asyncio.to_thread(self._store.restore, self._profile, number)
            self._revision = Revision(self._store)
            after = await self._stored()
            await self._report()
            log.info("calibration: version %d of %s is in force now", made, self._profile.name)
            found = {} if before is None else changes(before.values, after.values)
            return Restored(
                **self._set(after).model_dump(),
                changes=[ChangedValue(key=key, before=a, after=b) for key, (a, b) in found.items()],
            )

    async def adjust(self, values: JsonMapping) -> None:
        """Correct calibrated values at the end of a job and rebuild the robot.

        Successive corrections form one version, so that the previous one is a person's. Raise
        :class:`BadCalibration` and :class:`robot.records.storage.StorageError`; nothing has changed
        then.
        """
        async with self._busy:
            stored = await self._stored()
            now = self._store.now()
            sources = {
                key: Source(how="drift", at=now, confirmed=key in stored.confirmed)
                for key in values
            }
            calibration = stored.changed(values, sources)
            machine = await asyncio.to_thread(self._make_machine, apply(self._profile, calibration))
            await self._keep_by_itself(stored, calibration, "drift")
            await self._controller.replace(machine)

    async def learn(self, values: JsonMapping) -> None:
        """Store colours learned from a solved cube, and let the scanner use them from now on.

        Successive lessons form one version. Raise like :meth:`adjust`.
        """
        async with self._busy:
            stored = await self._stored()
            source = Source(how="learned", at=self._store.now())
            calibration = stored.changed(values, dict.fromkeys(values, source))
            calibrated = apply(self._profile, calibration)
            await self._keep_by_itself(stored, calibration, "learned")
            self._controller.next_machine.scanner.use_colours(calibrated)

    async def _keep_by_itself(
        self, before: Calibration, after: Calibration, how: Literal["drift", "learned"]
    ) -> None:
        into = before.version if before.by == how else None
        kept = await asyncio.to_thread(self._store.save, after, how, into)
        self._contact.confirmed = kept.confirmed
        await self._report()

    def _set(self, stored: Calibration) -> Calibration:
        """Put the stored values in force, together with those only tried out."""
        self._contact.confirmed = stored.confirmed | self._provisional
        self._contact.forbid(None)  # it could be read, and fits the robot
        self._changed = True
        return stored.changed(self._provisional)

    def _require(self) -> None:
        self._controller.check_estop()
        self._controller.condition.check_emergency()
        caller, holder, taken = CALLER.get(None), self._holder, self._taken_over
        if self._is_open and (caller is None or holder is None or caller.is_same(holder)):
            return
        if caller is not None and taken is not None and caller.is_same(taken[0]):
            raise RobotError("calibration-stopped", taken[1])
        if not self._is_open:
            raise Conflict(Note.of("not-in-maintenance"))
        self._controller.check_not_calibrated()
