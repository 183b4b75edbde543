"""The time-lapse of a run: pictures collected during the run, joined afterwards.

The animation is a WebP file, which every current browser can play. OpenCV's wheels have no encoder
for H.264, so there is no MP4, and OpenCV can write animations only since 4.11. So OpenCV compresses
each picture, as every version can, and :func:`join` puts them into the container
(developers.google.com/speed/webp/docs/riff_container)::

    "RIFF" size "WEBP"
      VP8X  flags, width - 1 and height - 1 of the canvas
      ANIM  background, number of repeats (0: for ever)
      ANMF  x, y, width - 1, height - 1, milliseconds, flags, and a picture's own VP8 chunk; ...

All numbers are little-endian; a chunk is its name, its length, and its bytes, padded to an even
number of them.
"""

from __future__ import annotations

import struct
import threading
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

MOST_KEPT = 48
"""Most pictures of a run. If there are more, the time between them is doubled."""

FIRST_INTERVAL_S = 0.1
LARGEST_KEPT_BYTES = 64 * 1024
"""Size above which a picture is scaled down before it is kept: pictures of a scan are large."""

WIDTH = 320
QUALITY = 60
LONGEST_S = 8.0
"""Longest duration of an animation. A shorter run is shown at its own speed."""

SHORTEST_SHOWN_S, LONGEST_SHOWN_S, LAST_SHOWN_S = 0.04, 1.0, 1.5
_ANIMATED, _BLACK = 0x02, 0xFF000000
_REPLACES = 0x02
"""Flag of a picture that replaces the one before, instead of being blended with it."""


@dataclass(frozen=True)
class TimedJpeg:
    """A JPEG and its time in seconds after the start of the run."""

    at_s: float
    jpeg: bytes


class TimeLapse:
    """The pictures of one run, at most :data:`MOST_KEPT`, evenly spread over any duration.

    Threads may add pictures at the same time, because a caller that gives up waiting leaves its
    thread running.
    """

    def __init__(self) -> None:
        self.kept: list[TimedJpeg] = []
        self.interval_s = FIRST_INTERVAL_S
        self._adding = threading.Lock()

    def add(self, at_s: float, jpeg: bytes) -> None:
        """Add a picture. Blocks for a few milliseconds if it has to be scaled down."""
        if len(jpeg) > LARGEST_KEPT_BYTES and (image := _decode(jpeg)) is not None:
            small = _fit(image, WIDTH)
            jpeg = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()
        with self._adding:
            if len(self.kept) >= MOST_KEPT:
                del self.kept[1::2]
                self.interval_s *= 2
            insort(self.kept, TimedJpeg(at_s, jpeg), key=lambda one: one.at_s)

    def animate(self) -> bytes:
        """Return the animation; empty unless there are two pictures. Blocks for a while.

        Data that is not a picture is left out. All pictures get the size of the first.
        """
        chunks: list[bytes] = []
        times: list[float] = []
        size: tuple[int, int] | None = None
        with self._adding:
            kept = list(self.kept)
        for one in kept:
            if (image := _decode(one.jpeg)) is None:
                continue
            small = _fit(image, WIDTH)
            size = size or (small.shape[1], small.shape[0])
            if (small.shape[1], small.shape[0]) != size:
                small = np.asarray(cv2.resize(small, size), dtype=np.uint8)
            chunks.append(_compress(small))
            times.append(one.at_s)
        if size is None or len(chunks) < 2:
            return b""
        return join(chunks, size, durations_s(times))


def durations_s(times: Sequence[float]) -> list[float]:
    """Return the display times in seconds of pictures that were taken at these times."""
    lasted = times[-1] - times[0]
    factor = min(1.0, (LONGEST_S - LAST_SHOWN_S) / lasted) if lasted else 1.0
    gaps = (factor * (after - at) for at, after in pairwise(times))
    shown = [min(max(gap, SHORTEST_SHOWN_S), LONGEST_SHOWN_S) for gap in gaps]
    return [*shown, LAST_SHOWN_S]


def join(chunks: Sequence[bytes], size: tuple[int, int], shown_s: Sequence[float]) -> bytes:
    """Return a WebP animation of pictures of one size, each a VP8 chunk shown for some seconds."""
    canvas = b"".join(_uint24(side - 1) for side in size)
    body = b"WEBP" + _chunk(b"VP8X", bytes([_ANIMATED, 0, 0, 0]) + canvas)
    body += _chunk(b"ANIM", struct.pack("<IH", _BLACK, 0))
    for chunk, seconds in zip(chunks, shown_s, strict=True):
        head = _uint24(0) + _uint24(0) + canvas + _uint24(round(seconds * 1000))
        body += _chunk(b"ANMF", head + bytes([_REPLACES]) + chunk)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _compress(image: NDArray[np.uint8]) -> bytes:
    """Return a picture uint8[h, w, 3], BGR, as the VP8 chunk of a WebP file."""
    _, data = cv2.imencode(".webp", image, [cv2.IMWRITE_WEBP_QUALITY, QUALITY])
    return next(chunk for chunk in _chunks_of(data.tobytes()) if chunk.startswith(b"VP8 "))


def _decode(jpeg: bytes) -> NDArray[np.uint8] | None:
    image = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR) if jpeg else None
    return None if image is None else np.asarray(image, dtype=np.uint8)


def _fit(image: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """Return a picture no wider than ``width``."""
    factor = width / image.shape[1]
    if factor >= 1.0:
        return image
    size = (width, max(1, round(image.shape[0] * factor)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _chunks_of(file: bytes) -> Iterator[bytes]:
    """Yield the chunks of a WebP file, each with its name and length."""
    at = 12
    while at + 8 <= len(file):
        (length,) = struct.unpack_from("<I", file, at + 4)
        end = at + 8 + length + length % 2
        yield file[at:end]
        at = end


def _uint24(value: int) -> bytes:
    return value.to_bytes(3, "little")
