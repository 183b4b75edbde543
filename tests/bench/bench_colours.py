"""How well and how fast the colours of a cube are decided: real scans and synthetic ones."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.bench.figures import Emit

HERE = Path(__file__).parent
SCANS = HERE.parents[2] / "shared" / "data" / "vision" / "colors"
SEEDS = range(200)


def main(emit: Emit) -> None:
    """Emit shares read right and surely, counts of sure wrong readings, CPU milliseconds."""
    for size in (2, 3, 4, 5):
        _synthetic(emit, size)
    for size in range(2, 8):
        _real(emit, size)
        _mixed_up(emit, size)


def _synthetic(emit: Emit, size: int) -> None:
    from tests.rig.scans import synthetic_scan

    seeds = SEEDS if size < 4 else SEEDS[:40]
    scans = ((scan.colours, scan.facelets) for scan in (synthetic_scan(s, size) for s in seeds))
    _emit(emit, f"colours-synthetic-{size}", size, scans)


def _real(emit: Emit, size: int) -> None:
    """The scans beside the checkout, where there are any."""
    from vision.measure.sticker_colours import StickerColours

    def scans() -> Iterator[tuple[StickerColours, str]]:
        for path in sorted((SCANS / f"{size}x{size}x{size}").glob("*.json")):
            scan = json.loads(path.read_text())
            expected = scan.get("expected_dbl_normalised") or scan["expected"]
            if expected is not None:
                yield StickerColours.from_srgb(size, scan["rgb"]), expected

    if SCANS.is_dir():
        _emit(emit, f"colours-scans-{size}", size, scans())


MIXED_UP_SCANS = 6
EVERY = 7
"""Of a size's real scans so many, spread evenly, and of their mistakes every so many."""


def _mixed_up(emit: Emit, size: int) -> None:
    """Real scans whose pictures were turned, exchanged or mirrored: the slowest to decide."""
    from tests.rig.scans import altered, mistakes, scans
    from vision.decide.reader import Unreadable, read_cube

    found = list(scans(size))
    spent = []
    for real in found[:: max(1, len(found) // MIXED_UP_SCANS)]:
        for mistake in list(mistakes())[::EVERY]:
            colours = altered(real.colours, mistake)
            start = time.process_time()
            with suppress(Unreadable):
                read_cube(colours)
            spent.append(1e3 * (time.process_time() - start))
    if spent:
        detail = {"median_ms": round(statistics.median(spent), 2), "scans": len(found)}
        emit(f"colours-mixed-up-{size}", round(max(spent), 2), "ms at most", len(spent), detail)


def _emit(emit: Emit, name: str, size: int, scans: Iterator[tuple[Any, str]]) -> None:
    from vision.decide.reader import Unreadable, read_cube

    right = wrong = 0
    spent = []
    for colours, facelets in scans:
        start = time.process_time()
        try:
            reading = read_cube(colours)
        except Unreadable:
            reading = None
        spent.append(time.process_time() - start)
        if reading is not None:
            same = _same(reading.facelets, facelets, size)
            right += same
            wrong += reading.confident and not same
    detail = {"confidently_wrong": wrong, "median_ms": round(1e3 * statistics.median(spent), 2)}
    emit(name, round(right / len(spent), 4), "share right", len(spent), detail)


def _same(facelets: str, expected: str, size: int) -> bool:
    """Equal; on even sizes from 4 on whatever way the cube was held, for no centre tells."""
    if size % 2 or size == 2:
        return facelets == expected
    return len(set(zip(facelets, expected, strict=True))) == 6
