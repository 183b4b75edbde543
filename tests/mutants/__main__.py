"""Small random changes to the code, and whether the tests notice them: ``make mutants``.

Every mutant is built and tried in a copy of the checkout below build/mutants; nothing else is
touched. docs/testing.md describes its use.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.mutants.changes import Mutant, sample, source_files
from tests.mutants.copy import Copy, DoesNotBuild, Outcome
from tests.mutants.equivalent import known_equivalents
from tests.mutants.selection import Selection

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "build/mutants"
NOTICED = ("killed", "timeout")
PASSED, INTERNAL, USAGE, NO_TESTS = 0, 3, 4, 5
LIMIT_ALONE_S = 600.0
SPARE = 10
"""Drawn beyond those asked for, in place of some that do not build."""


class Trial:
    """Trying mutants, one after another."""

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
        tests, duration_s = self._selection.tests_for(mutant, self._budget_s)
        record: dict[str, object] = {
            "file": mutant.path,
            "line": mutant.line,
            "kind": mutant.kind,
            "difference": mutant.difference(),
            "tests": len(tests),
        }
        started = time.monotonic()
        with self._copy.changed(mutant.path, mutant.after):
            record |= self._tried(mutant, tests, duration_s)
        return record | {"took_s": round(time.monotonic() - started, 1)}

    def _passes_alone(self, test: str) -> bool:
        """Whether a test passes on the code as it is: some only do after others of their file."""
        if test not in self._trusted:
            if not self._built_as_it_is:
                self._copy.build()
                self._built_as_it_is = True
            self._trusted[test] = self._run([test], LIMIT_ALONE_S).code == PASSED
        return self._trusted[test]

    def _tried(self, mutant: Mutant, tests: list[str], duration_s: float) -> Mapping[str, object]:
        if not tests:
            return {"outcome": "survived", "by": "no test runs this line"}
        try:
            if not mutant.is_python or not self._built_as_it_is:
                # Also before the first Python mutant after others, whose change is still built in.
                self._built_as_it_is = mutant.is_python
                self._copy.build()
        except DoesNotBuild:
            return {"outcome": "not built"}
        return self._judged(self._run(tests, 60 + 6 * duration_s))

    def _run(self, tests: list[str], limit_s: float) -> Outcome:
        chosen = FOLDER / "chosen-tests"
        chosen.write_text("\n".join(tests) + "\n")
        options = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
        with self._copy.tables_of_one_run() as tables:
            return self._copy.run(["-m", "pytest", *options, f"@{chosen}"], limit_s, tables)

    def _judged(self, done: Outcome) -> Mapping[str, object]:
        if done.code is None:
            return {"outcome": "timeout"}
        if done.code == PASSED:
            return {"outcome": "survived"}
        if done.code in (INTERNAL, USAGE, NO_TESTS) and "found no collectors" in done.output:
            raise SystemExit(f"the tests chosen were not found:\n{done.output}")
        said = [line for line in done.output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        killed = {"outcome": "killed", "by": said[0][:200] if said else done.output[-200:]}
        failed = [line for line in said if line.startswith("FAILED ")]
        return killed | ({"killer": failed[0][7:].split(" - ")[0]} if failed else {})


def main() -> None:
    options = _options()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("another `make mutants` works in build/mutants: wait for its end")
        _sample(options)


def _sample(options: argparse.Namespace) -> None:
    copy = Copy(CHECKOUT, FOLDER)
    print("preparing the copy in build/mutants ...", flush=True)
    copy.prepare()
    files = source_files(CHECKOUT, copy.files, options.path)
    if not files:
        sys.exit(f"{options.path}: no source of the product is there")
    mutants = sample(CHECKOUT, files, options.count + SPARE, options.seed)
    selection = Selection(copy, FOLDER / "traces")
    selection.prepare(mutants)
    trial = Trial(copy, selection, options.budget)
    equivalents = known_equivalents()
    report = Path(options.report)
    counted: Counter[str] = Counter()
    with report.open("w") as lines:
        for mutant in mutants:
            if counted.total() - counted["not built"] == options.count:
                break
            record = (
                {"file": mutant.path, "line": mutant.line, "outcome": "equivalent"}
                if (mutant.path, mutant.difference()) in equivalents
                else trial.of(mutant)
            )
            counted[str(record["outcome"])] += 1
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            _show(record)
    print(json.dumps(_summary(options, counted)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("path", help="a file or folder of the product, such as robot/link")
    parser.add_argument("count", type=int, nargs="?", default=20, help="how many mutants")
    parser.add_argument(
        "seed", type=int, nargs="?", default=1, help="the same seed, the same sample"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for a mutant")
    parser.add_argument("--report", default=str(FOLDER / "report.jsonl"), help="a line per mutant")
    return parser.parse_args()


def _show(record: Mapping[str, object]) -> None:
    print(f"{record['outcome']:9} {record['file']}:{record['line']}  {record.get('by', '')}")
    if record["outcome"] == "survived":
        print(record["difference"])
    sys.stdout.flush()


def _summary(options: argparse.Namespace, counted: Counter[str]) -> dict[str, object]:
    noticed = sum(counted[outcome] for outcome in NOTICED)
    judged = noticed + counted["survived"]
    return {
        "mutants": options.path,
        "seed": options.seed,
        **{name.replace(" ", "_"): counted[name] for name in sorted(counted)},
        "noticed_percent": round(100 * noticed / judged, 1) if judged else None,
    }


if __name__ == "__main__":
    os.nice(5)
    main()
