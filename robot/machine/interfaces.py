"""What the daemon needs of the robot, as small protocols: motion, cameras, planning.

All methods block and are called in worker threads; ``stop`` and ``emergency_stop`` come from
another thread while ``home`` or ``perform`` is under way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from robot.faults import FAULTS, fault_code
from robot.motion.schedule import Schedule
from robot.records.runs import FaultRecord, LinkRecord
from robot.settings.profile import RobotProfile
from solver.errors import CubistError
from solver.solution import Progress


@dataclass(frozen=True)
class FaceImage:
    """One picture of one cube face: encoded as JPEG, the colours measured in it, and where.

    ``whole``: the robot itself hides no sticker of the face.
    """

    face: str
    camera: str
    picture: bytes
    colours: Any
    grid: Any
    whole: bool = True


@dataclass(frozen=True)
class ViewPoint:
    """From where a face is seen: motion that leads there (None: already there), then the look.

    ``state`` is the mechanism's there.
    """

    schedule: Schedule | None
    face: str
    step: Any
    state: Any = None


@dataclass(frozen=True)
class Tour:
    """A scan: view points in order, and the mechanism's state at the end."""

    views: tuple[ViewPoint, ...]
    end: Any


@dataclass(frozen=True)
class Reading:
    """What was read: the cube, and the facts worth keeping in the record."""

    cube: Any
    facelets: str
    confident: bool
    is_solved: bool
    look_again: tuple[str, ...]
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class MotionPlan:
    """A way to perform ``moves``: its schedule, its operations as in the JSON, its end state.

    ``source`` is the mind's own form of it.
    """

    moves: str
    duration_us: int
    schedule: Schedule
    operations: Sequence[Mapping[str, Any]]
    end: Any
    source: Any = None


@dataclass(frozen=True)
class Parts:
    """A plan cut in two where the robot rests, and the cube as it is there."""

    head: MotionPlan
    tail: MotionPlan
    cube: Any


class MotionController(Protocol):
    """The robot's motion."""

    def open(self) -> None:
        """Connect and configure; like all motion, raises :class:`MotionFault`."""

    def home(self, first: Sequence[str] = ()) -> None:
        """Find the positions of all actuators, these first, and go to the start positions."""

    def assume_start_positions(self) -> None:
        """Everything has been set to its start: what has no sensor to be homed by is there."""

    def distrust_positions(self) -> None:
        """A job broke off with its program: what the board does not know any more, nobody knows."""

    def perform(self, schedule: Schedule, progress: Callable[[float], None]) -> int:
        """Upload and execute; microseconds it took by the firmware's clock."""

    def position(self, actuator: str) -> int | None:
        """Where it rests, in us of pulse or steps; None while it is not homed."""

    def home_alone(self, actuator: str, at: int) -> int:
        """Home this actuator alone, a servo at this pulse; where it is then. What the others hold
        may be let go."""

    def jog(self, actuator: str, target: int) -> int:
        """Move one homed actuator slowly (pulse in us, or steps); where it is then."""

    def reconfigure(self, profile: RobotProfile, fastest: Mapping[str, float]) -> None:
        """Go on with other values for the same actuators: home before anything moves.

        ``fastest``: steps/s that some motors may be driven at, beyond what the profile allows.
        """

    def is_sensor_active(self, actuator: str) -> bool:
        """Whether the actuator's end stop or index sensor is active."""

    def stop(self) -> None:
        """Finish the motion under way and hold; what is performed ends with ``RunStopped``."""

    def emergency_stop(self) -> None:
        """Outputs off at once; the robot is not homed afterwards."""

    def link_statistics(self) -> LinkRecord:
        """What went over the line since the start; from any thread."""

    def close(self) -> None:
        """Outputs safe, port given back. Idempotent."""


class Scanner(Protocol):
    """The robot's cameras."""

    def settle(self) -> None:
        """Adapt to the light, then lock exposure and colours until the next call."""

    def look(self, view: ViewPoint) -> FaceImage:
        """Take and measure one picture."""

    def glance(self) -> tuple[int, Any]:
        """What the first camera sees now, small and grey: us of its clock, float32[H, W]."""

    def picture(self, camera: str | None) -> bytes:
        """What a camera (None: the first) sees now, as JPEG."""

    def close(self) -> None:
        """Give the cameras back. Idempotent."""


Hear = Callable[[Progress], None]


class SolvePlanner(Protocol):
    """Reading and planning."""

    def tour(self, state: Any | None, faces: Sequence[str] | None) -> Tour:
        """The scan from a mechanism state (None: as homed) of these faces (None: all needed)."""

    def recognise(self, look: FaceImage) -> None:
        """Raise :class:`NotReadable` for a look that shows no face, or not of such a cube."""

    def read(self, looks: Sequence[FaceImage]) -> Reading:
        """Decide the cube from all looks, several at a face included; :class:`NotReadable`."""

    def explanation(self) -> Callable[[], bytes]:
        """What draws, whenever that is called, how the last :meth:`read` came out, as PNG.

        Asked for once: whoever asks has the pictures from then on.
        """

    def know(self, facelets: str) -> Reading:
        """A cube told by a person; raises :class:`InvalidRequest`."""

    def prepare(self, cancel: threading.Event, progress: Hear) -> None:
        """Make the tables that plans need, where they are not there; ``progress`` hears of it.

        Raises SearchFailed when ``cancel`` is set meanwhile.
        """

    def plan(
        self, cube: Any, state: Any | None, cancel: threading.Event, progress: Hear
    ) -> MotionPlan:
        """The fastest way to solve ``cube`` held in this state, in the time the profile allows.

        ``progress`` hears, on any thread, how far tables are that have to be made first.
        """

    def split(self, cube: Any, plan: MotionPlan) -> Parts | None:
        """The plan for ``cube`` cut where the rest may be improved; None when that is too short."""

    def improved(self, parts: Parts, enough: threading.Event) -> MotionPlan:
        """A faster tail, searched until ``enough`` is set, or the one there is."""

    def scrambled(self, moves: str | None) -> Any:
        """The solved cube after these moves, or random ones; raises :class:`InvalidRequest`."""

    def scramble(self, cube: Any, state: Any | None, progress: Hear) -> MotionPlan:
        """A way to do to a cube what makes the solved one ``cube``."""


class InvalidRequest(CubistError, ValueError):
    """Something asked for that this robot does not have or that has no meaning; nothing moved."""


class RunStopped(Exception):
    """A job, or the motion it was performing, was ended by ``stop``: not an error."""


def fault_record(error: CubistError) -> FaultRecord:
    """An error for the record; those without a code of their own are named after their class."""
    code = fault_code(error)
    usual = FAULTS[code].remedy if code in FAULTS else ""
    return FaultRecord(
        code=code,
        cause=str(getattr(error, "cause", error)),
        remedy=str(getattr(error, "remedy", usual)),
    )


class NotReadable(CubistError, RuntimeError):
    """What the camera shows is no cube we can be sure of; ``look_again`` names doubtful faces.

    ``code`` says what it shows instead, as far as that can be told: ``no-cube``, ``two-cubes``,
    ``wrong-size``, ``face-covered``, else ``unreadable``.
    """

    def __init__(
        self, reason: str, look_again: Sequence[str] = (), code: str = "unreadable"
    ) -> None:
        super().__init__(reason)
        self.look_again = tuple(look_again)
        self.code = code
        self.remedy = FAULTS[code].remedy


@dataclass(frozen=True)
class Policy:
    """How often to try again, and whether to look at the cube after solving.

    ``improve_while_turning``: search a faster rest of a plan while its beginning is performed.
    ``end_scan_early``: look no further once the faces seen leave one cube.
    ``reconnect_s``: how long to wait for a board that went away in the middle of a job, asking for
    it every ``reconnect_every_s``.
    """

    scan_retries: int = 2
    solve_retries: int = 1
    check_after: bool = True
    improve_while_turning: bool = False
    end_scan_early: bool = False
    reconnect_s: float = 10.0
    reconnect_every_s: float = 0.5


@dataclass(frozen=True)
class Machine:
    """Everything a job works with."""

    name: str
    motion: MotionController
    scanner: Scanner
    planner: SolvePlanner
    policy: Policy
