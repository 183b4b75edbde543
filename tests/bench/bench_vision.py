"""Accuracy, speed and memory of reading cubes from photographs and scans of colours."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator

import cv2

from tests.bench.figures import emit, mean, most_resident_mib, timed
from tests.rig.scans import altered, mistakes, scans, synthetic_scan
from tests.rig.scenes import FACES, is_right, is_true, render_cube
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.locate.face import NoFace, locate_grids
from vision.locate.six_faces import scan_frames
from vision.measure.sticker_colours import StickerColours
from vision.measure.stickers import measure_face

SEEDS = range(40)


def measure_vision() -> None:
    """Emit right grids and readings, CPU milliseconds on one core, resident megabytes."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        for size in (2, 3, 5, 7):
            _emit_faces(size)
        _emit_cubes()
    finally:
        cv2.setNumThreads(threads)
    _emit_memory()


def _emit_faces(size: int) -> None:
    """Emit locating and measuring of 640x480 photographs, with the size known and unknown."""
    right = count = 0
    spent: dict[str, list[float]] = {"locate": [], "locate-any-size": [], "measure": []}
    for cube in (render_cube(seed, size) for seed in SEEDS[:15]):
        for face in FACES:
            frame = cube.frames[face]
            count += 1
            spent["locate"].append(timed(locate_grids, frame.image, (size,))[1])
            grids, found_s = timed(locate_grids, frame.image)
            spent["locate-any-size"].append(found_s)
            if grids:
                spent["measure"].append(timed(measure_face, frame, grids[0].quads)[1])
                right += is_right(grids[0], cube, face)
    emit(f"vision-grids-{size}", right / count, "share", count, {"size": "unknown"})
    for name, seconds in spent.items():
        median = {"median": round(1e3 * statistics.median(seconds), 2)}
        emit(f"vision-{name}-{size}", 1e3 * mean(seconds), "ms", len(seconds), median)


def _emit_cubes() -> None:
    """Emit readings of a 3x3x3 from six rendered photographs: right, wrong, and decision time."""
    right = wrong = 0
    decide: list[float] = []
    for cube in (render_cube(seed, 3) for seed in SEEDS):
        try:
            colours = scan_frames(cube.frames).colours
        except NoFace:
            continue
        reading, spent = _timed_reading(colours)
        if reading is not None:
            decide.append(spent)
            right += reading.facelets == cube.facelets and reading.confident
            wrong += reading.facelets != cube.facelets and reading.confident
    emit("vision-read-right", right / len(SEEDS), "share", len(SEEDS), {"confidently_wrong": wrong})
    emit("vision-decide", statistics.median(decide), "ms", len(decide))


def _emit_memory() -> None:
    """Emit the memory of a process that reads six photographs of 1920x1080 in a folder."""
    program = (
        "import sys; from pathlib import Path; from vision.locate.six_faces import scan_folder;"
        "from vision.decide.reader import read_cube;"
        "read_cube(scan_folder(Path(sys.argv[1])).colours)"
    )
    cube = render_cube(1, 3, resolution=(1920, 1080), max_tilt=15)
    with tempfile.TemporaryDirectory() as folder:
        for face, frame in cube.frames.items():
            cv2.imwrite(f"{folder}/{face}.png", cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR))
        held = most_resident_mib(program, folder)
    emit("vision-resident", held, "MB", 1, {"photographs": "6 x 1920x1080"})


def _timed_reading(colours: StickerColours) -> tuple[CubeReading | None, float]:
    """Return the reading of a scan, or None, and its CPU milliseconds."""
    reading = None
    before = time.process_time()
    with contextlib.suppress(Unreadable):
        reading = read_cube(colours)
    return reading, 1e3 * (time.process_time() - before)


MIXED_UP_SCANS = 6
EVERY = 7
"""Number of real scans of a size, spread evenly, and step between the mistakes tried on them."""


def measure_colours() -> None:
    """Emit accuracy and speed of deciding colours in synthetic and real scans: shares read right,
    counts of sure wrong readings, CPU milliseconds.
    """
    for size in (2, 3, 4, 5):
        found = (synthetic_scan(seed, size) for seed in range(200 if size < 4 else 40))
        _emit_read(f"colours-synthetic-{size}", ((scan.colours, scan.facelets) for scan in found))
    for size in range(2, 8):
        known = [real for real in scans(size) if real.name.startswith("vision/")]
        if known:
            _emit_read(f"colours-scans-{size}", ((real.colours, real.facelets) for real in known))
        _emit_mixed_up(size)


def _emit_read(name: str, known: Iterable[tuple[StickerColours, str]]) -> None:
    right = wrong = 0
    spent = []
    for colours, facelets in known:
        reading, took = _timed_reading(colours)
        spent.append(took)
        if reading is not None:
            same = is_true(reading.facelets, facelets)
            right += same
            wrong += reading.confident and not same
    detail = {"confidently_wrong": wrong, "median_ms": round(statistics.median(spent), 2)}
    emit(name, round(right / len(spent), 4), "share right", len(spent), detail)


def _emit_mixed_up(size: int) -> None:
    """Emit times for real scans with turned, exchanged or mirrored pictures, the slowest kind."""
    found = list(scans(size))
    some = found[:: max(1, len(found) // MIXED_UP_SCANS)]
    spent = [_timed_reading(colours)[1] for real in some for colours in _mixed_up(real.colours)]
    if spent:
        detail = {"median_ms": round(statistics.median(spent), 2), "scans": len(found)}
        emit(f"colours-mixed-up-{size}", round(max(spent), 2), "ms at most", len(spent), detail)


def _mixed_up(colours: StickerColours) -> Iterator[StickerColours]:
    return (altered(colours, mistake) for mistake in list(mistakes())[::EVERY])
