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
"""Number of solver states whose tables are kept, up to 0.4 GB each."""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240601)


@pytest.fixture(scope="session")
def replay() -> Callable[[str, str, int], str]:
    """Return ``replay(facelets, moves, size)``: an independent model's facelets after the moves."""
    return lambda facelets, moves, size: replay_moves(facelets, moves, size).facelets


@pytest.fixture(scope="session")
def solves() -> Callable[[str, str, int], bool]:
    """Return ``solves(facelets, moves, size)``: true if every face then shows one colour."""
    return lambda facelets, moves, size: replay_moves(facelets, moves, size).is_solved


@pytest.fixture(scope="session")
def tables_directory() -> Path:
    """Return a folder for tables, empty when this solver is tested for the first time.

    Runs and processes that test the same solver share it: its tables take a minute to make. The
    least recently used of other states of the solver are deleted.
    """
    folder = cache_directory() / "tests" / _digest_of_solver()
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    others = sorted(folder.parent.iterdir(), key=lambda other: -other.stat().st_mtime)
    for old in others[KEPT_TABLES:]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def _digest_of_solver() -> str:
    """Return a digest of the compiled kernel and its callers, which determine the tables."""
    digest = hashlib.sha256(Path(_native.__file__).read_bytes())
    for path in sorted(SOLVER.rglob("*.py")):
        digest.update(f"{path.relative_to(SOLVER)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@pytest.fixture(scope="module", autouse=True)
def shared_tables(tables_directory: Path) -> Iterator[Path]:
    """Use one cache directory for the tables of this folder's tests; others keep the usual one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUBIST_CACHE_DIR", str(tables_directory))
        yield tables_directory
