"""Step rates, jitter, stopping and sizes of the AVR firmware, in its own cycles under simavr."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot.computer.board_family import build, executable
from robot.link import Link, ServoSetup, StepperSetup
from robot.link.actuators import ActuatorSetup
from robot.link.protocol import EmergencyStop, Go, Ping
from robot.link.wire import CobsReader, WireFrame
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from tests.bench.figures import Emit
from tests.rig.simulated_time import VirtualBoard, VirtualLoop, VirtualPort

RECORD = np.dtype([("ticks", "<u8"), ("pin", "<u2"), ("level", "u1"), ("kind", "u1")])
OUTPUT, READ, BYTE, STACK = 0, 3, 4, 7
BYTE_CYCLES = 352


@dataclass
class Recorder:
    """Keeps what comes from the pins; inputs are answered as not pressed."""

    answer: Callable[[bytes], None]

    def __post_init__(self) -> None:
        self._chunks: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """See :class:`tests.rig.simulated_time.PinListener`."""
        self._chunks.append(data)
        records = np.frombuffer(data, dtype=RECORD)
        for record in records[records["kind"] == READ]:
            asked = record.tobytes()
            self.answer(asked[:10] + b"\1" + asked[11:])

    def records(self, kind: int = OUTPUT) -> NDArray[np.void]:
        """All records of a kind so far."""
        records = np.frombuffer(b"".join(self._chunks), dtype=RECORD)
        return records[records["kind"] == kind]

    def frames(self) -> list[tuple[int, WireFrame]]:
        """Frames as they reached the UART, each with the cycle at which its last byte was in."""
        reader = CobsReader()
        found = []
        for record in self.records(BYTE):
            arrived = int(record["ticks"]) + BYTE_CYCLES
            found += [(arrived, frame) for frame in reader.feed(bytes([record["level"]]))]
        return found

    def edges(self, pin: int, level: int = 1) -> NDArray[np.int64]:
        """Ticks at which a pin went to a level."""
        records = self.records()
        chosen = records[(records["pin"] == pin) & (records["level"] == level)]
        return chosen["ticks"].astype(np.int64)


@dataclass
class AvrBoard:
    """A running simulation, and the loop whose time is its own."""

    loop: VirtualLoop
    port: VirtualPort
    pins: Recorder

    def stack_left(self) -> int:
        """Fewest bytes there ever were between stack and variables."""
        return int(self.pins.records(STACK)["pin"].min())


@contextlib.contextmanager
def avr_board(name: str = "uno") -> Iterator[AvrBoard]:
    """The firmware of a board under simavr, until the end of the block; records in cycles."""
    command = [
        executable("cubist-firmware-avr"),
        "--elf",
        build(name).elf,
        "--board",
        name,
        "--cycles",
        "--stack",
    ]
    with contextlib.closing(VirtualLoop()) as loop:
        board = VirtualBoard(command)
        board.listener = pins = Recorder(board.answer)
        port = VirtualPort(board, loop)
        try:
            yield AvrBoard(loop, port, pins)
        finally:
            port.end()
            board.end()


STEP_PINS = (2, 3, 4, 5, 6, 7)
DIRECTION_PIN = 8
SERVO_PINS = (9, 10)
US_PER_CYCLE = 1 / 16
CYCLES_PER_TICK = 8
TICKS_PER_S = 2_000_000
PATIENT_MS = 2000
FULL = 1.02
"""How much more than the line takes is written to it."""
RATES = {1: 60_000, 2: 32_000, 6: 12_000}
BESIDE = ((1, 4_000.0), (1, 12_000.0), (4, 7_000.0))
"""Motors that run beside servos."""


def steppers(count: int, speed: float) -> list[ActuatorSetup]:
    """Motors that run at one speed from the first step to the last."""
    limits = StepperLimits(start_speed=speed, max_speed=speed, acceleration=1e6)
    return [
        StepperSetup(f"motor{pin}", step_pin=pin, direction_pin=DIRECTION_PIN, limits=limits)
        for pin in STEP_PINS[:count]
    ]


def together(profiles: Iterable[MotionProfile]) -> Schedule:
    """All profiles from the start on."""
    chosen = tuple(profiles)
    turns = tuple(TimedTurn(0, number) for number in range(len(chosen)))
    return Schedule(chosen, turns, max(profile.duration_us for profile in chosen))


async def saturate(board: AvrBoard) -> None:
    """Keep the line to the microcontroller full with frames of another session.

    A little more than it takes, but no more: the heartbeat must not queue up behind it.
    """
    noise = WireFrame(254, 0, 0, Ping.TYPE).encode() * 20
    pause_s = len(noise) * BYTE_CYCLES * US_PER_CYCLE / 1e6 / FULL
    while True:
        board.port.write(noise)
        await asyncio.sleep(pause_s)


def play(
    board: AvrBoard, setups: list[ActuatorSetup], schedule: Schedule, saturated: bool
) -> tuple[int, int]:
    """Run a schedule; microseconds it took, and turns that were late."""
    return board.loop.run_until_complete(_play(board, setups, schedule, saturated))


async def _play(
    board: AvrBoard, setups: list[ActuatorSetup], schedule: Schedule, saturated: bool
) -> tuple[int, int]:
    link = Link(board.port, setups, clock=board.loop.time, silence_hold_ms=PATIENT_MS)
    await link.open()
    await link.configure()
    await link.home()
    noise = asyncio.create_task(saturate(board)) if saturated else None
    try:
        execution = await link.run(schedule)
    finally:
        if noise:
            noise.cancel()
        status = await link.status()
        await link.close()
    return execution.executed_us, status.late


def interval_errors(edges: NDArray[np.int64], speed: float) -> NDArray[np.float64]:
    """How far each interval is from what was asked, in microseconds."""
    wanted = math.ceil(TICKS_PER_S / speed - 1e-9) * CYCLES_PER_TICK
    errors: NDArray[np.float64] = np.abs(np.diff(edges) - wanted) * US_PER_CYCLE
    return errors


def measure_rate(
    axes: int, speed: float, seconds: float = 1.0, saturated: bool = True
) -> dict[str, Any]:
    """Play so many axes at a speed; errors of the step intervals and widths of the pulses."""
    setups = steppers(axes, speed)
    steps = int(speed * seconds)
    schedule = together(
        stepper_move(setup.name, 0, steps, StepperLimits(speed, speed, 1e6)) for setup in setups
    )
    with avr_board() as board:
        executed_us, late = play(board, setups, schedule, saturated)
        edges = [board.pins.edges(pin) for pin in STEP_PINS[:axes]]
        falls = [board.pins.edges(pin, 0) for pin in STEP_PINS[:axes]]
        stack_left = board.stack_left()
    errors = np.concatenate([interval_errors(rises, speed) for rises in edges])
    widths = np.concatenate([f[-len(r) :] - r for r, f in zip(edges, falls, strict=True)])
    return {
        "axes": axes,
        "steps_per_s": speed,
        "steps": sum(len(rises) for rises in edges),
        "asked": steps * axes,
        "error_p999_us": float(np.percentile(errors, 99.9)),
        "error_max_us": float(errors.max()),
        "pulse_min_us": float(widths.min() * US_PER_CYCLE),
        "late": late,
        "exact": executed_us == schedule.duration_us,
        "stack_left": stack_left,
    }


def servos() -> list[ActuatorSetup]:
    """Two servos on the pins of a flipper."""
    return [
        ServoSetup(f"servo{pin}", pin, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=50)
        for pin in SERVO_PINS
    ]


def measure_servo_jitter(axes: int = 0, speed: float = 0.0) -> dict[str, Any]:
    """Widths of pulses that should all be alike, beside so many motors, the line being flooded."""
    motors = steppers(axes, speed) if axes else []
    moves = [
        stepper_move(motor.name, 0, int(3 * speed), StepperLimits(speed, speed, 1e6))
        for motor in motors
    ]
    still = together([*(servo_slew(s.name, 1500, 1500, 3_000_000) for s in servos()), *moves])
    with avr_board() as board:
        play(board, [*servos(), *motors], still, saturated=True)
        widths = []
        for pin in SERVO_PINS:
            rises, falls = board.pins.edges(pin), board.pins.edges(pin, 0)
            falls = falls[falls > rises[0]]
            pulses = min(len(rises), len(falls))  # the board still runs
            widths.append(falls[:pulses] - rises[:pulses])
    errors = np.abs(np.concatenate(widths) - 1500 / US_PER_CYCLE) * US_PER_CYCLE
    spread = np.ptp(np.concatenate(widths)) * US_PER_CYCLE
    return {
        "axes": axes,
        "steps_per_s": speed,
        "pulses": len(errors),
        "spread_us": float(spread),
        "error_max_us": float(errors.max()),
    }


async def stop_in_full_motion(board: AvrBoard, setups: list[ActuatorSetup], steps: int) -> None:
    """Start motors and hit the emergency stop while they run and the line is full."""
    link = Link(board.port, setups, clock=board.loop.time, silence_hold_ms=PATIENT_MS)
    await link.open()
    await link.configure()
    await link.home()
    limits = setups[0].limits if isinstance(setups[0], StepperSetup) else None
    assert limits is not None
    plan = together(stepper_move(setup.name, 0, steps, limits) for setup in setups)
    run = asyncio.create_task(link.run(plan))
    while not (await link.status()).moving:
        pass
    await asyncio.sleep(0.2)
    await link.emergency_stop()
    await asyncio.gather(run, return_exceptions=True)
    await link.close()


def measure_stopping(axes: int = 2, speed: float = 20_000) -> dict[str, Any]:
    """From the last byte of the emergency stop to the last step, and from go to the first."""
    with avr_board() as board:
        motion = stop_in_full_motion(board, steppers(axes, speed), int(speed * 3))
        board.loop.run_until_complete(motion)
        steps = np.sort(np.concatenate([board.pins.edges(pin) for pin in STEP_PINS[:axes]]))
        frames = board.pins.frames()
    stop = next(at for at, frame in frames if frame.type == EmergencyStop.TYPE)
    go = next(at for at, frame in frames if frame.type == Go.TYPE)
    return {
        "steps": len(steps),
        "stop_us": float(max(steps[-1] - stop, 0) * US_PER_CYCLE),
        "go_ms": float((steps[0] - go) * US_PER_CYCLE / 1000),
    }


def main(emit: Emit) -> None:
    """Every figure of docs/firmware-timing.md."""
    for board in ("uno", "mega"):
        built = build(board)
        emit("firmware-flash", built.flash_bytes, "bytes", 1, {"board": board})
        emit("firmware-static-ram", built.static_ram_bytes, "bytes", 1, {"board": board})
    for axes, speed in RATES.items():
        rate = measure_rate(axes, speed)
        emit("firmware-step-error-p999", rate["error_p999_us"], "us", rate["steps"], rate)
    for axes, speed in ((0, 0.0), *BESIDE):
        jitter = measure_servo_jitter(axes, speed)
        emit("firmware-servo-spread", jitter["spread_us"], "us", jitter["pulses"], jitter)
    stopping = measure_stopping()
    emit("firmware-emergency-stop", stopping["stop_us"], "us", 1, stopping)
    emit("firmware-go-to-first-step", stopping["go_ms"], "ms", 1, stopping)
