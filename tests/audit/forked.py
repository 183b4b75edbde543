"""Mutants tried without a copy: in forks of a pytest process that has collected some tests.

No source of the checkout is written: a function's code is exchanged in the fork's memory, and what
a file defines when it is imported is tried in a process that reads the changed text instead of the
file's. Python that tests start reads it as well (``started/sitecustomize.py``). C and C++ are built
beside the checkout's build (:mod:`tests.audit.native`).
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from robot.computer import firmware_build
from tests.audit.changes import Mutant
from tests.audit.copy import MARK, POLL_S, DoesNotBuild, end_marked
from tests.audit.named import CpuBudget, Named
from tests.audit.native import Firmware, Kernel
from tests.audit.traced import STARTED, Kept, Trace, traces

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
_CACHED = type(cache(lambda: None))
SLOWER, START_S, LIMIT_ALONE_S = 5, 30.0, 600.0
"""Times as long as when they were traced, and beyond that: a hang."""


class Forks:
    """A pytest plugin: once the tests are collected, mutants are tried instead of running them."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        budget_s: float,
        judge: Judge,
        folder: Path,
        *,
        untraced: bool = False,
    ) -> None:
        self._mutants = mutants
        self._budget_s = budget_s
        self._judge = judge
        self._folder = folder
        self._trusted: dict[str, bool] = {}
        self._untraced = untraced

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests, then try one mutant after the other."""
        self._session = session
        root = session.config.rootpath
        names = [item.nodeid for item in session.items]
        trace = Named(root, names) if self._untraced else traced(session, self._folder)
        for mutant in self._mutants:
            started = time.monotonic()
            found = self._tried(mutant, trace)
            self._judge(mutant, found | {"took_s": round(time.monotonic() - started, 1)})
        return True

    def _tried(self, mutant: Mutant, trace: Trace | Named) -> dict[str, object]:
        """What becomes of a mutant; a test that does not pass by itself is left out, and again."""
        while True:
            tests = trace.chosen(mutant, self._budget_s)
            took_s = sum(trace.durations[test] for test in tests)
            limit_s = START_S + SLOWER * (self._budget_s if self._untraced else took_s)
            if not tests:
                return {"outcome": "survived", "tests": 0, "by": "no test runs it"}
            try:
                found = self._asked(mutant, tests, limit_s)
                if found["outcome"] == "timeout":  # a hang, or a computer busier than before
                    found = self._asked(mutant, tests, self._limit_now_s(tests))
            except DoesNotBuild:
                return {"outcome": "not built"}
            killer = str(found.get("by", "")).removeprefix("FAILED ").partition(" - ")[0]
            if killer not in trace.durations or self._passes_alone(killer, self._session):
                return {**found, "tests": len(tests)}
            del trace.durations[killer]

    def _asked(self, mutant: Mutant, tests: Sequence[str], limit_s: float) -> Mapping[str, object]:
        if mutant.path.startswith("firmware/"):
            with self._firmware.changed(mutant.path, mutant.after):
                if failing := self._firmware.failing_unit_test():
                    return {"outcome": "killed", "by": f"firmware/tests/{failing}.c"}
                return tried_with(self._firmware, tests, self._session, limit_s)
        if not mutant.is_python:
            with self._kernel.changed(mutant.path, mutant.after) as kernel:
                return tried_anew({"CUBIST_NATIVE": str(kernel)}, tests, limit_s)
        with tempfile.NamedTemporaryFile(suffix=".py") as changed:
            changed.write(mutant.after)
            changed.flush()
            replaced = {"CUBIST_REPLACED": mutant.path, "CUBIST_REPLACEMENT": changed.name}
            if is_defined_at_import(mutant):
                return tried_anew(replaced, tests, limit_s)
            return tried_in_a_fork(mutant, replaced, tests, self._session, limit_s)

    def _limit_now_s(self, tests: Sequence[str]) -> float:
        """What the tests may take, judged by the seconds that they take just now, unchanged."""
        started = time.monotonic()
        _forked(lambda: _failing(tests, self._session), self._session, LIMIT_ALONE_S)
        return START_S + SLOWER * (time.monotonic() - started)

    @cached_property
    def _firmware(self) -> Firmware:
        return Firmware(self._session.config.rootpath, self._folder)

    @cached_property
    def _kernel(self) -> Kernel:
        return Kernel(self._session.config.rootpath, self._folder)

    def _passes_alone(self, test: str, session: pytest.Session) -> bool:
        if test not in self._trusted:

            def alone() -> int:
                return _failing([test], session)

            self._trusted[test] = _forked(alone, session, LIMIT_ALONE_S)[0] == PASSED
        return self._trusted[test]


def run(
    tests: Sequence[str],
    mutants: Sequence[Mutant],
    budget_s: float,
    judge: Judge,
    folder: Path,
    *,
    untraced: bool = False,
) -> int:
    """Try mutants against tests (arguments of pytest); pytest's exit code. Traces and builds are
    kept in ``folder``."""
    with tempfile.TemporaryDirectory(prefix="cubist-mutants-") as scratch:
        folders = {"XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"}
        _link_tables(Path(scratch) / "cache")
        os.environ |= {name: f"{scratch}/{folder}" for name, folder in folders.items()}
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": scratch, "COLUMNS": "400"}
        os.environ["PYTHONPATH"] = str(STARTED)
        if untraced:
            os.environ[CpuBudget.VARIABLE] = str(budget_s)
        forks = Forks(mutants, budget_s, judge, folder, untraced=untraced)
        return int(pytest.main([*OPTIONS, *tests], plugins=[forks]))


def is_defined_at_import(mutant: Mutant) -> bool:
    """Whether the change is in no function's body: a constant, a default, a field."""
    before, after = (
        _functions(compile(text, "", "exec")) for text in (mutant.before, mutant.after)
    )
    return before == after or before.keys() != after.keys()


def exchange(mutant: Mutant, root: Path) -> int:
    """Give a file's functions their changed code; how many have it now. None where one takes other
    names from outside than before (``super()``), which only an import can give it."""
    path = str(root / mutant.path)
    before, after = (
        _functions(compile(text, path, "exec")) for text in (mutant.before, mutant.after)
    )
    count = 0
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == path:
            key = _key(function.__code__)
            if key in after and before[key] != after[key]:
                if before[key].co_freevars != after[key].co_freevars:
                    return 0
                function.__code__ = after[key]
                count += 1
    _forget(root)
    return count


def _forget(root: Path) -> None:
    """Empty the caches of the product's functions: what they found was with the code as it was,
    when the tests were collected."""
    for each in gc.get_objects():
        if isinstance(each, _CACHED):
            code = getattr(each.__wrapped__, "__code__", None)
            path = Path("" if code is None else code.co_filename)
            if path.is_relative_to(root) and ".venv" not in path.parts:
                each.cache_clear()


def traced(session: pytest.Session, folder: Path) -> Trace:
    """Which lines the tests run. What fails is left out; raises ``SystemExit`` if nothing is
    left."""
    known = Trace()

    def fork(work: Callable[[], int]) -> str:
        return _forked(work, session, float("inf"))[1]

    for trace in traces(session, Kept(session.config.rootpath, folder), fork):
        known.add(trace)
    if not known.durations:
        raise SystemExit("none of these tests passes on the code as it is")
    return known


def tried_in_a_fork(
    mutant: Mutant,
    replaced: Mapping[str, str],
    tests: Sequence[str],
    session: pytest.Session,
    limit_s: float,
) -> Mapping[str, object]:
    """What becomes of a mutant in a fork of this process; ``replaced`` tells those it starts."""

    def attempt() -> int:
        os.environ |= replaced
        if not exchange(mutant, session.config.rootpath):
            return NOT_COLLECTED
        return _failing(tests, session)

    code, said = _forked(attempt, session, limit_s)
    if code == NOT_COLLECTED:
        return tried_anew(replaced, tests, limit_s)
    return _judged(code, said)


def tried_with(
    firmware: Firmware, tests: Sequence[str], session: pytest.Session, limit_s: float
) -> Mapping[str, object]:
    """What becomes of a mutant in the firmware: tests find its programs beside their Python, and
    build AVR boards of its sources."""

    def attempt() -> int:
        sys.executable = str(firmware.python)
        firmware_build.sources = lambda: firmware.sources
        return _failing(tests, session)

    return _judged(*_forked(attempt, session, limit_s))


def tried_anew(
    replaced: Mapping[str, str], tests: Sequence[str], limit_s: float
) -> Mapping[str, object]:
    """What becomes of a mutant in a process of its own."""
    mark = uuid.uuid4().hex
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *OPTIONS, "-p", "tests.audit.named", "-x", *tests],
            env=dict(os.environ) | dict(replaced) | {MARK: mark},
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
    except session.Interrupted:
        pass
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
            session.config.pluginmanager.register(CpuBudget(session))
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
