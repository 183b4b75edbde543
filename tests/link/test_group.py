"""Schedules that span two boards, started together by their clocks. Also a link on a thread."""

from __future__ import annotations

import asyncio
import math
import random
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from robot.link import LinkGroup, LinkThread
from robot.link.clock import WRAP, BoardClock, Comparison, certain_drifts, difference_bounds
from robot.link.common_start import BoardGate, CommonStart
from robot.link.group import LinkStatistics
from robot.link.protocol import TICKS_PER_US
from robot.link.session import LinkSession, SessionStatistics
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.stepper import stepper_move
from robot.records.run_record import LinkRecord
from robot.settings.board_table import TICKS_PER_S
from robot.text.faults import Fault, LinkError, RobotError, Stopped
from tests.rig.boards import (
    BOOTED_LATER_S,
    FASTER,
    LIMITS,
    PUSHER_STEP,
    SETUPS,
    Rig,
    in_turn,
    is_fault,
    program,
    two_boards,
)
from tests.rig.simulated_time import VirtualBoard, VirtualLoop

pytestmark = pytest.mark.quick

NAMES = "left", "right"
STEPS = 400
TURNS = 6
PERIOD_US = 400_000
LOST_S = 0.05
TOGETHER_S = 0.001


class Boards(NamedTuple):
    """Two boards, and the links to them."""

    loop: VirtualLoop
    rigs: list[Rig]
    group: LinkGroup


PI = program("cubist-firmware-linux"), "--step-rate", "60000"
"""A Raspberry Pi that steps faster than any real one."""

alike_and_pi = pytest.mark.parametrize("boards", [(), PI], indirect=True, ids=["alike", "pi"])


@pytest.fixture
def boards(request: pytest.FixtureRequest) -> Iterator[Boards]:
    """Yield two homed boards with a pusher each, the right one with the program requested."""
    second = getattr(request, "param", ())
    with two_boards([program("cubist-firmware-host")], second) as (loop, rigs):
        links = {
            name: rig.link((replace(SETUPS[-1], name=name),))
            for name, rig in zip(NAMES, rigs, strict=True)
        }
        group = LinkGroup(links, loop.time)
        assert list(loop.run_until_complete(group.open())) == list(NAMES)
        loop.run_until_complete(group.configure())
        loop.run_until_complete(group.home())
        yield Boards(loop, rigs, group)


def pushes() -> Schedule:
    """Return a schedule in which both push at the same time, six times."""
    moves = [
        stepper_move(name, number * STEPS, STEPS, LIMITS)
        for number in range(TURNS)
        for name in NAMES
    ]
    turns = [TimedTurn(number // 2 * PERIOD_US, number) for number in range(2 * TURNS)]
    return Schedule(tuple(moves), tuple(turns), TURNS * PERIOD_US)


def steps_of(rigs: list[Rig]) -> list[int]:
    return [sum(rig.pins.moves()) for rig in rigs]


def apart_s(rigs: list[Rig], left_push: int, right_push: int) -> float:
    """Return how many seconds later the left board began its push than the right board did."""
    left, right = (rig.pins.rises(PUSHER_STEP) for rig in rigs)
    right_s = BOOTED_LATER_S + right[right_push * STEPS] / TICKS_PER_S / (1 + FASTER)
    return left[left_push * STEPS] / TICKS_PER_S - right_s


@alike_and_pi
async def test_each_board_plays_its_part_at_the_same_time(boards):
    _, rigs, group = boards
    heard: list[float] = []
    execution = await group.run(pushes(), heard.append)
    assert (execution.turns_done, execution.events) == (2 * TURNS, ())
    assert steps_of(rigs) == [TURNS * STEPS] * 2
    assert max(abs(apart_s(rigs, number, number)) for number in range(TURNS)) <= TOGETHER_S
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


@alike_and_pi
async def test_a_board_lost_in_the_middle_stops_the_other_and_is_named(boards):
    _, rigs, group = boards

    def pull(fraction: float) -> None:
        if fraction > 0.3:
            rigs[1].port.unplug()

    with pytest.raises(LinkError, match="board right", check=is_fault("link-lost")) as told:
        await group.run(pushes(), pull)
    assert told.value.remedy
    stopped_at = steps_of(rigs)[0]
    await asyncio.sleep(5)  # the other board still hears from its host
    assert steps_of(rigs)[0] == stopped_at
    assert stopped_at in {2 * STEPS, 3 * STEPS}, "what has begun is finished, and no more"


async def test_a_fault_of_one_that_stops_at_once_stops_the_other_at_once(boards):
    loop, rigs, group = boards
    run = asyncio.create_task(group.run(pushes()))
    await asyncio.sleep(1.0)
    await group.links["left"].emergency_stop()
    with pytest.raises(RobotError, check=is_fault("emergency-stop", "board left")):
        await run
    assert (await group.links["right"].status()).fault == Fault.EMERGENCY_STOP
    before = steps_of(rigs)
    loop.pass_time(3)
    assert steps_of(rigs) == before


@pytest.mark.parametrize("lost", [None, "left", "right"])
async def test_an_emergency_stop_reaches_every_board_but_a_lost_one(boards, lost):
    _, rigs, group = boards
    if lost is not None:
        rigs[NAMES.index(lost)].port.unplug()
    told = pytest.raises(LinkError, match=f"board {lost}") if lost else nullcontext()
    with told:
        await group.emergency_stop()
    for name in {*NAMES} - {lost}:
        assert (await group.links[name].status()).fault == Fault.EMERGENCY_STOP, name


async def test_a_group_does_at_all_boards_what_a_link_does_at_one(boards):
    group = boards.group
    links = group.links.values()
    assert [link.ledger.homed for link in links] == [{name: 0} for name in NAMES]
    assert await group.active_sensors() == frozenset()
    sent = [link.statistics.sent for link in links]
    assert group.statistics.sent == sum(sent) > max(sent) > 0
    fewer = [replace(SETUPS[-1], name=name, maximum_steps=100) for name in NAMES]
    group.adopt(fewer)
    assert [list(link.actuators) for link in links] == [[one] for one in fewer]
    await group.release()
    assert [(await link.status()).homed for link in links] == [0, 0]
    with pytest.raises(RobotError, match="no actuator is called up"):
        await group.home(["up"])


def losing_time(monkeypatch: pytest.MonkeyPatch, board: VirtualBoard, starts: int) -> list[float]:
    """Stop a board's clock after the comparison, in the first starts. Return the times lost."""
    lost: list[float] = []
    choose = CommonStart.choose_ticks

    def choose_and_lose(start: CommonStart) -> Mapping[str, int] | None:
        ticks = choose(start)
        if ticks is not None and len(lost) < starts:
            board.lose_time(LOST_S)
            lost.append(LOST_S)
        return ticks

    monkeypatch.setattr(CommonStart, "choose_ticks", choose_and_lose)
    return lost


async def test_a_start_is_taken_back_when_a_clock_falls_behind(boards, monkeypatch):
    _, rigs, group = boards
    lost = losing_time(monkeypatch, rigs[1].board, starts=2)
    execution = await group.run(pushes())
    assert (execution.turns_done, execution.events) == (2 * TURNS, ())
    assert steps_of(rigs) == [TURNS * STEPS] * 2
    assert len(lost) == 2 and abs(apart_s(rigs, 0, 0) - sum(lost)) <= TOGETHER_S


@pytest.mark.parametrize(
    ("trouble", "ending"),
    [
        ("begins", "came too late"),
        ("emergency stop", "emergency stop"),
        ("stop", "before it began"),
    ],
)
async def test_trouble_while_a_start_is_taken_back_ends_the_plan_by_name(
    boards, monkeypatch, trouble, ending
):
    """Let the plan begin nonetheless, or a person stop the robot meanwhile."""
    group = boards.group
    ordered: list[object] = []
    stopping: list[asyncio.Task[None]] = []

    async def take_back(gate: object, session: object) -> bool:
        ordered.append(gate)
        if trouble == "begins":
            await asyncio.sleep(PERIOD_US * 1.5e-6)
        elif trouble == "stop":
            stopping.append(asyncio.create_task(group.stop()))
        else:
            await group.emergency_stop()
        return False

    monkeypatch.setattr(BoardGate, "is_kept", take_back)
    with pytest.raises((RobotError, Stopped), match=ending):
        await group.run(pushes())
    assert len(ordered) == len(NAMES), "nothing starts again"
    for task in stopping:
        await task


async def test_clocks_that_never_agree_are_named_and_nothing_moves(boards, monkeypatch):
    _, rigs, group = boards
    losing_time(monkeypatch, rigs[1].board, starts=100)
    with pytest.raises(RobotError, match="left and right by", check=is_fault("clocks-apart")):
        await group.run(pushes())
    await asyncio.sleep(2)
    assert steps_of(rigs) == [0, 0]
    assert [link.ledger.run for link in group.links.values()] == [None, None]
    monkeypatch.undo()
    assert (await group.run(pushes())).turns_done == 2 * TURNS


class Silent:
    def __init__(self) -> None:
        self.asked = threading.Event()

    async def ask(self) -> None:
        self.asked.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


def test_who_waits_when_another_thread_closes_the_link_is_told():
    thread = LinkThread(Silent)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: thread.wait(thread.link.ask()))
        assert thread.link.asked.wait(240)
        thread.close()
        with pytest.raises(LinkError, match="disconnected"):
            waiting.result(240)


def test_traffic_is_counted_over_all_links():
    line = SimpleNamespace(statistics=SessionStatistics(10, 1, 10, 5, 7, 0))
    traffic = LinkStatistics()
    traffic.note_opened(line)
    assert traffic.total == LinkRecord()
    line.statistics = SessionStatistics(30, 2, 25, 6, 9, 0)
    traffic.note_events(("held", "late"))
    seen = LinkRecord(sent=20, resent=1, received=15, damaged=3, held=1, late=1)
    assert traffic.total == seen
    traffic.note_closing()
    line.statistics = SessionStatistics(2, 0, 2, 0, 0, 0)
    traffic.note_opened(line)
    line.statistics = SessionStatistics(5, 0, 4, 0, 3, 0)
    assert traffic.total == seen + LinkRecord(sent=3, received=2, damaged=3)


# Clocks

TOGETHER_TICKS = 1000 * TICKS_PER_US


@pytest.mark.parametrize("drift", [0.0, 1e-4, -1e-4, 5e-3])
@pytest.mark.parametrize("offset_ticks", [0, TICKS_PER_S, WRAP - 5 * TICKS_PER_S])
def test_time_and_drift_are_within_their_bounds(drift, offset_ticks):
    """Compare over a line with a delay of 0.2 to 1 ms out and 0.8 to 4 ms back."""
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
    """Compare by order of reading, whatever this computer's clock showed meanwhile."""
    one = [Comparison(0.0, 1.0, 1000), Comparison(7.0, 7.5, 1030)]
    other = [Comparison(1.0, 7.0, 5020), Comparison(7.2, 9.0, 5050)]
    assert difference_bounds(one, other) == (5020 - 1030, 5020 - 1000)
    assert difference_bounds(other, one) == (1000 - 5020, 1030 - 5020)
    assert difference_bounds(one, []) == (-math.inf, math.inf)


class TooLate:
    """A gate for a board that is told to start 50 ms ago, without any other board."""

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


class Asking(TooLate):
    """A gate that asks for the board's clock again and again."""

    async def start_tick(self, session: LinkSession) -> int:
        session.board_clock.forget_time()
        for _ in range(40):
            await session.ask_clock(asyncio.Lock())
        self.compared = list(session.board_clock.new)
        return await super().start_tick(session)


async def test_a_board_reads_its_clock_between_question_and_answer(host_rig):
    """Check that it is not the time of the last event, which may precede the question."""
    link, gate = await host_rig.homed_link("pusher"), Asking()
    with pytest.raises(RobotError):
        await link.run(in_turn(stepper_move("pusher", 0, 100, LIMITS)), gate=gate)
    for one in gate.compared:
        assert one.asked_at * TICKS_PER_S <= one.ticks + 1 <= one.heard_at * TICKS_PER_S + 2


def test_no_drift_is_believed_of_time_that_stands_still_now_and_then():
    """Lose 50 ms of a simulated board at once: 0.5 % in ten seconds, but no clock's drift."""
    clock = BoardClock()
    for tenth in range(100):
        at = tenth / 10
        board_s = at + 0.001 - (0.05 if at > 5 else 0.0)
        clock.compare(at, at + 0.002, round(board_s * TICKS_PER_S))
    assert clock.drift == 0.0
