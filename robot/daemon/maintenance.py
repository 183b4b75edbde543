"""Maintenance: a person calibrates over a connection, and it ends with that connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from robot.calibration.plausible import require_plausible
from robot.calibration.store import FORMAT, Calibration, CalibrationStore, apply
from robot.calibration.trial import Asked, Bench, Found, Trial
from robot.daemon.job_control import JobController
from robot.daemon.motion_run import MotionRun, Place
from robot.documents import JsonMapping, JsonObject
from robot.faults import MotionFault, Refused
from robot.link import Distrust
from robot.machine.assembly import Machine
from robot.machine.first_contact import FirstContact, guessed_steps
from robot.notes import Note
from robot.settings import RobotProfile
from robot.settings.stepper import Stepper
from solver.errors import CubistError

CONNECTION_ENDED = "the connection of the program that calibrated ended"

MakeMachine = Callable[[RobotProfile], Machine]


class Maintenance:
    """Single steps on the robot, for calibration; all methods but :meth:`values` need the mode.

    ``contact`` knows how far the robot may go, and hears from here what somebody confirms.
    ``make_machine`` puts the robot together anew from a calibrated profile, before whatever moves
    more than one actuator and once the mode ends.
    """

    def __init__(
        self,
        controller: JobController,
        profile: RobotProfile,
        store: CalibrationStore,
        contact: FirstContact,
        make_machine: MakeMachine,
    ) -> None:
        self._controller = controller
        self._profile = profile
        self._store = store
        self._make_machine = make_machine
        self._busy = asyncio.Lock()
        self._is_open = False
        self._changed = False
        self._contact = contact
        self._provisional: JsonObject = {}

    def enter(self, place: Place = "terminal", process: int = 0) -> None:
        """Begin, for a program of that process; raises as ``JobController.enter_maintenance``."""
        self._controller.enter_maintenance(place, process)
        self._contact.calibrating = self._is_open = True

    async def leave(self) -> None:
        """End; what was saved counts from now on.

        A trial still under way has nobody left who waits for it: it ends at the next safe point,
        and nothing moves after it. Otherwise motors that only count their steps turn back to their
        starts first: the count goes with the values that were tried out. Of those that cannot, a
        person is told before anything homes.
        """
        self._is_open = False
        with suppress(MotionFault):  # is noted by the controller
            await self._controller.end_trial(CONNECTION_ENDED)
        async with self._busy:
            self._contact.calibrating = False
            try:
                lost = await self._bring_back() if self._changed else ()
                await self._withdraw()
                await self._renew()
                if lost:
                    self._controller.machine.motion.distrust_positions(
                        Distrust.of_calibration(lost)
                    )
                await asyncio.to_thread(self._store.note_over)
            except CubistError as error:
                await self._controller.leave_maintenance(error)
            else:
                await self._controller.leave_maintenance()

    async def _bring_back(self) -> tuple[str, ...]:
        """See :meth:`robot.machine.motion_controller.MotionController.bring_back`."""
        motion, run = self._controller.machine.motion, MotionRun()
        if self._controller.was_stopped:
            run.cancel.set()
        with self._controller.moving(run):
            return await asyncio.to_thread(motion.bring_back, guessed_steps(self._provisional))

    async def _renew(self) -> None:
        """Put the robot together anew, if anything was saved since the last time."""
        if self._changed:
            calibrated = apply(self._profile, await self.values())
            await self._controller.replace(await asyncio.to_thread(self._make_machine, calibrated))
            self._changed = False

    async def perform(self, trial: Trial[Asked, Found], request: Asked) -> Found:
        """Have the robot do something, with what is calibrated by now.

        Raises ``MotionFault`` for a trial that was stopped, with the reason.
        """
        async with self._busy:
            self._require()
            if trial.renews:
                await self._renew()
            stored = await asyncio.to_thread(self._store.load, self._profile)
            kept = apply(self._profile, stored)
            profile = apply(self._profile, stored.changed(self._provisional))
            if any(one.homing is None for one in profile.actuators_of(Stepper).values()):
                await asyncio.to_thread(self._store.note_under_way)
            async with self._controller.trial(moves=trial.moves) as run:
                machine = self._controller.machine
                bench = Bench(machine, profile, self._contact, kept, run.cancel)
                with (
                    self._contact.vouching(trial.vouches(profile, request)),
                    machine.scanner.remembering(),
                ):
                    return await asyncio.to_thread(trial.run, bench, request)

    async def values(self) -> Calibration:
        """What is calibrated, with what is only tried out."""
        stored = await asyncio.to_thread(self._store.load, self._profile)
        return stored.changed(self._provisional)

    async def try_out(self, values: JsonMapping) -> Calibration:
        """Let these values count in place of those tried out before, until the mode ends; nothing
        of it is stored. Raises :class:`BadCalibration`."""
        async with self._busy:
            self._require()
            stored = await asyncio.to_thread(self._store.load, self._profile)
            calibration = stored.changed(values)
            require_plausible(self._profile, apply(self._profile, calibration), values)
            self._provisional = dict(values)
            return self._set(calibration)

    async def _withdraw(self) -> None:
        """What was only tried out counts no more."""
        if self._provisional:
            self._provisional = {}
            self._set(await self.values())

    async def save(self, values: JsonMapping, written: int = FORMAT) -> Calibration:
        """Set some values (None: back to the profile's); raises :class:`BadCalibration`.

        ``written``: the format of the calibration that the values come from.
        """
        async with self._busy:
            self._require()
            given = {key: value for key, value in values.items() if value is not None}
            come = Calibration(format=written, robot=self._profile.name, values=given)
            set_now = dict(values) | come.upgraded(self._profile).values
            stored = await asyncio.to_thread(self._store.load, self._profile)
            calibration = stored.changed(set_now)
            calibrated = apply(self._profile, calibration.changed(self._provisional))
            require_plausible(self._profile, calibrated, given)
            await asyncio.to_thread(self._store.save, calibration)
            return self._set(calibration.changed(self._provisional))

    async def restore(self) -> Calibration:
        """Exchange the calibration with the version before."""
        async with self._busy:
            self._require()
            if not self._store.has_previous:
                raise Refused(Note.of("nothing-before"))
            apply(self._profile, await asyncio.to_thread(self._store.previous, self._profile))
            await asyncio.to_thread(self._store.restore)
            return self._set(await self.values())

    async def adjust(self, values: JsonMapping, *, keep_previous: bool) -> None:
        """Correct calibrated values at the end of a job; the robot is put together anew.

        ``keep_previous``: whether the version to go back to becomes the one before this. Raises
        :class:`BadCalibration` and :class:`robot.records.storage.StorageError`: nothing has changed
        then.
        """
        async with self._busy:
            stored = await asyncio.to_thread(self._store.load, self._profile)
            calibration = stored.changed(values)
            machine = await asyncio.to_thread(self._make_machine, apply(self._profile, calibration))
            await asyncio.to_thread(self._store.save, calibration, keep_previous=keep_previous)
            self._contact.values = calibration.values
            await self._controller.replace(machine)

    def _set(self, calibration: Calibration) -> Calibration:
        self._contact.values = calibration.values
        self._contact.forbid(None)  # it could be read, and fits the robot
        self._changed = True
        return calibration

    def _require(self) -> None:
        self._controller.check_estop()
        self._controller.check_emergency()
        if not self._is_open:
            raise Refused(Note.of("not-in-maintenance"))
