"""A simulated robot for as long as a person practises on it, its daemon where commands look."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator

from robot.settings import RobotProfile
from robot.simulate.boards import fastest
from robot.simulate.processes import DemoFault, workspace
from robot.simulate.progress import SilentDisplay
from robot.simulate.session import Demo, DemoOptions
from robot.twin.cube import scrambled
from robot.twin.misadjustment import BUILT_AS_DRAWN, Misadjustment
from robot.twin.simulated import SimulatedRobot

SPEED = 20.0
"""Simulated seconds per second: nobody practises to wait."""

START_LIMIT_S = 60.0
VARIABLE = "CUBIST_RUNTIME_DIR"


@contextlib.contextmanager
def practising(
    profile: RobotProfile,
    seed: int = 1,
    misadjusted: Misadjustment | None = None,
    speed: float = SPEED,
) -> Iterator[SimulatedRobot]:
    """A simulated robot of ``profile`` that this process's commands find; gone afterwards.

    ``misadjusted``: it was not built as the profile says. ``speed``: simulated seconds per second,
    as far as it can be simulated so fast. Raises :class:`DemoFault` when a part does not start.
    """
    options = DemoOptions(
        profile=profile,
        profile_file=None,
        body=scrambled(profile.cube.size, seed),
        title=profile.title,
        speed=min(speed, fastest(profile)),
        seed=seed,
        misadjusted=misadjusted or BUILT_AS_DRAWN,
    )
    demo = Demo(options, SilentDisplay())
    with _Stage(demo).standing() as folder, _environment(folder):
        yield demo.robot


class _Stage:
    """The simulated robot on a thread of its own."""

    def __init__(self, demo: Demo) -> None:
        self._demo = demo
        self._ready = threading.Event()
        self._folder: str | None = None
        self._error: Exception | None = None
        self._end: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @contextlib.contextmanager
    def standing(self) -> Iterator[str]:
        """The daemon's runtime directory, while the context lasts."""
        thread = threading.Thread(target=lambda: asyncio.run(self._stand()), name="practice")
        thread.start()
        try:
            self._ready.wait(START_LIMIT_S)
            if self._folder is None:
                raise DemoFault(f"the simulated robot did not start: {self._error or 'too slow'}")
            yield self._folder
        finally:
            if self._end is not None:
                loop, over = self._end
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(over.set)
            thread.join()

    async def _stand(self) -> None:
        over = asyncio.Event()
        self._end = (asyncio.get_running_loop(), over)
        try:
            with workspace() as folder:
                async with self._demo.standing(folder):
                    self._folder = str(folder / "run")
                    self._ready.set()
                    await over.wait()
        except Exception as error:  # told by the thread that waits for us
            self._error = error
        finally:
            self._ready.set()


@contextlib.contextmanager
def _environment(runtime_dir: str) -> Iterator[None]:
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = runtime_dir
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before
