"""Builds the firmware's unit tests with sanitizers, and the AVR firmware; both once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robot.machine.firmware_build import build

ROOT = Path(__file__).resolve().parents[2]
FIRMWARE = ROOT / "firmware"
BUILD = ROOT / "build"
FUZZ_TARGETS = ("fuzz_link_edges", "fuzz_link_frames")
"""With a board that makes edges, and with one that sets pulses."""


def tool(name: str) -> str:
    """A build tool of the virtual environment, or the system's."""
    own = Path(sys.executable).with_name(name)
    return str(own) if own.exists() else name


def checked(*command: str | Path) -> str:
    """Run a command; its output is the message when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def fuzzers() -> Path:
    """The folder with the fuzzing targets as libFuzzer programs; clang is there, `make test` sees
    to it."""
    folder = BUILD / "firmware-fuzz"
    compiler = "-DCMAKE_C_COMPILER=clang"
    checked(tool("cmake"), "-S", FIRMWARE, "-B", folder, compiler, "-DCUBIST_FIRMWARE_TESTS=ON")
    checked(tool("cmake"), "--build", folder, "--target", *FUZZ_TARGETS)
    return folder


@pytest.fixture(scope="session")
def unit_tests() -> Path:
    """The folder with the unit test programs."""
    build = BUILD / "firmware-tests"
    checked(tool("cmake"), "-S", FIRMWARE, "-B", build, "-DCUBIST_FIRMWARE_TESTS=ON")
    checked(tool("cmake"), "--build", build, "--parallel", "2")
    return build


@pytest.fixture(scope="session")
def avr_elf() -> Callable[[str], Path]:
    """Builds the firmware of a board, ``uno`` or ``mega``, and tells where it is."""
    return lambda board: build(board).elf
