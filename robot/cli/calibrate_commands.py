"""The commands below ``cubist calibrate`` that make one measurement: their arguments and words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

from robot.calibration.step import Item, Items, Measurement, Session
from robot.settings.base import Site


@dataclass(frozen=True)
class Question:
    """An argument or an option of a command, named like the argument of ``begin`` that it fills.

    ``kind``: ``bool`` is a flag, ``int`` and ``float`` have limits, ``str`` is text, and a sequence
    of texts is a choice. ``option``: its name on the command line; empty: an argument, which may be
    left out unless it is ``required``.
    """

    name: str
    kind: type | Sequence[str]
    option: str = ""
    help: str = ""
    limits: tuple[float, float] = (0, 0)
    default: float | str | None = None
    required: bool = True


@dataclass(frozen=True)
class Command:
    """A command that makes one measurement of a ``step``.

    ``begin`` makes it ready, given the session and an answer to each question. It returns None if
    arguments are missing; the screen then lists ``items``. ``saves``: whether values are kept by
    default; None: there is nothing to keep. ``unknown``: what to say if nothing could be found.
    ``group``: the group of commands that it belongs to.
    """

    name: str
    step: str
    help: str
    begin: Callable[..., Measurement | None]
    questions: Sequence[Question] = ()
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


# A step is imported when its command begins, so that `cubist --help` does not wait for OpenCV.


def _homing(session: Session, as_profile: bool) -> Measurement:
    from robot.calibration.steps.home import Homing

    return Homing(session, as_profile)


def _colours(session: Session, facelets: str | None, solved: bool) -> Measurement:
    from robot.calibration.steps.colours import CubeColours

    return CubeColours(session, facelets, solved)


def _timing(session: Session) -> Measurement:
    from robot.calibration.steps.timing import OperationTimes

    return OperationTimes(session)


def _travel(session: Session, actuator: str, start: str, end: str) -> Measurement:
    from robot.calibration.steps.travel import TravelTime

    return TravelTime(session, actuator, start, end)


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


def _direction(session: Session, actuator: str, went: str | None) -> Measurement:
    from robot.calibration.steps.steppers import Direction

    return Direction(session, actuator, went)


def _steps(session: Session, actuator: str, turns: int, turned: float | None) -> Measurement:
    from robot.calibration.steps.steppers import TurnSteps

    return TurnSteps(session, actuator, turns, turned)


def _limit(
    what: str,
    session: Session,
    actuator: str,
    held: bool,
    begin: float | None,
    end: float | None,
    last_good: float | None,
) -> Measurement:
    from robot.calibration.steps.steppers import Limit

    return Limit(session, actuator, what, held, last_good, begin=begin, end=end)


def _backlash(session: Session, actuator: str, play: int | None) -> Measurement:
    from robot.calibration.steps.steppers import Backlash

    return Backlash(session, actuator, play)


FARTHEST = (-1_000_000, 1_000_000)
LARGEST_PLAY = 1000

ACTUATOR = Question("actuator", str)
PLACE = (
    Question("target", int, "--to", "Where it should be; else arrow keys move.", FARTHEST),
    Question(
        "begin_at",
        int,
        "--from",
        "First pulse of a servo that was never moved: it jumps there; take its arm off.",
        FARTHEST,
    ),
    Question("profile", str, "--robot", "Profile the daemon uses, if not the default."),
)


def _limit_command(what: str, unit: str) -> Command:
    """Return the command that finds how high a motor's ``what`` may be."""
    limits = (50, 10_000_000)
    return Command(
        what,
        "steppers",
        f"Raise ACTUATOR's {what} until it loses steps; keep four fifths of the last that was good."
        "\n\nIts sensor tells, or the camera; else you are asked. After a loss that nothing can put"
        " right, set it square by hand.",
        partial(_limit, what),
        [
            ACTUATOR,
            Question("held", bool, "--held", "With a layer of the held cube as its load."),
            Question("begin", float, "--from", f"First, in {unit}.", limits),
            Question("end", float, "--up-to", f"Last, in {unit}.", limits),
            Question("last_good", float, "--last-good", "What you found: try nothing.", limits),
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
            Question("actuator", str, required=False),
            Question("position", str, required=False),
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
            Question("site", get_args(Site), required=False),
            Question("position", ("open", "closed"), required=False),
            *PLACE,
        ],
        items=_jaw_items,
    ),
    Command(
        "position",
        "steppers",
        "Set POSITION of stepper ACTUATOR, in steps from home.",
        partial(_position, "stepper"),
        [ACTUATOR, Question("position", str), *PLACE],
        group="stepper",
    ),
    Command(
        "direction",
        "steppers",
        "Turn ACTUATOR by a quarter and back: clockwise is right, seen from outside the robot."
        "\n\nA table turns as the face below the cube does: clockwise seen from below. What "
        "only goes to and fro goes towards higher steps first.",
        _direction,
        [
            ACTUATOR,
            Question(
                "went",
                ("right", "wrong"),
                "--went",
                "Which way you saw it go; `wrong` turns it round.",
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
        _steps,
        [
            ACTUATOR,
            Question("turns", int, "--turns", "How many.", (1, 20), default=1),
            Question("turned", float, "--turned", "Degrees it turned, as you saw.", (1, 36_000)),
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
        _backlash,
        [ACTUATOR, Question("play", int, "--to", "Steps, as you saw them.", (0, LARGEST_PLAY))],
        unknown="use your eyes and say --to",
        group="stepper",
    ),
    Command(
        "home",
        "home",
        "Bring all actuators to their start positions, once positions and directions are kept.",
        _homing,
        [
            Question(
                "as_profile",
                bool,
                "--as-profile",
                "Trust the profile's positions and directions, which nobody has confirmed.",
            )
        ],
        saves=None,
    ),
    Command(
        "travel",
        "travel",
        "Watch with the camera how long servo ACTUATOR takes from position START to END.\n\n"
        "It goes there as fast as it can: keep clear.",
        _travel,
        [ACTUATOR, Question("start", str), Question("end", str)],
        saves=False,
    ),
    Command(
        "colours",
        "colours",
        "Learn the colours of the cube in the robot, for reading it in any light.",
        _colours,
        [
            Question("solved", bool, "--solved", "The cube is solved (else it is read)."),
            Question("facelets", str, "--facelets", "What cube it is, in URFDLB order."),
        ],
    ),
    Command("timing", "timing", "Perform every operation and measure how long it takes.", _timing),
)
"""In the order of the steps."""
