"""A copy of the checkout with its own .venv, where sources are changed and tests run.

The copy's .venv holds Cubist alone; other packages are those of the checkout's .venv. The line of a
.pth file that names their folder does not run the .pth files in it, so the checkout's own editable
install is not seen.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")
LEFT_OUT = ("tests/system/install/boot/",)
MARK = "CUBIST_MUTANT_RUN"
MOST_MEMORY_BYTES = 4 << 30
POLL_S = 0.5
TRACING = 'os.environ.get("COVERAGE_PROCESS_START") and __import__("coverage").process_startup()'


class DoesNotBuild(Exception):
    """A changed source is no program."""


class GivenUp(Exception):
    """A person does not want to wait for the rest."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended; ``code`` is None when it was stopped for time or memory."""

    code: int | None
    output: str
    took_s: float


class Copy:
    """The copy of a checkout, made or brought up to date."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.folder = folder
        self._enough = threading.Event()
        self._checkout = checkout
        self.root = folder / "checkout"
        self._tables = folder / "tables"
        self._tables_of_one_run = folder / "tables-of-one-run"
        self._python = self.root / ".venv/bin/python"
        self.files = listed(checkout)

    def prepare(self) -> None:
        """Bring files and builds up to date."""
        self._update_files()
        self._make_environment()
        self.build()

    def _update_files(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        for gone in set(_files_of(self.root)) - set(self.files):
            (self.root / gone).unlink()
        for name in self.files:
            source, target = self._checkout / name, self.root / name
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue  # its time stays, so nothing is built again for it
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        data = self.root.parent / "shared"
        if not data.is_symlink():
            data.symlink_to(self._checkout.parent / "shared")

    def _make_environment(self) -> None:
        if not self._python.exists():
            subprocess.run(
                [sys.executable, "-m", "venv", "--without-pip", self.root / ".venv"], check=True
            )
        packages = next((self.root / ".venv/lib").glob("python*/site-packages"))
        (packages / "checkout.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        (packages / "tracing.pth").write_text(f"import os; {TRACING}\n")

    def build(self) -> None:
        """Kernel, firmware and commands from the sources as they are; :class:`DoesNotBuild`."""
        install = ["pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
        done = self.run(["-m", *install, "--editable", "."], limit_s=1800)
        if done.code:
            raise DoesNotBuild(done.output)

    @contextlib.contextmanager
    def changed(self, path: str, text: bytes) -> Iterator[None]:
        """A file's text replaced; afterwards it is what it was, with a later time.

        Python tells by second and size whether it has compiled a file already: not enough here.
        """
        target = self.root / path
        compiled = Path(importlib.util.cache_from_source(str(target)))
        before = target.read_bytes()
        try:
            compiled.unlink(missing_ok=True)
            target.write_bytes(text)
            yield
        finally:
            target.write_bytes(before)
            compiled.unlink(missing_ok=True)

    def give_up(self) -> None:
        """What runs ends, and nothing is run any more."""
        self._enough.set()

    def run(
        self, arguments: Sequence[str], limit_s: float, extra: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run the copy's Python; whatever it started has ended when this returns.

        Raises :class:`GivenUp` as soon as nobody waits for it any more.
        """
        mark = uuid.uuid4().hex
        with tempfile.TemporaryDirectory(prefix="cubist-mutants-") as scratch:
            environment = self._environment(scratch) | {MARK: mark} | dict(extra or {})
            log = Path(scratch) / "output"
            started = time.monotonic()
            with log.open("wb") as output:
                process = subprocess.Popen(
                    [self._python, *arguments],
                    cwd=self.root,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            try:
                code = self._watched(process, mark, started + limit_s)
            finally:
                end_marked(mark)
                process.wait()
            took_s = time.monotonic() - started
            return Outcome(code, log.read_text(errors="replace"), took_s)

    def _environment(self, scratch: str) -> dict[str, str]:
        tools = f"{self._python.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        folders = {"XDG_STATE_HOME": f"{scratch}/state", "XDG_RUNTIME_DIR": f"{scratch}/run"}
        # A change may be as long and as old, to the second, as the one before: compiled, the
        # first one would go on to be tried.
        plain = {"PATH": tools, "COLUMNS": "400", "PYTHONDONTWRITEBYTECODE": "1"}
        cache = {"XDG_CACHE_HOME": str(self._tables)}
        return dict(os.environ) | folders | cache | plain

    def _watched(self, process: subprocess.Popen[bytes], mark: str, until: float) -> int | None:
        """The exit code; None when time or memory ran out."""
        while time.monotonic() < until:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_S)
            if self._enough.is_set():
                raise GivenUp
            if sum(_memory(number) for number in _marked(mark)) > MOST_MEMORY_BYTES:
                return None
        return None

    @contextlib.contextmanager
    def tables_of_one_run(self) -> Iterator[Mapping[str, str]]:
        """The environment of a run whose tables no other run reads: a mutant may have made them."""
        self._tables.mkdir(exist_ok=True)
        shutil.rmtree(self._tables_of_one_run, ignore_errors=True)
        shutil.copytree(self._tables, self._tables_of_one_run, copy_function=os.link)
        try:
            yield {"XDG_CACHE_HOME": str(self._tables_of_one_run)}
        finally:
            shutil.rmtree(self._tables_of_one_run)


def spread(
    copies: Sequence[Copy], work: Callable[[Copy, Item], None], items: Iterable[Item]
) -> None:
    """Do some work on every item, each in a copy that nothing else is done in meanwhile.

    Where one raises, or a person interrupts, what is under way is given up.
    """
    idle: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        idle.put(copy)

    def with_copy(item: Item) -> None:
        copy = idle.get()
        try:
            work(copy, item)
        finally:
            idle.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        begun = [pool.submit(with_copy, item) for item in items]
        try:
            for future in as_completed(begun):
                future.result()
        except BaseException:
            for copy in copies:
                copy.give_up()
            pool.shutdown(cancel_futures=True)
            raise


def listed(checkout: Path) -> list[str]:
    """The files of a checkout that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name]
    return [n for n in names if (checkout / n).is_file() and not n.startswith(LEFT_OUT)]


def _files_of(root: Path) -> Iterator[str]:
    for folder, inner, names in os.walk(root):
        inner[:] = [n for n in inner if n not in (".venv", "build", "__pycache__", ".hypothesis")]
        for name in names:
            yield str((Path(folder) / name).relative_to(root))


def _marked(mark: str) -> Iterator[int]:
    """Processes that were started with a mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def _memory(number: int) -> int:
    with contextlib.suppress(OSError):
        pages = int(Path(f"/proc/{number}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def end_marked(mark: str) -> None:
    """End all processes that were started with a mark in their environment."""
    for _ in range(100):
        left = list(_marked(mark))
        if not left:
            return
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.02)
