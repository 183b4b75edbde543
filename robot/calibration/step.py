"""The parts of calibration, used in the same way by commands, screens and the control socket.

    Step ("steppers")  ->  Measurement ("table backlash")  ->  Trial (POST /maintenance/play)

A *step* is a line of the menu and a part of ``cubist calibrate all``. It offers *measurements*, one
for each thing that can be calibrated on a robot. A measurement asks the robot for *trials*, each an
operation of the control socket, and ends with a *result*: the values that may be kept. All steps
go through a *session*, which also keeps and undoes values.

A step is a module of :mod:`robot.calibration.steps`. It registers itself in :data:`STEPS` when it
is first used.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from robot.api.calibrations import Calibration, Source
from robot.api.client import ControlClient, RequestError
from robot.api.endpoints import (
    CALIBRATION,
    RUNNING_PROFILE,
    SET_CALIBRATION,
    UNDO_CALIBRATION,
    Endpoint,
    Place,
    trial_endpoint,
)
from robot.calibration.values import apply
from robot.machine.confirmed_range import ConfirmedRange
from robot.records.documents import ApiDocument, ApiRequest, check_document
from robot.settings import RobotProfile, load_profile, parse_profile
from robot.settings.base import Kinds
from robot.settings.profile import for_cube
from solver.errors import CubistError
from solver.files import JsonMapping, JsonObject

if TYPE_CHECKING:
    from robot.machine.assembly import Machine

Asked = TypeVar("Asked", bound=ApiRequest)
Found = TypeVar("Found", bound=ApiDocument)


@dataclass(frozen=True)
class Bench:
    """The robot of a trial, its calibrated profile, and the ranges its actuators may use.

    ``kept``: the profile without provisional values, if there are any. ``cancel`` is set to end the
    trial: motion checks it by itself, searches need it as an argument.
    """

    machine: Machine
    profile: RobotProfile
    contact: ConfirmedRange = field(default_factory=lambda: ConfirmedRange({}))
    kept: RobotProfile | None = None
    cancel: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Trial(Generic[Asked, Found]):
    """An operation of the control socket, ``/maintenance/NAME``, and the function that runs it.

    ``run`` blocks; it raises ``InvalidRequest`` for anything this robot does not have,
    ``RobotError``, and ``Stopped`` once the bench's ``cancel`` is set. A ``GET`` trial moves
    nothing. ``trusted``: actuators that may move anywhere meanwhile, because a person who watches
    asked for it. ``renews``: rebuild the robot first if values were kept since it was built.
    """

    name: str
    summary: str
    request: type[Asked]
    answer: type[Found]
    run: Callable[[Bench, Asked], Found]
    method: Literal["GET", "POST"] = "POST"
    trusted: Callable[[RobotProfile, Asked], Collection[str]] = lambda *_: ()
    renews: bool = True

    @property
    def moves(self) -> bool:
        """Return whether the trial may move the robot."""
        return self.method == "POST"

    @property
    def endpoint(self) -> Endpoint[JsonObject]:
        """Return the trial's endpoint on the control socket."""
        return trial_endpoint(self.method, self.name)


AnyTrial = Trial[Any, Any]
"""A trial with any request and answer."""


LONGEST_TRIAL_S = 600.0
"""Timeout of requests: a slow robot scans for a minute and times its operations for several."""
ANSWER = "cubistd's answer"


class Session:
    """The daemon's robot, and the values kept since the start, so that they can be undone.

    ``profile``: the robot's profile (default: the one the daemon uses). ``place`` and ``at``: where
    the person is; ``take_over``: end another person's session. All methods block; they raise what
    :class:`ControlClient` raises, and ``BadCalibration``.
    """

    def __init__(
        self,
        client: ControlClient | None = None,
        profile: RobotProfile | None = None,
        place: Place = "terminal",
        at: str = "",
        *,
        take_over: bool = False,
    ) -> None:
        self._place, self._at, self._take_over = place, at, take_over
        self._client = client or ControlClient(timeout_s=LONGEST_TRIAL_S)
        self._given = profile
        self._undo: list[list[str]] = []
        self.taken_over: JsonMapping = {}

    @contextlib.contextmanager
    def maintenance(self, ended: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the robot in maintenance until this context or this process ends.

        All values kept meanwhile are one version. If somebody takes over, ``taken_over`` has the
        reason, and ``ended`` is called on another thread: see :meth:`ControlClient.maintenance`.
        """

        def note_end(reason: JsonMapping) -> None:
            self.taken_over = reason
            ended()

        with self._client.maintenance(
            self._place, self._at, take_over=self._take_over, ended=note_end
        ):
            yield

    def stop(self) -> bool:
        """Stop the running trial, from any thread. Return whether there was one.

        Do nothing after somebody has taken over: the robot is theirs.
        """
        return not self.taken_over and self._client.stop()

    def stop_beside(self) -> None:
        """Stop on another thread; the robot comes to rest within a turn."""

        def stop() -> None:
            with contextlib.suppress(CubistError):
                self.stop()

        threading.Thread(target=stop, name="stop", daemon=True).start()

    @property
    def kept_keys(self) -> list[str]:
        """Return the keys of all values kept so far and not undone."""
        return list(dict.fromkeys(key for keys in self._undo for key in keys))

    @cached_property
    def profile(self) -> RobotProfile:
        """Return the robot without its calibration, set up for the size of cube the daemon uses."""
        if self._given is not None and not self._given.other_cubes:
            return self._given
        calibration = self.calibration
        profile = self._given or self._load_profile(calibration.robot)
        return for_cube(profile, calibration.size)

    def _load_profile(self, robot: str) -> RobotProfile:
        """Return the profile the daemon started with, which may be a version its owner kept."""
        try:
            text = self._client.call(RUNNING_PROFILE)["text"]
        except RequestError:  # the file has gone since
            return load_profile(robot)
        return parse_profile(text, robot)

    @property
    def calibration(self) -> Calibration:
        """Return the calibration in force, including provisional values."""
        return check_document(self._client.call(CALIBRATION), Calibration, ANSWER)

    @property
    def calibrated(self) -> RobotProfile:
        """Return the profile with the calibration in force."""
        return apply(self.profile, self.calibration)

    def perform(self, trial: Trial[Asked, Found], **asked: object) -> Found:
        """Have the robot perform a trial and return its answer."""
        if trial.method == "GET":
            answer = self._client.call(trial.endpoint, query=asked)
        else:
            answer = self._client.call(trial.endpoint, asked)
        return check_document(answer, trial.answer, ANSWER)

    def keep(
        self, values: JsonMapping, how: str = "person", uncertain: JsonMapping | None = None
    ) -> bool:
        """Keep calibrated values. Return whether there were any.

        For ``how`` and ``uncertain`` see :class:`robot.api.calibrations.Source`.
        """
        if values:
            body = {"values": dict(values), "how": how, "uncertain": dict(uncertain or {})}
            self._client.call(SET_CALIBRATION, body)
            self._undo.append(list(values))
        return bool(values)

    def try_out(self, values: JsonMapping) -> None:
        """Use values provisionally, replacing earlier provisional ones. They are not kept: the
        daemon discards them when maintenance ends for any reason."""
        self._client.call(SET_CALIBRATION, {"values": dict(values), "provisional": True})

    def undo(self) -> list[str]:
        """Undo the last :meth:`keep`. Return the keys that were changed."""
        if not self._undo:
            return []
        self._client.call(UNDO_CALIBRATION, {})
        return self._undo.pop()


@dataclass(frozen=True)
class Row:
    """A line of a result, one cell for each of the measurement's columns.

    ``document``: the line as JSON, if any. ``colour``: linear light shown behind the first cell.
    """

    cells: tuple[str, ...]
    document: JsonMapping | None = None
    colour: Sequence[float] | None = None


@dataclass(frozen=True)
class Confirmation:
    """A yes-or-no question that only a person watching the robot can answer."""

    question: str


Script = Generator[Row | Confirmation, bool | None, None]
"""A running measurement, which yields rows to show and confirmations to ask for. ``send`` answers a
confirmation, with None if nobody is there."""


def next_of(script: Script, answer: bool | None) -> Row | Confirmation | None:
    """Return the next row or confirmation of a script; None at its end."""
    try:
        return script.send(answer)
    except StopIteration:
        return None


@dataclass(frozen=True)
class Result:
    """The outcome of a measurement.

    ``values``: by their keys in the calibration, empty if there is nothing to keep; ``uncertain``:
    the uncertainty of each; ``document``: as JSON; ``text``: for people. ``is_found`` is False if
    neither robot nor person could tell; ``error``: the error that ended the measurement, if any.
    """

    values: JsonObject = field(default_factory=dict)
    uncertain: JsonObject = field(default_factory=dict)
    document: JsonObject = field(default_factory=dict)
    text: str = ""
    is_found: bool = True
    error: CubistError | None = None


class Measurement(ABC):
    """One thing to calibrate on one robot: measured, or set by eye, then kept.

    ``name`` is its heading, ``guidance`` instructs the person, ``columns`` are the headings of its
    rows. ``choices`` are keys, with their labels, that start variants of it. ``label`` is added to
    its line of ``calibrate all``. ``keeps``: it has values to keep. ``how``: see
    :meth:`Session.keep`. ``result`` is replaced as a whole when something was found. ``purpose``:
    code of the description of a good result in :data:`robot.text.purposes.PURPOSES`; "" if none.
    """

    name = ""
    guidance = ""
    columns: Sequence[str] = ()
    choices: Mapping[str, str] = {}
    label: Mapping[str, str] = {}
    keeps = True
    how = "person"
    purpose = ""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.result = Result()

    @abstractmethod
    def measure(self, choice: str = "") -> Script:
        """Measure, step by step, on a robot in maintenance; raises what the session raises."""

    def keep(self) -> bool:
        """Keep the values found. Return whether there were any."""
        values, uncertain = self.result.values, self.result.uncertain
        known = {key: sure for key, sure in uncertain.items() if key in values}
        return self.session.keep(values, self.how, known)

    def forget_values(self) -> None:
        """Discard the values found."""
        self.result = replace(self.result, values={})

    @property
    def values(self) -> JsonObject:
        """Return the values found."""
        return self.result.values

    @property
    def document(self) -> JsonObject:
        """Return the result as JSON."""
        return self.result.document

    @property
    def text(self) -> str:
        """Return the result for people."""
        return self.result.text

    @property
    def is_found(self) -> bool:
        """Return whether the measurement had a result."""
        return self.result.is_found

    @property
    def error(self) -> CubistError | None:
        """Return the error that ended the measurement, if any."""
        return self.result.error

    @property
    def needs_screen(self) -> bool:
        """Return whether a person has to finish it with keys, because the result is incomplete."""
        return False

    @property
    def value(self) -> float | None:
        """Return the value that can be set by eye; None if there is none."""
        return None

    def adjust(self, steps: int) -> None:  # noqa: B027  # nothing, if there is no value
        """Change the value set by eye by this many steps (1 or 10, up or down)."""


@dataclass(frozen=True)
class Item:
    """A line of a step's list: its cells, and the function that begins its measurement.

    ``is_done``: a person or the robot has kept it; None if unknown. ``leave``: run before a line
    with a different first cell begins (it is for another part).
    """

    cells: tuple[str, ...]
    begin: Callable[[], Measurement]
    is_done: bool | None = None
    leave: Callable[[], object] | None = None


Items = Callable[[Session], Iterable[Item]]


@dataclass(frozen=True)
class Step:
    """A part of the calibration of a new robot, and all that belongs to it.

    It has one measurement, ``begin``, or several in a list: ``items`` under ``columns``.
    ``unattended`` yields the measurements of ``cubist calibrate all --yes``, each after the one
    before it is kept, given positions by their keys. Without it, ``begin`` is made; a list is not,
    because a person has to watch. ``on_request``: run only if somebody asks for it.
    ``is_done``: whether a calibration has what this step keeps, if it keeps anything. ``keeps``:
    whether the step kept a value with this key and source. ``minutes``: remaining time, given the
    calibration.
    """

    name: str
    title: str
    guidance: str = ""
    trials: Sequence[AnyTrial] = ()
    begin: Callable[[Session], Measurement] | None = None
    columns: Sequence[str] = ()
    items: Items | None = None
    unattended: Callable[[Session, Mapping[str, int]], Iterable[Measurement]] | None = None
    is_needed: Callable[[RobotProfile], bool] = lambda _: True
    on_request: bool = False
    is_done: Callable[[RobotProfile, Calibration], bool] = lambda *_: True
    keeps: Callable[[str, Source], bool] = lambda *_: False
    minutes: Callable[[RobotProfile, Calibration], float] = lambda *_: 1.0

    def last_source(self, profile: RobotProfile, found: Calibration) -> Source | None:
        """Return the source of the last value the step kept; None while it is not done."""
        if not self.is_done(profile, found):
            return None
        kept = [one for key, one in found.sources.items() if one.confirmed and self.keeps(key, one)]
        return max(kept, key=lambda one: one.at, default=None)

    @property
    def measures_unattended(self) -> bool:
        """Return whether the step measures anything while nobody watches."""
        return not self.on_request and bool(self.unattended or self.begin)

    @property
    def heading(self) -> str:
        """Return the title without its explanation, for the head of a screen."""
        return self.title.partition(":")[0]

    def unattended_measurements(
        self, session: Session, given: Mapping[str, int]
    ) -> Iterable[Measurement]:
        """Return the measurements to make while nobody watches."""
        if not self.measures_unattended:
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
"""All steps, in the order in which a new robot needs them. The first does as much as it can of the
others."""


def steps_of(profile: RobotProfile) -> list[Step]:
    """Return the steps that this robot needs: fewer without steppers, or without servos."""
    return [step for step in STEPS.values() if step.is_needed(profile)]
