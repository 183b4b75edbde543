"""An independent model of cubes of any size, against which every answer is replayed.

Six arrays of letters and two ways to rotate the whole cube; any layer is turned by bringing its
face to the top. It shares nothing with the product but the order of faces in a facelet string.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

Faces = dict[str, np.ndarray]

TOKEN = re.compile(r"(\d*)([URFDLBMESxyz])(w?)('|2|)")
LIKE = {"M": "L", "E": "D", "S": "F", "x": "R", "y": "U", "z": "F"}
TO_TOP = {"U": "", "F": "x", "B": "xxx", "D": "xx", "R": "yx", "L": "yyyx"}
BACK = {"U": "", "F": "xxx", "B": "x", "D": "xx", "R": "xxxyyy", "L": "xxxy"}


def rotate_x(f: Faces) -> Faces:
    return {
        "U": f["F"],
        "B": np.rot90(f["U"], 2),
        "D": np.rot90(f["B"], 2),
        "F": f["D"],
        "R": np.rot90(f["R"], -1),
        "L": np.rot90(f["L"], 1),
    }


def rotate_y(f: Faces) -> Faces:
    return {
        "F": f["R"],
        "R": f["B"],
        "B": f["L"],
        "L": f["F"],
        "U": np.rot90(f["U"], -1),
        "D": np.rot90(f["D"], 1),
    }


def rotate(f: Faces, letters: str) -> Faces:
    for letter in letters:
        f = rotate_x(f) if letter == "x" else rotate_y(f)
    return f


def turn_row(f: Faces, row: int) -> Faces:
    size = len(f["U"])
    after = {face: stickers.copy() for face, stickers in f.items()}
    for to, source in (("F", "R"), ("R", "B"), ("B", "L"), ("L", "F")):
        after[to][row] = f[source][row]
    if row == 0:
        after["U"] = np.rot90(f["U"], -1)
    if row == size - 1:
        after["D"] = np.rot90(after["D"], 1)
    return after


def rows_of(count: str, letter: str, wide: str, size: int) -> range:
    if letter in "xyz":
        return range(size)
    if letter in "MES":
        return range(size // 2, size // 2 + 1)
    depth = int(count or (2 if wide else 1))
    return range(depth) if wide else range(depth - 1, depth)


def replay_moves(facelets: str, moves: str, size: int) -> str:
    area = size * size
    f = {
        face: np.array(list(facelets[k * area : (k + 1) * area])).reshape(size, size)
        for k, face in enumerate("URFDLB")
    }
    for count, letter, wide, suffix in TOKEN.findall(moves):
        face = LIKE.get(letter, letter)
        for _ in range({"": 1, "2": 2, "'": 3}[suffix]):
            f = rotate(f, TO_TOP[face])
            for row in rows_of(count, letter, wide, size):
                f = turn_row(f, row)
            f = rotate(f, BACK[face])
    return "".join("".join(f[face].ravel()) for face in "URFDLB")


@pytest.fixture(scope="session")
def replay() -> Callable[[str, str, int], str]:
    """``replay(facelets, moves, size)``: the facelets after the moves, by the independent model."""
    return replay_moves


@pytest.fixture(scope="session")
def solves() -> Callable[[str, str, int], bool]:
    """``solves(facelets, moves, size)``: whether every face then shows one colour."""

    def check(facelets: str, moves: str, size: int) -> bool:
        after = replay_moves(facelets, moves, size)
        area = size * size
        return all(len(set(after[k : k + area])) == 1 for k in range(0, 6 * area, area))

    return check
