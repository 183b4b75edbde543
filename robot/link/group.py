"""Several boards of one robot: schedules are split among them and start together."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
import operator
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

from robot.link.actuators import ActuatorSetup
from robot.link.clock import certain_drifts
from robot.link.common_start import CommonStart
from robot.link.limits import Capabilities
from robot.link.link import STOP_PATIENCE_S, Execution, Link, Progress
from robot.link.session import Clock, SessionStatistics
from robot.motion.schedule import Schedule, TimedTurn
from robot.text.faults import FAULTS, Fault, LinkError, RobotError, Stopped

LEAST_PACE = 3e-5
"""Of a difference between clocks that is made up for: 0.1 ms in three seconds."""

LONGEST_IDLE_US = 16_000_000
"""Longest time between the starts of two turns at one board. The protocol has waits of up to
16.7 s; a faster clock uses up part of the margin."""


def stages(schedule: Schedule, board_of: Mapping[str, str]) -> list[Schedule]:
    """Cut a schedule where everything rests, so that no board waits too long.

    A board that rests between two cuts is told nothing of what the others do there. Raises
    :class:`RobotError` for an actuator that is at none, and where nothing rests for too long.
    """
    cuts: list[int] = []
    begin = rested = latest_end = 0
    last: dict[str, int] = {}
    for turn in schedule.turns:
        profile = schedule.profiles[turn.profile]
        name = board_at(profile.actuator, board_of)
        if turn.start_us >= latest_end:
            rested = latest_end
        if turn.start_us - last.get(name, begin) > LONGEST_IDLE_US:
            if turn.start_us - rested > LONGEST_IDLE_US or rested == begin:
                raise RobotError(Fault.BAD_SCHEDULE, detail=_too_long(name, turn.start_us))
            cuts.append(rested)
            begin = rested
            last = {board: start for board, start in last.items() if start >= begin}
        last[name] = turn.start_us
        latest_end = max(latest_end, turn.start_us + profile.duration_us)
    bounds = [0, *cuts, schedule.duration_us]
    return [_turns_between(schedule, *pair) for pair in pairwise(bounds)]


def _turns_between(schedule: Schedule, begin: int, end: int) -> Schedule:
    """Return the turns between two moments of rest, in time from the first."""
    turns = (turn for turn in schedule.turns if begin <= turn.start_us < end)
    own = tuple(replace(turn, start_us=turn.start_us - begin) for turn in turns)
    return Schedule(schedule.profiles, own, end - begin)


def _too_long(name: str, at_us: int) -> str:
    return (
        f"board {name} waits longer than {LONGEST_IDLE_US / 1e6:g} s for its turn at "
        f"{at_us / 1e6:.1f} s, and nothing rests meanwhile"
    )


def split(schedule: Schedule, board_of: Mapping[str, str]) -> dict[str, Schedule]:
    """Return each board's part of a schedule, in the schedule's time.

    Raises :class:`RobotError` for an actuator that is at none.
    """
    turns: dict[str, list[TimedTurn]] = {}
    numbers: dict[str, dict[int, int]] = {}
    for turn in schedule.turns:
        name = board_at(schedule.profiles[turn.profile].actuator, board_of)
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


def paces(drifts: Mapping[str, float]) -> dict[str, float]:
    """Return the factor by which each board stretches a plan to match the slowest clock.

    ``drifts``: how much faster than this computer's the clock of each goes. Differences that no
    plan is long enough for are left out, so 1.0 is usual.
    """
    slowest = min(drifts.values(), default=0.0)
    exact = {name: (1 + drift) / (1 + slowest) for name, drift in drifts.items()}
    return {name: pace if pace - 1 >= LEAST_PACE else 1.0 for name, pace in exact.items()}


def stretch_schedule(part: Schedule, pace: float) -> Schedule:
    """Return the schedule with all start times multiplied by ``pace``; motions last as long."""
    if pace == 1.0:
        return part
    turns = tuple(TimedTurn(round(turn.start_us * pace), turn.profile) for turn in part.turns)
    return Schedule(part.profiles, turns, round(part.duration_us * pace))


def board_at(actuator: str, board_of: Mapping[str, str]) -> str:
    """The board of an actuator; raises :class:`RobotError` for one that is at none."""
    if actuator not in board_of:
        raise RobotError(Fault.BAD_SCHEDULE, detail=f"no actuator is called {actuator}")
    return board_of[actuator]


T = TypeVar("T")


class LinkGroup:
    """The links to all boards of a robot, by the names of these; often there is one only.

    Faults are those of the links. Where there are several boards, a fault names the board that has
    it unless it names an actuator.
    """

    def __init__(self, links: Mapping[str, Link], clock: Clock = time.monotonic) -> None:
        self.links = dict(links)
        self._clock = clock
        self._stopping = False
        self._board_of = {
            setup.name: name for name, link in links.items() for setup in link.actuators
        }

    async def open(self) -> dict[str, Capabilities]:
        """Connect to all boards and greet them; what each said of itself."""
        return await self._order_all(Link.open)

    async def close(self) -> None:
        """Disconnect; each board makes its part of the robot safe when it misses the heartbeat."""
        await self._order_all(Link.close)

    async def configure(self, anew: bool = False) -> None:
        """See :meth:`Link.configure`, for each board."""
        await self._order_all(lambda link: link.configure(anew))

    def adopt(self, actuators: Sequence[ActuatorSetup]) -> None:
        """The same actuators set up otherwise, from the next :meth:`configure` on."""
        for name, link in self.links.items():
            link.adopt([setup for setup in actuators if self._board_of[setup.name] == name])

    async def home(self, names: Sequence[str] | None = None) -> None:
        """Home actuators one after the other (None: all in their order), then go to the start."""
        self._stopping = False
        for actuator in self._board_of if names is None else names:
            self._raise_if_stopping("before it began")
            board = board_at(actuator, self._board_of)
            with self._naming(board):
                await self.links[board].home([actuator])

    async def take_up(self, names: Sequence[str]) -> None:
        """See :meth:`Link.take_up`, for each board."""
        self._stopping = False
        for board, link in self.links.items():
            self._raise_if_stopping("before it began")
            with self._naming(board):
                await link.take_up([name for name in names if self._board_of[name] == board])

    async def active_sensors(self) -> frozenset[str]:
        """The actuators whose end stop or index sensor is active now."""
        found = await self._order_all(Link.active_sensors)
        return frozenset(name for active in found.values() for name in active)

    async def release(self) -> None:
        """Motors without power, servos without pulses; nothing is homed afterwards."""
        await self._order_all(Link.release)

    @property
    def statistics(self) -> SessionStatistics:
        """Statistics of all links, added up."""
        return functools.reduce(operator.add, (link.statistics for link in self.links.values()))

    async def run(self, schedule: Schedule, on_progress: Progress | None = None) -> Execution:
        """Play a schedule on all boards that it needs, started within a millisecond.

        Where a board would have to wait for longer than it can be told, everything rests for a
        moment. ``on_progress`` hears of the slowest. What goes wrong at one board stops all; raises
        as :meth:`Link.run`.
        """
        if not schedule.turns:
            return Execution(0, 0, ())
        self._stopping = False
        done: list[Execution] = []
        behind = 0.0
        for stage in stages(schedule, self._board_of) if len(self.links) > 1 else [schedule]:
            self._raise_if_stopping("between two parts of a plan")
            share = stage.duration_us / max(1, schedule.duration_us)
            done.append(await self._run_stage(stage, _part_of(on_progress, behind, share)))
            behind += share
        return functools.reduce(_one_after_other, done)

    async def _run_stage(self, schedule: Schedule, on_progress: Progress | None) -> Execution:
        parts = split(schedule, self._board_of)
        if len(parts) == 1:
            [(board, part)] = parts.items()
            with self._naming(board):
                return await self.links[board].run(part, on_progress)
        pace = paces(certain_drifts({name: self.links[name].drift_bounds for name in parts}))
        parts = {name: stretch_schedule(part, pace[name]) for name, part in parts.items()}
        start = CommonStart(parts, self._clock)
        reached = dict.fromkeys(parts, 0.0)

        def note(name: str, fraction: float) -> None:
            reached[name] = fraction
            if on_progress:
                on_progress(min(reached.values()))

        async def play(name: str, part: Schedule) -> Execution:
            link = self.links[name]
            self._raise_if_stopping("before it began")
            with self._naming(name):
                gate = start.gate(name)
                execution = await link.run(part, lambda fraction: note(name, fraction), gate)
            note(name, 1.0)
            return execution

        runs = [asyncio.create_task(play(name, part)) for name, part in parts.items()]
        try:
            done, _ = await asyncio.wait(runs, return_when=asyncio.FIRST_EXCEPTION)
            causes = [cause for run in done if (cause := run.exception()) is not None]
            if causes:
                # A stop is the answer to what broke, not its cause.
                cause = min(causes, key=lambda one: isinstance(one, Stopped))
                start.give_up()
                await self._stop_for(cause)
                # Each notes where the stop has left its actuators.
                await asyncio.wait(runs, timeout=STOP_PATIENCE_S)
                raise cause
        finally:
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, return_exceptions=True)
        ends = [run.result() for run in runs]
        executed = zip(ends, pace.values(), strict=True)
        return Execution(
            executed_us=max((round(end.executed_us / own) for end, own in executed), default=0),
            turns_done=sum(end.turns_done for end in ends),
            events=tuple(dict.fromkeys(event for end in ends for event in end.events)),
            waited_s=max((end.waited_s for end in ends), default=0.0),
        )

    async def stop(self) -> None:
        """Every board finishes its turns in progress; a run under way raises ``Stopped``."""
        self._stopping = True
        await self._order_all(Link.stop)

    async def emergency_stop(self) -> None:
        """Stop all motion of every board now, also when one of them does not answer."""
        await self._order_all(Link.emergency_stop)

    def _raise_if_stopping(self, when: str) -> None:
        if self._stopping:
            raise Stopped(when)

    async def _stop_for(self, cause: BaseException) -> None:
        """Stop all boards after a fault of one; their own faults add nothing."""
        at_once = isinstance(cause, RobotError) and FAULTS[cause.code].stops_at_once
        with suppress(RobotError, Stopped):
            await (self.emergency_stop() if at_once else self.stop())

    async def _order_all(self, order: Callable[[Link], Awaitable[T]]) -> dict[str, T]:
        """Give all links an order at the same time; raise the first fault at the end."""
        names = list(self.links)
        ends = await asyncio.gather(
            *(self._order_one(name, order) for name in names), return_exceptions=True
        )
        done: dict[str, T] = {}
        for name, end in zip(names, ends, strict=True):
            if isinstance(end, BaseException):
                raise end
            done[name] = end
        return done

    async def _order_one(self, name: str, order: Callable[[Link], Awaitable[T]]) -> T:
        with self._naming(name):
            return await order(self.links[name])

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Add the board's name to faults raised inside if they do not show it."""
        try:
            yield
        except RobotError as fault:
            if len(self.links) == 1:
                raise
            raise add_board_name(fault, name) from fault


def _part_of(on_progress: Progress | None, behind: float, share: float) -> Progress | None:
    """Convert progress of a part of a plan to that of the whole."""
    if on_progress is None:
        return None
    return lambda fraction: on_progress(min(1.0, behind + share * fraction))


def _one_after_other(first: Execution, then: Execution) -> Execution:
    return Execution(
        executed_us=first.executed_us + then.executed_us,
        turns_done=first.turns_done + then.turns_done,
        events=tuple(dict.fromkeys((*first.events, *then.events))),
        waited_s=first.waited_s + then.waited_s,
    )


def add_board_name(fault: RobotError, name: str) -> RobotError:
    """Return the fault with the board's name, unless it shows the board already."""
    if isinstance(fault, LinkError):
        return LinkError(fault.code, detail=f"board {name}: {fault.detail}".removesuffix(": "))
    return fault if fault.detail else RobotError(fault.code, detail=f"board {name}")


log = logging.getLogger("cubistd")


class Closable(Protocol):
    """Something to close at the end: :class:`robot.link.Link`, or a group of them."""

    async def close(self) -> None:
        """Disconnect; idempotent."""


L = TypeVar("L", bound=Closable)


class LinkThread(Generic[L]):
    """A link, or a group of links, on a loop of its own: nobody's work delays the heartbeat.

    Progress callbacks come on the loop's thread.
    """

    def __init__(self, make: Callable[[], L]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="link", daemon=True)
        self._thread.start()
        self._ordering = threading.Lock()
        self._is_closed = False
        self.link = make()

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """Return what a coroutine of :attr:`link` returns, or raise what it raises.

        For a thread that may block. Raises ``LINK_LOST`` once another thread has closed this.
        """
        with self._ordering:
            if self._is_closed:
                work.close()
                raise LinkError(Fault.LINK_LOST, detail="disconnected")
            running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except concurrent.futures.CancelledError:
            raise LinkError(Fault.LINK_LOST, detail="disconnected") from None

    def close(self) -> None:
        """Disconnect and end the thread, and the waiting of all others; idempotent."""
        with self._ordering:
            if not self._is_closed:
                self._is_closed = True
                asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        try:
            await self.link.close()
        except Exception:
            log.exception("the link could not be closed in order")
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            self._loop.stop()
