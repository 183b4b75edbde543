"""``cubist calibrate all``: everything a new robot needs, in order; each step kept or undone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from robot.calibration.ramp import stepper_of, steppers_of
from robot.cli.calibrate.camera import LookedAt
from robot.cli.calibrate.interactive import require_terminal, show_screens
from robot.cli.calibrate.measures import measure_colours, measure_timing, tell_colours, tell_timing
from robot.cli.output import emit, json_option, note
from robot.cli.positions import keep, maintenance, present, tell, walk_to
from robot.client import ControlClient, NoDaemon
from robot.machine.first_contact import direction_key, largest_step
from robot.outcomes import ExitCode
from robot.settings import RobotProfile, load_profile

STEPS = ("positions", "steppers", "home", "camera", "travel", "colours", "timing")

FOR_EYES = frozenset({"travel"})
"""Steps that need somebody who watches: left out when nobody is asked."""


@dataclass(frozen=True)
class Answers:
    """What the wizard is told from the start; ``given`` are positions by calibration key."""

    profile: str
    as_json: bool
    given: dict[str, int]


@click.command("all")
@click.option("--robot", "profile", required=True, help="The robot's profile: a name or a path.")
@click.option("--yes", is_flag=True, help="Ask nothing: keep what is told and measured.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="ACTUATOR.POSITION=VALUE",
    help="With --yes: set this position.",
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
    from robot.cli.guide.app import steps_of

    robot = load_profile(profile)
    answers = Answers(profile, as_json, _given(robot, settings))
    needed = steps_of(robot)
    steps = [step for step in STEPS if step in needed and step not in skip]
    if not yes:
        require_terminal("--yes keeps what is measured without asking")
    with _robot_to_calibrate(robot, simulated):
        if not yes:
            return show_screens(robot, steps, as_json)
        unasked = [step for step in steps if step not in FOR_EYES]
        for number, step in enumerate(unasked):
            note(f"step {number + 1} of {len(unasked)}: {step}")
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
    from robot.simulate.simulate import practising

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


def _steppers(robot: RobotProfile, answers: Answers) -> None:
    """The steps of a turn, and the play, where they can be seen; directions are for eyes, and how
    fast a motor may be is found out with somebody there."""
    with maintenance() as client:
        for name in steppers_of(robot):
            rotary = stepper_of(robot, name).steps_per_turn is not None
            for what in ("steps", "play") if rotary else ("play",):
                found = client.call("POST", f"/maintenance/{what}", {"actuator": name})
                kept = keep(client, found["values"])
                document = {"step": "steppers", "what": what} | found | {"saved": kept}
                _say(document, answers.as_json, f"{name}, {what}: {_seen(found)}")


def _seen(found: dict[str, Any]) -> str:
    value = found.get("found_steps", found.get("play_steps"))
    return "nothing sees it" if value is None else f"{value} steps"


def _positions(robot: RobotProfile, answers: Answers) -> None:
    """Every named position of every actuator, as told or as it is, gone to in small steps; the
    directions of steppers are taken as they are."""
    with maintenance() as client:
        for name in steppers_of(robot):
            key = direction_key(name)
            if key not in client.call("GET", "/calibration")["values"]:
                keep(client, {key: stepper_of(robot, name).invert_direction})
        for key in _keys_of(robot):
            name = key.split(".")[1]
            now = present(client, key, answers.profile)
            target = answers.given.get(key, now)
            actuator = robot.actuators[name]
            begin = sum(actuator.limits) // 2 if actuator.limits is not None else now
            walk_to(client, name, target, begin, largest_step(actuator) or 0)
            keep(client, {key: target})
            done = {"key": key, "before": now, "after": target, "saved": True}
            tell({"step": "positions"} | done, answers.as_json)


def _camera(robot: RobotProfile, answers: Answers) -> None:
    for camera in robot.cameras:
        with maintenance() as client:
            client.call("POST", "/maintenance/home", {"as_profile": True})  # out of the picture
            found = LookedAt(client, camera.name).advice()
        text = "; ".join(f"face {site}: {', '.join(lines)}" for site, lines in found.items())
        document = {"step": "camera", "camera": camera.name, "views": found}
        _say(document, answers.as_json, f"camera {camera.name}: {text}")


def _colours(_: RobotProfile, answers: Answers) -> None:
    seen = measure_colours(solved=False, facelets=None, save=True)
    tell_colours({"step": "colours"} | seen, answers.as_json)


def _timing(_: RobotProfile, answers: Answers) -> None:
    tell_timing({"step": "timing"} | measure_timing(save=True), answers.as_json)


_PERFORM: dict[str, Callable[[RobotProfile, Answers], None]] = {
    "positions": _positions,
    "steppers": _steppers,
    "home": _home,
    "camera": _camera,
    "colours": _colours,
    "timing": _timing,
}


def _say(document: dict[str, Any], as_json: bool, text: str) -> None:
    if as_json:
        emit(document)
    else:
        note(text)


def _keys_of(robot: RobotProfile) -> list[str]:
    """The calibration's keys of all named positions."""
    return [
        f"actuators.{name}.{actuator.positions_key}.{position}"
        for name, actuator in robot.actuators.items()
        for position in actuator.places
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
