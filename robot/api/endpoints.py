"""Endpoints of the control socket, the JSON of their answers, and the programs that may call them.

Clients read answers as typed dictionaries, because importing pydantic takes a small computer longer
than everything else that a command does. ``RunRecordJson`` is the model ``RunRecord`` as JSON: the
same keys, with times and names as text. ``tests/api/test_http_server.py`` compares each dictionary
with its model. An answer that has no model is checked by its dictionary alone.

People and ``cubist`` use ``control.sock``, which has every endpoint. Each program that others can
reach (the page over the network, the display by its buttons) has a separate socket. It offers only
the endpoints that the program may call, so that an attacker who takes it over gains no others::

    control.sock   group cubist           every endpoint
    page.sock      group cubist-page      watch; start, home, stop, acknowledge; log and check-ups
    manage.sock    group cubist-manage    keep a profile, restart: only where the owner allows it
    guide.sock     group cubist-guide     watch; calibrate, stop: only where the owner allows it
    display.sock   group cubist-display   as the page; shut down; learn the colours
    mqtt.sock      group cubist-mqtt      status and events; start, stop

The display may set colours and no other calibrated value: a position or a direction that it set
would count as confirmed, and it may also start jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar
from urllib.parse import quote, urlencode

from solver.files import JsonObject

SESSION_HEADER = "Cubist-Session"
"""Header with the name of a maintenance session, sent with its answer. Requests that repeat it
belong to the session; without it, requests of the same process do."""

AGE_HEADER = "Cubist-Age"
"""Header of a picture's answer with its age in seconds."""

LOG_LEVELS = ("debug", "info", "warning", "error")
"""Levels of lines in the daemon's log, the lowest first."""

LIVE_EVENTS = frozenset({"cube", "look", "motion", "clock"})
"""Kinds of events about the cube and the motion, rather than the job."""

Answer_co = TypeVar("Answer_co", covariant=True)
Method = Literal["GET", "POST", "PUT"]
Place = Literal["terminal", "page", "display"]
"""Place from which a person calibrates."""


@dataclass(frozen=True)
class Endpoint(Generic[Answer_co]):
    """A method and a path; braces in the path are filled by :meth:`target`."""

    method: Method
    path: str

    def target(
        self, parts: Mapping[str, str] | None = None, query: Mapping[str, object] | None = None
    ) -> str:
        """Return the path of a request; a query value of None is left out."""
        path = self.path.format_map({name: quote(part, "") for name, part in (parts or {}).items()})
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return f"{path}?{urlencode(given)}" if given else path


class RobotState(StrEnum):
    """The states of the robot."""

    IDLE = "idle"
    HOMING = "homing"
    SCANNING = "scanning"
    SOLVING = "solving"
    TURNING = "turning"
    CHECKING = "checking"
    FAULT = "fault"
    MAINTENANCE = "maintenance"


class NoteRecordJson(TypedDict):
    """A text with its code and parameters, for other languages."""

    text: str
    code: str
    parameters: dict[str, str]


class FaultRecordJson(TypedDict):
    """A fault, what happened and what to do about it."""

    code: str
    cause: str
    remedy: str
    detail: str
    notes: list[NoteRecordJson]


class CodedStepJson(TypedDict):
    """The current step, in English and by code."""

    step: str
    step_code: str
    step_parameters: dict[str, str]
    progress: float | None
    remaining_s: float | None


class PreparationJson(CodedStepJson):
    """Preparation for the first solve."""


class JobStatusJson(CodedStepJson):
    """The running job."""

    run: str
    kind: str
    elapsed_s: float


class DriftReportJson(TypedDict):
    """The drift of one position since it was calibrated."""

    actuator: str
    position: str
    since: str
    solves: int
    degrees: float
    corrected_degrees: float


class DriverReportJson(TypedDict):
    """A stepper driver as it was after the last motion."""

    actuator: str
    ready: bool
    threshold_celsius: int | None
    load: int
    current_scale: int


class CalibrationReportJson(TypedDict):
    """A summary of the calibration in force."""

    version: int
    at: str | None
    by: str | None
    values: int
    uncertain: dict[str, float | str]
    unconfirmed: list[str]
    missing: list[str]
    others: dict[str, str]


class RunRecordJson(TypedDict):
    """The record of a job."""

    id: str
    kind: str
    robot: str
    started_at: str
    outcome: str | None
    reason: str
    duration_s: float
    to: str | None
    facelets: str | None
    moves: str | None
    planned_us: int | None
    greedy_us: int | None
    executed_us: int | None
    attempts: int
    timings_s: dict[str, float]
    latency_s: dict[str, list[float]]
    orientation: str | None
    operations: list[JsonObject]
    reading: JsonObject
    photos: list[str]
    corners: dict[str, list[list[float]]]
    faults: list[FaultRecordJson]
    recoveries: list[str]
    link: dict[str, int]
    warnings: list[str]
    notes: list[NoteRecordJson]
    events: list[JsonObject]


class StatisticsJson(TypedDict):
    """Times of all attempts, and of each day."""

    attempts: int
    solved: int
    best_s: float | None
    best_run: str | None
    mean_s: float | None
    mo3_s: float | None
    ao5_s: float | None
    ao12_s: float | None
    best_mo3_s: float | None
    best_ao5_s: float | None
    best_ao12_s: float | None
    days: list[DayStatisticsJson]


class PatternListJson(TypedDict):
    """The patterns that the robot's cube has: names and descriptions.

    ``facelets``: of the patterns that can be drawn.
    """

    patterns: dict[str, str]
    facelets: dict[str, str]


class DayStatisticsJson(TypedDict):
    """Times of the attempts of one day."""

    day: str
    attempts: int
    solved: int
    best_s: float | None
    mean_s: float | None


class CalibratorJson(TypedDict):
    """The person who calibrates."""

    place: str
    at: str
    process: int
    since: str
    who: NoteRecordJson


class RobotStatusJson(TypedDict):
    """The status of the robot and its daemon."""

    state: str
    since: str
    robot: str
    simulated: bool
    homed: bool
    released: list[str]
    calibrating: bool
    calibrator: CalibratorJson | None
    starting: bool
    job: JobStatusJson | None
    preparation: PreparationJson | None
    inspection_left_s: float | None
    fault: FaultRecordJson | None
    last_run: RunRecordJson | None
    link: dict[str, int]
    warnings: list[str]
    notes: list[NoteRecordJson]
    drivers: list[DriverReportJson]
    drift: list[DriftReportJson]
    calibration: CalibrationReportJson | None
    records: str
    version: str
    process: int


class RunListJson(TypedDict):
    """Summaries of records, newest first, and runs that cannot be read."""

    runs: list[RunRecordJson]
    unreadable: list[JsonObject]


class LiveCubeJson(TypedDict):
    """The cube before the present motion."""

    size: int
    facelets: str
    seen: list[str | None]
    palette: dict[str, str]
    orientation: str


class LiveMotionJson(TypedDict):
    """The present motion."""

    purpose: str
    orientation: str
    duration_us: int
    greedy_us: int | None
    operations: list[JsonObject]
    actuators: list[JsonObject]
    moves: str
    move_ends_us: list[int]


class LiveStateJson(TypedDict):
    """The cube, the present motion and its clock."""

    mechanism: JsonObject | None
    positions: dict[str, str | int] | None
    cube: LiveCubeJson | None
    motion: LiveMotionJson | None
    at_us: int | None
    look: JsonObject | None


class EventJson(TypedDict):
    """A line of the event stream."""

    event: str
    time: str
    state: str
    run: str | None
    text: str
    outcome: str | None
    progress: float | None
    step_code: NotRequired[str]
    step_parameters: NotRequired[dict[str, str]]
    cube: NotRequired[LiveCubeJson]
    look: NotRequired[JsonObject | None]
    motion: NotRequired[LiveMotionJson]
    positions: NotRequired[dict[str, str | int]]
    at_us: NotRequired[int]


class SourceJson(TypedDict):
    """The origin of a calibrated value."""

    how: str
    at: str
    confirmed: bool
    uncertain: float | str | None
    robot: str | None


class CalibrationJson(TypedDict):
    """Calibrated values by key of the profile."""

    format: int
    robot: str
    size: int | None
    version: int
    at: str | None
    by: str | None
    values: JsonObject
    sources: dict[str, SourceJson]


class ChangedValueJson(TypedDict):
    """A calibrated value that has changed."""

    key: str
    before: Any
    after: Any


class RestoredJson(CalibrationJson):
    """The calibration now in force, and its changes."""

    changes: list[ChangedValueJson]


class VersionSummaryJson(TypedDict):
    """One version of a calibration."""

    version: int
    at: str | None
    by: str | None
    restored: int | None
    in_force: bool
    values: int
    changed: int | None
    differing: int | None
    why: str | None


class VersionListJson(TypedDict):
    """All versions of a robot's calibration."""

    robot: str
    versions: list[VersionSummaryJson]
    others: dict[str, str]


class LogLineJson(TypedDict):
    """A line of the daemon's log."""

    number: int
    time: str
    level: str
    source: str
    text: str


class LogLinesJson(TypedDict):
    """Lines of the daemon's log, the oldest first."""

    lines: list[LogLineJson]
    latest: int


class CheckUpFindingJson(TypedDict):
    """A finding of a check-up."""

    about: str
    verdict: str
    text: str
    remedy: str
    fault: str
    detail: str
    notes: list[NoteRecordJson]


class CheckUpJson(TypedDict):
    """All findings of a check-up."""

    at: str
    findings: list[CheckUpFindingJson]


class ProfileComplaintJson(TypedDict):
    """A fault of a profile."""

    line: int
    key: str
    text: str


class ProfileVerdictJson(TypedDict):
    """The result of checking a profile."""

    ok: bool
    title: str
    complaints: list[ProfileComplaintJson]


class ProfileInForceJson(TypedDict):
    """A version of the profile with its text."""

    version: int
    running: int | None
    at: str | None
    file: str
    text: str


class ProfileVersionSummaryJson(TypedDict):
    """One version of the profile."""

    version: int
    at: str | None
    is_original: bool
    is_in_force: bool
    is_running: bool


class ProfileVersionListJson(TypedDict):
    """All versions of the profile, the newest first."""

    versions: list[ProfileVersionSummaryJson]


class KeptProfileJson(TypedDict):
    """The version that was kept."""

    version: int
    at: str


class Started(TypedDict):
    """A job was started; its record has this number."""

    run: str


class StopReply(TypedDict):
    """The answer to a stop: ``stopped`` if there was anything to stop."""

    stopped: bool


class Acknowledged(TypedDict):
    """The answer to an acknowledgement: ``acknowledged`` if there was an emergency stop."""

    acknowledged: bool


STATUS: Endpoint[RobotStatusJson] = Endpoint("GET", "/status")
EVENTS: Endpoint[EventJson] = Endpoint("GET", "/events")
LIVE: Endpoint[LiveStateJson] = Endpoint("GET", "/live")
PICTURE: Endpoint[bytes] = Endpoint("GET", "/picture")
START: Endpoint[Started] = Endpoint("POST", "/start")
HOME: Endpoint[Started] = Endpoint("POST", "/home")
STOP: Endpoint[StopReply] = Endpoint("POST", "/stop")
ACKNOWLEDGE: Endpoint[Acknowledged] = Endpoint("POST", "/acknowledge")
SHUT_DOWN: Endpoint[StopReply] = Endpoint("POST", "/shutdown")
RUNS: Endpoint[RunListJson] = Endpoint("GET", "/runs")
RUN: Endpoint[RunRecordJson] = Endpoint("GET", "/runs/{run}")
RUN_FILE: Endpoint[bytes] = Endpoint("GET", "/runs/{run}/files/{name}")
COLLAGE: Endpoint[bytes] = Endpoint("GET", "/runs/{run}/collage")
PATTERNS: Endpoint[PatternListJson] = Endpoint("GET", "/patterns")
STATISTICS: Endpoint[StatisticsJson] = Endpoint("GET", "/statistics")
EXPORT: Endpoint[bytes] = Endpoint("GET", "/exports/{name}")
MAINTENANCE: Endpoint[JsonObject] = Endpoint("POST", "/maintenance")
CALIBRATION: Endpoint[CalibrationJson] = Endpoint("GET", "/calibration")
SET_CALIBRATION: Endpoint[CalibrationJson] = Endpoint("PUT", "/calibration")
IMPORT_CALIBRATION: Endpoint[CalibrationJson] = Endpoint("POST", "/calibration/import")
UNDO_CALIBRATION: Endpoint[CalibrationJson] = Endpoint("POST", "/calibration/undo")
VERSIONS: Endpoint[VersionListJson] = Endpoint("GET", "/calibration/versions")
RESTORE_CALIBRATION: Endpoint[RestoredJson] = Endpoint("POST", "/calibration/restore")
LOG: Endpoint[LogLinesJson] = Endpoint("GET", "/log")
CHECK_UP: Endpoint[CheckUpJson] = Endpoint("POST", "/checkup")
PROFILE: Endpoint[ProfileInForceJson] = Endpoint("GET", "/profile")
RUNNING_PROFILE: Endpoint[ProfileInForceJson] = Endpoint("GET", "/profile/running")
KEEP_PROFILE: Endpoint[KeptProfileJson] = Endpoint("PUT", "/profile")
CHECK_PROFILE: Endpoint[ProfileVerdictJson] = Endpoint("POST", "/profile/check")
PROFILE_VERSIONS: Endpoint[ProfileVersionListJson] = Endpoint("GET", "/profile/versions")
PROFILE_VERSION: Endpoint[ProfileInForceJson] = Endpoint("GET", "/profile/versions/{version}")
RESTORE_PROFILE: Endpoint[KeptProfileJson] = Endpoint("POST", "/profile/restore")
RESTART: Endpoint[StopReply] = Endpoint("POST", "/restart")


def trial_endpoint(method: Method, name: str) -> Endpoint[JsonObject]:
    """Return the endpoint of a trial of calibration."""
    return Endpoint(method, f"{MAINTENANCE.path}/{name}")


def is_trial(endpoint: Endpoint[object]) -> bool:
    """Return whether an endpoint is a trial of calibration."""
    return endpoint.path.startswith(f"{MAINTENANCE.path}/")


Endpoints = frozenset[Endpoint[object]]

WATCHING: Endpoints = frozenset(
    {STATUS, LIVE, EVENTS, PICTURE, RUNS, RUN, RUN_FILE, COLLAGE, STATISTICS, EXPORT, PATTERNS}
    | {CALIBRATION, RUNNING_PROFILE}
)
OPERATING: Endpoints = frozenset({START, HOME, STOP, ACKNOWLEDGE})
CALIBRATING: Endpoints = frozenset({MAINTENANCE, SET_CALIBRATION})
LEARNING: Endpoints = frozenset({trial_endpoint("POST", "colours")})
EXAMINING: Endpoints = frozenset(
    {LOG, CHECK_UP, PROFILE, CHECK_PROFILE, PROFILE_VERSIONS, PROFILE_VERSION}
)
MANAGING: Endpoints = frozenset({KEEP_PROFILE, RESTORE_PROFILE, RESTART})


class Program(StrEnum):
    """A program with its own socket."""

    PAGE = "page"
    GUIDE = "guide"
    MANAGE = "manage"
    DISPLAY = "display"
    MQTT = "mqtt"

    @property
    def group(self) -> str:
        """The group whose members may use its socket."""
        return f"cubist-{self}"

    def socket_beside(self, control: Path) -> Path:
        """Return the path of its socket, in the folder of the control socket."""
        return control.with_name(f"{self}.sock")

    def may_ask(self, endpoint: Endpoint[object]) -> bool:
        """Return whether its socket has this endpoint."""
        return endpoint in _ENDPOINTS[self] or (self is Program.GUIDE and is_trial(endpoint))

    def may_set(self, key: str) -> bool:
        """Return whether it may set the calibrated value of this dotted key."""
        sections = _SECTIONS[self]
        return sections is None or key.partition(".")[0] in sections


_ENDPOINTS: Mapping[Program, Endpoints] = {
    Program.PAGE: WATCHING | OPERATING | EXAMINING,
    Program.GUIDE: WATCHING | CALIBRATING | {UNDO_CALIBRATION, STOP},
    Program.MANAGE: MANAGING | {STATUS},
    Program.DISPLAY: WATCHING | OPERATING | CALIBRATING | LEARNING | {SHUT_DOWN},
    Program.MQTT: frozenset({STATUS, EVENTS, START, STOP}),
}
_SECTIONS: Mapping[Program, frozenset[str] | None] = {
    Program.PAGE: frozenset(),
    Program.GUIDE: None,
    Program.MANAGE: frozenset(),
    Program.DISPLAY: frozenset({"colours"}),
    Program.MQTT: frozenset(),
}
"""Sections of the profile whose values each program may set; None: all."""
