"""Step rates, jitter, stopping and sizes of the firmware, in cycles of the emulated chips; the
Raspberry Pi's process: pulses in real time, and steps from the kernel's own trace."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot.computer.board_family import build, executable, simulations
from robot.link import Link, SerialTransport, ServoSetup, StepperSetup
from robot.link.actuators import ActuatorSetup
from robot.link.protocol import TICKS_PER_US, EmergencyStop, Go, Ping
from robot.link.wire import CobsReader, WireFrame
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.settings import load_profile
from robot.settings.board_table import FRAME_US
from robot.twin.pulses import PwmChips
from tests.bench.figures import emit, used_cpu_s
from tests.rig.boards import rises_of
from tests.rig.simulated_time import VirtualBoard, VirtualLoop, VirtualPort
from tests.system.kernel.inside.devices import at_once
from tests.system.kernel.inside.lines import FASTEST, STEP, busy, errors_us, intervals_us, quantile
from tests.system.kernel.machine import Unavailable, boot, fetch_kernel

RECORD = np.dtype([("ticks", "<u8"), ("pin", "<u2"), ("level", "u1"), ("kind", "u1")])
OUTPUT, READ, BYTE, STACK = 0, 3, 4, 7
BYTE_CYCLES = 352
STEP_PINS = (2, 3, 4, 5, 6, 7)
DIRECTION_PIN = 8
SERVO_PINS = (9, 10)
US_PER_CYCLE = 1 / 16
CYCLES_PER_TICK = 8
TICKS_PER_S = 2_000_000
PATIENT_MS = 2000
FULL = 1.02
"""Rate of writing to the line, relative to its capacity."""
RATES = {1: 60_000, 2: 32_000, 6: 12_000}
BESIDE = ((0, 0.0), (1, 4_000.0), (1, 12_000.0), (4, 7_000.0))
"""Numbers of motors that run beside servos, and their speeds."""


def measure_firmware() -> None:
    """Emit every figure of docs/firmware-timing.md."""
    for board in ("uno", "mega"):
        built = build(board)
        emit("firmware-flash", built.flash_bytes, "bytes", 1, {"board": board})
        emit("firmware-static-ram", built.static_ram_bytes, "bytes", 1, {"board": board})
    for axes, speed in RATES.items():
        rate = _measure_rate(axes, speed)
        emit("firmware-step-error-p999", rate["error_p999_us"], "us", rate["steps"], rate)
    for axes, speed in BESIDE:
        jitter = _measure_servo_jitter(axes, speed)
        emit("firmware-servo-spread", jitter["spread_us"], "us", jitter["pulses"], jitter)
    stopping = _measure_stopping(axes=2, speed=20_000)
    emit("firmware-emergency-stop", stopping["stop_us"], "us", 1, stopping)
    emit("firmware-go-to-first-step", stopping["go_ms"], "ms", 1, stopping)


@dataclass
class Recorder:
    """Stores the records of the pins; answers inputs as not pressed."""

    answer: Callable[[bytes], None]
    chunks: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> None:
        self.chunks.append(data)
        records = np.frombuffer(data, dtype=RECORD)
        for record in records[records["kind"] == READ]:
            asked = record.tobytes()
            self.answer(asked[:10] + b"\1" + asked[11:])

    def records(self, kind: int) -> NDArray[np.void]:
        records = np.frombuffer(b"".join(self.chunks), dtype=RECORD)
        return records[records["kind"] == kind]

    def frames(self) -> list[tuple[int, WireFrame]]:
        """Return frames, each with the cycle at which its last byte was in the UART."""
        reader = CobsReader()
        found = []
        for record in self.records(BYTE):
            arrived = int(record["ticks"]) + BYTE_CYCLES
            found += [(arrived, frame) for frame in reader.feed(bytes([record["level"]]))]
        return found

    def edges(self, pin: int, level: int = 1) -> NDArray[np.int64]:
        """Return the ticks at which a pin went to a level."""
        records = self.records(OUTPUT)
        chosen = records[(records["pin"] == pin) & (records["level"] == level)]
        return chosen["ticks"].astype(np.int64)

    def pulses(self, pins: Sequence[int]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """Return the rises of each pin, and the widths of all pulses."""
        rises = [self.edges(pin) for pin in pins]
        falls = [self.edges(pin, 0)[-len(rise) :] for pin, rise in zip(pins, rises, strict=True)]
        return rises, np.concatenate(falls) - np.concatenate(rises)


@dataclass
class EmulatedBoard:
    """A running simulation and the event loop that has its time."""

    loop: VirtualLoop
    port: VirtualPort
    pins: Recorder
    pid: int

    @property
    def emulator(self) -> int:
        """The process in which the simulation runs the chip."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(children[0]) if children else self.pid

    @contextlib.asynccontextmanager
    async def link(self, setups: list[ActuatorSetup]) -> AsyncIterator[Link]:
        link = Link(self.port, setups, clock=self.loop.time, silence_hold_ms=PATIENT_MS)
        await link.open()
        await link.configure()
        await link.home()
        yield link
        await link.close()

    async def saturate(self) -> None:
        """Keep the line to the microcontroller full with frames of another session.

        Writes only slightly more than its capacity: the heartbeat must not queue up behind it.
        """
        noise = WireFrame(254, 0, 0, Ping.TYPE).encode() * 20
        pause_s = len(noise) * BYTE_CYCLES * US_PER_CYCLE / 1e6 / FULL
        while True:
            self.port.write(noise)
            await asyncio.sleep(pause_s)

    def play(self, setups: list[ActuatorSetup], schedule: Schedule) -> dict[str, Any]:
        """Run a schedule while the line is full. Return late turns, and if its time was exact."""

        async def run() -> dict[str, Any]:
            async with self.link(setups) as link:
                noise = asyncio.create_task(self.saturate())
                try:
                    done = await link.run(schedule)
                finally:
                    noise.cancel()
                is_exact = done.executed_us == schedule.duration_us
                return {"late": (await link.status()).late, "exact": is_exact}

        return self.loop.run_until_complete(run())


@contextlib.contextmanager
def emulated(command: Sequence[str | Path]) -> Iterator[EmulatedBoard]:
    """Run a board's firmware until the end of the block; records in cycles."""
    with contextlib.closing(VirtualLoop()) as loop:
        board = VirtualBoard([*command, "--cycles"])
        board.listener = pins = Recorder(board.answer)
        port = VirtualPort(board, loop)
        try:
            yield EmulatedBoard(loop, port, pins, board.process.pid)
        finally:
            port.end()
            board.end()


def uno() -> contextlib.AbstractContextManager[EmulatedBoard]:
    """Run the firmware of an Uno under simavr."""
    program = executable("cubist-firmware-avr")
    return emulated([program, "--elf", build("uno").elf, "--board", "uno", "--stack"])


PICO_RATES = ((1, 500_000.0), (2, 250_000.0), (6, 100_000.0))
PICO_S = 2.0
PICO_CYCLES_PER_TICK = 62.5
PICO_US_PER_CYCLE = 1 / 125


def measure_pico() -> None:
    """Emit errors of an emulated Pico's edges against their plan, at its highest rates."""
    built = build("pico")
    emit("pico-flash", built.flash_bytes, "bytes", 1, {})
    emit("pico-static-ram", built.static_ram_bytes, "bytes", 1, {})
    for axes, speed in PICO_RATES:
        found = _measure_pico(axes, speed)
        emit("pico-edge-error-max", found["error_max_us"], "us", found["steps"], found)


def _measure_pico(axes: int, speed: float) -> dict[str, Any]:
    """Play axes whose steps never coincide. Return errors of the edges against the chip's tick."""
    setups, moves = _steppers(axes, speed, PICO_S)
    turns = tuple(TimedTurn(round(1.5 * number), number) for number in range(axes))
    schedule = Schedule(tuple(moves), turns, moves[0].duration_us + turns[-1].start_us)
    with emulated(simulations()["rp2040"].command(load_profile("six-motor-pico"), Path())) as board:
        played = board.play(setups, schedule)
        edges, widths = board.pins.pulses(STEP_PINS[:axes])
        cpu_s = used_cpu_s(board.emulator) / board.loop.time()
    wanted = [
        (rises_of(move) + turn.start_us * TICKS_PER_US) * PICO_CYCLES_PER_TICK
        for move, turn in zip(moves, turns, strict=True)
    ]
    begun = round((edges[0][0] - wanted[0][0]) / PICO_CYCLES_PER_TICK) * PICO_CYCLES_PER_TICK
    late_us = [
        (rises - ticks - begun) * PICO_US_PER_CYCLE
        for rises, ticks in zip(edges, wanted, strict=True)
    ]
    every = np.concatenate(late_us)
    return {
        "axes": axes,
        "steps_per_s": speed,
        "steps": len(every),
        "asked": int(speed * PICO_S) * axes,
        "error_max_us": round(float(np.abs(every).max()), 3),
        "offset_us": round(float(every.mean()), 3),
        "spread_us": round(max(float(np.ptp(one)) for one in late_us), 3),
        "pulse_min_us": round(float(widths.min() * PICO_US_PER_CYCLE), 3),
        **played,
        "cpu_s_per_simulated_s": round(cpu_s, 2),
    }


def _steppers(
    count: int, speed: float, seconds: float
) -> tuple[list[ActuatorSetup], list[MotionProfile]]:
    """Return motors that run at constant speed from first step to last, and their motions."""
    limits = StepperLimits(start_speed=speed, max_speed=speed, acceleration=1e6)
    names = {f"motor{pin}": pin for pin in STEP_PINS[:count]}
    setups = [
        StepperSetup(name, step_pin=pin, direction_pin=DIRECTION_PIN, limits=limits)
        for name, pin in names.items()
    ]
    return setups, [stepper_move(name, 0, int(speed * seconds), limits) for name in names]


def _measure_rate(axes: int, speed: float) -> dict[str, Any]:
    """Play axes at a speed. Return errors of the step intervals and widths of the pulses."""
    setups, moves = _steppers(axes, speed, 1.0)
    with uno() as board:
        played = board.play(setups, at_once(*moves))
        edges, widths = board.pins.pulses(STEP_PINS[:axes])
        stack_left = int(board.pins.records(STACK)["pin"].min())
    wanted = math.ceil(TICKS_PER_S / speed - 1e-9) * CYCLES_PER_TICK
    errors = np.abs(np.concatenate([np.diff(rises) for rises in edges]) - wanted) * US_PER_CYCLE
    return {
        "axes": axes,
        "steps_per_s": speed,
        "steps": sum(len(rises) for rises in edges),
        "asked": int(speed) * axes,
        "error_p999_us": float(np.percentile(errors, 99.9)),
        "error_max_us": float(errors.max()),
        "pulse_min_us": float(widths.min() * US_PER_CYCLE),
        **played,
        "stack_left": stack_left,
    }


def _measure_servo_jitter(axes: int, speed: float) -> dict[str, Any]:
    """Return widths of pulses that should be equal, beside motors and with a flooded line."""
    servos = [
        ServoSetup(f"servo{pin}", pin, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=50)
        for pin in SERVO_PINS
    ]
    motors, moves = _steppers(axes, speed, 3.0) if axes else ([], [])
    still = [servo_slew(servo.name, 1500, 1500, 3_000_000) for servo in servos]
    with uno() as board:
        board.play([*servos, *motors], at_once(*still, *moves))
        widths = []
        for pin in SERVO_PINS:
            rises, falls = board.pins.edges(pin), board.pins.edges(pin, 0)
            falls = falls[falls > rises[0]]
            pulses = min(len(rises), len(falls))  # the board is still running
            widths.append(falls[:pulses] - rises[:pulses])
    every = np.concatenate(widths) * US_PER_CYCLE
    return {
        "axes": axes,
        "steps_per_s": speed,
        "pulses": len(every),
        "spread_us": float(np.ptp(every)),
        "error_max_us": float(np.abs(every - 1500).max()),
    }


def _measure_stopping(axes: int, speed: float) -> dict[str, Any]:
    """Return times from emergency stop (its last byte) to last step, and from go to first step."""
    setups, moves = _steppers(axes, speed, 3.0)

    async def stop_in_full_motion() -> None:
        async with board.link(setups) as link:
            run = asyncio.create_task(link.run(at_once(*moves)))
            while not (await link.status()).moving:
                pass
            await asyncio.sleep(0.2)
            await link.emergency_stop()
            await asyncio.gather(run, return_exceptions=True)

    with uno() as board:
        board.loop.run_until_complete(stop_in_full_motion())
        steps = np.sort(np.concatenate([board.pins.edges(pin) for pin in STEP_PINS[:axes]]))
        frames = board.pins.frames()
    stop = next(at for at, frame in frames if frame.type == EmergencyStop.TYPE)
    go = next(at for at, frame in frames if frame.type == Go.TYPE)
    return {
        "steps": len(steps),
        "stop_us": float(max(steps[-1] - stop, 0) * US_PER_CYCLE),
        "go_ms": float((steps[0] - go) * US_PER_CYCLE / 1000),
    }


PI_PINS = (12, 13)
TRAVEL_US = 500_000
TRAVELS = 20


def measure_pi_board() -> None:
    """Emit the delay with which the process sets a pulse: alone, and beside twice as many busy
    programs as processors.
    """
    for programs in (0, 2 * (os.cpu_count() or 1)):
        with tempfile.TemporaryDirectory() as folder, busy(["while :; do :; done"] * programs):
            found = _account(Path(folder)) | {"busy": programs}
        emit("pi-board-pulse-p99", found["p99_us"], "us", found["pulses"], found)


def _account(folder: Path) -> dict[str, Any]:
    """Return the process's own figures for two servos that move back and forth."""
    chips = PwmChips(folder / "pwm", PI_PINS, lambda *_: None)
    port = folder / "port"
    command = [executable("cubist-firmware-linux"), "--pwm", chips.folder, "--pty-link", port]
    pipe = subprocess.PIPE
    board = subprocess.Popen([*command, "--timing"], stdout=pipe, stderr=pipe, text=True)
    events = asyncio.run(_slew(port))
    board.terminate()
    told, complaints = board.communicate()
    chips.close()
    found: dict[str, Any] = json.loads(told)
    return found | {"events": events, "real_time": not complaints}


async def _slew(port: Path) -> tuple[str, ...]:
    """Move both servos back and forth. Return the unusual events."""
    servos = [ServoSetup(f"servo{pin}", pin, 500, 2500, 1500, home_ms=100) for pin in PI_PINS]
    link = Link(SerialTransport(str(port)), servos, silence_hold_ms=PATIENT_MS)
    while not port.exists():
        await asyncio.sleep(0.01)
    await link.open()
    await link.configure()
    await link.home()
    ways = [
        servo_slew(servo.name, start, end, TRAVEL_US, FRAME_US)
        for servo in servos
        for start, end in ((1500, 2300), (2300, 1500))
    ]
    each_us = TRAVEL_US + FRAME_US
    turns = [
        TimedTurn(number * each_us, 2 * servo + number % 2)
        for number in range(TRAVELS)
        for servo in range(len(servos))
    ]
    execution = await link.run(Schedule(tuple(ways), tuple(turns), TRAVELS * each_us))
    await link.close()
    return execution.events


def measure_pi_steps() -> None:
    """Emit errors of steps at GPIO lines, alone and beside two programs that never wait.

    Uses Debian's kernel in the emulated machine of ``tests/system/kernel``, which runs 250 million
    instructions per second. The figures do not depend on the load of this computer.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            kernel = fetch_kernel(Path(folder))
        except Unavailable as reason:
            print(f"[bench] no virtual machine here: {reason}", file=sys.stderr)
            return
        found = boot(kernel, ["lines"])["lines"]["steps"]
    for load in ("alone", "busy"):
        changes = found[load]["changes"]
        errors = errors_us(changes, STEP, 1e6 / FASTEST)
        parts = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
        figures = {name: quantile(errors, part) for name, part in parts.items()}
        figures |= {"max": errors[-1], "shortest": min(intervals_us(changes, STEP))}
        rounded = {name: round(value) for name, value in figures.items()}
        detail = {"beside": load, "kernel": kernel.release, **rounded}
        emit("pi-steps-p99", rounded["p99"], "us", len(errors), detail)
