"""One time for all boards of a simulated robot.

A board that runs by itself keeps the computer's time, and loses what it did not get of the
processor. Two such boards would part as no real ones do. So several boards run as they are granted:
all of them the same few ticks, and no more until each has made these. The robot sees every pin
within such a slice of when it changed against those of other boards, and exactly against its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from robot.settings.board_table import TICKS_PER_S

SLICE_TICKS = TICKS_PER_S // 1000
"""What is granted at once: a millisecond."""
CATCH_UP_S = 0.1
"""What is made up for when the computer was busy; what goes beyond is as if it had not been."""


class Granted(Protocol):
    """A board that runs as granted: :class:`robot.twin.server.PinPort`."""

    async def grant(self, ticks: int) -> None:
        """Let so many ticks pass, and return when they have."""


async def keep_time(boards: Sequence[Granted], speed: float) -> None:
    """Let time pass for the boards, ``speed`` times as fast as real time, until cancelled."""
    loop = asyncio.get_running_loop()
    slice_s = SLICE_TICKS / TICKS_PER_S / speed
    next_at = loop.time()
    while True:
        next_at = max(next_at + slice_s, loop.time() - CATCH_UP_S)
        await asyncio.gather(*(board.grant(SLICE_TICKS) for board in boards))
        # Also when late: everybody else here wants to run, too.
        await asyncio.sleep(max(0.0, next_at - loop.time()))
