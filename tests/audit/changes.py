"""One small change to a source file, such as a tired programmer makes."""

from __future__ import annotations

import difflib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.audit import c_source, python_source

READERS = {
    ".py": python_source.changes,
    ".c": c_source.changes,
    ".cpp": c_source.changes,
    ".h": c_source.changes,
    ".hpp": c_source.changes,
}
GENERATED = b"enerated"
"""A file whose first lines hold this is made by a program, whose test compares it."""
NOT_THE_PRODUCT = ("docs/", "firmware/tests/", "firmware/fuzz/", "firmware/tools/", "tests/")
DRAWINGS = ("vision/explain/", "robot/display/drawing.py", "robot/records/timeline.py")
"""Where a whole number is a place on a canvas, chosen by eye: constants stay."""


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
        """Whether nothing has to be built for it."""
        return self.path.endswith(".py")

    def difference(self) -> str:
        """The changed lines, as ``diff -U0`` shows them."""
        old, new = (text.decode().splitlines() for text in (self.before, self.after))
        shown = list(difflib.unified_diff(old, new, lineterm="", n=0))[3:]
        return "\n".join(shown)


def source_files(root: Path, names: Iterable[str], under: str) -> list[str]:
    """The product's sources among ``names`` that are ``under`` or lie in it."""
    inside = under.rstrip("/")
    return sorted(
        name
        for name in names
        if (inside in (".", name) or name.startswith(inside + "/"))
        and Path(name).suffix in READERS
        and not name.startswith(NOT_THE_PRODUCT)
        and GENERATED not in (root / name).read_bytes()[:300]
    )


def sample(root: Path, files: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants, each of another line: lines are drawn first, then a change of each.

    Drawing lines keeps a line of many constants from being drawn many times. Fewer come back
    where there are not as many lines to change.
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
