"""An event loop whose clock is simulated: waiting costs no time, it lets the simulation run."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable
from typing import Any

from robot.settings.board_table import TICKS_PER_S

BUSY_STEP_TICKS = 1_000
"""Time granted at once while something has just been said and an answer may come."""
QUIET_STEP_TICKS = 10_000

Pass = Callable[[int], bool]
"""Lets so many ticks pass; whether something came of it that may be waited for."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs what is due; when nothing is, time passes, and with it whatever was attached.

    Not for coroutines that wait for other threads: to them all of eternity may pass meanwhile.
    """

    def __init__(self) -> None:
        self._selector_of_time = _Selector(self)
        super().__init__(self._selector_of_time)
        self._ticks = 0
        self._worlds: list[Pass] = []
        self._stirred = False
        self.turn = threading.RLock()
        """Held by whoever lets the time pass, where several threads may."""

    def time(self) -> float:
        """Simulated seconds."""
        return self._ticks / TICKS_PER_S

    def attach(self, world: Pass) -> None:
        """Let a world's time pass with this loop's."""
        self._worlds.append(world)

    def detach(self, world: Pass) -> None:
        """The world ends, or stands still."""
        self._worlds.remove(world)

    def stir(self) -> None:
        """Something was said to a world: it may answer soon."""
        self._stirred = True

    def pass_time(self, seconds: float) -> None:
        """Let time pass for the worlds while nothing here runs: this process hangs."""
        left = round(seconds * TICKS_PER_S)
        with self.turn:
            while left > 0:
                step = min(left, QUIET_STEP_TICKS)
                self._pass(step)
                left -= step

    def _wait(self, seconds: float) -> None:
        """A step of at most so long."""
        step = BUSY_STEP_TICKS if self._stirred else QUIET_STEP_TICKS
        ticks = max(1, min(step, -(-round(seconds * TICKS_PER_S * 1000) // 1000)))
        self._stirred = self._pass(ticks)

    def _pass(self, ticks: int) -> bool:
        self._ticks += ticks
        heard = [world(ticks) for world in list(self._worlds)]
        return any(heard)


class _Selector(selectors.DefaultSelector):
    """Files that are ready are served at once; instead of waiting for them, time passes."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        """See :meth:`selectors.BaseSelector.select`."""
        if timeout is None:
            return super().select(None)
        ready: list[Any] = super().select(0)
        if not ready and timeout > 0:
            self._loop._wait(timeout)
        return ready
