"""A server of streams that ends in order, with the connections that it still has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(path: Path, talk: Talk, limit: int = 2**16) -> AsyncIterator[None]:
    """Let ``talk`` answer each connection to a socket at ``path`` while the context lasts.

    Lines have at most ``limit`` bytes. Connections that are left at the end are closed.
    """
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        # asyncio's streams take a cancelled connection for an error, and print where it was.
        with contextlib.suppress(asyncio.CancelledError):
            await talk(reader, writer)
        connections.discard(task)
        writer.close()

    server = await asyncio.start_unix_server(serve, str(path), limit=limit)
    try:
        yield
    finally:
        server.close()
        for task in tuple(connections):
            task.cancel()
        if connections:
            await asyncio.wait(connections)
