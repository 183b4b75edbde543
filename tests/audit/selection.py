"""Choose the tests that may notice a change, and end them after a budget of processor time.

Tests are chosen by their files' names and imports, so nothing is traced first. Processor time makes
the result independent of other work on the computer. In a process of its own, pytest loads this
module as a plugin (``-p tests.audit.selection``).
"""

from __future__ import annotations

import os
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


class Selection:
    """The collected tests by file, ranked for each mutant."""

    def __init__(self, root: Path, tests: Sequence[str]) -> None:
        self._tests: dict[str, list[str]] = {}
        for test in tests:
            self._tests.setdefault(test.partition("::")[0], []).append(test)
        self._texts = {file: (root / file).read_text() for file in self._tests}

    def choose(self, mutant: Mutant) -> list[str]:
        """Return the tests that may notice a mutant, likeliest first: files named after its
        module, files that import it, files of its room."""
        ranks = {file: self._rank(file, mutant) for file in self._tests}
        ranked = sorted((rank, file) for file, rank in ranks.items() if rank is not None)
        return [test for _, file in ranked for test in self._tests[file]]

    def leave_out(self, test: str) -> None:
        """Choose a test no more: it does not pass by itself."""
        for tests in self._tests.values():
            if test in tests:
                tests.remove(test)

    def _rank(self, file: str, mutant: Mutant) -> int | None:
        path = Path(mutant.path)
        words = {path.stem, path.stem.rstrip("s"), path.parent.name} - {"core", "native"}
        if not mutant.is_python:
            if not file.startswith(C_TESTS.get(path.parts[0], ())):
                return None
            return 0 if any(word in file for word in words) else 1
        if any(f"test_{word}" in file for word in words - {path.parent.name}):
            return 0
        if ".".join(path.with_suffix("").parts) in self._texts[file]:
            return 1
        folder = file.split("/")[1]
        if path.parent.name in (folder, Path(file).stem.removeprefix("test_")):
            return 2
        return (
            3 if folder == (path.parts[1] if path.parts[0] == "robot" else path.parts[0]) else None
        )


class Budget:
    """A pytest plugin that ends a run when its processor time, children included, is spent."""

    VARIABLE = "CUBIST_CPU_BUDGET_S"

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        budget_s = float(os.environ.get(self.VARIABLE, "inf"))
        self._cpu_end_s = _used_cpu_s() + budget_s
        self._end_s = time.monotonic() + WALL_PER_CPU * budget_s

    def pytest_runtest_logfinish(self) -> None:
        """Compare the time used with the budget after each test."""
        if _used_cpu_s() > self._cpu_end_s or time.monotonic() > self._end_s:
            self._session.shouldstop = "the budget is spent"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Limit a process of its own to the budget in its environment."""
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
