"""The choice of tests for a mutant, and the budget that ends them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.changes import Mutant
from tests.audit.selection import Budget, Selection

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "tests/vision/test_view.py": "",
    "tests/records/test_timeline.py": "",
    "tests/cli/test_texts.py": "from robot.records.runs import RunStore",
    "tests/system/service/test_run_texts.py": "",
    "tests/records/test_runs.py": "",
    "tests/link/test_link.py": "",
    "tests/link/test_maestro.py": "",
}


@pytest.mark.parametrize(
    ("path", "chosen"),
    [
        ("robot/records/runs.py", ["test_runs", "test_run_texts", "test_texts", "test_timeline"]),
        ("firmware/linux/maestro.c", ["test_maestro", "test_link"]),
        ("solver/native/cube/turns.cpp", []),
    ],
)
def test_files_are_ranked_by_name_then_import_then_room(
    path: str, chosen: list[str], tmp_path: Path
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    selection = Selection(tmp_path, [f"{name}::test_it" for name in FILES])
    found = selection.choose(Mutant(path, 1, "sign", b"a", b"b"))
    assert [Path(test.partition("::")[0]).stem for test in found] == chosen


def test_a_spent_budget_ends_the_tests_as_passed(tmp_path: Path) -> None:
    tests = tmp_path / "test_slow.py"
    busy = "    until = time.process_time() + 0.2\n    while time.process_time() < until: pass\n"
    tests.write_text(
        f"import time\ndef test_first():\n{busy}def test_second():\n    assert False\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.audit.selection"]
    for budget_s, code in (("0.1", 0), ("60", 1)):
        done = subprocess.run(
            [*command, "-c", "/dev/null", "-p", "no:cacheprovider", str(tests)],
            cwd=ROOT,
            env=dict(os.environ) | {Budget.VARIABLE: budget_s},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout
