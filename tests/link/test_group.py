"""Schedules that span two boards: started together, ended together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from robot.link import LinkGroup, LinkThread
from robot.link.common_start import CommonStart
from robot.link.group import (
    LONGEST_IDLE_US,
    paces,
    stages,
    stretch_schedule,
)
from robot.link.statistics import RECENT_MESSAGES, RecentTraffic, complaints
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.stepper import stepper_move
from robot.records.runs import LinkRecord
from robot.settings.board_table import TICKS_PER_S
from robot.text.faults import Fault, LinkError, RobotError
from tests.rig.boards import (
    BOOTED_LATER_S,
    FASTER,
    LIMITS,
    PUSHER_STEP,
    SETUPS,
    Rig,
    program,
    two_boards,
)
from tests.rig.simulated_time import VirtualBoard, VirtualLoop

pytestmark = pytest.mark.quick

NAMES = "left", "right"
PUSHER = SETUPS[-1]
STEPS = 400
TURNS = 6
PERIOD_US = 400_000

Boards = tuple[VirtualLoop, list[Rig], LinkGroup]


PI = program("cubist-firmware-linux"), "--step-rate", "60000"
"""A Raspberry Pi that steps as fast as no real one does."""


@pytest.fixture
def boards(request: pytest.FixtureRequest) -> Iterator[Boards]:
    """Two boards with a pusher each, called left and right, homed; the right one a Raspberry Pi if
    that is asked for."""
    second = getattr(request, "param", ())
    with two_boards([program("cubist-firmware-host")], second) as (loop, rigs):
        setups = [(replace(PUSHER, name=name),) for name in NAMES]
        opened = (rig.homed_link(setups=own) for rig, own in zip(rigs, setups, strict=True))
        links = [loop.run_until_complete(link) for link in opened]
        yield loop, rigs, LinkGroup(dict(zip(NAMES, links, strict=True)), loop.time)


def pushes() -> Schedule:
    """Both push at once, six times."""
    moves = [
        stepper_move(name, number * STEPS, STEPS, LIMITS)
        for number in range(TURNS)
        for name in NAMES
    ]
    turns = [TimedTurn(number // 2 * PERIOD_US, number) for number in range(2 * TURNS)]
    return Schedule(tuple(moves), tuple(turns), TURNS * PERIOD_US)


def steps_of(rig: Rig) -> int:
    return sum(rig.pins.moves())


def starts_s(rigs: list[Rig], number: int) -> list[float]:
    """When each board began its push of that number, in the time of the loop."""
    left, right = (rig.pins.rises(PUSHER_STEP)[number * STEPS] / TICKS_PER_S for rig in rigs)
    return [left, BOOTED_LATER_S + right / (1 + FASTER)]


@pytest.mark.parametrize("boards", [(), PI], indirect=True, ids=["alike", "pi"])
def test_each_board_plays_its_part_at_the_same_time(boards: Boards) -> None:
    loop, rigs, group = boards
    heard: list[float] = []
    execution = loop.run_until_complete(group.run(pushes(), heard.append))
    assert (execution.turns_done, execution.events) == (2 * TURNS, ())
    assert [steps_of(rig) for rig in rigs] == [TURNS * STEPS] * 2
    for number in range(TURNS):
        left, right = starts_s(rigs, number)
        assert abs(left - right) <= 0.001, number
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


@pytest.mark.parametrize("boards", [(), PI], indirect=True, ids=["alike", "pi"])
def test_a_board_lost_in_the_middle_stops_the_other_and_is_named(boards: Boards) -> None:
    loop, rigs, group = boards

    def pull(fraction: float) -> None:
        if fraction > 0.3:
            rigs[1].port.unplug()

    with pytest.raises(LinkError, match="board right") as told:
        loop.run_until_complete(group.run(pushes(), pull))
    assert told.value.code == "link-lost"
    assert told.value.remedy
    stopped_at = steps_of(rigs[0])
    loop.run_until_complete(asyncio.sleep(5))  # the other board goes on to hear from its host
    assert steps_of(rigs[0]) == stopped_at
    assert stopped_at in {2 * STEPS, 3 * STEPS}, "what has begun is finished, and no more"


def test_a_fault_of_one_that_stops_at_once_stops_the_other_at_once(boards: Boards) -> None:
    loop, rigs, group = boards

    async def broken() -> None:
        run = asyncio.create_task(group.run(pushes()))
        await asyncio.sleep(1.0)
        await group.links["left"].emergency_stop()
        with pytest.raises(RobotError) as told:
            await run
        assert (told.value.code, told.value.detail) == ("emergency-stop", "board left")
        status = await group.links["right"].status()
        assert status.fault == Fault.EMERGENCY_STOP

    loop.run_until_complete(broken())
    before = [steps_of(rig) for rig in rigs]
    loop.pass_time(3)
    assert [steps_of(rig) for rig in rigs] == before


@pytest.mark.parametrize("lost", [None, 0, 1])
def test_an_emergency_stop_reaches_every_board(boards: Boards, lost: int | None) -> None:
    """Also the one that answers when the other does not."""
    loop, rigs, group = boards

    async def stopped() -> None:
        if lost is not None:
            rigs[lost].port.unplug()
        try:
            await group.emergency_stop()
        except LinkError as fault:
            assert lost is not None
            assert f"board {NAMES[lost]}" in fault.detail
        else:
            assert lost is None
        for number, name in enumerate(NAMES):
            if number != lost:
                status = await group.links[name].status()
                assert status.fault == Fault.EMERGENCY_STOP

    loop.run_until_complete(stopped())


def test_a_group_does_at_all_boards_what_a_link_does_at_one() -> None:
    with two_boards([program("cubist-firmware-host")]) as (loop, rigs):
        run = loop.run_until_complete
        links = {
            name: rig.link((replace(PUSHER, name=name),))
            for name, rig in zip(NAMES, rigs, strict=True)
        }
        group = LinkGroup(links, loop.time)
        assert list(run(group.open())) == list(NAMES)
        run(group.configure())
        run(group.home())
        assert {name: link.ledger.homed for name, link in links.items()} == {
            name: {name: 0} for name in NAMES
        }
        assert run(group.active_sensors()) == frozenset()
        sent = [link.statistics.sent for link in links.values()]
        assert group.statistics.sent == sum(sent) > max(sent) > 0
        fewer = [replace(PUSHER, name=name, maximum_steps=100) for name in NAMES]
        group.adopt(fewer)
        assert [list(link.actuators) for link in links.values()] == [[one] for one in fewer]
        run(group.release())
        states = [run(link.status()).homed for link in links.values()]
        assert states == [0, 0]
        with pytest.raises(RobotError, match="no actuator is called up"):
            run(group.home(["up"]))


LOST_S = 0.05


def losing_time(monkeypatch: pytest.MonkeyPatch, board: VirtualBoard, starts: int) -> list[float]:
    """Let a board's clock stand still between the comparison and the start, of so many starts;
    what it has lost."""
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


def test_a_start_is_taken_back_when_a_clock_falls_behind(
    boards: Boards, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop, rigs, group = boards
    lost = losing_time(monkeypatch, rigs[1].board, starts=2)
    execution = loop.run_until_complete(group.run(pushes()))
    assert (execution.turns_done, execution.events) == (2 * TURNS, ())
    assert [steps_of(rig) for rig in rigs] == [TURNS * STEPS] * 2
    left, right = starts_s(rigs, 0)
    assert abs(left - right - sum(lost)) <= 0.001
    taken_back = [text for text in caplog.messages if "taken back" in text]
    assert len(taken_back) == len(lost) == 2
    assert all("left and right by" in text for text in taken_back)


def test_clocks_that_never_agree_are_named_and_nothing_moves(
    boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, rigs, group = boards
    losing_time(monkeypatch, rigs[1].board, starts=100)
    with pytest.raises(RobotError, match="left and right by") as told:
        loop.run_until_complete(group.run(pushes()))
    assert told.value.code == "clocks-apart"
    loop.run_until_complete(asyncio.sleep(2))
    assert [rig.pins.rises(PUSHER_STEP) for rig in rigs] == [[], []]
    assert [link.ledger.run for link in group.links.values()] == [None, None]
    monkeypatch.undo()
    assert loop.run_until_complete(group.run(pushes())).turns_done == 2 * TURNS


IDLE_S = 40
WAITING_US = IDLE_S * 1_000_000


def one_waits() -> Schedule:
    """Left pushes every four seconds, right at the beginning and forty seconds later."""
    moves, turns = [], []
    for second in range(0, IDLE_S + 1, 4):
        for name in NAMES if second in (0, IDLE_S) else NAMES[:1]:
            at = STEPS * (second // 4 if name == "left" else second // IDLE_S)
            turns.append(TimedTurn(second * 1_000_000, len(moves)))
            moves.append(stepper_move(name, at, STEPS, LIMITS))
    return Schedule(tuple(moves), tuple(turns), WAITING_US + moves[-1].duration_us)


@pytest.mark.long
def test_a_board_may_rest_for_longer_than_it_can_be_told(boards: Boards) -> None:
    loop, rigs, group = boards
    loop.run_until_complete(asyncio.sleep(20))  # while their clocks are compared
    plan, heard = one_waits(), list[float]()
    execution = loop.run_until_complete(group.run(plan, heard.append))
    assert (execution.turns_done, execution.events) == (len(plan.turns), ())
    assert abs(execution.executed_us - plan.duration_us) <= 1e-3 * plan.duration_us
    assert [steps_of(rig) for rig in rigs] == [(IDLE_S // 4 + 1) * STEPS, 2 * STEPS]
    lefts, rights = (rig.pins.rises(PUSHER_STEP) for rig in rigs)
    apart = (
        lefts[-STEPS] / TICKS_PER_S - BOOTED_LATER_S - rights[-STEPS] / TICKS_PER_S / (1 + FASTER)
    )
    assert abs(apart) <= 0.001, "they begin together again"
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)


def test_plans_are_cut_where_everything_rests_and_nothing_of_them_is_lost() -> None:
    plan = one_waits()
    parts = stages(plan, dict(zip(NAMES, NAMES, strict=True)))
    begins = [sum(part.duration_us for part in parts[:number]) for number in range(len(parts))]
    turns = [
        TimedTurn(begin + turn.start_us, turn.profile)
        for begin, part in zip(begins, parts, strict=True)
        for turn in part.turns
    ]
    assert (len(parts), tuple(turns)) == (2, plan.turns)
    assert sum(part.duration_us for part in parts) == plan.duration_us
    for begin in begins[1:]:
        for turn in plan.turns:
            end = turn.start_us + plan.profiles[turn.profile].duration_us
            assert end <= begin or turn.start_us >= begin, "it moves at the cut"
    assert parts[1].turns[-1].start_us <= LONGEST_IDLE_US


def test_a_board_that_must_wait_while_another_never_rests_is_named() -> None:
    """One motion of a minute: nobody has such a motor, and nothing could be told."""
    minute = replace(stepper_move("left", 0, STEPS, LIMITS), duration_us=60_000_000)
    moves = (minute, stepper_move("right", 0, STEPS, LIMITS))
    plan = Schedule(moves, (TimedTurn(0, 0), TimedTurn(20_000_000, 1)), 60_000_000)
    with pytest.raises(RobotError, match="board right waits longer than 16 s") as told:
        stages(plan, dict(zip(NAMES, NAMES, strict=True)))
    assert told.value.code == "bad-schedule"


@pytest.mark.parametrize(
    ("drifts", "expected"),
    [
        ({"left": 0.0, "right": 1e-3}, {"left": 1.0, "right": 1.001}),
        ({"left": -5e-3, "right": 0.0}, {"left": 1.0, "right": 1 / 0.995}),
        ({"left": 1e-5, "right": 0.0}, {"left": 1.0, "right": 1.0}),
        ({"left": 2e-3, "right": 2e-3}, {"left": 1.0, "right": 1.0}),
    ],
)
def test_no_turn_is_brought_forward(drifts: dict[str, float], expected: dict[str, float]) -> None:
    """Only boards whose clocks are ahead of the slowest count more of their own time."""
    assert paces(drifts) == pytest.approx(expected)
    part = stretch_schedule(pushes(), expected["right"])
    assert [turn.start_us for turn in part.turns] == [
        round(turn.start_us * expected["right"]) for turn in pushes().turns
    ]
    assert part.profiles == pushes().profiles


GOOD = LinkRecord(sent=RECENT_MESSAGES // 4, received=RECENT_MESSAGES // 4)
BAD = GOOD + LinkRecord(damaged=60, late=1)


def test_a_mended_line_is_good_again_after_some_good_traffic() -> None:
    recent, total = RecentTraffic(), LinkRecord()
    for part in (GOOD, BAD, GOOD):
        total += part
        codes = [note.code for note in complaints(recent.of(total))]
        assert codes == ([] if total == GOOD else ["line-damaged", "late-once"])
    for _ in range(2 * RECENT_MESSAGES // (GOOD.sent + GOOD.received) + 1):
        total += GOOD
        told = list(complaints(recent.of(total)))
    assert told == []
    total += BAD
    assert list(complaints(recent.of(total))), "what is damaged anew is told at once"


class Silent:
    """A link to a board that never answers."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    async def ask(self) -> None:
        self.asked.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


def test_who_waits_when_another_thread_closes_the_link_is_told() -> None:
    thread = LinkThread(Silent)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: thread.wait(thread.link.ask()))
        assert thread.link.asked.wait(240)
        thread.close()
        with pytest.raises(LinkError, match="disconnected"):
            waiting.result(240)
