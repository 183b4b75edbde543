"""Build changed sources in C and C++ beside the checkout's build, and only their dependents.

The firmware has a build of its own below build/mutants, with its unit tests. The search kernel is
linked from the checkout's own objects and those that are compiled again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.firmware.test_core import SUBJECTS

UNIT_TESTS = tuple(f"test_{subject}" for subject in SUBJECTS)
PROGRAMS = ("cubist-firmware-host", "cubist-firmware-linux", "cubist-firmware-avr")
UNIT_TEST_S = 60.0


class BuildFailed(Exception):
    """The compiler refuses a changed source."""


class Firmware:
    """Programs and unit tests of the firmware, built from sources changed one at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.sources = folder / "firmware"
        """The sources with the current change, for tests that build the firmware themselves."""
        self._build = folder / "firmware-build"
        self._environment = folder / "venv"
        _mirror(root / "firmware", self.sources)
        options = ["-G", "Ninja", "-DCUBIST_FIRMWARE_TESTS=ON"]
        cmake = Path(sys.executable).with_name("cmake")
        _run([cmake, "-S", self.sources, "-B", self._build, *options])
        self._make()
        self._make_environment()

    @property
    def python(self) -> Path:
        """A Python interpreter with the firmware's changed programs beside it."""
        return self._environment / "bin/python"

    @contextlib.contextmanager
    def changed(self, path: str, text: bytes) -> Iterator[None]:
        """Build with a changed source and restore it afterwards; raises :class:`BuildFailed`."""
        target = self.sources / Path(path).relative_to("firmware")
        before = target.read_bytes()
        try:
            target.write_bytes(text)
            self._make()
            yield
        finally:
            target.write_bytes(before)
            os.utime(target)

    def failing_unit_test(self) -> str | None:
        """Return the first of the firmware's own tests that fails."""
        for name in UNIT_TESTS:
            try:
                code = subprocess.run(
                    [self._build / name], capture_output=True, check=False, timeout=UNIT_TEST_S
                ).returncode
            except subprocess.TimeoutExpired:
                code = -1
            if code:
                return name
        return None

    def _make(self) -> None:
        _run([_ninja(), "-C", self._build, "-j", "1", *PROGRAMS, *UNIT_TESTS])

    def _make_environment(self) -> None:
        ours = Path(sys.prefix)
        shutil.rmtree(self._environment, ignore_errors=True)
        (self._environment / "bin").mkdir(parents=True)
        shutil.copy(ours / "pyvenv.cfg", self._environment)
        (self._environment / "lib").symlink_to(ours / "lib")
        for program in (ours / "bin").iterdir():
            built = self._build / program.name
            (self._environment / "bin" / program.name).symlink_to(
                built if program.name in PROGRAMS else program
            )


class Kernel:
    """The search kernel, built in a folder of its own from sources changed one at a time."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root / "solver/native"
        self._own = tempfile.TemporaryDirectory(prefix="kernel-", dir=folder)
        self._sources = Path(self._own.name) / "native"
        self._scratch = Path(self._own.name) / "build"
        self._build = next((root / "build").glob("cp3*"))
        self._scratch.mkdir(parents=True, exist_ok=True)
        _mirror(self._root, self._sources)
        target = next(self._build.glob("_native.*.so")).name
        command = _output_of([_ninja(), "-C", self._build, "-t", "commands", "-s", target]).strip()
        self._link_words = shlex.split(command.removeprefix(": && ").removesuffix(" && :"))
        self._commands = _compile_commands(self._build)
        self._dependencies = _dependencies(self._build)

    @contextlib.contextmanager
    def changed(self, path: str, text: bytes) -> Iterator[Path]:
        """Build the kernel with a changed source; raises :class:`BuildFailed`."""
        inner = Path(path).relative_to("solver/native")
        target = self._sources / inner
        before = target.read_bytes()
        kernel = self._scratch / "_native.so"
        try:
            target.write_bytes(text)
            objects = {
                name: self._compile(name)
                for name, needs in self._dependencies.items()
                if str(self._root / inner) in needs and name in self._commands
            }
            _run([*self._link_command(objects, kernel)], self._build)
            yield kernel
        finally:
            target.write_bytes(before)

    def _compile(self, name: str) -> Path:
        made = self._scratch / (name.replace("/", "."))
        command = self._commands[name].replace(f"{self._root}/", f"{self._sources}/")
        words = shlex.split(command.replace(f"-I{self._root} ", f"-I{self._sources} "))
        words[words.index("-o") + 1] = str(made)
        words[words.index("-MF") + 1] = f"{made}.d"
        _run(words, self._build)
        return made

    def _link_command(self, objects: Mapping[str, Path], kernel: Path) -> Iterator[str]:
        words = (
            self._link_words[self._link_words.index("&&") + 1 :]
            if "&&" in self._link_words
            else self._link_words
        )
        words = words[: words.index("&&")] if "&&" in words else words
        for before, word in zip(["", *words], words, strict=False):
            yield str(kernel) if before == "-o" else str(objects.get(word, word))


def _mirror(source: Path, target: Path) -> None:
    """Copy the files that differ; others keep their times."""
    for file in source.rglob("*"):
        place = target / file.relative_to(source)
        if file.is_file() and not (place.is_file() and place.read_bytes() == file.read_bytes()):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)


def _ninja() -> Path:
    return Path(sys.executable).with_name("ninja")


def _compile_commands(build: Path) -> dict[str, str]:
    """Return the command that makes each object."""
    found = json.loads(_output_of([_ninja(), "-C", build, "-t", "compdb"]))
    return {each["output"]: each["command"] for each in found}


def _dependencies(build: Path) -> dict[str, set[str]]:
    """Return the files each object depends on."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in _output_of([_ninja(), "-C", build, "-t", "deps"]).splitlines():
        if line.startswith("    "):
            found[name].add(str((build / line.strip()).resolve()))
        elif line:
            name = line.partition(":")[0]
            found[name] = set()
    return found


def _output_of(command: list[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "".join(line for line in done.splitlines(True) if not line.startswith("ninja: Entering"))


def _run(command: list[str | Path] | list[str], folder: Path | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(done.stdout + done.stderr)
