"""Run the long campaigns: ``make test-long``, or a part: ``make test-long ARGS="kernel web"``.

The campaigns are divided into shards by subject. Each test *function* runs as many of its cases as
fit into three minutes, in a random order for each campaign: in all at most two hours on two cores.
An interrupted campaign resumes where it stopped while the checkout is unchanged; ``--again`` starts
over. Arguments that are not shards go to pytest, without a limit::

    make test-long ARGS="tests/calibration/test_stops.py -k auto"

As a pytest plugin with ``--campaign DIR``, this module shuffles the cases of each function by the
seed in ``DIR/seed``, skips those that do not fit, and appends each result to ``DIR/results.jsonl``.
Cases that passed do not run again, but their time counts::

    {"test": "tests/link/test_link.py::test_noise[7]", "outcome": "passed", "seconds": 12.3}
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "test-long"
CHECKOUT, RESULTS, SEED = "checkout", "results.jsonl", "seed"
LONGEST_CASE_S = 1800
SLOWEST = 10
TIME_IS_OVER = "its time in this campaign is over"
PYTEST = (sys.executable, "-m", "pytest", "--hypothesis-profile", "explore")
SHARDS = {
    "solver": ("solver", "planner", "mechanism", "cli"),
    "vision": ("vision",),
    "firmware": ("firmware", "link", "machine", "computer"),
    "robots": ("simulate", "twin", "settings", "motion"),
    "calibration": ("calibration", "guide"),
    "service": ("system/service", "daemon", "api", "records", "panel", "audit"),
    "web": ("web", "screens", "display", "mqtt"),
    "install": ("system/install", "system/systemd"),
    "kernel": ("system/kernel",),
    "pi": ("system/pi",),
}
"""Folders of tests by subject."""
UNSHARED = ("install", "kernel", "pi")
"""Shards that run in one process; the others run in two."""


def main(arguments: list[str]) -> int:
    """Run the named shards, or all. Return the exit code."""
    again = "--again" in arguments
    names = [name for name in arguments if name != "--again"]
    if any(name not in SHARDS for name in names):
        # The last `-m` counts, so the caller can override it.
        return subprocess.call([*PYTEST, "--timeout", "7200", "-m", "", *names], cwd=ROOT)
    begin(again=again)
    chosen = names or list(SHARDS)
    codes = [run_shard(name, f"{at} of {len(chosen)}") for at, name in enumerate(chosen, start=1)]
    return report(failed=any(codes))


def begin(*, again: bool) -> None:
    """Resume the campaign of this exact checkout, or start a new one."""
    known = FOLDER / CHECKOUT
    commit, changes = (
        subprocess.run(("git", command, "HEAD"), cwd=ROOT, check=True, capture_output=True).stdout
        for command in ("rev-parse", "diff")
    )
    checkout = hashlib.sha256(commit + changes).hexdigest()
    if again or not known.exists() or known.read_text(encoding="utf-8") != checkout:
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        (FOLDER / SEED).write_text(str(time.time_ns()), encoding="utf-8")
        known.write_text(checkout, encoding="utf-8")
        return
    done = sum(1 for _ in read_results(FOLDER))
    print(f"Going on where it stopped: {done} cases are done. --again starts over.", flush=True)


def run_shard(name: str, position: str) -> bool:
    """Run the long tests of a shard. Return True if any failed."""
    print(f"\n=== {name} ({position}) ===", flush=True)
    paths = [f"tests/{folder}" for folder in SHARDS[name] if (ROOT / "tests" / folder).exists()]
    command = [*PYTEST, "-m", "long", "-v", "--timeout", str(LONGEST_CASE_S), "-rNfE"]
    command += ["-p", "tests.audit.long", "--campaign", str(FOLDER)]
    command += ["-n", "0" if name in UNSHARED else "2", "--dist", "loadfile"]
    code = subprocess.call([*command, *paths], cwd=ROOT)
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def report(*, failed: bool) -> int:
    """Print the results of the campaign so far. Return the exit code."""
    results = list(read_results(FOLDER))
    counts = Counter(one["outcome"] for one in results)
    minutes = sum(one["seconds"] for one in results) / 60
    print(f"\nThe whole campaign: {dict(counts)}, {minutes:.0f} minutes of tests")
    for one in sorted(results, key=lambda one: -one["seconds"])[:SLOWEST]:
        print(f"  {one['seconds']:7.1f} s  {one['test']}")
    last = {one["test"]: one["outcome"] for one in results}
    for test in sorted(test for test, outcome in last.items() if outcome == "failed"):
        print(f"FAILED {test}")
    print(f"All results: {(FOLDER / RESULTS).relative_to(ROOT)}")
    return 1 if failed else 0


def read_results(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the results so far, except an incomplete line."""
    path = folder / RESULTS
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def function_of(test: str) -> str:
    """Return the name of a test without its parameters."""
    return test.partition("[")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("campaign")
    group.addoption("--campaign", type=Path, help="folder with the results of this campaign")
    group.addoption("--minutes", type=float, default=3.0, help="time of each test function")


def pytest_configure(config: pytest.Config) -> None:
    """Register the campaign if one is requested."""
    folder = config.getoption("--campaign")
    if folder is not None:
        config.pluginmanager.register(Campaign(folder, config), "cubist-campaign")


class Campaign:
    """One process of a campaign. The controlling process writes the results."""

    def __init__(self, folder: Path, config: pytest.Config) -> None:
        self._folder = folder
        self._limit_s = 60 * config.getoption("--minutes")
        self._writes = not hasattr(config, "workerinput")
        self._passed: set[str] = set()
        self._begun: set[str] = set()
        self._spent_s: dict[str, float] = defaultdict(float)
        for result in read_results(folder):
            self._spent_s[function_of(result["test"])] += result["seconds"]
            if result["outcome"] == "passed":
                self._passed.add(result["test"])

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Remove cases that have passed, and shuffle the cases of each function."""
        seed = (self._folder / SEED).read_text(encoding="utf-8")
        cases: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            if item.nodeid not in self._passed:
                cases[function_of(item.nodeid)].append(item)
        for function, group in cases.items():
            random.Random(f"{seed} {function}").shuffle(group)
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid in self._passed])
        items[:] = [item for group in cases.values() for item in group]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a case whose function has used up its time."""
        if self._spent_s[function_of(item.nodeid)] >= self._limit_s:
            pytest.skip(TIME_IS_OVER)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up the time, and write the result of a case that ended."""
        function = function_of(report.nodeid)
        # The first setup is not counted: it makes what all cases share, such as a machine's system,
        # and may take longer than their limit.
        if report.when != "setup" or function in self._begun:
            self._spent_s[function] += report.duration
        self._begun.add(function)
        ended = report.when == "call" or (report.when == "setup" and not report.passed)
        if not self._writes or not ended:
            return
        left_out = report.skipped and TIME_IS_OVER in str(report.longrepr)
        outcome = "left out" if left_out else report.outcome
        result = {"test": report.nodeid, "outcome": outcome, "seconds": round(report.duration, 2)}
        with (self._folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on here.", file=sys.stderr)
        sys.exit(130)
