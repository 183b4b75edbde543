"""Examples of properties, the order of tests, and the signal handlers they start with.

`make test` tries the same examples every time, `make test-long` new ones. No example has a
deadline, because the machine's speed is not a property of the program.
"""

import gc
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# As in our programs. It must be set before anything here imports NumPy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}

settings.register_profile("repeatable", derandomize=True, **COMMON)
settings.register_profile("explore", **COMMON)
settings.load_profile("repeatable")

WHOLE_ROBOTS = ("system/install", "simulate", "system/service", "web", "calibration", "screens")
"""Folders whose tests take longest: about a minute per file, mostly waiting."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run whole robots first, so that no process is left with a long test at the end."""
    tests = Path(__file__).parent
    ranks = {tests / folder: rank for rank, folder in enumerate(WHOLE_ROBOTS)}
    items.sort(key=lambda item: ranks.get(item.path.parent, len(ranks)))


def pytest_collection_finish() -> None:
    """Exclude the thousands of tests from garbage collection, which took 8 % of the time."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a kernel left by an earlier build, and handle the signals that ``nohup`` ignores.

    Background jobs of a shell and ``nohup`` ignore signals, and our processes would inherit that.
    """
    del config
    environment = Path(__file__).parents[1] / ".venv"
    if environment == Path(sys.prefix) and not (environment / ".build").exists():
        pytest.exit("the last build failed, run `make build` and read its errors", 3)
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture(autouse=True)
def _left_as_found() -> Iterator[None]:
    """Restore the log, and check that the test left the handler of Ctrl-C as it found it.

    A program that a test runs in this process logs to the standard error of that test only.
    """
    before, log = signal.getsignal(signal.SIGINT), logging.getLogger()
    handlers, level = [*log.handlers], log.level
    yield
    log.handlers[:] = handlers
    log.setLevel(level)
    left = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    assert left == before


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="cubist-") as folder:
        yield Path(folder)


@pytest.fixture
def ask(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[Any], str]]:
    """Return a function that runs ``cubist ... --json``: exit code, documents, standard error."""
    from robot.cli.main import run

    def call(*arguments: str) -> tuple[int, list[Any], str]:
        capfd.readouterr()
        code = run([*arguments, "--json"])
        out, err = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return call
