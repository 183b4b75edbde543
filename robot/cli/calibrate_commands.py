"""The commands of ``cubist calibrate`` that make one measurement: their arguments and help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import get_args

import click

from robot.calibration.step import Item, Items, Measurement, Session
from robot.cli.numbers import Number, Whole
from robot.settings.base import MAX_ACCELERATION, Site

Parameter = Callable[[Callable[..., int]], Callable[..., int]]
"""A click decorator that adds an argument or an option."""


@dataclass(frozen=True)
class Command:
    """A command that makes one measurement of a ``step``.

    ``begin`` creates the measurement from the session and the values of ``parameters`` by name. It
    returns None if arguments are missing; the screen then lists ``items``. ``saves``: whether
    values are kept by default (None: there is nothing to keep). ``unknown``: the message if nothing
    was found. ``group``: the command group that it belongs to.
    """

    name: str
    step: str
    help: str
    begin: Callable[..., Measurement | None]
    parameters: Sequence[Parameter] = ()
    saves: bool | None = True
    items: Items | None = None
    unknown: str = ""
    group: str = ""


GROUPS = {
    "stepper": (
        "Stepper motors: direction, steps, speed, backlash, positions.\n\n"
        "Without a command, it prompts in a terminal. Everything is tried on the motor, with the "
        "cube in the robot. Lost steps are corrected if a sensor or the camera can detect them."
    )
}
"""Groups of commands, each with its help."""


def _measurement(step: str, kind: str, **fixed: object) -> Callable[..., Measurement]:
    """Return a function that creates a measurement; its parameters are the class's arguments.

    It imports the step only when the command begins, so `cubist --help` does not wait for OpenCV.
    """

    def begin(session: Session, **values: object) -> Measurement:
        measurement = getattr(import_module(f"robot.calibration.steps.{step}"), kind)
        made: Measurement = measurement(session, **fixed, **values)
        return made

    return begin


def _position(
    kind: str,
    session: Session,
    actuator: str | None,
    position: str | None,
    target: int | None,
    begin_at: int | None,
) -> Measurement | None:
    """Move an actuator to a named position, if both are named."""
    from robot.calibration.steps.positions import Placing, named_position

    if actuator is None or position is None:
        return None
    return Placing(session, named_position(session, actuator, position, kind), target, begin_at)


def _jaws(
    session: Session,
    site: str | None,
    position: str | None,
    target: int | None,
    begin_at: int | None,
) -> Measurement | None:
    """Move the jaws at a site to a position, if both are named."""
    from robot.calibration.steps.positions import Placing, jaw_position

    if site is None or position is None:
        return None
    return Placing(session, jaw_position(session, site, position), target, begin_at)


def _servo_items(session: Session) -> Iterable[Item]:
    from robot.calibration.steps.positions import position_items

    return position_items(session, lambda one: one.unit == "us")


def _jaw_items(session: Session) -> Iterable[Item]:
    from robot.calibration.steps.positions import position_items

    jaws = {jaws.actuator for jaws in session.profile.mechanism.jaws.values()}
    return position_items(session, lambda one: one.actuator in jaws)


ACTUATOR = click.argument("actuator")
LARGEST_PLAY = 1000
FARTHEST = Whole(-1_000_000, 1_000_000)
PLACE = (
    click.option(
        "--to", "target", type=FARTHEST, help="New position (default: move with arrow keys)."
    ),
    click.option(
        "--from",
        "begin_at",
        type=FARTHEST,
        help="First pulse of a servo that has never moved. It jumps there: remove its arm.",
    ),
    click.option("--robot", "profile", help="Profile the daemon uses, if not the default."),
)


def _limit_command(what: str, unit: str) -> Command:
    """Return the command that finds the limit of a motor's ``what``, in ``unit``."""
    rate = Number(50, MAX_ACCELERATION)
    return Command(
        what,
        "steppers",
        f"Raise ACTUATOR's {what} until it loses steps; keep four fifths of the last good value."
        "\n\nIts sensor or the camera detects lost steps; without them, you are asked. If the loss "
        "cannot be corrected, set it square by hand.",
        _measurement("steppers", "Limit", what=what),
        [
            ACTUATOR,
            click.option("--held", is_flag=True, help="Load it with a layer of the held cube."),
            click.option("--from", "begin", type=rate, help=f"First value to try, in {unit}."),
            click.option("--up-to", "end", type=rate, help=f"Last value to try, in {unit}."),
            click.option("--last-good", type=rate, help="Keep a value you found, without trials."),
        ],
        unknown="start lower with --from",
        group="stepper",
    )


COMMANDS: tuple[Command, ...] = (
    Command(
        "servo",
        "positions",
        "Set POSITION of servo ACTUATOR (pulse width in us); prompts for missing arguments.",
        partial(_position, "servo"),
        [
            click.argument("actuator", required=False),
            click.argument("position", required=False),
            *PLACE,
        ],
        items=_servo_items,
    ),
    Command(
        "gripper",
        "positions",
        "Set how far the jaws at SITE open or close; prompts for missing arguments.",
        _jaws,
        [
            click.argument("site", type=click.Choice(get_args(Site)), required=False),
            click.argument("position", type=click.Choice(["open", "closed"]), required=False),
            *PLACE,
        ],
        items=_jaw_items,
    ),
    Command(
        "position",
        "steppers",
        "Set POSITION of stepper ACTUATOR, in steps from home.",
        partial(_position, "stepper"),
        [ACTUATOR, click.argument("position"), *PLACE],
        group="stepper",
    ),
    Command(
        "direction",
        "steppers",
        "Turn ACTUATOR by a quarter and back: clockwise is right, seen from outside the robot."
        "\n\nA turntable turns like the face below the cube: clockwise seen from below. A part "
        "that only moves back and forth moves towards higher steps first.",
        _measurement("steppers", "Direction"),
        [
            ACTUATOR,
            click.option(
                "--went",
                type=click.Choice(["right", "wrong"]),
                help="The direction you saw; `wrong` reverses it.",
            ),
        ],
        unknown="give --went right or --went wrong",
        group="stepper",
    ),
    Command(
        "steps",
        "steppers",
        "Turn ACTUATOR by whole turns and back, and check that they are whole.\n\nThe camera "
        "detects turns of twice or half the angle; `--turned` gives the angle to the degree.",
        _measurement("steppers", "TurnSteps"),
        [
            ACTUATOR,
            click.option(
                "--turns", type=Whole(1, 20), default=1, show_default=True, help="Number of turns."
            ),
            click.option("--turned", type=Number(1, 36_000), help="Degrees it turned, as you saw."),
        ],
        unknown="give --turned",
        group="stepper",
    ),
    _limit_command("speed", "steps/s"),
    _limit_command("acceleration", "steps/s^2"),
    Command(
        "backlash",
        "steppers",
        "Measure how far ACTUATOR reverses before the part it drives follows, in steps.",
        _measurement("steppers", "Backlash"),
        [
            ACTUATOR,
            click.option(
                "--to", "play", type=Whole(0, LARGEST_PLAY), help="Backlash that you saw, in steps."
            ),
        ],
        unknown="watch the part and give --to",
        group="stepper",
    ),
    Command(
        "home",
        "home",
        "Bring all actuators to their start positions, once positions and directions are kept.",
        _measurement("home", "Homing"),
        [
            click.option(
                "--as-profile",
                is_flag=True,
                help="Trust the profile's positions and directions, which nobody has confirmed.",
            )
        ],
        saves=None,
    ),
    Command(
        "travel",
        "travel",
        "Measure with the camera how long servo ACTUATOR takes from position START to END.\n\n"
        "It moves at full speed: keep clear.",
        _measurement("travel", "TravelTime"),
        [ACTUATOR, click.argument("start"), click.argument("end")],
        saves=False,
    ),
    Command(
        "colours",
        "colours",
        "Learn the colours of the cube in the robot, for reading it in any light.",
        _measurement("colours", "CubeColours"),
        [
            click.option("--solved", is_flag=True, help="The cube is solved (else it is read)."),
            click.option("--facelets", help="The cube's facelets, in URFDLB order."),
        ],
    ),
    Command(
        "timing",
        "timing",
        "Perform every operation and measure how long it takes.",
        _measurement("timing", "OperationTimes"),
    ),
)
"""All commands, in the order of the steps."""
