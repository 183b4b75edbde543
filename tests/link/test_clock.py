"""Clocks of boards, compared over the link, and plans that start together by them."""

from __future__ import annotations

import asyncio
import math
import random

import pytest

from robot.link.clock import WRAP, BoardClock, Comparison, certain_drifts, difference_bounds
from robot.link.protocol import TICKS_PER_US
from robot.link.session import LinkSession
from robot.motion.stepper import stepper_move
from robot.settings.board_table import TICKS_PER_S
from robot.text.faults import RobotError
from tests.rig.boards import LIMITS, in_turn, is_fault

pytestmark = pytest.mark.quick

TOGETHER_TICKS = 1000 * TICKS_PER_US


@pytest.mark.parametrize("drift", [0.0, 1e-4, -1e-4, 5e-3])
@pytest.mark.parametrize("offset_ticks", [0, TICKS_PER_S, WRAP - 5 * TICKS_PER_S])
def test_time_and_drift_are_within_their_bounds(drift, offset_ticks):
    """Over a line whose way there takes 0.2 to 1 ms, and back 0.8 to 4 ms."""
    clock, line = BoardClock(), random.Random(1)
    for number in range(1200):
        at = number * 0.05
        there, back = line.uniform(0.0002, 0.001), line.uniform(0.0008, 0.004)
        ticks = round((at + there) * TICKS_PER_S * (1 + drift)) + offset_ticks
        clock.compare(at, at + there + back, ticks % WRAP)
    at = 60.5
    truth = (round(at * TICKS_PER_S * (1 + drift)) + offset_ticks) % WRAP
    off = (clock.tick_at(at) - truth + WRAP // 2) % WRAP - WRAP // 2
    assert abs(off) <= TOGETHER_TICKS
    assert abs(clock.drift - drift) < 60e-6
    assert clock.drift * drift >= 0


def test_the_shortest_way_there_and_back_counts():
    clock = BoardClock()
    clock.compare(10.0, 10.0002, 20_000_200)
    clock.compare(10.1, 10.18, 20_200_000)  # read after most of the 80 ms: its middle is far off
    assert abs(clock.tick_at(10.2) - 20_400_000) <= 200
    assert clock.doubt_s(10.2) < 0.0002


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ([(-1e-5, 3e-5), (8e-5, 1.2e-4)], [0.0, 8e-5]),
        ([(-1.2e-4, -8e-5), (8e-5, 1.2e-4)], [-8e-5, 8e-5]),
        ([(-4e-3, -2e-3), (-3e-3, -1e-3)], [0.0, 0.0]),  # a simulation that lags behind
        ([None, (8e-5, 1.2e-4)], [0.0, 0.0]),
    ],
)
def test_clocks_part_only_as_far_as_is_certain(bounds, expected):
    named = dict(zip(("one", "other"), bounds, strict=True))
    assert list(certain_drifts(named).values()) == expected


def test_what_was_answered_before_another_was_asked_was_read_before():
    """Whatever this computer's clock showed meanwhile."""
    one = [Comparison(0.0, 1.0, 1000), Comparison(7.0, 7.5, 1030)]
    other = [Comparison(1.0, 7.0, 5020), Comparison(7.2, 9.0, 5050)]
    assert difference_bounds(one, other) == (5020 - 1030, 5020 - 1000)
    assert difference_bounds(other, one) == (1000 - 5020, 1030 - 5020)
    assert difference_bounds(one, []) == (-math.inf, math.inf)


class TooLate:
    """A gate for a board that is told to start 50 ms ago; nobody else is there."""

    async def all_uploaded(self) -> None:
        pass

    async def start_tick(self, session: LinkSession) -> int:
        await session.compare_clocks(asyncio.Lock())
        return session.board_clock.tick_at(asyncio.get_running_loop().time() - 0.05)

    async def is_kept(self, session: LinkSession) -> bool:
        return True


async def test_a_start_that_has_passed_is_a_fault(host_rig):
    link = await host_rig.homed_link("pusher")
    with pytest.raises(RobotError, match="out of step: late", check=is_fault("host-lost")):
        await link.run(in_turn(stepper_move("pusher", 0, 100, LIMITS)), gate=TooLate())


def compare_s(clock: BoardClock, at_s: float, takes_s: float, board_s: float) -> None:
    """A comparison by the seconds of both clocks."""
    clock.compare(at_s, at_s + takes_s, round(board_s * TICKS_PER_S))


def test_no_drift_is_believed_of_time_that_stands_still_now_and_then():
    """A simulated board lost 50 ms at once: 0.5 % in ten seconds, but no clock's."""
    clock = BoardClock()
    for tenth in range(100):
        at = tenth / 10
        compare_s(clock, at, 0.002, at + 0.001 - (0.05 if at > 5 else 0.0))
    assert clock.drift == 0.0
