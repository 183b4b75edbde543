"""What a step of calibration is: commands, screens and the control socket drive the same objects.

    Step ("steppers")  ->  Measurement ("table backlash")  ->  Trial (POST /maintenance/play)

A *step* is a line of the menu and a part of ``cubist calibrate all``. It offers *measurements*, one
for each thing that can be calibrated on a robot, in lists on the screen and through *commands*. A
measurement asks the robot for *trials*, each an operation of the control socket, and ends with the
values that would be kept. Keeping and undoing them is the session's part, for all of them alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass

from robot.calibration.session import Session
from robot.calibration.trial import AnyTrial
from robot.documents import JsonMapping, JsonObject
from robot.settings import RobotProfile
from solver.errors import CubistError


class NotPossible(CubistError, ValueError):
    """What was asked for does not exist on this robot or has no meaning; the text says what has."""


@dataclass(frozen=True)
class Row:
    """A line of a result, one cell for each of the measurement's columns.

    ``document``: the same as JSON, where it is a line there as well. ``colour``: linear light to
    show behind the first cell.
    """

    cells: tuple[str, ...]
    document: JsonMapping | None = None
    colour: Sequence[float] | None = None


@dataclass(frozen=True)
class Doubt:
    """A question that only somebody who watches can answer with yes or no."""

    question: str


Script = Generator[Row | Doubt, bool | None, None]
"""A measurement under way: what it shows and asks. A doubt is answered by ``send``, with None where
nobody is there."""


class Measurement(ABC):
    """One thing to calibrate on one robot: how it is measured, or set by eye, and what to keep.

    ``name`` is its heading, ``guidance`` says what to do on its screen, ``columns`` head its rows.
    ``choices`` are keys, with their labels, that begin it in another way. ``label`` is added to its
    line of ``calibrate all``. ``doubts``: whether it may ask. ``keeps``: whether it has anything to
    keep.

    What was found: ``values`` by their keys in the calibration, empty where nothing is to be kept;
    ``document`` as JSON; ``text`` for people; ``is_found`` is False where nothing could tell.
    """

    name = ""
    guidance = ""
    columns: Sequence[str] = ()
    choices: Mapping[str, str] = {}
    label: Mapping[str, str] = {}
    doubts = False
    keeps = True

    def __init__(self) -> None:
        self.values: JsonObject = {}
        self.document: JsonObject = {}
        self.text = ""
        self.is_found = True

    @abstractmethod
    def measure(self, session: Session, choice: str = "") -> Script:
        """Measure, step by step, in a robot under maintenance; raises what the session raises."""

    @property
    def needs_screen(self) -> bool:
        """Whether somebody has to do it with keys, because not all was said."""
        return False

    @property
    def value(self) -> float | None:
        """What can be set by eye; None: nothing can."""
        return None

    def adjust(self, steps: int) -> None:  # noqa: B027  # nothing, where there is no value
        """Set it by eye: one or ten steps up or down."""


@dataclass(frozen=True)
class Question:
    """Something that a person may say of a measurement: an argument or an option of its command.

    ``kind``: ``bool`` is a flag, ``int`` and ``float`` have limits, ``str`` is text, and a sequence
    of texts is what can be chosen from. ``option``: its name on the command line; empty: an
    argument, which may be left out only if it is not ``required``.
    """

    name: str
    kind: type | Sequence[str]
    option: str = ""
    help: str = ""
    limits: tuple[float, float] = (0, 0)
    default: float | str | None = None
    required: bool = True


@dataclass(frozen=True)
class Item:
    """A line of a step's list: its cells, and how the measurement behind it begins."""

    cells: tuple[str, ...]
    begin: Callable[[], Measurement]


Items = Callable[[Session], Iterable[Item]]


@dataclass(frozen=True)
class Command:
    """A command that makes one measurement.

    ``begin`` has it ready, given the session and an argument of its name for each question.
    Where not enough was said ``begin`` returns None, and the screen shows ``items``. ``saves``:
    whether values are kept when nothing is said about it; None: there is nothing to keep.
    """

    name: str
    help: str
    begin: Callable[..., Measurement | None]
    questions: Sequence[Question] = ()
    saves: bool | None = True
    items: Items | None = None


@dataclass(frozen=True)
class Step:
    """A part of the calibration of a new robot, and all that belongs to it.

    It has one measurement, ``begin``, or several in a list: ``items`` under ``columns``.
    ``unattended`` yields those that ``cubist calibrate all --yes`` makes, each after the one
    before it is kept, given positions by their keys; None: the step needs somebody who watches.
    ``group`` is the name and the help of a group of its commands.
    """

    name: str
    title: str
    guidance: str = ""
    trials: Sequence[AnyTrial] = ()
    commands: Sequence[Command] = ()
    group: tuple[str, str] | None = None
    begin: Callable[[], Measurement] | None = None
    columns: Sequence[str] = ()
    items: Items | None = None
    unattended: Callable[[Session, Mapping[str, int]], Iterable[Measurement]] | None = None
    is_needed: Callable[[RobotProfile], bool] = lambda _: True
