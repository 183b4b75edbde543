"""How well, how fast and in how much memory cubes are read from rendered photographs."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2

from tests.bench.figures import Emit, mean

HERE = Path(__file__).parent
SEEDS = range(40)


def main(emit: Emit) -> None:
    """Emit right grids and readings, CPU milliseconds on one core, resident megabytes."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        for size in (2, 3, 5, 7):
            _faces(emit, size)
        _cubes(emit)
    finally:
        cv2.setNumThreads(threads)
    emit("vision-resident", *_resident())


def _faces(emit: Emit, size: int) -> None:
    """Locating and measuring 640x480 photographs, with the size told and not."""
    import numpy as np

    from tests.rig.scenes import FACES, render_cube
    from vision.locate.face import locate_grids
    from vision.measure.stickers import measure_face

    right = count = 0
    spent: dict[str, list[float]] = {"locate": [], "locate-any-size": [], "measure": []}
    for cube in (render_cube(seed, size) for seed in SEEDS[:15]):
        for face in FACES:
            frame = cube.frames[face]
            start = time.process_time()
            locate_grids(frame.image, (size,))
            told = time.process_time()
            grids = locate_grids(frame.image)
            found = time.process_time()
            count += 1
            spent["locate"].append(told - start)
            spent["locate-any-size"].append(found - told)
            if not grids:
                continue
            measure_face(frame, grids[0].quads)
            spent["measure"].append(time.process_time() - found)
            near = np.abs(grids[0].corners - cube.corners[face]).max() < 0.3 * grids[0].pitch
            right += grids[0].size == size and bool(near)
    emit(f"vision-grids-{size}", right / count, "share", count, {"size": "unknown"})
    for name, seconds in spent.items():
        emit(f"vision-{name}-{size}", 1e3 * mean(seconds), "ms", len(seconds), {})


def _cubes(emit: Emit) -> None:
    """3x3x3 from six rendered photographs: read right, wrong, and the time to decide."""
    from tests.rig.scenes import render_cube
    from vision.decide.reader import Unreadable, read_cube
    from vision.locate.face import NoFace
    from vision.locate.six_faces import scan_frames

    right = wrong = 0
    decide: list[float] = []
    for cube in (render_cube(seed, 3) for seed in SEEDS):
        try:
            colours = scan_frames(cube.frames).colours
            start = time.process_time()
            reading = read_cube(colours)
            decide.append(time.process_time() - start)
        except (NoFace, Unreadable):
            continue
        right += reading.facelets == cube.facelets and reading.confident
        wrong += reading.facelets != cube.facelets and reading.confident
    emit("vision-read-right", right / len(SEEDS), "share", len(SEEDS), {"confidently_wrong": wrong})
    emit("vision-decide", 1e3 * statistics.median(decide), "ms", len(decide), {})


def _resident() -> tuple[float, str, int, Mapping[str, Any]]:
    """Peak resident memory of a process that reads six photographs of 1920x1080 in a folder."""
    from tests.rig.scenes import render_cube

    program = (
        "import sys; from pathlib import Path; from vision.locate.six_faces import scan_folder;"
        "from vision.decide.reader import read_cube;"
        "read_cube(scan_folder(Path(sys.argv[1])).colours);"
        # Not getrusage: its peak is inherited from the process that started this one.
        "status = Path('/proc/self/status').read_text();"
        "print(status.partition('VmHWM:')[2].split()[0])"
    )
    cube = render_cube(1, 3, resolution=(1920, 1080), max_tilt=15)
    with tempfile.TemporaryDirectory() as folder:
        for face, frame in cube.frames.items():
            cv2.imwrite(f"{folder}/{face}.png", cv2.cvtColor(frame.image, cv2.COLOR_RGB2BGR))
        run = subprocess.run(
            [sys.executable, "-c", program, folder],
            capture_output=True,
            text=True,
            check=True,
            cwd=HERE.parent.parent,
        )
    return int(run.stdout) / 1024, "MB", 1, {"photographs": "6 x 1920x1080"}
