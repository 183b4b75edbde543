"""Documents of the control socket, and the transitions between states of the robot.

The OpenAPI description is generated from these models.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from robot.api.calibrations import CalibrationReport
from robot.api.endpoints import Place, RobotState
from robot.records.documents import ApiDocument, ApiRequest
from robot.records.run_record import FaultRecord, JobKind, LinkRecord, NoteRecord, RunRecord
from robot.text.outcomes import Outcome
from solver.files import JsonObject

WORKING = frozenset(
    {
        RobotState.HOMING,
        RobotState.SCANNING,
        RobotState.SOLVING,
        RobotState.TURNING,
        RobotState.CHECKING,
    }
)
"""States in which a job is under way."""

RESTING = frozenset({RobotState.IDLE, RobotState.FAULT})
"""States in which the robot is at rest, with no job and no maintenance."""

ALLOWED: dict[RobotState, frozenset[RobotState]] = {
    RobotState.IDLE: frozenset(
        {RobotState.HOMING, RobotState.SCANNING, RobotState.TURNING, RobotState.MAINTENANCE}
    )
    | RESTING,
    RobotState.HOMING: frozenset({RobotState.SCANNING, RobotState.SOLVING, RobotState.TURNING})
    | RESTING,
    RobotState.SCANNING: frozenset({RobotState.HOMING, RobotState.SOLVING}) | RESTING,
    RobotState.SOLVING: frozenset({RobotState.SCANNING, RobotState.HOMING, RobotState.TURNING})
    | RESTING,
    RobotState.TURNING: frozenset({RobotState.CHECKING, RobotState.HOMING}) | RESTING,
    RobotState.CHECKING: frozenset({RobotState.HOMING, RobotState.SCANNING, RobotState.SOLVING})
    | RESTING,
    RobotState.FAULT: frozenset({RobotState.HOMING, RobotState.IDLE, RobotState.MAINTENANCE}),
    RobotState.MAINTENANCE: RESTING,
}


def check_transition(old: RobotState, new: RobotState) -> None:
    """Raise ``RuntimeError`` unless ``new`` may follow ``old``; the same state always may."""
    if new is not old and new not in ALLOWED[old]:
        raise RuntimeError(f"{new} cannot follow {old}")


class CodedStep(ApiDocument):
    """The current step: ``step`` in English, and for other languages ``step_code``
    (:data:`robot.text.messages.STEPS`, or empty) and ``step_parameters``."""

    step: str
    step_code: str = ""
    step_parameters: dict[str, str] = Field(default_factory=dict)
    progress: float | None = Field(default=None, ge=0, le=1)
    remaining_s: float | None = None


class JobStatus(CodedStep):
    """The job under way."""

    run: str
    kind: JobKind
    elapsed_s: float


class Preparation(CodedStep):
    """Preparation for the first solve."""


class DriftReport(ApiDocument):
    """The movement of a position since a day, found from the faces seen in ``solves`` jobs.

    The robot has corrected ``corrected_degrees`` of it by itself.
    """

    actuator: str
    position: str
    since: date
    solves: int
    degrees: float
    corrected_degrees: float


class DriverReport(ApiDocument):
    """A stepper driver on the board's UART as it was after the last motion.

    ``threshold_celsius``: the highest temperature threshold that it exceeds; null below 120.
    ``load``: SG_RESULT, which falls as the load rises. ``current_scale``: 0 to 31.
    """

    actuator: str
    ready: bool
    threshold_celsius: int | None
    load: int
    current_scale: int


class Calibrator(ApiDocument):
    """The person who calibrates: ``at`` which terminal or address, with which program of the robot
    (0: of another container), since when; ``who`` says so, and how to end it."""

    place: Place
    at: str
    process: int
    since: datetime
    who: NoteRecord


class RobotStatus(ApiDocument):
    """The status of the robot and its daemon; ``records`` is the folder of its run records.

    ``released``: actuators that are off because the robot is idle. ``notes``: of the ``warnings``,
    for other languages. ``inspection_left_s``: seconds until it starts, while somebody inspects the
    cube. ``starting``: a start was accepted whose ``job`` does not run yet, for example because the
    boards are being set up. ``calibrating``: somebody has the robot for that, also where an
    emergency stop has made the state a fault.
    """

    state: RobotState
    since: datetime
    robot: str
    simulated: bool = False
    homed: bool
    released: list[str] = Field(default_factory=list)
    calibrating: bool = False
    calibrator: Calibrator | None = None
    starting: bool = False
    job: JobStatus | None = None
    preparation: Preparation | None = None
    inspection_left_s: float | None = None
    fault: FaultRecord | None = None
    last_run: RunRecord | None = None
    link: LinkRecord = LinkRecord()
    warnings: list[str] = Field(default_factory=list)
    notes: list[NoteRecord] = Field(default_factory=list)
    drivers: list[DriverReport] = Field(default_factory=list)
    drift: list[DriftReport] = Field(default_factory=list)
    calibration: CalibrationReport | None = None
    records: str
    version: str
    process: int


class PatternList(ApiDocument):
    """Names of the patterns that the robot's cube has, with their descriptions.

    ``facelets``: of those that can be drawn.
    """

    patterns: dict[str, str]
    facelets: dict[str, str]


class StartRequest(ApiRequest):
    """A request to start a job.

    ``moves`` are for ``scramble``; without them they are random. ``facelets`` are for ``solve``
    when the state of the cube is known, in any notation: it is not looked at first. ``to`` is what
    ``solve`` makes of the cube instead: a pattern's name, a state or moves from the solved cube.
    ``centres``: those of a 3x3x3 end upright, for cubes with a picture. They are upright now but
    for what ``centres_turned`` turns, moves as "U2 R".
    """

    kind: JobKind = "solve"
    moves: str | None = Field(default=None, max_length=2000)
    facelets: str | None = Field(default=None, max_length=2000)
    to: str | None = Field(default=None, max_length=2000)
    centres: bool = False
    centres_turned: str | None = Field(default=None, max_length=2000)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kind != "scramble" and self.moves is not None:
            raise ValueError(f"moves are for a scramble, not for {self.kind}")
        if self.kind != "solve" and self.facelets is not None:
            raise ValueError(f"facelets are for a solve, not for {self.kind}")
        if self.kind != "solve" and self.to is not None:
            raise ValueError(f"to is for a solve, not for {self.kind}")
        if self.kind != "solve" and self.centres:
            raise ValueError(f"centres are for a solve, not for {self.kind}")
        if self.centres_turned is not None and not self.centres:
            raise ValueError("centres_turned goes with centres")
        return self


class StopRequest(ApiRequest):
    """Finish the motion under way, or with ``emergency`` halt at once. Outputs hold either way."""

    emergency: bool = False


class ShutdownRequest(ApiRequest):
    """Nothing to say yet."""


Corner = tuple[float, float]


EventKind = Literal[
    "state", "step", "progress", "finished", "record", "cube", "look", "motion", "clock"
]


class LiveCube(ApiDocument):
    """The cube before the motion that is sent with it, in its own drawing.

    ``facelets``: 6 N^2 letters of URFDLB, faces in that order, or ``?``. ``seen``: the colour
    measured on each sticker as #rrggbb; null where it was not seen, empty once the cube is read.
    ``palette``: the colour of each letter as measured. ``orientation``: the cube's faces at the
    robot's sites U and F.
    """

    size: int
    facelets: str
    seen: list[str | None] = Field(default_factory=list)
    palette: dict[str, str] = Field(default_factory=dict)
    orientation: str = "UF"


class LiveActuator(ApiDocument):
    """The part of an actuator in a motion.

    It goes ``to`` a position, or by ``quarter_turns``, signed, as its part's angles count.
    """

    actuator: str
    start_us: int
    duration_us: int
    to: str | None = None
    quarter_turns: int = 0


class LiveMotion(ApiDocument):
    """The motion under way, from ``orientation``: its operations with start times, in us.

    ``purpose``: to show the camera a face, or to turn layers; ``moves`` are those turns, and
    ``move_ends_us`` says when each of them is done.
    ``actuators``: the same as what each actuator does. ``greedy_us``: what the moves would take,
    each done the fastest way by itself; null where that is not known.
    """

    purpose: Literal["look", "turn"]
    orientation: str
    duration_us: int
    greedy_us: int | None = None
    operations: list[JsonObject]
    actuators: list[LiveActuator] = Field(default_factory=list)
    moves: str = ""
    move_ends_us: list[int] = Field(default_factory=list)


class LiveScan(ApiDocument):
    """A face that a job has looked at; ``corners`` are those of the face as it is drawn, from its
    top left clockwise, in a picture of width and height 1. ``picture`` is the picture's number."""

    face: str
    site: str
    camera: str
    picture: int
    corners: list[Corner]


class LiveState(ApiDocument):
    """All of it as it is now; null is what there is not. ``at_us``: the motion's own clock.

    ``positions``: where the actuators were before the motion, a position's name or quarter turns;
    null where that is not known. ``mechanism``: that section of the robot's profile.
    """

    mechanism: JsonObject | None = None
    positions: dict[str, str | int] | None = None
    cube: LiveCube | None = None
    motion: LiveMotion | None = None
    at_us: int | None = None
    look: LiveScan | None = None


LIVE_FIELDS = frozenset(LiveState.model_fields) - {"mechanism"}
"""Fields of live events: all that change."""


class Event(ApiDocument):
    """One line of the event stream.

    ``text`` is English; that of a step has ``step_code`` and ``step_parameters`` for other
    languages.

    ``state``: another state, with its first step; ``step``: the next step in the same state;
    ``progress``: while turning, how far it is (0..1), each tenth; ``finished``: with the outcome;
    ``record``: the record of the run that is over has its time-lapse now.

    For those who watch the robot itself (``LIVE_EVENTS``): ``cube``: another cube, or more is known
    of it; ``look``: a face was looked at; ``motion``: a motion begins or gets another end;
    both ``cube`` and ``motion`` come with the actuators' ``positions`` where these are known;
    ``clock``: how far it is, in its own time.
    """

    event: EventKind
    time: datetime
    state: RobotState
    run: str | None = None
    text: str = ""
    step_code: str | None = None
    step_parameters: dict[str, str] | None = None
    outcome: Outcome | None = None
    progress: float | None = Field(default=None, ge=0, le=1)
    cube: LiveCube | None = None
    look: LiveScan | None = None
    motion: LiveMotion | None = None
    positions: dict[str, str | int] | None = None
    at_us: int | None = None

    def line(self) -> str:
        """The event as JSON; what only live events or steps have is left out of others."""
        optional = LIVE_FIELDS | {"step_code", "step_parameters"}
        absent = {name for name in optional if getattr(self, name) is None}
        return self.model_dump_json(exclude=absent)


class ErrorReply(ApiDocument):
    """Why a request was not carried out; ``error`` is stable, ``reason`` is for people.

    ``fault`` is the stable name of the robot's fault, where one was in the way. ``reason_code``
    (:data:`robot.text.messages.NOTES`) and ``reason_parameters`` are for other languages.
    """

    error: str
    reason: str
    fault: str | None = None
    reason_code: str | None = None
    reason_parameters: dict[str, str] | None = None
