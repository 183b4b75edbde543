"""Try each mutant in separate processes. No source of the checkout is written.

Python processes, both pytest's and those started by tests, read the changed text instead of the
file (``started/sitecustomize.py``). C and C++ are built outside the checkout's build, and only the
objects that depend on the changed source.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pytest

from tests.audit.changes import Mutant
from tests.audit.selection import BOARDS, FIRMWARE_SOURCES, WALL_PER_CPU, Budget, Selection

PYTEST = ("-n", "0", "-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider")
PYTEST += ("-m", "not long", "-p", "tests.audit.selection")
STARTED = Path(__file__).with_name("started")
"""Folder in the PYTHONPATH of all processes."""
START_S = 60.0
"""Time allowed for Python, its imports and the fixtures of a file on a busy computer."""
BUDGET_ALONE_S = 300.0
NOTHING_FAILED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
FAILED = re.compile(r"^(?:FAILED|ERROR) .*", re.MULTILINE)
TEST = re.compile(r"^\w+ (\S+::.*?)(?: - |$)")
MARK = "CUBIST_MUTANT_RUN"
PROGRAMS = tuple(f"cubist-firmware-{board}" for board in BOARDS)
NINJA = Path(sys.executable).with_name("ninja")

Verdict = Mapping[str, object]
"""``outcome``, and ``by``: the test that failed."""


class BuildFailed(Exception):
    """The compiler rejects a changed source."""


class Engine:
    """Judges mutants of a checkout by ``tests``: files or folders, as arguments of pytest.

    Builds are kept in ``folder``. ``budget_s``: processor time of tests for each mutant.
    """

    def __init__(self, root: Path, tests: Sequence[str], budget_s: float, folder: Path) -> None:
        self._root, self._folder, self._budget_s = root, folder, budget_s
        self._selection = Selection(root, tests, folder)
        self._passes_alone: dict[str, bool] = {}

    def judge(self, mutant: Mutant) -> Verdict:
        """Return a mutant's outcome. Ignore tests that also fail without the mutant."""
        files = self._selection.choose(mutant)
        if not files:
            return {"outcome": "survived", "files": 0, "by": "no test runs it"}
        while True:
            try:
                found = self._try(mutant, files)
            except BuildFailed:
                return {"outcome": "not built"}
            killer = TEST.match(str(found.get("by", "")))
            if killer is None or self._does_pass_alone(killer[1]):
                return {**found, "files": sum(map(len, files))}

    def _try(self, mutant: Mutant, files: Sequence[Sequence[str]]) -> Verdict:
        """Run groups of tests, likeliest first, until one fails or the budget is spent."""
        with self._changed(mutant) as (python, environment):
            left_s = self._budget_s
            for group in files:
                found, spent_s = self._run(group, python, environment, left_s)
                left_s -= spent_s
                if found["outcome"] != "survived" or left_s <= 0:
                    break
        return found

    @contextlib.contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield the interpreter and the environment for processes with the change."""
        if mutant.path.startswith("firmware/"):
            with self._firmware.changed(mutant.path, mutant.after):
                environment = {FIRMWARE_SOURCES: str(self._firmware.sources)}
                yield str(self._firmware.python), environment
        elif not mutant.is_python:
            with self._kernel.changed(mutant.path, mutant.after) as kernel:
                yield sys.executable, {"CUBIST_NATIVE": str(kernel)}
        else:
            with tempfile.NamedTemporaryFile(suffix=".py") as changed:
                changed.write(mutant.after)
                changed.flush()
                replaced = {"CUBIST_REPLACED": mutant.path, "CUBIST_REPLACEMENT": changed.name}
                yield sys.executable, replaced

    def _run(
        self, tests: Sequence[str], python: str, extra: Mapping[str, str], budget_s: float
    ) -> tuple[Verdict, float]:
        """Run tests up to the first failure. Return the verdict and the time they used."""
        mark = uuid.uuid4().hex
        out = [f"--deselect={test}" for test, passes in self._passes_alone.items() if not passes]
        with tempfile.TemporaryFile("w+") as console:
            try:
                code = subprocess.run(
                    [python, "-m", "pytest", *PYTEST, *out, *tests],
                    cwd=self._root,
                    env=os.environ | extra | {MARK: mark, Budget.VARIABLE: str(budget_s)},
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    check=False,
                    timeout=START_S + 2 * WALL_PER_CPU * budget_s,
                ).returncode
            except subprocess.TimeoutExpired:
                return {"outcome": "timeout"}, budget_s
            finally:
                _end_marked(mark)
            console.seek(0)
            text = console.read()
        if code in NOTHING_FAILED:
            return {"outcome": "survived"}, Budget.spent_s(text)
        failed = FAILED.search(text)
        return {"outcome": "killed", "by": failed[0][:200] if failed else text[-200:]}, 0.0

    def _does_pass_alone(self, test: str) -> bool:
        if test not in self._passes_alone:
            found, _ = self._run([test], sys.executable, {}, BUDGET_ALONE_S)
            self._passes_alone[test] = found["outcome"] == "survived"
        return self._passes_alone[test]

    @cached_property
    def _firmware(self) -> _Firmware:
        return _Firmware(self._root, self._folder)

    @cached_property
    def _kernel(self) -> _Kernel:
        return _Kernel(self._root, self._folder)


@contextlib.contextmanager
def separate_state() -> Iterator[None]:
    """Separate the output of tests and mutants from the user's state, runtime and cache folders.

    Links the user's search tables for reading. Paths are short enough for sockets.
    """
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    with tempfile.TemporaryDirectory(prefix="cubist-") as scratch:
        for file in (usual / "cubist").rglob("*"):
            if file.is_file():
                place = Path(scratch, "cache", file.relative_to(usual))
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(file)
        places = {"XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"}
        os.environ |= {name: f"{scratch}/{place}" for name, place in places.items()}
        os.environ |= {"PYTEST_DEBUG_TEMPROOT": scratch, "COLUMNS": "400"}
        os.environ["PYTHONPATH"] = str(STARTED)
        yield


def _end_marked(mark: str) -> None:
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


class _Firmware:
    """The programs of the firmware, built with one changed source at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.sources = folder / "firmware"
        self._build = folder / "firmware-build"
        self._environment = folder / "venv"
        _mirror(root / "firmware", self.sources)
        cmake = Path(sys.executable).with_name("cmake")
        _build(cmake, "-S", self.sources, "-B", self._build, "-G", "Ninja")
        self._make()
        emulator = folder / "build/rp2040js"
        emulator.parent.mkdir(exist_ok=True)
        emulator.unlink(missing_ok=True)
        emulator.symlink_to(root / "build/rp2040js")
        ours = Path(sys.prefix)
        shutil.rmtree(self._environment, ignore_errors=True)
        (self._environment / "bin").mkdir(parents=True)
        shutil.copy(ours / "pyvenv.cfg", self._environment)
        (self._environment / "lib").symlink_to(ours / "lib")
        for program in (ours / "bin").iterdir():
            built = self._build if program.name in PROGRAMS else program.parent
            (self._environment / "bin" / program.name).symlink_to(built / program.name)

    @property
    def python(self) -> Path:
        """A Python interpreter with the firmware's changed programs beside it."""
        return self._environment / "bin/python"

    @contextlib.contextmanager
    def changed(self, path: str, text: bytes) -> Iterator[None]:
        """Build with a changed source and restore it afterwards. Raise :class:`BuildFailed`."""
        target = self.sources / Path(path).relative_to("firmware")
        before = target.read_bytes()
        try:
            target.write_bytes(text)
            self._make()
            yield
        finally:
            target.write_bytes(before)

    def _make(self) -> None:
        _build(NINJA, "-C", self._build, "-j", "1", *PROGRAMS)


class _Kernel:
    """The search kernel, linked from the checkout's objects and those of a changed source."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root / "solver/native"
        self._own = tempfile.TemporaryDirectory(prefix="kernel-", dir=folder)
        self._sources, self._objects = (Path(self._own.name, name) for name in ("native", "build"))
        self._objects.mkdir()
        _mirror(self._root, self._sources)
        self._build = next((root / "build").glob("cp3*"))
        target = next(self._build.glob("_native.*.so")).name
        steps = self._ask_ninja("commands", "-s", target).split(" && ")
        self._link = shlex.split(next(step for step in steps if " -o " in step))
        listed = json.loads(self._ask_ninja("compdb"))
        self._commands = {each["output"]: each["command"] for each in listed}
        self._dependencies: dict[str, set[str]] = {}
        for paragraph in self._ask_ninja("deps").split("\n\n"):
            name, *files = paragraph.strip().split("\n")
            needs = {str((self._build / file.strip()).resolve()) for file in files}
            self._dependencies[name.partition(":")[0]] = needs

    @contextlib.contextmanager
    def changed(self, path: str, text: bytes) -> Iterator[Path]:
        """Build the kernel with a changed source. Raise :class:`BuildFailed`."""
        inner = Path(path).relative_to("solver/native")
        before = (self._sources / inner).read_bytes()
        kernel = self._objects / "_native.so"
        try:
            (self._sources / inner).write_bytes(text)
            made = {
                name: self._compile(name)
                for name, needs in self._dependencies.items()
                if str(self._root / inner) in needs and name in self._commands
            }
            words = [made.get(word, word) for word in self._link]
            words[words.index("-o") + 1] = str(kernel)
            _build(*words, folder=self._build)
            yield kernel
        finally:
            (self._sources / inner).write_bytes(before)

    def _compile(self, name: str) -> str:
        made = self._objects / name.replace("/", ".")
        command = self._commands[name].replace(f"{self._root}/", f"{self._sources}/")
        words = shlex.split(command.replace(f"-I{self._root} ", f"-I{self._sources} "))
        words[words.index("-o") + 1] = str(made)
        words[words.index("-MF") + 1] = f"{made}.d"
        _build(*words, folder=self._build)
        return str(made)

    def _ask_ninja(self, *query: str) -> str:
        command = [NINJA, "-C", self._build, "-t", *query]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return re.sub("^ninja: Entering.*\n", "", answer, flags=re.MULTILINE)


def _mirror(source: Path, target: Path) -> None:
    """Copy the files that differ, so that others keep their times."""
    for file in source.rglob("*"):
        place = target / file.relative_to(source)
        if file.is_file() and not (place.is_file() and place.read_bytes() == file.read_bytes()):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)


def _build(*command: str | Path, folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(done.stdout + done.stderr)
