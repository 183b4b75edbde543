"""Make small random changes to the code and count those that the tests notice: ``make mutants``.

The checkout is only read. docs/testing.md describes the use.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from tests.audit.changes import Mutant, sample, source_files
from tests.audit.engine import try_mutants

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "build/mutants"
SEED = 2026
"""The audit's sample, always the same for the same code."""
NOTICED = ("killed", "timeout")
INTERRUPTED = 130


class Report:
    """The outcomes of a sample, on the screen and as lines of a file."""

    def __init__(self, title: str, lines: TextIO) -> None:
        self._title = title
        self._lines = lines
        self._counts: Counter[str] = Counter()

    def add(self, mutant: Mutant, found: Mapping[str, object]) -> None:
        """Count, write and show one outcome."""
        outcome, place = str(found["outcome"]), {"file": mutant.path, "line": mutant.line}
        self._counts[outcome] += 1
        described = place | {"kind": mutant.kind, "difference": mutant.difference()}
        self._lines.write(json.dumps(described | dict(found)) + "\n")
        self._lines.flush()
        print(f"{outcome:10} {mutant.path}:{mutant.line}  {found.get('by', '')}")
        if outcome == "survived":
            print(mutant.difference())
        sys.stdout.flush()

    def summary(self) -> str:
        """Return the counts as a sentence and as JSON."""
        counts = self._counts
        noticed = sum(counts[outcome] for outcome in NOTICED)
        judged = noticed + counts["survived"]
        percent = round(100 * noticed / judged, 1) if judged else None
        document = {"mutants": self._title} | {
            name.replace(" ", "_"): counts[name] for name in sorted(counts)
        }
        sentence = f"{self._title}: {noticed} of {judged} noticed"
        sentence += f" ({percent} %)" if judged else ""
        return f"\n{sentence}\n{json.dumps(document | {'noticed_percent': percent})}"


def main() -> int:
    """Try a sample and return the exit code. Ctrl-C shows the outcomes up to then."""
    options = _parse_options()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    files = source_files(CHECKOUT, options.path)
    mutants = sample(CHECKOUT, files, options.count, options.seed)
    if options.only:
        rooms = set(source_files(CHECKOUT, options.only))
        mutants = [mutant for mutant in mutants if mutant.path in rooms]
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Path(options.report).open("w") as lines:
        report = Report(f"{options.path}, seed {options.seed}", lines)
        try:
            try_mutants(options.within or ["tests"], mutants, options.budget, report.add, FOLDER)
        except KeyboardInterrupt:
            print(f"{report.summary()}\ninterrupted")
            return INTERRUPTED
        print(report.summary())
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    add = parser.add_argument
    add("path", nargs="?", default=".", help="files or folders of the product: robot/link,solver")
    add("count", type=int, nargs="?", default=100, help="number of mutants")
    add("seed", type=int, nargs="?", default=SEED, help="the same seed draws the same sample")
    add("--budget", type=float, default=60.0, help="processor seconds of tests for a mutant")
    add("--within", action="append", metavar="TESTS", help="use these tests of tests/ alone")
    add("--only", metavar="ROOMS", help="of the sample, try only those in some files or folders")
    add("--report", default=str(FOLDER / "report.jsonl"), help="file with a line for each mutant")
    return parser.parse_args()


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
