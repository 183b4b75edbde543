"""Follows one daemon over its control socket, like any other program."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus

from robot.api.async_client import AsyncControlClient
from robot.api.client import DaemonError, RequestError
from robot.api.endpoints import EVENTS, PICTURE, RUN, STATUS
from robot.api.models import Event, RobotStatus
from robot.records.runs import RunRecord
from robot.simulate.processes import SimulationError

POLL_S = 0.05
START_LIMIT_S = 60.0


class DaemonFollower(AsyncControlClient):
    """A client of a simulated robot's daemon; use as an async context.

    A simulation may take minutes to answer, and its records may be large.
    """

    answer_limit_s = None
    most_bytes = 1024**3

    async def ready(self) -> RobotStatus:
        """Wait until the daemon answers and is done starting; raises :class:`SimulationError`."""
        deadline = asyncio.get_running_loop().time() + START_LIMIT_S
        while asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(DaemonError, RequestError):
                return await self.status()
            await asyncio.sleep(POLL_S)
        raise SimulationError(f"cubistd does not answer at {self.path} after {START_LIMIT_S:g} s")

    async def status(self) -> RobotStatus:
        """Return what the robot is doing."""
        return await self.ask(STATUS, RobotStatus)

    async def run(self, number: str) -> RunRecord:
        """Return the record of a run."""
        return await self.ask(RUN, RunRecord, {"run": number})

    async def picture(self) -> bytes | None:
        """Return the last picture of the job, as JPEG; None if there is none yet."""
        reply = await self.request(PICTURE)
        return reply.body if reply.status == HTTPStatus.OK else None

    @contextlib.asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[Event]]:
        """Yield the events from now on, until the daemon ends or cuts us off."""
        async with self.follow(EVENTS, Event) as events:
            yield events
