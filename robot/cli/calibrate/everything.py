"""``cubist calibrate all``: everything a new robot needs, in order; each step kept or undone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import click

from robot.calibration.step import STEPS, Session, Step, steps_of
from robot.cli.calibrate.measuring import conduct, finish, on_screen
from robot.cli.output import json_option, note, require_terminal
from robot.client import ControlClient, NoDaemon
from robot.outcomes import ExitCode
from robot.settings import RobotProfile, load_profile


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
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(list(STEPS)),
    help="Leave this step out.",
)
@click.option(
    "--simulated/--real",
    default=None,
    help="A simulated robot to practise on; the usual where no cubistd runs.",
)
@json_option
def everything(
    profile: str,
    yes: bool,
    settings: tuple[str, ...],
    skip: tuple[str, ...],
    simulated: bool | None,
    as_json: bool,
) -> int:
    """Calibrate a new robot from the first step to the last; put a scrambled cube in first."""
    robot = load_profile(profile)
    given = dict(_given(robot, settings))
    steps = [step for step in steps_of(robot) if step.name not in skip]
    if not yes:
        require_terminal("--yes keeps what is measured without asking")
    with _robot_to_calibrate(robot, simulated):
        if not yes:
            return on_screen(Session(profile=robot), *steps, as_json=as_json)
        _perform_all(Session(profile=robot), steps, given, as_json)
    note("all steps are done; `cubist calibration diff` shows what was kept")
    return ExitCode.DONE


def _perform_all(
    session: Session, steps: Sequence[Step], given: dict[str, int], as_json: bool
) -> None:
    """All that nobody has to watch."""
    unasked = [step for step in steps if step.unattended or step.begin]
    for number, step in enumerate(unasked):
        note(f"step {number + 1} of {len(unasked)}: {step.name}")
        with session.maintenance():
            for measurement in step.unasked(session, given):
                conduct(measurement, as_json)
                kept = session.keep(measurement.values)
                finish(measurement, kept, as_json, step=step.name, **measurement.label)


@contextlib.contextmanager
def _robot_to_calibrate(robot: RobotProfile, simulated: bool | None) -> Iterator[None]:
    """The daemon's robot, or one in simulation for as long as this lasts."""
    if simulated is None:
        simulated = not _daemon_runs()
    if not simulated:
        found = Session().calibration.robot
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


def _given(robot: RobotProfile, settings: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """``--set`` as calibration keys and values."""
    from robot.calibration.positions import position_keys

    known = position_keys(robot)
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in known:
            raise click.UsageError(f"--set {setting}: there is {', '.join(known)}")
        try:
            yield known[name], int(value)
        except ValueError:
            raise click.UsageError(f"--set {setting}: {value!r} is no whole number") from None
