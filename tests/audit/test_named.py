"""Tests chosen by what they name, and the processor time that ends them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.audit.changes import Mutant
from tests.audit.named import CpuBudget, Named

ROOT = Path(__file__).resolve().parents[2]


def chosen(path: str, files: dict[str, str], root: Path) -> list[str]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    named = Named(root, [f"{name}::test_it" for name in files])
    found = named.chosen(Mutant(path, 1, "sign", b"a", b"b"), 1.0)
    return [test.removesuffix("::test_it") for test in found]


def test_the_module_s_own_tests_come_first_then_what_imports_it_then_its_room(
    tmp_path: Path,
) -> None:
    files = {
        "tests/vision/test_view.py": "",
        "tests/records/test_timeline.py": "",
        "tests/cli/test_texts.py": "from robot.records.runs import RunStore",
        "tests/system/service/test_run_texts.py": "",
        "tests/records/test_runs.py": "",
    }
    assert chosen("robot/records/runs.py", files, tmp_path) == [
        "tests/records/test_runs.py",
        "tests/system/service/test_run_texts.py",
        "tests/cli/test_texts.py",
        "tests/records/test_timeline.py",
    ]


def test_of_c_the_subject_comes_first(tmp_path: Path) -> None:
    files = {"tests/link/test_link.py": "", "tests/link/test_maestro.py": ""}
    assert chosen("firmware/linux/maestro.c", files, tmp_path) == [
        "tests/link/test_maestro.py",
        "tests/link/test_link.py",
    ]


def test_the_budget_ends_tests_that_would_go_on_and_they_have_passed(tmp_path: Path) -> None:
    tests = tmp_path / "test_slow.py"
    busy = "    until = time.process_time() + 0.2\n    while time.process_time() < until: pass\n"
    tests.write_text(
        f"import time\ndef test_first():\n{busy}def test_second():\n    assert False\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.audit.named"]
    for budget_s, code in (("0.1", 0), ("60", 1)):
        done = subprocess.run(
            [*command, "-c", "/dev/null", "-p", "no:cacheprovider", str(tests)],
            cwd=ROOT,
            env=dict(os.environ) | {CpuBudget.VARIABLE: budget_s},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout
