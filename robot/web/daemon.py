"""The daemon as the page sees it: a client of the socket that the daemon has for the page."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp

from robot.web.reasons import Reason
from solver.files import BadFile, JsonObject, parse_object

ANSWER_LIMIT_S = 20.0
MOST_BYTES = 8 * 1024 * 1024
"""Of an answer: a picture of how a cube was read is the largest, about 2 MB."""

READY_PERIOD_S = 5.0
"""The daemon closes a connection that is idle for three times as long."""

_MEDIA = frozenset({"application/json", "image/jpeg", "image/png"})


class DaemonGone(Exception):
    """Nobody answers at the control socket; the text says why, for people."""


@dataclass(frozen=True)
class Answer:
    """What the daemon said: HTTP's status, media type, and the bytes."""

    status: int
    media: str
    body: bytes
    tag: str = ""

    @property
    def document(self) -> JsonObject:
        """The body as a JSON object; raises :class:`DaemonGone` where it is none."""
        return _object(self.body)


class Daemon:
    """Asks the daemon at the socket ``path``; use as an async context.

    Every method raises :class:`DaemonGone`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session: aiohttp.ClientSession | None = None
        self._urgent: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = self._make_session()
        self._urgent = self._make_session()
        return self

    def _make_session(self) -> aiohttp.ClientSession:
        # No limit of connections: nothing waits behind anything.
        connector = aiohttp.UnixConnector(path=str(self._path), limit=0, keepalive_timeout=60.0)
        return aiohttp.ClientSession(
            "http://cubist",
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=ANSWER_LIMIT_S),
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for session in (self._session, self._urgent):
            if session is not None:
                await session.close()

    async def call(
        self,
        method: str,
        route: str,
        parts: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        query: Mapping[str, str] | None = None,
        tag: str = "",
        urgent: bool = False,
    ) -> Answer:
        """One request: ``parts`` fill the braces of ``route``.

        An ``urgent`` one has connections of its own, of which :meth:`keep_ready` holds one open.
        """
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"If-None-Match": tag} if tag else {}
        path = route.format_map(dict(parts or {}))
        try:
            session = self._urgent if urgent and self._urgent else self._opened
            async with session.request(
                method, path, data=body, params=query, headers=headers
            ) as response:
                found = await response.content.read(MOST_BYTES + 1)
                while not response.content.at_eof() and len(found) <= MOST_BYTES:
                    found += await response.content.read(MOST_BYTES)
                media = response.content_type
                if len(found) > MOST_BYTES or (found and media not in _MEDIA):
                    raise DaemonGone(Reason.STRANGE_ANSWER)
                return Answer(response.status, media, found, response.headers.get("ETag", ""))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DaemonGone(_why(error)) from error

    async def keep_ready(self) -> None:
        """Hold the line for urgent requests open: a stop is to need nothing that may be missing.

        It lasts until cancelled, and goes on whenever the daemon is there again.
        """
        while True:
            with contextlib.suppress(DaemonGone):
                await self.call("GET", "/status", urgent=True)
            await asyncio.sleep(READY_PERIOD_S)

    @contextlib.asynccontextmanager
    async def lines(self, method: str, route: str) -> AsyncIterator[AsyncIterator[JsonObject]]:
        """The documents of an answer that goes on for as long as the context lasts."""
        endless = aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_LIMIT_S)
        try:
            async with self._opened.request(method, route, timeout=endless) as response:
                if response.status != 200:
                    raise DaemonGone(f"the daemon answers {response.status}")
                yield _documents(response.content)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise DaemonGone(_why(error)) from error

    @property
    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("a Daemon is used inside `async with`")
        return self._session


_WHY: Mapping[int, Reason] = {
    errno.ENOENT: Reason.NOT_RUNNING,
    errno.ECONNREFUSED: Reason.NOT_RUNNING,
    errno.EACCES: Reason.NOT_PERMITTED,
    errno.EPERM: Reason.NOT_PERMITTED,
    **dict.fromkeys((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM), Reason.NO_ROOM),
}


def _why(error: Exception) -> Reason:
    """Say why the daemon was not reached, as the system says it."""
    number = error.errno if isinstance(error, OSError) else None
    return _WHY.get(number or 0, Reason.NO_ANSWER)


async def _documents(stream: aiohttp.StreamReader) -> AsyncIterator[JsonObject]:
    """Each line of the stream; one of a motion with all its operations may be long."""
    buffer = bytearray()
    async for data in stream.iter_any():
        buffer += data
        *lines, rest = buffer.split(b"\n")
        buffer = bytearray(rest)
        for line in lines:
            if line.strip():
                yield _object(bytes(line))
        if len(buffer) > MOST_BYTES:
            raise DaemonGone(Reason.STRANGE_ANSWER)


def _object(data: bytes) -> JsonObject:
    try:
        return parse_object(data, "cubistd")
    except BadFile as error:
        raise DaemonGone(Reason.STRANGE_ANSWER) from error
