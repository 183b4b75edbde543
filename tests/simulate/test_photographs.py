"""Photographs of real cubes: the simulated robot holds the cube, the program sees its pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

IMAGES = Path(__file__).resolve().parents[3] / "shared" / "data" / "vision" / "images"
StartDemo = Callable[..., Any]


def sets(pattern: str) -> list[Any]:
    """Photo sets as parameters: the first in every run, all of them in the long one."""
    folders = sorted(IMAGES.glob(pattern)) if IMAGES.is_dir() else []
    return [
        pytest.param(folder, id=folder.name, marks=[pytest.mark.long] if number else [])
        for number, folder in enumerate(folders)
    ]


def truth(folder: Path) -> str:
    return str(json.loads((folder / "expected.json").read_text())["expected"])


@pytest.mark.parametrize("folder", [*sets("3x3x3*"), *sets("2x2x2*")])
def test_a_photographed_cube_is_solved(start_demo: StartDemo, folder: Path) -> None:
    run = start_demo("--speed", "50", "--faces", str(folder), "--state", truth(folder))
    code, document, log = run.finish()
    assert document is not None, log
    assert (code, document["solved"], document["violations"]) == (0, True, []), (document, log)


def test_photographs_and_their_truth_belong_together(start_demo: StartDemo, tmp_path: Path) -> None:
    code, document, log = start_demo("--faces", str(tmp_path)).finish()
    assert (code, document) == (2, None)
    assert "--state" in log
