"""The long campaign of rendered cubes, in pieces: a file with one line for each cube.

``python tests/vision/campaign.py FILE FIRST COUNT`` renders and reads the cubes of seeds FIRST to
FIRST + COUNT - 1 that FILE does not have yet (odd seeds 3x3x3, even ones 2x2x2), appends what came
of them, and prints the sums over the whole file. Several may run at once, each with its own file.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

import cv2
from rendered_cubes import render_cube
from test_rendered_cubes import outcome


def run(file: Path, first: int, count: int) -> None:
    """Append the outcomes of the cubes that are missing."""
    done = {line["seed"] for line in lines(file)}
    with file.open("a") as out:
        for seed in (seed for seed in range(first, first + count) if seed not in done):
            start = time.process_time()
            cube = render_cube(seed, 3 if seed % 2 else 2)
            rendered = time.process_time()
            result = outcome(cube)
            spent = {"render": rendered - start, "read": time.process_time() - rendered}
            row = {"size": cube.size, "seed": seed, "outcome": result, "about": cube.about}
            print(json.dumps(row | spent), file=out, flush=True)


def lines(file: Path) -> list[dict[str, object]]:
    """What the file tells so far."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


def summed(rows: list[dict[str, object]]) -> list[str]:
    """How often each outcome came, by size, and the cubes read wrong."""
    told = []
    for size in (2, 3):
        counts = Counter(str(row["outcome"]) for row in rows if row["size"] == size)
        total = max(counts.total(), 1)
        share = f"{counts['right'] / total:.2%} of {counts.total()} right"
        told.append(f"{size}x{size}x{size}: {share}; {dict(counts)}")
    return told + [f"wrong: {row['about']}" for row in rows if row["outcome"] == "wrong"]


if __name__ == "__main__":
    cv2.setNumThreads(1)
    target = Path(sys.argv[1])
    run(target, int(sys.argv[2]), int(sys.argv[3]))
    print("\n".join(summed(lines(target))))
