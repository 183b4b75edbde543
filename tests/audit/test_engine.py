"""Mutants tried in forks: exchanged code, new processes, verdicts, and an untouched checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from robot.records import latency
from robot.records.latency import percentile
from tests.audit.changes import Mutant
from tests.audit.engine import STARTED, exchange_code, is_defined_at_import

ROOT = Path(__file__).resolve().parents[2]
PATH = "robot/records/latency.py"


def change(old: bytes, new: bytes) -> Mutant:
    before = (ROOT / PATH).read_bytes()
    assert before.count(old) == 1
    line = before[: before.index(old)].count(b"\n") + 1
    return Mutant(PATH, line, "constant", before, before.replace(old, new))


def test_a_function_in_use_gets_the_changed_code() -> None:
    changed = change(b"len(ordered)) - 1)]", b"len(ordered)) - 2)]")
    assert not is_defined_at_import(changed)
    usual = percentile.__code__
    try:
        assert exchange_code(changed, ROOT)
        assert percentile([1.0, 2.0, 3.0], 1.0) == 2.0
    finally:
        percentile.__code__ = usual
    assert latency.percentile([1.0, 2.0, 3.0], 1.0) == 3.0


def test_caches_forget_results_of_the_unchanged_code(tmp_path: Path) -> None:
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
    assert exchange_code(Mutant("cached.py", 6, "sign", source.encode(), after.encode()), tmp_path)
    assert names["twice"](3) == 4


def test_a_method_that_loses_its_super_needs_an_import(tmp_path: Path) -> None:
    source = "class Begun(dict):\n    def __init__(self):\n        super().__init__(a=1)\n"
    after = source.replace("super().__init__(a=1)", "pass")
    names: dict[str, type[dict[str, int]]] = {}
    exec(compile(source, str(tmp_path / "begun.py"), "exec"), names)
    changed = Mutant("begun.py", 3, "statement", source.encode(), after.encode())
    assert not exchange_code(changed, tmp_path)
    assert names["Begun"]() == {"a": 1}


@pytest.mark.parametrize(
    ("old", "new", "is_at_import"),
    [
        (b"clock: Callable[[], float] = time.monotonic", b"clock=0", True),
        (b"return {stage: found", b"return {0: found", False),
    ],
)
def test_code_of_an_import_is_told_from_that_of_functions(
    old: bytes, new: bytes, is_at_import: bool
) -> None:
    assert is_defined_at_import(change(old, new)) == is_at_import


def test_started_processes_read_the_changed_source(tmp_path: Path) -> None:
    changed = tmp_path / "changed.py"
    changed.write_bytes((ROOT / PATH).read_bytes() + b"\nprint('changed')\n")
    replaced = {"CUBIST_REPLACED": PATH, "CUBIST_REPLACEMENT": str(changed)}
    command = [sys.executable, "-c", "import robot.records.latency"]
    for extra, output in ((replaced, "changed\n"), ({}, "")):
        environment = dict(os.environ) | {"PYTHONPATH": str(STARTED)} | extra
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout == output


def audit(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.audit", PATH, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)


def test_a_sample_is_tried_and_the_checkout_stays(tmp_path: Path) -> None:
    before, report = (ROOT / PATH).read_bytes(), tmp_path / "report"
    done = audit("4", "2", "--report", str(report), "--within", "tests/records/test_latency.py")
    found = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(found) == 4
    assert sum(one["outcome"] == "killed" for one in found) >= 3, done.stdout
    assert all("test_latency.py::" in one["by"] for one in found if one["outcome"] == "killed")
    assert (ROOT / PATH).read_bytes() == before


def test_a_test_that_always_fails_notices_no_mutant(tmp_path: Path) -> None:
    report = tmp_path / "report"
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        failing = Path(folder, "test_latency.py")
        failing.write_text("def test_it():\n    assert False\n")
        audit("1", "--report", str(report), "--within", str(failing.relative_to(ROOT)))
    assert json.loads(report.read_text())["outcome"] == "survived"
