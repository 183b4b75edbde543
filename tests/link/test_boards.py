"""Boards other than an Arduino: PWM files and a Maestro of a Raspberry Pi, and a Pico's image."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from robot.computer.board_family import ask, matches
from robot.link import ServoSetup, StepperSetup, touch_port
from robot.link.protocol import TICKS_PER_US, Board
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.settings.board_table import FIRST_CHANNEL, FIRST_MAESTRO, FRAME_US
from robot.text.faults import Fault, LinkError, RobotError
from robot.twin.pulses import SET_TARGET, ChannelLimits, Maestro, PwmChips
from tests.rig.boards import (
    LIMITS,
    PUSHER_STEP,
    SERVO_PINS,
    Rig,
    board_process,
    in_turn,
    is_fault,
    program,
    rig_of,
    rises_of,
    running,
    to_and_fro,
)

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


# The image for a Raspberry Pi Pico, run by an emulator of the chip

HOLDER = SERVO_PINS[0]
PULSE_TICKS = 4
STOP_S = 0.001


async def test_a_pico_steps_and_makes_pulses(pico):
    link = await pico.homed_link("holder", "pusher")
    moves = stepper_move("pusher", 0, 50, LIMITS), servo_slew("holder", 1500, 1000, 100_000, 0)
    plan = in_turn(*moves)
    execution = await link.run(plan)
    assert (execution.executed_us, execution.events) == (plan.duration_us, ())
    assert pico.pins.moves() == [50]
    edges = [ticks for ticks, pin, _ in pico.pins.records if pin == PUSHER_STEP]
    lengths = {fall - rise for rise, fall in zip(edges[::2], edges[1::2], strict=True)}
    assert lengths == {PULSE_TICKS}
    pulses = pico.pins.pulses(HOLDER)
    assert {later - rise for (rise, _), (later, _) in pairwise(pulses)} == {40_000}
    assert pulses[-1][1] == 2000


async def test_the_link_works_at_usb(usb_pico):
    """Check that the host enumerates the device, opens its port, and finds the same firmware."""
    link = await usb_pico.homed_link("pusher")
    plan = to_and_fro(1, steps=20)
    execution = await link.run(plan)
    assert (execution.executed_us, execution.events) == (plan.duration_us, ())
    assert usb_pico.pins.moves() == [20, -20]
    assert (link.statistics.resent, link.statistics.bytes_lost_there) == (0, 0)


@pytest.mark.long
@pytest.mark.timeout(60)
def test_1200_baud_at_usb_restarts_into_the_bootloader(pico_command, tmp_path):
    port = tmp_path / "port"
    command, *options = pico_command
    with board_process(Path(command).name, port, *options, "--usb"):
        assert matches(ask(str(port), 500_000))
        with pytest.raises(RobotError) as caught:
            while True:  # the emulator reads the port's speed every millisecond
                touch_port(str(port))
                ask(str(port), 500_000)
    assert caught.value.code == "no-answer"


def motors_of(count: int, limits: StepperLimits) -> tuple[StepperSetup, ...]:
    return tuple(StepperSetup(f"motor{pin}", pin, 20, limits) for pin in range(2, 2 + count))


@pytest.mark.long
@pytest.mark.parametrize(("motors", "speed"), [(1, 500_000), (2, 250_000), (6, 100_000)])
async def test_every_edge_is_where_the_plan_has_it(pico, motors, speed):
    """Start motors 1.5 us after each other. They overshoot, turn back, and take up their play."""
    limits = StepperLimits(start_speed=2_000, max_speed=0.94 * speed, acceleration=5e6)
    setups = motors_of(motors, limits)
    link = await pico.homed_link(setups=setups)
    moves = tuple(
        stepper_move(one.name, 0, 4_000, limits, overshoot_steps=40, backlash_steps=9)
        for one in setups
    )
    turns = tuple(TimedTurn(round(1.5 * number), number) for number in range(motors))
    plan = Schedule(moves, turns, moves[0].duration_us + turns[-1].start_us)
    execution = await link.run(plan)
    assert (execution.executed_us, execution.events) == (plan.duration_us, ())
    planned = [
        rises_of(move) + turn.start_us * TICKS_PER_US
        for move, turn in zip(moves, turns, strict=True)
    ]
    begun = pico.pins.rises(setups[0].step_pin)[0] - planned[0][0]
    for one, ticks in zip(setups, planned, strict=True):
        late = np.array(pico.pins.rises(one.step_pin)) - ticks - begun
        assert np.abs(late).max() <= 1


@pytest.mark.long
@pytest.mark.parametrize("rig", ["pico", "usb_pico"], indirect=True)
async def test_an_emergency_stop_ends_all_steps_within_a_millisecond(rig):
    """Measure from the order to the last step of six motors, including the bytes' transmission."""
    limits = StepperLimits(start_speed=2_000, max_speed=94_000, acceleration=5e6)
    setups = motors_of(6, limits)
    link = await rig.homed_link(setups=setups)
    moves = tuple(stepper_move(one.name, 0, 30_000, limits) for one in setups)
    plan = Schedule(moves, tuple(TimedTurn(0, at) for at in range(6)), moves[0].duration_us)
    for phase in range(5):
        run = await running(link, plan)
        while not (await link.status()).moving:
            pass
        await asyncio.sleep(0.02 + 0.0137 * phase)
        ordered_at = rig.loop.time()
        await link.emergency_stop()
        with pytest.raises(RobotError):
            await run
        last = max(ticks for one in setups for ticks in rig.pins.rises(one.step_pin))
        assert ordered_at < last / 2e6 < ordered_at + STOP_S
        await link.clear()
        await link.home()


@pytest.mark.long
async def test_thousands_of_turns_fit_in_its_memory(pico):
    link = await pico.homed_link("pusher")
    assert link.capabilities.queue_bytes >= 4_000 * 5
    await link.run(to_and_fro(2_000, steps=2))
    assert pico.pins.moves() == [2, -2] * 2_000


@pytest.mark.long
async def test_two_servos_of_one_channel_are_refused(pico):
    lid = ServoSetup("lid", pin=26, minimum_us=500, maximum_us=2500, start_us=1500, home_ms=100)
    with pytest.raises(RobotError, check=is_fault("bad-config", "holder")):
        await pico.homed_link(setups=(lid, replace(lid, name="holder", pin=10)))


@pytest.mark.long
async def test_a_pico_restarts_into_its_bootloader(pico):
    link = await pico.homed_link("pusher")
    run = await running(link, to_and_fro(20))
    with pytest.raises(RobotError, check=is_fault("bad-state")):
        await link.enter_bootloader()
    with pytest.raises(RobotError):
        await run
    while (await link.status()).moving:
        pass
    await link.clear()
    await link.enter_bootloader()
    with pytest.raises(LinkError):
        await link.open(1.0)
    pico.board.reset()
    await link.open()
    assert pico.pins.resets == 2
