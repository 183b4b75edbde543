"""Following the daemon over its control socket, as any other program would."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from robot.api.models import Event, RobotStatus
from robot.records.documents import Document, parse_document
from robot.records.runs import RunRecord
from robot.simulate.processes import SimulationError

POLL_S = 0.05
START_LIMIT_S = 60.0


class DaemonFollower:
    """A client of one daemon's control socket; use as an async context."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.UnixConnector(path=str(self._path))
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self._session = aiohttp.ClientSession("http://cubist", connector=connector, timeout=timeout)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def ready(self) -> RobotStatus:
        """Wait until the daemon answers and is done starting; raises :class:`SimulationError`."""
        deadline = asyncio.get_running_loop().time() + START_LIMIT_S
        while asyncio.get_running_loop().time() < deadline:
            if self._path.exists():
                try:
                    return await self.status()
                except aiohttp.ClientError:
                    pass
            await asyncio.sleep(POLL_S)
        raise SimulationError(f"cubistd does not answer at {self._path} after {START_LIMIT_S:g} s")

    async def status(self) -> RobotStatus:
        """Return the robot's status."""
        return await self._get("/status", RobotStatus)

    async def run(self, number: str) -> RunRecord:
        """Return the record of a run."""
        return await self._get(f"/runs/{number}", RunRecord)

    async def picture(self) -> bytes | None:
        """Return the last picture of the job, as JPEG; None if there is none yet."""
        async with self._client.get("/picture") as response:
            return await response.read() if response.status == HTTPStatus.OK else None

    @contextlib.asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[Event]]:
        """Yield events from now on, until the daemon ends or closes the connection."""
        async with self._client.get("/events") as response:
            response.raise_for_status()
            yield _events_in(response.content)

    @property
    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("a DaemonFollower is used inside `async with`")
        return self._session

    async def _get(self, path: str, model: type[Document]) -> Document:
        async with self._client.get(path) as response:
            response.raise_for_status()
            return parse_document(await response.read(), model, f"cubistd's answer to {path}")


async def _events_in(lines: aiohttp.StreamReader) -> AsyncIterator[Event]:
    async for line in lines:
        if line.strip():
            yield parse_document(line, Event, "an event of cubistd")
