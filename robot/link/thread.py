"""A link on a thread of its own, for callers that may block."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Generic, Protocol, TypeVar

from robot.text.faults import Fault, LinkFault

log = logging.getLogger("cubistd")

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
                raise LinkFault(Fault.LINK_LOST, "disconnected")
            running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except concurrent.futures.CancelledError:
            raise LinkFault(Fault.LINK_LOST, "disconnected") from None

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
