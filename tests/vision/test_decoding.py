"""The kernel's decoding: its figures for random colours, and the arrays it rejects.

The figures pin every term of the formulas to the sixth digit; nothing else shows a wrong one. The
cubes are none: numbers drawn at random, for which no outcome is likelier than another. If a formula
changes on purpose, print the figures anew with ``python -m tests.vision.test_decoding``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest

from solver import _native
from vision.decide.assignment import kernel_pieces, orbits
from vision.decide.schemes import all_namings

PRIORS = {
    "falloff_precision": 40.0,
    "sticker_variance": 0.02,
    "dark_sd": 0.3,
    "shade_variance": 0.05,
    "stickers": 6.0,
    "wide_log_share": -3.0,
    "wider": 3.0,
    "glare_log_share": -3.5,
    "glare": 0.3,
    "dazzle_log_share": -4.0,
    "dazzle": 1.5,
    "strange_log_density": -7.0,
    "strict_log_density": -5.0,
}
"""In the order of the kernel's."""


def figure(*arrays: object) -> float:
    """One number in which every number of the arrays counts another way."""
    flat = np.concatenate([np.asarray(one, float).ravel() for one in arrays])
    return float(flat @ np.random.default_rng(len(flat)).uniform(0.5, 1.5, len(flat)))


class Scan:
    """Six faces of a size in light that differs from face to face, some stickers too bright."""

    def __init__(self, size: int) -> None:
        rng = np.random.default_rng(size)
        count = 6 * size * size
        self.size = size
        self.mean = rng.uniform(-2.5, -0.1, (6, 3))
        spread = rng.normal(0, 0.1, (6, 3, 3))
        self.covariance = 0.05 * np.eye(3) + spread @ spread.transpose(0, 2, 1)
        self.faces = rng.normal(0, 0.1, (6, 5))
        self.letters = np.repeat(np.arange(6), size * size)
        rng.shuffle(self.letters)
        values = self.mean[self.letters] + rng.normal(0, 0.15, (count, 3))
        values[rng.random(count) < 0.15] += 1.0
        sensitivity = rng.uniform(0.6, 1.0, (count, 3))
        clipped = (rng.random((count, 3)) < 0.1).astype(np.uint8)
        weight = np.where(rng.random(count) < 0.1, 0.0, rng.uniform(0.5, 1.0, count))
        light = rng.normal(0, 0.3, (5, 5))
        self.kernel = _native.ScanEstimator(
            np.array(list(PRIORS.values())),
            20 * np.eye(5) + light @ light.T,
            values,
            sensitivity,
            -sensitivity * rng.uniform(0, 1, (count, 1)),
            clipped,
            weight,
            rng.uniform(-1, 1, (count, 2)),
            0.02,
        )

    @property
    def model(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        return self.mean, self.covariance, self.faces, 0.2

    def evidence(self, strict: bool) -> tuple[np.ndarray, np.ndarray]:
        cost, inlier = np.empty((2, len(self.letters), 6))
        self.kernel.evidence(*self.model, strict, cost, inlier)
        return cost, inlier

    def room(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.empty((6, 3)), np.empty((6, 3, 3)), np.empty((6, 5))


def evidence(size: int, strict: bool) -> float:
    """The cost of every colour for every sticker, and the share of inliers."""
    return figure(*Scan(size).evidence(strict))


def light(size: int) -> float:
    """The light on stickers, the spread of colours, and the total cost."""
    scan = Scan(size)
    lit, covariance = np.empty((6 * size * size, 3)), np.empty((6, 3, 3))
    scan.kernel.shift(scan.faces, 0.2, lit)
    scan.kernel.expected(scan.mean, covariance)
    return figure(lit, covariance, [scan.kernel.total_cost(*scan.model, scan.letters)])


def fitted(size: int, rounds: int) -> float:
    """Colours fitted to known stickers."""
    scan = Scan(size)
    room = scan.room()
    falloff = scan.kernel.fit(*scan.model, scan.letters, rounds, *room)
    return figure(*room, [falloff])


def estimated(size: int, rounds: int, still: float, patience: int) -> float:
    """Colours estimated with the pieces that exist."""
    scan = Scan(size)
    room = scan.room()
    cooling = np.array([8.0, 4.0, 2.0, 1.0, 1.0, 1.0])
    pieces = kernel_pieces(orbits(size))
    falloff = scan.kernel.estimate(*scan.model, pieces, cooling, rounds, still, patience, *room)
    return figure(*room, [falloff])


def shared(size: int) -> float:
    """Probabilities of letters at two temperatures."""
    cost = np.random.default_rng(size).uniform(0, 9, (6 * size * size, 6))
    share = np.empty((2, *cost.shape))
    for one, temperature in zip(share, (1.0, 3.0), strict=True):
        kernel_pieces(orbits(size)).shares(cost, temperature, one)
    return figure(share)


def named(size: int) -> float:
    """The cheapest cube under other names of the colours, and how few have to be solved."""
    rng = np.random.default_rng(size)
    pieces = kernel_pieces(orbits(size))
    found: list[object] = []
    for _ in range(3):
        cost = rng.uniform(0, 9, (6 * size * size, 6))
        relaxed = pieces.relaxed_costs(cost, all_namings())
        naming, least, solved = pieces.cheapest_naming(cost, all_namings(), np.inf)
        nothing, _, tried = pieces.cheapest_naming(cost, all_namings(), least - 1e-3)
        # Without centres several names cost the same, up to rounding.
        found += [relaxed, [naming if size % 2 else -1, least, solved, nothing, tried]]
    return figure(*found)


def turned(size: int) -> float:
    """Bounds for pictures that may be turned."""
    rng = np.random.default_rng(size)
    cost = rng.uniform(0, 9, (6 * size * size, 6))
    cells = np.arange(size * size).reshape(size, size)
    shown = np.array([np.rot90(cells, turns).ravel() for turns in range(4)])
    sources, colours = (rng.permuted(np.tile(np.arange(6), (3, 1)), axis=1) for _ in range(2))
    bounds = np.empty((3, 4096))
    kernel_pieces(orbits(size)).turned_bounds(cost, sources, colours, shown, bounds)
    return figure(bounds)


FIGURES: list[tuple[Callable[..., float], tuple[float, ...], float]] = [
    (evidence, (2, False), 568.8965899291828),
    (evidence, (3, False), 1082.126865955887),
    (evidence, (3, True), 887.4467359337137),
    (light, (2,), 43.819918212519376),
    (light, (3,), 19.7978161274117),
    (fitted, (2, 0), -22.110790813968762),
    (fitted, (3, 1), -21.901062306852396),
    (fitted, (3, 4), -22.238867918274174),
    (estimated, (2, 5, 0.0, 2), -21.029691665059566),
    (estimated, (2, 1, 0.05, 0), -23.342310118389275),
    (estimated, (2, 0, 9.0, 9), -18.585368364565575),
    (estimated, (3, 5, 0.0, 2), -16.455010876728867),
    (estimated, (3, 1, 0.05, 0), -19.65351809752725),
    (estimated, (3, 0, 9.0, 9), -15.970870674684924),
    (shared, (2,), 48.778484326362445),
    (shared, (3,), 109.16479940891867),
    (shared, (4,), 189.39774988878384),
    (shared, (5,), 297.6462601933252),
    (named, (2,), 104500.99208999463),
    (named, (3,), 220582.40943724025),
    (named, (4,), 359001.17937003577),
    (named, (5,), 528617.2093564438),
    (turned, (2,), 532765.7867378695),
    (turned, (3,), 994573.9581279722),
    (turned, (4,), 1510803.3605702077),
]


@pytest.mark.parametrize(("of", "given", "expected"), FIGURES)
def test_figures_are_the_same_to_the_sixth_digit(
    of: Callable[..., float], given: tuple[float, ...], expected: float
) -> None:
    assert of(*given) == pytest.approx(expected, rel=1e-6)


Call = Callable[[], object]
COSTS = np.arange(4 * 6 * 6, dtype=float).reshape(24, 6)
SHORT = COSTS[:-1].copy()
NAMINGS = all_namings()


def pieces(size: int = 2) -> _native.CubePieces:
    return kernel_pieces(orbits(size))


def ranked(*shape: int, ranks: int = 1) -> _native.RankedArrangements:
    return _native.RankedArrangements(np.ones(shape), ranks)


def arranged(count: int, *asked: int, pieces: int = 2, turns: int = 2) -> Call:
    """Ask a table of ``count`` slots for an arrangement: sum of turns, parity and rank."""
    room = np.zeros(pieces, np.int64), np.zeros(turns, np.int64)
    return lambda: ranked(count, count, 3, ranks=2).arrangement(*asked, *room)  # type: ignore[arg-type] # three


def orbit(
    kind: str = "wing",
    facelets: object = ((0,), (1,)),
    patterns: object = ((0,), (1,)),
    turns: int = 1,
    copies: int = 1,
) -> Call:
    one = kind, np.array(facelets, np.int64), np.array(patterns, np.int64), turns, copies
    return lambda: _native.CubePieces([one])


def bounds_of(
    costs: np.ndarray = COSTS,
    sources: int = 1,
    shown: object = None,
    room: int = 4096,
) -> Call:
    six = np.arange(6)[None]
    cells = np.tile(np.arange(4), (4, 1)) if shown is None else np.array(shown, np.int64)
    orders = np.repeat(six, sources, 0)
    return lambda: pieces().turned_bounds(costs, orders, six, cells, np.empty(room))


COUNTS = {"priors": 13, "precision": 25, "values": 72, "sensitivity": 72, "fading": 72}
COUNTS |= {"clipped": 72, "stickers": 24, "places": 48}


def scan(**counts: int) -> _native.ScanEstimator:
    """A scan of a 2x2x2 with as many numbers as ``counts`` says."""
    arrays = {name: np.ones(count) for name, count in (COUNTS | counts).items()}
    arrays["clipped"] = np.zeros(len(arrays["clipped"]), np.uint8)
    return _native.ScanEstimator(*arrays.values(), 0.02)  # type: ignore[call-arg,arg-type] # in order


ROOM = (np.empty(18), np.empty(54), np.empty(30))
MODEL = (np.zeros(18), np.tile(np.eye(3), (6, 1, 1)), np.zeros(30))
LETTERS = np.zeros(24, np.int64)


def fit_with(number: int, more: int, is_new: bool) -> Call:
    """Fit a model, or into room, one array of which has ``more`` numbers than it should."""
    model, room = list(MODEL), list(ROOM)
    changed = room if is_new else model
    changed[number] = np.ones(changed[number].size + more)
    return lambda: scan().fit(*model, 0.0, LETTERS, 0, *room)


def estimate_with(size: int) -> Call:
    return lambda: scan().estimate(*MODEL, 0.0, pieces(size), np.ones(1), 0, 0.0, 0, *ROOM)


def cost_of(letters: np.ndarray) -> Call:
    return lambda: scan().total_cost(*MODEL, 0.0, letters)


ONE, ZERO = ((0,),), np.zeros
REJECTED: list[tuple[Call, str]] = [
    (lambda: ranked(2, 3, 1), "1 to 12 slots"),
    (lambda: ranked(13, 13, 1), "1 to 12 slots"),
    (lambda: ranked(2, 2, 0), "1 to 3 ways"),
    (lambda: ranked(2, 2, 4), "1 to 3 ways"),
    (lambda: ranked(2, 2, 1, ranks=0), "1 to 4 arrangements"),
    (lambda: ranked(2, 2, 1, ranks=5), "1 to 4 arrangements"),
    *(
        (arranged(2, *asked), "no such sum")
        for asked in ((-1, 0, 0), (3, 0, 0), (0, -1, 0), (0, 2, 0), (0, 0, -1), (0, 0, 2))
    ),
    (arranged(2, 0, 0, 0, pieces=3), "one place for each slot"),
    (arranged(2, 0, 0, 0, turns=3), "one place for each slot"),
    (arranged(1, 0, 1, 0, pieces=1, turns=1), "no such arrangement"),
    (lambda: _native.ranked_assignments(np.ones((2, 2)), 0, 1), "counted from 1"),
    (lambda: _native.ranked_assignments(np.ones((2, 2)), 1, 0), "counted from 1"),
    (lambda: _native.cheapest_assignment(np.ones((3, 2))), "more rows than columns"),
    (orbit(patterns=((0, 1), (1, 0))), "a letter for each sticker"),
    (orbit(facelets=((0, 1, 2, 3),), patterns=((0, 1, 2, 3),)), "at most 3 stickers"),
    (orbit(facelets=ZERO((0, 1)), patterns=ONE), "pieces for all"),
    (orbit(turns=0), "pieces for all"),
    (orbit(copies=0), "pieces for all"),
    (orbit("edge", ONE, ((0,), (1,))), "at most 12"),
    (orbit("edge", ZERO((13, 1)), ZERO((13, 1))), "at most 12"),
    (orbit("edge", ONE, ZERO((4, 1)), 4), "at most 12"),
    (orbit(patterns=((0,), (6,))), "from 0 to 5"),
    (orbit(patterns=((0,), (-1,))), "from 0 to 5"),
    (orbit(facelets=((0,), (-1,))), "numbers from 0"),
    (lambda: pieces().shares(SHORT, 1.0, np.empty((23, 6))), "six costs"),
    (lambda: pieces().shares(COSTS, 1.0, np.empty((23, 6))), "another size"),
    (lambda: pieces().relaxed_costs(SHORT, NAMINGS), "six costs"),
    (lambda: pieces().relaxed_costs(COSTS, np.zeros((1, 5), np.int64)), "six colours"),
    (lambda: pieces().relaxed_costs(COSTS, np.array([[0, 1, 2, 3, 4, 6]])), "from 0 to 5"),
    (lambda: pieces().relaxed_costs(COSTS, np.array([[0, 1, 2, 3, 4, -1]])), "from 0 to 5"),
    (lambda: pieces().cheapest_naming(SHORT, NAMINGS, 9.0), "six costs"),
    (bounds_of(SHORT), "orders of the pictures"),
    (bounds_of(sources=2), "orders of the pictures"),
    (bounds_of(shown=np.tile(np.arange(4), (3, 1))), "orders of the pictures"),
    (bounds_of(shown=np.tile([0, 1, 2, 4], (4, 1))), "no such cell"),
    (bounds_of(shown=np.tile([0, 1, 2, -1], (4, 1))), "no such cell"),
    (bounds_of(room=4095), "another size"),
    *(
        (partial(scan, **{name: COUNTS[name] + more}), "another size")
        for name in COUNTS
        if name != "stickers"
        for more in (-1, 1)
    ),
    *(
        (partial(scan, stickers=count, values=3 * count, places=2 * count), "six faces")
        for count in (0, 23, 25)
    ),
    *((fit_with(*way), "another size") for way in product(range(3), (-1, 1), (False, True))),
    (cost_of(LETTERS - 1), "0 to 5"),
    (cost_of(LETTERS + 6), "0 to 5"),
    (cost_of(np.where(np.arange(24) == 23, 6, 0)), "0 to 5"),
    (cost_of(LETTERS[1:].copy()), "another size"),
    (estimate_with(3), "the scan's size"),
]


@pytest.mark.parametrize(("call", "complaint"), REJECTED)
def test_arrays_that_do_not_fit_are_rejected(call: Call, complaint: str) -> None:
    with pytest.raises((ValueError, IndexError), match=complaint):
        call()


def test_the_limits_themselves_are_accepted() -> None:
    for shape, ranks in (((1, 1, 1), 1), ((1, 1, 3), 4), ((12, 12, 2), 1)):
        assert ranked(*shape, ranks=ranks).cost(0, 0, 0) == shape[0]
    assert ranked(1, 1, 1).cost(0, 1, 0) == np.inf
    assert _native.cheapest_assignment(np.eye(2)) == [1, 0]
    of_twelve = np.zeros((12, 1), np.int64)
    for accepted in (
        arranged(2, 0, 1, 0),
        orbit(),
        orbit(patterns=((5,), (0,))),
        orbit(patterns=ONE, copies=2),
        orbit("edge", of_twelve, of_twelve),
        orbit("corner", ((0, 1, 2),), ((0, 1, 2), (1, 2, 0), (2, 0, 1)), 3),
        orbit("wing", np.zeros((13, 1)), np.zeros((13, 1))),
        orbit("wing", ONE, ((0,), (1,))),
        lambda: pieces().shares(COSTS, 1.0, np.empty((24, 6))),
        bounds_of(),
        cost_of(LETTERS + 5),
        fit_with(0, 0, is_new=False),
        estimate_with(2),
    ):
        accepted()


if __name__ == "__main__":
    for of, given, _ in FIGURES:
        print(f"    ({of.__name__}, {given!r}, {of(*given)!r}),")
