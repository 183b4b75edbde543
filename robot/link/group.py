"""Several boards of one robot: schedules are split among them and start together."""

from __future__ import annotations

import asyncio
import functools
import operator
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from robot.link.actuators import ActuatorSetup
from robot.link.board_clock import certain_drifts
from robot.link.common_start import CommonStart
from robot.link.execution import Execution, Progress
from robot.link.limits import Capabilities
from robot.link.link import STOP_PATIENCE_S, Link
from robot.link.parts import board_at, paces, split, stages, stretched
from robot.link.session import Clock, SessionStatistics
from robot.motion.schedule import Schedule
from robot.text.faults import FAULTS, LinkFault, RobotFault, Stopped

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
        return await self._at_all(Link.open)

    async def close(self) -> None:
        """Disconnect; each board makes its part of the robot safe when it misses the heartbeat."""
        await self._at_all(Link.close)

    async def configure(self, anew: bool = False) -> None:
        """See :meth:`Link.configure`, for each board."""
        await self._at_all(lambda link: link.configure(anew))

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
        found = await self._at_all(Link.active_sensors)
        return frozenset(name for active in found.values() for name in active)

    async def release(self) -> None:
        """Motors without power, servos without pulses; nothing is homed afterwards."""
        await self._at_all(Link.release)

    @property
    def statistics(self) -> SessionStatistics:
        """How well the links work, taken together."""
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
        parts = {name: stretched(part, pace[name]) for name, part in parts.items()}
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
        await self._at_all(Link.stop)

    async def emergency_stop(self) -> None:
        """Stop all motion of every board now, also when one of them does not answer."""
        await self._at_all(Link.emergency_stop)

    def _raise_if_stopping(self, when: str) -> None:
        if self._stopping:
            raise Stopped(when)

    async def _stop_for(self, cause: BaseException) -> None:
        """What broke one board has been told; the others have nothing to add to it."""
        at_once = isinstance(cause, RobotFault) and FAULTS[cause.code].stops_at_once
        with suppress(RobotFault, Stopped):
            await (self.emergency_stop() if at_once else self.stop())

    async def _at_all(self, order: Callable[[Link], Awaitable[T]]) -> dict[str, T]:
        """Give all links an order at the same time; the first fault is raised in the end."""
        names = list(self.links)
        ends = await asyncio.gather(
            *(self._ordered(name, order) for name in names), return_exceptions=True
        )
        done: dict[str, T] = {}
        for name, end in zip(names, ends, strict=True):
            if isinstance(end, BaseException):
                raise end
            done[name] = end
        return done

    async def _ordered(self, name: str, order: Callable[[Link], Awaitable[T]]) -> T:
        with self._naming(name):
            return await order(self.links[name])

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """What goes wrong inside is told with the board where that is not clear otherwise."""
        try:
            yield
        except RobotFault as fault:
            if len(self.links) == 1:
                raise
            raise of_board(fault, name) from fault


def _part_of(on_progress: Progress | None, behind: float, share: float) -> Progress | None:
    """Progress of a part of a plan as that of the whole."""
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


def of_board(fault: RobotFault, name: str) -> RobotFault:
    """The same, with the name of the board where nothing else tells which one it is."""
    if isinstance(fault, Stopped):
        return fault
    if isinstance(fault, LinkFault):
        return LinkFault(fault.fault, f"board {name}: {fault.detail}".removesuffix(": "))
    return fault if fault.detail else RobotFault(fault.fault, f"board {name}")
