"""A client of the control socket for programs with an event loop: the page and simulations."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import aiohttp

from robot.api.client import Absence, DaemonError, RequestError
from robot.api.endpoints import AGE_HEADER, STATUS, Endpoint
from robot.records.documents import Document, check_document
from solver.files import BadFile, JsonMapping, JsonObject, parse_object

ANSWER_LIMIT_S = 20.0
MOST_BYTES = 8 * 1024 * 1024
"""Most bytes of an answer. The largest, the picture of a reading, has about 2 MB."""

READY_PERIOD_S = 5.0
"""Period of requests on the urgent connection. The daemon closes one idle for three times that."""

_MEDIA = frozenset({"application/json", "image/jpeg", "image/png", "image/webp", "text/csv"})


@dataclass(frozen=True)
class Reply:
    """An unparsed answer: HTTP's status, media type, bytes, ``ETag``, and a picture's age."""

    status: int
    media: str
    body: bytes
    tag: str = ""
    age_s: float = 0.0

    @property
    def document(self) -> JsonObject:
        """The body as a JSON object; raises :class:`DaemonError` for anything else."""
        return _object(self.body)


class AsyncControlClient:
    """A client of the daemon at the socket ``path``; use as an async context.

    Every method raises :class:`DaemonError`. ``answer_limit_s`` and ``most_bytes`` limit an answer.
    """

    answer_limit_s: float | None = ANSWER_LIMIT_S
    most_bytes = MOST_BYTES

    def __init__(self, path: Path) -> None:
        self.path = path
        self._usual: aiohttp.ClientSession | None = None
        self._urgent: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._usual, self._urgent = self._make_session(), self._make_session()
        return self

    def _make_session(self) -> aiohttp.ClientSession:
        # No limit of connections, so that no request waits for another.
        connector = aiohttp.UnixConnector(path=str(self.path), limit=0, keepalive_timeout=60.0)
        return aiohttp.ClientSession(
            "http://cubist",
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=self.answer_limit_s, sock_connect=ANSWER_LIMIT_S),
        )

    async def __aexit__(self, *_: object) -> None:
        for session in (self._usual, self._urgent):
            if session is not None:
                await session.close()

    def _session(self, *, urgent: bool = False) -> aiohttp.ClientSession:
        session = self._urgent if urgent else self._usual
        if session is None:
            raise RuntimeError("an AsyncControlClient is used inside `async with`")
        return session

    async def request(
        self,
        endpoint: Endpoint[object],
        parts: Mapping[str, str] | None = None,
        *,
        body: bytes | None = None,
        query: Mapping[str, object] | None = None,
        tag: str = "",
        urgent: bool = False,
        limit_s: float | None = None,
    ) -> Reply:
        """Make one request and return the answer, whatever its status.

        ``urgent`` requests have separate connections, of which :meth:`keep_ready` keeps one open.
        ``limit_s``: seconds for the answer (default: ``answer_limit_s``).
        """
        more: dict[str, Any] = {}
        if limit_s is not None:
            more["timeout"] = aiohttp.ClientTimeout(total=limit_s, sock_connect=ANSWER_LIMIT_S)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"If-None-Match": tag} if tag else {}
        asking = self._session(urgent=urgent).request(
            endpoint.method, endpoint.target(parts, query), data=body, headers=headers, **more
        )
        with self._explaining_errors():
            async with asking as response:
                found = await response.content.read(self.most_bytes + 1)
                while not response.content.at_eof() and len(found) <= self.most_bytes:
                    found += await response.content.read(self.most_bytes)
                media = response.content_type
                if len(found) > self.most_bytes or (found and media not in _MEDIA):
                    raise DaemonError.strange(self.path, "this answer cannot be used")
                tag, age = (response.headers.get(name, "") for name in ("ETag", AGE_HEADER))
                return Reply(response.status, media, found, tag, _seconds(age))

    async def ask(
        self,
        endpoint: Endpoint[object],
        model: type[Document],
        parts: Mapping[str, str] | None = None,
    ) -> Document:
        """Make a request and return its answer as a ``model``; raises :class:`RequestError`."""
        reply = await self.request(endpoint, parts)
        if reply.status != HTTPStatus.OK:
            raise RequestError.of(reply.status, reply.document)
        return self._check(reply.document, model)

    async def keep_ready(self) -> None:
        """Keep a connection open for urgent requests, until cancelled.

        A stop then needs no new connection, for which there may be no room.
        """
        while True:
            with contextlib.suppress(DaemonError):
                await self.request(STATUS, urgent=True)
            await asyncio.sleep(READY_PERIOD_S)

    @contextlib.asynccontextmanager
    async def lines(self, endpoint: Endpoint[object]) -> AsyncIterator[AsyncIterator[JsonObject]]:
        """Yield the documents of an answer that continues while the context lasts.

        Raises :class:`RequestError` if the daemon refuses.
        """
        endless = aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_LIMIT_S)
        with self._explaining_errors():
            response = await self._session().request(
                endpoint.method, endpoint.path, timeout=endless
            )
        async with response:
            if response.status != HTTPStatus.OK:
                with self._explaining_errors():
                    raise _refusal(response.status, await response.content.read(self.most_bytes))
            yield self._documents(response.content)

    async def _documents(self, stream: aiohttp.StreamReader) -> AsyncIterator[JsonObject]:
        """Yield each line of the stream. Lines may be long: a motion lists all its operations."""
        buffer = bytearray()
        with self._explaining_errors():
            async for data in stream.iter_any():
                *lines, rest = (buffer + data).split(b"\n")
                buffer = bytearray(rest)
                for line in lines:
                    if line.strip():
                        yield _object(bytes(line))
                if len(buffer) > self.most_bytes:
                    raise DaemonError("a line is too long", Absence.STRANGE_ANSWER)

    @contextlib.contextmanager
    def _explaining_errors(self) -> Iterator[None]:
        """Turn errors of a connection into :class:`DaemonError`."""
        try:
            yield
        except DaemonError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise DaemonError.of(self.path, error) from error

    @contextlib.asynccontextmanager
    async def follow(
        self, endpoint: Endpoint[object], model: type[Document]
    ) -> AsyncIterator[AsyncIterator[Document]]:
        """Yield the documents of :meth:`lines` as models."""
        async with self.lines(endpoint) as lines:
            yield (self._check(line, model) async for line in lines)

    def _check(self, document: JsonMapping, model: type[Document]) -> Document:
        try:
            return check_document(document, model, "cubistd's answer")
        except BadFile as error:
            raise DaemonError.strange(self.path, str(error)) from error


def _seconds(header: str) -> float:
    """Return a header's seconds; 0 if it has none."""
    try:
        found = float(header)
    except ValueError:
        return 0.0
    return found if math.isfinite(found) and found > 0.0 else 0.0


def _refusal(status: int, body: bytes) -> RequestError:
    try:
        answer = _object(body)
    except DaemonError:
        answer = {"reason": f"the daemon answered {status}"}
    return RequestError.of(status, answer)


def _object(data: bytes) -> JsonObject:
    try:
        return parse_object(data, "cubistd")
    except BadFile as error:
        raise DaemonError(str(error), Absence.STRANGE_ANSWER) from error
