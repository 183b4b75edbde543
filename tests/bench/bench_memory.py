"""What ``cubistd`` holds over 50 solves with a camera of 1920x1080, and `solve -` over 2,000."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.bench.figures import Emit, chosen
from tests.rig.footprint import SETTLED, Footprints, footprints_of, seen_by_large_cameras

ROBOTS = ("cubotino", "two-arm", "six-motor")
SOLVES = 50
MB = 1000


def main(emit: Emit) -> None:
    """One line of each figure for each robot; ``CUBIST_ROBOTS`` and ``CUBIST_SOLVES`` choose."""
    count = int(chosen("SOLVES", SOLVES))
    for name in chosen("ROBOTS", " ".join(ROBOTS)).split():
        with tempfile.TemporaryDirectory(prefix="cubistd-") as folder:
            held = asyncio.run(footprints_of(seen_by_large_cameras(name), Path(folder), count))
        _tell(emit, name, held)


def _tell(emit: Emit, name: str, held: Footprints) -> None:
    count = len(held.after)
    after = {n: held.after[n - 1] for n in (1, SETTLED, 15, 30, 50) if n <= count}
    anonymous = {"start": held.start.anonymous_kb} | {n: f.anonymous_kb for n, f in after.items()}
    resident = {"start": held.start.resident_kb} | {n: f.resident_kb for n, f in after.items()}
    figures = {
        "anonymous-peak": (held.anonymous_peak_kb, anonymous),
        "resident-peak": (held.resident_peak_kb, resident),
        "growth": (held.growth_kb, {}),
    }
    for figure, (kb, at_rest_kb) in figures.items():
        detail = {"at_rest_mb": {n: round(value / MB, 1) for n, value in at_rest_kb.items()}}
        emit(f"memory-{name}-{figure}", round(kb / MB, 1), "MB", count, detail)
