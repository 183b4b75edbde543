"""Which tests a mutant is tried against: those that run its line first, cheap ones first."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path, PurePath

import coverage

from tests.audit.changes import Mutant
from tests.audit.copy import Copy, spread
from tests.audit.lines import telling_lines

FOLDERS: dict[str, tuple[str, ...]] = {
    "firmware": ("firmware", "link"),
    "robot": ("cli", "daemon", "settings"),
    "robot/api/client.py": ("cli", "panel", "display", "daemon"),
    "robot/display": ("display",),
    "robot/text/languages": ("text", "display", "cli"),
    "robot/daemon": ("daemon", "system/service"),
    "robot/link": ("link", "machine", "daemon"),
    "robot/mechanism": ("mechanism", "planner", "settings"),
    "robot/motion": ("motion", "link", "planner", "twin"),
    "robot/panel": ("panel", "daemon"),
    "robot/planner": ("planner", "daemon", "cli"),
    "robot/settings": ("settings", "cli", "mechanism", "daemon"),
    "robot/twin": ("twin", "planner", "daemon"),
    "robot/twin/maestro.py": ("link/test_maestro.py",),
    "robot/twin/pwm.py": ("link/test_linux.py",),
    "robot/twin/pulses.py": ("link/test_linux.py", "link/test_maestro.py"),
    "robot/simulate": ("simulate", "display", "twin"),
    "robot/simulate/practice.py": ("calibration",),
    "robot/machine": ("machine", "daemon", "system/service", "cli"),
    "robot/cli": ("cli", "daemon", "simulate", "settings"),
    "robot/web": ("web",),
    "robot/cli/calibrate": ("calibration",),
    "robot/cli/guide": ("calibration",),
    "robot/cli/measuring": ("calibration",),
    "robot/calibration": ("calibration", "cli", "daemon", "system/service"),
    "robot/calibration/trials/stepper_trials.py": ("calibration", "simulate/test_steppers.py"),
    "robot/records": ("records", "daemon", "cli"),
    "solver": ("solver", "planner", "cli"),
    "solver/native": ("solver", "planner"),
    "solver/native/decode": ("vision",),
    "vision": ("vision", "daemon", "cli"),
}
"""Folders and files of tests/ to trace for a source, by the longest beginning of its path; what of
Python was traced for other sources is taken from too."""
PRODUCT = ("robot/", "solver/", "vision/")
"""Where the Python is."""
PHASE = re.compile(r" \((setup|call|teardown)\)$")
TRACE_LIMIT_S = 3 * 3600
LONGEST_TRACED_S = 600
"""A test that takes longer hangs. None is stopped only for being too slow to be chosen: what is
raised while coverage holds its lock leaves the lock held, and every test after it waits for it."""
QUICK_S = (0.3, 3.0)
"""Tests are tried in classes by how long they take, and file by file in each: going from file to
file and back would set each file's fixtures up again and again."""
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
    """What the tests of one file run, and how long each takes."""

    durations: dict[str, float] = field(default_factory=dict)
    lines: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    files: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def folders_for(path: str) -> tuple[str, ...]:
    """The folders and files of tests/ for a source file."""
    return FOLDERS[max((prefix for prefix in FOLDERS if path.startswith(prefix)), key=len)]


def in_order(
    tests: Iterable[str], ranks: Mapping[str, int], durations: Mapping[str, float]
) -> list[str]:
    """Tests by rank, then quick ones before slow ones, then file by file."""
    classes: dict[tuple[int, int], dict[str, list[str]]] = {}
    for test in tests:
        slowness = sum(durations[test] > limit for limit in QUICK_S)
        files = classes.setdefault((ranks[test], slowness), {})
        files.setdefault(_file_of(test), []).append(test)
    return [test for key in sorted(classes) for file in classes[key].values() for test in file]


class Selection:
    """Traces of test files, taken when they are first needed and kept in a folder."""

    def __init__(self, copies: Sequence[Copy], kept: Path, without: Sequence[str] = ()) -> None:
        self._copies = copies
        self._copy = copies[0]
        self._kept = kept
        self._without = without
        self._traces: dict[str, Trace] = {}
        self._left_out: set[str] = set()

    def prepare(self, mutants: Iterable[Mutant]) -> None:
        """Take the traces that are needed for some mutants and not kept from before."""
        wanted = sorted({name for mutant in mutants for name in self._test_files(mutant.path)})
        digests = self._digests()
        self._read_kept(digests)
        missing = [name for name in wanted if name not in self._traces]
        folders = [list(files) for _, files in groupby(missing, key=_folder_of)]

        def trace(copy: Copy, files: list[str]) -> None:
            print(f"tracing {_folder_of(files[0])}: {len(files)} files ...", flush=True)
            self._trace(copy, files, digests)

        spread(self._copies, trace, folders)
        self._read_kept(digests)

    def tests_for(self, mutant: Mutant, budget_s: float) -> tuple[list[str], float, float]:
        """Tests by rank and duration, as many as took ``budget_s`` together, and how long: the
        longest of them, and all.

        Of Python, every test traced so far may be chosen, whatever its folder. A line's own tests
        come before those that run another line of its file, which see what runs once for all of
        them: imports, caches, fixtures of a module, processes that several tests talk to.
        """
        known = self._traces if mutant.is_python else self._test_files(mutant.path)
        traces = [self._traces[name] for name in known if _folder_name(name) not in self._without]
        durations = {test: took for trace in traces for test, took in trace.durations.items()}
        ranks = dict.fromkeys(durations, 0)
        if mutant.is_python:
            ranks = {test: 1 for trace in traces for test in trace.files.get(mutant.path, ())}
            telling = telling_lines(mutant.before, mutant.line)
            for trace in traces:
                own = {t for line in telling for t in trace.lines.get((mutant.path, line), ())}
                if own:
                    ranks |= dict.fromkeys(trace.durations.keys() - own, 1)
                ranks |= dict.fromkeys(own, 0)
        chosen: list[str] = []
        took_s = 0.0
        for test in sorted(ranks, key=lambda name: (ranks[name], durations[name], name)):
            if test not in self._left_out and took_s + durations[test] <= budget_s:
                chosen.append(test)
                took_s += durations[test]
        longest_s = max((durations[test] for test in chosen), default=0.0)
        return in_order(chosen, ranks, durations), longest_s, took_s

    def leave_out(self, test: str) -> None:
        """Never choose a test again."""
        self._left_out.add(test)

    def _test_files(self, path: str) -> list[str]:
        """The test files for a source file."""
        places = [place for place in folders_for(path) if place not in self._without]
        inside = tuple(f"tests/{place}{'' if '.' in place else '/'}" for place in places)
        return [name for name in self._all_test_files() if name.startswith(inside)]

    def _all_test_files(self) -> list[str]:
        names = (name for name in self._copy.files if name.startswith("tests/"))
        return [name for name in names if PurePath(name).match("test_*.py")]

    def _trace(self, copy: Copy, files: Sequence[str], digests: Mapping[str, str]) -> None:
        """Run test files traced, and keep what was found."""
        batch = self._kept / f"{time.time_ns()}"
        batch.mkdir(parents=True)
        data, durations, rcfile = batch / "coverage", batch / "durations.json", batch / "rcfile"
        rcfile.write_text(RCFILE.format(data=data))
        extra = {"COVERAGE_PROCESS_START": str(rcfile), "CUBIST_DURATIONS": str(durations)}
        options = ["-q", "-p", "tests.audit.tracing", "-p", "no:cacheprovider", "-m", "not long"]
        limit = ["--timeout", str(LONGEST_TRACED_S)]
        done = copy.run(["-m", "pytest", *options, *limit, *files], TRACE_LIMIT_S, extra)
        (batch / "output").write_text(done.output)
        if not durations.is_file():
            raise SystemExit(f"these tests cannot be traced: {', '.join(files)}\n{done.output}")
        measured = coverage.Coverage(data_file=str(data), config_file=str(rcfile))
        measured.combine([str(batch)])
        made = {name: digests[name] for name in files}
        made |= {name: digest for name, digest in digests.items() if name.startswith(PRODUCT)}
        (batch / "digests.json").write_text(json.dumps(made))

    def _read_kept(self, digests: Mapping[str, str]) -> None:
        """Take over the newest traces of test files that are as they were then."""
        for batch in sorted(self._kept.glob("*"), reverse=True):
            index = batch / "digests.json"  # written last: without it the batch is not whole
            made = json.loads(index.read_text()) if index.is_file() else {}
            same = {name for name, digest in made.items() if digests.get(name) == digest}
            tests = {name for name in same if name.startswith("tests/")}
            if not tests:
                shutil.rmtree(batch)
            elif wanted := tests - self._traces.keys():
                self._read(batch, wanted, same)

    def _read(self, batch: Path, files: Iterable[str], same: Container[str]) -> None:
        """Of a source that has changed since, only that a test runs some line is still known."""
        current = {name: Trace() for name in files}
        for test, took in json.loads((batch / "durations.json").read_text()).items():
            if (trace := current.get(_file_of(test))) is not None:
                trace.durations[test] = took
        for path, line, test in _lines(batch / "coverage"):
            trace = current.get(_file_of(test))
            if trace is not None and test in trace.durations:
                trace.files[path].add(test)
                if path in same:
                    trace.lines[path, line].add(test)
        self._traces |= current

    def _digests(self) -> dict[str, str]:
        """Of the product's Python sources, and of each test file with what helps it."""
        contents = {
            name: (self._copy.root / name).read_bytes()
            for name in self._copy.files
            if name.startswith((*PRODUCT, "tests/"))
        }
        tests = set(self._all_test_files())
        helpers = defaultdict(hashlib.sha256)
        for name in sorted(contents.keys() - tests):
            helpers[_folder_of(name)].update(name.encode() + contents[name])
        return {
            name: hashlib.sha256(
                content + (helpers[_folder_of(name)].digest() if name in tests else b"")
            ).hexdigest()
            for name, content in contents.items()
            if name in tests or name.startswith(PRODUCT)
        }


def _folder_of(name: str) -> PurePath:
    """``tests/link`` for what is in it or below."""
    return PurePath(*PurePath(name).parts[:2])


def _folder_name(test_file: str) -> str:
    """``link`` for tests/link/test_link.py."""
    return PurePath(test_file).parts[1]


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _lines(data: Path) -> Iterator[tuple[str, int, str]]:
    """Source file, line and a test that runs it."""
    measured = coverage.CoverageData(basename=str(data))
    measured.read()
    for file in measured.measured_files():
        path = file.rpartition("/checkout/")[2]
        for line, contexts in measured.contexts_by_lineno(file).items():
            yield from ((path, line, test) for test in {PHASE.sub("", name) for name in contexts})
