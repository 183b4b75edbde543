"""A link on a thread of its own, for callers that may block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import TypeVar

from robot.link.actuators import ActuatorSetup
from robot.link.link import Link
from robot.link.position_ledger import PositionLedger
from robot.link.protocol import SILENCE_HOLD_MS
from robot.link.transport import Transport

T = TypeVar("T")


class LinkThread:
    """A :class:`Link` on a loop of its own, so that nobody's work delays the heartbeat.

    ``transport`` is called on that loop. Progress callbacks come on the loop's thread.
    """

    def __init__(
        self,
        transport: Callable[[], Transport],
        actuators: Sequence[ActuatorSetup],
        silence_hold_ms: int = SILENCE_HOLD_MS,
        ledger: PositionLedger | None = None,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="link", daemon=True)
        self._thread.start()
        self.link = Link(transport(), actuators, silence_hold_ms=silence_hold_ms, ledger=ledger)

    def wait(self, work: Coroutine[object, object, T]) -> T:
        """What a coroutine of :attr:`link` returns or raises, for a thread that may block."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Disconnect and end the thread; idempotent."""
        if not self._thread.is_alive():
            return
        self.wait(self.link.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
