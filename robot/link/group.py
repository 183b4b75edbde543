"""Several boards of one robot: schedules are split among them and start together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress

from robot.faults import FAULTS, Fault, LinkFault, RobotFault, Stopped
from robot.link.link import Execution, Link, Progress
from robot.link.session import Clock
from robot.motion.schedule import Schedule, TimedTurn

LEAD_S = 0.06
"""From when all boards are ready to their start: time for a start that has to be sent again."""


class LinkGroup:
    """The links to all boards, by the names of these; each is open, configured and homed."""

    def __init__(self, links: Mapping[str, Link], clock: Clock = time.monotonic) -> None:
        self.links = dict(links)
        self._clock = clock
        self._board_of = {
            setup.name: name for name, link in links.items() for setup in link.actuators
        }

    async def run(self, schedule: Schedule, on_progress: Progress | None = None) -> Execution:
        """Play a schedule on all boards that it needs, started within a millisecond.

        ``on_progress`` hears of the slowest. What goes wrong at one board stops all; raises as
        :meth:`Link.run`, and a fault of a link, or without other detail, names the board.
        """
        parts = split(schedule, self._board_of)
        gate = _Gate(len(parts), self._clock)
        reached = dict.fromkeys(parts, 0.0)

        def note(name: str, fraction: float) -> None:
            reached[name] = fraction
            if on_progress:
                on_progress(min(reached.values()))

        async def play(name: str, part: Schedule) -> Execution:
            link = self.links[name]
            try:
                execution = await link.run(part, lambda fraction: note(name, fraction), gate.ready)
            except RobotFault as fault:
                raise _of_board(fault, name) from fault
            note(name, 1.0)
            return execution

        runs = [asyncio.create_task(play(name, part)) for name, part in parts.items()]
        try:
            done, _ = await asyncio.wait(runs, return_when=asyncio.FIRST_EXCEPTION)
            causes = [cause for run in done if (cause := run.exception()) is not None]
            if causes:
                # A stop is the answer to what broke, not its cause.
                cause = min(causes, key=lambda one: isinstance(one, Stopped))
                gate.give_up()
                await self._stop_for(cause)
                raise cause
        finally:
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, return_exceptions=True)
        ends = [run.result() for run in runs]
        return Execution(
            executed_us=max((end.executed_us for end in ends), default=0),
            turns_done=sum(end.turns_done for end in ends),
            events=tuple(dict.fromkeys(event for end in ends for event in end.events)),
            waited_s=max((end.waited_s for end in ends), default=0.0),
        )

    async def stop(self) -> None:
        """Every board finishes its turns in progress; a run under way raises ``Stopped``."""
        await self._at_all("stop")

    async def emergency_stop(self) -> None:
        """Stop all motion of every board now, also when one of them does not answer."""
        await self._at_all("emergency_stop")

    async def _stop_for(self, cause: BaseException) -> None:
        """What broke one board has been told; the others have nothing to add to it."""
        at_once = isinstance(cause, RobotFault) and FAULTS[cause.code].stops_at_once
        with suppress(RobotFault, Stopped):
            await (self.emergency_stop() if at_once else self.stop())

    async def _at_all(self, order: str) -> None:
        """Give all links an order at the same time; the first fault is raised in the end."""
        orders = (getattr(link, order)() for link in self.links.values())
        ends = await asyncio.gather(*orders, return_exceptions=True)
        for name, end in zip(self.links, ends, strict=True):
            if isinstance(end, RobotFault):
                raise _of_board(end, name) from end
            if isinstance(end, BaseException):
                raise end


def split(schedule: Schedule, board_of: Mapping[str, str]) -> dict[str, Schedule]:
    """What each board has to do of a schedule, in the schedule's time.

    Raises :class:`RobotFault` for an actuator that is at none.
    """
    turns: dict[str, list[TimedTurn]] = {}
    numbers: dict[str, dict[int, int]] = {}
    for turn in schedule.turns:
        actuator = schedule.profiles[turn.profile].actuator
        if actuator not in board_of:
            raise RobotFault(Fault.BAD_SCHEDULE, f"no actuator is called {actuator}")
        name = board_of[actuator]
        known = numbers.setdefault(name, {})
        number = known.setdefault(turn.profile, len(known))
        turns.setdefault(name, []).append(TimedTurn(turn.start_us, number))
    return {
        name: Schedule(
            tuple(schedule.profiles[profile] for profile in numbers[name]),
            tuple(own),
            schedule.duration_us,
        )
        for name, own in turns.items()
    }


def _of_board(fault: RobotFault, name: str) -> RobotFault:
    """The same, with the name of the board where nothing else tells which one it is."""
    if isinstance(fault, Stopped):
        return fault
    if isinstance(fault, LinkFault):
        return LinkFault(fault.fault, f"board {name}: {fault.detail}".removesuffix(": "))
    return fault if fault.detail else RobotFault(fault.fault, f"board {name}")


class _Gate:
    """Opens when so many are ready, for a start that all have heard of by then."""

    def __init__(self, expected: int, clock: Clock) -> None:
        self._missing = expected
        self._clock = clock
        self._start_at: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def ready(self) -> float:
        """Wait for the others; the time at which to start. Raises ``Stopped`` if one gave up."""
        self._missing -= 1
        if self._missing == 0 and not self._start_at.done():
            self._start_at.set_result(self._clock() + LEAD_S)
        return await asyncio.shield(self._start_at)

    def give_up(self) -> None:
        """Nobody starts who has not yet."""
        if not self._start_at.done():
            self._start_at.cancel()
