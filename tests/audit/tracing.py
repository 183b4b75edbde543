"""A pytest plugin: which test runs which line, in this process and in those it starts.

Coverage itself is started by the copy's .venv in every process (see :mod:`tests.audit.copy`);
here its context is switched to the test and its phase, and the tests' durations are written down.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

durations: dict[str, float] = defaultdict(float)
failed: set[str] = set()


def context(test: pytest.Item, phase: str) -> None:
    """Lines run from now on belong to a phase of a test."""
    measured = coverage.Coverage.current()
    assert measured is not None, "coverage was not started with Python"
    measured.switch_context(f"{test.nodeid} ({phase})")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    context(item, "setup")
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    context(item, "call")
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    context(item, "teardown")
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    durations[report.nodeid] += report.duration
    if not report.passed:  # skipped ones are no help either
        failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    usable = {test: took for test, took in durations.items() if test not in failed}
    Path(os.environ["CUBIST_DURATIONS"]).write_text(json.dumps(usable))
