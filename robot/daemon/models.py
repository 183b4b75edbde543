"""The documents of the control socket; the OpenAPI description is generated from these models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from robot.daemon.states import State
from robot.outcomes import Outcome
from robot.records.runs import FaultRecord, JobKind, LinkRecord, RunRecord


class Document(BaseModel):
    """Base: unknown keys in a request are refused, not ignored."""

    model_config = ConfigDict(extra="forbid")


class Request(Document):
    """Base of what is asked: types as the description has them, nothing read into them."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _whole(value: object) -> object:
    """JSON knows no difference between 5 and 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class JobStatus(Document):
    """The job under way; ``step`` is what it does now, in words."""

    run: str
    kind: JobKind
    step: str
    elapsed_s: float
    progress: float | None = Field(default=None, ge=0, le=1)
    remaining_s: float | None = None


class Preparation(Document):
    """What the daemon makes ready for the first solve; ``step`` says what it is, in words."""

    step: str
    progress: float | None = Field(default=None, ge=0, le=1)
    remaining_s: float | None = None


class Status(Document):
    """What the robot is doing and how it is; ``records`` is the folder of its run records."""

    state: State
    since: datetime
    robot: str
    homed: bool
    job: JobStatus | None = None
    preparation: Preparation | None = None
    fault: FaultRecord | None = None
    last_run: RunRecord | None = None
    link: LinkRecord = LinkRecord()
    warnings: list[str] = Field(default_factory=list)
    records: str
    version: str
    process: int


class StartRequest(Request):
    """What to start.

    ``moves`` are for ``scramble``; without them they are random. ``facelets`` are for ``solve``
    when the state of the cube is known: it is not looked at first.
    """

    kind: JobKind = "solve"
    moves: str | None = Field(default=None, max_length=2000)
    facelets: str | None = Field(default=None, pattern="^[URFDLB]{24,54}$")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kind != "scramble" and self.moves is not None:
            raise ValueError(f"moves are for a scramble, not for {self.kind}")
        if self.kind != "solve" and self.facelets is not None:
            raise ValueError(f"facelets are for a solve, not for {self.kind}")
        return self


class Started(Document):
    """A job was started; its record has this number."""

    run: str


class StopRequest(Request):
    """How to stop: finish the motion under way and hold, or ``emergency``: outputs off now."""

    emergency: bool = False


class Stopped(Document):
    """Whether there was anything to stop."""

    stopped: bool


class ShutdownRequest(Request):
    """Nothing to say yet."""


class MoveRequest(Request):
    """Move one actuator: microseconds of pulse for a servo, steps for a stepper.

    Without ``to`` it stays where it is, or wakes up there.
    """

    actuator: str = Field(min_length=1, max_length=64)
    to: Annotated[int, BeforeValidator(_whole)] | None = Field(default=None, ge=-(2**31), lt=2**31)
    begin_at: Annotated[int, BeforeValidator(_whole)] | None = Field(
        default=None,
        ge=-(2**31),
        lt=2**31,
        description="the first pulse of a servo that has no confirmed position",
    )


class HomeRequest(Request):
    """Home; ``as_profile``: also a robot whose positions and directions nobody has confirmed."""

    as_profile: bool = False


class Moved(Document):
    """Where the actuator is now; ``low`` and ``high`` are how far it has been confirmed."""

    actuator: str
    position: int
    low: int
    high: int


class CalibrationRequest(Request):
    """Values by dotted key of the profile; null goes back to the profile's own."""

    values: dict[str, Any] = Field(max_length=500)


class Picture(Document):
    """A camera's picture: JPEG in base64."""

    jpeg: str


class ColoursRequest(Request):
    """The cube in the robot as facelets; read by the colours as they are when not given."""

    facelets: str | None = Field(default=None, pattern="^[URFDLB]{24,54}$")


class ColoursSeen(Document):
    """Colours of the cube in the robot, as calibrated values."""

    facelets: str
    values: dict[str, Any]


class TimedOperation(Document):
    """What an operation takes on average: as planned, and by the firmware's clock."""

    operation: str
    count: int
    planned_us: int
    measured_us: int


class Timings(Document):
    """Every operation, and calibrated values for actuators that take longer than planned."""

    operations: list[TimedOperation]
    values: dict[str, Any]


class TravelRequest(Request):
    """Which servo to watch, from one named position to another."""

    actuator: str = Field(min_length=1, max_length=64)
    between: Annotated[list[str], Field(min_length=2, max_length=2)]


class Travel(Document):
    """How long a servo took, known to ``within_us``; nothing where the camera cannot see it.

    ``values`` are calibrated values with the measured time, and what it is known to on top.
    """

    actuator: str
    between: tuple[str, str]
    planned_us: int
    measured_us: int | None = None
    within_us: int | None = None
    values: dict[str, Any] = Field(default_factory=dict)


class StepperRequest(Request):
    """Which stepper."""

    actuator: str = Field(min_length=1, max_length=64)


class TurnRequest(StepperRequest):
    """A quarter turn forwards and back, with the direction input inverted or not."""

    inverted: bool = False


class TurnTried(Document):
    """It went so many steps (negative: backwards, for want of room), and back."""

    actuator: str
    steps: int
    inverted: bool
    values: dict[str, Any]


class StepsRequest(StepperRequest):
    """So many turns of so many steps (None: as calibrated) and back."""

    turn_steps: Annotated[int, BeforeValidator(_whole)] | None = Field(
        default=None, ge=4, le=1_000_000, multiple_of=4
    )

    turns: Annotated[int, BeforeValidator(_whole)] = Field(default=1, ge=1, le=20)


class StepsTried(Document):
    """It went so many steps, and back; ``found_steps`` of a turn by the camera, if that can tell.

    ``values`` are calibrated values where they are not those of the profile.
    """

    actuator: str
    steps: int
    turn_steps: int
    found_steps: int | None
    values: dict[str, Any]


class SpeedRequest(StepperRequest):
    """What to try; as in the profile where nothing is said. ``held``: with a layer as its load."""

    speed_steps_per_s: float | None = Field(default=None, ge=50, le=200_000)
    acceleration_steps_per_s2: float | None = Field(default=None, ge=1, le=10_000_000)
    held: bool = False


class SpeedTried(Document):
    """Whether steps were lost, and what tells it; None where only a person can.

    ``reached_steps_per_s`` is what the way was long enough for. Not ``square``: nothing but a
    person can set it back to where it was.
    """

    actuator: str
    speed_steps_per_s: float
    acceleration_steps_per_s2: float
    reached_steps_per_s: float
    steps: int
    lost: bool | None
    seen_by: str | None
    square: bool


class Play(Document):
    """Steps back before the load follows, found ``within_steps``; None where nothing tells it."""

    actuator: str
    play_steps: int | None
    within_steps: int
    seen_by: str | None
    values: dict[str, Any]


class Nothing(Document):
    """Done; there is nothing to tell."""


class RunList(Document):
    """Summaries of records, newest first."""

    runs: list[RunRecord]


class Event(Document):
    """One line of the event stream.

    ``state``: another state, with its first step; ``step``: the next step in the same state;
    ``progress``: while turning, how far it is (0..1), each tenth; ``finished``: with the outcome.
    """

    event: Literal["state", "step", "progress", "finished"]
    time: datetime
    state: State
    run: str | None = None
    text: str = ""
    outcome: Outcome | None = None
    progress: float | None = Field(default=None, ge=0, le=1)


class ErrorReply(Document):
    """Why a request was not carried out; ``error`` is stable, ``reason`` is for people.

    ``fault`` is the stable name of the robot's fault, where one was in the way.
    """

    error: str
    reason: str
    fault: str | None = None
