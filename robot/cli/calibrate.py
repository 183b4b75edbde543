"""``cubist calibrate``: adjust a robot while its daemon runs. Each change is tried, then kept.

The commands that make one measurement are in :mod:`robot.cli.calibrate_commands`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from robot.api.calibrations import Calibration
from robot.calibration.step import STEPS, Session, Step, steps_of
from robot.calibration.values import apply
from robot.cli.calibrate_commands import COMMANDS, GROUPS, Command
from robot.cli.measuring import (
    TAKE_OVER,
    calibrate_on_screen,
    calibrating,
    conduct,
    finish,
    open_session,
)
from robot.cli.numbers import Number, Whole, misadjust_option, size_option
from robot.cli.output import (
    BY_KEY,
    Listing,
    find_daemon,
    json_option,
    note,
    printing_beside,
    refuse_two_outputs,
    require_terminal,
)
from robot.settings import DEFAULT_PROFILE, RobotProfile, load_profile
from robot.settings.profile import for_cube
from robot.text.faults import RobotError, exit_code_of
from robot.text.outcomes import worst
from robot.text.terminal import picture_text
from solver.errors import CubistError, ExitCode
from solver.files import JsonMapping

if TYPE_CHECKING:
    from robot.calibration.auto.calibration import AutomaticCalibration
    from robot.calibration.steps.camera import Image
    from robot.twin.misadjustment import Misadjustment
    from robot.twin.simulated import SimulatedRobot

AUTOMATIC_SPEED = 1.0
"""Simulated seconds per second: real time, for as many pictures as a real camera would take."""


@click.group(cls=Listing, invoke_without_command=True)
@click.option("--take-over", is_flag=True, help="End another person's calibration session.")
@click.pass_context
def calibrate(ctx: click.Context, take_over: bool) -> int:
    """Adjust the robot; the daemon is in maintenance while this command runs.

    Without a command, a screen in the terminal asks what to calibrate. Most robots with a camera
    that sees the cube can find their values themselves: start with `auto`.
    """
    ctx.meta[TAKE_OVER] = take_over
    return ExitCode.DONE if ctx.invoked_subcommand else calibrate_on_screen(open_session())


@calibrate.command()
@click.option("--camera", help="Camera to show (default: the first).")
@click.option("--live", is_flag=True, help="Show it live, and move the frames of the faces.")
@click.option("--place", metavar="SITE", help="Find the face at SITE and keep its position.")
@click.option("--save/--try", default=True, help="Keep the position found, or only look for it.")
@click.option(
    "--save-to",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A JPEG file; - for standard output.",
)
@click.option("--width", type=Whole(20, 400), default=80, show_default=True)
@json_option
def camera(  # one argument per option
    camera: str | None,
    live: bool,
    place: str | None,
    save: bool,
    save_to: Path | None,
    width: int,
    as_json: bool,
) -> int:
    """Show a camera's picture in the terminal, with advice about framing, light and focus."""
    from robot.calibration.steps.camera import CameraAdvice
    from robot.records.storage import write_given

    refuse_two_outputs(save_to, as_json)
    session = open_session()
    if live:
        return calibrate_on_screen(session, STEPS["camera"], as_json=as_json)
    view = CameraAdvice(session, camera, place)
    with calibrating(session), printing_beside(save_to):
        view.take()
        if save_to:
            write_given(save_to, view.jpeg)
        if not (as_json or place):
            _print_picture(view.draw(), width)
        conduct(view, as_json)
        kept = save and view.keep()
    with printing_beside(save_to):
        return finish(view, kept, as_json)


def _print_picture(image: Image, width: int) -> None:
    """Print a picture ``width`` columns wide, or a note if the terminal has no colours."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    if console.color_system is None:
        note("a picture needs a terminal with colours; --save-to writes it to a JPEG file")
        return
    console.print(picture_text(image, width, image.shape[0]))


simulated_option = click.option(
    "--simulated/--real",
    default=None,
    help="Use a simulated robot for practice (default if cubistd is not running).",
)


class Which(TypedDict):
    """The options that select the robot and the cube."""

    simulated: bool | None
    size: int | None
    misadjusted: Misadjustment | None


@calibrate.command("all")
@click.option("--robot", "profile", required=True, help="The robot's profile: a name or a path.")
@click.option("--yes", is_flag=True, help="Do not ask; keep the given and measured values.")
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
    help="Skip this step.",
)
@simulated_option
@size_option
@misadjust_option
@json_option
def everything(
    profile: str,
    yes: bool,
    settings: tuple[str, ...],
    skip: tuple[str, ...],
    as_json: bool,
    **which: Unpack[Which],
) -> int:
    """Calibrate a new robot from the first step to the last; put a scrambled cube in first."""
    robot = _set_up_for(load_profile(profile), which)
    given = dict(_parse_settings(robot, settings))
    if _is_simulated(which):
        apply(robot, Calibration(robot=robot.name, values=given))  # before it starts
    steps = [step for step in steps_of(robot) if step.name not in skip]
    if not yes:
        require_terminal("--yes keeps measured values without asking")
    # At the screen, motions are filmed too, which takes real time.
    with _robot_to_calibrate(robot, which, None if yes else AUTOMATIC_SPEED) as twin:
        if not yes:
            return calibrate_on_screen(open_session(robot), *steps, as_json=as_json)
        code = _perform_all(open_session(robot), steps, given, as_json)
    kept = "`cubist calibration diff` shows the values kept" if twin is None else "nothing was kept"
    note(f"all steps are done; {kept}")
    return code


def _perform_all(
    session: Session, steps: Sequence[Step], given: dict[str, int], as_json: bool
) -> ExitCode:
    """Perform the steps that need no supervision, in one session: a stop ends all of them.

    Returns the exit code of the worst result.
    """
    codes: list[ExitCode] = []
    unasked = [step for step in steps if step.measures_unattended]
    with calibrating(session):
        for number, step in enumerate(unasked):
            note(f"step {number + 1} of {len(unasked)}: {step.name}")
            for measurement in step.unattended_measurements(session, given):
                conduct(measurement, as_json)
                kept = measurement.keep()
                label = {"step": step.name, **measurement.label}
                codes.append(finish(measurement, kept, as_json, **label))
    return worst(codes)


@calibrate.command("auto")
@click.option("--robot", "profile", help="The robot's profile (default: the daemon's).")
@simulated_option
@size_option
@misadjust_option
@click.option(
    "--only",
    metavar="STAGE",
    help="Calibrate only this again and keep the rest: an actuator, camera, times or colours.",
)
@click.option(
    "--faster",
    type=Number(1, 50),
    metavar="PERCENT",
    help="Shorten times by up to PERCENT, as long as cubes are still solved.",
)
@click.option("--save/--try", default=True, help="Keep the values found, or only try.")
@json_option
def automatic(
    profile: str | None,
    only: str | None,
    faster: float | None,
    save: bool,
    as_json: bool,
    **which: Unpack[Which],
) -> int:
    """Let the robot find its positions, times and colours itself, by watching the cube.

    Insert a scrambled cube, square to the robot, with a lid open or grippers closed, and keep
    clear. This takes one minute with six motors, six to ten with most robots, and up to half an
    hour with four grippers on servos. The values are kept once solves have proven them. Ctrl-C
    leaves the calibration as it was.
    """
    from robot.calibration.auto.calibration import AutomaticCalibration, require_finder, stages_of

    robot = _set_up_for(load_profile(profile or _usual_robot(which["simulated"])), which)
    if only is not None and only not in stages_of(robot):
        raise click.UsageError(f"--only {only}: choose from {', '.join(stages_of(robot))}")
    if only is not None and _is_simulated(which):
        raise click.UsageError(
            f"--only {only} needs a calibrated robot, and a simulated one that starts with this "
            "command is not: start `cubist simulate`, then run `cubist calibrate auto` once "
            "without --only"
        )
    try:
        require_finder(robot)  # before a simulated robot starts
        with _robot_to_calibrate(robot, which, AUTOMATIC_SPEED) as twin:
            clock = time.monotonic if twin is None else lambda: twin.time_us / 1e6
            measurement = AutomaticCalibration(
                open_session(robot), clock, only, (faster or 0.0) / 100
            )
            kept = _calibrate_and_keep(measurement, save, as_json)
            if twin is None:
                return finish(measurement, kept, as_json)
            violations = [violation.as_dict() for violation in twin.violations]
    except CubistError as error:  # there is no robot to calibrate
        failed = AutomaticCalibration(open_session(robot))
        failed.end(error)
        finish(failed, False, as_json)
        return exit_code_of(error)
    errors = _true_errors(robot, twin, measurement.tried_values)
    for violation in violations:
        note(f"the simulated robot: {violation['text']} ({violation['kind']})")
    code = finish(measurement, kept, as_json, violations=violations, truth_error_degrees=errors)
    return ExitCode.NO if violations and code is ExitCode.DONE else code


def _calibrate_and_keep(measurement: AutomaticCalibration, save: bool, as_json: bool) -> bool:
    """Measure, and return whether values were kept. An error or Ctrl-C ends the measurement."""
    try:
        with calibrating(measurement.session):
            conduct(measurement, as_json)
            return save and measurement.keep()
    except KeyboardInterrupt:
        measurement.end(RobotError("calibration-stopped", BY_KEY))
    except CubistError as error:
        measurement.end(error)
    return False


def _true_errors(
    robot: RobotProfile, twin: SimulatedRobot, values: JsonMapping
) -> dict[str, float]:
    """Return the errors of found positions, in degrees, against the simulated robot's true ones."""
    from robot.twin.registry import position_errors

    errors = position_errors(robot, twin.misadjusted, values)
    return {key: round(degrees, 2) for key, degrees in errors.items()}


def _set_up_for(robot: RobotProfile, which: Which) -> RobotProfile:
    """Return the robot set up for the requested cube size; only a simulated robot takes one.

    Raises :class:`robot.settings.profile.UnsupportedSize`.
    """
    if which["size"] is not None and not _is_simulated(which):
        raise click.UsageError("--size is for a simulated robot: add --simulated")
    return for_cube(robot, which["size"])


def _usual_robot(simulated: bool | None) -> str:
    """Return the robot to calibrate if none is named."""
    if simulated or find_daemon() is None:
        return DEFAULT_PROFILE
    return Session().calibration.robot


@contextlib.contextmanager
def _robot_to_calibrate(
    robot: RobotProfile,
    which: Which,
    speed: float | None = None,
) -> Iterator[SimulatedRobot | None]:
    """Run a simulated robot at ``speed`` and yield it, or yield None for the daemon's robot."""
    simulated, misadjusted = _is_simulated(which), which["misadjusted"]
    if misadjusted is not None and not simulated:
        raise click.UsageError("--misadjust is for a simulated robot: add --simulated")
    if not simulated:
        found = Session().calibration.robot
        if found != robot.name:
            raise click.UsageError(f"cubistd controls {found}, not {robot.name}")
        yield None
        return
    from robot.simulate.simulation import SPEED, robot_to_practise_on

    note(f"practising on a simulated {robot.name}: nothing is kept after the last step")
    with robot_to_practise_on(robot, misadjusted=misadjusted, speed=speed or SPEED) as twin:
        yield twin


def _is_simulated(which: Which) -> bool:
    simulated = which["simulated"]
    return find_daemon() is None if simulated is None else simulated


def _parse_settings(robot: RobotProfile, settings: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield the calibration keys and values given by ``--set``."""
    from robot.calibration.steps.positions import position_keys

    known = position_keys(robot)
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in known:
            raise click.UsageError(
                f"--set {setting}: no such position; choose from {', '.join(known)}"
            )
        try:
            yield known[name], int(value)
        except ValueError:
            raise click.UsageError(f"--set {setting}: {value!r} is not a whole number") from None


def _group(name: str, text: str, step: str) -> click.Group:
    @click.group(name, cls=Listing, invoke_without_command=True, help=text)
    @click.pass_context
    def group(ctx: click.Context) -> int:
        done = ctx.invoked_subcommand is not None
        return ExitCode.DONE if done else calibrate_on_screen(open_session(), STEPS[step])

    return group


def _add_commands() -> None:
    """Add the commands that make one measurement, some in a group of their own."""
    groups: dict[str, click.Group] = {"": calibrate}
    for command in COMMANDS:
        name = command.group
        if name not in groups:
            groups[name] = _group(name, GROUPS[name], command.step)
            calibrate.add_command(groups[name])
        groups[name].add_command(_command(command))


def _command(command: Command) -> click.Command:
    def perform(
        as_json: bool, save: bool = True, profile: str | None = None, **said: object
    ) -> int:
        session = open_session(load_profile(profile) if profile else None)
        measurement = command.begin(session, **said)
        if measurement is None or measurement.needs_screen:
            step = STEPS[command.step]
            return calibrate_on_screen(
                session, step, items=command.items, measurement=measurement, as_json=as_json
            )
        with calibrating(session):
            conduct(measurement, as_json)
            kept = save and measurement.keep()
        code = finish(measurement, kept, as_json)
        if command.unknown and not measurement.is_found:
            note(command.unknown)
        return code

    perform = json_option(perform)
    if command.saves is not None:
        text = "Keep the values found, or only try."
        perform = click.option("--save/--try", default=command.saves, help=text)(perform)
    for parameter in reversed(command.parameters):
        perform = parameter(perform)
    return click.command(command.name, help=command.help)(perform)


_add_commands()
