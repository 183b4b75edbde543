"""Run the long campaigns: ``make test-long``, or a part: ``make test-long ARGS="kernel web"``.

The campaigns are divided into shards by subject. Each test function has three minutes, in which it
tries as many of its cases as fit, drawn anew for each campaign: in all at most two hours on two
cores. What was interrupted goes on where it stopped as long as the checkout stays the same;
``--again`` starts over. Anything that is not a shard goes to pytest, without a limit::

    make test-long ARGS="tests/calibration/test_stops.py -k auto"
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.audit.campaign import RESULTS, SEED, read_results

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "test-long"
CHECKOUT = "checkout"
LONGEST_CASE_S = 1800
SLOWEST = 10
PYTEST = (sys.executable, "-m", "pytest", "--hypothesis-profile", "explore")


@dataclass(frozen=True)
class Shard:
    """Long tests of one subject, and how many processes run them."""

    paths: tuple[str, ...]
    processes: int = 2


SHARDS = {
    "solver": Shard(("tests/solver", "tests/planner", "tests/mechanism", "tests/cli")),
    "vision": Shard(("tests/vision",)),
    "firmware": Shard(("tests/firmware", "tests/link", "tests/machine", "tests/computer")),
    "robots": Shard(("tests/simulate", "tests/twin", "tests/settings", "tests/motion")),
    "calibration": Shard(("tests/calibration", "tests/guide")),
    "service": Shard(
        ("tests/system/service", "tests/daemon", "tests/api", "tests/records", "tests/panel")
    ),
    "web": Shard(("tests/web", "tests/screens", "tests/display")),
    "install": Shard(("tests/system/install", "tests/system/systemd"), processes=0),
    "kernel": Shard(("tests/system/kernel",), processes=0),
}


def main(arguments: list[str]) -> int:
    """Run the shards that are named, or all; return the exit code."""
    again = "--again" in arguments
    names = [name for name in arguments if name != "--again"]
    if any(name not in SHARDS for name in names):
        # The last `-m` counts, also one of the caller's.
        return subprocess.call([*PYTEST, "--timeout", "7200", "-m", "", *names], cwd=ROOT)
    begin(again=again)
    chosen = names or list(SHARDS)
    codes = [run_shard(name, f"{at} of {len(chosen)}") for at, name in enumerate(chosen, start=1)]
    return report(failed=any(codes))


def begin(*, again: bool) -> None:
    """Go on with the campaign of this very checkout, or begin one."""
    checkout = identify_checkout()
    known = FOLDER / CHECKOUT
    if again or not known.exists() or known.read_text(encoding="utf-8") != checkout:
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        (FOLDER / SEED).write_text(str(time.time_ns()), encoding="utf-8")
        known.write_text(checkout, encoding="utf-8")
        return
    done = sum(1 for _ in read_results(FOLDER))
    print(f"Going on where it stopped: {done} cases are done. --again starts over.", flush=True)


def identify_checkout() -> str:
    """Return a text that changes with every change of a tracked file."""

    def git(*command: str) -> bytes:
        return subprocess.run(("git", *command), cwd=ROOT, check=True, capture_output=True).stdout

    return hashlib.sha256(git("rev-parse", "HEAD") + git("diff", "HEAD")).hexdigest()


def run_shard(name: str, position: str) -> bool:
    """Run the long tests of a shard; return whether any failed."""
    shard = SHARDS[name]
    print(f"\n=== {name} ({position}) ===", flush=True)
    paths = [path for path in shard.paths if (ROOT / path).exists()]
    command = [*PYTEST, "-m", "long", "-v", "--timeout", str(LONGEST_CASE_S), "-rNfE"]
    command += ["-p", "tests.audit.campaign", "--campaign", str(FOLDER)]
    command += ["-n", str(shard.processes), "--dist", "loadfile"]
    code = subprocess.call([*command, *paths], cwd=ROOT)
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def report(*, failed: bool) -> int:
    """Print what the campaign found so far; return the exit code."""
    results = list(read_results(FOLDER))
    counts = Counter(one["outcome"] for one in results)
    minutes = sum(one["seconds"] for one in results) / 60
    print(f"\nThe whole campaign: {dict(counts)}, {minutes:.0f} minutes of tests")
    slowest = sorted(results, key=lambda one: -one["seconds"])[:SLOWEST]
    for one in slowest:
        print(f"  {one['seconds']:7.1f} s  {one['test']}")
    last = {one["test"]: one["outcome"] for one in results}
    for test in sorted(test for test, outcome in last.items() if outcome == "failed"):
        print(f"FAILED {test}")
    print(f"All results: {(FOLDER / RESULTS).relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("\nInterrupted. The same command goes on here.", file=sys.stderr)
        sys.exit(130)
