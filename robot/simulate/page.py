"""The page of a simulated robot: the same program as on a real one, at a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from robot.api.paths import SOCKET_NAME
from robot.api.rights import Program
from robot.simulate.processes import running
from robot.simulate.session import unless_ended
from robot.web.announcement import FILE_NAME, read_announcement

POLL_S = 0.02


@contextlib.asynccontextmanager
async def page_served(folder: Path, *, wanted: bool) -> AsyncIterator[str | None]:
    """Serve the page of the daemon in ``folder``/run while the context lasts; its address.

    Raises ``DemoFault`` where it does not start.
    """
    if not wanted:
        yield None
        return
    run = folder / "run"
    command = [
        *(sys.executable, "-m", "robot.web.main", "--port", "0", "--calibrate"),
        *("--socket", str(Program.PAGE.socket_beside(run / SOCKET_NAME))),
        *("--runtime-dir", str(run)),
    ]
    async with running("cubist-web", command, folder) as child:
        yield await unless_ended(_address(run / FILE_NAME), [child])


async def _address(announcement: Path) -> str:
    while not announcement.exists():
        await asyncio.sleep(POLL_S)
    return read_announcement(announcement).urls[0]
