"""A pytest plugin for long campaigns: bounded, resumable, another sample each time.

With ``--campaign DIR`` each test *function* has ``--minutes`` of time. The cases of a function (its
parameters) are shuffled by the seed in ``DIR/seed``; those that do not fit are skipped with that
reason. Results are appended to ``DIR/results.jsonl`` as they come. Cases in that file that passed
are not run again, and their time counts, so that an interrupted campaign goes on where it stopped::

    {"test": "tests/link/test_faults.py::test_noise[7]", "outcome": "passed", "seconds": 12.3}
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

RESULTS = "results.jsonl"
SEED = "seed"
TIME_IS_OVER = "its time in this campaign is over"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("campaign")
    group.addoption("--campaign", type=Path, help="folder with the results of this campaign")
    group.addoption("--minutes", type=float, default=3.0, help="time of each test function")


def pytest_configure(config: pytest.Config) -> None:
    """Register the campaign if one is asked for."""
    folder = config.getoption("--campaign")
    if folder is not None:
        config.pluginmanager.register(Campaign(folder, config), "cubist-campaign")


def read_results(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the results so far; a line that was cut off is left out."""
    path = folder / RESULTS
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def function_of(test: str) -> str:
    """Return the name of a test without its parameters."""
    return test.partition("[")[0]


class Campaign:
    """One process of a campaign; the controlling one writes the results."""

    def __init__(self, folder: Path, config: pytest.Config) -> None:
        self._folder = folder
        self._limit_s = 60 * config.getoption("--minutes")
        self._writes = not hasattr(config, "workerinput")
        self._passed: set[str] = set()
        self._spent_s: dict[str, float] = defaultdict(float)
        for result in read_results(folder):
            self._spent_s[function_of(result["test"])] += result["seconds"]
            if result["outcome"] == "passed":
                self._passed.add(result["test"])

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what has passed, and shuffle the cases of each function."""
        seed = (self._folder / SEED).read_text(encoding="utf-8")
        cases: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            if item.nodeid not in self._passed:
                cases[function_of(item.nodeid)].append(item)
        for function, group in cases.items():
            random.Random(f"{seed} {function}").shuffle(group)
        left_out = [item for item in items if item.nodeid in self._passed]
        items[:] = [item for group in cases.values() for item in group]
        config.hook.pytest_deselected(items=left_out)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a case whose function has used up its time."""
        if self._spent_s[function_of(item.nodeid)] >= self._limit_s:
            pytest.skip(TIME_IS_OVER)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the time, and write the result of a case that ended."""
        self._spent_s[function_of(report.nodeid)] += report.duration
        ended = report.when == "call" or (report.when == "setup" and not report.passed)
        if not self._writes or not ended:
            return
        outcome = report.outcome
        if report.skipped and TIME_IS_OVER in str(report.longrepr):
            outcome = "left out"
        result = {"test": report.nodeid, "outcome": outcome, "seconds": round(report.duration, 2)}
        with (self._folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
