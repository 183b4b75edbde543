"""Choose the tests that may notice a change, and end them after a budget of processor time.

A test is chosen if it runs the changed statement. Module constants are used elsewhere, and lines of
C and C++ are not recorded: for these, a test is chosen if it runs a line of Python with the name of
the changed object. Processor time makes the result independent of other work on the computer. The
pytest processes that try a mutant load this module as a plugin (``-p tests.audit.selection``).
"""

from __future__ import annotations

import ast
import os
import re
import resource
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.audit.changes import Mutant
from tests.audit.record import Record

FAR = 3.0
"""Factor on the cost of tests in other folders, so that they run later."""
SLOW_S = 1.0
"""Duration above which tests of a file form a separate group, after the quick tests of others."""
UNKNOWN_S = 1.0
FIRST_TESTS = 40
"""Number of tests in the first pytest process, which has fewer files to import."""
BOARDS = ("avr", "host", "linux", "rp2040")
"""Folders of the firmware with their own program; the others are part of all programs."""
WALL_PER_CPU = 3
"""Maximum elapsed seconds per second of the budget: some tests wait more than they work."""
MOST_MEMORY_BYTES = 4 << 30
FIRMWARE_SOURCES = "CUBIST_FIRMWARE_SOURCES"
"""Environment variable with the folder of changed firmware sources, for tests that build boards."""


class Selection:
    """The test files in ``places`` except the audit's own, ranked for each mutant by a record."""

    def __init__(self, root: Path, places: Sequence[str], folder: Path) -> None:
        self._root = root
        files = {root / place for place in places if place.endswith(".py")}
        files |= {file for place in places for file in (root / place).rglob("test_*.py")}
        judges = sorted(file for file in files if file.parent.name != "audit")
        self._texts = {str(file.relative_to(root)): file.read_text() for file in judges}
        self._record = Record(root, places, folder)

    def choose(self, mutant: Mutant) -> list[list[str]]:
        """Return groups of tests that may notice a mutant, near and cheap ones first.

        A near test file that is newer than the record is chosen as a whole.
        """
        near = {file for file in self._texts if self._is_near(file, mutant.path)}
        new = {file for file in near if self._record.is_older(file)}
        parts: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
        for test in sorted(self._find(mutant) | new, key=self._cost):
            file = test.partition("::")[0]
            if test in new or file in self._texts.keys() - new:
                parts[file, self._cost(test) > SLOW_S].append(test)
        costs = {
            part: sum(map(self._cost, tests)) * (1 if part[0] in near else FAR)
            for part, tests in parts.items()
        }
        tests = [test for part in sorted(parts, key=costs.__getitem__) for test in parts[part]]
        return [group for group in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]) if group]

    def _cost(self, test: str) -> float:
        return self._record.costs.get(test, UNKNOWN_S)

    def _is_near(self, file: str, changed: str) -> bool:
        """Return True for test files named after the module, importing it, or for its folder."""
        path = Path(changed)
        module, rooms = ".".join(path.with_suffix("").parts), path.parts[:2]
        return path.stem in file or module in self._texts[file] or file.split("/")[1] in rooms

    def _find(self, mutant: Mutant) -> set[str]:
        if not mutant.is_python:
            return self._name(_names_of(self._root, mutant.path))
        lines, names = _statement(mutant)
        if not lines:
            return self._record.tests_of(mutant.path) | self._name(names)
        return self._record.tests_of(mutant.path, lines) or self._record.tests_of(mutant.path)

    def _name(self, names: Sequence[str]) -> set[str]:
        """Return the tests with one of the names in their file, or that run a line with it."""
        if not names:
            return set()
        expression = rf"(?<![\w-])(?:{'|'.join(names)})(?!\w)"
        files = {file for file, text in self._texts.items() if re.search(expression, text)}
        written = {test for test in self._record.costs if test.partition("::")[0] in files}
        return written | self._record.tests_naming(expression)


def _statement(mutant: Mutant) -> tuple[set[int], list[str]]:
    """Return the lines of a changed statement in a function, or else the names it defines."""
    around = [
        node
        for node in ast.walk(ast.parse(mutant.before))
        if isinstance(node, ast.stmt) and node.lineno <= mutant.line <= (node.end_lineno or 0)
    ]
    inner, outer = around[-1], {type(node) for node in around}
    if outer & {ast.FunctionDef, ast.AsyncFunctionDef}:
        end = inner.end_lineno or 0
        if body := getattr(inner, "body", None):
            end = end if "Function" in type(inner).__name__ else body[0].lineno - 1
        return {mutant.line, *range(inner.lineno, end + 1)}, []
    names = [node.name for node in around if isinstance(node, ast.ClassDef)]
    stored = [node for node in ast.walk(inner) if isinstance(node, ast.Name)]
    return set(), names + [node.id for node in stored if isinstance(node.ctx, ast.Store)]


def _names_of(root: Path, path: str) -> list[str]:
    """Return the programs that contain a firmware source, or the Python names of the kernel's
    bindings to the folder of a kernel source."""
    folder = Path(path).parts[2]
    if path.startswith("firmware/"):
        folder = Path(path).parts[1]
        programs = [folder] if folder in BOARDS else BOARDS
        return ["unit_tests", *(f"cubist-firmware-{program}" for program in programs)]
    texts = [file.read_text() for file in (root / "solver/native/bind").iterdir()]
    bound = [text for text in texts if folder == "cube" or f'"{folder}/' in text]
    if Path(path).name.startswith("bind_"):
        bound = [(root / path).read_text()]
    words = set(re.findall(r'"(\w+)"', "".join(bound)))
    return [rf"_native\.{word}" for word in sorted(words)]


class Budget:
    """A pytest plugin that ends a run when its processor time, including children, is spent."""

    VARIABLE = "CUBIST_CPU_BUDGET_S"

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._budget_s = float(os.environ.get(self.VARIABLE, "inf"))
        self._begun_s, self._end_s = _used_cpu_s(), time.monotonic() + WALL_PER_CPU * self._budget_s

    def pytest_runtest_logfinish(self) -> None:
        used_s = _used_cpu_s() - self._begun_s
        if used_s > self._budget_s or time.monotonic() > self._end_s:
            self._session.shouldstop = "the budget is spent"

    def pytest_unconfigure(self) -> None:
        is_over = time.monotonic() > self._end_s
        used_s = self._budget_s if is_over else _used_cpu_s() - self._begun_s
        print(f"\nprocessor time of the tests: {used_s:.1f} s")

    @staticmethod
    def spent_s(console: str) -> float:
        """Return the time that a process has used, from its output."""
        found = re.search(r"processor time of the tests: ([\d.]+) s", console)
        return float(found[1]) if found else 0.0


def pytest_sessionstart() -> None:
    """Prepare a process that tries a mutant: its memory limit and the sources of the firmware."""
    if os.environ.keys() & {"CUBIST_REPLACED", "CUBIST_NATIVE"}:  # sanitizers reserve more
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, resource.RLIM_INFINITY))
    if FIRMWARE_SOURCES in os.environ:
        from robot.computer import board_family

        board_family.sources = lambda: Path(os.environ[FIRMWARE_SOURCES])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Run tests in the given order, up to the end of the budget."""
    split = [argument.partition("::") for argument in session.config.args]
    order = [f"{Path(file).resolve()}::{name}" for file, _, name in split]

    def place(item: pytest.Item) -> int:
        test = f"{item.path}::{item.nodeid.partition('::')[2]}"
        return next((n for n, start in enumerate(order) if test.startswith(start)), len(order))

    session.items.sort(key=place)
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
