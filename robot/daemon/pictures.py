"""Pictures for whoever watches: the job's own while there is one, else what a camera sees now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

PERIOD_S = 0.2
"""At most so often a picture is taken for those who watch."""


@dataclass(frozen=True)
class NumberedJpeg:
    """A JPEG and its number: another picture, another number."""

    number: int
    jpeg: bytes


class JpegCache:
    """The last picture of each camera. It is encoded once, however many look at it.

    Used from the event loop's thread only. ``clock`` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shown: dict[str, NumberedJpeg] = {}
        self._taken_at: dict[str, float] = {}
        self._taking: dict[str, asyncio.Lock] = {}
        self._number = 0
        self._latest = ""

    def show(self, camera: str, jpeg: bytes) -> int:
        """Show a picture that was taken of late; its number."""
        self._number += 1
        self._shown[camera] = NumberedJpeg(self._number, jpeg)
        self._taken_at[camera] = self._clock()
        self._latest = camera
        return self._number

    def latest(self, camera: str | None) -> NumberedJpeg | None:
        """The last picture of a camera, or of whichever took the last one."""
        return self._shown.get(self._latest if camera is None else camera)

    async def fresh(self, camera: str, take: Callable[[], bytes]) -> NumberedJpeg:
        """A picture no older than :data:`PERIOD_S`, taken by ``take`` in a thread if need be."""
        async with self._taking.setdefault(camera, asyncio.Lock()):
            shown = self._shown.get(camera)
            if shown is None or self._clock() - self._taken_at[camera] >= PERIOD_S:
                self.show(camera, await asyncio.to_thread(take))
            return self._shown[camera]
