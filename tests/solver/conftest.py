"""A sticker model that shares nothing with the solver, cubes, and tables made once."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from solver import _native
from solver.tables import cache_directory
from tests.solver.any_size import replay, solves

__all__ = ["replay", "rng", "shared_tables", "solves", "sticker_model"]

SOLVER = Path(__file__).resolve().parents[2] / "solver"
KEPT_TABLES = 3
"""Of so many states of the solver, up to 0.4 GB each."""
FACES = "URFDLB"

# Where each face's nine stickers are in space and which way they look: (x right, y up, z to the
# viewer), rows from the top left of Kociemba's drawing.
_CORNER_RIGHT_DOWN = {
    "U": ((-1, 1, -1), (1, 0, 0), (0, 0, 1)),
    "R": ((1, 1, 1), (0, 0, -1), (0, -1, 0)),
    "F": ((-1, 1, 1), (1, 0, 0), (0, -1, 0)),
    "D": ((-1, -1, 1), (1, 0, 0), (0, 0, -1)),
    "L": ((-1, 1, -1), (0, 0, 1), (0, -1, 0)),
    "B": ((1, 1, -1), (-1, 0, 0), (0, -1, 0)),
}
_NORMAL = {
    "U": (0, 1, 0),
    "R": (1, 0, 0),
    "F": (0, 0, 1),
    "D": (0, -1, 0),
    "L": (-1, 0, 0),
    "B": (0, 0, -1),
}


def _stickers() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    places = []
    for face in FACES:
        corner, right, down = (np.array(v) for v in _CORNER_RIGHT_DOWN[face])
        for row in range(3):
            for column in range(3):
                position = corner + column * right + row * down
                places.append((tuple(map(int, position)), _NORMAL[face]))
    return places


_PLACES = _stickers()
_INDEX = {place: k for k, place in enumerate(_PLACES)}


def _clockwise(face: str, vector: tuple[int, ...]) -> tuple[int, ...]:
    """``vector`` after a quarter turn clockwise as seen by someone who looks at ``face``."""
    normal = np.array(_NORMAL[face])
    along = normal * int(normal @ np.array(vector))
    return tuple(map(int, along - np.cross(normal, np.array(vector))))


class StickerModel:
    """54 letters and turns of them, by geometry alone."""

    solved = "".join(face * 9 for face in FACES)

    def turn(self, stickers: str, move: str) -> str:
        for _ in range({"": 1, "2": 2, "'": 3}[move[1:]]):
            stickers = self._quarter(stickers, move[0])
        return stickers

    def _quarter(self, stickers: str, face: str) -> str:
        after = list(stickers)
        for k, (position, normal) in enumerate(_PLACES):
            if int(np.dot(position, _NORMAL[face])) == 1:
                after[_INDEX[_clockwise(face, position), _clockwise(face, normal)]] = stickers[k]
        return "".join(after)

    def solves(self, stickers: str, moves: tuple[str, ...]) -> bool:
        for move in moves:
            stickers = self.turn(stickers, move)
        return stickers == self.solved


@pytest.fixture(scope="session")
def sticker_model() -> StickerModel:
    return StickerModel()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240601)


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
