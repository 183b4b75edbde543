"""The long campaigns: every long test has a shard, time is bounded, and nothing is run twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.campaign import SEED, read_results
from tests.audit.census import ROOT, list_files
from tests.audit.long import SHARDS

CASES = """\
import time
import pytest

@pytest.mark.parametrize("case", range(8))
def test_slow(case):
    time.sleep(0.05)

def test_broken():
    assert False
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    (tmp_path / SEED).write_text("1", encoding="utf-8")
    return tmp_path


def run(folder: Path, minutes: float) -> dict[str, str]:
    """Run the campaign of ``folder``; return the last outcome of each case."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.audit.campaign"]
    command += ["--campaign", str(folder), "--minutes", str(minutes), str(folder)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return {one["test"].partition("::")[2]: one["outcome"] for one in read_results(folder)}


def test_cases_that_do_not_fit_are_left_out_and_follow_in_the_next_run(folder: Path) -> None:
    first = run(folder, minutes=0.12 / 60)
    assert 1 <= list(first.values()).count("passed") < 8
    assert first["test_broken"] == "failed"
    left_out = {case for case, outcome in first.items() if outcome == "left out"}
    second = run(folder, minutes=1)
    assert {second[case] for case in left_out} == {"passed"}


def test_what_passed_is_not_run_again(folder: Path) -> None:
    run(folder, minutes=1)
    passed = [one for one in read_results(folder) if one["outcome"] == "passed"]
    run(folder, minutes=1)
    assert [one for one in read_results(folder) if one["outcome"] == "passed"] == passed


def test_every_long_test_belongs_to_a_shard() -> None:
    covered = tuple(f"{path}/" for shard in SHARDS.values() for path in shard.paths)
    long = [
        str(path)
        for path in list_files()
        if path.name.startswith("test_")
        and path.parts[1] != "audit"
        and "mark.long" in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert [path for path in long if not path.startswith(covered)] == []
