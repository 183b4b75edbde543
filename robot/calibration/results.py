"""What each step of calibration is asked for and what it found, as on the control socket."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from robot.documents import ApiDocument, ApiRequest, WholeNumber


class ColoursRequest(ApiRequest):
    """The cube in the robot as facelets; read by the colours as they are when not given."""

    facelets: str | None = Field(default=None, pattern="^[URFDLB]{24,54}$")


class ColoursSeen(ApiDocument):
    """Colours of the cube in the robot, as calibrated values."""

    facelets: str
    values: dict[str, Any]


class TimedOperation(ApiDocument):
    """What an operation takes on average: as planned, and by the firmware's clock."""

    operation: str
    count: int
    planned_us: int
    measured_us: int


class Timings(ApiDocument):
    """Every operation, and calibrated values for actuators that take longer than planned."""

    operations: list[TimedOperation]
    values: dict[str, Any]


class TravelRequest(ApiRequest):
    """Which servo to watch, from one named position to another."""

    actuator: str = Field(min_length=1, max_length=64)
    between: Annotated[list[str], Field(min_length=2, max_length=2)]


class Travel(ApiDocument):
    """How long a servo took, known to ``within_us``; nothing where the camera cannot see it.

    ``values`` are calibrated values with the measured time, and what it is known to on top.
    """

    actuator: str
    between: tuple[str, str]
    planned_us: int
    measured_us: int | None = None
    within_us: int | None = None
    values: dict[str, Any] = Field(default_factory=dict)


class StepperRequest(ApiRequest):
    """Which stepper."""

    actuator: str = Field(min_length=1, max_length=64)


class TurnRequest(StepperRequest):
    """A quarter turn forwards and back, with the direction input inverted or not."""

    inverted: bool = False


class TurnTried(ApiDocument):
    """It went so many steps (negative: backwards, for want of room), and back."""

    actuator: str
    steps: int
    inverted: bool
    values: dict[str, Any]


class StepsRequest(StepperRequest):
    """So many turns of so many steps (None: as calibrated) and back."""

    turn_steps: WholeNumber | None = Field(default=None, ge=4, le=1_000_000, multiple_of=4)

    turns: WholeNumber = Field(default=1, ge=1, le=20)


class StepsTried(ApiDocument):
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


class SpeedTried(ApiDocument):
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


class Play(ApiDocument):
    """Steps back before the load follows, found ``within_steps``; None where nothing tells it."""

    actuator: str
    play_steps: int | None
    within_steps: int
    seen_by: str | None
    values: dict[str, Any]
