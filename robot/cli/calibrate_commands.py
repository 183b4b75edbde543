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
        "Without a command it asks, in a terminal. Everything is tried on the motor, with the "
        "cube in the robot; what it lost is put right again where a sensor or the camera can "
        "tell."
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
    click.option("--to", "target", type=FARTHEST, help="Where it should be; else arrow keys move."),
    click.option(
        "--from",
        "begin_at",
        type=FARTHEST,
        help="First pulse of a servo that was never moved: it jumps there; take its arm off.",
    ),
    click.option("--robot", "profile", help="Profile the daemon uses, if not the default."),
)


def _limit_command(what: str, unit: str) -> Command:
    """Return the command that finds the limit of a motor's ``what``, in ``unit``."""
    rate = Number(50, MAX_ACCELERATION)
    return Command(
        what,
        "steppers",
        f"Raise ACTUATOR's {what} until it loses steps; keep four fifths of the last that was good."
        "\n\nIts sensor tells, or the camera; else you are asked. After a loss that nothing can put"
        " right, set it square by hand.",
        _measurement("steppers", "Limit", what=what),
        [
            ACTUATOR,
            click.option("--held", is_flag=True, help="With a layer of the held cube as its load."),
            click.option("--from", "begin", type=rate, help=f"First, in {unit}."),
            click.option("--up-to", "end", type=rate, help=f"Last, in {unit}."),
            click.option("--last-good", type=rate, help="What you found: try nothing."),
        ],
        unknown="begin lower with --from",
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
        "\n\nA table turns as the face below the cube does: clockwise seen from below. What "
        "only goes to and fro goes towards higher steps first.",
        _measurement("steppers", "Direction"),
        [
            ACTUATOR,
            click.option(
                "--went",
                type=click.Choice(["right", "wrong"]),
                help="Which way you saw it go; `wrong` turns it round.",
            ),
        ],
        unknown="say --went right or wrong",
        group="stepper",
    ),
    Command(
        "steps",
        "steppers",
        "Turn ACTUATOR by whole turns and back, and see whether they are whole.\n\nThe camera "
        "finds a turn that is twice as long or short; `--turned` tells it to the degree.",
        _measurement("steppers", "TurnSteps"),
        [
            ACTUATOR,
            click.option(
                "--turns", type=Whole(1, 20), default=1, show_default=True, help="How many."
            ),
            click.option("--turned", type=Number(1, 36_000), help="Degrees it turned, as you saw."),
        ],
        unknown="say --turned",
        group="stepper",
    ),
    _limit_command("speed", "steps/s"),
    _limit_command("acceleration", "steps/s^2"),
    Command(
        "backlash",
        "steppers",
        "Measure how far ACTUATOR goes back before what it drives follows, in steps.",
        _measurement("steppers", "Backlash"),
        [
            ACTUATOR,
            click.option(
                "--to", "play", type=Whole(0, LARGEST_PLAY), help="Steps, as you saw them."
            ),
        ],
        unknown="use your eyes and say --to",
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
        "Watch with the camera how long servo ACTUATOR takes from position START to END.\n\n"
        "It goes there as fast as it can: keep clear.",
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
            click.option("--facelets", help="What cube it is, in URFDLB order."),
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
