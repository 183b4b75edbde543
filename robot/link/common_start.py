"""The common start of a plan on several boards, by clocks that are checked to agree.

Every board gets a tick of its own clock. The ticks follow from comparing each clock with this
computer's, which is exact if time passes evenly. If it does not - the computer is busy, a board
stood still, a simulation lost time between the answers of two boards - only the order of questions
and answers is certain. So the ticks are kept within the bounds that follow from this order
(:func:`robot.link.clock.difference_bounds`). The boards are asked in turn, which makes these bounds
narrow. Once the start is ordered they are asked again. A start that is in doubt, or is not
confirmed in time, is taken back before anything moves, and tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

from robot.link.clock import BoardClock, difference_bounds
from robot.link.session import Clock, LinkSession
from robot.settings.board_table import TICKS_PER_S
from robot.text.faults import Fault, RobotError

log = logging.getLogger("cubistd")

T = TypeVar("T")

LEAD_S = 0.1
"""Seconds between all boards being ready and their start: time to order it and to ask again."""
ON_A_BAD_LINE = 4
"""Factor of the lead on a bad line, where orders have to be sent again."""
BAD_LINE = 0.02
"""Fraction of messages damaged or sent again above which a line counts as bad."""
TAKE_BACK = 0.4
"""Fraction of the lead reserved for taking a start back. It must be confirmed before that."""
STARTS = 4
"""Number of attempts, each with twice the lead."""
COMPARISONS = 4
"""Maximum rounds of comparing the clocks before a start, until they are known well enough."""
CHECKS = 2
"""Number of questions to each board once the start is ordered."""
TOGETHER_S = 0.01
"""Maximum uncertainty of the difference between the boards' starts."""
SLACK_S = 0.001
"""Margin by which a start may miss the bounds of the check."""


class CommonStart:
    """State shared by the links to these boards; each waits at its :meth:`gate`."""

    def __init__(self, boards: Collection[str], clock: Clock) -> None:
        self.asking = asyncio.Lock()
        self.meeting = _Meeting(len(boards))
        self.sessions: dict[str, LinkSession] = {}
        self.in_time: dict[str, bool] = {}
        self.ticks: Mapping[str, int] = {}
        self.lead_s = LEAD_S
        self.complaint = ""
        self._boards = tuple(boards)
        self._clock = clock

    def gate(self, board: str) -> BoardGate:
        """Return the gate at which the link to a board waits for the others."""
        return BoardGate(self, board)

    def give_up(self) -> None:
        """Prevent the start of every board that has not started yet."""
        self.meeting.give_up()

    def choose_ticks(self) -> Mapping[str, int] | None:
        """Return the boards' ticks of a start after the lead; None if they are too uncertain."""
        self.lead_s *= ON_A_BAD_LINE if self._line_is_bad and self.lead_s == LEAD_S else 1
        now = self._clock()
        at_now = {name: clock.tick_at(now) for name, clock in self._clocks.items()}
        ticks = {name: clock.tick_at(now + self.lead_s) for name, clock in self._clocks.items()}
        first, *others = ticks
        for name in others:
            low, high = self._bounds(first, name)
            seen = at_now[name] - at_now[first]
            apart = min(max(seen, low), high)
            doubt_s = max(apart - low, high - apart) / TICKS_PER_S
            if not low <= high or doubt_s > TOGETHER_S:
                self._complain(first, name, doubt_s)
                return None
            ticks[name] += round(apart - seen)
        self.ticks = ticks
        return ticks

    def keep_or_take_back(self) -> bool:
        """Return whether the start is kept. The next one has twice the lead."""
        self.lead_s *= 2
        kept = self._is_right()
        if not kept:
            log.warning("start cancelled, comparing the clocks again: %s", self.complaint)
        return kept

    def _is_right(self) -> bool:
        """Return whether all boards received the start in time and their clocks still agree."""
        late = [name for name, in_time in self.in_time.items() if not in_time]
        if late:
            self.complaint = f"{late[0]} did not confirm the start in time"
            return False
        first, *others = self.ticks
        left = self.ticks[first] - self._clocks[first].latest
        for name in others:
            low, high = self._bounds(first, name)
            parting = left * (self._clocks[name].drift - self._clocks[first].drift)
            apart = self.ticks[name] - self.ticks[first] - parting
            outside_s = max(low - apart, apart - high) / TICKS_PER_S
            if outside_s > SLACK_S:
                self._complain(first, name, outside_s)
                return False
        return True

    def _bounds(self, first: str, name: str) -> tuple[float, float]:
        return difference_bounds(self._clocks[first].new, self._clocks[name].new)

    def _complain(self, first: str, name: str, by_s: float) -> None:
        self.complaint = f"{first} and {name} by {by_s * 1000:.0f} ms"

    @property
    def _clocks(self) -> Mapping[str, BoardClock]:
        return {name: self.sessions[name].board_clock for name in self._boards}

    @property
    def _line_is_bad(self) -> bool:
        lines = [session.statistics for session in self.sessions.values()]
        return any(
            line.resent > BAD_LINE * line.sent
            or line.damaged_here > BAD_LINE * line.received
            or line.damaged_there > BAD_LINE * line.sent
            for line in lines
        )


@dataclass
class BoardGate:
    """The gate of one board to a :class:`CommonStart`, see :class:`robot.link.link.Gate`."""

    start: CommonStart
    board: str
    left: int = STARTS

    async def all_uploaded(self) -> None:
        """Wait until every board has its part of the plan. Raise after too many attempts."""
        if self.left == 0:
            raise RobotError(Fault.CLOCKS_APART, detail=self.start.complaint)
        self.left -= 1
        await self.start.meeting.all_here(lambda: None)

    async def start_tick(self, session: LinkSession) -> int:
        """Compare the clocks. Return the tick of this board's clock at which all start."""
        self.start.sessions[self.board] = session
        for _ in range(COMPARISONS):
            session.board_clock.forget_time()
            await session.compare_clocks(self.start.asking)
            ticks = await self.start.meeting.all_here(self.start.choose_ticks)
            if ticks is not None:
                return ticks[self.board]
        raise RobotError(Fault.CLOCKS_APART, detail=self.start.complaint)

    async def is_kept(self, session: LinkSession) -> bool:
        """Return whether the start that was ordered is right. If not, take it back at once."""
        clock, tick = session.board_clock, self.start.ticks[self.board]
        clock.forget_time()
        self.start.in_time[self.board] = False
        with suppress(TimeoutError):
            take_back_s = TAKE_BACK * self.start.lead_s
            async with asyncio.timeout(self.start.lead_s - take_back_s):
                await session.wait_for_delivery()
                for _ in range(CHECKS):
                    await session.ask_clock(self.start.asking)
                left_s = (tick - clock.latest) / TICKS_PER_S
                self.start.in_time[self.board] = left_s >= take_back_s
        return await self.start.meeting.all_here(self.start.keep_or_take_back)


class _Meeting:
    """A reusable barrier for a number of links. The last to arrive decides for all."""

    def __init__(self, expected: int) -> None:
        self._expected = self._missing = expected
        self._decided: asyncio.Future[object] | None = None
        self._over = False

    async def all_here(self, decide: Callable[[], T]) -> T:
        """Wait for the others. Return the decision."""
        if self._over:
            raise asyncio.CancelledError
        decided = self._decided or asyncio.get_running_loop().create_future()
        self._decided, self._missing = decided, self._missing - 1
        if self._missing == 0:
            self._decided, self._missing = None, self._expected
            decided.set_result(decide())
        return cast(T, await asyncio.shield(decided))

    def give_up(self) -> None:
        """Cancel all links that wait now, or come later."""
        self._over = True
        if self._decided is not None:
            self._decided.cancel()
