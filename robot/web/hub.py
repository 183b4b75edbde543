"""The open tabs of the page, each with a WebSocket for events, pictures and stop, one with a guide.

A browser allows six connections to a host for all its tabs together. Since each tab has only its
WebSocket open, even the twelfth tab sends a stop at once.

    tab  -> {"do": "stop" | "estop" | "frame"}
    tab <-  {"event": ...}, {"status": ...}, {"live": ...}, {"gone": reason}, {"stopped": ...},
            or bytes: the picture's number and its age in ms (4 bytes each, big-endian), and a JPEG

The guided calibration of a tab is a separate process, :mod:`robot.web.guide_process`. The two
exchange JSON, one document per message or line. It is passed on as it is, after a check that a
tab's message is an object with ``do``. Maintenance ends with the process, whatever ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Self

from aiohttp import WSMsgType, web

from robot.api.async_client import AsyncControlClient
from robot.api.client import Absence, DaemonError, RequestError
from robot.api.endpoints import EVENTS, LIVE, PICTURE, STATUS, STOP
from robot.text.messages import PageReason
from solver.files import BadFile, JsonObject, parse_object

log = logging.getLogger("cubist-web")

MOST_TABS = 32
QUEUE_LENGTH = 256
LONGEST_MESSAGE = 1024
MOST_MESSAGES = 100
"""Maximum messages of one tab per second."""

RETRY_S = 0.5
FRAME_PERIOD_S = 0.25
VIDEO_PERIOD_S = 0.1
"""Seconds between two pictures while the robot turns."""
NO_FRAME_S = 1.0
LONGEST_AGE_MS = 2**32 - 1
LONGEST_LINE = 8 * 1024 * 1024
"""Maximum bytes of a line of the guide: a large camera's picture in base64."""

STOPS: Mapping[str, bytes] = {"stop": b"{}", "estop": b'{"emergency": true}'}


class Tab:
    """An open tab of a session."""

    def __init__(
        self,
        session: str,
        socket: web.WebSocketResponse,
        transport: asyncio.WriteTransport | None,
        *,
        may_stop: bool = True,
    ) -> None:
        self.session = session
        self.may_stop = may_stop
        self.socket = socket
        self._transport = transport
        self.wants_frame = False
        self.seen = 0
        self._queue: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    def put(self, message: str | bytes) -> None:
        """Queue a message; a tab that does not keep up is disconnected."""
        if self._queue.qsize() < QUEUE_LENGTH:
            self._queue.put_nowait(message)
        elif self._transport is not None:
            self._transport.abort()

    def end(self) -> None:
        """Close the tab once everything has been sent."""
        self._queue.put_nowait(None)

    async def write(self) -> None:
        """Send messages until :meth:`end`, or until the tab has gone."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            while (message := await self._queue.get()) is not None:
                if isinstance(message, str):
                    await self.socket.send_str(message)
                else:
                    await self.socket.send_bytes(message)
            await self.socket.close()


class Hub:
    """An async context that follows the daemon while a tab is open and informs all tabs.

    ``guides``: the guided calibration, which also ends with its session.
    """

    def __init__(self, daemon: AsyncControlClient, guides: Guides) -> None:
        self._daemon = daemon
        self.guides = guides
        self._tabs: set[Tab] = set()
        self._watching: list[asyncio.Task[None]] = []
        self._event_count = 0
        self._gone: str | None = PageReason.NOT_YET
        self._frame: tuple[int, bytes] = (0, b"")
        self._framed_at = 0.0
        """Time at which the frame was taken, in seconds of the event loop's clock."""
        self._is_turning = False
        self._turns_begun = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [*self._watching, *self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def is_full(self, *, may_stop: bool) -> bool:
        """Return whether no other tab of this kind may open; viewers leave room for owners."""
        return sum(tab.may_stop is may_stop for tab in self._tabs) >= MOST_TABS

    def end_session(self, session: str) -> None:
        """Close the tabs and the guide of one session."""
        for tab in tuple(self._tabs):
            if tab.session == session:
                tab.end()
        self.guides.end_session(session)

    def end_all(self) -> None:
        """Close every tab and the guide, because the process ends."""
        for tab in tuple(self._tabs):
            tab.end()
        self.guides.end()

    async def serve(
        self,
        session: str,
        socket: web.WebSocketResponse,
        transport: asyncio.WriteTransport | None,
        *,
        may_stop: bool = True,
    ) -> None:
        """Serve a tab until it is closed; ``transport`` carries its ``socket``."""
        tab = Tab(session, socket, transport, may_stop=may_stop)
        self._tabs.add(tab)
        self._begin()
        writing = asyncio.create_task(tab.write())
        try:
            if self._gone is None:
                self._later(self._greet(tab))
            await self._obey(tab)
        finally:
            self._tabs.discard(tab)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            if not self._tabs:
                self._pause()

    async def _obey(self, tab: Tab) -> None:
        """Carry out the requests of a tab until it closes."""
        async for message in read_messages(tab.socket):
            asked = str(message["do"])
            if asked in STOPS and not tab.may_stop:
                tab.put(json.dumps({"stopped": asked, "reason": PageReason.VIEWER}))
            elif asked in STOPS:
                self._later(self._stop(tab, asked))
            elif asked == "frame":
                tab.wants_frame = True
            else:
                return

    async def _stop(self, tab: Tab, kind: str) -> None:
        try:
            answer = await self._daemon.request(STOP, body=STOPS[kind], urgent=True)
            result: JsonObject = {"stopped": kind} | answer.document
        except DaemonError as error:
            result = {"stopped": kind, "reason": reason_of(error)}
        tab.put(json.dumps(result))

    def _later(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _begin(self) -> None:
        if not self._watching:
            work = (self._follow(), self._send_pictures(), self._daemon.keep_ready())
            self._watching = [asyncio.create_task(each) for each in work]

    def _pause(self) -> None:
        """Stop asking for events and pictures, because nobody watches."""
        for task in self._watching:
            task.cancel()
        self._watching = []
        self._gone = PageReason.NOT_YET

    async def _follow(self) -> None:
        while True:
            try:
                async with self._daemon.lines(EVENTS) as events:
                    self._gone = None
                    self._forget_frame()
                    await self._send_state()
                    async for event in events:
                        self._event_count += 1
                        self._note_state(event.get("state"))
                        self._publish({"event": event})
                        if event.get("event") in {"state", "finished"}:
                            await self._send_status()
                raise DaemonError(PageReason.ENDED, Absence.ENDED)
            except (DaemonError, RequestError) as error:
                self._gone = reason_of(error)
                self._publish({"gone": self._gone})
                await asyncio.sleep(RETRY_S)

    async def _send_state(self, tab: Tab | None = None) -> None:
        """Send the current state to one tab, or all; ask again if an event came meanwhile."""
        for _ in range(3):
            count = self._event_count
            status = await self._daemon.request(STATUS)
            live = await self._daemon.request(LIVE)
            if count == self._event_count:
                break
        self._note_state(status.document.get("state"))
        document = {"status": status.document, "live": live.document}
        if tab is None:
            self._publish(document)
        else:
            tab.put(json.dumps(document))

    async def _greet(self, tab: Tab) -> None:
        with contextlib.suppress(DaemonError):  # the task that follows the events reports it
            await self._send_state(tab)

    async def _send_status(self) -> None:
        self._publish({"status": (await self._daemon.request(STATUS)).document})

    def _publish(self, document: JsonObject) -> None:
        text = json.dumps(document)
        for tab in tuple(self._tabs):
            tab.put(text)

    def _note_state(self, state: object) -> None:
        """Record the robot's state; when it begins to turn, the next picture is due at once."""
        was_turning, self._is_turning = self._is_turning, state == "turning"
        if self._is_turning and not was_turning:
            self._turns_begun.set()

    async def _send_pictures(self) -> None:
        """Get each picture once and send it to the tabs that want one."""
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            self._turns_begun.clear()
            period = VIDEO_PERIOD_S if self._is_turning else FRAME_PERIOD_S
            if any(tab.wants_frame for tab in self._tabs):
                try:
                    tag = f'"{self._frame[0]}"' if self._frame[0] else ""
                    answer = await self._daemon.request(PICTURE, tag=tag)
                    if answer.status == 200:
                        self._frame = (int(answer.tag.strip('"')), answer.body)
                        self._framed_at = loop.time() - answer.age_s
                    elif answer.status != 304:
                        period = NO_FRAME_S
                except (DaemonError, ValueError):
                    period = NO_FRAME_S
                self._send_frame()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._turns_begun.wait(), begun + period - loop.time())

    def _forget_frame(self) -> None:
        """Forget the last picture: another daemon numbers them from 1."""
        self._frame = (0, b"")
        for tab in self._tabs:
            tab.seen = 0

    def _send_frame(self) -> None:
        number, jpeg = self._frame
        age_ms = round(1000 * (asyncio.get_running_loop().time() - self._framed_at))
        head = number.to_bytes(4, "big") + min(max(age_ms, 0), LONGEST_AGE_MS).to_bytes(4, "big")
        for tab in self._tabs:
            if tab.wants_frame and number != tab.seen:
                tab.wants_frame, tab.seen = False, number
                tab.put(head + jpeg)


async def read_messages(socket: web.WebSocketResponse) -> AsyncIterator[JsonObject]:
    """Yield the messages of a tab until it closes or sends something the page never sends.

    A message is an object with ``do``; at most 100 are allowed per second.
    """
    loop = asyncio.get_running_loop()
    second, count = loop.time(), 0
    async for message in socket:
        if loop.time() - second >= 1.0:
            second, count = loop.time(), 0
        count += 1
        asked = _parse_message(message.data) if message.type is WSMsgType.TEXT else None
        if asked is None or count > MOST_MESSAGES:
            log.info("a tab sent something the page never sends; it is closed")
            return
        yield asked


def _parse_message(text: str) -> JsonObject | None:
    try:
        message = parse_object(text, "a message")
    except BadFile:
        return None
    return message if isinstance(message.get("do"), str) else None


def reason_of(error: DaemonError | RequestError) -> str:
    """Return the page's text for a daemon that cannot be reached, or the daemon's own refusal."""
    return error.reason if isinstance(error, RequestError) else PageReason[error.why.name]


class Guides:
    """The guide, at most one at a time.

    ``daemon``: the daemon's socket for guides, which exists only if the owner lets the page
    calibrate. None: nobody may calibrate.
    """

    def __init__(self, daemon: Path | None) -> None:
        self._daemon = daemon
        self._session: str | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def are_allowed(self) -> bool:
        """True if the page may calibrate the robot."""
        return self._daemon is not None and self._daemon.is_socket()

    @property
    def is_open(self) -> bool:
        """True if somebody is calibrating."""
        return self._session is not None

    def end_session(self, session: str) -> None:
        """End the guide if this session has it."""
        if session == self._session:
            self.end()

    def end(self) -> None:
        """End the guide, whoever has it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    @contextlib.contextmanager
    def open_for(self, session: str) -> Iterator[None]:
        """Reserve the guide for a session while the context lasts."""
        self._session = session
        try:
            yield
        finally:
            self._session = None

    async def serve(self, socket: web.WebSocketResponse, address: str) -> None:
        """Run a guide for the tab of a browser at ``address`` until one of them ends."""
        self._process = process = await self._start(address)
        showing = asyncio.create_task(_pass_states(process, socket))
        try:
            await _pass_presses(process, socket)
        finally:
            self.end()
            self._process = None
            await asyncio.gather(showing, process.wait(), return_exceptions=True)

    async def _start(self, address: str) -> asyncio.subprocess.Process:
        program = (sys.executable, "-m", "robot.web.guide_process")
        return await asyncio.create_subprocess_exec(
            *program,
            *(f"--socket={self._daemon}", f"--at={address}"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )


async def _pass_states(process: asyncio.subprocess.Process, socket: web.WebSocketResponse) -> None:
    """Pass on the guide's states; when it ends, send the tab the reason and close it."""
    assert process.stdout is not None
    said_why = False
    with contextlib.suppress(ConnectionError, ValueError):
        async for line in process.stdout:
            text = line.decode()
            said_why = text.startswith('{"ended"')
            await socket.send_str(text)
    with contextlib.suppress(ConnectionError, RuntimeError):
        if not said_why:
            await socket.send_str(json.dumps({"ended": PageReason.GUIDE_FAILED}))
        await socket.close()


async def _pass_presses(process: asyncio.subprocess.Process, socket: web.WebSocketResponse) -> None:
    """Pass on the messages of the tab."""
    assert process.stdin is not None
    async for pressed in read_messages(socket):
        with contextlib.suppress(ConnectionError):
            process.stdin.write(json.dumps(pressed).encode() + b"\n")
            await process.stdin.drain()
