"""What a process that solves a large cube has resident at most, its tables included."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from robot.planner.survey import random_cube
from solver.reduction import phased
from solver.solution import Request

MOST_KB = {4: 120_000, 5: 150_000, 6: 180_000, 7: 170_000}
"""By layers. A 6x6x6 reads 142 MB of tables, but not all at a time; 200 MB are allowed."""

SOLVING = """
import sys
from pathlib import Path
from robot.cli.main import run
code = run(["solve", *sys.argv[1:], "--json"])
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("size", "limit_s", "threads"),
    [
        (4, 0.3, 2),
        (5, 0.5, 2),
        (6, 1.0, 2),
        (7, 1.0, 1),
        *(
            pytest.param(size, 10.0, threads, marks=pytest.mark.long)
            for size in phased.SIZES
            for threads in (1, 2)
        ),
    ],
)
def test_of_its_tables_only_those_in_use_are_resident(
    size: int, limit_s: float, threads: int
) -> None:
    phased.load(size, Request())  # to make tables takes more
    state = random_cube(size, np.random.default_rng(size)).facelets()
    limits = ["--time-limit", str(limit_s), "--threads", str(threads)]
    command = [sys.executable, "-c", SOLVING, state, *limits]
    answer, resident_kb = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert json.loads(answer)["phases"]
    assert int(resident_kb) < MOST_KB[size]
