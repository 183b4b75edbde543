"""Fail if folders of the kernel include each other in a circle: `check_folders.py [ROOT]`.

The floors, lowest first: cube; then one folder a search; bind, which gives them Python names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

INCLUDE = re.compile(r'^#include "(\w+)/', re.MULTILINE)


def includes(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (folder, included folder, file) for each #include that leaves its folder."""
    for file in sorted(root.glob("*/*.[hc]pp")):
        for folder in INCLUDE.findall(file.read_text(encoding="utf-8")):
            if folder != file.parent.name:
                yield file.parent.name, folder, f"{file.relative_to(root)}"


def circle_in(root: Path) -> str:
    """Describe a circle between folders with a file for each step; empty if there is none."""
    steps: dict[tuple[str, str], str] = {}
    for folder, included, file in includes(root):
        steps.setdefault((folder, included), file)
    below: Mapping[str, set[str]] = {folder: set() for step in steps for folder in step}
    for folder, included in steps:
        below[folder].add(included)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        circle = error.args[1]  # each is included by the one after it
        return "\n".join(
            f"{upper} includes {lower}: {steps[upper, lower]}" for lower, upper in pairwise(circle)
        )
    return ""


if __name__ == "__main__":
    found = circle_in(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "solver/native"
    )
    if found:
        sys.exit(f"Folders of solver/native include each other in a circle:\n{found}")
