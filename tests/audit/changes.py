"""Draw a sample of small changes to the product's sources, such as a tired programmer makes."""

from __future__ import annotations

import difflib
import random
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.audit.edits import c_edits, python_edits

READERS = {
    ".py": python_edits,
    ".c": c_edits,
    ".cpp": c_edits,
    ".h": c_edits,
    ".hpp": c_edits,
}
GENERATED = b"enerated"
"""A mark in the first lines of generated files, which a test compares with the generator."""
NOT_THE_PRODUCT = ("docs/", "firmware/tests/", "firmware/fuzz/", "firmware/tools/", "tests/")
DRAWINGS = ("vision/explain.py", "robot/display/drawing.py", "robot/records/timeline.py")
"""Files whose integers are positions on a canvas, chosen by eye: constants are not changed."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change."""

    path: str
    line: int
    kind: str
    before: bytes
    after: bytes

    @property
    def is_python(self) -> bool:
        """True if no build is needed."""
        return self.path.endswith(".py")

    def difference(self) -> str:
        """Return the changed lines in the format of ``diff -U0``."""
        old, new = (text.decode().splitlines() for text in (self.before, self.after))
        return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=0))[3:])


def source_files(root: Path, places: str) -> list[str]:
    """Return the product's sources in a comma-separated list of files and folders.

    Raises ``SystemExit`` for a folder or file without any.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split("\0") if name and (root / name).is_file()]
    files: set[str] = set()
    for place in places.split(","):
        found = set(_sources_in(root, names, place.rstrip("/")))
        if not found:
            raise SystemExit(f"{place}: no source of the product is there")
        files |= found
    return sorted(files)


def _sources_in(root: Path, names: Iterable[str], place: str) -> list[str]:
    return [
        name
        for name in names
        if (place in (".", name) or name.startswith(place + "/"))
        and Path(name).suffix in READERS
        and not name.startswith(NOT_THE_PRODUCT)
        and GENERATED not in (root / name).read_bytes()[:300]
    ]


def sample(root: Path, files: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Return ``count`` mutants of different lines, or fewer if there are not enough lines.

    Draws lines first, then a change of each, so that a line with many constants is not preferred.
    """
    draw = random.Random(seed)
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for name in files:
        before = (root / name).read_bytes()
        for change in READERS[Path(name).suffix](before):
            if change.kind == "constant" and name.startswith(DRAWINGS):
                continue
            after = before[: change.start] + change.text + before[change.end :]
            line = before.count(b"\n", 0, change.start) + 1
            mutant = Mutant(name, line, change.kind, before, after)
            lines.setdefault((name, line), []).append(mutant)
    chosen = draw.sample(sorted(lines), min(count, len(lines)))
    return [draw.choice(lines[place]) for place in chosen]
