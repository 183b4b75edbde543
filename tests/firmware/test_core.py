"""The firmware's own unit tests, with address and undefined-behaviour sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CORE = (
    "frame",
    "memory",
    "motion",
    "stepper",
    "plans",
    "full",
    "frames",
    "homing",
    "link",
    "messages",
    "setup",
)
PROCESS = ("lines", "maestro", "pwm", "clock", "timing")
SUBJECTS = (*CORE, *PROCESS)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_core(unit_tests: Path, subject: str) -> None:
    done = subprocess.run(
        [unit_tests / f"test_{subject}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
