"""The link with the real firmware: home, run, stop, emergencies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from robot.faults import Fault, LinkFault, RobotFault, Stopped
from robot.link import Link, SerialTransport
from robot.link.protocol import State
from robot.motion import StepperLimits, servo_slew, stepper_move
from robot.schedule import MotionProfile, Schedule, TimedTurn

Board = Any
LIMITS = StepperLimits(start_speed=500, max_speed=4000, acceleration=40_000)


def in_turn(*profiles: MotionProfile, times: int = 1) -> Schedule:
    """Profiles one after the other, the whole ``times`` over."""
    turns = []
    clock = 0
    for _ in range(times):
        for number, profile in enumerate(profiles):
            turns.append(TimedTurn(clock, number))
            clock += profile.duration_us
    return Schedule(profiles, tuple(turns), clock)


def to_and_fro(times: int) -> Schedule:
    """The pusher going forth and back."""
    forth = stepper_move("pusher", 0, 100, LIMITS)
    return in_turn(forth, stepper_move("pusher", 100, -100, LIMITS), times=times)


async def until_running(link: Link) -> None:
    """Wait until the firmware plays a plan."""
    while (await link.status()).state != State.RUNNING:
        pass


async def test_a_flipper_solve_takes_exactly_its_time(link: Link, board: Board) -> None:
    flips = [
        servo_slew("lid", 1500, 2000, 500_000),
        servo_slew("lid", 2000, 1200, 600_000, 200_000),
        servo_slew("holder", 1500, 2400, 800_001, 200_000),
        servo_slew("lid", 1200, 1500, 300_000),
        servo_slew("holder", 2400, 1500, 700_000),
    ]
    schedule = in_turn(*flips, times=25)
    assert 75e6 < schedule.duration_us < 90e6
    heard: list[float] = []
    execution = await link.run(schedule, heard.append)
    assert execution.executed_us == schedule.duration_us
    assert execution.turns_done == 125
    assert execution.events == ()
    assert heard == sorted(heard) and heard[-1] == 1.0
    pulses = board.pins.rises(10)
    assert {after - before for before, after in pairwise(pulses)} == {40_000}


async def test_overlapping_turns_keep_their_times(link: Link, board: Board) -> None:
    steps = stepper_move("pusher", 0, 60, LIMITS, settle_us=11)
    slew = servo_slew("lid", 1500, 1000, 400_000)
    schedule = Schedule((slew, steps), (TimedTurn(0, 0), TimedTurn(123_457, 1)), 400_000)
    before = len(board.pins.rises(6))
    execution = await link.run(schedule)
    assert execution.executed_us == 400_000
    assert len(board.pins.rises(6)) - before == 60
    assert link.position("pusher") == 60


async def test_homing_ends_at_the_start_position(link: Link, board: Board) -> None:
    status = await link.status()
    assert status.homed == 0b1111
    assert link.position("turner") == 0
    assert 36 <= board.pins.turner_steps <= 40


async def test_a_missing_end_stop_is_named(board: Board, links: Callable[[Board], Link]) -> None:
    board.pins.endstop_works = False
    link = links(board)
    await link.open()
    await link.configure()
    with pytest.raises(RobotFault) as caught:
        await link.home(["turner"])
    assert caught.value.fault == Fault.HOME_MISSING and caught.value.detail == "turner"
    board.pins.endstop_works = True
    board.pins.turner_steps = 100
    await link.clear()
    await link.home()


async def test_nothing_moves_before_homing(board: Board, links: Callable[[Board], Link]) -> None:
    link = links(board)
    await link.open()
    await link.configure()
    with pytest.raises(RobotFault) as caught:
        await link.run(to_and_fro(1))
    assert caught.value.fault == Fault.NOT_HOMED
    assert board.pins.rises(6) == []


async def test_stop_finishes_the_turn(
    boards: Callable[[float], Board], links: Callable[[Board], Link]
) -> None:
    board = boards(5.0)
    link = links(board)
    await link.open()
    await link.configure()
    await link.home()
    run = asyncio.create_task(link.run(to_and_fro(200)))
    await until_running(link)
    await link.stop()
    with pytest.raises(Stopped):
        await run
    status = await link.status()
    assert status.state == State.IDLE and 0 < status.turns_done < 400
    assert len(board.pins.rises(6)) == 100 * status.turns_done


async def test_emergency_stop_is_immediate_and_latched(
    boards: Callable[[float], Board], links: Callable[[Board], Link]
) -> None:
    board = boards(5.0)
    link = links(board)
    await link.open()
    await link.configure()
    await link.home()
    run = asyncio.create_task(link.run(to_and_fro(200)))
    await until_running(link)
    await link.emergency_stop()
    with pytest.raises(RobotFault) as caught:
        await run
    assert caught.value.fault == Fault.EMERGENCY_STOP
    steps = len(board.pins.rises(6))
    with pytest.raises(RobotFault):
        await link.run(to_and_fro(1))
    await link.clear()
    with pytest.raises(RobotFault) as caught:
        await link.run(to_and_fro(1))
    assert caught.value.fault == Fault.NOT_HOMED
    assert len(board.pins.rises(6)) == steps
    await link.clear()
    await link.home()
    await link.run(to_and_fro(1))
    assert len(board.pins.rises(6)) == steps + 200


async def test_a_reset_is_noticed(link: Link, board: Board) -> None:
    run = asyncio.create_task(link.run(to_and_fro(2000)))
    await until_running(link)
    board.reset()
    with pytest.raises(LinkFault) as caught:
        await run
    assert caught.value.fault == Fault.RESET
    await link.open()
    await link.configure()
    await link.home()
    await link.run(to_and_fro(1))
    assert board.pins.resets == 2


async def test_a_dead_board_is_noticed_and_replaced(
    boards: Callable[[float], Board], links: Callable[[Board], Link], link: Link, board: Board
) -> None:
    run = asyncio.create_task(link.run(to_and_fro(2000)))
    await until_running(link)
    board.process.kill()
    with pytest.raises(LinkFault) as caught:
        await run
    assert caught.value.fault == Fault.LINK_LOST
    with pytest.raises(LinkFault):
        await link.open(patience_s=0.3)


async def test_silence_of_the_host_holds_and_the_plan_goes_on(
    boards: Callable[[float], Board], links: Callable[[Board], Link]
) -> None:
    board = boards(1.0)
    link = links(board)
    await link.open()
    await link.configure()
    await link.home(["pusher"])
    schedule = to_and_fro(25)
    run = asyncio.create_task(link.run(schedule))
    await until_running(link)
    stopped = os.fork()
    if stopped == 0:  # a child that wakes us up again
        os.kill(os.getppid(), signal.SIGSTOP)
        signal.sigtimedwait([], 0.6)
        os.kill(os.getppid(), signal.SIGCONT)
        os._exit(0)
    os.waitpid(stopped, 0)
    execution = await run
    assert execution.events[:1] == ("held",)
    assert execution.turns_done == 50
    assert execution.executed_us > schedule.duration_us
    assert len(board.pins.rises(6)) == 5000


async def test_a_stalled_firmware_hears_what_came_meanwhile(
    boards: Callable[[float], Board], links: Callable[[Board], Link]
) -> None:
    """The process waits for its processor, not for the host: it must not take that for silence."""
    board = boards(2.0)
    link = links(board)
    await link.open()
    await link.configure()
    await link.home(["pusher"])
    schedule = to_and_fro(25)
    run = asyncio.create_task(link.run(schedule))
    await until_running(link)
    board.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(0.4)
    board.process.send_signal(signal.SIGCONT)
    execution = await run
    assert execution.events == ()
    assert execution.executed_us == schedule.duration_us


async def test_a_missing_port_and_a_taken_port_are_told_apart(link: Link, board: Board) -> None:
    with pytest.raises(LinkFault) as missing:
        await SerialTransport("/dev/no-such-port").open()
    assert missing.value.fault == Fault.PORT_MISSING
    with pytest.raises(LinkFault) as taken:
        await SerialTransport(str(board.port)).open()
    assert taken.value.fault == Fault.PORT_REFUSED


async def test_a_plan_from_elsewhere_is_refused(link: Link) -> None:
    with pytest.raises(RobotFault, match="stands at 0") as caught:
        await link.run(in_turn(stepper_move("pusher", 50, 10, LIMITS)))
    assert caught.value.fault == Fault.BAD_SCHEDULE


def test_nothing_is_left_behind(boards: Callable[[float], Board]) -> None:
    board = boards(1.0)
    board.end()
    assert board.process.returncode == 0
    assert not board.port.is_symlink()
