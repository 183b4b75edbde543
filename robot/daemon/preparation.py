"""Preparation of reading and search in the background, so that no solve waits for tables."""

from __future__ import annotations

import asyncio
import logging
import threading

from robot.api.models import Preparation
from robot.machine.assembly import Machine
from robot.text.steps import JobStep, coded
from solver.errors import CubistError
from solver.solution import Progress

log = logging.getLogger("cubistd")


class TablePreparation:
    """Loads or makes the tables of a machine's scanner and planner; ``state`` while it does."""

    def __init__(self) -> None:
        self.state: Preparation | None = None
        self._task: asyncio.Task[None] | None = None
        self._cancel = threading.Event()

    def start(self, machine: Machine) -> None:
        """Begin in the background."""
        self.state = _preparation(JobStep.of("load-tables"))
        self._task = asyncio.create_task(self._prepare(machine))

    async def finished(self) -> None:
        """Wait for the end."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def cancel(self) -> None:
        """Let it end early."""
        self._cancel.set()

    async def _prepare(self, machine: Machine) -> None:
        loop = asyncio.get_running_loop()

        def report(progress: Progress) -> None:
            loop.call_soon_threadsafe(self._set, progress)

        try:
            await asyncio.to_thread(machine.scanner.prepare)
            await asyncio.to_thread(machine.planner.prepare, self._cancel, report)
        except CubistError as error:
            if not self._cancel.is_set():
                log.warning("the tables of the search are not ready: %s", error)
        finally:
            self.state = None

    def _set(self, progress: Progress) -> None:
        if self.state is None or self.state.step != progress.text:
            log.info("%s", progress.text)
        step = JobStep.of("make-tables", progress.text)
        self.state = _preparation(step, progress.done, progress.remaining_s)


def _preparation(
    step: JobStep, progress: float | None = None, remaining_s: float | None = None
) -> Preparation:
    known = {"step": step, "progress": progress, "remaining_s": remaining_s}
    return Preparation.model_validate(known | coded(step))
