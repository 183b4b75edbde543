"""A link on a thread of its own, for callers that may block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")


class Closable(Protocol):
    """What a thread ends with: :class:`robot.link.Link`, or a group of them."""

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
        self.link = make()

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
