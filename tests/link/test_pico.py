"""The image for a Raspberry Pi Pico, run by an emulator of the chip."""

import asyncio
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from robot.computer.board_family import ask, matches
from robot.link import ServoSetup, StepperSetup, touch_port
from robot.link.protocol import TICKS_PER_US
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.text.faults import LinkError, RobotError
from tests.rig.boards import (
    LIMITS,
    PUSHER_STEP,
    SERVO_PINS,
    board_process,
    in_turn,
    is_fault,
    rises_of,
    running,
    to_and_fro,
)

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
    program, *options = pico_command
    with board_process(Path(program).name, port, *options, "--usb"):
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
