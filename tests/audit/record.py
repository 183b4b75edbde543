"""A record of the Python lines that each test runs, made once by coverage.py, and of its duration.

A test in the record is a function with all its cases: ``tests/link/test_link.py::test_it_opens``.
The processes that make the record load this module as a plugin (``-p tests.audit.record``).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

from coverage import Coverage, CoverageData

MEASURED = ("robot", "solver", "vision", "tests/rig", "tests/link/conftest.py")
"""Packages and fixtures to measure. Processes started by a test count for the test."""
SETTINGS = """\
[run]
include = {include}
data_file = {data}
parallel = true
context = ${{PYTEST_CURRENT_TEST-}}
sigterm = true
patch = _exit
disable_warnings = no-data-collected, module-not-imported, couldnt-parse
"""


class Record:
    """The record of the tests in ``places``, made if ``folder`` has none."""

    def __init__(self, root: Path, places: Sequence[str], folder: Path) -> None:
        self._root = root
        self._file = folder / f"{'-'.join(places).replace('/', '-')}.record"
        self._times = self._file.with_suffix(".xml")
        if not self._file.exists():
            self._make(places)
        self._data = CoverageData(str(self._file))
        self._data.read()

    def _make(self, places: Sequence[str]) -> None:
        print("recording which tests run which lines, as long as all of them take and longer")
        parts = self._file.with_suffix(".parts")
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
        include = [
            f"{self._root / place}{'' if place.endswith('.py') else '/*'}" for place in MEASURED
        ]
        settings = parts / "settings"
        settings.write_text(SETTINGS.format(include=", ".join(include), data=parts / "data"))
        command = ("-n", "auto", "-q", "-m", "not long", "-p", "tests.audit.record", "--tb=no")
        command += (f"--junitxml={self._times}", "--ignore=tests/audit", *places)
        environment = os.environ | {"COVERAGE_PROCESS_START": str(settings)}
        environment.pop("PYTEST_CURRENT_TEST", None)
        pytest = [sys.executable, "-m", "pytest", *command]
        subprocess.run(pytest, cwd=self._root, env=environment, check=False)
        combined = Coverage(str(parts / "data"), config_file=False)
        combined.combine([str(parts)])
        combined.save()
        (parts / "data").rename(self._file)
        shutil.rmtree(parts)

    @cached_property
    def costs(self) -> dict[str, float]:
        """The seconds that each test took."""
        costs: defaultdict[str, float] = defaultdict(float)
        for case in ElementTree.parse(self._times).iter("testcase"):
            module, name = case.get("classname", ""), case.get("name", "").partition("[")[0]
            costs[f"{module.replace('.', '/')}.py::{name}"] += float(case.attrib["time"])
        return dict(costs)

    def is_older(self, file: str) -> bool:
        """Return True if a file was written since the record was made."""
        return (self._root / file).stat().st_mtime > self._file.stat().st_mtime

    def tests_of(self, file: str, lines: Collection[int] = ()) -> set[str]:
        """Return the tests that run these lines of a file, or any line if none are given or the
        file has changed.
        """
        recorded = self._data.contexts_by_lineno(str(self._root / file))
        wanted = recorded if not lines or self.is_older(file) else lines
        contexts = {context for line in wanted for context in recorded.get(line, ())}
        return {re.split(r"\[| \(", context)[0] for context in contexts - {""}}

    def tests_naming(self, names: str) -> set[str]:
        """Return the tests that run a line matching an expression."""
        found = set()
        for file in map(Path, self._data.measured_files()):
            text = file.read_text() if file.is_file() else ""
            lines = [n for n, line in enumerate(text.splitlines(), 1) if re.search(names, line)]
            found |= self.tests_of(str(file), lines) if lines else set()
        return found


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record the following lines for the test that starts."""
    if measuring := Coverage.current():
        measuring.switch_context(nodeid)
