"""`make mutants ... --within TESTS`: mutants in forks, with nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robot.records import latency
from robot.records.latency import percentile
from tests.audit.changes import Mutant, sample
from tests.audit.forked import Forks, exchange, is_defined_at_import
from tests.audit.traced import STARTED, Kept, Trace, moved_lines, words_of

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


def test_what_a_cache_kept_of_the_code_as_it_was_is_forgotten(tmp_path: Path) -> None:
    source = (
        "from functools import cache\n"
        "@cache\n"
        "def twice(n):\n"
        "    return once(n) + once(n)\n"
        "def once(n):\n"
        "    return n + 1\n"
    )
    names: dict[str, Callable[[int], int]] = {}
    exec(compile(source, str(tmp_path / "cached.py"), "exec"), names)
    assert names["twice"](3) == 8
    after = source.replace("n + 1", "n - 1")
    assert exchange(Mutant("cached.py", 6, "sign", source.encode(), after.encode()), tmp_path) == 1
    assert names["twice"](3) == 4


def test_a_method_that_loses_its_super_is_left_to_an_import(tmp_path: Path) -> None:
    source = "class Begun(dict):\n    def __init__(self):\n        super().__init__(a=1)\n"
    after = source.replace("super().__init__(a=1)", "pass")
    names: dict[str, type[dict[str, int]]] = {}
    exec(compile(source, str(tmp_path / "begun.py"), "exec"), names)
    changed = Mutant("begun.py", 3, "statement", source.encode(), after.encode())
    assert exchange(changed, tmp_path) == 0
    assert names["Begun"]() == {"a": 1}


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


@pytest.mark.parametrize("again", ["killed", "survived", "timeout"])
def test_what_took_too_long_is_asked_again_with_a_limit_measured_anew(
    again: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (changed,) = sample(ROOT, [PATH], 1, seed=1)
    trace = Trace({PATH: {changed.line: {"test"}}}, {"test": 2.0})
    forks = Forks([changed], 10.0, lambda mutant, found: None, tmp_path)
    asked = []

    def answer(mutant: Mutant, tests: list[str], limit_s: float) -> dict[str, str]:
        asked.append((tests, limit_s))
        return {"outcome": "timeout" if len(asked) == 1 else again}

    monkeypatch.setattr(forks, "_asked", answer)
    monkeypatch.setattr(forks, "_limit_now_s", lambda tests: 500.0)
    assert forks._tried(changed, trace)["outcome"] == again
    assert asked == [(["test"], 40.0), (["test"], 500.0)]


def test_of_c_the_tests_of_its_subject_come_first() -> None:
    changed = Mutant("firmware/linux/maestro.c", 1, "sign", b"a", b"b")
    assert words_of(changed.path) == ["linux", "maestro"]
    durations = {"test_link": 0.1, "test_maestro": 0.9, "test_linux": 0.4}
    trace = Trace(durations=durations)
    assert trace.chosen(changed, 1.3) == ["test_linux", "test_maestro"]
    assert trace.chosen(changed, 2.0)[-1] == "test_link"


def test_a_kept_trace_follows_lines_that_moved(tmp_path: Path) -> None:
    source, test_file = tmp_path / "robot/a.py", tmp_path / "tests/test_a.py"
    for file, text in ((source, "a = 1\nb = 2\nc = 3\n"), (test_file, "x = 1\n")):
        file.parent.mkdir()
        file.write_text(text)
    kept = Kept(tmp_path, tmp_path / "kept")
    assert kept.read("tests/test_a.py") is None
    lines = {"robot/a.py": {1: {"t"}, 2: {"t", "u"}, 3: {"failed"}}}
    kept.write("tests/test_a.py", Trace(lines, {"t": 1.0, "u": 2.0}, {"t", "u", "failed"}))
    moved_lines.cache_clear()
    source.write_text("new = 0\na = 1\nb = 4\nc = 3\n")
    found = kept.read("tests/test_a.py")
    assert found is not None
    assert found.durations == {"t": 1.0, "u": 2.0} and found.collected == {"t", "u", "failed"}
    assert found.lines == {"robot/a.py": {2: {"t"}, 4: set()}}
    test_file.write_text("x = 2\n")
    assert kept.read("tests/test_a.py") is None, "another test"


def test_processes_that_tests_start_read_the_changed_source(tmp_path: Path) -> None:
    changed = tmp_path / "changed.py"
    changed.write_bytes((ROOT / PATH).read_bytes() + b"\nprint('changed')\n")
    told = {"CUBIST_REPLACED": PATH, "CUBIST_REPLACEMENT": str(changed)}
    command = [sys.executable, "-c", "import robot.records.latency"]
    for extra, said in ((told, "changed\n"), ({}, "")):
        environment = dict(os.environ) | {"PYTHONPATH": str(STARTED)} | extra
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout == said


def test_a_sample_is_tried_and_nothing_is_written(tmp_path: Path) -> None:
    before = (ROOT / PATH).read_bytes()
    report = tmp_path / "report"
    command = [sys.executable, "-m", "tests.audit", PATH, "4", "2", "--report", str(report)]
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
    command = [sys.executable, "-m", "tests.audit", PATH, "1", "--report", str(tmp_path / "r")]
    done = subprocess.run(
        [*command, "--within", str(failing)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "none of these tests passes" in done.stdout + done.stderr
    assert (tmp_path / "r").read_text() == ""
