"""Make small random changes to the code and count those that the tests notice: ``make mutants``.

The checkout is not modified. docs/testing.md describes the use.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TextIO

from tests.audit.changes import Mutant, sample, source_files
from tests.audit.engine import Engine, Verdict, separate_state

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / "build/mutants"
SEED = 2026
"""Seed of the audit's sample, which is always the same for the same code."""
NOTICED = ("killed", "timeout")
INTERRUPTED = 130


def main() -> int:
    """Try a sample and return the exit code. Ctrl-C shows the outcomes so far."""
    options = _parse_options()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    files = source_files(CHECKOUT, options.path)
    mutants = sample(CHECKOUT, files, options.count, options.seed)
    if options.only:
        rooms = set(source_files(CHECKOUT, options.only))
        mutants = [mutant for mutant in mutants if mutant.path in rooms]
    FOLDER.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    code = 0
    with Path(options.report).open("w") as lines, separate_state():
        engine = Engine(CHECKOUT, options.within or ["tests"], options.budget, FOLDER)
        try:
            for mutant in mutants:
                started = time.monotonic()
                found = engine.judge(mutant)
                took = {"took_s": round(time.monotonic() - started, 1)}
                counts[str(found["outcome"])] += 1
                _report(mutant, {**found, **took}, lines)
        except KeyboardInterrupt:
            code = INTERRUPTED
    print(_summary(f"{options.path}, seed {options.seed}", counts))
    if code:
        print("interrupted")
    return code


def _report(mutant: Mutant, found: Verdict, lines: TextIO) -> None:
    described = {"file": mutant.path, "line": mutant.line, "kind": mutant.kind}
    described["difference"] = mutant.difference()
    lines.write(json.dumps(described | dict(found)) + "\n")
    lines.flush()
    print(f"{found['outcome']:10} {mutant.path}:{mutant.line}  {found.get('by', '')}")
    if found["outcome"] == "survived":
        print(mutant.difference())
    sys.stdout.flush()


def _summary(title: str, counts: Counter[str]) -> str:
    """Return the counts as a sentence and as JSON."""
    noticed = sum(counts[outcome] for outcome in NOTICED)
    judged = noticed + counts["survived"]
    percent = round(100 * noticed / judged, 1) if judged else None
    share = f" ({percent} %)" if judged else ""
    document = {name.replace(" ", "_"): counts[name] for name in sorted(counts)}
    document = {"mutants": title} | document | {"noticed_percent": percent}
    return f"\n{title}: {noticed} of {judged} noticed{share}\n{json.dumps(document)}"


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
