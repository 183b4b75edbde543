"""The core of the daemon: one state, at most one job, and everything that may start or end it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from functools import partial
from typing import NoReturn

from robot.api.calibrations import CalibrationReport
from robot.api.endpoints import Place, RobotState
from robot.api.models import DriverReport, RobotStatus, StartRequest
from robot.computer.memory import give_back
from robot.daemon import jobs
from robot.daemon.colour_watch import ColourWatch
from robot.daemon.condition import EMERGENCY, EventBoard, RobotCondition
from robot.daemon.drift_watch import DriftWatch
from robot.daemon.job import Job, run_in_own_thread
from robot.daemon.live import JpegCache, LiveBoard, NumberedJpeg
from robot.daemon.motion_run import CalibratingProgram, MotionRun, TrialStop, clock_text
from robot.daemon.run_library import RunLibrary
from robot.daemon.service import ending
from robot.daemon.video import JobVideo
from robot.link import LostPositions
from robot.link.drivers import DriverState, warm_drivers
from robot.link.group import RecentTraffic, complaints
from robot.machine.assembly import Machine
from robot.records.run_record import FaultRecord, RunRecord, notes_of
from robot.records.runs import RunStore, RunWriter, unrecorded, utc_now
from robot.records.storage import StorageError
from robot.text.faults import FAULTS, Conflict, RobotError, Stopped, outcome_of
from robot.text.messages import Note
from robot.text.outcomes import OUTCOMES, Outcome
from solver.errors import CubistError, ExitCode

log = logging.getLogger("cubistd")

CallLater = Callable[[float, Callable[[], None]], asyncio.TimerHandle]
"""Function that calls a callback after a delay in seconds, unless its handle is cancelled."""

STOP_LIMIT_S = 10.0
"""Seconds that a run may take to come to rest after a stop. Then an emergency stop follows."""


class JobController:
    """Owns the robot: at most one run of motion at a time, a job or a trial of calibration.

    Call all methods in the event loop's thread.
    """

    def __init__(
        self,
        machine: Machine,
        store: RunStore,
        *,
        version: str,
        simulated: bool = False,
        now: Callable[[], datetime] = utc_now,
        call_later: CallLater | None = None,
    ) -> None:
        self.machine = machine
        self.store, self.library = store, RunLibrary(store)
        self.condition = RobotCondition(now)
        self.live = LiveBoard(self.condition.publish, mechanism=machine.mechanism)
        self._pictures = JpegCache()
        self.ended = asyncio.Event()
        self.power_off = False
        self.restarts = False
        self._is_ending = False
        self.estop_open = False
        self.drift: DriftWatch | None = None
        self.colours: ColourWatch | None = None
        self.calibration: CalibrationReport | None = None
        self.inspection_left_s: Callable[[], float | None] = lambda: None
        self._version = version
        self._simulated = simulated
        self._traffic = RecentTraffic()
        self._now = now
        self._call_later = call_later
        self._job: Job | None = None
        self._run: MotionRun | None = None
        self._successor: Machine | None = None
        self._calibrating: CalibratingProgram | None = None
        self.call_off_start: Callable[[], bool] = lambda: False
        self._task: asyncio.Task[None] | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._last: RunRecord | None = None
        self._not_recorded: Note | None = None
        self.preparation = jobs.TablePreparation()
        self._video: JobVideo | None = None

    @property
    def state(self) -> RobotState:
        """Return the robot's state."""
        return self.condition.state

    @property
    def events(self) -> EventBoard:
        """Return the board on which all events are published."""
        return self.condition.events

    async def open(self) -> None:
        """Close records that a crash left open, then connect. A missing robot is a fault."""
        recovered = await asyncio.to_thread(self.store.recover)
        for run_id in recovered.closed:
            log.warning("run %s was interrupted; its record is closed", run_id)
        if recovered.closed or not recovered.is_certain:
            self.machine.motion.mark_positions_lost(LostPositions.of_job())
        try:
            latest = await asyncio.to_thread(self.store.latest, 1)
            self._last = next(iter(latest.runs), None)
        except StorageError as error:
            log.warning("the last run is unknown: %s", error)
        await self._connect()
        self._restart_idle_timer()

    def status(self) -> RobotStatus:
        """Return the robot's status."""
        link = self.machine.motion.link_statistics()
        warnings: list[str] = list(complaints(self._traffic.of(link)))
        drivers = self.machine.motion.drivers()
        warnings += warm_drivers(drivers)
        warnings += [] if self.drift is None else self.drift.notes
        if self.calibration is not None:
            warnings += self.calibration.notes(self.machine.name)
        if self._not_recorded is not None:
            warnings.append(self._not_recorded)
        return RobotStatus(
            state=self.state,
            since=self.condition.since,
            robot=self.machine.name,
            simulated=self._simulated,
            homed=self.condition.is_homed,
            released=list(self.condition.released),
            calibrating=self.is_calibrated,
            calibrator=None if self._calibrating is None else self._calibrating.report,
            starting=self.is_starting,
            job=None if self._job is None else self._job.status(),
            inspection_left_s=self.inspection_left_s(),
            preparation=self.preparation.state,
            fault=self.condition.fault,
            last_run=self._last,
            link=link,
            drivers=[_driver_report(driver) for driver in drivers],
            warnings=list(warnings),
            notes=notes_of(warnings),
            drift=[] if self.drift is None else self.drift.estimates,
            calibration=self.calibration,
            records=str(self.store.directory),
            version=self._version,
            process=os.getpid(),
        )

    def prepare(self) -> None:
        """Begin to prepare the reader and the search, so that no solve has to wait for them."""
        self.preparation.start(self.machine)

    async def start(self, request: StartRequest) -> str:
        """Start a job and return its run number.

        Homing also takes the robot into use again after an emergency stop. Raise
        :class:`Conflict` while another run is under way, ``RobotError`` for other jobs after an
        emergency stop, and ``InvalidRequest`` for impossible moves or an impossible cube.
        """
        if self._releasing is not None:
            await asyncio.wait({self._releasing})
        self._check_ending()
        if self._run is not None and self._calibrating is None:
            self._refuse_busy()
        self.check_estop()
        if request.kind != "home":
            self.condition.check_emergency()
        self.check_not_calibrated()
        is_connected = self.condition.is_in_order and self._successor is None
        self._clear_emergency()
        self._run = run = MotionRun()
        try:
            perform = await asyncio.to_thread(jobs.performer, request, self.machine.planner)
            if not is_connected:
                error = None if run.cancel.is_set() else await self._connect()
                self.condition.check_emergency()  # perhaps there was one since
                if error is not None:
                    raise error
            run.rested.set()  # nothing moves while the disk works
            writer = await self._begin_record(request)
            run.rested.clear()
            job = Job(
                writer,
                self.condition.report,
                self.machine.motion.link_statistics(),
                progressed=self.condition.publish_progress,
                live=self.live,
                pictures=self._pictures,
            )
            job.cancel, job.record.to = run.cancel, request.to
        except BaseException:
            self._end(run)
            raise
        self._job, self.condition.run = job, job.record.id
        self.library.present = job.record
        self._task = asyncio.create_task(self._perform_job(job, perform, run), name=request.kind)
        log.info("run %s: %s started", job.record.id, request.kind)
        return job.record.id

    async def stop(self, *, emergency: bool = False) -> bool:
        """Stop the robot after the turns in progress, or at once in an ``emergency``.

        Return whether there was anything to stop. A stop between two trials of a program that
        calibrates refuses the next trial. Raise ``RobotError`` if the robot did not confirm an
        emergency stop; nothing moves afterwards in either case.
        """
        called_off = self.call_off_start()
        run, program = self._run, self._calibrating
        if run is not None:
            run.cancel.set()
        if program is not None:
            program.note_stop(run)
        if emergency:
            await self._emergency_stop()
        if run is not None:
            await self._come_to_rest(run, held=emergency)
        return emergency or called_off or program is not None or run is not None

    async def end_trial(self, by: str) -> None:
        """Stop the trial under way, if any. ``by``: the reason, since no person stopped it.

        The caller prevents further trials.
        """
        run = self._run
        if run is not None and self._calibrating is not None:
            self._calibrating.note_stop(run)
            run.by = by
            run.cancel.set()
            await self._come_to_rest(run)

    async def _come_to_rest(self, run: MotionRun, *, held: bool = False) -> None:
        """Stop the motion of a cancelled run, unless already ``held``, and wait for the run's end.

        If it still moves after ``STOP_LIMIT_S``, an emergency stop follows. The record of a job
        that has come to rest may take longer.
        """
        try:
            async with asyncio.timeout(STOP_LIMIT_S):
                if not held:
                    await run_in_own_thread(self.machine.motion.stop)
                await run.rested.wait()
        except TimeoutError:
            log.error("motion did not stop in %g s: emergency stop", STOP_LIMIT_S)
            await self._emergency_stop()
        else:
            await run.ended.wait()

    @contextmanager
    def moving(self, run: MotionRun) -> Iterator[None]:
        """Make ``run`` the one that a stop ends, while the context lasts."""
        self._run, self.condition.released = run, ()
        self.machine.motion.begin(run.cancel)
        try:
            yield
        finally:
            self._end(run)

    @contextmanager
    def bringing_back(self) -> Iterator[None]:
        """Let motors turn back after calibration, unless the last trial was stopped."""
        run = MotionRun()
        if self._calibrating is not None and self._calibrating.stop is not TrialStop.NONE:
            run.cancel.set()
        with self.moving(run):
            yield

    @asynccontextmanager
    async def trial(self, *, moves: bool = True) -> AsyncIterator[MotionRun]:
        """Begin a calibration trial, or without ``moves`` one that only inspects the robot at rest.

        Raise ``RobotError`` if it was stopped, even if its motion ignored that, and while an
        emergency stop is not acknowledged.
        """
        self._check_ending()
        if self._run is not None:
            self._refuse_busy()
        run, program = MotionRun(), self._calibrating
        assert program is not None
        if not moves:
            self.condition.check_emergency()
            yield run
            return
        if program.stop is TrialStop.REFUSES_NEXT:
            program.stop = TrialStop.ENDED_TRIAL
            run.cancel.set()
        self._check_stopped(run)
        program.stop = TrialStop.NONE
        try:
            with self.moving(run):
                yield run
        except Stopped:
            self._check_stopped(run)
            raise
        except CubistError as error:
            if error.code == EMERGENCY and self.condition.emergency is None:
                self.condition.set_fault(error)  # the board's own emergency stop
            self._check_stopped(run)
            raise
        self._check_stopped(run)

    def _check_stopped(self, run: MotionRun) -> None:
        """Raise ``RobotError`` with the reason if a trial ended early."""
        self.condition.check_emergency()
        if run.cancel.is_set():
            log.info("%s", run.reason)
            raise run.reason

    def _end(self, run: MotionRun) -> None:
        self._run = None
        run.end()
        self._restart_idle_timer()

    def _restart_idle_timer(self) -> None:
        """Restart the timer after which an idle robot releases what its policy names."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = None
        idle = self.machine.policy.idle
        if idle.release and not self._is_ending:
            call_later = self._call_later or asyncio.get_running_loop().call_later
            self._idle_timer = call_later(idle.after_s, self._begin_release)

    def _begin_release(self) -> None:
        self._releasing = asyncio.create_task(self._release(), name="release")

    async def _release(self) -> None:
        """Switch off idle actuators, unless the robot works, calibrates or had an emergency stop.

        When that is over, the timer restarts.
        """
        held = self._run or self._calibrating or self.condition.emergency
        try:
            if held is None and not self._is_ending:
                self._run = run = MotionRun()  # nothing else begins meanwhile
                try:
                    released = await asyncio.to_thread(self.machine.motion.power_down)
                finally:
                    self._run = None
                    run.end()
                if released:
                    self.condition.note_released(released)
        except CubistError as error:
            self.condition.is_homed = False  # one of several boards may have switched off
            log.warning("motors could not be switched off: %s", error)
        finally:
            self._releasing = None

    @property
    def is_starting(self) -> bool:
        """Return whether a start or an acknowledgement is under way, but no job yet."""
        others = self._job or self._calibrating or self._releasing
        return self._run is not None and others is None

    def _refuse_busy(self) -> NoReturn:
        if self._job is None:
            raise Conflict(Note.of("starting"))
        run = self._job.record.id.lstrip("0")
        raise Conflict(Note.of("busy", state=self.state, run=run))

    async def acknowledge(self) -> bool:
        """Take the robot into use again after an emergency stop. Return whether there was one.

        A person has checked that all is well. Nothing moves. Raise :class:`Conflict` while the
        stop's circuit is open, and while a run has not ended yet.
        """
        self._check_ending()
        self.check_estop()
        if self.condition.emergency is None:
            return False
        if self._run is not None:
            raise Conflict(Note.of("starting"))
        self._clear_emergency()
        self._run = run = MotionRun()  # nothing else begins meanwhile
        try:
            if self.is_calibrated:
                if self._successor is not None:
                    await self.replace(self._successor)
                if self.condition.emergency is None:
                    self.condition.enter(RobotState.MAINTENANCE, "maintenance")
            else:
                await self._connect()
        finally:
            self._end(run)
        return True

    def _clear_emergency(self) -> None:
        if self.condition.emergency is not None:
            log.info("a person acknowledged the emergency stop")
            self.condition.emergency = None
            self.machine.motion.clear_emergency()

    def age_of(self, picture: NumberedJpeg) -> float:
        """Return the seconds since a picture was taken."""
        return self._pictures.age_s(picture)

    async def picture(self, camera: str | None) -> NumberedJpeg:
        """Return a camera's picture for viewers.

        During a job it is the last picture that the job took, or a new one if the robot turns and
        the job does not need the camera for a while. With ``live_video`` off it is always the
        robot's own last picture, except during calibration. Raise ``InvalidRequest`` for an unknown
        camera, and :class:`Conflict` while there is no picture yet.
        """
        name = self.machine.scanner.camera_named(camera)
        is_live = self.machine.policy.live_video
        if self.is_calibrated or (self._run is None and is_live):
            return await self._pictures.fresh(name, partial(self.machine.scanner.preview, name))
        if self._video is not None and is_live:
            await self._video.take(name)
        shown = self._pictures.latest(None if camera is None else name)
        if shown is None:
            raise Conflict(Note.of("no-picture-yet"))
        return shown

    async def shut_down(self, *, power_off: bool, restart: bool = False) -> bool:
        """Stop the robot, then end the daemon. Return whether there was anything to stop.

        Then the computer switches off if ``power_off``, and the daemon starts again if ``restart``.
        """
        log.info("restarting" if restart else "shutting down")
        self._is_ending, self.power_off, self.restarts = True, power_off, restart
        stopped = await self._stop_in_any_case()
        self.ended.set()
        return stopped

    async def end(self) -> None:
        """Stop the motion under way, and refuse all further starts.

        Call it before closing anything that could stop the robot. While nothing moves, it does not
        disturb a calibrating program: when that connection closes, motors that only count their
        steps still turn back.
        """
        self._is_ending = True
        self.call_off_start()
        if self._run is not None:
            await self._stop_in_any_case()

    async def _stop_in_any_case(self) -> bool:
        """Stop the robot; log an error instead of raising it, so that the daemon can still end."""
        try:
            return await self.stop()
        except CubistError as error:
            log.error("the robot did not confirm the stop: %s", error)
        except Exception:
            log.exception("the robot could not be stopped")
        return True

    @property
    def is_recording(self) -> bool:
        """Return whether a job has reached its goal and only its record is unfinished."""
        outcome = None if self._job is None else self._job.record.outcome
        return outcome is not None and OUTCOMES[outcome].exit_code is ExitCode.DONE

    async def finished(self) -> None:
        """Wait for the job under way, if any."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def close(self) -> None:
        """Stop safely and release everything. Idempotent."""
        self._is_ending = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self.preparation.cancel()
        self.library.close()
        await self._stop_in_any_case()
        await self.preparation.finished()
        self.events.close()
        await self._let_go()

    def _check_ending(self) -> None:
        if self._is_ending:
            raise Conflict(Note.of("ending"))

    def check_at_rest(self) -> None:
        """Raise :class:`Conflict` while the robot works."""
        if self._run is not None:
            self._refuse_busy()

    def check_estop(self) -> None:
        """Raise :class:`Conflict` while the emergency stop's circuit is open: nothing may move."""
        if self.estop_open:
            raise Conflict(Note.of("estop-open"))

    def report_panel(self, fault: CubistError) -> None:
        """Report a fault of the panel, until :meth:`clear_panel` is called with its code.

        It is shown as the robot's fault, but jobs can still be started in other ways.
        """
        self.condition.report_panel(fault)
        self._show_panel_faults()

    def clear_panel(self, code: str) -> None:
        """Clear the panel's fault with this code."""
        self.condition.clear_panel(code)
        self._show_panel_faults()

    def _show_panel_faults(self) -> None:
        if self._run is None:
            self.condition.show_panel_faults()

    @property
    def is_calibrated(self) -> bool:
        """Return whether a program is calibrating the robot."""
        return self._calibrating is not None

    def check_not_calibrated(self) -> None:
        """Raise :class:`Conflict` while a program calibrates: it has the robot to itself."""
        if self._calibrating is not None:
            code, parameters = self._calibrating.who
            raise Conflict(Note.of(code, **parameters))

    def enter_maintenance(
        self, place: Place = "terminal", process: int = 0, at: str = ""
    ) -> CalibratingProgram:
        """Reserve the robot for a program that calibrates, until it leaves.

        Raise :class:`Conflict` while a job runs or another program calibrates, and ``RobotError``
        after an emergency stop that nobody has acknowledged.
        """
        self._check_ending()
        self.check_not_calibrated()
        if self._run is not None:
            self._refuse_busy()
        self.condition.check_emergency()
        self._calibrating = program = CalibratingProgram(place, process, self._now(), at)
        self.condition.released = ()
        self.condition.enter(RobotState.MAINTENANCE, "maintenance")
        return program

    def end_calibrating(self, at: str) -> bool:
        """Tell the calibrating program that a terminal takes over. Return whether there is one.

        It leaves at the next safe point, as after a stop: no motor turns back, since somebody may
        have their hands in the robot. Raise ``RobotError`` after an emergency stop that nobody has
        acknowledged, because a take-over would gain nothing.
        """
        self._check_ending()
        self.condition.check_emergency()
        if (program := self._calibrating) is None:
            return False
        if not program.taken_over.done():
            program.note_stop(self._run)
            since = clock_text(self._now())
            program.taken_over.set_result(Note.of("taken-over", at=at, since=since))
        return True

    async def leave_maintenance(self, error: CubistError | None = None) -> None:
        """Return to normal operation, or to the fault that prevents it (``error``, if known).

        Calibration moved actuators, so the robot is no longer homed. An emergency stop stays until
        a person acknowledges it.
        """
        self.condition.is_homed = False
        try:
            if error is None:
                await self._connect()
            else:
                self.condition.set_fault(error)
        finally:
            self._calibrating = None
            self._restart_idle_timer()

    async def replace(self, machine: Machine) -> None:
        """Go on with another machine, built from other values.

        After an emergency stop this waits until a person acknowledges it: until then the old
        machine keeps holding the cube.
        """
        self.next_machine.motion.pass_losses_on(machine.motion)
        if self.condition.emergency is None:
            await self._let_go()
            self.machine, self._successor = machine, None
        else:
            self._successor = machine

    @property
    def next_machine(self) -> Machine:
        """Return the machine that moves next."""
        return self._successor or self.machine

    async def _let_go(self) -> None:
        self.condition.released = ()
        await asyncio.to_thread(self.machine.motion.close)
        await asyncio.to_thread(self.machine.scanner.close)

    async def _begin_record(self, request: StartRequest) -> RunWriter:
        job = (request.kind, self.machine.name, self._now())
        try:
            writer = await asyncio.to_thread(self.store.begin, *job)
        except StorageError as error:
            log.warning("not recorded: %s", error)
            self._not_recorded = Note.of("not-recorded", reason=error)
            return unrecorded(*job)
        self._not_recorded = None
        return writer

    async def _connect(self) -> CubistError | None:
        """Connect to the robot. Return the error that keeps it from working, if any.

        The error also becomes the robot's fault: the robot does not answer, or its positions are
        not confirmed. Do nothing after an emergency stop, or once the daemon is ending.
        """
        if self.condition.emergency is not None or self._is_ending:
            return None
        if self._successor is not None:
            await self.replace(self._successor)
        try:
            await asyncio.to_thread(self.machine.motion.open)
            self.machine.motion.require_confirmed()
        except CubistError as error:
            self.condition.set_fault(error)
            return error
        self.condition.robot_fault = None
        self.condition.rest("ready")
        return None

    async def _perform_job(self, job: Job, perform: jobs.Performer, run: MotionRun) -> None:
        fault: CubistError | None = None
        self.machine.stopwatch.take()
        self._video = video = JobVideo(
            job, self.machine, self._pictures, lambda: self.state is RobotState.TURNING
        )
        with self.moving(run):
            try:
                async with video.gathering():
                    try:
                        outcome = await perform(job, self.machine)
                    finally:
                        run.rested.set()
            except Stopped:
                outcome = Outcome.STOPPED
                job.record.reason = OUTCOMES[outcome].about
            except CubistError as error:
                fault = error
            except Exception as error:
                log.exception("run %s: unexpected error", job.record.id)
                fault = RobotError("internal", f"internal error: {error}")
            if fault is not None:
                outcome = Outcome.STOPPED if job.cancel.is_set() else outcome_of(fault)
                job.record.faults.append(FaultRecord.of(fault))
                job.record.reason = job.record.faults[-1].cause
            self._video = None
            await self._finish(job, outcome, None if outcome is Outcome.STOPPED else fault)
        changed = partial(self.condition.publish, "record", "", run=job.record.id)
        self.library.begin_time_lapse(video, changed)

    async def _finish(self, job: Job, outcome: Outcome, fault: CubistError | None) -> None:
        job.note_end(outcome)
        adjusted = False
        try:
            adjusted = await self._close_record(job)
        except Exception:
            # If the record cannot be closed, the robot is still ready for the next job.
            log.exception("run %s: its record could not be closed", job.record.id)
        if adjusted:
            await self._connect()
        self.library.last, self._last = job.record, job.record.summary()
        self._job = self.library.present = self.condition.run = None
        self.condition.is_homed = fault is None and outcome is not Outcome.STOPPED and not adjusted
        if fault is not None:
            self.condition.set_fault(fault)
        else:
            self.condition.rest("ready")
        log.info("run %s: %s", job.record.id, ending(job.record))
        self.condition.publish("finished", job.record.reason, run=job.record.id, outcome=outcome)

    async def _close_record(self, job: Job) -> bool:
        """Complete the record and track drift; return whether the calibration was adjusted."""
        job.record.latency_s = self.machine.stopwatch.take()
        job.note_link_statistics(self.machine.motion.link_statistics())
        await asyncio.to_thread(self.store.prune)
        await job.finish()
        adjusted = self.drift is not None and await self.drift.follow(job)
        if self.colours is not None:
            await self.colours.follow(job)
        await asyncio.to_thread(give_back)
        await asyncio.to_thread(self.store.prune)
        return adjusted

    async def _emergency_stop(self) -> None:
        log.warning("emergency stop")
        # Set at once: nothing may begin while the robot confirms the stop.
        self.condition.set_fault(RobotError(EMERGENCY, FAULTS[EMERGENCY].about))
        await run_in_own_thread(self.machine.motion.emergency_stop)


def _driver_report(state: DriverState) -> DriverReport:
    return DriverReport(
        actuator=state.actuator,
        ready=state.is_ready,
        threshold_celsius=state.threshold_celsius,
        load=state.load,
        current_scale=state.current_scale,
    )
