"""What a step of calibration is: commands, screens and the control socket drive the same objects.

    Step ("steppers")  ->  Measurement ("table backlash")  ->  Trial (POST /maintenance/play)

A *step* is a line of the menu and a part of ``cubist calibrate all``. It offers *measurements*, one
for each thing that can be calibrated on a robot, in lists on the screen and through *commands*. A
measurement asks the robot for *trials*, each an operation of the control socket, and ends with the
values that would be kept. All of that goes through a *session*, which also keeps and undoes values,
for all of them alike.

A step is a module of :mod:`robot.calibration.steps`. It registers itself in :data:`STEPS` when it
is first used.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from robot.api.calibrations import Calibration
from robot.api.client import ControlClient
from robot.calibration.store import apply
from robot.calibration.trials.trial import AnyTrial, Asked, Found, Trial
from robot.records.documents import check_document
from robot.settings import RobotProfile, load_profile
from robot.settings.kinds import Kinds
from robot.settings.other_cubes import for_cube
from solver.errors import CubistError, ExitCode
from solver.files import JsonMapping, JsonObject

LONGEST_TRIAL_S = 600.0
ANSWER = "cubistd's answer"
"""A scan by a slow robot takes a minute, timing its operations a few."""


class NotPossible(CubistError, ValueError):
    """What was asked for does not exist on this robot or has no meaning; the text says what has."""

    code = "not-possible"
    exit_code = ExitCode.USAGE


class Session:
    """The daemon's robot, and what was kept since the start, so that it can be undone.

    ``profile``: where it is not the one of the daemon's robot's name. ``place``: where the person
    is. All methods block; they raise what :class:`ControlClient` raises, and ``BadCalibration``.
    """

    def __init__(
        self,
        client: ControlClient | None = None,
        profile: RobotProfile | None = None,
        place: str = "terminal",
    ) -> None:
        self._place = place
        self._client = client or ControlClient(timeout_s=LONGEST_TRIAL_S)
        self._given = profile
        self._undo: list[list[str]] = []

    @contextlib.contextmanager
    def maintenance(self) -> Iterator[None]:
        """Hold the robot in maintenance until this context or this process ends.

        All that is kept meanwhile is one version.
        """
        with self._client.maintenance(self._place):
            yield

    def stop(self) -> bool:
        """End what the robot does for calibrating, from any thread; whether there was something."""
        return self._client.stop()

    def stop_beside(self) -> None:
        """Stop on a thread of its own: the robot rests within a turn."""

        def stop() -> None:
            with contextlib.suppress(CubistError):
                self.stop()

        threading.Thread(target=stop, name="stop", daemon=True).start()

    @property
    def kept(self) -> list[str]:
        """Return the keys of all values kept so far and not undone."""
        return list(dict.fromkeys(key for keys in self._undo for key in keys))

    @cached_property
    def profile(self) -> RobotProfile:
        """The robot without its calibration, set up for the cube that the daemon is told of."""
        if self._given is not None and not self._given.other_cubes:
            return self._given
        calibration = self.calibration
        return for_cube(self._given or load_profile(calibration.robot), calibration.size)

    @property
    def calibration(self) -> Calibration:
        """What is kept by now."""
        return check_document(self._client.call("GET", "/calibration"), Calibration, ANSWER)

    @property
    def calibrated(self) -> RobotProfile:
        """The profile with what is kept by now."""
        return apply(self.profile, self.calibration)

    def perform(self, trial: Trial[Asked, Found], **asked: object) -> Found:
        """Have the robot do something; what came of it."""
        if trial.method == "GET":
            query = urlencode({key: value for key, value in asked.items() if value is not None})
            answer = self._client.call("GET", trial.path + (query and f"?{query}"))
        else:
            answer = self._client.call("POST", trial.path, asked)
        return check_document(answer, trial.answer, ANSWER)

    def keep(
        self, values: JsonMapping, how: str = "person", uncertain: JsonMapping | None = None
    ) -> bool:
        """Keep calibrated values from now on, if there are any; whether there were.

        ``how`` they were found and how ``uncertain`` they are: see
        :class:`robot.calibration.versions.Source`.
        """
        if values:
            body = {"values": dict(values), "how": how, "uncertain": dict(uncertain or {})}
            self._client.call("PUT", "/calibration", body)
            self._undo.append(list(values))
        return bool(values)

    def try_out(self, values: JsonMapping) -> None:
        """Let values count in place of those tried out before; the daemon forgets them when
        maintenance ends, however it ends. Nothing of it is kept."""
        self._client.call("PUT", "/calibration", {"values": dict(values), "provisional": True})

    def undo(self) -> list[str]:
        """Take the last :meth:`keep` back; the keys that were changed."""
        if not self._undo:
            return []
        self._client.call("POST", "/calibration/undo", {})
        return self._undo.pop()


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
class Confirmation:
    """A question that only somebody who watches can answer with yes or no."""

    question: str


Script = Generator[Row | Confirmation, bool | None, None]
"""A measurement under way: what it shows and asks. A doubt is answered by ``send``, with None where
nobody is there."""


def next_of(script: Script, answer: bool | None) -> Row | Confirmation | None:
    """What a script shows or asks next; None at its end."""
    try:
        return script.send(answer)
    except StopIteration:
        return None


class Measurement(ABC):
    """One thing to calibrate on one robot: how it is measured, or set by eye, and what to keep.

    ``name`` is its heading, ``guidance`` says what to do on its screen, ``columns`` head its rows.
    ``choices`` are keys, with their labels, that begin it in another way. ``label`` is added to its
    line of ``calibrate all``. ``asks``: whether it may ask. ``keeps``: whether it has anything to
    keep.

    What was found: ``values`` by their keys in the calibration, empty where nothing is kept;
    ``document`` as JSON; ``text`` for people; ``is_found`` is False where nothing could tell, and
    ``error`` is what broke it off, if something did. ``how`` and ``uncertain``: see
    :meth:`Session.keep`.
    """

    name = ""
    guidance = ""
    columns: Sequence[str] = ()
    choices: Mapping[str, str] = {}
    label: Mapping[str, str] = {}
    asks = False
    keeps = True
    how = "person"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.values: JsonObject = {}
        self.uncertain: JsonObject = {}
        self.document: JsonObject = {}
        self.text = ""
        self.is_found = True
        self.error: CubistError | None = None

    @abstractmethod
    def measure(self, choice: str = "") -> Script:
        """Measure, step by step, in a robot under maintenance; raises what the session raises."""

    def keep(self) -> bool:
        """Keep what was found, if there is anything; whether there is."""
        known = {key: sure for key, sure in self.uncertain.items() if key in self.values}
        return self.session.keep(self.values, self.how, known)

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

    ``begin`` makes it ready, given the session and an argument of its name for each question; the
    step's own where it is not given. Where not enough was said it returns None, and the screen
    shows ``items``. ``saves``: whether values are kept when nothing is said about it; None: there
    is nothing to keep.
    """

    name: str
    help: str
    questions: Sequence[Question] = ()
    begin: Callable[..., Measurement | None] | None = None
    saves: bool | None = True
    items: Items | None = None


@dataclass(frozen=True)
class Step:
    """A part of the calibration of a new robot, and all that belongs to it.

    It has one measurement, ``begin``, or several in a list: ``items`` under ``columns``.
    ``unattended`` yields those that ``cubist calibrate all --yes`` makes, each after the one
    before it is kept, given positions by their keys; without it that one measurement is made, and
    of a list none, because somebody has to watch. ``on_request``: not even that. ``group`` is the
    name and the help of a group of its commands. ``is_done``: whether a calibration has what this
    step keeps, if it keeps anything.
    """

    name: str
    title: str
    guidance: str = ""
    trials: Sequence[AnyTrial] = ()
    commands: Sequence[Command] = ()
    group: tuple[str, str] | None = None
    begin: Callable[[Session], Measurement] | None = None
    columns: Sequence[str] = ()
    items: Items | None = None
    unattended: Callable[[Session, Mapping[str, int]], Iterable[Measurement]] | None = None
    is_needed: Callable[[RobotProfile], bool] = lambda _: True
    on_request: bool = False
    is_done: Callable[[RobotProfile, Calibration], bool] = lambda *_: True

    @property
    def measures_unasked(self) -> bool:
        """Return whether anything is measured where nobody watches."""
        return not self.on_request and bool(self.unattended or self.begin)

    @property
    def heading(self) -> str:
        """Return the title without its explanation, for the head of a screen."""
        return self.title.partition(":")[0]

    def unasked(self, session: Session, given: Mapping[str, int]) -> Iterable[Measurement]:
        """What is measured where nobody watches."""
        if not self.measures_unasked:
            return []
        if self.unattended is not None:
            return self.unattended(session, given)
        return [] if self.begin is None else [self.begin(session)]


STEPS: Kinds[Step] = Kinds(
    "step of calibration",
    {
        "auto": "robot.calibration.auto.calibration",
        "positions": "robot.calibration.steps.positions",
        "steppers": "robot.calibration.steps.steppers",
        "home": "robot.calibration.steps.home",
        "camera": "robot.calibration.steps.camera",
        "travel": "robot.calibration.steps.travel",
        "colours": "robot.calibration.steps.colours",
        "timing": "robot.calibration.steps.timing",
    },
)
"""All steps in the order in which a new robot needs them; the first does as much as it can of those
behind it."""


def steps_of(profile: RobotProfile) -> list[Step]:
    """The steps that this robot needs: one without steppers, or without servos, needs fewer."""
    return [step for step in STEPS.values() if step.is_needed(profile)]
