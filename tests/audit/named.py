"""Tests chosen without tracing them: those whose files name the changed module, as far as a budget
of processor time goes.

A computer busy with other work makes no difference to what such a run finds.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import pytest

from tests.audit.changes import Mutant
from tests.audit.traced import words_of


class Named:
    """Which tests may notice a change of a file, by their names and by what they import."""

    def __init__(self, root: Path, tests: Sequence[str]) -> None:
        self._root = root
        self.durations = dict.fromkeys(tests, 0.0)
        """Nobody knows; a test that is taken out is not asked any more."""

    def chosen(self, mutant: Mutant, budget_s: float) -> list[str]:
        """All tests that may notice, likeliest first: in files named after the module, in files
        that import it, in its room. ``budget_s`` ends them (:class:`CpuBudget`)."""
        del budget_s
        ranks = {file: self._rank(file, mutant) for file in self._texts}
        files = sorted((rank, file) for file, rank in ranks.items() if rank < 4)
        return [test for _, file in files for test in self.durations if _file_of(test) == file]

    @cached_property
    def _texts(self) -> dict[str, str]:
        files = dict.fromkeys(_file_of(test) for test in self.durations)
        return {file: (self._root / file).read_text() for file in files}

    def _rank(self, file: str, mutant: Mutant) -> int:
        path = Path(mutant.path)
        room = path.parts[1] if path.parts[0] == "robot" else path.parts[0]
        if not mutant.is_python:
            words = words_of(mutant.path)
            return 0 if any(word in file for word in words) else 2
        if any(f"test_{word}" in file for word in (path.stem, path.stem.rstrip("s"))):
            return 0
        package = ".".join(path.with_suffix("").parts)
        if package in self._texts[file]:
            return 1
        folder = file.split("/")[1]
        if path.parent.name in (folder, Path(file).stem.removeprefix("test_")):
            return 2
        return 3 if folder == room else 4


class CpuBudget:
    """A pytest plugin: ends a run once it has used so much processor time, children included."""

    VARIABLE = "CUBIST_CPU_BUDGET_S"

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._until = _used_s() + float(os.environ.get(self.VARIABLE, "inf"))

    def pytest_runtest_logfinish(self) -> None:
        """A test is over."""
        if _used_s() > self._until:
            self._session.shouldstop = "the budget is spent"


def pytest_sessionstart(session: pytest.Session) -> None:
    """As a plugin of a process of its own; what stops it counts as having passed."""
    session.config.pluginmanager.register(CpuBudget(session))


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """The budget's end is no failure."""
    try:
        return (yield)
    except session.Interrupted:
        return session.testsfailed == 0


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _used_s() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)
