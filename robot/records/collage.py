"""One picture of a run: the photographs of the six faces as the unfolded cube, with its reading.

Each face is cut out of its photograph and set upright. The dot on a sticker shows the colour that
was read. Beside the net are the run's number, date, time and moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isqrt

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.records.run_record import RunRecord
from robot.records.storage import NOT_STORED, StorageError
from solver.cube.facelets import FACES
from vision.explain import Canvas, wrap_words

MOST_BYTES = 200 * 1024
QUALITIES = (88, 75, 60, 45)
"""Qualities of the JPEG. The first that keeps it within :data:`MOST_BYTES` is used."""

_SIDE, _GAP, _MARGIN = 240, 8, 16
_PLACES = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
"""Column and row of each face in the net."""

_COLOURS = {
    "U": (255, 255, 255),
    "R": (200, 24, 36),
    "F": (0, 148, 64),
    "D": (255, 213, 0),
    "L": (255, 104, 0),
    "B": (0, 76, 190),
}
_BACKGROUND, _PLASTIC = (24, 26, 31), (13, 14, 17)
_BRIGHT, _QUIET = (236, 239, 244), (150, 156, 168)
_LOOK = re.compile(r"scanning-([0-9]{1,6})-([URFDLB])\.jpg")


def faces_of(record: RunRecord) -> Mapping[str, str]:
    """Return the name of the last photograph of each face in the scan of a run, by face."""
    found = [match for name in record.photos if (match := _LOOK.fullmatch(name))]
    return {match[2]: match[0] for match in sorted(found, key=lambda match: int(match[1]))}


def draw_collage(record: RunRecord, load: Callable[[str], bytes]) -> bytes:
    """Return the collage as JPEG; ``load`` returns the bytes of a photograph.

    A photograph is shown whole if the record (of an older version) lacks the corners of its face.
    Raises :class:`StorageError`, with the code ``NOT_STORED``, for a run without photographs of
    faces, or if none of them can be read.
    """
    names = faces_of(record)
    images = {face: _photograph(name, load) for face, name in names.items()}
    if all(image is None for image in images.values()):
        why = (
            "its photographs of faces cannot be read" if names else "it has no photographs of faces"
        )
        raise StorageError(f"run {int(record.id)}: {why}", code=NOT_STORED)
    width, height = (2 * _MARGIN + count * _SIDE + (count - 1) * _GAP for count in (4, 3))
    canvas = Canvas(width, height, _BACKGROUND)
    for face, (column, row) in _PLACES.items():
        at = (_MARGIN + column * (_SIDE + _GAP), _MARGIN + row * (_SIDE + _GAP))
        canvas.box(at, (_SIDE, _SIDE), _PLASTIC)
        if (image := images.get(face)) is not None:
            _paste_face(canvas, at, image, record.corners.get(names[face]))
        if letters := _letters_of(record.facelets or "", face):
            _draw_dots(canvas, at, letters)
    _write_facts(canvas, record)
    return _encode(canvas.picture())


def _paste_face(
    canvas: Canvas,
    at: tuple[int, int],
    image: NDArray[np.uint8],
    corners: list[tuple[float, float]] | None,
) -> None:
    """Paste a face, or the whole photograph if its corners are unknown."""
    height, width = image.shape[:2]
    if corners is None:
        scale = _SIDE / max(width, height)
        size = (width * scale, height * scale)
        canvas.paste((at[0] + (_SIDE - size[0]) / 2, at[1] + (_SIDE - size[1]) / 2), size, image)
        return
    detail = 2 * _SIDE
    source = np.array(corners, dtype=np.float32) * np.array([width, height], dtype=np.float32)
    square = np.array([(0, 0), (detail, 0), (detail, detail), (0, detail)], dtype=np.float32)
    matrix = cv2.getPerspectiveTransform(source, square)
    upright = cv2.warpPerspective(image, matrix, (detail, detail), flags=cv2.INTER_LINEAR)
    canvas.paste(at, (_SIDE, _SIDE), np.asarray(upright, dtype=np.uint8))


def _letters_of(facelets: str, face: str) -> str:
    count = len(facelets) // 6
    first = FACES.index(face) * count
    return facelets[first : first + count]


def _draw_dots(canvas: Canvas, at: tuple[int, int], letters: str) -> None:
    """Draw the reading of each sticker."""
    size = isqrt(len(letters))
    pitch = _SIDE / size
    for number, letter in enumerate(letters):
        row, column = divmod(number, size)
        middle = (at[0] + (column + 0.5) * pitch, at[1] + (row + 0.5) * pitch)
        canvas.dot(middle, 0.2 * pitch, _PLASTIC)
        canvas.dot(middle, 0.16 * pitch, _COLOURS.get(letter, _QUIET))


def _write_facts(canvas: Canvas, record: RunRecord) -> None:
    """Write the run's facts into the corner beside the upper face, without words of a language."""
    left = _MARGIN + 2 * (_SIDE + _GAP) + 8
    canvas.text((left, _MARGIN + 30), f"#{int(record.id)}", _BRIGHT, 28, bold=True)
    started = record.started_at.astimezone().strftime("%Y-%m-%d  %H:%M")
    canvas.text((left, _MARGIN + 66), started, _QUIET, 18)
    canvas.text((left, _MARGIN + 102), f"{record.duration_s:.2f} s", _BRIGHT, 20, bold=True)
    lines = wrap_words(record.moves or "", 16, 2 * _SIDE - 8)[:4]
    for number, line in enumerate(lines):
        canvas.text((left, _MARGIN + 140 + 30 * number), line, _QUIET, 16)


def _photograph(name: str, load: Callable[[str], bytes]) -> NDArray[np.uint8] | None:
    """Return a photograph, uint8[h, w, 3] RGB; None if it cannot be read."""
    try:
        jpeg = load(name)
        bgr = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR) if jpeg else None
    except (StorageError, cv2.error):
        return None
    return None if bgr is None else np.asarray(bgr[..., ::-1], dtype=np.uint8)


def _encode(image: NDArray[np.uint8]) -> bytes:
    bgr = np.ascontiguousarray(image[..., ::-1])
    data = b""
    for quality in QUALITIES:
        data = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()
        if len(data) <= MOST_BYTES:
            break
    return data
