"""Choose the tests that may notice a change, and end them after a budget of processor time.

Tests are chosen by their files' names and imports, so nothing is traced first. Processor time makes
the result independent of other work on the computer. The pytest processes that try a mutant load
this module as a plugin (``-p tests.audit.selection``).
"""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.audit.changes import Mutant

C_TESTS = {
    "firmware": ("tests/firmware/", "tests/link/", "tests/simulate/"),
    "solver": ("tests/solver/", "tests/planner/"),
}
"""Folders of tests for the sources in C and C++ below each folder."""
WALL_PER_CPU = 2
"""Most elapsed seconds for each second of the budget: some tests wait more than they work."""
MOST_MEMORY_BYTES = 4 << 30
FIRMWARE_SOURCES = "CUBIST_FIRMWARE_SOURCES"
"""Variable with the folder of the firmware's changed sources, for tests that build boards."""


class Selection:
    """The test files in some places but the audit's own, ranked for each mutant."""

    def __init__(self, root: Path, places: Sequence[str]) -> None:
        files = {root / place for place in places if place.endswith(".py")}
        files |= {file for place in places for file in (root / place).rglob("test_*.py")}
        judges = sorted(file for file in files if file.parent.name != "audit")
        self._texts = {str(file.relative_to(root)): file.read_text() for file in judges}

    def choose(self, mutant: Mutant) -> list[list[str]]:
        """Return groups of files that may notice a mutant, likeliest first: named after its module,
        importing it, of its room."""
        groups: dict[int, list[str]] = {}
        for file in self._texts:
            rank = self._rank(file, mutant.path)
            if rank is not None:
                groups.setdefault(rank, []).append(file)
        return [groups[rank] for rank in sorted(groups)]

    def _rank(self, file: str, changed: str) -> int | None:
        path, folder = Path(changed), file.split("/")[1]
        words = {path.stem, path.stem.rstrip("s"), path.parent.name} - {"core", "native"}
        if path.suffix != ".py":
            if not file.startswith(C_TESTS.get(path.parts[0], ())):
                return None
            return 0 if any(word in file for word in words) else 1
        if any(f"test_{word}" in file for word in words - {path.parent.name}):
            return 0
        if ".".join(path.with_suffix("").parts) in self._texts[file]:
            return 1
        if path.parent.name in (folder, Path(file).stem.removeprefix("test_")):
            return 2
        room = path.parts[1] if path.parts[0] == "robot" else path.parts[0]
        return 3 if folder == room else None


class Budget:
    """A pytest plugin that ends a run when its processor time, children included, is spent."""

    VARIABLE = "CUBIST_CPU_BUDGET_S"

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._budget_s = float(os.environ.get(self.VARIABLE, "inf"))
        self._begun_s, self._end_s = _used_cpu_s(), time.monotonic() + WALL_PER_CPU * self._budget_s

    def pytest_runtest_logfinish(self) -> None:
        """Compare the time used with the budget after each test."""
        used_s = _used_cpu_s() - self._begun_s
        if used_s > self._budget_s or time.monotonic() > self._end_s:
            self._session.shouldstop = "the budget is spent"

    def pytest_unconfigure(self) -> None:
        """Say how much was used, for :meth:`spent_s`."""
        is_over = time.monotonic() > self._end_s
        used_s = self._budget_s if is_over else _used_cpu_s() - self._begun_s
        print(f"\nprocessor time of the tests: {used_s:.1f} s")

    @staticmethod
    def spent_s(console: str) -> float:
        """Return the time that a process has used, by what it printed."""
        found = re.search(r"processor time of the tests: ([\d.]+) s", console)
        return float(found[1]) if found else 0.0


def pytest_sessionstart() -> None:
    """Prepare a process that tries a mutant: its memory, and the sources of the firmware."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, resource.RLIM_INFINITY))
    if FIRMWARE_SOURCES in os.environ:
        from robot.computer import board_family

        board_family.sources = lambda: Path(os.environ[FIRMWARE_SOURCES])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Run tests in the order of the files given, each up to the end of the budget."""
    files = [str(Path(argument.partition("::")[0]).resolve()) for argument in session.config.args]
    session.items.sort(key=lambda item: files.index(str(item.path)))
    session.config.pluginmanager.register(Budget(session))


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Treat the end of the budget as a pass if no test has failed."""
    try:
        return (yield)
    except session.Interrupted:
        return session.testsfailed == 0


def _used_cpu_s() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)
