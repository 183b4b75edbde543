"""Which tests run which lines, for mutants tried in forks: found once for each file of tests, and
kept in build/mutants/within as long as the file and what helps it stay the same.

Processes that tests start are traced, too. Where a source has changed since, its lines are found
again by their text.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import coverage
import pytest

from tests.audit.changes import Mutant
from tests.audit.lines import telling_lines

STARTED = Path(__file__).with_name("started")
"""In the PYTHONPATH of what tests start."""
PHASE = re.compile(r" \((setup|call|teardown)\)$")
QUICK_S = (0.1, 1.0, 5.0)
"""Tests are asked in classes by how long they take, and file by file in each: going from file to
file and back would set each file's fixtures up again and again."""
SLOW_S = 10.0
"""Tests that take longer while they are traced are left out."""
RCFILE = """\
[run]
source =
    {root}/robot
    {root}/solver
    {root}/vision
data_file = {data}
parallel = true
sigterm = true
context = ${{PYTEST_CURRENT_TEST-}}
disable_warnings = no-data-collected,module-not-imported,module-not-measured,already-imported
"""


@dataclass
class Trace:
    """Which tests run which line of which file, and the seconds that each test takes."""

    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(dict))
    durations: dict[str, float] = field(default_factory=dict)
    collected: set[str] = field(default_factory=set)
    """The tests that were run for it, also those that do not pass."""

    def chosen(self, mutant: Mutant, budget_s: float) -> list[str]:
        """The tests that run a mutant's statement, else those that run its file; quick ones first,
        as many as take ``budget_s`` together. Of C and C++ it is not known what runs a line: the
        tests of its folders, those of its subject first."""
        if not mutant.is_python:
            return self._within(self.durations.keys(), budget_s, words_of(mutant.path))
        of_file = self.lines.get(mutant.path, {})
        telling = telling_lines(mutant.before, mutant.line)
        own = {test for line in telling for test in of_file.get(line, ())}
        tests = own or {test for found in of_file.values() for test in found}
        return self._within(tests & self.durations.keys(), budget_s)

    def _within(
        self, tests: Sequence[str] | set[str], budget_s: float, words: Sequence[str] = ()
    ) -> list[str]:
        def rank(test: str) -> tuple[bool, int]:
            return not any(word in test for word in words), self._slowness(test)

        chosen, took_s = [], 0.0
        for test in sorted(tests, key=lambda test: (rank(test)[0], self.durations[test], test)):
            if took_s + self.durations[test] <= budget_s or not chosen:
                chosen.append(test)
                took_s += self.durations[test]
        return sorted(chosen, key=lambda test: (rank(test), test.partition("::")[0]))

    def _slowness(self, test: str) -> int:
        return sum(self.durations[test] > limit for limit in QUICK_S)

    def add(self, other: Trace) -> None:
        """What another knows, of other tests."""
        self.durations |= other.durations
        for path, lines in other.lines.items():
            for line, tests in lines.items():
                self.lines[path].setdefault(line, set()).update(tests)


def words_of(path: str) -> list[str]:
    """What tests of a source in C or C++ are called: its folder, and the subject of its file."""
    folder, stem = Path(path).parts[-2], Path(path).stem
    return [word for word in (folder, stem) if word not in ("core", "native")]


class Kept:
    """Traces of files of tests, in a folder."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._texts = folder / "sources"
        self._texts.mkdir(parents=True, exist_ok=True)

    def read(self, test_file: str) -> Trace | None:
        """What is known of a file of tests; None where it, or what helps it, has changed since."""
        place = self._place(test_file)
        kept = json.loads(place.read_text()) if place.is_file() else {}
        if kept.get("digest") != self._digest(test_file):
            return None
        trace = Trace(durations=kept["durations"], collected=set(kept["collected"]))
        tests = kept["tests"]
        for path, found in kept["lines"].items():
            now = self._moved(path, kept["sources"][path])
            for line, numbers in found.items():
                if int(line) in now:
                    trace.lines[path][now[int(line)]] = {tests[number] for number in numbers}
        return trace

    def write(self, test_file: str, trace: Trace) -> None:
        """Keep what was found of a file of tests."""
        tests = sorted(trace.durations)
        numbers = {test: number for number, test in enumerate(tests)}
        lines = {
            path: {
                line: sorted(numbers[t] for t in run if t in numbers) for line, run in of.items()
            }
            for path, of in trace.lines.items()
        }
        sources = {path: self._keep_text(path) for path in lines}
        document = {
            "digest": self._digest(test_file),
            "tests": tests,
            "collected": sorted(trace.collected),
            "durations": trace.durations,
            "sources": sources,
            "lines": lines,
        }
        self._place(test_file).write_text(json.dumps(document))

    def _place(self, test_file: str) -> Path:
        return self._folder / (test_file.replace("/", ".") + ".json")

    def _digest(self, test_file: str) -> str:
        """Of a file of tests and of what it may import from its folder."""
        file = self._root / test_file
        helpers = sorted(p for p in file.parent.rglob("*.py") if not p.name.startswith("test_"))
        content = b"".join(p.read_bytes() for p in [file, *helpers])
        return hashlib.sha256(content).hexdigest()

    def _keep_text(self, path: str) -> str:
        text = (self._root / path).read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        (self._texts / digest).write_bytes(text)
        return digest

    def _moved(self, path: str, digest: str) -> dict[int, int]:
        file = self._root / path
        return moved_lines(self._texts / digest, file) if file.is_file() else {}


@cache
def moved_lines(before: Path, after: Path) -> dict[int, int]:
    """Where the lines of a text are now, counted from one; those that changed are left out."""
    old, new = (path.read_text().splitlines() for path in (before, after))
    if old == new:
        return {line: line for line in range(1, len(old) + 1)}
    same = difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_matching_blocks()
    return {
        block.a + 1 + number: block.b + 1 + number for block in same for number in range(block.size)
    }


class Meter:
    """A pytest plugin: coverage knows the test that runs; how long each takes."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self._durations: dict[str, float] = defaultdict(float)
        self._failed: set[str] = set()

    def of_passed(self) -> dict[str, float]:
        """The seconds that each test took which has passed."""
        return {test: s for test, s in self._durations.items() if test not in self._failed}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins."""
        self._measured.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of it is over."""
        self._durations[report.nodeid] += report.duration
        if not report.passed:  # skipped ones are no help either
            self._failed.add(report.nodeid)


def measure(session: pytest.Session, items: Sequence[pytest.Item], folder: Path) -> None:
    """Run some of the tests collected, traced; to be called in a fork. :func:`found` reads it."""
    rcfile = folder / "rcfile"
    root = session.config.rootpath
    rcfile.write_text(RCFILE.format(root=root, data=folder / "coverage"))
    os.environ["COVERAGE_PROCESS_START"] = str(rcfile)
    os.environ.pop("PYTEST_CURRENT_TEST", None)  # of tests that this is a part of
    measured = coverage.Coverage(config_file=str(rcfile))
    meter = Meter(measured)
    session.config.pluginmanager.register(meter)
    session.items[:] = items
    for item in items:
        item.add_marker(pytest.mark.timeout(SLOW_S, method="signal", func_only=True))
    measured.start()
    try:
        session.config.hook.pytest_runtestloop(session=session)
    finally:
        measured.stop()
        measured.save()
        (folder / "durations.json").write_text(json.dumps(meter.of_passed()))


def found(folder: Path, root: Path) -> Trace:
    """What :func:`measure` wrote."""
    durations = folder / "durations.json"
    if not durations.is_file():
        return Trace()
    trace = Trace(durations=json.loads(durations.read_text()))
    rcfile = str(folder / "rcfile")
    measured = coverage.Coverage(data_file=str(folder / "coverage"), config_file=rcfile)
    measured.combine([str(folder)])
    data = measured.get_data()
    for file in data.measured_files():
        path = os.path.relpath(file, root)
        for line, contexts in data.contexts_by_lineno(file).items():
            tests = {PHASE.sub("", context) for context in contexts} & trace.durations.keys()
            if tests:
                trace.lines[path][line] = tests
    return trace


def traces(
    session: pytest.Session, kept: Kept, fork: Callable[[Callable[[], int]], str]
) -> Iterator[Trace]:
    """Of each file of the tests collected, what is kept or what running it shows.

    ``fork`` runs work in a fork, and says which test failed first.
    """
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in session.items:
        files[item.nodeid.partition("::")[0]].append(item)
    for name, items in files.items():
        trace = kept.read(name)
        collected = {item.nodeid for item in items}
        if trace is None or not collected <= trace.collected:
            print(f"tracing {name} ...", flush=True)
            trace = _run(session, items, fork)
            trace.collected = collected
            kept.write(name, trace)
        yield trace


def _run(
    session: pytest.Session,
    items: Sequence[pytest.Item],
    fork: Callable[[Callable[[], int]], str],
) -> Trace:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)

        def work() -> int:
            measure(session, items, folder)
            return 0

        said = fork(work)
        if said.startswith("FAILED"):
            print(f"left out, as it does not pass on the code as it is: {said}", flush=True)
        return found(folder, session.config.rootpath)
