"""Which tests a mutant is tried against: those that run its line first, cheap ones first."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import coverage

from tests.mutants.changes import Mutant
from tests.mutants.copy import Copy

FOLDERS: dict[str, tuple[str, ...]] = {
    "firmware": ("firmware", "link"),
    "robot": ("cli", "daemon", "settings"),
    "robot/daemon": ("daemon", "service"),
    "robot/link": ("link", "daemon"),
    "robot/mechanism": ("mechanism", "planner", "settings"),
    "robot/motion": ("motion", "link", "planner", "twin"),
    "robot/panel": ("panel", "daemon"),
    "robot/planner": ("planner", "daemon", "cli"),
    "robot/settings": ("settings", "cli", "mechanism", "daemon"),
    "robot/twin": ("twin", "planner", "daemon"),
    "robot/simulate": ("demo",),
    "robot/simulate/virtual": ("link", "daemon"),
    "robot/machine": ("daemon", "service"),
    "robot/calibration": ("daemon", "service"),
    "robot/records/runs.py": ("storage", "daemon", "cli"),
    "robot/records/storage.py": ("storage", "daemon", "cli"),
    "solver": ("cube", "solver", "planner", "cli"),
    "solver/native": ("cube", "solver", "planner"),
    "solver/native/decode": ("vision",),
    "vision": ("vision", "daemon", "cli"),
}
"""The folders of tests/ to take tests from, by the longest beginning of a source's path."""
PHASE = re.compile(r" \((setup|call|teardown)\)$")
TRACE_LIMIT_S = 3 * 3600
RCFILE = """\
[run]
source = robot,solver,vision
data_file = {data}
parallel = true
sigterm = true
context = ${{PYTEST_CURRENT_TEST-}}
disable_warnings = no-data-collected,module-not-imported,module-not-measured,already-imported
"""


@dataclass(slots=True)
class Trace:
    """What the tests of one folder run, and how long each takes."""

    durations: dict[str, float]
    lines: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def folders_for(path: str) -> tuple[str, ...]:
    """The folders of tests/ for a source file."""
    return FOLDERS[max((prefix for prefix in FOLDERS if path.startswith(prefix)), key=len)]


class Selection:
    """Traces of test folders, taken when they are first needed and kept beside the copy."""

    def __init__(self, copy: Copy, kept: Path) -> None:
        self._copy = copy
        self._kept = kept
        self._traces: dict[str, Trace] = {}

    def prepare(self, mutants: Iterable[Mutant]) -> None:
        """Take the traces that are needed for some mutants."""
        for folder in sorted({name for mutant in mutants for name in folders_for(mutant.path)}):
            self._traces[folder] = self._trace(folder)

    def tests_for(self, mutant: Mutant, budget_s: float) -> tuple[list[str], float]:
        """Tests by rank and duration, as many as took ``budget_s`` together, and how long.

        A Python line's own tests come before those that run another line of its file, which see
        what runs once for all of them: imports, caches, fixtures of a module.
        """
        traces = [self._traces[name] for name in folders_for(mutant.path)]
        durations = {test: took for trace in traces for test, took in trace.durations.items()}
        ranks = [set(durations)]
        if mutant.is_python:
            place = (mutant.path, mutant.line)
            ranks = [
                {test for trace in traces for test in trace.lines.get(place, ())},
                {test for trace in traces for test in trace.files.get(mutant.path, ())},
            ]
        chosen: dict[str, float] = {}
        for rank in ranks:
            for test in sorted(rank & set(durations), key=lambda name: (durations[name], name)):
                if test not in chosen and sum(chosen.values()) + durations[test] <= budget_s:
                    chosen[test] = durations[test]
        return list(chosen), sum(chosen.values())

    def leave_out(self, test: str) -> None:
        """Never choose a test again."""
        for trace in self._traces.values():
            trace.durations.pop(test, None)

    def _trace(self, folder: str) -> Trace:
        target = self._kept / f"{folder}-{self._digest(folder)}"
        data, durations = target / "coverage", target / "durations.json"
        if not durations.is_file():
            print(f"tracing tests/{folder} ...", flush=True)
            target.mkdir(parents=True, exist_ok=True)
            rcfile = target / "rcfile"
            rcfile.write_text(RCFILE.format(data=data))
            extra = {"COVERAGE_PROCESS_START": str(rcfile), "CUBIST_DURATIONS": str(durations)}
            options = ["-q", "-p", "tests.mutants.tracing", "-p", "no:cacheprovider"]
            arguments = ["-m", "pytest", *options, "-m", "not long", f"tests/{folder}"]
            done = self._copy.run(arguments, TRACE_LIMIT_S, extra)
            (target / "output").write_text(done.output)
            if not durations.is_file():
                raise SystemExit(f"tests/{folder} cannot be traced:\n{done.output}")
            measured = coverage.Coverage(data_file=str(data), config_file=str(rcfile))
            measured.combine([str(target)])
        return self._read(Trace(json.loads(durations.read_text())), data)

    def _read(self, trace: Trace, data: Path) -> Trace:
        measured = coverage.CoverageData(basename=str(data))
        measured.read()
        for file in measured.measured_files():
            name = str(Path(file).relative_to(self._copy.root))
            for line, contexts in measured.contexts_by_lineno(file).items():
                for test in _tests(contexts, trace.durations):
                    trace.lines[name, line].add(test)
                    trace.files[name].add(test)
        return trace

    def _digest(self, folder: str) -> str:
        """Of all a trace depends on: the product and that folder's tests."""
        hashed = hashlib.sha256()
        product = ("robot/", "solver/", "vision/", "firmware/", "config/", "pyproject.toml")
        for name in self._copy.files:
            if name.startswith((*product, f"tests/{folder}/")):
                hashed.update(name.encode() + (self._copy.root / name).read_bytes())
        return hashed.hexdigest()[:16]


def _tests(contexts: Sequence[str], durations: dict[str, float]) -> set[str]:
    return {PHASE.sub("", context) for context in contexts} & set(durations)
