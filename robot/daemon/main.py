"""``cubistd``: starts, owns and stops every part of the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from robot import DISTRIBUTION
from robot.api.endpoints import Program, RobotState
from robot.calibration.drift import DriftStore
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration, apply
from robot.calibration.versions import CubeSizes
from robot.computer.memory import give_back, keep_small
from robot.daemon.colour_watch import ColourWatch
from robot.daemon.drift_watch import DriftWatch
from robot.daemon.front_panel import FrontPanel
from robot.daemon.job_control import JobController
from robot.daemon.log_keeper import LogKeeper
from robot.daemon.maintenance import Maintenance
from robot.daemon.management import Management, Surroundings
from robot.daemon.server import make_app, serving
from robot.daemon.service import (
    RESTART_CODE,
    EndSignals,
    Notifier,
    Options,
    configure_logging,
    hold_lock,
    parse,
)
from robot.link import LostPositions
from robot.machine.assembly import Machine, make_gpio, make_machine, panel_pins
from robot.machine.confirmed_range import ConfirmedRange
from robot.panel.gpio import PanelError
from robot.records.profile_versions import ORIGINAL, ProfileVersions
from robot.records.runs import RunStore
from robot.records.storage import StorageError, write_atomically
from robot.settings import BadProfile, RobotProfile
from robot.text.faults import RobotError
from solver.errors import CubistError
from solver.tables import end_by_signal

log = logging.getLogger("cubistd")

BAD_CONFIGURATION = 2
ROBOT_FAILED = 3
POWER_OFF_MARK = "power-off"
STATUS_EVERY_S = 1.0
JOB = "a job"
"""Name under which the store notes that a job was interrupted, rather than a calibration."""

_FOR_A_PERSON = (StorageError, ValueError)
"""Errors that a restart cannot fix: another daemon, a full disk, a bad profile (ValueError)."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the daemon. Exit codes: 0 orderly stop, 2 bad configuration, 3 robot failure,
    :data:`RESTART_CODE` to request a restart.

    A signal that is not meant to stop a daemon gives 128 plus its number, after an orderly stop.
    """
    signals = EndSignals()
    signals.exit_at_once()
    keep_small()
    options = parse(arguments)
    configure_logging(options.log_level)
    try:
        versions = ProfileVersions(options.state_dir, options.profile, options.size)
        loaded = _load_profile(versions)
        _make_directory(options.runtime_dir)
        _make_directory(options.state_dir)
        with hold_lock(options.lock_path):
            notifier = Notifier.from_environment()
            restarts = asyncio.run(serve(loaded, versions, options, notifier, signals))
    except CubistError as error:
        log.error("%s", error)
        sys.exit(BAD_CONFIGURATION if isinstance(error, _FOR_A_PERSON) else ROBOT_FAILED)
    if signals.exit_code:
        sys.exit(signals.exit_code)
    if restarts:
        sys.exit(RESTART_CODE)


@dataclass(frozen=True)
class LoadedProfile:
    """The profile in force and its version; ``fault`` forbids all motion."""

    profile: RobotProfile
    version: int = ORIGINAL
    fault: RobotError | None = None


async def serve(
    loaded: LoadedProfile,
    versions: ProfileVersions,
    options: Options,
    notifier: Notifier,
    signals: EndSignals,
) -> bool:
    """Run until a signal or a very long press of the button; then stop safely.

    Return whether the daemon should be started again.
    """
    release = version(DISTRIBUTION)
    keeper = LogKeeper(options.runtime_dir)
    logging.getLogger().addHandler(keeper)
    sizes = CubeSizes(loaded.profile, options.size)
    profile = sizes.profile
    values = CalibrationStore(options.state_dir, sizes)
    with contextlib.suppress(OSError):  # leftover files only take disk space
        values.settle()
    calibrated, contact = _apply_calibration(
        profile, values, simulated=options.twin is not None, unusable=loaded.fault
    )
    make = partial(make_machine, contact=contact, port=options.port, twin=options.twin)
    robot = await asyncio.to_thread(make, calibrated)
    _mark_lost_positions(robot, values)
    controller = JobController(
        robot,
        RunStore(options.state_dir / "runs"),
        version=release,
        simulated=options.twin is not None,
    )
    signals.call(asyncio.get_running_loop(), controller.ended.set)
    end_by_signal(signal.SIGQUIT)  # a lost table ends the daemon in order; systemd restarts it
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(logging.getLogger().removeHandler, keeper)
        stack.push_async_callback(controller.close)
        await controller.open()
        if robot.motion.has_lost_positions:
            # The job's record is closed by now, so the next start would not know of the loss.
            await asyncio.to_thread(values.note_under_way, JOB)
        controller.prepare()
        await open_panel(stack, controller, profile, options)
        maintenance = Maintenance(controller, profile, values, contact, make)
        # A calibrating program is disconnected when the sockets close. Motors then turn back.
        stack.push_async_callback(maintenance.wait_for_end)
        drift = DriftWatch(profile, values, DriftStore(options.state_dir), maintenance.adjust)
        await maintenance.begin()
        await drift.begin()
        controller.drift = drift
        controller.colours = ColourWatch(profile, values, maintenance.learn)
        management = Management(
            controller,
            keeper,
            versions,
            values,
            Surroundings(
                running=loaded.version,
                environment=_environment(options),
                is_supervised=options.supervised or notifier.address is not None,
            ),
        )
        for program in _programs(options):
            app = make_app(controller, maintenance, management, release, program)
            path = program.socket_beside(options.socket_path)
            await stack.enter_async_context(serving(app, path, program.group))
        # Last, because a client that finds this socket may rely on the others.
        app = make_app(controller, maintenance, management, release)
        await stack.enter_async_context(serving(app, options.socket_path))
        informing = asyncio.create_task(keep_manager_informed(controller, notifier))
        stack.callback(informing.cancel)
        stack.callback(asyncio.create_task(_forget_resolved(controller, values)).cancel)
        await asyncio.to_thread(give_back)  # imports used memory that is not needed now
        ready = "ready" if controller.state is RobotState.IDLE else "not ready yet"
        log.info("%s: %s, listening at %s", profile.title, ready, options.socket_path)
        notifier.ready(_summary(controller))
        await controller.ended.wait()
        notifier.stopping("stopping")
        log.info("shutting down: waiting for all motion to stop")
        await controller.end()
    if controller.power_off:
        # cubist-poweroff.path waits for this file; the daemon itself may not power off.
        write_atomically(options.runtime_dir / POWER_OFF_MARK, b"")
    return controller.restarts


def _mark_lost_positions(robot: Machine, values: CalibrationStore) -> None:
    broken_off = values.broken_off
    if broken_off is not None:
        by_job = broken_off == JOB
        log.warning(
            "%s was interrupted: motors may be out of position", JOB if by_job else "calibration"
        )
        robot.motion.mark_positions_lost(
            LostPositions.of_job() if by_job else LostPositions.of_calibration()
        )


def _load_profile(versions: ProfileVersions) -> LoadedProfile:
    """Return the profile in force. Raise :class:`BadProfile` if the original file is unusable.

    A stored version can be unusable only because an earlier release accepted it. The daemon then
    runs with the original file, reports the reason, and moves nothing.
    """
    versions.settle()
    version = versions.latest
    if version.is_original:
        return LoadedProfile(versions.load_original(), version.number)
    log.info("the profile is version %d, kept at %s", version.number, version.path)
    try:
        return LoadedProfile(versions.load(), version.number)
    except BadProfile as error:
        log.error("%s", error)
        fault = RobotError("profile-unusable", str(error))
        return LoadedProfile(versions.load_original(), fault=fault)


def _environment(options: Options) -> dict[str, str]:
    """Return the variables with which a program finds this daemon, its files and its robot."""
    return {
        "CUBIST_RUNTIME_DIR": str(options.runtime_dir),
        "CUBIST_STATE_DIR": str(options.state_dir),
        "CUBIST_PROFILE": options.profile,
    }


def _apply_calibration(
    profile: RobotProfile,
    values: CalibrationStore,
    *,
    simulated: bool,
    unusable: RobotError | None = None,
) -> tuple[RobotProfile, ConfirmedRange]:
    """Return the calibrated profile and its confirmed range.

    If the calibration is unusable, the range forbids all motion. The daemon runs and says why.
    """
    try:
        calibration = values.load(profile)
        return apply(profile, calibration), ConfirmedRange(
            calibration.confirmed, simulated=simulated, unusable=unusable
        )
    except BadCalibration as error:
        path = str(values.path_of(profile.name))
        cause = str(error) if path in str(error) else f"{path}: {error}"
        contact = ConfirmedRange({}, simulated=simulated, unusable=unusable)
        contact.forbid(RobotError("calibration-unusable", cause))
        return profile, contact


def _programs(options: Options) -> list[Program]:
    """Return the programs that get a socket, two of them only if the owner allows it."""
    allowed = {Program.GUIDE: options.page_calibrates, Program.MANAGE: options.page_manages}
    return [one for one in Program if allowed.get(one, True)]


async def open_panel(
    stack: contextlib.AsyncExitStack,
    controller: JobController,
    profile: RobotProfile,
    options: Options,
) -> None:
    """Start watching the panel. If it does not work, log that; the CLI still works."""
    pins = panel_pins(profile.panel)
    try:
        gpio = await asyncio.to_thread(make_gpio, options.twin)
        panel = FrontPanel(controller, gpio, pins, profile.panel.inspection_s)
        stack.push_async_callback(panel.close)
        panel.open()
    except PanelError as fault:
        log.warning("no panel: %s", fault)
        if pins.estop is not None:
            # Nothing watches the emergency stop, so nothing may move. The status says why.
            controller.estop_open = True
            controller.report_panel(RobotError("panel-failed", detail=str(fault)))


async def keep_manager_informed(controller: JobController, notifier: Notifier) -> None:
    """Feed the watchdog while the event loop runs; report each new state to systemd."""
    period = min(STATUS_EVERY_S, (notifier.watchdog_s or STATUS_EVERY_S * 3) / 3)
    told = ""
    while True:
        summary = _summary(controller)
        if summary != told:
            notifier.status(summary)
            told = summary
        notifier.alive()
        await asyncio.sleep(period)


async def _forget_resolved(controller: JobController, values: CalibrationStore) -> None:
    """Delete the note about motors that may be askew as soon as none of them is."""
    try:
        while True:
            forget_if_resolved(controller, values)
            await asyncio.sleep(STATUS_EVERY_S)
    finally:  # cancelled at the end: perhaps resolved since the last check
        forget_if_resolved(controller, values)


def forget_if_resolved(controller: JobController, values: CalibrationStore) -> None:
    """Delete the note, if there may be one, unless the next machine has lost positions.

    If it has and there is no note, as after a rest without power, write one. Call it in the event
    loop's thread only, because a calibration that begins meanwhile writes its own note.
    """
    lost = controller.next_machine.motion.has_lost_positions
    if lost and not values.may_have_note:
        values.note_under_way(JOB)
    elif values.may_have_note and not (lost or controller.is_calibrated):
        values.note_over()


def _summary(controller: JobController) -> str:
    status = controller.status()
    if status.fault is not None:
        return f"{status.state}: {status.fault.cause}"
    under_way = status.job or status.preparation
    return f"{status.state}: {under_way.step}" if under_way else str(status.state)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{directory}: cannot be created: {error.strerror}") from error


if __name__ == "__main__":
    main()
