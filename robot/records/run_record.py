"""The record of a run: the events of one job, as stored, listed and sent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from robot.records.documents import ApiDocument
from robot.text.faults import FAULTS
from robot.text.messages import Note
from robot.text.outcomes import Outcome
from solver.errors import CubistError
from solver.files import JsonObject
from vision.reasons import Reason

JobKind = Literal["solve", "home", "scramble"]


class NoteRecord(BaseModel):
    """A ``text`` of a record or a status, with its code (:data:`robot.text.messages.NOTES`)."""

    model_config = ConfigDict(frozen=True)

    text: str
    code: str
    parameters: dict[str, str] = Field(default_factory=dict)


def notes_of(texts: Iterable[str]) -> list[NoteRecord]:
    """Return the texts that have a code, with code and parameters."""
    return [
        NoteRecord(text=str(text), code=text.code, parameters=text.parameters)
        for text in texts
        if isinstance(text, (Note, Reason))
    ]


class FaultRecord(BaseModel):
    """A fault for people: its stable ``code``, what happened, and what to do about it.

    ``detail``: the place, part of ``cause``: an actuator or a port. ``notes``: codes of cause and
    remedy, if they have any.
    """

    model_config = ConfigDict(frozen=True)

    code: str
    cause: str
    remedy: str = ""
    detail: str = ""
    notes: list[NoteRecord] = Field(default_factory=list)

    @classmethod
    def of(cls, error: CubistError) -> FaultRecord:
        """Return the record of an error, with the usual remedy unless it has its own."""
        usual = FAULTS[error.code].remedy if error.code in FAULTS else ""
        return cls(
            code=error.code,
            cause=str(error.cause),
            remedy=str(error.remedy or usual),
            detail=error.detail,
            notes=notes_of([error.cause, error.remedy]),
        )


class RunEvent(BaseModel):
    """An event ``at_s`` seconds after the start; a step has code and parameters."""

    model_config = ConfigDict(frozen=True)

    at_s: float
    text: str
    step_code: str = ""
    step_parameters: dict[str, str] = Field(default_factory=dict)


class LinkRecord(BaseModel):
    """Traffic on the serial line: messages, those sent again, those damaged on either side.

    ``held``: pauses because the Pi was silent; ``underruns``, ``late``: turns that arrived too
    late.
    """

    model_config = ConfigDict(frozen=True)

    sent: int = 0
    resent: int = 0
    received: int = 0
    damaged: int = 0
    lost_bytes: int = 0
    held: int = 0
    underruns: int = 0
    late: int = 0

    def __add__(self, other: LinkRecord) -> LinkRecord:
        """Return the sum of the counts."""
        return self._each(other, 1)

    def __sub__(self, other: LinkRecord) -> LinkRecord:
        """Return the traffic since ``other``."""
        return self._each(other, -1)

    def _each(self, other: LinkRecord, sign: int) -> LinkRecord:
        names = type(self).model_fields
        sums = {name: getattr(self, name) + sign * getattr(other, name) for name in names}
        return LinkRecord(**sums)


class _Operation(BaseModel):
    """The fields common to all mechanisms' operations; others depend on the kind of mechanism."""

    op: str
    start_us: int = Field(ge=0)
    duration_us: int = Field(ge=0)
    site: Literal["U", "R", "F", "D", "L", "B"] | None = None
    axis: Literal["x", "y", "z"] | None = None
    quarter_turns: Literal[1, 2, -1] | None = None
    layers: int = Field(default=1, ge=1)
    grippers: list[str] = Field(default_factory=list)


_NEEDED = {"turn": ("site", "quarter_turns"), "rotate": ("axis", "quarter_turns")}


def _checked_operation(found: JsonObject) -> JsonObject:
    operation = _Operation.model_validate(found)
    for name in _NEEDED.get(operation.op, ()):
        if getattr(operation, name) is None:
            raise ValueError(f"{operation.op} has no {name}")
    return found


OperationDocument = Annotated[JsonObject, AfterValidator(_checked_operation)]
"""An operation as ``cubist solve --json`` prints it."""


Fraction = Annotated[float, Field(ge=-10, le=10)]
Corners = Annotated[list[tuple[Fraction, Fraction]], Field(min_length=4, max_length=4)]
"""Corners of a face in its photograph, as the face is drawn: top left, top right, bottom right,
bottom left; x and y in fractions of the photograph's width and height."""


class RunRecord(BaseModel):
    """One job. ``timings_s``: seconds by stage; planned and executed times are in us.

    ``latency_s``: durations of each stage of :data:`robot.records.latency.STAGES`.

    ``moves`` and planned values are those of the last plan, which begins with the cube's faces of
    ``orientation`` at the robot's sites U and F. ``recoveries``: problems of the job in their
    order, each with its recovery. ``notes``: codes of recoveries and warnings that have one.
    ``greedy_us``: duration if each move by itself were done the fastest way. ``to``: the goal for
    the cube as requested; None: solved. ``corners``: of the face in each photograph of a face.
    """

    id: str
    kind: JobKind
    robot: str
    started_at: datetime
    outcome: Outcome | None = None
    reason: str = ""
    duration_s: float = 0.0
    to: str | None = None
    facelets: str | None = None
    moves: str | None = None
    planned_us: int | None = None
    greedy_us: int | None = None
    executed_us: int | None = None
    attempts: int = 1
    timings_s: dict[str, float] = Field(default_factory=dict)
    latency_s: dict[str, Annotated[list[float], Field(min_length=1)]] = Field(default_factory=dict)
    orientation: str | None = None
    operations: list[OperationDocument] = Field(default_factory=list)
    reading: JsonObject = Field(default_factory=dict)
    photos: list[str] = Field(default_factory=list)
    corners: dict[str, Corners] = Field(default_factory=dict)
    faults: list[FaultRecord] = Field(default_factory=list)
    recoveries: list[str] = Field(default_factory=list)
    link: LinkRecord = LinkRecord()
    warnings: list[str] = Field(default_factory=list)
    notes: list[NoteRecord] = Field(default_factory=list)
    events: list[RunEvent] = Field(default_factory=list)

    @property
    def move_count(self) -> int:
        """The number of ``moves``."""
        return len((self.moves or "").split())

    def shortened(self) -> RunRecord:
        """Return the record without plan, reading, latencies and events, which are most of it."""
        long: JsonObject = {"operations": [], "reading": {}, "events": [], "latency_s": {}}
        return self.model_copy(update=long)

    def summary(self) -> RunRecord:
        """Return the record without its long parts, for lists."""
        return self.shortened().model_copy(update={"photos": [], "corners": {}})


class UnreadableRun(ApiDocument):
    """A run whose record cannot be read: damaged, or of an unknown version of Cubist."""

    id: str
    reason: str


class RunList(ApiDocument):
    """Summaries of records, newest first, and the runs among them that cannot be read."""

    runs: list[RunRecord]
    unreadable: list[UnreadableRun] = Field(default_factory=list)
