"""Clocks of boards, compared over the link, and plans that start together by them."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from robot.link import LinkGroup
from robot.link.clock import (
    WRAP,
    BoardClock,
    Comparison,
    certain_drifts,
    difference_bounds,
)
from robot.link.common_start import CommonStart
from robot.link.link import single
from robot.link.protocol import TICKS_PER_US
from robot.link.session import LinkSession, SessionStatistics
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.stepper import stepper_move
from robot.settings.board_table import TICKS_PER_S
from robot.text.faults import LinkError, RobotError, Stopped
from tests.link.conftest import (
    BOOTED_LATER_S,
    FASTER,
    LIMITS,
    PUSHER_STEP,
    SETUPS,
    Rig,
    program,
    two_boards,
)
from tests.rig.simulated_time import VirtualLoop

pytestmark = pytest.mark.quick

TOGETHER_TICKS = 1000 * TICKS_PER_US
LEAD_S = 0.06


def ask(clock: BoardClock, at: float, drift: float, offset_ticks: int, line: random.Random) -> None:
    """A comparison over a line whose way there takes 0.2 to 1 ms, and back 0.8 to 4 ms."""
    there, back = line.uniform(0.0002, 0.001), line.uniform(0.0008, 0.004)
    ticks = round((at + there) * TICKS_PER_S * (1 + drift)) + offset_ticks
    clock.compare(at, at + there + back, ticks % WRAP)


@pytest.mark.parametrize("drift", [0.0, 1e-4, -1e-4, 5e-3])
@pytest.mark.parametrize("offset_ticks", [0, TICKS_PER_S, WRAP - 5 * TICKS_PER_S])
def test_time_and_drift_are_within_their_bounds(drift: float, offset_ticks: int) -> None:
    clock, line = BoardClock(), random.Random(1)
    for number in range(1200):
        ask(clock, number * 0.05, drift, offset_ticks, line)
    at = 60.5
    truth = (round(at * TICKS_PER_S * (1 + drift)) + offset_ticks) % WRAP
    off = (clock.tick_at(at) - truth + WRAP // 2) % WRAP - WRAP // 2
    assert abs(off) <= TOGETHER_TICKS
    assert abs(clock.drift - drift) < 60e-6
    assert clock.drift * drift >= 0


def test_the_shortest_way_there_and_back_counts() -> None:
    clock = BoardClock()
    clock.compare(10.0, 10.0002, 20_000_200)
    clock.compare(10.1, 10.18, 20_200_000)  # read after most of the 80 ms: its middle is far off
    assert abs(clock.tick_at(10.2) - 20_400_000) <= 200
    assert clock.doubt_s(10.2) < 0.0002


def test_time_is_told_by_what_was_compared_since_it_was_forgotten() -> None:
    """A simulated board lost half a second; what was known better before is wrong now."""
    clock = BoardClock()
    for second in range(5):
        clock.compare(second, second + 0.001, round(second * TICKS_PER_S))
    clock.compare(5.0, 5.004, round(4.5 * TICKS_PER_S))
    assert abs(clock.tick_at(5.0) / TICKS_PER_S - 5.0) < 0.01
    clock.forget_time()
    assert clock.doubt_s(5.0) < 0.002, "until it is compared, what was known before counts"
    clock.compare(5.1, 5.104, round(4.6 * TICKS_PER_S))
    assert abs(clock.tick_at(5.1) / TICKS_PER_S - 4.6) < 0.01
    assert clock.doubt_s(5.1) == pytest.approx(0.0032, rel=0.01)
    clock.compare(5.2, 5.201, round(4.7 * TICKS_PER_S))
    clock.compare(5.3, 5.308, round(4.8 * TICKS_PER_S))
    assert clock.doubt_s(5.2) < 0.001, "the best of the new ones"


def test_no_clock_goes_twice_as_fast() -> None:
    """A simulation does, and not evenly: what it did before says nothing of the next moment."""
    clock = BoardClock()
    for second in range(5):
        clock.compare(second, second + 0.001, round(second * 2 * TICKS_PER_S))
    assert clock.drift == 0.0
    assert abs(clock.tick_at(4.1) / TICKS_PER_S - 8.1) < 0.01


def test_no_drift_is_believed_of_time_that_stands_still_now_and_then() -> None:
    """A simulated board lost 50 ms at once: 0.5 % in ten seconds, but no clock's."""
    clock = BoardClock()
    for tenth in range(100):
        at = tenth / 10
        lost = 0.05 if at > 5 else 0.0
        clock.compare(at, at + 0.002, round((at + 0.001 - lost) * TICKS_PER_S))
    assert clock.drift == 0.0


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ([(-1e-5, 3e-5), (8e-5, 1.2e-4)], [0.0, 8e-5]),
        ([(-1.2e-4, -8e-5), (8e-5, 1.2e-4)], [-8e-5, 8e-5]),
        ([(-4e-3, -2e-3), (-3e-3, -1e-3)], [0.0, 0.0]),  # a simulation that lags behind
        ([None, (8e-5, 1.2e-4)], [0.0, 0.0]),
    ],
)
def test_clocks_part_only_as_far_as_is_certain(
    bounds: list[tuple[float, float] | None], expected: list[float]
) -> None:
    named = dict(zip(("one", "other"), bounds, strict=True))
    assert list(certain_drifts(named).values()) == expected


def test_what_was_answered_before_another_was_asked_was_read_before() -> None:
    """Whatever this computer's clock showed meanwhile."""
    one = [Comparison(0.0, 1.0, 1000), Comparison(7.0, 7.5, 1030)]
    other = [Comparison(1.0, 7.0, 5020), Comparison(7.2, 9.0, 5050)]
    assert difference_bounds(one, other) == (5020 - 1030, 5020 - 1000)
    assert difference_bounds(other, one) == (1000 - 5020, 1030 - 5020)
    assert difference_bounds(one, []) == (-math.inf, math.inf)


STOOD_STILL_S = 0.08


def compared(lost_s: float) -> CommonStart:
    """Two boards with the same clock, asked in turn. In the middle time stood still for both, seen
    from this computer; the one answered soonest before that, the other after it."""
    answers_s = {"one": [0.001, 0.004, 0.004, 0.004], "other": [0.004, 0.004, 0.004, 0.001]}
    start = CommonStart(answers_s, clock=lambda: 10.2)
    clocks = {name: BoardClock() for name in answers_s}
    at = 10.0
    for clock in clocks.values():
        clock.forget_time()
    for number in range(4):
        for name, clock in clocks.items():
            took_s = answers_s[name][number]
            still_s = lost_s if number > 1 else 0.0
            clock.compare(at, at + took_s, round((at + took_s / 2 - still_s) * TICKS_PER_S))
            at += took_s
        at += lost_s if number == 1 else 0.0
    none_lost = SessionStatistics(100, 0, 100, 0, 0, 0)
    for name, clock in clocks.items():
        session = SimpleNamespace(board_clock=clock, statistics=none_lost)
        start.sessions[name] = cast(LinkSession, session)
    return start


@pytest.mark.parametrize("lost_s", [0.0, STOOD_STILL_S])
def test_boards_start_together_although_time_stood_still_while_they_were_compared(
    lost_s: float,
) -> None:
    start = compared(lost_s)
    one, other = (session.board_clock.tick_at(10.2) for session in start.sessions.values())
    assert abs(abs(one - other) / TICKS_PER_S - lost_s) < 0.002, "by this computer's clock"
    ticks = start.choose_ticks()
    assert ticks is not None
    assert abs(ticks["one"] - ticks["other"]) <= 0.005 * TICKS_PER_S


@pytest.fixture(params=["host", "uno"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[VirtualLoop, list[Rig]]]:
    """Two alike boards: with the firmware of this computer, or Unos under simavr."""
    command: tuple[str | Path, ...] = (program("cubist-firmware-host"),)
    if request.param == "uno":
        elf = request.getfixturevalue("avr_program").elf
        command = (program("cubist-firmware-avr"), "--elf", elf)
    with two_boards(command) as boards:
        yield boards


@dataclass
class At:
    """A gate for a board that has its plan: ``start_at`` when that one tells."""

    start_at: Callable[[], Awaitable[float]]

    async def all_uploaded(self) -> None:
        """Nobody is waited for."""

    async def start_tick(self, session: LinkSession) -> int:
        """The board's tick then."""
        await session.compare_clocks(asyncio.Lock())
        return session.board_clock.tick_at(await self.start_at())

    async def is_kept(self, session: LinkSession) -> bool:
        """Nobody else is there."""
        return True


def begun_at_s(rig: Rig, boot_s: float, drift: float) -> float:
    """When the pusher made its first step, in the time of the loop."""
    return boot_s + rig.pins.rises(PUSHER_STEP)[0] / TICKS_PER_S / (1 + drift)


@pytest.mark.parametrize("waits_s", [0.0, 1.0])
def test_boards_start_within_a_millisecond(
    pair: tuple[VirtualLoop, list[Rig]], waits_s: float
) -> None:
    loop, rigs = pair
    first, second, ordered_at = loop.run_until_complete(pushed_together(loop, rigs, waits_s))
    assert abs(first - second) * TICKS_PER_S <= TOGETHER_TICKS
    assert ordered_at < first < ordered_at + 0.5
    ticks = [rig.pins.rises(PUSHER_STEP)[0] for rig in rigs]
    assert ticks[0] - ticks[1] > TICKS_PER_S / 2, "their clocks do not agree"


async def pushed_together(
    loop: VirtualLoop, rigs: list[Rig], waits_s: float
) -> tuple[float, float, float]:
    """When each board's pusher began, and when they were told to."""
    pushers = [replace(SETUPS[-1], name=name) for name in ("left", "right")]
    links = [await rig.homed_link(setups=(own,)) for rig, own in zip(rigs, pushers, strict=True)]
    await asyncio.sleep(waits_s)
    moves = [stepper_move(own.name, 0, 100, LIMITS) for own in pushers]
    both = Schedule(tuple(moves), (TimedTurn(0, 0), TimedTurn(0, 1)), moves[0].duration_us)
    ordered_at = loop.time()
    execution = await LinkGroup(dict(zip(("left", "right"), links, strict=True)), loop.time).run(
        both
    )
    assert (execution.turns_done, execution.events) == (2, ())
    return begun_at_s(rigs[0], 0.0, 0.0), begun_at_s(rigs[1], BOOTED_LATER_S, FASTER), ordered_at


async def test_a_stop_before_the_start_moves_nothing(host_rig: Rig) -> None:
    link = await host_rig.homed_link("pusher")

    async def start_at() -> float:
        await link.stop()
        return host_rig.loop.time() + LEAD_S

    with pytest.raises(Stopped):
        await link.run(single(stepper_move("pusher", 0, 100, LIMITS)), gate=At(start_at))
    await asyncio.sleep(1)
    assert host_rig.pins.rises(PUSHER_STEP) == []


async def test_a_start_that_has_passed_is_a_fault(host_rig: Rig) -> None:
    link = await host_rig.homed_link("pusher")

    async def start_at() -> float:
        return host_rig.loop.time() - 0.05

    with pytest.raises(RobotError, match="out of step: late") as told:
        await link.run(single(stepper_move("pusher", 0, 100, LIMITS)), gate=At(start_at))
    assert told.value.code == "host-lost"


async def test_a_line_too_slow_for_comparing_is_named(
    host_rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await host_rig.homed_link("pusher")
    monkeypatch.setattr("robot.link.session.WELL_COMPARED_S", 0.0)

    async def start_at() -> float:
        raise AssertionError("nobody starts")

    with pytest.raises(LinkError, match="its clock is known to") as told_of:
        await link.run(single(stepper_move("pusher", 0, 100, LIMITS)), gate=At(start_at))
    assert told_of.value.code == "link-lost"
    assert host_rig.pins.rises(PUSHER_STEP) == []
