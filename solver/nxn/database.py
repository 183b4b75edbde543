"""Search for shallow scrambles of any size, by IDA* with a database of positions near solved.

A database is made breadth-first, stored and loaded.
"""

from __future__ import annotations

import logging
import math
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from solver import _native, tables
from solver.cube.facelets import FACES, slot_facelets, turn
from solver.cube.notation import Move, join_half_turns
from solver.cube.pieces import PieceCube
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube, InvalidRequest, SearchError
from solver.nxn.turns import counted_moves
from solver.solution import Progress, Request, SearchClock, Solution, answer, seconds_of

LONGEST = 40
"""Maximum length of solutions to search for, whatever the time."""

MOST_BYTES = 32_000_000
"""Maximum memory of a database if no depth is requested."""

MOST_BYTES_OF_DEPTH = max(MOST_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)
"""Maximum memory of a database of a requested depth: an eighth of the computer's memory, since
tables that grow need up to three times their size for a moment."""

LARGEST = 40
"""Maximum layers of a cube; the kernel numbers the blocks that turn together with one byte."""

_BYTES_BESIDES_KEY = 12
"""Bytes of a position besides its key: its distance and its share of the hash table."""

_MOST_POSITIONS = 2**31
_FORMAT = 1

_log = logging.getLogger(__name__)


def search(cube: PieceCube | StickerCube, request: Request) -> list[Solution]:
    """Return a shortest solution in turns of blocks of layers.

    ``request.depth`` is the depth of the database. Raises SearchError ("not found within the
    limit") if the time ends first, IllegalCube for stickers of no cube.
    """
    moves = counted_moves(cube.size, request.metric)
    database = load(cube.size, request)
    watch = SearchClock()
    stickers = np.array([FACES.index(letter) for letter in cube.facelets()], dtype=np.uint8)
    try:
        found = database.solve(
            stickers, LONGEST, seconds_of(request), request.cancel, _listener(request)
        )
    except ValueError as error:
        raise IllegalCube(
            "no corner is coloured like the one at DLB", {"kind": "impossible-piece", "slot": "DLB"}
        ) from error
    if found.turns is None:
        raise SearchError(
            f"A solution was not found within the limit: none has fewer than {found.lower_bound} "
            f"turns. A deeper database (now {database.depth}) or more time may find it."
        )
    chosen = join_half_turns(moves[turn] for turn in found.turns)
    extra = {"nodes": found.nodes, "database_depth": database.depth, "states": len(database)}
    return [answer(cube, request, chosen, watch, lower_bound=found.lower_bound, extra=extra)]


def _listener(request: Request) -> Callable[[int, int], None]:
    watch = SearchClock()

    def listen(depth: int, nodes: int) -> None:
        if request.progress is not None:
            rate = nodes / max(watch.clock_s(), 1e-3)
            text = f"no solution of fewer than {depth} turns"
            request.progress(Progress(text, depth=depth, nodes=nodes, rate=rate))

    return listen


def load(size: int, request: Request) -> _native.NxnDatabase:
    """Return the database for ``size`` and the request's metric, made and stored if missing.

    Its depth is ``request.depth`` or, if None, as much as :data:`MOST_BYTES` allows. A damaged file
    is made again; only this process uses a database that cannot be stored. Raises SearchError if
    making it was cancelled, BadNotation for a depth below 0, InvalidRequest for one that needs more
    than :data:`MOST_BYTES_OF_DEPTH`.
    """
    if request.depth is not None and request.depth < 0:
        raise BadNotation(f"A database has a depth of at least 0, not {request.depth}.")
    depth = "auto" if request.depth is None else str(request.depth)
    database = empty(size, request.metric)
    what = f"the database of cubes of size {size} in {request.metric}"
    with tables.making(what, request) as making:
        try:
            path = tables.cache_directory() / f"nxn-{size}-{request.metric}-{depth}.npz"
        except InvalidRequest as error:
            _log.warning("cannot keep the database (%s)", error)
            making.is_kept_in(None)
            _make(database, request, making)
            return database
        _restore_or_make(database, path, request, making)
    return database


def _restore_or_make(
    database: _native.NxnDatabase, path: Path, request: Request, making: tables.Making
) -> None:
    if _restore(database, path):
        return
    making.is_kept_in(path.parent)
    try:
        with tables.hold_lock(path.parent, making):
            if not _restore(database, path):  # another process may have made it meanwhile
                _make(database, request, making)
                _store(database, path)
    except OSError as error:
        _log.warning("cannot keep the database in %s (%s)", path.parent, error.strerror or error)
        making.is_kept_in(None)
        _make(database, request, making)


def empty(size: int, metric: str) -> _native.NxnDatabase:
    """Return the database of depth 0; BadNotation for more than :data:`LARGEST` layers."""
    if size > LARGEST:
        raise BadNotation(
            f"A cube of size {size} is too large: sizes up to {LARGEST} can be searched."
        )
    moves = counted_moves(size, metric)
    permutations = np.array([_permutation(move, size) for move in moves], dtype=np.uint16)
    return _native.NxnDatabase(
        permutations.reshape(len(moves), 6 * size * size),
        [move.axis for move in moves],
        _blocks(moves),
        metric == "qtm",
        slot_facelets("DLB", size),
    )


def _permutation(move: Move, size: int) -> NDArray[np.int32]:
    first, last = move.layers(size)
    return turn(size, move.face, first, last, move.quarters)


def _blocks(moves: list[Move]) -> list[int]:
    """Return a number for the block of layers that each move turns."""
    layers = [(move.face, move.first, move.last) for move in moves]
    return [sorted(set(layers), key=layers.index).index(block) for block in layers]


def _make(database: _native.NxnDatabase, request: Request, making: tables.Making) -> None:
    wanted = math.inf if request.depth is None else request.depth
    room = MOST_BYTES if request.depth is None else MOST_BYTES_OF_DEPTH
    fitting = min(room // (8 * database.words + _BYTES_BESIDES_KEY), _MOST_POSITIONS)

    def progress(positions: int) -> bool:
        by_depth = 0.0 if request.depth is None else database.depth / max(request.depth, 1)
        by_room = min(positions / fitting, 1.0) if request.depth is None else 0.0
        return making.report(max(by_depth, by_room))

    before, fits = 0, progress(len(database))
    while fits and before < len(database) and database.depth < wanted:
        before = len(database)
        fits = database.deepen(fitting, progress)
    if not making.is_wanted:
        raise SearchError("Making the database was stopped; the next search starts it again.")
    if request.depth is not None and not fits:
        raise InvalidRequest(
            f"A database of depth {request.depth} does not fit into {room / 1e6:,.0f} MB, an eighth"
            f" of this computer's memory: depth {database.depth} fits, depth {database.depth + 1} "
            "does not",
            f"use a depth of at most {database.depth}",
        )


def _restore(database: _native.NxnDatabase, path: Path) -> bool:
    """Fill the database from its file; return False if that cannot be opened or is damaged."""
    try:
        opened = path.open("rb")
    except OSError:
        return False
    try:
        with opened as file, np.load(file, allow_pickle=False) as stored:
            keys, distances = stored["keys"], stored["distances"]
            fits = int(stored["format"]) == _FORMAT and len(keys) == len(distances) * database.words
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _log.warning("the database %s is damaged (%s): making it again", path, error)
        return False
    if not fits or keys.dtype != np.uint64 or distances.dtype != np.uint8:
        _log.warning("the database %s has another version: making it again", path)
        return False
    database.restore(keys, distances)
    return True


def _store(database: _native.NxnDatabase, path: Path) -> None:
    """Write the whole file under a temporary name, then give it its name."""
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, format=_FORMAT, keys=database.keys(), distances=database.distances())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        _log.warning("cannot keep the database in %s (%s)", path.parent, error.strerror or error)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
