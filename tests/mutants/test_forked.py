"""`make mutants ... --within TESTS`: mutants in forks, with nothing written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from robot.records import latency
from robot.records.latency import percentile
from tests.mutants.changes import Mutant, sample
from tests.mutants.forked import Trace, exchange, is_defined_at_import

ROOT = Path(__file__).resolve().parents[2]
PATH = "robot/records/latency.py"


def mutant(old: bytes, new: bytes) -> Mutant:
    before = (ROOT / PATH).read_bytes()
    assert before.count(old) == 1
    line = before[: before.index(old)].count(b"\n") + 1
    return Mutant(PATH, line, "constant", before, before.replace(old, new))


def test_a_function_gets_its_changed_code_and_back() -> None:
    changed = mutant(b"len(ordered)) - 1)]", b"len(ordered)) - 2)]")
    assert not is_defined_at_import(changed)
    usual = percentile.__code__
    try:
        assert exchange(changed, ROOT) == 1
        assert percentile([1.0, 2.0, 3.0], 1.0) == 2.0
    finally:
        percentile.__code__ = usual
    assert latency.percentile([1.0, 2.0, 3.0], 1.0) == 3.0


def test_what_an_import_defines_is_no_function_s_code() -> None:
    assert is_defined_at_import(mutant(b"clock: Callable[[], float] = time.monotonic", b"clock=0"))
    assert not is_defined_at_import(mutant(b"return {stage: found", b"return {0: found"))


def test_quick_tests_of_the_statement_are_chosen_else_those_of_the_file() -> None:
    (changed,) = sample(ROOT, [PATH], 1, seed=1)
    trace = Trace({PATH: {changed.line: {"slow", "quick", "quicker"}, 1: {"other"}}})
    trace.durations |= {"slow": 9.0, "quick": 2.0, "quicker": 1.0, "other": 0.0}
    assert trace.chosen(changed, 4.0) == ["quicker", "quick"]
    assert trace.chosen(changed, 0.5) == ["quicker"], "at least one"
    del trace.lines[PATH][changed.line]
    assert trace.chosen(changed, 4.0) == ["other"]


def test_a_sample_is_tried_and_nothing_is_written(tmp_path: Path) -> None:
    before = (ROOT / PATH).read_bytes()
    report = tmp_path / "report"
    command = [sys.executable, "-m", "tests.mutants", PATH, "4", "2", "--report", str(report)]
    within = ["--within", "tests/records/test_latency.py"]
    done = subprocess.run([*command, *within], cwd=ROOT, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(found) == 4
    assert sum(one["outcome"] == "killed" for one in found) >= 3, done.stdout
    assert all("test_latency.py::" in one["by"] for one in found if one["outcome"] == "killed")
    assert (ROOT / PATH).read_bytes() == before


def test_tests_that_fail_by_themselves_judge_nothing(tmp_path: Path) -> None:
    failing = tmp_path / "test_failing.py"
    failing.write_text("def test_it():\n    assert False\n")
    command = [sys.executable, "-m", "tests.mutants", PATH, "1", "--report", str(tmp_path / "r")]
    done = subprocess.run(
        [*command, "--within", str(failing)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "none of these tests passes" in done.stdout + done.stderr
    assert (tmp_path / "r").read_text() == ""
