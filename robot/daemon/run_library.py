"""The records of all runs: those on disk and that of the current job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

from robot.daemon.job import run_behind_others
from robot.daemon.video import JobVideo
from robot.records.collage import draw_collage
from robot.records.export import export_runs
from robot.records.run_record import RunList, RunRecord
from robot.records.runs import RunStore
from robot.records.statistics import Statistics, compute_statistics

MOST_LAPSES = 3
"""Maximum number of unfinished time-lapses, which hold their pictures; further jobs get none."""


class RunLibrary:
    """Reads the records of runs, and makes collages and time-lapses from their pictures.

    ``present`` and ``last``: the records of the current and the previous job, which may not be on
    disk. Call all methods in the event loop's thread; they read the disk in other threads.
    """

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.present: RunRecord | None = None
        self.last: RunRecord | None = None
        self._drawing = asyncio.Lock()
        """Held while a picture of a run is drawn, one at a time: each takes some 15 MB."""
        self._collage: tuple[tuple[object, ...], bytes] | None = None
        self._lapses: set[asyncio.Task[None]] = set()

    async def runs(self, count: int) -> RunList:
        """Return summaries of the latest records, newest first."""
        listed = await asyncio.to_thread(self._store.latest, count)
        known = {record.id: record.summary() for record in self._unsaved_records()}
        runs = [known.get(record.id, record) for record in listed.runs]
        return listed.model_copy(update={"runs": runs})

    async def run_record(self, run_id: str) -> RunRecord:
        """Return one record; raises ``StorageError`` if there is none."""
        number = self._store.directory_of(run_id).name
        known = {record.id: record for record in self._unsaved_records()}
        if number in known:
            return known[number]
        return await asyncio.to_thread(self._store.load, run_id)

    def _unsaved_records(self) -> Iterator[RunRecord]:
        yield from (record for record in (self.last, self.present) if record is not None)

    async def statistics(self) -> Statistics:
        """Return the times of all attempts so far."""
        return await asyncio.to_thread(lambda: compute_statistics(self._store.readable()))

    async def export(self, name: str) -> tuple[str, bytes]:
        """Return the media type and content of one of :data:`robot.records.export.EXPORTS`."""
        return await asyncio.to_thread(lambda: export_runs(name, self._store.readable()))

    async def run_file(self, run_id: str, name: str) -> tuple[str, bytes]:
        """Return the media type and content of a run's file; raises ``StorageError`` if missing."""
        return await asyncio.to_thread(self._store.file, run_id, name)

    async def collage(self, run_id: str) -> bytes:
        """Return the photographs of a run as one JPEG; raises ``StorageError`` if it has none."""
        record = await self.run_record(run_id)
        async with self._drawing:
            known = (record.outcome, record.facelets, record.moves, len(record.photos))
            key = (record.id, record.started_at, *known)
            if self._collage is None or self._collage[0] != key:
                draw = partial(draw_collage, record, partial(self._store.photo, record.id))
                self._collage = (key, await run_behind_others(draw))
            return self._collage[1]

    def begin_time_lapse(self, video: JobVideo, made: Callable[[], None]) -> None:
        """Begin the time-lapse of a finished job. Call ``made`` once it is added, if it is.

        Do nothing while :data:`MOST_LAPSES` are unfinished.
        """
        if len(self._lapses) < MOST_LAPSES:
            task = asyncio.create_task(self._make_time_lapse(video, made), name="time-lapse")
            self._lapses.add(task)
            task.add_done_callback(self._lapses.discard)

    async def _make_time_lapse(self, video: JobVideo, made: Callable[[], None]) -> None:
        async with self._drawing:
            if await video.save_time_lapse():
                made()

    def close(self) -> None:
        """Cancel the unfinished time-lapses."""
        for task in tuple(self._lapses):
            task.cancel()
