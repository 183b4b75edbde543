"""``cubist doctor``: check whether this machine is ready to run a robot, and give remedies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

import click

from robot.api.client import ControlClient, DaemonError, RequestError
from robot.api.paths import simulated_robot, state_directory
from robot.cli.output import (
    complain,
    daemon_client,
    emit,
    json_option,
    note,
    require_terminal,
)
from robot.cli.texts import (
    CALIBRATION_GAPS,
    calibration_notes,
    drift_notes,
    note_documents,
    translate_finding,
)
from robot.computer.boot_config import BootChange, plan_fix, plan_undo
from robot.computer.checkup import add_board_name, boards, check_up, firmware, worst
from robot.computer.computer import CheckResult, Computer, Verdict
from robot.settings import DEFAULT_PROFILE, BadProfile, RobotProfile, load_profile
from robot.text.messages import DRIFT_NOTES, Note
from solver.errors import ExitCode

if TYPE_CHECKING:
    from robot.api.endpoints import CalibrationReportJson, NoteRecordJson, RobotStatusJson

_COLOURS = {"ok": "green", "warning": "yellow", "bad": "red"}


@click.command()
@click.option("--robot", "profile", help="The robot's profile (default: the service's).")
@click.option("--fix", is_flag=True, help="Add what the servos need to the Pi's config.txt.")
@click.option("--unfix", is_flag=True, help="Remove the lines that --fix added.")
@click.option("--yes", is_flag=True, help="Change config.txt without asking.")
@json_option
def doctor(profile: str | None, fix: bool, unfix: bool, yes: bool, as_json: bool) -> int:
    """Check camera, board, permissions, GPIO, disk, clock, power, configuration and the daemon.

    The exit code is 1 if something is bad; each finding says what to do. --fix and --unfix only
    change config.txt: they show the change and ask, and need sudo. While `cubist simulate` runs and
    no real robot's daemon answers, only the simulated robot is checked; --robot checks this
    computer.
    """
    if fix and unfix:
        raise click.UsageError("--fix and --unfix contradict each other: omit one of them")
    if yes and not (fix or unfix):
        raise click.UsageError("--yes goes with --fix or --unfix")
    machine = this_computer()
    if unfix:
        return _change_boot_config(machine, None, "--unfix", yes=yes, as_json=as_json)
    if profile is None and not fix and (findings := _examine_simulation()) is not None:
        return _report(findings, as_json)
    name = profile or os.environ.get("CUBIST_PROFILE") or machine.service_profile
    settings = _load_settings(name or DEFAULT_PROFILE, is_own=profile is None)
    if fix:
        again = f"--fix --robot {name}" if name else "--fix"
        return _change_boot_config(machine, settings, again, yes=yes, as_json=as_json)
    code = _report(_examine(settings, machine), as_json)
    if not machine.model:
        note("This is not a Raspberry Pi. To try Cubist without a robot: cubist simulate")
    return code


def _load_settings(name: str, *, is_own: bool) -> RobotProfile:
    """Return a profile; for this machine's own robot, the version that its owner has kept."""
    if not is_own:
        return load_profile(name)
    from robot.records.profile_versions import ProfileVersions

    try:
        return ProfileVersions(state_directory(), name).load()
    except BadProfile:
        return load_profile(name)  # the daemon's fault says what is wrong with the kept version


def _report(findings: Iterable[CheckResult], as_json: bool) -> ExitCode:
    """Print findings as they come, and return the exit code they mean."""
    found = []
    for finding in findings:
        found.append(finding)
        if as_json:
            emit(asdict(finding) | {"notes": list(note_documents(finding))})
        else:
            _tell(finding)
    return ExitCode.NO if worst(found) == "bad" else ExitCode.DONE


def this_computer() -> Computer:
    """Return the places where doctor looks; tests replace it."""
    return Computer()


def _change_boot_config(
    machine: Computer, profile: RobotProfile | None, again: str, *, yes: bool, as_json: bool
) -> int:
    """Show the change of config.txt for a robot (None: undo it), ask, and make it.

    ``again``: the options that repeat this. Return an exit code: done if config.txt is now right.
    """
    path = machine.boot_config
    if path is None:
        text = f"there is no config.txt below {machine.boot}: is this a Raspberry Pi?"
        if as_json:
            left = [] if profile is None else [{"text": text, "remedy": ""}]
            emit({"file": None, "diff": "", "changed": False, "remedy": "", "left": left})
        elif profile is None:
            note(f"nothing to undo: {text}")
        else:
            complain(text)
        return ExitCode.DONE if profile is None else ExitCode.NO
    change = plan_undo(path) if profile is None else plan_fix(path, profile, machine.model)
    if as_json and not yes and change.diff:
        raise click.UsageError("--json cannot ask: give --yes")
    if not as_json:
        click.echo(change.diff or f"{change.path}: nothing to change\n", nl=False)
    done, remedy = _write(change, machine, again, yes=yes) if change.diff else (False, "")
    if as_json:
        left = [{"text": need.text, "remedy": need.remedy} for need in change.left]
        answer = {"file": str(change.path), "diff": change.diff, "changed": done}
        emit(answer | {"remedy": remedy, "left": left})
    else:
        for need in change.left:
            complain(f"{need.text}. {need.remedy}")
        click.echo(remedy, nl=bool(remedy))
    right = not change.left and done == bool(change.diff)
    return ExitCode.DONE if right else ExitCode.NO


def _write(change: BootChange, machine: Computer, again: str, *, yes: bool) -> tuple[bool, str]:
    """Ask and write; return whether it was written, and what the person has to do next."""
    if not all(machine.may_use(place) for place in (change.path, change.path.parent)):
        return False, f"Nothing was changed. To change it: sudo cubist doctor {again}"
    if not yes:
        require_terminal("give --yes")
        if not click.confirm(f"Change {change.path} like this?"):
            return False, "Nothing was changed."
    change.write()
    kept = f"The original file is {change.backup}. " if change.backup.exists() else ""
    return True, f"{kept}It takes effect when the Pi restarts: sudo reboot"


def _examine(settings: RobotProfile, machine: Computer) -> Iterator[CheckResult]:
    yield from check_up(settings, state_directory(), machine)
    try:
        status = ControlClient().status()
        if status["simulated"]:
            raise DaemonError("Only a simulated robot's daemon answers.")
        yield _daemon(status)
        yield from _drivers(status)
        yield from _calibration(status["calibration"], status["robot"])
        yield from _drift(status)
    except DaemonError as error:
        for name, port in boards(settings, machine).items():
            if port.verdict == "ok":
                baud = settings.every_board[name].baud
                yield add_board_name(firmware(port.text, baud), name, settings)
        yield from _calibration_on_disk(settings)
        yield CheckResult("daemon", "warning", Note.of("no-daemon"), str(error))


def _examine_simulation() -> Iterator[CheckResult] | None:
    """Return the findings about the simulated robot that commands find; None if there is none.

    A simulated robot needs nothing from this computer but its own processes.
    """
    simulation = simulated_robot()
    if simulation is not None:
        return _examine_simulated_daemon(simulation.robot, ControlClient(simulation.control_socket))
    client = daemon_client()
    with contextlib.suppress(DaemonError, RequestError):
        if (status := client.status())["simulated"]:
            return _examine_simulated_daemon(status["robot"], client)
    return None


def _examine_simulated_daemon(robot: str, client: ControlClient) -> Iterator[CheckResult]:
    yield CheckResult("robot", "ok", Note.of("robot-simulated", robot=robot))
    try:
        status = client.status()
    except DaemonError as error:
        yield CheckResult("daemon", "bad", str(error), Note.of("simulate-again"))
        return
    yield _daemon(status)
    yield from _drivers(status)
    moved = _list_moved(status)
    coded = {note["text"]: _note_of(note) for note in status["notes"]}
    for warning in status["warnings"]:
        if warning not in moved:
            yield CheckResult("line", "warning", coded.get(warning, warning))
    yield from _drift(status)


def _daemon(status: RobotStatusJson) -> CheckResult:
    """Return the daemon's own finding, which includes whether the board's firmware is ours."""
    if status["fault"]:
        fault = status["fault"]
        coded = {note["text"]: _note_of(note) for note in fault["notes"]}
        cause, remedy = (coded.get(text, text) for text in (fault["cause"], fault["remedy"]))
        return CheckResult("daemon", "bad", cause, remedy, fault["code"], fault["detail"])
    text = Note.of("daemon-state", version=status["version"], state=status["state"])
    return CheckResult("daemon", "ok", text)


def _drivers(status: RobotStatusJson) -> Iterator[CheckResult]:
    """Report the stepper drivers on the board's UART as they were after the last motion."""
    for driver in status["drivers"]:
        name, celsius = driver["actuator"], driver["threshold_celsius"]
        if not driver["ready"]:
            text = Note.of("driver-not-set-up", actuator=name)
            yield CheckResult("driver", "bad", text, Note.of("home-for-fault"))
        elif celsius is not None:
            text = Note.of("driver-hot", actuator=name, celsius=celsius)
            yield CheckResult("driver", "warning", text, Note.of("cool-driver"))
        else:
            current, load = driver["current_scale"] + 1, driver["load"]
            text = Note.of("driver-works", actuator=name, current=current, load=load)
            yield CheckResult("driver", "ok", text)


def _calibration(found: CalibrationReportJson | None, robot: str) -> Iterator[CheckResult]:
    """Report date, origin and uncertainty of the calibration, and what is missing."""
    for told in calibration_notes(found, robot):
        verdict: Verdict = "warning" if told.code in CALIBRATION_GAPS else "ok"
        remedy = "cubist calibrate" if verdict == "warning" else ""
        yield CheckResult("calibration", verdict, told, remedy)


def _calibration_on_disk(settings: RobotProfile) -> Iterator[CheckResult]:
    """Report the same without a daemon; nothing if nothing was ever calibrated."""
    from robot.calibration.report import report_calibration
    from robot.calibration.store import CalibrationStore
    from robot.calibration.values import BadCalibration

    store = CalibrationStore(state_directory())
    try:
        is_kept = store.load(settings).version > 0
    except BadCalibration as error:
        yield CheckResult("calibration", "bad", str(error))
        return
    found = report_calibration(settings, store)
    if is_kept and found is not None:
        document = cast("CalibrationReportJson", found.model_dump(mode="json"))
        yield from _calibration(document, settings.name)


def _drift(status: RobotStatusJson) -> Iterator[CheckResult]:
    """Yield the parts that moved since calibration, if the daemon has seen enough to know."""
    for told in _list_moved(status):
        yield CheckResult("drift", "warning", told)
    for told in drift_notes(status):
        yield CheckResult("drift", "ok", told)


def _list_moved(status: RobotStatusJson) -> list[Note]:
    return [_note_of(note) for note in status["notes"] if note["code"] in DRIFT_NOTES]


def _note_of(told: NoteRecordJson) -> Note:
    """Return a note of a JSON document as a text with its code."""
    return Note.of(told["code"], told["text"], **told["parameters"])


def _tell(finding: CheckResult) -> None:
    click.secho(f"{finding.verdict:8}", fg=_COLOURS[finding.verdict], nl=False)
    text, remedy = translate_finding(finding)
    click.echo(f"{finding.about:8}  {text}")
    if remedy:
        click.echo(f"{'':18}{remedy}")
