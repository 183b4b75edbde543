"""Progress of a demo for displays, from the daemon's control socket."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from robot.api.async_client import AsyncControlClient
from robot.api.client import DaemonError, RequestError
from robot.api.endpoints import EVENTS, PICTURE, RUN, STATUS, RobotState
from robot.api.models import Event, RobotStatus
from robot.records.run_record import RunRecord
from robot.simulate.processes import SimulationError
from solver.files import JsonMapping

POLL_S = 0.05
START_LIMIT_S = 60.0

STAGES: tuple[tuple[RobotState, str], ...] = (
    (RobotState.HOMING, "home"),
    (RobotState.SCANNING, "look"),
    (RobotState.SOLVING, "think"),
    (RobotState.TURNING, "turn"),
    (RobotState.CHECKING, "check"),
)
"""The daemon's working states in the order of a solve, with their displayed names."""


PREPARING = "prepare"
"""The stage before them, in which processes start and missing tables are made."""


@dataclass
class Stage:
    """One stage: its start and its duration so far in seconds, None before it starts.

    ``state`` is None for the stage before the daemon works on a job.
    """

    state: RobotState | None
    title: str
    began_s: float | None = None
    took_s: float | None = None

    @property
    def is_real_time(self) -> bool:
        """True if this computer's clock times it, not the robot's."""
        return self.state in {None, RobotState.SOLVING}


def _all_stages() -> list[Stage]:
    return [Stage(None, PREPARING), *(Stage(state, title) for state, title in STAGES)]


@dataclass
class DemoProgress:
    """The present state of a demo.

    ``clock_s`` is the simulated robot's clock. It times all stages except preparing and thinking,
    which take real time at any speed of the robot. ``operations`` are those of the plan,
    ``move_ends_us`` the ends of its moves. ``picture``: the camera's last one, uint8[H, W, 3] RGB.
    """

    title: str
    stages: list[Stage] = field(default_factory=_all_stages)
    state: RobotState | None = None
    step: str = "starting"
    fraction: float | None = None
    remaining_s: float | None = None
    facelets: str = ""
    picture: NDArray[np.uint8] | None = None
    moves: str = ""
    operations: Sequence[JsonMapping] = ()
    move_ends_us: Sequence[int] = ()
    planned_us: int | None = None
    clock_s: float = 0.0
    edges: int = 0
    violations: int = 0
    real_clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        """Begin the first stage."""
        self.stages[0].began_s = self._clock(self.stages[0])

    def enter(self, state: RobotState) -> None:
        """Enter a state of the daemon, and end the stage before it."""
        if state is self.state:
            return
        for stage in self.stages:
            if stage.state is self.state and stage.began_s is not None:
                stage.took_s = self.spent_s(stage)
                stage.began_s = None
        self.state, self.fraction = state, None
        for stage in self.stages:
            if stage.state is state:
                stage.began_s = self._clock(stage)

    def spent_s(self, stage: Stage) -> float:
        """Return the seconds spent in a stage, now and earlier."""
        now = 0.0 if stage.began_s is None else self._clock(stage) - stage.began_s
        return (stage.took_s or 0.0) + now

    def took_s(self, state: RobotState) -> float:
        """Return the seconds spent in the stage of a state."""
        return next(self.spent_s(stage) for stage in self.stages if stage.state is state)

    @property
    def plan_us(self) -> float | None:
        """The microseconds of the plan done so far; None unless the robot turns."""
        if self.state is not RobotState.TURNING or self.fraction is None or self.planned_us is None:
            return None
        return self.fraction * self.planned_us

    def _clock(self, stage: Stage) -> float:
        return self.real_clock() if stage.is_real_time else self.clock_s


class Display(Protocol):
    """A display of the progress, called often.

    ``shows_pictures``: true if it needs the camera's pictures.
    """

    shows_pictures: bool

    def show(self, progress: DemoProgress) -> None:
        """Show the progress after a change, or after some time."""

    def close(self) -> None:
        """Close the display at the end of the demo. Idempotent."""


class SilentDisplay:
    """A display that shows nothing, for programs that need only the last line."""

    shows_pictures = False

    def show(self, progress: DemoProgress) -> None:
        """See :meth:`Display.show`."""

    def close(self) -> None:
        """See :meth:`Display.close`."""


class DaemonFollower(AsyncControlClient):
    """A client of a simulated robot's daemon; use as an async context.

    A simulation may take minutes to answer, and its records may be large.
    """

    answer_limit_s = None
    most_bytes = 1024**3

    async def ready(self) -> RobotStatus:
        """Wait until the daemon answers, or raise :class:`SimulationError` after a time limit."""
        deadline = asyncio.get_running_loop().time() + START_LIMIT_S
        while asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(DaemonError, RequestError):
                return await self.status()
            await asyncio.sleep(POLL_S)
        raise SimulationError(f"cubistd does not answer at {self.path} after {START_LIMIT_S:g} s")

    async def status(self) -> RobotStatus:
        """Return the robot's status."""
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
        """Yield the events from now on, until the daemon ends or drops the connection."""
        async with self.follow(EVENTS, Event) as events:
            yield events
