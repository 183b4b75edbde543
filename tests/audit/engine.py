"""Try mutants in forks of one pytest process that has collected the tests.

No source of the checkout is written. The fork exchanges the code of a changed function in memory.
A change of what an import defines is tried in a new process that reads the changed text instead of
the file, as do Python processes that tests start (``started/sitecustomize.py``). C and C++ are
built beside the checkout's build (:mod:`tests.audit.native`).
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import resource
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

from robot.computer import board_family
from tests.audit.changes import Mutant
from tests.audit.native import BuildFailed, Firmware, Kernel
from tests.audit.selection import WALL_PER_CPU, Budget, Selection

Judge = Callable[[Mutant, Mapping[str, object]], None]

PYTEST = ("-n", "0", "-q", "-s", "--no-header", "--tb=no", "-p", "no:cacheprovider")
PYTEST += ("-m", "not long")
STARTED = Path(__file__).with_name("started")
"""Folder in the PYTHONPATH of processes that tests start."""
PASSED, NOT_IN_MEMORY = 0, 97
START_S = 30.0
"""Allowance for Python, its imports and the fixtures of a file on a busy computer."""
LIMIT_ALONE_S = 600.0
MOST_MEMORY_BYTES = 4 << 30
MARK = "CUBIST_MUTANT_RUN"
write = os.write
"""The original: a test may replace ``os.write``."""
_CACHED = type(cache(lambda: None))


class Forks:
    """A pytest plugin that tries mutants instead of running the collected tests."""

    def __init__(
        self, mutants: Sequence[Mutant], budget_s: float, judge: Judge, folder: Path
    ) -> None:
        self._mutants = mutants
        self._limit_s = START_S + 2 * WALL_PER_CPU * budget_s
        self._judge = judge
        self._folder = folder
        self._passes_alone: dict[str, bool] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try one mutant after the other."""
        self._session = session
        self._root = session.config.rootpath
        self._selection = Selection(self._root, [item.nodeid for item in session.items])
        for mutant in self._mutants:
            started = time.monotonic()
            found = self._try(mutant)
            self._judge(mutant, found | {"took_s": round(time.monotonic() - started, 1)})
        return True

    def _try(self, mutant: Mutant) -> dict[str, object]:
        """Return a mutant's outcome. A test that fails without the mutant, too, is left out."""
        while True:
            tests = self._selection.choose(mutant)
            if not tests:
                return {"outcome": "survived", "tests": 0, "by": "no test is named after it"}
            try:
                found = self._ask(mutant, tests)
            except BuildFailed:
                return {"outcome": "not built"}
            killer = str(found.get("by", "")).removeprefix("FAILED ").partition(" - ")[0]
            if killer not in tests or self._does_pass_alone(killer):
                return {**found, "tests": len(tests)}
            self._selection.leave_out(killer)

    def _ask(self, mutant: Mutant, tests: Sequence[str]) -> Mapping[str, object]:
        if mutant.path.startswith("firmware/"):
            with self._firmware.changed(mutant.path, mutant.after):
                if failing := self._firmware.failing_unit_test():
                    return {"outcome": "killed", "by": f"firmware/tests/{failing}.c"}
                return self._ask_with_firmware(tests)
        if not mutant.is_python:
            with self._kernel.changed(mutant.path, mutant.after) as kernel:
                return self._ask_new_process({"CUBIST_NATIVE": str(kernel)}, tests)
        with tempfile.NamedTemporaryFile(suffix=".py") as changed:
            changed.write(mutant.after)
            changed.flush()
            replaced = {"CUBIST_REPLACED": mutant.path, "CUBIST_REPLACEMENT": changed.name}
            if not is_defined_at_import(mutant):
                code, failed = self._fork(lambda: self._run_exchanged(mutant, replaced, tests))
                if code != NOT_IN_MEMORY:
                    return _outcome(code, failed)
            return self._ask_new_process(replaced, tests)

    def _run_exchanged(
        self, mutant: Mutant, replaced: Mapping[str, str], tests: Sequence[str]
    ) -> int:
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, resource.RLIM_INFINITY))
        os.environ |= replaced
        return self._run(tests) if exchange_code(mutant, self._root) else NOT_IN_MEMORY

    def _ask_with_firmware(self, tests: Sequence[str]) -> Mapping[str, object]:
        """Let tests find the changed programs and build AVR boards of the changed source."""

        def run() -> int:
            sys.executable = str(self._firmware.python)
            board_family.sources = lambda: self._firmware.sources
            return self._run(tests)

        return _outcome(*self._fork(run))

    def _ask_new_process(
        self, replaced: Mapping[str, str], tests: Sequence[str]
    ) -> Mapping[str, object]:
        mark = uuid.uuid4().hex
        command = [sys.executable, "-m", "pytest", *PYTEST, "-p", "tests.audit.selection", "-x"]
        try:
            done = subprocess.run(
                [*command, *tests],
                env=dict(os.environ) | dict(replaced) | {MARK: mark},
                capture_output=True,
                text=True,
                check=False,
                timeout=self._limit_s,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": "timeout"}
        finally:
            _end_marked(mark)
        lines = done.stdout.splitlines()
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return _outcome(done.returncode, failed[0][:200] if failed else done.stdout[-200:])

    @cached_property
    def _firmware(self) -> Firmware:
        return Firmware(self._root, self._folder)

    @cached_property
    def _kernel(self) -> Kernel:
        return Kernel(self._root, self._folder)

    def _does_pass_alone(self, test: str) -> bool:
        if test not in self._passes_alone:
            code, _ = self._fork(lambda: self._run([test]), LIMIT_ALONE_S)
            self._passes_alone[test] = code == PASSED
        return self._passes_alone[test]

    def _run(self, tests: Sequence[str]) -> int:
        """Run some of the collected tests up to the first failure; return the failures."""
        session = self._session
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

    def _fork(
        self, work: Callable[[], int], limit_s: float | None = None
    ) -> tuple[int | None, str]:
        """Do ``work`` in a fork: return its exit code, None after too long, and the first test that
        failed."""
        mark, (reader, writer) = uuid.uuid4().hex, os.pipe()
        child = os.fork()
        if not child:
            os.setsid()
            os.environ[MARK] = mark
            silent = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(silent, stream)
            code = 1
            try:
                plugins = self._session.config.pluginmanager
                plugins.unregister(self)
                plugins.register(FirstFailure(writer))
                plugins.register(Budget(self._session))
                code = work()
            finally:
                os._exit(min(code, 99))
        os.close(writer)
        try:
            result = _wait_for(child, limit_s or self._limit_s)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            _end_marked(mark)
        with os.fdopen(reader) as stream:
            return result, (stream.read().splitlines() or ["the tests' process ended"])[0]


class FirstFailure:
    """A pytest plugin that writes the names of failing tests to a pipe."""

    def __init__(self, writer: int) -> None:
        self._writer = writer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a test's name when one of its phases fails."""
        if report.failed:
            write(self._writer, f"FAILED {report.nodeid}\n".encode())


def try_mutants(
    tests: Sequence[str], mutants: Sequence[Mutant], budget_s: float, judge: Judge, folder: Path
) -> int:
    """Try mutants with tests (arguments of pytest) and return pytest's exit code. Builds are kept
    in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cubist-mutants-") as scratch:
        folders = {"XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"}
        _link_tables(Path(scratch) / "cache")
        os.environ |= {name: f"{scratch}/{folder}" for name, folder in folders.items()}
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": scratch, "COLUMNS": "400"}
        os.environ |= {"PYTHONPATH": str(STARTED), Budget.VARIABLE: str(budget_s)}
        forks = Forks(mutants, budget_s, judge, folder)
        return int(pytest.main([*PYTEST, *tests], plugins=[forks]))


def is_defined_at_import(mutant: Mutant) -> bool:
    """Return true if the change is in no function's body: a constant, a default, a field."""
    before, after = (
        _functions(compile(text, "", "exec")) for text in (mutant.before, mutant.after)
    )
    return before == after or before.keys() != after.keys()


def exchange_code(mutant: Mutant, root: Path) -> bool:
    """Give a file's functions in memory their changed code; return false if there are none.

    Also false if a function takes other names from outside than before (``super()``): only an
    import can give it those.
    """
    path = str(root / mutant.path)
    before, after = (
        _functions(compile(text, path, "exec")) for text in (mutant.before, mutant.after)
    )
    is_exchanged = False
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == path:
            key = _key(function.__code__)
            if key in after and before[key] != after[key]:
                if before[key].co_freevars != after[key].co_freevars:
                    return False
                function.__code__ = after[key]
                is_exchanged = True
    _empty_caches(root)
    return is_exchanged


def _empty_caches(root: Path) -> None:
    """Empty the caches of the product's functions, filled while the tests were collected."""
    for each in gc.get_objects():
        if isinstance(each, _CACHED):
            code = getattr(each.__wrapped__, "__code__", None)
            path = Path("" if code is None else code.co_filename)
            if path.is_relative_to(root) and ".venv" not in path.parts:
                each.cache_clear()


def _outcome(code: int | None, failed: str) -> Mapping[str, object]:
    if code is None:
        return {"outcome": "timeout"}
    return {"outcome": "survived"} if code == PASSED else {"outcome": "killed", "by": failed}


def _wait_for(child: int, limit_s: float) -> int | None:
    """Return the exit code of a child; kill it after ``limit_s`` and return None."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _end_marked(mark: str) -> None:
    """End all processes with a mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    for _ in range(100):
        marked = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        marked.append(int(entry.name))
        if not marked:
            return
        for number in marked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.02)


def _functions(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Return a file's functions, but no class bodies, by name and line."""
    return {_key(each): each for each in _inner_code(code) if each.co_flags & inspect.CO_OPTIMIZED}


def _inner_code(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner_code(constant)


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _link_tables(cache_folder: Path) -> None:
    """Link the user's search tables for reading; what a mutant writes stays in ``cache_folder``."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for file in (usual / "cubist").rglob("*"):
        if file.is_file():
            place = cache_folder / file.relative_to(usual)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(file)
