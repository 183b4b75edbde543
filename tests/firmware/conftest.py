"""Fixtures that build the firmware's unit tests with sanitizers and its fuzzing targets, once."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from robot.computer import board_family

FUZZ_TARGETS = ("fuzz_link_edges", "fuzz_link_frames", "fuzz_rp2040")
"""Boards that make edges or set pulses, and the ports of an RP2040."""


def checked(*command: str | Path) -> None:
    """Run a command; if it fails, its output is the message."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}:\n{done.stdout}\n{done.stderr}"


def built(name: str, *options: str, build: Sequence[str] = ()) -> Path:
    """Build programs of the firmware with CMake, one process at a time, and return their folder."""
    sources = board_family.sources()
    builds = sources.parent / "build"
    folder = builds / name
    builds.mkdir(exist_ok=True)
    own = Path(sys.executable).with_name("cmake")
    cmake = str(own) if own.exists() else "cmake"
    with (builds / f".{name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        checked(cmake, "-S", sources, "-B", folder, *options, "-DCUBIST_FIRMWARE_TESTS=ON")
        checked(cmake, "--build", folder, *build)
    return folder


@pytest.fixture(scope="session")
def fuzzers() -> Path:
    """Return the folder with the fuzzing targets as libFuzzer programs.

    `make test` makes sure that clang is installed.
    """
    return built("firmware-fuzz", "-DCMAKE_C_COMPILER=clang", build=["--target", *FUZZ_TARGETS])


@pytest.fixture(scope="session")
def unit_tests() -> Path:
    return built("firmware-tests", build=["--parallel", "2"])
