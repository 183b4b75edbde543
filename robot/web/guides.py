"""The guided calibration of a tab: a process of its own, which ends with the tab.

The tab and :mod:`robot.web.guide_process` exchange JSON, one document a message or line, which is
passed on unread. Maintenance ends with the process, whatever ends that.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from aiohttp import WSMsgType, web

from robot.web.hub import MOST_MESSAGES
from robot.web.reasons import Reason
from solver.files import BadFile, parse_object

log = logging.getLogger("cubist-web")

LONGEST_LINE = 8 * 1024 * 1024
"""Of the guide: a picture of a large camera in base64."""


class Guides:
    """At most one guide at a time; ``daemon``: its socket for guides, None: nobody may calibrate.

    The daemon has such a socket only where the owner lets the page calibrate.
    """

    def __init__(self, daemon: Path | None) -> None:
        self._daemon = daemon
        self._session: str | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def are_allowed(self) -> bool:
        """True if the page may calibrate the robot; then the daemon has a socket for it."""
        return self._daemon is not None and self._daemon.is_socket()

    @property
    def is_open(self) -> bool:
        """Whether somebody calibrates."""
        return self._session is not None

    def end_session(self, session: str) -> None:
        """End the guide of a session, if it has one."""
        if self._session == session:
            self.end()

    def end(self) -> None:
        """End the guide, if there is one."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    @contextlib.contextmanager
    def open_for(self, session: str) -> Iterator[None]:
        """Nobody else's from now on, for as long as the context lasts."""
        self._session = session
        try:
            yield
        finally:
            self._session = None

    async def serve(self, socket: web.WebSocketResponse) -> None:
        """A guide for a tab, until it or the tab ends."""
        self._process = process = await self._started()
        showing = asyncio.create_task(_show(process, socket))
        try:
            await _hear(process, socket)
        finally:
            self.end()
            self._process = None
            await asyncio.gather(showing, process.wait(), return_exceptions=True)

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "robot.web.guide_process", "--socket", str(self._daemon)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )


async def _show(process: asyncio.subprocess.Process, socket: web.WebSocketResponse) -> None:
    """Hand on what the guide shows; once it is over the tab is told, and closed."""
    assert process.stdout is not None
    said_why = False
    with contextlib.suppress(ConnectionError, ValueError):
        async for line in process.stdout:
            text = line.decode()
            said_why = text.startswith('{"ended"')
            await socket.send_str(text)
    with contextlib.suppress(ConnectionError, RuntimeError):
        if not said_why:
            await socket.send_str(json.dumps({"ended": Reason.GUIDE_FAILED}))
        await socket.close()


async def _hear(process: asyncio.subprocess.Process, socket: web.WebSocketResponse) -> None:
    """Hand on what is pressed, until the tab closes or sends what the page never sends."""
    assert process.stdin is not None
    loop = asyncio.get_running_loop()
    second, heard = loop.time(), 0
    async for message in socket:
        if loop.time() - second >= 1.0:
            second, heard = loop.time(), 0
        heard += 1
        pressed = _pressed(message.data) if message.type is WSMsgType.TEXT else None
        if pressed is None or heard > MOST_MESSAGES:
            log.info("a tab that calibrates sent what the page never sends; it is closed")
            return
        with contextlib.suppress(ConnectionError):
            process.stdin.write(json.dumps(pressed).encode() + b"\n")
            await process.stdin.drain()


def _pressed(text: str) -> dict[str, object] | None:
    """A message of the tab; None for what it never sends."""
    try:
        found = parse_object(text, "a message")
    except BadFile:
        return None
    return found if isinstance(found.get("do"), str) else None
