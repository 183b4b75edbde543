"""The Raspberry Pi as a board: its PWM files, its commands to a Pololu Maestro, and failures."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from robot.link import ServoSetup, StepperSetup
from robot.link.protocol import Board
from robot.motion.schedule import Schedule
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.settings.board_table import FIRST_CHANNEL, FIRST_MAESTRO, FRAME_US
from robot.text.faults import Fault, RobotError
from robot.twin.pulses import SET_TARGET, ChannelLimits, Maestro, PwmChips
from tests.rig.boards import Rig, in_turn, is_fault, program, rig_of

LID = ServoSetup("lid", pin=12, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100)
SERVOS = (
    LID,
    replace(LID, name="holder", pin=13),
    replace(LID, name="channel", pin=FIRST_CHANNEL + 3),
    replace(LID, name="anywhere", pin=22),
)
"""Servos, one at every kind of chip."""
FIRST = replace(LID, name="first", pin=FIRST_MAESTRO)
LAST = replace(LID, name="last", pin=FIRST_MAESTRO + 23)
AWAY_US = 2300
"""Microseconds of pulse, beyond the limits of a new Maestro's channels."""
SLOW = StepperLimits(start_speed=200, max_speed=800, acceleration=4_000)
"""Step rates that a process on Linux keeps up with."""


@pytest.fixture
def pi(tmp_path: Path) -> Iterator[Rig]:
    """Yield a Raspberry Pi with a servo at every kind of chip."""
    with rig_of(program("cubist-firmware-linux"), "--pwm", tmp_path / "pwm") as rig:
        pins = [servo.pin for servo in SERVOS]
        rig.pins.chips = PwmChips(tmp_path / "pwm", pins, rig.pins.pulse_edge)
        yield rig
        rig.pins.chips.close()


@pytest.fixture
def maestro(tmp_path: Path) -> Iterator[Rig]:
    """Yield a Raspberry Pi with a Maestro that drives servos at its first and last channel."""
    shell = ("sh", "-c", f'exec "$0" "$@" 2>{tmp_path}/said')
    port = tmp_path / "maestro"
    with rig_of(*shell, program("cubist-firmware-linux"), "--maestro", port) as rig:
        rig.pins.chips = Maestro(port, [FIRST.pin, LAST.pin], rig.pins.pulse_edge)
        yield rig
        rig.pins.chips.close()


def slew(servo: ServoSetup, duration_us: int = 400_000) -> Schedule:
    return in_turn(servo_slew(servo.name, 1500, AWAY_US, duration_us, FRAME_US))


def assert_one_in_every_frame(told: list[tuple[float, float]]) -> None:
    """Check times and widths of the pulses requested during a slew."""
    widths = [width for _, width in told]
    assert widths == sorted(set(widths)) and widths[-1] == AWAY_US
    assert len(widths) in (20, 21)
    assert {round(after - before) % FRAME_US for (before, _), (after, _) in pairwise(told)} == {0}
    steps = [after - before for before, after in pairwise(widths[1:-1])]
    assert max(steps) - min(steps) <= 2, "the slew is straight to a microsecond"
    assert all(2 * width % 1 == 0 for width in widths), "half microseconds"


async def test_every_duty_is_exact_and_no_pulse_is_cut(pi):
    link = await pi.homed_link(setups=SERVOS)
    assert (await link.status()).fault == Fault.NONE
    assert link.capabilities.board == Board.LINUX
    for beside_servos in (False, True):  # its servo pulses are not edges
        assert [link.capabilities.rate(axes, beside_servos) for axes in (1, 6)] == [1000, 1000]
    for servo in SERVOS:
        pi.pins.chips.writes.clear()
        plan = slew(servo)
        execution = await link.run(plan)
        assert (execution.executed_us, execution.events) == (plan.duration_us, ())
        duties = pi.pins.chips.writes
        assert {(write.pin, write.file) for write in duties} == {(servo.pin, "duty_cycle")}
        assert_one_in_every_frame([(write.time_us, write.value / 1000) for write in duties])


async def test_every_target_is_exact_and_one_in_each_frame(maestro):
    link = await maestro.homed_link(setups=(FIRST, LAST))
    for servo in (FIRST, LAST):
        maestro.pins.chips.commands.clear()
        plan = slew(servo)
        execution = await link.run(plan)
        assert (execution.executed_us, execution.events) == (plan.duration_us, ())
        targets = [
            (one.time_us, (one.data[1] | one.data[2] << 7) / 4)
            for one in maestro.pins.chips.commands
            if one.command == SET_TARGET and one.data[0] == servo.pin - FIRST_MAESTRO
        ]
        assert_one_in_every_frame(targets)
        assert maestro.pins.pulses(servo.pin)[-1][1] == AWAY_US * 2, "the servo got it"


async def test_released_servos_have_no_pulses_and_no_half_ones(pi):
    link = await pi.homed_link(setups=SERVOS)
    await link.release()
    await asyncio.sleep(0.05)
    before = len(pi.pins.pulses(LID.pin))
    await asyncio.sleep(0.2)
    assert len(pi.pins.pulses(LID.pin)) == before
    assert {ticks for _, ticks in pi.pins.pulses(LID.pin)} == {3000}
    enables = [write.value for write in pi.pins.chips.writes if write.file == "enable"]
    assert enables == [1] * len(SERVOS)


async def test_a_motor_at_lines_steps_beside_servos(pi):
    """Check that lines granted by the kernel are no fault."""
    motor = StepperSetup("motor", step_pin=17, direction_pin=27, limits=SLOW)
    link = await pi.homed_link(setups=(LID, motor))
    forth, back = (stepper_move("motor", at, by, SLOW) for at, by in ((0, 40), (40, -40)))
    assert (await link.run(in_turn(forth, back))).events == ()
    assert pi.pins.moves(17, 27) == [40, -40]
    assert (await link.status()).fault == Fault.NONE


async def test_a_channel_that_is_not_exported_is_named(tmp_path, pi):
    shutil.rmtree(tmp_path / "pwm" / "pwmchip0" / "pwm0")
    with pytest.raises(RobotError, match="overlay", check=is_fault("pulse-missing", "lid")):
        await pi.homed_link(setups=(SERVOS[1], LID))


@pytest.mark.parametrize(
    ("rig", "servos"), [("pi", SERVOS), ("maestro", (FIRST, LAST))], indirect=["rig"]
)
async def test_one_lost_in_mid_turn_is_named_and_overcome(tmp_path, rig, servos):
    """Let a write to a PWM chip fail, or unplug a Maestro."""
    servo = servos[0]
    link = await rig.homed_link(setups=servos)
    descriptors = Path(f"/proc/{rig.board.process.pid}/fd")
    open_before = len(list(descriptors.iterdir()))
    run = asyncio.create_task(link.run(slew(servo, 2_000_000)))
    await asyncio.sleep(0.5)
    rig.pins.chips.close()
    with pytest.raises(RobotError, check=is_fault("pulse-failed", servo.name)):
        await run
    assert not (await link.status()).homed & 1, "where it stands is not known"
    pins = [servo.pin for servo in servos]
    if servo is LID:
        shutil.rmtree(tmp_path / "pwm")
        rig.pins.chips = PwmChips(tmp_path / "pwm", pins, rig.pins.pulse_edge)
    else:
        rig.pins.chips = Maestro(tmp_path / "maestro", pins, rig.pins.pulse_edge)
        await link.open()
    await link.configure()
    await link.home()
    await link.run(slew(servo))
    assert rig.pins.pulses(servo.pin)[-1][1] == AWAY_US * 2, "the same process has opened it"
    assert len(list(descriptors.iterdir())) == open_before, "what is gone is closed"


async def test_limits_of_a_maestro_s_own_are_found_and_named(tmp_path, maestro):
    """Use the limits of a new Maestro's channels: the servo would silently stop short."""
    maestro.pins.chips.faults.limits[23] = ChannelLimits(992, 2000)
    link = await maestro.homed_link(setups=(FIRST, LAST))
    await link.run(slew(FIRST))
    await link.run(slew(LAST))
    await asyncio.sleep(3.0)
    status = await link.status()
    assert (status.fault, status.fault_detail) == (Fault.PULSE_LIMITED, 1)
    assert not status.homed & 2, "where it stands is not known"
    assert (
        "channel 23 makes pulses of 2000.00 us instead of 2300.00"
        in (tmp_path / "said").read_text()
    )


async def test_a_maestro_that_does_not_answer_is_named(maestro):
    """Use a serial mode other than USB Dual Port, in which nothing receives the commands."""
    maestro.pins.chips.faults.silent = True
    with pytest.raises(RobotError, check=is_fault("pulse-silent", "first")) as caught:
        link = await maestro.homed_link(setups=(FIRST, LAST))
        await asyncio.sleep(5.0)
        await link.run(slew(FIRST))
    assert "USB Dual Port" in caught.value.remedy
