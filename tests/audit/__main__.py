"""Small random changes to the code, and whether the tests notice them: ``make mutants``.

Every mutant is built and tried in a copy of the checkout below build/mutants; nothing else is
touched. docs/testing.md describes its use.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from tests.audit import forked
from tests.audit.changes import Mutant, sample, source_files
from tests.audit.copy import Copy, DoesNotBuild, Outcome, listed, spread
from tests.audit.equivalent import known_equivalents
from tests.audit.selection import Selection

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "build/mutants"
NOTICED = ("killed", "timeout")
PASSED, INTERNAL, USAGE, NO_TESTS = 0, 3, 4, 5
START_S = 30.0
"""Python, its imports and what a file's tests share, on a busy computer."""
SLOWER = 5
"""Times as long as when they were traced: that is a hang."""
LIMIT_ALONE_S = 600.0
SPARE = 10
"""Drawn beyond those asked for, in place of some that do not build."""
INTERRUPTED = 130


class Trial:
    """Trying mutants in one copy, one after another."""

    def __init__(self, copy: Copy, selection: Selection, budget_s: float) -> None:
        self._copy = copy
        self._selection = selection
        self._budget_s = budget_s
        self._built_as_it_is = True
        self._trusted: dict[str, bool] = {}

    def of(self, mutant: Mutant) -> dict[str, object]:
        """What became of a mutant, as a line of the report."""
        while True:
            record = self._first_verdict(mutant)
            killer = record.get("killer")
            if killer is None or self._passes_alone(str(killer)):
                return record
            self._selection.leave_out(str(killer))

    def _first_verdict(self, mutant: Mutant) -> dict[str, object]:
        tests, longest_s, duration_s = self._selection.tests_for(mutant, self._budget_s)
        record = _described(mutant) | {"tests": len(tests)}
        started = time.monotonic()
        with self._copy.changed(mutant.path, mutant.after):
            record |= self._tried(mutant, tests, longest_s, duration_s)
        return record | {"took_s": round(time.monotonic() - started, 1)}

    def _passes_alone(self, test: str) -> bool:
        """Whether a test passes on the code as it is: some only do after others of their file."""
        if test not in self._trusted:
            if not self._built_as_it_is:
                self._copy.build()
                self._built_as_it_is = True
            self._trusted[test] = self._run([test], LIMIT_ALONE_S, LIMIT_ALONE_S).code == PASSED
        return self._trusted[test]

    def _tried(
        self, mutant: Mutant, tests: list[str], longest_s: float, duration_s: float
    ) -> Mapping[str, object]:
        if not tests:
            return {"outcome": "survived", "by": "no test runs this line"}
        try:
            if not mutant.is_python or not self._built_as_it_is:
                # Also before the first Python mutant after others, whose change is still built in.
                self._built_as_it_is = mutant.is_python
                self._copy.build()
        except DoesNotBuild:
            return {"outcome": "not built"}
        limits = START_S + SLOWER * longest_s, START_S + SLOWER * duration_s
        return self._judged(self._run(tests, *limits))

    def _run(self, tests: list[str], limit_of_one_s: float, limit_s: float) -> Outcome:
        chosen = self._copy.folder / "chosen-tests"
        chosen.write_text("\n".join(tests) + "\n")
        options = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
        options += ["--timeout", f"{limit_of_one_s:.0f}"]
        with self._copy.tables_of_one_run() as tables:
            return self._copy.run(["-m", "pytest", *options, f"@{chosen}"], limit_s, tables)

    def _judged(self, done: Outcome) -> Mapping[str, object]:
        if done.code is None:
            return {"outcome": "timeout"}
        if done.code == PASSED:
            return {"outcome": "survived"}
        unimportable = "\nERROR tests/" in done.output  # which the mutant has made of its tests
        lost = "found no collectors" in done.output and not unimportable
        if done.code in (INTERNAL, USAGE, NO_TESTS) and lost:
            raise SystemExit(f"the tests chosen were not found:\n{done.output}")
        said = [line for line in done.output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        killed = {"outcome": "killed", "by": said[0][:200] if said else done.output[-200:]}
        failed = [line for line in said if line.startswith("FAILED ")]
        return killed | ({"killer": failed[0][7:].split(" - ")[0]} if failed else {})


class Report:
    """What became of a sample: a line of a file for each mutant, and on the screen."""

    def __init__(self, options: argparse.Namespace, lines: TextIO) -> None:
        self._options = options
        self._lines = lines
        self._lock = threading.Lock()
        self._begun = 0
        self._counted: Counter[str] = Counter()

    def wants_another(self) -> bool:
        """Whether one more is to be tried; then it counts as begun."""
        with self._lock:
            wanted = self._begun - self._counted["not built"] < self._options.count
            self._begun += wanted
            return wanted

    def add(self, record: Mapping[str, object]) -> None:
        """One more is judged."""
        with self._lock:
            self._counted[str(record["outcome"])] += 1
            self._lines.write(json.dumps(record) + "\n")
            self._lines.flush()
            print(
                f"{record['outcome']:10} {record['file']}:{record['line']}  {record.get('by', '')}"
            )
            if record["outcome"] == "survived":
                print(record["difference"])
            sys.stdout.flush()

    def summary(self) -> str:
        """Its figures, for a person and in JSON."""
        counted = self._counted
        noticed = sum(counted[outcome] for outcome in NOTICED)
        judged = noticed + counted["survived"]
        percent = round(100 * noticed / judged, 1) if judged else None
        document = {
            "mutants": self._options.path,
            "seed": self._options.seed,
            **{name.replace(" ", "_"): counted[name] for name in sorted(counted)},
            "noticed_percent": percent,
        }
        told = f"{self._options.path}, seed {self._options.seed}: {noticed} of {judged} noticed"
        told += f" ({percent} %)" if judged else ""
        if counted["survived"]:
            told += f"; the {counted['survived']} others are above and in {self._lines.name}"
        return f"\n{told}\n{json.dumps(document)}"


def main() -> None:
    options = _options()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    if options.within:  # which shares nothing with others
        sys.exit(_reported(options))
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another `make mutants` works in build/mutants: wait for its end")
        sys.exit(_reported(options))


def _reported(options: argparse.Namespace) -> int:
    """The exit code; Ctrl-C ends the tests that run, and what was found until then is shown."""
    with Path(options.report).open("w") as lines:
        report = Report(options, lines)
        try:
            (_in_forks if options.within else _sample)(options, report)
        except KeyboardInterrupt:
            print(f"{report.summary()}\ninterrupted; the checkout was not touched")
            return INTERRUPTED
        print(report.summary())
    return 0


def _sample(options: argparse.Namespace, report: Report) -> None:
    copies = [Copy(CHECKOUT, FOLDER / str(number)) for number in range(options.jobs)]
    files = _sources(copies[0].files, options.path)
    print("preparing build/mutants: copying and building ...", flush=True)
    spread(copies, lambda copy, _: copy.prepare(), copies)
    mutants = sample(CHECKOUT, files, options.count + SPARE, options.seed)
    # Python first: going to and fro between the languages builds again and again.
    drawn = sorted(mutants[: options.count], key=lambda mutant: not mutant.is_python)
    selection = Selection(copies, FOLDER / "traces", options.without)
    selection.prepare(mutants)
    trials = {copy.folder: Trial(copy, selection, options.budget) for copy in copies}
    equivalents = known_equivalents()

    def judge(copy: Copy, mutant: Mutant) -> None:
        if not report.wants_another():
            return
        if (mutant.path, mutant.difference()) in equivalents:
            report.add({"file": mutant.path, "line": mutant.line, "outcome": "equivalent"})
        else:
            report.add(trials[copy.folder].of(mutant))

    spread(copies, judge, [*drawn, *mutants[options.count :]])


def _in_forks(options: argparse.Namespace, report: Report) -> None:
    """Try mutants in this checkout, against the tests named."""
    files = _sources(listed(CHECKOUT), options.path)
    mutants = sample(CHECKOUT, files, options.count, options.seed)
    if options.only:
        parts = set(_sources(files, options.only))
        mutants = [mutant for mutant in mutants if mutant.path in parts]
    equivalents = known_equivalents()
    known = [(mutant.path, mutant.difference()) in equivalents for mutant in mutants]

    def judge(mutant: Mutant, found: Mapping[str, object]) -> None:
        report.add(_described(mutant) | found)

    for mutant, is_known in zip(mutants, known, strict=True):
        if is_known:
            judge(mutant, {"outcome": "equivalent"})
    rest = [mutant for mutant, is_known in zip(mutants, known, strict=True) if not is_known]
    folder = FOLDER / "within"
    forked.run(options.within, rest, options.budget, judge, folder, untraced=options.untraced)


def _sources(names: Sequence[str], under: str) -> list[str]:
    files: set[str] = set()
    for place in under.split(","):
        found = source_files(CHECKOUT, names, place)
        if not found:
            sys.exit(f"{place}: no source of the product is there")
        files |= set(found)
    return sorted(files)


def _described(mutant: Mutant) -> dict[str, object]:
    return {
        "file": mutant.path,
        "line": mutant.line,
        "kind": mutant.kind,
        "difference": mutant.difference(),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("path", help="files or folders of the product: robot/link,solver")
    parser.add_argument("count", type=int, nargs="?", default=20, help="how many mutants")
    parser.add_argument(
        "seed", type=int, nargs="?", default=1, help="the same seed, the same sample"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for a mutant")
    parser.add_argument(
        "--without", action="append", default=[], help="a folder of tests/ that takes too long"
    )
    parser.add_argument(
        "--within",
        action="append",
        default=[],
        metavar="TESTS",
        help="try in forks of one process with these tests of tests/, without a copy",
    )
    parser.add_argument(
        "--only", metavar="ROOMS", help="with --within: of the sample, those of some rooms alone"
    )
    parser.add_argument(
        "--untraced",
        action="store_true",
        help="with --within: without tracing, for the processor seconds of the budget",
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time")
    parser.add_argument("--report", default=str(FOLDER / "report.jsonl"), help="a line per mutant")
    return parser.parse_args()


if __name__ == "__main__":
    os.nice(5)
    main()
