"""Fixtures that run ``cubist demo`` as people do: as a process, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from robot.api.client import ControlClient, DaemonError

LIMIT_S = 240


@dataclass
class DemoRun:
    process: subprocess.Popen[str]
    folder: Path

    def finish(self, limit_s: float = LIMIT_S) -> tuple[int, dict[str, Any], str]:
        """Return exit code, last output line as JSON (empty: nothing printed), and the log."""
        output, log = self.process.communicate(timeout=limit_s)
        lines = output.splitlines() or ["{}"]
        return self.process.returncode, json.loads(lines[-1]), log

    def assert_solved(self) -> dict[str, Any]:
        """Assert that the demo ends well. Return its last line."""
        code, document, log = self.finish()
        ended = (code, document.get("solved"), document.get("violations"))
        assert ended == (0, True, []), (document, log)
        # A cube that was solved already has no plan.
        planned_us, executed_us = (document[key] or 0 for key in ("planned_us", "executed_us"))
        assert abs(planned_us - executed_us) <= planned_us / 1000
        return document

    def children(self) -> dict[str, int]:
        """Return process numbers of the demo's children: ``firmware`` and ``cubistd``."""
        number = self.process.pid
        found = {}
        for child in _read(f"/proc/{number}/task/{number}/children").split():
            command = _read(f"/proc/{child}/cmdline").split("\0")
            # A child that has not executed its program yet has its parent's name.
            if "robot.daemon.main" in command:
                found["cubistd"] = int(child)
            elif "cubist-firmware" in command[0]:
                found["firmware"] = int(child)
        return found

    def state(self) -> str | None:
        """Return the state of the demo's daemon; None if there is no daemon to ask."""
        for socket in self.folder.glob("*/run/control.sock"):
            with contextlib.suppress(DaemonError):
                return str(ControlClient(socket).status()["state"])
        return None


def _read(path: str) -> str:
    """Return a file of the kernel about a process, or nothing if it has ended."""
    try:
        return Path(path).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.fixture
def demo_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cubist-test-") as folder:
        yield Path(folder)


@pytest.fixture
def start_demo(demo_folder: Path) -> Iterator[Callable[..., DemoRun]]:
    """Yield a function that starts ``cubist demo --json``. Demos left at the end are killed."""
    runs: list[DemoRun] = []

    def start(*arguments: str) -> DemoRun:
        process = subprocess.Popen(
            [sys.executable, "-m", "robot.cli.main", "demo", "--json", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(demo_folder)},
        )
        runs.append(DemoRun(process, demo_folder))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.process.send_signal(signal.SIGKILL)
        run.process.communicate()
