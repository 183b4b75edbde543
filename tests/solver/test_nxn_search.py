"""Cubes of any size by database, compared with a small independent breadth-first search."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

from solver.cube.metrics import length
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube, InvalidRequest, SearchError
from solver.nxn import database as nxn_database
from solver.nxn.turns import counted_moves
from solver.search import solve_many
from solver.solution import Request

DEPTH = 2


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path))
    return tmp_path


def request(**changes) -> Request:
    asked = {"algorithm": "heuristic-db", "metric": "qtm", "depth": DEPTH, "time_limit": math.inf}
    return Request(**(asked | changes))


@pytest.mark.parametrize("metric", ["htm", "qtm"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_shallow_scrambles_are_solved_in_no_more_turns(size, metric, rng, solves):
    moves = counted_moves(size, metric)
    for turns in (0, 1, 2, 3):
        chosen = [moves[k] for k in rng.integers(0, len(moves), turns)] if moves else []
        cube = StickerCube.solved(size).apply(chosen)
        solution = solve_many(cube, request(metric=metric))[0]
        assert solution.optimal
        assert solution.length <= length(chosen, metric, size)
        assert solves(cube.facelets(), " ".join(solution.moves), size)


def test_the_database_holds_every_near_position():
    database = nxn_database.load(2, request(metric="htm", depth=3))
    assert list(map(int, sorted(database.distances()))).count(3) == 321
    assert (database.depth, len(database)) == (3, 1 + 9 + 54 + 321)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nonsense", None])
def test_a_database_is_loaded_again_unless_it_is_damaged(cache, damage, caplog):
    first = nxn_database.load(2, request())
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    with caplog.at_level(logging.WARNING):
        assert nxn_database.load(2, request()).depth == DEPTH
    assert "making it again" in caplog.text
    assert path.read_bytes() == whole
    made_ns = path.stat().st_mtime_ns
    again = nxn_database.load(2, request())
    assert path.stat().st_mtime_ns == made_ns
    assert (again.keys() == first.keys()).all()
    assert (again.distances() == first.distances()).all()


def test_a_database_that_does_not_fit_names_the_depth_that_does(monkeypatch):
    monkeypatch.setattr(nxn_database, "MOST_BYTES_OF_DEPTH", 5_000)
    assert nxn_database.load(2, request(metric="htm", depth=2)).depth == 2
    with pytest.raises(InvalidRequest, match=r"depth 2 fits, depth 3 does not.*at most 2"):
        nxn_database.load(2, request(metric="htm", depth=9))


def test_a_database_without_a_folder_is_made_in_memory(monkeypatch, caplog):
    monkeypatch.setenv("CUBIST_CACHE_DIR", "/tmp/" + "n" * 300)
    with caplog.at_level(logging.WARNING):
        assert nxn_database.load(2, request()).depth == DEPTH
    assert ["cannot keep the database" in one.message for one in caplog.records] == [True]


def test_a_database_of_another_version_is_made_again(cache, caplog):
    first = nxn_database.load(2, request())
    (path,) = cache.iterdir()
    with path.open("wb") as file:
        np.savez(file, format=0, keys=first.keys(), distances=first.distances())
    with caplog.at_level(logging.WARNING):
        assert len(nxn_database.load(2, request())) == len(first)
    assert "another version: making it again" in caplog.text


def test_a_search_reports_its_depth_until_its_time_is_over():
    heard = []
    cube = StickerCube.solved(4).apply("R U2 F' 2R D L2 B' 2U R F 2F' D2 L")
    with pytest.raises(SearchError, match="not found within the limit: none has fewer than"):
        solve_many(cube, request(time_limit=0.5, progress=heard.append))
    deeper = [one for one in heard if one.text.startswith("no solution of fewer")]
    assert deeper
    assert all(one.text == f"no solution of fewer than {one.depth} turns" for one in deeper)
    assert [one.depth for one in deeper] == sorted({one.depth for one in deeper})


def test_impossible_stickers_and_depths_are_refused():
    mirrored = str(StickerCube.solved(4)).translate(str.maketrans("DL", "LD"))
    with pytest.raises(IllegalCube, match="DLB"):
        solve_many(StickerCube(mirrored, 4), request())
    with pytest.raises(BadNotation):
        nxn_database.load(2, request(depth=-1))
