"""The audit: changes, selection of tests and verdicts; limits and resumption of long campaigns."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.audit.census import ROOT, list_files
from tests.audit.changes import Edit, Mutant, c_edits, python_edits, sample, source_files
from tests.audit.engine import STARTED
from tests.audit.long import SEED, SHARDS, read_results
from tests.audit.selection import Budget, Selection

PATH = "robot/records/latency.py"


def run(*command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a separate Python process in the checkout, with additional environment variables."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )


def results(line: str, edits: Callable[[bytes], list[Edit]]) -> set[str]:
    source = line.encode()
    return {(source[: e.start] + e.text + source[e.end :]).decode() for e in edits(source)}


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("x = a < b\n", {"x = a <= b\n", "x = a >= b\n"}),
        ("x = (a) is not (b)\n", {"x = (a) is (b)\n"}),
        ("x = -(a)\n", {"x =  (a)\n"}),
        ("x = a and b\n", {"x = a or b\n"}),
        ("x = 7\n", {"x = 6\n", "x = 8\n"}),
        ("x = True\n", {"x = False\n"}),
        ("if a:\n    b()\n", {"if not (a):\n    b()\n", "if a:\n    pass\n"}),
        ("a.b = c\n", {"pass\n"}),
        ("x: Annotated[int, 3] = y\n", set()),
        ("@cached(size=3)\ndef f() -> None:\n    return g\n", set()),
        ('x = "a < 3" % b  # c + 1\n', set()),
        ("assert a < 3\n", set()),
        ("for x in zip(a, b, strict=True):\n    f = x\n", set()),
        ("x = 0.25\n", set()),
        ("if TYPE_CHECKING:\n    from a import b\n", set()),
        ("del unused\n", set()),
        ("del a[b]\n", {"pass\n"}),
        ('log.info("%d", a + 1)\n', set()),
        ("x = Table.grid(padding=(0, 2))\n", set()),
    ],
)
def test_python_is_changed_by_its_tree(line: str, changed: set[str]) -> None:
    assert results(line, python_edits) == changed


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("x = a < b;", {"x = a <= b;", "x = a >= b;"}),
        ("std::vector<int> a;", set()),
        ("uint8_t x = a + b;", {"uint8_t x = a - b;"}),
        ("int x = -a;", {"int x = a;"}),
        ("int x = 0x10u;", {"int x = 15u;", "int x = 17u;"}),
        ("int x = 1'000;", {"int x = 999;", "int x = 1001;"}),
        ("int x = 010;", {"int x = 7;", "int x = 9;"}),
        ("float x = 0.5f;", set()),
        ('\n#define X 3\n/* b + 1 */ const char *x = "a < 3";  // c < 3', set()),
        (";Table(const Table&) = delete;", set()),
        ("a.reserve(b + 1);\na.b = c;", {"a.reserve(b + 1);\n;"}),
        (";if (a) {\ng(b);\n}\n", {";if (!(a)) {\ng(b);\n}\n", ";if (a) {\n;\n}\n"}),
    ],
)
def test_c_is_changed_by_its_tokens(line: str, changed: set[str]) -> None:
    assert results(line, c_edits) == changed


def test_a_sample_is_repeatable_and_of_different_lines() -> None:
    assert "robot/link/protocol.py" not in source_files(ROOT, "robot/link"), "it is generated"
    files = source_files(ROOT, "robot/link/ledger.py,firmware/core/servo.c,vision/explain.py")
    mutants = sample(ROOT, files, 99, seed=4)
    assert mutants == sample(ROOT, files, 99, seed=4) != sample(ROOT, files, 99, seed=5)
    assert len({(mutant.path, mutant.line) for mutant in mutants}) == 99
    for mutant in mutants:
        assert mutant.before != mutant.after
        old, new = mutant.before.splitlines(), mutant.after.splitlines()
        assert old[: mutant.line - 1] == new[: mutant.line - 1]
        assert not ("explain" in mutant.path and mutant.kind == "constant"), "a place on a canvas"
        if mutant.is_python:
            ast.parse(mutant.after)
    with pytest.raises(SystemExit, match="docs"):
        source_files(ROOT, "docs")


TREE = {
    "tests/rig/half.py": """\
LIMIT = 2
def half(number):
    if number < LIMIT:
        return 0
    return number // 2
def program():
    return "cubist-firmware-linux"
""",
    "tests/room/test_half.py": """\
from tests.rig.half import half
def test_large():
    assert half(4) == 2
def test_small():
    assert half(1) == 0
""",
    "tests/link/test_boards.py": """\
import subprocess, sys
from tests.rig.half import program
def test_linux():
    assert program()
def test_started():
    code = "from tests.rig.half import half; half(1)"
    subprocess.run([sys.executable, "-c", code], check=True)
def test_nothing():
    pass
""",
    "tests/solver/test_turns.py": "def test_turns():\n    '_native.turns'\n",
    "solver/native/bind/bind_turns.cpp": '#include "turns/turns.hpp"\nm.def("turns")\n',
}


def test_tests_are_chosen_that_run_what_changed_the_near_ones_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "0")
    selection = Selection(tmp_path, ["tests"], tmp_path)
    for path, line, expected in (
        ("tests/rig/half.py", 4, ["test_small", "test_started"]),
        ("tests/rig/half.py", 1, ["test_large", "test_linux", "test_small", "test_started"]),
        ("firmware/linux/maestro.c", 1, ["test_linux"]),
        ("firmware/avr/uart.c", 1, []),
        ("solver/native/turns/turns.cpp", 1, ["test_turns"]),
    ):
        text = TREE.get(path, "").encode()
        groups = selection.choose(Mutant(path, line, "sign", text, text))
        chosen = [test.partition("::")[2] for group in groups for test in group]
        assert sorted(chosen) == expected, path
        assert chosen[-1:] == expected[-1:] or line == 1, "a process takes long"


def test_started_processes_read_the_changed_source(tmp_path: Path) -> None:
    changed = tmp_path / "changed.py"
    changed.write_bytes((ROOT / PATH).read_bytes() + b"\nprint('changed')\n")
    replaced = {"CUBIST_REPLACED": PATH, "CUBIST_REPLACEMENT": str(changed)}
    for extra, output in ((replaced, "changed\n"), ({}, "")):
        done = run("-c", "import robot.records.latency", PYTHONPATH=str(STARTED), **extra)
        assert done.stdout == output, done.stderr


@pytest.mark.parametrize(
    ("clock", "budget_s", "code"),
    [
        ("lambda: 0.0", "0.1", 0),
        ("lambda: 0.0", "60", 1),
        ("itertools.count(0, 1000).__next__", "60", 0),
    ],
    ids=["processor-time-is-spent", "both-are-left", "the-clock-has-run-out"],
)
def test_a_spent_budget_ends_the_tests_as_passed(
    clock: str, budget_s: str, code: int, tmp_path: Path
) -> None:
    tests = tmp_path / "test_slow.py"
    tests.write_text(
        f"import itertools, time\ntime.monotonic = {clock}\n"
        "def test_first():\n"
        "    until = time.process_time() + 0.2\n"
        "    while time.process_time() < until: pass\n"
        "def test_second():\n    assert False\n"
    )
    plugin = ("-p", "tests.audit.selection", "-p", "no:cacheprovider")
    command = ("-m", "pytest", "-x", *plugin, "-c", "/dev/null", tests)
    done = run(*command, **{Budget.VARIABLE: budget_s, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert done.returncode == code, done.stdout
    assert Budget.spent_s(done.stdout) >= float(budget_s) or code


FAILING = """\
from robot.records.latency import Stopwatch

def test_it():
    Stopwatch()
    assert False, 300 * "x"
"""


@pytest.mark.long
def test_a_sample_is_tried_and_a_test_that_always_fails_notices_nothing(tmp_path: Path) -> None:
    before = (ROOT / PATH).read_bytes()

    def audit(count: str, seed: str, within: str) -> list[dict[str, str]]:
        report = tmp_path / "report"
        options = (PATH, count, seed, "--report", report, "--within", within)
        done = run("-m", "tests.audit", *options, PYTEST_XDIST_AUTO_NUM_WORKERS="0")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in report.read_text().splitlines()]

    (found,) = audit("1", "2", "tests/records/test_statistics.py")
    assert found["outcome"] == "killed" and "test_statistics.py::" in found["by"]
    failing = ROOT / "build/mutants/test_latency.py"
    failing.write_text(FAILING)
    (found,) = audit("1", "2", str(failing.relative_to(ROOT)))
    assert (found["outcome"], found["files"]) == ("survived", 1)
    assert (ROOT / PATH).read_bytes() == before


CASES = """\
import time
import pytest

@pytest.mark.parametrize("case", range(8))
def test_slow(case):
    time.sleep(0.05)

@pytest.fixture(scope="module")
def system():
    time.sleep(0.3)

@pytest.mark.parametrize("case", range(2))
def test_shared(case, system):
    pass

def test_broken():
    assert False
"""


def test_cases_that_do_not_fit_follow_in_the_next_run_and_passed_ones_do_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_cases.py").write_text(CASES, encoding="utf-8")
    (tmp_path / SEED).write_text("1", encoding="utf-8")

    def campaign(minutes: float) -> list[tuple[str, str]]:
        options = ("--campaign", tmp_path, "--minutes", str(minutes), tmp_path)
        command = ("-m", "pytest", "-p", "tests.audit.long", *options)
        run(*command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        results = read_results(tmp_path)
        return [(one["test"].partition("::")[2], one["outcome"]) for one in results]

    first = campaign(0.12 / 60)
    passed = [case for case, outcome in first if outcome == "passed"]
    assert 3 <= len(passed) < 10 and ("test_broken", "failed") in first
    assert {"test_shared[0]", "test_shared[1]"} <= {*passed}, "what they share takes them no time"
    second = campaign(1)
    passed = [case for case, outcome in second if outcome == "passed"]
    assert len(passed) == len(set(passed)) == 10


def test_every_long_test_belongs_to_a_shard() -> None:
    covered = tuple(f"tests/{folder}/" for folders in SHARDS.values() for folder in folders)
    long = [
        str(path)
        for path in list_files()
        if path.name.startswith("test_")
        and path.parts[1] != "audit"
        and "mark.long" in (ROOT / path).read_text(encoding="utf-8")
    ]
    assert [path for path in long if not path.startswith(covered)] == []
