"""Telling whoever listens what happens, without ever waiting for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from robot.daemon.models import Event

QUEUE_LENGTH = 256
"""Events a listener may be behind before it is cut off."""


class EventBoard:
    """Publishes events to any number of listeners; used from the event loop's thread only."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[Event | None]] = set()

    def publish(self, event: Event) -> None:
        """Hand an event to every listener; one that does not keep up is cut off."""
        for queue in tuple(self._queues):
            if queue.qsize() >= QUEUE_LENGTH:
                self._queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    @contextlib.contextmanager
    def listening(self) -> Iterator[AsyncIterator[Event]]:
        """Events from the moment the context is entered, whenever they are asked for.

        They end with :meth:`close`, or when the listener falls behind.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield _until_none(queue)
        finally:
            self._queues.discard(queue)

    def close(self) -> None:
        """End all streams."""
        for queue in tuple(self._queues):
            queue.put_nowait(None)
        self._queues.clear()


async def _until_none(queue: asyncio.Queue[Event | None]) -> AsyncIterator[Event]:
    while (event := await queue.get()) is not None:
        yield event
