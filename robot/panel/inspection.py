"""The time to look at the cube, between lifting the hands off the pads and the start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

WARNINGS = ((7.0, "warning"), (3.0, "last warning"))
"""Seconds before the end, and what is sounded then: at 8 and 12 of 15 seconds, as judges call."""


class Inspection:
    """A countdown that ends in ``start``, unless it is cancelled."""

    def __init__(
        self,
        seconds: float,
        sound: Callable[[str], None],
        start: Callable[[], Awaitable[None]],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._ends_at = 0.0
        self._sleep = sleep
        self._seconds = seconds
        self._sound = sound
        self._start = start
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Return whether the countdown is under way."""
        return self._task is not None

    @property
    def left_s(self) -> float | None:
        """Seconds until the start; None while there is no countdown."""
        return max(0.0, self._ends_at - self._clock()) if self.running else None

    def begin(self) -> None:
        """Start the countdown, if none is under way."""
        if self._task is None:
            self._ends_at = self._clock() + self._seconds
            self._task = asyncio.create_task(self._count(), name="inspection")

    def cancel(self) -> bool:
        """End the countdown without a start; whether there was one."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        return task is not None

    async def _count(self) -> None:
        left = self._seconds
        if left:
            self._sound("inspection")
        for before_end, name in WARNINGS:
            if left > before_end:
                await self._sleep(left - before_end)
                left = before_end
                self._sound(name)
        await self._sleep(left)
        # From here on it is a start like any other, which nothing here cancels.
        self._task = None
        await self._start()
