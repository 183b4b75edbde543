"""``cubist calibrate all``: everything a new robot needs, in order; each step kept or undone."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from robot.cli.measuring import measure_colours, measure_timing, tell_colours, tell_timing
from robot.cli.output import ExitCode, emit, json_option, note
from robot.cli.positions import TABLES, maintenance, present, set_position, tell
from robot.daemon.client import ControlClient, NoDaemon
from robot.settings import RobotProfile, load_profile

STEPS = ("home", "positions", "camera", "colours", "timing")
KEEP, AGAIN, UNDO = "k", "a", "u"


@dataclass(frozen=True)
class Answers:
    """How the wizard is used: ``yes`` asks nothing; ``given`` are positions by calibration key."""

    profile: str
    yes: bool
    as_json: bool
    given: dict[str, int]


@click.command("all")
@click.option("--robot", "profile", required=True, help="The robot's profile: a name or a path.")
@click.option("--yes", is_flag=True, help="Ask nothing: keep the positions, keep what is measured.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="ACTUATOR.POSITION=VALUE",
    help="Set this position without asking.",
)
@click.option("--skip", multiple=True, type=click.Choice(STEPS), help="Leave this step out.")
@click.option(
    "--simulated/--real",
    default=None,
    help="A simulated robot to practise on; the usual where no cubistd runs.",
)
@json_option
def wizard(
    profile: str,
    yes: bool,
    settings: tuple[str, ...],
    skip: tuple[str, ...],
    simulated: bool | None,
    as_json: bool,
) -> int:
    """Calibrate a new robot from the first step to the last; put a scrambled cube in first."""
    robot = load_profile(profile)
    answers = Answers(profile, yes, as_json, _given(robot, settings))
    with _robot_to_calibrate(robot, simulated):
        for number, step in enumerate(STEPS):
            if step not in skip:
                note(f"step {number + 1} of {len(STEPS)}: {step}")
                _PERFORM[step](robot, answers)
    note("all steps are done; `cubist calibration diff` shows what was kept")
    return ExitCode.DONE


@contextlib.contextmanager
def _robot_to_calibrate(robot: RobotProfile, simulated: bool | None) -> Iterator[None]:
    """The daemon's robot, or one in simulation for as long as this lasts."""
    if simulated is None:
        simulated = not _daemon_runs()
    if not simulated:
        found = ControlClient().call("GET", "/calibration")["robot"]
        if found != robot.name:
            raise click.UsageError(f"cubistd controls {found}, not {robot.name}")
        yield
        return
    from robot.demo.practice import practising

    note(f"practising on a simulated {robot.name}: nothing is kept after the last step")
    with practising(robot):
        yield


def _daemon_runs() -> bool:
    try:
        ControlClient().status()
    except NoDaemon as error:
        if isinstance(error.__context__, PermissionError):
            raise
        return False
    return True


def _home(_: RobotProfile, answers: Answers) -> None:
    with maintenance() as client:
        client.call("POST", "/maintenance/home", {})
    _say({"step": "home", "homed": True}, answers.as_json, "everything is at its start position")


def _positions(robot: RobotProfile, answers: Answers) -> None:
    """Every named position of every actuator; those not asked about are moved to, as they are."""
    for key in _keys_of(robot):
        _decided(answers, partial(_one_position, key, answers), _tell_position)


def _one_position(key: str, answers: Answers) -> dict[str, Any]:
    target = answers.given.get(key)
    if target is None and answers.yes:
        target = present(ControlClient(), key, answers.profile)
    return set_position(key, target, True, answers.profile)


def _tell_position(done: dict[str, Any], as_json: bool) -> None:
    tell({"step": "positions"} | done, as_json)


def _camera(robot: RobotProfile, answers: Answers) -> None:
    from robot.cli.terminal_picture import advice, decode, half_blocks

    for camera in robot.cameras:
        with maintenance() as client:
            path = f"/maintenance/picture?camera={camera.name}"
            image = decode(base64.b64decode(client.call("GET", path)["jpeg"]))
        if not answers.yes:
            click.echo(half_blocks(image, 80))
        found = advice(image)
        text = "; ".join(f"{about}: {what}" for about, what in found.items())
        _say({"step": "camera", "camera": camera.name} | found, answers.as_json, text)


def _colours(_: RobotProfile, answers: Answers) -> None:
    _decided(
        answers,
        lambda: measure_colours(solved=False, facelets=None, save=True),
        lambda seen, as_json: tell_colours({"step": "colours"} | seen, as_json),
    )


def _timing(_: RobotProfile, answers: Answers) -> None:
    _decided(
        answers,
        lambda: measure_timing(save=True),
        lambda found, as_json: tell_timing({"step": "timing"} | found, as_json),
    )


_PERFORM: dict[str, Callable[[RobotProfile, Answers], None]] = {
    "home": _home,
    "positions": _positions,
    "camera": _camera,
    "colours": _colours,
    "timing": _timing,
}


def _decided(
    answers: Answers,
    perform: Callable[[], dict[str, Any]],
    show: Callable[[dict[str, Any], bool], None],
) -> None:
    """Perform a step until its result is kept, or undone."""
    while True:
        before = _calibrated()
        done = perform()
        show(done, answers.as_json)
        if answers.yes:
            return
        answer = click.prompt(
            "keep, again or undo", type=click.Choice([KEEP, AGAIN, UNDO]), default=KEEP, err=True
        )
        if answer != KEEP and done["saved"]:
            _undo(before)
        if answer != AGAIN:
            return


def _calibrated() -> dict[str, Any]:
    values: dict[str, Any] = ControlClient().call("GET", "/calibration")["values"]
    return values


def _undo(before: dict[str, Any]) -> None:
    """Put the values of before a step in the place of what it kept."""
    with maintenance() as client:
        values = dict.fromkeys(_calibrated()) | before
        client.call("PUT", "/calibration", {"values": values})


def _say(document: dict[str, Any], as_json: bool, text: str) -> None:
    if as_json:
        emit(document)
    else:
        note(text)


def _keys_of(robot: RobotProfile) -> list[str]:
    """The calibration's keys of all named positions."""
    return [
        f"actuators.{name}.{table}.{position}"
        for name, actuator in robot.actuators.items()
        if (table := TABLES.get(actuator.kind)) is not None
        for position in getattr(actuator, table)
    ]


def _given(robot: RobotProfile, settings: tuple[str, ...]) -> dict[str, int]:
    """``--set`` as calibration keys and values."""
    known = {f"{key.split('.')[1]}.{key.split('.')[3]}": key for key in _keys_of(robot)}
    given = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in known:
            raise click.UsageError(f"--set {setting}: there is {', '.join(known)}")
        try:
            given[known[name]] = int(value)
        except ValueError:
            raise click.UsageError(f"--set {setting}: {value!r} is no whole number") from None
    return given
