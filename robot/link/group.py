"""The boards of one robot: plans split among them, the quality of their lines, a thread for them.

A robot with one board has a group of one link.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
import operator
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from robot.link.actuators import ActuatorSetup
from robot.link.clock import certain_drifts
from robot.link.common_start import CommonStart
from robot.link.drivers import DriverState
from robot.link.link import STOP_PATIENCE_S, Execution, Link, Progress
from robot.link.plans import Capabilities, board_at, paces, split, stages, stretch_schedule
from robot.link.session import Clock, SessionStatistics
from robot.motion.schedule import Schedule
from robot.records.run_record import LinkRecord
from robot.text.faults import FAULTS, Fault, LinkError, RobotError, Stopped
from robot.text.messages import Note

log = logging.getLogger("cubistd")

T = TypeVar("T")


class LinkGroup:
    """The links to all boards of a robot, by the boards' names. Often there is only one.

    Faults are those of the links. If there are several boards, a fault names its board unless it
    names an actuator.
    """

    def __init__(self, links: Mapping[str, Link], clock: Clock = time.monotonic) -> None:
        self.links = dict(links)
        self._clock = clock
        self._stopping = False
        self._board_of = {
            setup.name: name for name, link in links.items() for setup in link.actuators
        }

    async def open(self) -> dict[str, Capabilities]:
        """Connect to all boards and greet them. Return their capabilities by name."""
        return await self._order_all(Link.open)

    async def close(self) -> None:
        """Disconnect; each board makes its part of the robot safe when it misses the heartbeat."""
        await self._order_all(Link.close)

    async def configure(self, anew: bool = False) -> None:
        """See :meth:`Link.configure`, for each board."""
        await self._order_all(lambda link: link.configure(anew))

    def adopt(self, actuators: Sequence[ActuatorSetup]) -> None:
        """See :meth:`Link.adopt`; each board gets its own actuators."""
        for name, link in self.links.items():
            link.adopt([setup for setup in actuators if self._board_of[setup.name] == name])

    async def home(self, names: Sequence[str] | None = None) -> None:
        """Home actuators (default: all) one after the other, and move each to its start."""
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
        """See :meth:`Link.active_sensors`, for all boards together."""
        found = await self._order_all(Link.active_sensors)
        return frozenset(name for active in found.values() for name in active)

    async def release(self) -> None:
        """See :meth:`Link.release`, for each board."""
        await self._order_all(Link.release)

    async def power_down(self, names: Collection[str]) -> None:
        """See :meth:`Link.power_down`, for each board."""
        await self._order_all(
            lambda link: link.power_down([one.name for one in link.actuators if one.name in names])
        )

    @property
    def statistics(self) -> SessionStatistics:
        """Statistics of all links, added up."""
        return functools.reduce(operator.add, (link.statistics for link in self.links.values()))

    @property
    def failure(self) -> RobotError | None:
        """The fault that broke a link, if any."""
        sessions = [link.session for link in self.links.values() if link.session is not None]
        return next((one.failure for one in sessions if one.failure is not None), None)

    @property
    def drivers(self) -> tuple[DriverState, ...]:
        """Stepper drivers of all boards as they were after the last motion."""
        return tuple(state for link in self.links.values() for state in link.drivers)

    def rate_share(self, schedules: Sequence[Schedule]) -> float:
        """Return the minimum of :meth:`Link.rate_share` over all boards."""
        parts = [split(one, self._board_of) for one in schedules]
        return min(
            link.rate_share([part[name] for part in parts if name in part])
            for name, link in self.links.items()
        )

    async def run(self, schedule: Schedule, on_progress: Progress | None = None) -> Execution:
        """Play a schedule on all boards that it needs. They start within a millisecond.

        If a board would have to wait longer than a schedule allows, everything rests for a moment.
        ``on_progress`` receives the progress of the slowest board. A fault of one board stops all.
        Raise like :meth:`Link.run`.
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
                # A stop is the consequence of a fault, not the cause.
                cause = min(causes, key=lambda one: isinstance(one, Stopped))
                start.give_up()
                await self._stop_for(cause)
                # Each run notes the positions in which the stop has left its actuators.
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
        """Let every board finish its turns in progress. A run under way raises ``Stopped``."""
        self._stopping = True
        await self._order_all(Link.stop)

    async def emergency_stop(self) -> None:
        """Stop all motion of every board now, even if one of them does not answer."""
        await self._order_all(Link.emergency_stop)

    def _raise_if_stopping(self, when: str) -> None:
        if self._stopping:
            raise Stopped(when)

    async def _stop_for(self, cause: BaseException) -> None:
        """Stop all boards after a fault of one. Ignore further faults."""
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


BAD_SHARE = 0.002
"""Fraction of damaged messages above which a cable counts as bad. A good one damages none."""

FEWEST = 3
"""Minimum number of errors to report: single accidents happen."""

RECENT_MESSAGES = 2000
"""Minimum number of messages, sent and received, to judge a line by: two or three solves."""


class LinkStatistics:
    """Traffic counters that survive reconnecting."""

    def __init__(self) -> None:
        self._past = LinkRecord()
        self._link: LinkGroup | None = None
        self._base: SessionStatistics | None = None

    def note_opened(self, link: LinkGroup) -> None:
        """Count this link from now on, without what the board counted before."""
        self._link, self._base = link, _statistics(link)

    def note_closing(self) -> None:
        """Keep the figures of the link, which is about to be closed."""
        self._past = self.total
        self._link = self._base = None

    def note_events(self, events: Sequence[str]) -> None:
        """Count unusual events of a schedule."""
        fields = {"held": "held", "underrun": "underruns", "late": "late"}
        counts = {fields[event]: getattr(self._past, fields[event]) + 1 for event in events}
        self._past = self._past.model_copy(update=counts)

    @property
    def total(self) -> LinkRecord:
        """Traffic since the start."""
        now = _statistics(self._link) if self._link is not None else None
        if now is None or self._base is None:
            return self._past
        base = self._base
        return self._past + LinkRecord(
            sent=_more(now.sent, base.sent),
            resent=_more(now.resent, base.resent),
            received=_more(now.received, base.received),
            damaged=_more(now.damaged_here, base.damaged_here)
            + _more(now.damaged_there, base.damaged_there),
            lost_bytes=_more(now.bytes_lost_there, base.bytes_lost_there),
        )


class RecentTraffic:
    """The recent traffic only, so that a repaired line stops being reported."""

    def __init__(self) -> None:
        self._marks = [LinkRecord()]

    def of(self, total: LinkRecord) -> LinkRecord:
        """Return the traffic of the last one to two :data:`RECENT_MESSAGES` until ``total``."""
        since = total - self._marks[-1]
        if since.sent + since.received >= RECENT_MESSAGES:
            self._marks = [self._marks[-1], total]
        return total - self._marks[0]


def complaints(link: LinkRecord) -> Iterator[Note]:
    """Yield notes for people about what is wrong with the line."""
    total = max(1, link.sent + link.received)
    if link.damaged >= FEWEST and link.damaged >= BAD_SHARE * total:
        share = f"{link.damaged / total:.1%}"
        yield Note.of("line-damaged", damaged=link.damaged, total=total, share=share)
    if link.lost_bytes >= FEWEST:
        yield Note.of("bytes-lost", count=link.lost_bytes)
    for code, count in (("paused", link.held), ("underrun", link.underruns), ("late", link.late)):
        if count:
            yield Note.of(code if count > 1 else f"{code}-once", count=count)


def _statistics(link: LinkGroup) -> SessionStatistics | None:
    with suppress(RobotError):
        return link.statistics
    return None


def _more(now: int, before: int) -> int:
    """Return the growth of a counter that starts over when the board does."""
    return now - before if now >= before else now


class Closable(Protocol):
    """Something to close at the end: :class:`robot.link.Link`, or a group of them."""

    async def close(self) -> None:
        """Disconnect; idempotent."""


L = TypeVar("L", bound=Closable)


class LinkThread(Generic[L]):
    """A link, or a group of links, on a loop of its own, so that no work delays the heartbeat.

    Progress callbacks are called on the loop's thread.
    """

    def __init__(self, make: Callable[[], L]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="link", daemon=True)
        self._thread.start()
        self._ordering = threading.Lock()
        self._is_closed = False
        self.link = make()

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine of :attr:`link`. Return its result, or raise its error.

        This blocks the calling thread. Raise ``LINK_LOST`` once another thread has closed this.
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
        """Disconnect, end the thread, and end the waits of all other threads. Idempotent."""
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
            log.exception("the link could not be closed cleanly")
        finally:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            self._loop.stop()
