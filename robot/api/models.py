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
"""States in which a job is running."""

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
    """The running job."""

    run: str
    kind: JobKind
    elapsed_s: float


class Preparation(CodedStep):
    """Preparation for the first solve."""


class DriftReport(ApiDocument):
    """The drift of a position since a day, as the faces showed it in ``solves`` jobs.

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
    """The person who calibrates.

    ``at``: terminal or address; ``process``: the program on the robot (0: in another container);
    ``who``: a text with all this, and how to end the session.
    """

    place: Place
    at: str
    process: int
    since: datetime
    who: NoteRecord


class RobotStatus(ApiDocument):
    """The status of the robot and its daemon; ``records`` is the folder of its run records.

    ``released``: actuators that are off because the robot is idle. ``notes``: codes of the
    ``warnings``, for other languages. ``inspection_left_s``: seconds until the solve starts, while
    somebody inspects the cube. ``starting``: a start was accepted, but its ``job`` does not run
    yet, for example because the boards are being set up. ``calibrating``: somebody is calibrating,
    even if an emergency stop has made the state a fault.
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
    """The patterns that the robot's cube has: names and descriptions.

    ``facelets``: of the patterns that can be drawn.
    """

    patterns: dict[str, str]
    facelets: dict[str, str]


class StartRequest(ApiRequest):
    """A request to start a job.

    ``moves`` are for ``scramble`` (default: random moves). ``facelets`` are for ``solve`` if the
    state of the cube is known, in any notation; the cube is then not scanned. ``to`` is another
    goal for ``solve``: a pattern's name, a state or moves from the solved cube. ``centres``: those
    of a 3x3x3 end upright, for cubes with a picture. They are upright now except for the turns in
    ``centres_turned``, moves such as "U2 R".
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
            raise ValueError("centres_turned needs centres")
        return self


class StopRequest(ApiRequest):
    """Finish the present motion, or with ``emergency`` halt at once. Outputs hold either way."""

    emergency: bool = False


class ShutdownRequest(ApiRequest):
    """A request without parameters."""


Corner = tuple[float, float]


EventKind = Literal[
    "state", "step", "progress", "finished", "record", "cube", "look", "motion", "clock"
]


class LiveCube(ApiDocument):
    """The cube before the motion that is sent with it, in its own drawing.

    ``facelets``: 6 N^2 letters of URFDLB, faces in that order, or ``?``. ``seen``: the measured
    colour of each sticker as #rrggbb; null if it was not seen, empty once the cube is read.
    ``palette``: the measured colour of each letter. ``orientation``: the cube's faces at the
    robot's sites U and F.
    """

    size: int
    facelets: str
    seen: list[str | None] = Field(default_factory=list)
    palette: dict[str, str] = Field(default_factory=dict)
    orientation: str = "UF"


class LiveActuator(ApiDocument):
    """The part of an actuator in a motion.

    It goes ``to`` a position, or by signed ``quarter_turns`` in the sense of its part's angles.
    """

    actuator: str
    start_us: int
    duration_us: int
    to: str | None = None
    quarter_turns: int = 0


class LiveMotion(ApiDocument):
    """The present motion, from ``orientation``: its operations with start times, in us.

    ``purpose``: to show the camera a face, or to turn layers; ``moves`` are these turns, and
    ``move_ends_us`` the times at which they end. ``actuators``: the same motion by actuator.
    ``greedy_us``: duration if each move by itself were done the fastest way; null if unknown.
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
    """A face that a job has looked at.

    ``corners``: of the face as drawn, clockwise from its top left, in a picture of width and height
    1. ``picture``: the picture's number.
    """

    face: str
    site: str
    camera: str
    picture: int
    corners: list[Corner]


class LiveState(ApiDocument):
    """The present cube, motion and last look; null if there is none.

    ``at_us``: the motion's own clock. ``positions``: the actuators' positions before the motion, as
    names or quarter turns; null if unknown. ``mechanism``: that section of the robot's profile.
    """

    mechanism: JsonObject | None = None
    positions: dict[str, str | int] | None = None
    cube: LiveCube | None = None
    motion: LiveMotion | None = None
    at_us: int | None = None
    look: LiveScan | None = None


LIVE_FIELDS = frozenset(LiveState.model_fields) - {"mechanism"}
"""Fields of live events: those that change."""


class Event(ApiDocument):
    """One line of the event stream.

    ``text`` is English; for other languages a step has ``step_code`` and ``step_parameters``.

    ``state``: a new state, with its first step, or another fault in the state ``fault``; ``step``:
    the next step in the same state; ``progress``: fraction (0..1) of a turning motion, at each
    tenth; ``finished``: with the outcome; ``record``: the record of the finished run now has its
    time-lapse.

    For viewers of the robot itself (``LIVE_EVENTS``): ``cube``: another cube, or more is known of
    it; ``look``: a face was looked at; ``motion``: a motion begins or its end changes; ``clock``:
    the motion's own time. ``cube`` and ``motion`` come with the actuators' ``positions`` if known.
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
        """Return the event as JSON, without absent fields of live events and steps."""
        optional = LIVE_FIELDS | {"step_code", "step_parameters"}
        absent = {name for name in optional if getattr(self, name) is None}
        return self.model_dump_json(exclude=absent)


class ErrorReply(ApiDocument):
    """The reason why a request failed; ``error`` is stable, ``reason`` is for people.

    ``fault``: stable name of the robot's fault that prevented it, if any. ``reason_code``
    (:data:`robot.text.messages.NOTES`) and ``reason_parameters`` are for other languages.
    """

    error: str
    reason: str
    fault: str | None = None
    reason_code: str | None = None
    reason_parameters: dict[str, str] | None = None
