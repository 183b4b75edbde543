"""An independent model of cubes, random numbers, and tables made once."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from solver import _native
from solver.tables import cache_directory
from tests.rig.stickers import replay_moves

SOLVER = Path(__file__).resolve().parents[2] / "solver"
KEPT_TABLES = 3
"""Of so many states of the solver, up to 0.4 GB each."""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240601)


@pytest.fixture(scope="session")
def replay() -> Callable[[str, str, int], str]:
    """``replay(facelets, moves, size)``: the facelets after the moves, by an independent model."""
    return lambda facelets, moves, size: replay_moves(facelets, moves, size).facelets


@pytest.fixture(scope="session")
def solves() -> Callable[[str, str, int], bool]:
    """``solves(facelets, moves, size)``: whether every face then shows one colour."""
    return lambda facelets, moves, size: replay_moves(facelets, moves, size).is_solved


@pytest.fixture(scope="session")
def tables_directory() -> Path:
    """Empty when this solver is tested for the first time.

    Runs and processes that test the same solver share it: its tables take a minute to make. The
    least recently used of other states of the solver go.
    """
    folder = cache_directory() / "tests" / _digest_of_solver()
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    others = sorted(folder.parent.iterdir(), key=lambda other: -other.stat().st_mtime)
    for old in others[KEPT_TABLES:]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _digest_of_solver() -> str:
    """Of all that may decide what is in a table: the kernel as it was compiled, and its callers."""
    digest = hashlib.sha256(Path(_native.__file__).read_bytes())
    for path in sorted(SOLVER.rglob("*.py")):
        digest.update(f"{path.relative_to(SOLVER)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@pytest.fixture(scope="module", autouse=True)
def shared_tables(tables_directory: Path) -> Iterator[Path]:
    """One cache directory for the tables of this folder's tests; other folders keep the usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUBIST_CACHE_DIR", str(tables_directory))
        yield tables_directory
