"""The compiled kernel: all parts of a search are registered, and invalid arrays are refused.

A search is a folder of `solver/native`, a `bind_<subject>.cpp` that registers its Python names, a
module of `solver/`, a row of `ALGORITHMS` and a row of docs/solver.md. These tests name missing
ones.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.settings import load_profile
from solver import _native
from solver.nxn import database
from solver.processors import search_processors, spare_processors
from solver.reduction.search import geometry
from solver.search import ALGORITHMS
from tests.rig.stickers import solved_stickers
from tests.rig.timed_turns import six_motors

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "solver/native"
SEARCH = re.compile(r"^def search\w*\(\s*cube: \w+, request: Request,?\s*\)", re.MULTILINE)


def test_every_folder_has_python_names():
    binds = {file: file.read_text() for file in KERNEL.glob("bind/bind_*.cpp")}
    for folder in {file.parent.name for file in KERNEL.glob("*/*.[hc]pp")} - {"bind"}:
        is_bound = any(f'#include "{folder}/' in text for text in binds.values())
        assert is_bound, f"write a bind_<subject>.cpp that includes {folder}"
    for file, text in binds.items():
        subject = file.stem.removeprefix("bind_")
        assert f'const Bindings registered("{subject}"' in text, file


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_can_be_loaded_and_is_described(name):
    algorithm = ALGORITHMS[name]
    assert callable(algorithm.load(timed=bool(algorithm.timed)))
    rows = [line.split("|") for line in (ROOT / "docs/solver.md").read_text().splitlines()]
    row = next((row for row in rows if len(row) > 4 and f"`{name}`" in row[1]), None)
    assert row, f"docs/solver.md needs a row: | `{name}` | cubes | metrics | method | memory |"
    expected = [*algorithm.metrics, *(["a robot's time"] if algorithm.timed else [])]
    assert row[3].strip().split(", ") == expected


def test_every_search_and_every_row_of_the_docs_has_an_algorithm():
    """Look for modules with a ``search(cube, request)``, and for the names in docs/solver.md."""
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "solver").rglob("*.py")
        if SEARCH.search(path.read_text(encoding="utf-8"))
    }
    named = {name for one in ALGORITHMS.values() for name in (one.function, one.timed) if name}
    used = {name.partition(":")[0] for name in named}
    assert modules <= used, f"solver/search.py: no row of ALGORITHMS names {modules - used}"
    table = (ROOT / "docs/solver.md").read_text().partition("| algorithm |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
    described = {name for cell in cells for name in re.findall("`([^`]+)`", cell)}
    missing = described - set(ALGORITHMS)
    assert not missing, f"solver/search.py: ALGORITHMS has no row for {missing} of docs/solver.md"


def signatures(tree: ast.Module) -> dict[str, list[str]]:
    """Return the names of arguments by function, without types and texts."""
    found = {}
    for owner in ast.walk(tree):
        for node in getattr(owner, "body", []):
            if isinstance(node, ast.FunctionDef):
                name = f"{getattr(owner, 'name', '')}.{node.name}"
                found[name] = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
    return found


def test_stubs_are_those_of_the_kernel():
    """Compare solver/_native.pyi, which the build writes. Commit it with the change."""
    stubgen = pytest.importorskip("nanobind.stubgen")
    generator = stubgen.StubGen(_native)
    generator.put(_native)
    written = (ROOT / "solver/_native.pyi").read_text()
    told, kernel = signatures(ast.parse(written)), signatures(ast.parse(generator.get()))
    assert told == kernel, "run `make build` and commit solver/_native.pyi"


# ---- refusals -----------------------------------------------------------------------------------


def table(size: int) -> np.ndarray:
    return np.zeros(size, np.uint8)


def two_phase(more1: int, more2: int) -> object:
    sizes = _native.phase1_size("axial") + more1, _native.phase2_size("axial") + more2
    return _native.TwoPhase("axial", *map(table, sizes))


def optimal(far: int, more: int) -> object:
    shape = _native.OptimalShape(1, far)
    return _native.OptimalTable(shape, table(_native.optimal_size(shape) + more))


def turn_costs(following: int, final: int) -> object:
    return _native.TurnCosts(np.zeros(following, np.uint32), np.zeros(final, np.uint32))


def first_turns(count: int) -> object:
    model = six_motors()
    turns = _native.TurnCosts(model.turns.next, model.turns.final)
    return _native.CostModel(turns, model.first[:count])


def block_times(size: int, states: int, more: int = 0, more_first: int = 0) -> object:
    count = 9 * (size - 1) * 3 * states * states + more
    first = 36 * 3 * (size - 1) * 3 * states + more_first
    return _native.BlockTimes(size, np.zeros(count, np.uint32), np.zeros(first, np.uint32))


def finish_with_a_wing_of_opposite_colours(size: int) -> object:
    shown = solved_stickers(size)
    shown[1] = 5  # beside B's own sticker of the same wing
    return geometry(size).finish(shown, lambda _: True)


def reduce_by_empty_tables(size: int, shown: np.ndarray) -> object:
    four = _native.FourReducer(table(_native.four_size()))
    five = _native.FiveReducer(table(_native.five_size()))
    limits: Any = {"time_limit": 1.0, "cancel": None}
    limits |= dict.fromkeys(("threads", "candidates", "count"), 1)
    match size:
        case 4 | 5:
            return (four if size == 4 else five).reductions(shown, times=None, **limits)
        case 6:
            return _native.SixReducer(four, five).reductions(shown, **limits)
    return _native.SevenReducer(five).reductions(shown, **limits)


NO_TURNS = [(6, 1, 1, 1), (-1, 1, 1, 1), (0, 0, 1, 1), (0, 2, 1, 1), (0, 1, 6, 1), (0, 1, 1, 4)]
"""Face, first and last layer, quarters. Each entry has one wrong value."""
EXCHANGED = solved_stickers(5)
EXCHANGED[[6, 32]] = EXCHANGED[[32, 6]]
"""A corner centre of U and an edge centre of R are exchanged."""
MIRRORED = np.array([0, 4, 2, 3, 1, 5], np.uint8)[solved_stickers(3)]
REFUSED: list[tuple[str, Callable[..., object], list[tuple[object, ...]]]] = [
    ("no metric is called stm", _native.phase1_size, [("stm",)]),
    (
        "counted in htm or qtm",
        _native.pocket_bfs,
        [(np.array([[slot, 0] for slot in range(8)], np.uint8), "axial")],
    ),
    (
        "counts in htm or qtm",
        # Kernel objects live no longer than a test.
        lambda metric: _native.make_optimal(
            metric, _native.OptimalShape(1, 0), table(9), 1, lambda _: True
        ),
        [("axial",)],
    ),
    ("phase-1 table: wrong size", two_phase, [(-1, 0), (1, 0)]),
    ("phase-2 table: wrong size", two_phase, [(0, -1), (0, 1)]),
    ("no distance is below 0", optimal, [(-1, 0)]),
    ("optimal table: wrong size", optimal, [(0, -1), (0, 1)]),
    (
        "1, 2, 6 or 24",
        lambda kinds: _native.OptimalTable(_native.OptimalShape(kinds, 0), table(100)),
        [(5,)],
    ),
    ("do not fit together", turn_costs, [(0, 0), (135, 4), (136, 3), (540, 3)]),
    ("do not fit", first_turns, [(44,)]),
    (
        "do not fit the cube",
        block_times,
        [(4, 0), (4, _native.BLOCK_STATES + 1), (4, 2, 1), (4, 2, -1), (5, 2, 0, 1)],
    ),
    (
        "not the stickers of a cube",
        lambda shown: database.empty(3, "htm").solve(shown, 5, 1.0, None, lambda *_: None),
        [(solved_stickers(3)[:-1],), (MIRRORED,)],
    ),
    ("not the stickers of a cube", finish_with_a_wing_of_opposite_colours, [(4,), (5,), (6,)]),
    ("not the stickers of a cube", reduce_by_empty_tables, [(5, EXCHANGED)]),
    (
        "not the stickers of a cube of 5 layers",
        lambda shown: geometry(5).few_turns(shown),
        [(solved_stickers(4),), (solved_stickers(5)[:-1],), (solved_stickers(5) + np.uint8(1),)],
    ),
    (
        "not the stickers of a cube",
        reduce_by_empty_tables,
        [(size, solved_stickers(size)[1:]) for size in (4, 5, 6, 7)],
    ),
    (
        "stickers or turns that do not fit this cube",
        lambda size, *turn: geometry(5).turn(solved_stickers(size), [turn]),
        [(4, 0, 1, 1, 1), *((5, *turn) for turn in NO_TURNS)],
    ),
]


@pytest.mark.parametrize(("complaint", "call", "misfits"), REFUSED)
def test_arrays_of_the_wrong_size_are_refused(complaint, call, misfits):
    for arguments in misfits:
        with pytest.raises(ValueError, match=complaint):
            call(*arguments)


# ---- processors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there_are", "spare", "threads"), [(1, 1, 1), (2, 1, 2), (4, 3, 4), (128, 16, 16)]
)
def test_a_search_leaves_one_processor_and_a_robot_s_gives_way(
    monkeypatch, there_are, spare, threads
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(there_are)))
    assert (spare_processors(), search_processors()) == (spare, threads)
    assert load_profile("cubotino").policy.search_threads == threads
