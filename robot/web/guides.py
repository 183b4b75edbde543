"""The guided calibration of a tab: a process of its own, which ends with the tab.

The tab and :mod:`robot.web.guide_process` exchange JSON, one document a message or line, which is
passed on unread. Maintenance ends with the process, whatever ends that.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from aiohttp import web

from robot.text.messages import PageReason
from robot.web.hub import read_messages

LONGEST_LINE = 8 * 1024 * 1024
"""Limit for a line of the guide: a large camera's picture in base64."""


class Guides:
    """The guide, at most one at a time.

    ``daemon``: its socket for guides, which exists only if the owner lets the page calibrate. None:
    nobody may calibrate.
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
        """Reserve the guide for a session while the context lasts."""
        self._session = session
        try:
            yield
        finally:
            self._session = None

    async def serve(self, socket: web.WebSocketResponse) -> None:
        """Run a guide for a tab until one of them ends."""
        self._process = process = await self._start()
        showing = asyncio.create_task(_pass_states(process, socket))
        try:
            await _pass_presses(process, socket)
        finally:
            self.end()
            self._process = None
            await asyncio.gather(showing, process.wait(), return_exceptions=True)

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "robot.web.guide_process", "--socket", str(self._daemon)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )


async def _pass_states(process: asyncio.subprocess.Process, socket: web.WebSocketResponse) -> None:
    """Pass on what the guide shows; when it ends, tell the tab why and close it."""
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
    """Pass on what the tab sends."""
    assert process.stdin is not None
    async for pressed in read_messages(socket):
        with contextlib.suppress(ConnectionError):
            process.stdin.write(json.dumps(pressed).encode() + b"\n")
            await process.stdin.drain()
