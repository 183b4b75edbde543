"""What benchmarks share: how a figure is printed, and solutions that are known to solve."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from solver.solution import Solution

Emit = Callable[..., None]
"""Takes a figure as :func:`emit` does."""


class Turnable(Protocol):
    """A cube of any size."""

    @property
    def is_solved(self) -> bool: ...
    def apply(self, moves: str) -> Turnable: ...


def emit(
    bench: str, value: float, unit: str, n: int = 1, detail: dict[str, Any] | None = None
) -> None:
    """Print one measured figure as a line of JSON."""
    line = {"bench": bench, "value": value, "unit": unit, "n": n, "detail": detail or {}}
    print(json.dumps(line), flush=True)


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean."""
    return float(np.mean(list(values)))


def chosen(name: str, default: object) -> str:
    """The value of ``CUBIST_NAME`` in the environment, or the default."""
    return os.environ.get(f"CUBIST_{name}", str(default))


def replayed(cube: Turnable, solution: Solution) -> Solution:
    """The solution, which is known to solve the cube; raise ValueError where it does not."""
    if not cube.apply(" ".join(solution.moves)).is_solved:
        raise ValueError(f"{' '.join(solution.moves)} does not solve {cube}")
    return solution
