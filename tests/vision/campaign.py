"""The long campaigns in pieces: a file with one line for each case, and the sums over it.

``python -m tests.vision.campaign FILE rendered FIRST COUNT [--harsh H]`` renders and reads cubes
of seeds FIRST to FIRST + COUNT - 1 (odd seeds 3x3x3, even ones 2x2x2), what spoils the pictures H
times as large; ``FILE robots FIRST COUNT [--harsh H]`` lets simulated robots look at cubes, as
``robot_looks.py`` says; ``FILE scenes FIRST COUNT`` locates one face of each seed in every scene of
``tests/rig/scenes.py``; ``FILE mistakes SIZE...`` mixes up the pictures of every real set;
``FILE two-turns`` turns one picture of every cube two turns from solved. Cases that FILE has
already are left out. Several may run at once, each with its own file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import cv2

from tests.rig import scans
from tests.rig.scans import classic, known_sets, mistakes, turned, two_turns_from_solved
from tests.rig.scenes import FACES, SCENES, is_right, read_outcome, render_cube, render_scene
from tests.vision import robot_looks
from tests.vision.robot_looks import ROBOTS
from vision.locate.face import locate_grids

Case = tuple[str, str, Callable[[], str]]
"""The group it is counted in, its name, and what to do for its outcome."""


def rendered(first: int, count: int, harsh: float) -> Iterator[Case]:
    """Whole cubes from photographs."""
    for seed in range(first, first + count):
        size = 3 if seed % 2 else 2
        yield f"{size}x{size}x{size}", str(seed), partial(_read, seed, size, harsh)


def _read(seed: int, size: int, harsh: float) -> str:
    return read_outcome(render_cube(seed, size, harsh=harsh))


def robots(first: int, count: int, harsh: float) -> Iterator[Case]:
    """Whole cubes through the cameras of simulated robots."""
    for seed in range(first, first + count):
        yield ROBOTS[seed % len(ROBOTS)], str(seed), partial(robot_looks.outcome, seed, harsh)


def scenes(first: int, count: int) -> Iterator[Case]:
    """Single faces, the size not told."""
    for seed, kind in product(range(first, first + count), SCENES):
        yield kind, f"{kind} {seed}", partial(_located, kind, seed)


def _located(kind: str, seed: int) -> str:
    face = FACES[seed % 6]
    cube = render_scene(kind, seed, 2 + seed % 2, face)
    grids = locate_grids(cube.frames[face].image)
    if not grids:
        return "none"
    if is_right(grids[0], cube, face):
        return "right"
    return "among others" if any(is_right(grid, cube, face) for grid in grids) else "another"


def mixed_up(sizes: list[int]) -> Iterator[Case]:
    """Every real set with every mistake."""
    for size in sizes:
        for real in known_sets(size):
            for mistake in mistakes():
                case = partial(scans.outcome, real.colours, real.truth, mistake)
                place = f"{mistake.source} {mistake.turns} {mistake.mirrored}"
                yield f"{size}x{size}x{size}", f"{real.name} {place}", case


def two_turns() -> Iterator[Case]:
    """Every cube two turns from solved with any picture turned."""
    for moves, truth in two_turns_from_solved():
        colours = classic(truth)
        for face, quarters in product(FACES, (1, 2, 3)):
            case = partial(scans.outcome, colours, truth, turned(face, quarters))
            yield "two turns", f"{moves} with {face} turned {quarters}", case


def run(file: Path, cases: Iterator[Case]) -> None:
    """Append the outcomes of the cases that are missing."""
    done = {(row["group"], row["case"]) for row in lines(file)}
    with file.open("a") as out:
        for group, name, outcome_of in cases:
            if (group, name) not in done:
                start = time.process_time()
                row = {"group": group, "case": name, "outcome": outcome_of()}
                row["cpu_s"] = round(time.process_time() - start, 4)
                print(json.dumps(row), file=out, flush=True)


def lines(file: Path) -> list[dict[str, object]]:
    """What the file tells so far."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


def summed(rows: list[dict[str, object]]) -> list[str]:
    """How often each outcome came, by group, and the cases read wrong."""
    told = []
    for group in sorted({str(row["group"]) for row in rows}):
        counts = Counter(str(row["outcome"]) for row in rows if row["group"] == group)
        share = f"{counts['right'] / counts.total():.2%} of {counts.total()} right"
        told.append(f"{group}: {share}; {dict(counts)}")
    return told + [f"wrong: {row['case']}" for row in rows if row["outcome"] == "wrong"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in ("rendered", "robots", "scenes"):
        seeds = kinds.add_parser(kind)
        seeds.add_argument("first", type=int)
        seeds.add_argument("count", type=int)
        if kind != "scenes":
            seeds.add_argument("--harsh", type=float, default=1.0)
    kinds.add_parser("mistakes").add_argument("sizes", type=int, nargs="+")
    kinds.add_parser("two-turns")
    return parser.parse_args()


def _cases(wanted: argparse.Namespace) -> Iterator[Case]:
    if wanted.kind == "rendered":
        return rendered(wanted.first, wanted.count, wanted.harsh)
    if wanted.kind == "robots":
        return robots(wanted.first, wanted.count, wanted.harsh)
    if wanted.kind == "scenes":
        return scenes(wanted.first, wanted.count)
    return mixed_up(wanted.sizes) if wanted.kind == "mistakes" else two_turns()


if __name__ == "__main__":
    cv2.setNumThreads(1)
    arguments = _arguments()
    run(arguments.file, _cases(arguments))
    print("\n".join(summed(lines(arguments.file))))
