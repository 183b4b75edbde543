"""Schedules as they travel: shapes of motion, uploaded once, and turns of a few bytes.

A shape is a profile without its actuator and direction, so motors that move alike share it. A
turn's start is told relative to the turns before it, which nearly always fits its two bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from robot.link.protocol import (
    MAX_DELAY_US,
    MAX_PAYLOAD,
    SERVO_SEGMENT,
    STEP_SEGMENT,
    TICKS_PER_US,
    ActuatorKind,
    ClearProfiles,
    Message,
    ProfileBegin,
    ProfileSegments,
    Timing,
    TurnBit,
    Turns,
)
from robot.link.wire import crc16
from robot.motion.schedule import MotionProfile, Schedule, ServoSegment, TimedTurn
from robot.text.faults import Fault, RobotError

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
        """Its upload."""
        data = b"".join(self.segments)
        begin = ProfileBegin(self.kind, len(self.segments), self.duration_ticks, crc16(data))
        pieces = [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        return [begin, *(ProfileSegments(piece) for piece in pieces)]


@dataclass(frozen=True, slots=True)
class WirePlan:
    """A schedule in the microcontroller's terms."""

    shapes: tuple[Shape, ...]
    turns: tuple[bytes, ...]

    def upload(self) -> list[Message]:
        """The messages that replace the microcontroller's profiles by these."""
        messages: list[Message] = [ClearProfiles()]
        for shape in self.shapes:
            messages += shape.messages()
        return messages

    def turn_messages(self) -> list[Message]:
        """The turns, as many in a frame as fit."""
        frames: list[bytes] = [b""]
        for turn in self.turns:
            if len(frames[-1]) + len(turn) > PIECE:
                frames.append(b"")
            frames[-1] += turn
        return [Turns(frame) for frame in frames if frame]


def shape_of(profile: MotionProfile) -> Shape:
    """The shape of a profile; raises :class:`RobotError` when a number does not fit."""
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
        """The bytes of the next turn."""
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
    """The schedule for actuators numbered in the order of ``names``.

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
