"""The real chip's program, instruction by instruction under simavr: what must not go wrong."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from robot.link import Link, StepperSetup
from robot.link.protocol import Ping
from robot.link.wire import WireFrame
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.text.faults import LinkError, RobotError
from tests.rig.boards import LIMITS, Rig, running, to_and_fro

STEP_PIN = 6
BYTES_PER_S = 50_000
STACK_LEFT = 256
STARVING = 2_000_000 / 120
"""Steps/s of six motors that leave the main loop an instruction now and then."""


@pytest.fixture
def link(uno: Rig) -> Link:
    """A homed link to the Uno."""
    link: Link = uno.loop.run_until_complete(uno.homed_link())
    return link


async def recovers(link: Link, board: Rig) -> None:
    """Clear, home, and a plan that is played to the tick."""
    await link.open()
    await link.configure()
    await link.home(["pusher"])
    before = len(board.pins.rises(STEP_PIN))
    plan = to_and_fro(2)
    assert (await link.run(plan)).executed_us == plan.duration_us
    assert len(board.pins.rises(STEP_PIN)) - before == 400


@pytest.mark.quick
async def test_overlapping_turns_take_exactly_their_time(link: Link, uno: Rig) -> None:
    slew = servo_slew("lid", 1500, 1000, 400_001)
    move = stepper_move("pusher", 0, 400, LIMITS, settle_us=3)
    turner = stepper_move("turner", 0, 200, LIMITS)
    plan = Schedule(
        (slew, move, turner), (TimedTurn(0, 0), TimedTurn(12_345, 1), TimedTurn(12_345, 2)), 400_001
    )
    execution = await link.run(plan)
    assert execution.executed_us == plan.duration_us and execution.events == ()
    assert len(uno.pins.rises(STEP_PIN)) == 400


async def test_a_hanging_main_loop_is_reset_by_the_watchdog(link: Link, uno: Rig) -> None:
    run = await running(link, to_and_fro(70))
    uno.board.hang()
    uno.board.hang()  # told again it stays the same, and can be mended
    with pytest.raises(LinkError) as caught:
        await run
    assert caught.value.code == "hung"
    await recovers(link, uno)


def fast_motors(count: int, speed: float) -> tuple[StepperSetup, ...]:
    """Motors that run at one speed from the first step to the last."""
    limits = StepperLimits(start_speed=speed, max_speed=speed, acceleration=1e6)
    return tuple(
        StepperSetup(f"motor{pin}", step_pin=pin, direction_pin=8, limits=limits)
        for pin in range(2, 2 + count)
    )


async def run_unchecked(link: Link, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """All its motors at once; the check of the host is left out."""
    monkeypatch.setattr("robot.link.link.check_plan", lambda *_, **__: None)
    await link.open()
    await link.configure()
    await link.home()
    motors = [setup for setup in link.actuators if isinstance(setup, StepperSetup)]
    moves = tuple(stepper_move(motor.name, 0, steps, motor.limits) for motor in motors)
    turns = tuple(TimedTurn(0, number) for number in range(len(moves)))
    await link.run(Schedule(moves, turns, moves[0].duration_us))


async def flood(board: Rig) -> None:
    """Keep the line to the microcontroller full with frames of another session."""
    noise = WireFrame(254, 0, 0, Ping.TYPE).encode() * 100
    while True:
        board.port.write(noise)
        await asyncio.sleep(len(noise) / BYTES_PER_S)


@pytest.mark.long
async def test_a_full_line_beside_steps_that_leave_no_time_takes_no_more_stack(
    uno: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the step interrupt lets single instructions pass, bytes come quicker than the receive
    interrupt ends."""
    link = uno.link(fast_motors(6, STARVING))
    flooding = asyncio.create_task(flood(uno))
    with contextlib.suppress(RobotError):
        await run_unchecked(link, monkeypatch, 2_000)
    flooding.cancel()
    assert uno.pins.stack_left >= STACK_LEFT
