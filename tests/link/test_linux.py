"""The Raspberry Pi as a board: what it writes to PWM files, to which, and what can go wrong."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from robot.link import Link, SerialTransport, ServoSetup, StepperSetup
from robot.link.actuators import ActuatorSetup
from robot.link.protocol import Board, BoardState
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.settings.board_table import FIRST_CHANNEL, FRAME_US
from robot.text.faults import Fault, LinkError, RobotError
from robot.twin.pulses import PwmChips
from tests.rig.boards import Rig, in_turn, program, rig_of

LIMIT_S = 60.0
LID = ServoSetup("lid", pin=12, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100)
HOLDER = replace(LID, name="holder", pin=13)
CHANNEL = replace(LID, name="channel", pin=FIRST_CHANNEL + 3)
ANYWHERE = replace(LID, name="anywhere", pin=22)
SLOW = StepperLimits(start_speed=200, max_speed=800, acceleration=4_000)
"""Steps that a process on Linux keeps up with."""
SERVOS = (LID, HOLDER, CHANNEL, ANYWHERE)
ONE = (LID,)


@pytest.fixture
def pi(tmp_path: Path) -> Iterator[Rig]:
    """A Raspberry Pi with a servo at every kind of chip."""
    with rig_of(program("cubist-firmware-linux"), "--pwm", tmp_path / "pwm") as rig:
        chips = PwmChips(tmp_path / "pwm", [servo.pin for servo in SERVOS], rig.pins.pulse_edge)
        rig.pins.chips = chips
        yield rig
        chips.close()


async def test_every_duty_is_exact_and_no_pulse_is_cut(pi: Rig) -> None:
    link = await pi.homed_link(setups=SERVOS)
    assert (await link.status()).fault == Fault.NONE
    assert link.capabilities.board == Board.LINUX
    pi.pins.chips.writes.clear()
    slews = [servo_slew(servo.name, 1500, 2300, 400_000, FRAME_US) for servo in SERVOS]
    plan = in_turn(*slews)
    execution = await link.run(plan)
    assert (execution.executed_us, execution.events) == (plan.duration_us, ())
    for servo in SERVOS:
        duties = [write for write in pi.pins.chips.writes if write.pin == servo.pin]
        assert {write.file for write in duties} == {"duty_cycle"}, "not switched off and on"
        values = [write.value for write in duties]
        assert all(value % 500 == 0 for value in values), "half microseconds, in nanoseconds"
        assert values == sorted(set(values)) and values[-1] == 2_300_000
        assert len(values) in (20, 21), "one in every frame of 20 ms"
        whole_frames = {round(b.time_us - a.time_us) % FRAME_US for a, b in pairwise(duties)}
        assert whole_frames == {0}
        steps = [b - a for a, b in pairwise(values[1:-1])]
        assert max(steps) - min(steps) <= 2_000, "the slew is straight to a microsecond"


async def test_released_servos_have_no_pulses_and_no_half_ones(pi: Rig) -> None:
    link = await pi.homed_link(setups=SERVOS)
    await link.release()
    await asyncio.sleep(0.05)
    before = len(pi.pins.pulses(LID.pin))
    await asyncio.sleep(0.2)
    assert len(pi.pins.pulses(LID.pin)) == before
    assert {ticks for _, ticks in pi.pins.pulses(LID.pin)} == {3000}
    enables = [write.value for write in pi.pins.chips.writes if write.file == "enable"]
    assert enables == [1] * len(SERVOS)


async def test_a_motor_at_lines_steps_beside_servos(pi: Rig) -> None:
    """Lines that the kernel lets it have are no fault."""
    motor = StepperSetup("motor", step_pin=17, direction_pin=27, limits=SLOW)
    link = await pi.homed_link(setups=(*ONE, motor))
    forth = stepper_move("motor", 0, 40, SLOW)
    execution = await link.run(in_turn(forth, stepper_move("motor", 40, -40, SLOW)))
    assert execution.events == ()
    assert pi.pins.moves(17, 27) == [40, -40]
    assert (await link.status()).fault == Fault.NONE


async def configure_fails(rig: Rig, setup: ActuatorSetup = LID) -> RobotError:
    """The fault of a board that should drive an actuator after a servo."""
    link = rig.link((HOLDER, setup))
    await link.open()
    with pytest.raises(RobotError) as caught:
        await link.configure()
        await link.home()
    return caught.value


async def test_a_channel_that_is_not_exported_is_named(tmp_path: Path, pi: Rig) -> None:
    shutil.rmtree(tmp_path / "pwm" / "pwmchip0" / "pwm0")
    fault = await configure_fails(pi)
    assert (fault.code, fault.detail) == ("pulse-missing", "lid")
    assert "overlay" in str(fault)


async def test_a_write_that_fails_in_mid_turn_is_named_and_overcome(
    tmp_path: Path, pi: Rig
) -> None:
    link = await pi.homed_link(setups=SERVOS)
    away = servo_slew("lid", 1500, 2300, 2_000_000, FRAME_US)
    run = asyncio.create_task(link.run(in_turn(away)))
    await asyncio.sleep(0.5)
    pi.pins.chips.close()
    with pytest.raises(RobotError) as caught:
        await run
    assert (caught.value.code, caught.value.detail) == ("pulse-failed", "lid")
    status = await link.status()
    assert not status.homed & 1, "where it stands is not known"
    shutil.rmtree(tmp_path / "pwm")
    pins = [servo.pin for servo in SERVOS]
    pi.pins.chips = PwmChips(tmp_path / "pwm", pins, pi.pins.pulse_edge)
    await link.configure()
    await link.home()
    await link.run(in_turn(away))
    lengths = [ticks for _, ticks in pi.pins.pulses(LID.pin)]
    assert lengths[-1] == 4600, "the same process has opened the new chip"


async def test_steps_faster_than_a_process_wakes_are_refused(pi: Rig) -> None:
    link = pi.link(ONE)
    capabilities = await link.open()
    for beside_servos in (False, True):  # whose pulses are none of its edges
        assert [capabilities.rate(axes, beside_servos) for axes in (1, 6)] == [1000, 1000]


Process = subprocess.Popen[bytes]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], tuple[Process, Path]]]:
    """Starts the board as on a Raspberry Pi, in real time; process and port. Ends with the test."""
    processes: list[Process] = []
    chips = PwmChips(tmp_path / "pwm", [LID.pin], lambda *_: None)

    def start() -> tuple[Process, Path]:
        port = tmp_path / "port"
        command = (program("cubist-firmware-linux"), "--pwm", tmp_path / "pwm", "--pty-link", port)
        processes.append(
            subprocess.Popen(
                (*command, "--timing"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        )
        deadline = time.monotonic() + LIMIT_S
        while not port.exists():
            assert processes[-1].poll() is None, "the board ended at once"
            assert time.monotonic() < deadline, "no port"
            os.sched_yield()
        return processes[-1], port

    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=LIMIT_S)
    chips.close()


async def homed(port: Path) -> Link:
    """A link to a board: open, configured, homed."""
    link = Link(SerialTransport(str(port)), ONE, silence_hold_ms=2000)
    await link.open(LIMIT_S)
    await link.configure()
    await link.home()
    return link


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_board_that_is_killed_or_stopped_is_a_lost_link(
    start: Callable[[], tuple[Process, Path]], number: signal.Signals
) -> None:
    process, port = start()
    away = in_turn(servo_slew("lid", 1500, 2300, 20_000_000, FRAME_US))

    async def run() -> None:
        link = await homed(port)
        plan = asyncio.create_task(link.run(away))
        while (await link.status()).state != BoardState.RUNNING:
            pass
        process.send_signal(number)
        with pytest.raises(LinkError) as caught:
            await plan
        assert caught.value.code == "link-lost"
        await link.close()
        process.kill()
        process.wait(LIMIT_S)
        start()
        again = await homed(port)
        await again.close()

    asyncio.run(run())
