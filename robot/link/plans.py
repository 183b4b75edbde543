"""Plans for the boards: cut into each board's part, encoded, and checked against its limits.

A shape is a profile without its actuator and direction, so motors that move alike share it. A
turn's start is encoded relative to the turns before it, which nearly always fits its two bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from robot.link.protocol import (
    MAX_DELAY_US,
    MAX_PAYLOAD,
    RATE_UNIT,
    SERVO_SEGMENT,
    STEP_SEGMENT,
    TICKS_PER_US,
    ActuatorKind,
    Board,
    ClearProfiles,
    Message,
    ProfileBegin,
    ProfileSegments,
    ResetCause,
    Timing,
    TurnBit,
    Turns,
    Welcome,
)
from robot.link.wire import crc16
from robot.motion.schedule import MotionProfile, Schedule, ServoSegment, StepSegment, TimedTurn
from robot.settings.board_table import ACTUATORS, TICKS_PER_S
from robot.text.faults import Fault, RobotError

PULSES_BY_THEMSELVES = (Board.LINUX, Board.RP2040)
"""Boards whose kernel or hardware generates the pulses of servos."""

ROUNDING = 1 + 1e-9
"""Tolerance for the rounding of computed rates."""

MOST_SEGMENTS = 255
"""Maximum number of segments of a profile: it is sent as a byte."""

LEAST_PACE = 3e-5
"""Minimum difference between clocks that is compensated: 0.1 ms in three seconds."""

LONGEST_IDLE_US = 16_000_000
"""Longest time between the starts of two turns at one board. The protocol has waits of up to
16.7 s; a faster clock uses up part of the margin."""


def stages(schedule: Schedule, board_of: Mapping[str, str]) -> list[Schedule]:
    """Cut a schedule where everything rests, so that no board waits too long.

    A board that rests between two cuts gets no part of the schedule there. Raise
    :class:`RobotError` if no board drives an actuator, or if too much time passes without a rest.
    """
    cuts: list[int] = []
    begin = rested = latest_end = 0
    last: dict[str, int] = {}
    for turn in schedule.turns:
        profile = schedule.profiles[turn.profile]
        name = board_at(profile.actuator, board_of)
        if turn.start_us >= latest_end:
            rested = latest_end
        if turn.start_us - last.get(name, begin) > LONGEST_IDLE_US:
            if turn.start_us - rested > LONGEST_IDLE_US or rested == begin:
                raise RobotError(Fault.BAD_SCHEDULE, detail=_too_long(name, turn.start_us))
            cuts.append(rested)
            begin = rested
            last = {board: start for board, start in last.items() if start >= begin}
        last[name] = turn.start_us
        latest_end = max(latest_end, turn.start_us + profile.duration_us)
    bounds = [0, *cuts, schedule.duration_us]
    return [_turns_between(schedule, *pair) for pair in pairwise(bounds)]


def _turns_between(schedule: Schedule, begin: int, end: int) -> Schedule:
    """Return the turns between two moments of rest, timed from the first."""
    turns = (turn for turn in schedule.turns if begin <= turn.start_us < end)
    own = tuple(replace(turn, start_us=turn.start_us - begin) for turn in turns)
    return Schedule(schedule.profiles, own, end - begin)


def _too_long(name: str, at_us: int) -> str:
    return (
        f"board {name} waits longer than {LONGEST_IDLE_US / 1e6:g} s for its turn at "
        f"{at_us / 1e6:.1f} s, and the plan has no moment of rest before it"
    )


def split(schedule: Schedule, board_of: Mapping[str, str]) -> dict[str, Schedule]:
    """Return each board's part of a schedule, in the schedule's time.

    Raises :class:`RobotError` if no board drives an actuator.
    """
    turns: dict[str, list[TimedTurn]] = {}
    numbers: dict[str, dict[int, int]] = {}
    for turn in schedule.turns:
        name = board_at(schedule.profiles[turn.profile].actuator, board_of)
        known = numbers.setdefault(name, {})
        number = known.setdefault(turn.profile, len(known))
        turns.setdefault(name, []).append(TimedTurn(turn.start_us, number))
    return {
        name: Schedule(
            tuple(schedule.profiles[profile] for profile in numbers[name]),
            tuple(own),
            schedule.duration_us,
        )
        for name, own in turns.items()
    }


def paces(drifts: Mapping[str, float]) -> dict[str, float]:
    """Return the factor by which each board stretches a plan to match the slowest clock.

    ``drifts``: the rate by which each clock is faster than this computer's. Differences that are
    too small to matter in any plan are ignored, so 1.0 is usual.
    """
    slowest = min(drifts.values(), default=0.0)
    exact = {name: (1 + drift) / (1 + slowest) for name, drift in drifts.items()}
    return {name: pace if pace - 1 >= LEAST_PACE else 1.0 for name, pace in exact.items()}


def stretch_schedule(part: Schedule, pace: float) -> Schedule:
    """Return the schedule with all start times multiplied by ``pace``, but the same motions."""
    if pace == 1.0:
        return part
    turns = tuple(TimedTurn(round(turn.start_us * pace), turn.profile) for turn in part.turns)
    return Schedule(part.profiles, turns, round(part.duration_us * pace))


def board_at(actuator: str, board_of: Mapping[str, str]) -> str:
    """Return the board of an actuator; raises :class:`RobotError` if no board drives it."""
    if actuator not in board_of:
        raise RobotError(Fault.BAD_SCHEDULE, detail=f"no actuator is called {actuator}")
    return board_of[actuator]


SEGMENT_SIZE = STEP_SEGMENT.size
PIECE = MAX_PAYLOAD // 2 // SEGMENT_SIZE * SEGMENT_SIZE
"""Bytes of turns or segments in a frame: short frames survive a bad line more often."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a profile, the same for every actuator that performs it."""

    kind: ActuatorKind
    segments: tuple[bytes, ...]
    duration_ticks: int

    @property
    def units(self) -> int:
        """Room it takes in the microcontroller, in segments."""
        return 1 + len(self.segments)

    def messages(self) -> list[Message]:
        """Return the messages that upload it."""
        data = b"".join(self.segments)
        begin = ProfileBegin(self.kind, len(self.segments), self.duration_ticks, crc16(data))
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        return [begin, *(ProfileSegments(piece) for piece in pieces)]


@dataclass(frozen=True, slots=True)
class WirePlan:
    """A schedule encoded for the microcontroller."""

    shapes: tuple[Shape, ...]
    turns: tuple[bytes, ...]

    def upload(self) -> list[Message]:
        """Return the messages that replace the microcontroller's profiles with these."""
        messages: list[Message] = [ClearProfiles()]
        for shape in self.shapes:
            messages += shape.messages()
        return messages

    def turn_messages(self) -> list[Message]:
        """Return the turns, as many in a frame as fit."""
        frames: list[bytes] = [b""]
        for turn in self.turns:
            if len(frames[-1]) + len(turn) > PIECE:
                frames.append(b"")
            frames[-1] += turn
        return [Turns(frame) for frame in frames if frame]


def shape_of(profile: MotionProfile) -> Shape:
    """Return the shape of a profile. Raise :class:`RobotError` if a number does not fit."""
    try:
        kind, segments = _segments(profile)
    except Exception as error:
        raise RobotError(Fault.BAD_SCHEDULE, detail=f"{profile.actuator}: {error}") from error
    return Shape(kind, segments, profile.duration_us * TICKS_PER_US)


def _segments(profile: MotionProfile) -> tuple[ActuatorKind, tuple[bytes, ...]]:
    packed = []
    kind = ActuatorKind.STEPPER
    for segment in profile.segments:
        if isinstance(segment, ServoSegment):
            kind = ActuatorKind.SERVO
            pulse, duration = segment.pulse_us, segment.duration_us
            packed.append(SERVO_SEGMENT.pack(pulse * TICKS_PER_US, duration * TICKS_PER_US))
        else:
            steps = (segment.interval_ticks, segment.count, segment.add_ticks)
            packed.append(STEP_SEGMENT.pack(*steps))
    return kind, tuple(packed)


@dataclass(slots=True)
class TurnEncoder:
    """Follows the chain of turns in time, as the microcontroller will."""

    actuators: Mapping[str, int]
    previous_start: int | None = None
    previous_end: int = 0
    latest_end: int = 0
    busy_until: dict[str, int] = field(default_factory=dict)

    def encode(self, turn: TimedTurn, profile: MotionProfile, shape: int) -> bytes:
        """Return the bytes of the next turn."""
        name = profile.actuator
        if name not in self.actuators:
            raise RobotError(Fault.BAD_SCHEDULE, detail=f"no actuator is called {name}")
        if turn.start_us < self.busy_until.get(name, 0):
            raise RobotError(
                Fault.BAD_SCHEDULE, detail=f"{name} is still moving at {turn.start_us / 1e6:.3f} s"
            )
        timing, delay = self._timing(turn.start_us)
        first = shape | timing << TurnBit.TIMING_SHIFT
        second = self.actuators[name] | (TurnBit.REVERSE if profile.end < profile.start else 0)
        self._follow(turn.start_us, turn.start_us + profile.duration_us, name)
        return bytes([first, second]) + delay

    def _timing(self, start: int) -> tuple[Timing, bytes]:
        if start == self.previous_start:
            return Timing.WITH, b""
        if start == self.latest_end:
            return Timing.AFTER_ALL, b""
        if start == self.previous_end:
            return Timing.AFTER_PREVIOUS, b""
        delay = start - (self.previous_start or 0)
        if not 0 < delay <= MAX_DELAY_US:
            raise RobotError(
                Fault.BAD_SCHEDULE,
                detail=f"turns must be in order, at most {MAX_DELAY_US} us apart",
            )
        return Timing.DELAY, delay.to_bytes(3, "little")

    def _follow(self, start: int, end: int, name: str) -> None:
        self.previous_start = start
        self.previous_end = end
        self.latest_end = max(self.latest_end, end)
        self.busy_until[name] = end


def encode_schedule(schedule: Schedule, names: Sequence[str]) -> WirePlan:
    """Return the encoded schedule for actuators numbered in the order of ``names``.

    Raises :class:`RobotError` for unknown actuators, turns that are out of order, or turns of
    one actuator that overlap.
    """
    numbers: dict[Shape, int] = {}
    encoder = TurnEncoder({name: index for index, name in enumerate(names)})
    shapes = [shape_of(profile) for profile in schedule.profiles]
    turns = []
    for turn in schedule.turns:
        shape = numbers.setdefault(shapes[turn.profile], len(numbers))
        if shape > TurnBit.PROFILE_MASK:
            raise RobotError(Fault.BEYOND_BOARD, detail="more than 64 kinds of motion")
        turns.append(encoder.encode(turn, schedule.profiles[turn.profile], shape))
    return WirePlan(tuple(numbers), tuple(turns))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The firmware's own description. Rates are steps/s of each of the axes that move at a time."""

    board: Board
    firmware_version: str
    protocol_version: int
    boot_id: int
    config_crc: int
    reset_cause: ResetCause
    profile_units: int
    queue_bytes: int
    rate_one: int
    rate_two: int
    rate_six: int

    @classmethod
    def of(cls, welcome: Welcome) -> Capabilities:
        """Read them from the firmware's greeting."""
        return cls(
            board=Board(welcome.board),
            firmware_version=f"{welcome.major}.{welcome.minor}.{welcome.patch}",
            protocol_version=welcome.version,
            boot_id=welcome.boot_id,
            config_crc=welcome.config_crc,
            reset_cause=ResetCause(welcome.reset_cause),
            profile_units=welcome.profile_units,
            queue_bytes=welcome.queue_bytes,
            rate_one=welcome.rate_one * RATE_UNIT,
            rate_two=welcome.rate_two * RATE_UNIT,
            rate_six=welcome.rate_six * RATE_UNIT,
        )

    @property
    def most_actuators(self) -> int:
        """The maximum number of actuators that the board drives."""
        return ACTUATORS[self.board.name.lower()]

    def rate(self, axes: int, beside_servos: bool = False) -> float:
        """Return the steps/s of each of several axes at a time; time per step grows linearly.

        If servos are connected, the firmware checks for every step whether it would delay a pulse,
        except on boards of :data:`PULSES_BY_THEMSELVES`.
        """
        if beside_servos and self.board not in PULSES_BY_THEMSELVES:
            return self.rate(max(axes, 2)) / 2
        if axes <= 1:
            return self.rate_one
        slope = (1 / self.rate_six - 1 / self.rate_two) / 4
        return 1 / (1 / self.rate_two + max(slope, 0.0) * (axes - 2))


def check_plan(
    schedule: Schedule, plan: WirePlan, capabilities: Capabilities, *, beside_servos: bool = False
) -> None:
    """Raise :class:`RobotError` (``BEYOND_BOARD``) with the reason if the board cannot do it."""
    units = sum(shape.units for shape in plan.shapes)
    if units > capabilities.profile_units:
        raise RobotError(
            Fault.BEYOND_BOARD,
            detail=f"profiles take {units} units of memory, but this board has "
            f"{capabilities.profile_units}",
        )
    longest = max((len(shape.segments) for shape in plan.shapes), default=0)
    if longest > MOST_SEGMENTS:
        raise RobotError(
            Fault.BEYOND_BOARD,
            detail=f"a profile has {longest} segments, but boards take at most {MOST_SEGMENTS}",
        )
    for axes, rate, start_us in _crowded_moments(schedule):
        possible = capabilities.rate(axes, beside_servos)
        if rate > possible * ROUNDING:
            where = " beside servos" if beside_servos else ""
            raise RobotError(
                Fault.BEYOND_BOARD,
                detail=f"{axes} motors at up to {rate:.0f} steps/s {start_us / 1e6:.3f} s into "
                f"the plan, but this board makes only {possible:.0f} steps/s each{where}",
            )


def rate_share(
    schedules: Sequence[Schedule], capabilities: Capabilities, *, beside_servos: bool = False
) -> float:
    """Return the fraction (up to 1) of the schedules' highest speed that the board reaches while
    as many motors turn as ever turn at a time."""
    crowded = [moment for one in schedules for moment in _crowded_moments(one)]
    if not crowded:
        return 1.0
    possible = capabilities.rate(max(axes for axes, *_ in crowded), beside_servos)
    return min(1.0, possible / max(rate for _, rate, _ in crowded))


def peak_rate(profile: MotionProfile) -> float:
    """Return the highest speed of a profile in steps/s; 0 for a servo."""
    shortest = [
        min(run.interval_ticks, run.interval_ticks + run.add_ticks * (abs(run.count) - 1))
        for run in profile.segments
        if isinstance(run, StepSegment)
    ]
    return TICKS_PER_S / min(shortest) if shortest else 0.0


def _crowded_moments(schedule: Schedule) -> list[tuple[int, float, int]]:
    """Return (motors moving, highest speed among them, time) for every start of a motor."""
    rates = [peak_rate(profile) for profile in schedule.profiles]
    moving: list[tuple[int, float]] = []
    moments = []
    for turn in schedule.turns:
        rate = rates[turn.profile]
        if not rate:
            continue
        moving = [item for item in moving if item[0] > turn.start_us]
        moving.append((turn.start_us + schedule.profiles[turn.profile].duration_us, rate))
        moments.append((len(moving), max(speed for _, speed in moving), turn.start_us))
    return moments
