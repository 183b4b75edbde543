"""The firmware's own unit tests and fuzzing, with address and undefined-behaviour sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CORE = "frame memory motion stepper plans full frames homing link messages setup"
PROCESS = "lines maestro pwm clock timing"
SUBJECTS = f"{CORE} {PROCESS}".split()
PROGRAMS = pytest.mark.parametrize("program", ["fuzz_link_edges", "fuzz_link_frames"])
CORPUS = Path(__file__).with_name("corpus")
MESSAGES = "-dict=" + str(Path(__file__).with_name("messages.dict"))
SHORT_RUNS = 5_000
LONG_S = 90


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_core(unit_tests: Path, subject: str) -> None:
    run(unit_tests / f"test_{subject}")


@PROGRAMS
def test_the_corpus_is_survived(unit_tests: Path, program: str) -> None:
    files = sorted(CORPUS.iterdir())
    assert len(files) >= 40
    run(unit_tests / program, *files)


@PROGRAMS
def test_a_short_search_finds_nothing(fuzzers: Path, tmp_path: Path, program: str) -> None:
    short = [f"-runs={SHORT_RUNS}", "-seed=1", "-max_len=400", MESSAGES]
    run(fuzzers / program, *short, tmp_path, CORPUS)


@pytest.mark.long
@pytest.mark.timeout(LONG_S + 120)
@PROGRAMS
def test_a_long_search_finds_nothing(fuzzers: Path, tmp_path: Path, program: str) -> None:
    long = [f"-max_total_time={LONG_S}", "-max_len=400", MESSAGES]
    run(fuzzers / program, *long, tmp_path, CORPUS)
