"""Mutants tried without a copy: in forks of a pytest process that has collected some tests.

Nothing is written: a function's code is exchanged in the fork's memory, and what a file defines
when it is imported is tried in a process that reads the changed text instead of the file's
(:mod:`tests.mutants.replaced`). Processes that tests start run the code as it is. A mutant that
only they would notice survives here, so the share noticed is a lower bound.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest

from tests.mutants.changes import Mutant
from tests.mutants.copy import MARK, POLL_S, end_marked
from tests.mutants.lines import telling_lines

Judge = Callable[[Mutant, Mapping[str, object]], None]

OPTIONS = (
    "-n",
    "0",
    "-q",
    "-s",
    "--no-header",
    "--tb=no",
    "-p",
    "no:cacheprovider",
    "-m",
    "not long",
)
PASSED, NOT_COLLECTED = 0, 97
write = os.write
"""As it is before tests put something else in its place."""
SLOWER, START_S, LIMIT_ALONE_S = 5, 30.0, 600.0
"""Times as long as when they were traced, and beyond that: a hang."""


@dataclass
class Trace:
    """Which tests run which line of which file, and the seconds that each test takes."""

    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(dict))
    durations: dict[str, float] = field(default_factory=dict)

    def chosen(self, mutant: Mutant, budget_s: float) -> list[str]:
        """The tests that run a mutant's statement, else those that run its file; quick ones first,
        as many as take ``budget_s`` together."""
        of_file = self.lines.get(mutant.path, {})
        telling = telling_lines(mutant.before, mutant.line)
        own = {test for line in telling for test in of_file.get(line, ())}
        tests = own or {test for found in of_file.values() for test in found}
        chosen, took_s = [], 0.0
        for test in sorted(tests & self.durations.keys(), key=self.durations.__getitem__):
            if took_s + self.durations[test] <= budget_s or not chosen:
                chosen.append(test)
                took_s += self.durations[test]
        return chosen


class Forks:
    """A pytest plugin: once the tests are collected, mutants are tried instead of running them."""

    def __init__(self, mutants: Sequence[Mutant], budget_s: float, judge: Judge) -> None:
        self._mutants = mutants
        self._budget_s = budget_s
        self._judge = judge
        self._trusted: dict[str, bool] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests, then try one mutant after the other."""
        trace = traced(session)
        for mutant in self._mutants:
            started = time.monotonic()
            found = self._tried(mutant, session, trace)
            self._judge(mutant, found | {"took_s": round(time.monotonic() - started, 1)})
        return True

    def _tried(self, mutant: Mutant, session: pytest.Session, trace: Trace) -> dict[str, object]:
        """What becomes of a mutant; a test that does not pass by itself is left out, and again."""
        while True:
            tests = trace.chosen(mutant, self._budget_s)
            limit_s = START_S + SLOWER * sum(trace.durations[test] for test in tests)
            if not tests:
                return {"outcome": "survived", "tests": 0, "by": "no test runs it"}
            if is_defined_at_import(mutant):
                found = tried_anew(mutant, tests, limit_s)
            else:
                found = tried_in_a_fork(mutant, tests, session, limit_s)
            killer = str(found.get("by", "")).removeprefix("FAILED ").partition(" - ")[0]
            if killer not in trace.durations or self._passes_alone(killer, session):
                return {**found, "tests": len(tests)}
            del trace.durations[killer]

    def _passes_alone(self, test: str, session: pytest.Session) -> bool:
        if test not in self._trusted:

            def alone() -> int:
                return _failing([test], session)

            self._trusted[test] = _forked(alone, session, LIMIT_ALONE_S)[0] == PASSED
        return self._trusted[test]


def run(tests: Sequence[str], mutants: Sequence[Mutant], budget_s: float, judge: Judge) -> int:
    """Try mutants against tests (arguments of pytest); pytest's exit code."""
    with tempfile.TemporaryDirectory(prefix="cubist-mutants-") as scratch:
        folders = {"XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"}
        _link_tables(Path(scratch) / "cache")
        os.environ |= {name: f"{scratch}/{folder}" for name, folder in folders.items()}
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": scratch, "COLUMNS": "400"}
        return int(pytest.main([*OPTIONS, *tests], plugins=[Forks(mutants, budget_s, judge)]))


def is_defined_at_import(mutant: Mutant) -> bool:
    """Whether the change is in no function's body: a constant, a default, a field."""
    before, after = (
        _functions(compile(text, "", "exec")) for text in (mutant.before, mutant.after)
    )
    return before == after or before.keys() != after.keys()


def exchange(mutant: Mutant, root: Path) -> int:
    """Give a file's functions their changed code; how many have it now."""
    path = str(root / mutant.path)
    before, after = (
        _functions(compile(text, path, "exec")) for text in (mutant.before, mutant.after)
    )
    count = 0
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == path:
            key = _key(function.__code__)
            if key in after and before[key] != after[key]:
                function.__code__ = after[key]
                count += 1
    return count


def traced(session: pytest.Session) -> Trace:
    """Run all tests once, in a fork, to see what they run. What fails is left out; raises
    ``SystemExit`` if nothing is left."""
    with tempfile.TemporaryDirectory() as folder:
        data, durations = Path(folder) / "coverage", Path(folder) / "durations.json"

        def measure() -> int:
            measured = coverage.Coverage(
                data_file=str(data), source=["robot", "solver", "vision"], config_file=False
            )
            meter = Meter(measured)
            session.config.pluginmanager.register(meter)
            measured.start()
            session.config.hook.pytest_runtestloop(session=session)
            measured.stop()
            measured.save()
            durations.write_text(json.dumps(meter.of_passed()))
            return PASSED

        _, said = _forked(measure, session, float("inf"))
        if said.startswith("FAILED"):
            print(f"left out, as it does not pass on the code as it is: {said}", flush=True)
        trace = Trace(durations=json.loads(durations.read_text()))
        if not trace.durations:
            raise SystemExit("none of these tests passes on the code as it is")
        found = coverage.CoverageData(basename=str(data))
        found.read()
        for file in found.measured_files():
            path = os.path.relpath(file, session.config.rootpath)
            for line, tests in found.contexts_by_lineno(file).items():
                trace.lines[path][line] = {test for test in tests if test}
    return trace


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


def tried_in_a_fork(
    mutant: Mutant, tests: Sequence[str], session: pytest.Session, limit_s: float
) -> Mapping[str, object]:
    """What becomes of a mutant in a fork of this process."""

    def attempt() -> int:
        if not exchange(mutant, session.config.rootpath):
            return NOT_COLLECTED
        return _failing(tests, session)

    code, said = _forked(attempt, session, limit_s)
    if code == NOT_COLLECTED:
        return tried_anew(mutant, tests, limit_s)
    return _judged(code, said)


def tried_anew(mutant: Mutant, tests: Sequence[str], limit_s: float) -> Mapping[str, object]:
    """What becomes of a mutant in a process of its own."""
    mark = uuid.uuid4().hex
    with tempfile.NamedTemporaryFile(suffix=".py") as changed:
        changed.write(mutant.after)
        changed.flush()
        chosen = [sys.executable, "-m", "pytest", *OPTIONS, "-x", "-p", "tests.mutants.replaced"]
        replaced = {"CUBIST_REPLACED": mutant.path, "CUBIST_REPLACEMENT": changed.name, MARK: mark}
        try:
            done = subprocess.run(
                [*chosen, *tests],
                env=dict(os.environ) | replaced,
                capture_output=True,
                text=True,
                check=False,
                timeout=limit_s,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": "timeout"}
        finally:
            end_marked(mark)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return _judged(done.returncode, failed[0][:200] if failed else done.stdout[-200:])


def _failing(tests: Sequence[str], session: pytest.Session) -> int:
    """Run some of the tests collected, up to the first that fails; how many did."""
    items = {item.nodeid: item for item in session.items}
    session.items[:] = [items[test] for test in tests]
    session.config.option.maxfail = 1
    try:
        session.config.hook.pytest_runtestloop(session=session)
    except session.Failed:
        return 1
    return session.testsfailed


def _judged(code: int | None, said: str) -> Mapping[str, object]:
    if code is None:
        return {"outcome": "timeout"}
    return {"outcome": "survived"} if code == PASSED else {"outcome": "killed", "by": said}


def _forked(
    work: Callable[[], int], session: pytest.Session, limit_s: float
) -> tuple[int | None, str]:
    """The exit code of ``work`` in a fork, None after too long, and the first test that failed."""
    mark, (tells, told) = uuid.uuid4().hex, os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.environ[MARK] = mark
        silent = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silent, stream)
        code = 1
        try:
            session.config.pluginmanager.unregister(
                next(p for p in session.config.pluginmanager.get_plugins() if isinstance(p, Forks))
            )
            session.config.pluginmanager.register(FirstFailure(told))
            code = work()
        finally:
            os._exit(min(code, 99))
    os.close(told)
    try:
        code = _ended(child, time.monotonic() + limit_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        end_marked(mark)
    with os.fdopen(tells) as stream:
        return code, (stream.read().splitlines() or ["the tests' process ended"])[0]


class FirstFailure:
    """A pytest plugin: says which test failed."""

    def __init__(self, to: int) -> None:
        self._to = to

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test is over."""
        if report.failed:
            write(self._to, f"FAILED {report.nodeid}\n".encode())


def _ended(child: int, until: float) -> int | None:
    """The exit code of a child; None when it had to be killed."""
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(POLL_S / 10)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _functions(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """A file's functions by name and line; bodies of classes are none."""
    return {_key(each): each for each in _inner(code) if each.co_flags & inspect.CO_OPTIMIZED}


def _inner(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner(constant)


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _link_tables(cache: Path) -> None:
    """The user's tables for reading; what a mutant makes of them stays in ``cache``."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for file in (usual / "cubist").rglob("*"):
        if file.is_file():
            place = cache / file.relative_to(usual)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(file)
