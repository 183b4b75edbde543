"""`cubist solve -`, given one state after the other: what it holds meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from footprint import footprint

from solver.cube.cube import Cube


def anonymous_kb(count: int, options: Sequence[str]) -> Iterator[int]:
    """Anonymous memory of the command after each of ``count`` random cubes, all solved."""
    rng = np.random.default_rng(7)
    command = [sys.executable, "-m", "robot.cli.main", "solve", "-", "--json", *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for _ in range(count):
            print(Cube.random(rng).facelets(), file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert "moves" in answer, answer
            yield footprint(process.pid).anonymous_kb
        process.stdin.close()
        assert process.wait() == 0
