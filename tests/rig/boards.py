"""A board in simulated time: the real firmware, a witness at its pins, and links to it.

Tests of the link may be coroutines: those with a :class:`Rig` run in its time.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import random
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robot.link import EndstopHoming, Execution, Link, ServoSetup, StepperSetup
from robot.link.actuators import ActuatorSetup
from robot.link.protocol import TICKS_PER_US, BoardState
from robot.motion.schedule import MotionProfile, Schedule, StepSegment, TimedTurn
from robot.motion.stepper import StepperLimits, stepper_move
from robot.text.faults import RobotError
from robot.twin.pulses import PwmChips
from robot.twin.simulated import Kind
from tests.rig.simulated_time import VirtualBoard, VirtualLoop, VirtualPort

RECORD = struct.Struct("<QHBB")
STACK = 7
"""A kind of record that only tests request."""
STEP, DIRECTION, ENDSTOP = 2, 3, 5
PUSHER_STEP, PUSHER_DIRECTION = 6, 7
SERVO_PINS = 9, 10
PORT_LIMIT_S = 60.0
BOOTED_LATER_S = 1.0
FASTER = 1e-4
"""Relative lead of the second board's clock."""
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)
SETUPS: tuple[ActuatorSetup, ...] = (
    ServoSetup("holder", pin=9, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100),
    ServoSetup("lid", pin=10, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100),
    StepperSetup(
        "turner",
        step_pin=STEP,
        direction_pin=DIRECTION,
        limits=LIMITS,
        minimum_steps=-500,
        maximum_steps=2000,
        homing=EndstopHoming(
            pin=ENDSTOP,
            direction=-1,
            speed=400,
            slow_speed=100,
            backoff_steps=30,
            max_travel_steps=1000,
            edge_position=-40,
        ),
    ),
    StepperSetup("pusher", step_pin=PUSHER_STEP, direction_pin=PUSHER_DIRECTION, limits=LIMITS),
)


@dataclass
class Witness:
    """A listener at the pins that also moves the turner's end stop."""

    answer: Callable[[bytes], None]
    records: list[tuple[int, int, int]] = field(default_factory=list)
    turner_steps: int = 200
    """Position of the turner, counted from the end stop's edge."""
    pressed: Callable[[int], bool] = lambda steps: steps <= 0
    """Return true if the end stop is pressed with the turner there."""
    active_high: bool = False
    """True if a pressed end stop is high."""
    resets: int = 0
    chips: PwmChips | None = None
    """Chips that make the pulses of a board that only sends their lengths."""
    stack_left: int = 1 << 16
    """Minimum number of bytes so far between the stack of a simulated AVR and its variables."""

    def __post_init__(self) -> None:
        self._levels: dict[int, int] = {}

    def feed(self, data: bytes) -> None:
        for record in RECORD.iter_unpack(data):
            self._take(*record)

    def _take(self, ticks: int, pin: int, level: int, kind: int) -> None:
        if self.chips is not None and kind != Kind.RESET:
            self.chips.advance(ticks / TICKS_PER_US)
        if kind == Kind.READ:
            level = self.pressed(self.turner_steps) == self.active_high
            self.answer(RECORD.pack(ticks, pin, level, kind))
        elif kind == Kind.LEVEL:
            self.records.append((ticks, pin, level))
            self._levels[pin] = level
            if pin == STEP and level:
                self.turner_steps += 1 if self._levels.get(DIRECTION) else -1
        elif kind == STACK:
            self.stack_left = min(self.stack_left, pin)
        elif kind == Kind.WRITE and self.chips is not None:
            self.chips.write(ticks / TICKS_PER_US, pin, level)
        elif kind == Kind.RESET:
            if self.chips is not None:
                self.chips.restart()
            self._levels.clear()
            self.resets += 1

    def pulse_edge(self, time_us: float, pin: int, level: bool) -> None:
        """Record that the chips change a servo's wire."""
        self.records.append((round(time_us * TICKS_PER_US), pin, int(level)))

    def rises(self, pin: int) -> list[int]:
        return [ticks for ticks, at, level in self.records if at == pin and level]

    def pulses(self, pin: int) -> list[tuple[int, int]]:
        """Return the rising tick and the length in ticks of each of a servo's pulses."""
        edges = [(ticks, level) for ticks, at, level in self.records if at == pin]
        return [
            (rise, fall - rise) for (rise, high), (fall, low) in pairwise(edges) if high and not low
        ]

    def moves(self, step: int = PUSHER_STEP, direction: int = PUSHER_DIRECTION) -> list[int]:
        """Return a stepper's signed numbers of steps between changes of direction."""
        moves: list[int] = []
        sign = -1
        for _, pin, level in self.records:
            if pin == direction:
                sign = 1 if level else -1
            elif pin == step and level:
                if not moves or (moves[-1] > 0) != (sign > 0):
                    moves.append(0)
                moves[-1] += sign
        return moves


@dataclass
class Rig:
    """A board with its witness and its serial port, and links to it."""

    board: VirtualBoard
    pins: Witness
    port: VirtualPort
    loop: VirtualLoop
    links: list[Link] = field(default_factory=list)
    draw: Callable[[int], int] = field(default_factory=lambda: random.Random(1).randrange)

    def link(self, setups: tuple[ActuatorSetup, ...] = SETUPS) -> Link:
        self.links.append(Link(self.port, setups, clock=self.loop.time, draw=self.draw))
        return self.links[-1]

    async def homed_link(self, *names: str, setups: tuple[ActuatorSetup, ...] = SETUPS) -> Link:
        """Return a link to the board: open, configured, homed (default: all actuators)."""
        link = self.link(setups)
        await link.open()
        await link.configure()
        await link.home(names or None)
        return link

    async def end(self) -> None:
        for link in self.links:
            await link.close()
        self.port.end()
        self.board.end()


every_board = pytest.mark.parametrize(
    "rig",
    ["host_rig", "linux_rig", "uno", pytest.param("pico", marks=pytest.mark.long)],
    indirect=True,
)
"""The firmware for this computer, for a Raspberry Pi, and for Uno and Pico in an emulator."""


def is_fault(code: str, detail: str | None = None) -> Callable[[RobotError], bool]:
    return lambda error: error.code == code and detail in (None, error.detail)


def program(name: str) -> Path:
    return Path(sys.executable).with_name(name)


@contextlib.contextmanager
def board_process(name: str, port: Path, *options: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a firmware program as a process in real time, its serial port a pseudo-terminal."""
    process = subprocess.Popen([program(name), "--pty-link", port, *options])
    try:
        deadline = time.monotonic() + PORT_LIMIT_S
        while not port.exists():
            assert process.poll() is None, "the firmware ended at once"
            assert time.monotonic() < deadline, "no port"
            os.sched_yield()
        yield process
    finally:
        process.kill()
        process.wait(PORT_LIMIT_S)


def simulated(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Turn a coroutine into a function that runs on a fixture's loop, or else in real time."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        loops = [one.loop for one in fixtures.values() if hasattr(one, "loop")]
        run = loops[0].run_until_complete if loops else asyncio.run
        run(test(**fixtures))

    return run


def _started(loop: VirtualLoop, command: Sequence[str | Path], drift: float = 0.0) -> Rig:
    board = VirtualBoard(command, drift)
    board.listener = pins = Witness(board.answer)
    return Rig(board, pins, VirtualPort(board, loop), loop)


@contextlib.contextmanager
def rig_of(*command: str | Path) -> Iterator[Rig]:
    with contextlib.closing(VirtualLoop()) as loop:
        rig = _started(loop, command)
        try:
            yield rig
        finally:
            loop.run_until_complete(rig.end())


@contextlib.contextmanager
def two_boards(
    first: Sequence[str | Path], second: Sequence[str | Path] = ()
) -> Iterator[tuple[VirtualLoop, list[Rig]]]:
    """Yield two boards; the second boots a second later and its clock is 100 ppm faster.

    Each runs a program with its options. The second runs the same program unless one is given.
    """
    with contextlib.closing(VirtualLoop()) as loop:
        loop.attach(lambda _: True)  # in small steps, or answers would come late
        rigs = [_started(loop, first)]
        loop.pass_time(BOOTED_LATER_S)
        rigs.append(_started(loop, second or first, FASTER))
        loop.pass_time(BOOTED_LATER_S)
        try:
            yield loop, rigs
        finally:
            for rig in rigs:
                loop.run_until_complete(rig.end())


def in_turn(*profiles: MotionProfile, times: int = 1) -> Schedule:
    """Return a schedule of profiles one after another, the whole repeated ``times``."""
    turns, clock = [], 0
    for _ in range(times):
        for number, profile in enumerate(profiles):
            turns.append(TimedTurn(clock, number))
            clock += profile.duration_us
    return Schedule(profiles, tuple(turns), clock)


def to_and_fro(times: int, steps: int = 100) -> Schedule:
    moves = (stepper_move("pusher", at, by, LIMITS) for at, by in ((0, steps), (steps, -steps)))
    return in_turn(*moves, times=times)


def rises_of(profile: MotionProfile) -> NDArray[np.int64]:
    """Return the ticks from the start of a stepper's motion to each of its steps."""
    runs = [segment for segment in profile.segments if isinstance(segment, StepSegment)]
    intervals = [
        run.interval_ticks + run.add_ticks * np.arange(abs(run.count), dtype=np.int64)
        for run in runs
    ]
    return np.cumsum(np.concatenate(intervals))


def pushes_of_two(idle_s: int, steps: int = 400) -> Schedule:
    """Return pushes of left every four seconds, and of right at the start and after ``idle_s``."""
    moves, turns = [], []
    for second in range(0, idle_s + 1, 4):
        for name in ("left", "right") if second in (0, idle_s) else ("left",):
            at = steps * (second // 4 if name == "left" else second // idle_s)
            turns.append(TimedTurn(second * 1_000_000, len(moves)))
            moves.append(stepper_move(name, at, steps, LIMITS))
    return Schedule(tuple(moves), tuple(turns), idle_s * 1_000_000 + moves[-1].duration_us)


async def running(link: Link, plan: Schedule) -> asyncio.Task[Execution]:
    """Start a plan and return its task once the firmware plays it."""
    run = asyncio.create_task(link.run(plan))
    while (await link.status()).state != BoardState.RUNNING:
        pass
    return run
