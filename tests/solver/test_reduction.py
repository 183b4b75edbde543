"""Cubes of 4 and more layers, solved in phases and replayed on the independent model."""

from __future__ import annotations

import numpy as np
import pytest

from solver.cube.cube import Cube
from solver.cube.facelets import FACES
from solver.cube.notation import length, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import IllegalCube, InvalidRequest, SearchError
from solver.reduction.search import LARGEST, geometry, reduced_cube
from solver.search import solve_many
from solver.solution import CancelFlag, Request, Solution


def request(**changes) -> Request:
    asked = {"algorithm": "reduction", "metric": "obtm", "time_limit": 0.05}
    return Request(**(asked | changes))


def random_cube(size: int, rng: np.random.Generator) -> StickerCube:
    """A cube after ``10 * size**2`` random block turns."""
    count = 10 * size * size
    turns = zip(
        rng.integers(0, 6, count),
        rng.integers(1, size, count),
        rng.integers(1, 4, count),
        strict=True,
    )
    stickers = np.repeat(np.arange(6, dtype=np.uint8), size * size)
    geometry(size).turn(stickers, [(int(f), 1, int(w), int(q)) for f, w, q in turns])
    return StickerCube.from_facelets("".join(FACES[one] for one in stickers), size)


def solved(cube: StickerCube, solves, **changes) -> Solution:
    """The solution, after everything it says of itself has been checked."""
    solution = solve_many(cube, request(**changes))[0]
    text = " ".join(solution.moves)
    assert solves(cube.facelets(), text, cube.size)
    assert solution.phases is not None
    assert tuple(move for phase in solution.phases for move in phase) == solution.moves
    assert solution.phase_names is not None
    assert len(solution.phase_names) == len(solution.phases)
    assert solution.length == length(parse_moves(text), solution.metric, cube.size)
    assert solution.lower_bound <= solution.length
    return solution


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_every_cube_is_solved(size, rng, solves):
    for _ in range(5):
        solved(random_cube(size, rng), solves)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("size", "count"), [(n, 1000) for n in (4, 5, 6, 7)] + [(n, 100) for n in (8, 9, 10, 11)]
)
def test_many_cubes_of_each_size_are_solved(size, count, rng, solves):
    """The independent model is slow, so the cube that it tests elsewhere replays most."""
    for number in range(count):
        cube = random_cube(size, rng)
        if number < 20:
            solved(cube, solves)
        else:
            assert cube.apply(" ".join(solve_many(cube, request())[0].moves)).is_solved


@pytest.mark.parametrize("size", [8, 11, 17])
def test_large_cubes_are_solved(size, rng, solves):
    solved(random_cube(size, rng), solves)


@pytest.mark.long
def test_the_largest_cube_is_solved(rng):
    cube = random_cube(LARGEST, rng)
    solution = solve_many(cube, request())[0]
    assert cube.apply(" ".join(solution.moves)).is_solved


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8])
def test_the_kernel_turns_layers_as_the_independent_model_does(size, rng, replay):
    letters = random_cube(size, rng).letters
    for face in FACES:
        for last in range(1, size + 1):
            first = int(rng.integers(1, last + 1))
            quarters = int(rng.integers(1, 4))
            stickers = np.array([FACES.index(letter) for letter in letters], dtype=np.uint8)
            geometry(size).turn(stickers, [(FACES.index(face), first, last, quarters)])
            suffix = ("", "", "2", "'")[quarters]
            text = " ".join(f"{k}{face}{suffix}" for k in range(first, last + 1))
            assert "".join(FACES[one] for one in stickers) == replay(letters, text, size)


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_a_solved_cube_needs_no_turns_however_it_is_held(size, solves):
    for held in ("", "x", "y'", "z2 x"):
        cube = StickerCube.solved(size).apply(held)
        assert solved(cube, solves).length == 0


@pytest.mark.parametrize("size", [4, 5, 6, 7, 8, 9])
def test_pieces_of_one_colour_may_stand_in_any_arrangement(size, rng, solves):
    """Two wings of every kind exchanged, and any of the centres: turns reach all of that."""
    letters = np.array(list(StickerCube.solved(size).letters))
    area = size * size
    middle = [1, 2 * size - 2]
    for k in range(1, size - 1):
        if 2 * k == size - 1:
            continue
        up, back = k, area * 5 + size - 1 - k  # U and B stickers of the wings of UB
        front, down = area * 2 + size * (size - 1) + k, area * 3 + k  # of DF
        letters[[up, down]] = letters[[down, up]]
        letters[[back, front]] = letters[[front, back]]
    inner = size + middle[0]
    letters[[inner, area + inner]] = letters[[area + inner, inner]]
    solved(StickerCube.from_facelets("".join(letters), size), solves)


@pytest.mark.parametrize("size", [4, 6])
def test_single_exchanges_that_a_3x3x3_forbids_are_solved(size, solves):
    """One edge flipped, and two edges exchanged, on even cubes."""
    solved_letters = StickerCube.solved(size).letters
    area = size * size
    front_top, up_bottom = area * 2, size * (size - 1)
    flipped = np.array(list(solved_letters))
    for k in range(1, size - 1):
        pair = [front_top + k, up_bottom + k]
        flipped[pair] = flipped[pair[::-1]]
    solved(StickerCube.from_facelets("".join(flipped), size), solves)
    swapped = np.array(list(solved_letters))
    for k in range(1, size - 1):
        pair = [front_top + k, area * 5 + size - 1 - k]  # F of UF with B of UB
        swapped[pair] = swapped[pair[::-1]]
    solved(StickerCube.from_facelets("".join(swapped), size), solves)


def axes_seen(cube: StickerCube) -> list[set[int]]:
    """The axes of colours that the centres of each face show."""
    faces = np.array([FACES.index(one) % 3 for one in cube.letters]).reshape(6, cube.size, -1)
    return [set(face[1:-1, 1:-1].ravel().tolist()) for face in faces]


def test_the_phases_of_a_4x4x4_do_what_they_are_for(rng):
    for _ in range(3):
        cube = random_cube(4, rng)
        solution = solve_many(cube, request(time_limit=0.3))[0]
        assert solution.phase_names is not None
        assert solution.phase_names[0] == "centres"
        assert solution.phases is not None
        first, second, third, _ = (" ".join(phase) for phase in solution.phases)
        axes = axes_seen(cube.apply(first))
        assert any(axes[k] == axes[k + 3] and len(axes[k]) == 1 for k in range(3))
        cube = cube.apply(first).apply(second)
        axes = axes_seen(cube)
        assert all(len(axis) == 1 for axis in axes)
        assert axes[:3] == axes[3:]
        stickers = np.array([FACES.index(one) for one in cube.apply(third).letters], dtype=np.uint8)
        faces = stickers.reshape(6, 4, 4)
        assert (faces[:, 1:3, 1:3] == faces[:, 1:2, 1:2]).all()
        assert (faces[:, 0, 1] == faces[:, 0, 2]).all()
        assert (faces[:, 1, 0] == faces[:, 2, 0]).all()


def test_a_4x4x4_takes_few_turns_and_better_answers_are_told_as_they_come(rng, solves):
    for _ in range(3):
        heard: list[Solution] = []
        cube = random_cube(4, rng)
        solution = solved(cube, solves, time_limit=3.0, target=48, on_better=heard.append)
        assert solution.length <= 48  # after a second 43 on average, 47 at most in some hundred
        lengths = [one.length for one in heard]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[-1] == solution.length
        assert heard[-1].moves == solution.moves


@pytest.mark.parametrize("stickers", [(1, 26), (2, 52), (0, 30), (7, 2)])
def test_a_5x5x5_with_impossible_pieces_is_refused(stickers, rng):
    """Stickers exchanged so that a piece is there twice or turned over, whatever the middles."""
    letters = np.array(list(random_cube(5, rng).letters))
    first, second = stickers
    letters[[first, second]] = letters[[second, first]]
    if letters[first] == letters[second]:
        letters[first] = FACES[(FACES.index(letters[first]) + 1) % 6]
    with pytest.raises(IllegalCube):
        solve_many(StickerCube("".join(letters), 5), request())


@pytest.mark.long
def test_exchanges_solve_what_phases_do_not(monkeypatch, rng, solves):
    monkeypatch.setattr("solver.reduction.phased.reductions", lambda *_: [])
    for size in (4, 5, 6, 7):
        assert solved(random_cube(size, rng), solves).phase_names[0] == "parity"


@pytest.mark.parametrize("size", [6, 7])
def test_the_phases_of_a_large_cube_do_what_they_are_for(size, rng):
    cube = random_cube(size, rng)
    solution = solve_many(cube, request(time_limit=0.3))[0]
    assert solution.phases is not None
    texts = [" ".join(phase) for phase in solution.phases]
    as_five = cube.apply(texts[0])
    inner = slice(2, size - 2)
    for face in np.array(list(as_five.letters)).reshape(6, size, size):
        parts = [face[inner, inner], face[0, inner], face[-1, inner], face[inner, 0]]
        bars = [face[1, inner], face[-2, inner], face[inner, 1], face[inner, -2]]
        assert all(np.unique(part).size == 1 for part in parts + bars)
    reduced = cube.apply(" ".join(texts[:6]))
    middle = slice(1, size - 1)
    for face in np.array(list(reduced.letters)).reshape(6, size, size):
        parts = [face[middle, middle], face[0, middle], face[-1, middle], face[middle, 0]]
        assert all(np.unique(part).size == 1 for part in parts)
    assert not reduced.is_solved


@pytest.mark.parametrize("size", [4, 5, 6, 7])
@pytest.mark.parametrize(
    ("scramble", "most"),
    [("R", 1), ("2Rw2 U", 2), ("2R U 2R' U'", 6), ("Uw R Dw2 F'", 4), ("2R2 2F 2U'", 6)],
)
def test_a_cube_a_few_turns_from_solved_is_solved_by_as_few(size, scramble, most, solves):
    solution = solved(StickerCube.solved(size).apply(scramble), solves)
    assert solution.length <= most
    assert solution.phase_names == ("few turns",)


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_random_cubes_of_four_turns_take_no_more(size, rng, solves):
    for _ in range(5):
        faces, widths = rng.integers(0, 6, 4), rng.integers(1, size // 2 + 1, 4)
        turns = zip(faces, widths, rng.integers(1, 4, 4), strict=True)
        stickers = np.repeat(np.arange(6, dtype=np.uint8), size * size)
        geometry(size).turn(stickers, [(int(f), 1, int(w), int(q)) for f, w, q in turns])
        cube = StickerCube("".join(FACES[one] for one in stickers), size)
        if not cube.is_solved:
            solution = solved(cube, solves)
            assert solution.lower_bound == solution.length <= 4


def test_few_turns_need_no_tables(monkeypatch, solves):
    monkeypatch.setattr("solver.reduction.phased.load", None)
    monkeypatch.setattr("solver.two_phase.kernel", None)
    assert solved(StickerCube.solved(7).apply("3Rw U"), solves).length == 2


def test_a_target_ends_the_search(rng):
    cube = random_cube(4, rng)
    heard: list[Solution] = []
    solve_many(cube, request(time_limit=30.0, target=60, on_better=heard.append))
    assert len(heard) == 1


def test_the_middle_of_a_reduced_cube_is_a_3x3x3(rng):
    scrambled = Cube.random(rng)
    small = np.array(list(scrambled.facelets())).reshape(6, 3, 3)
    rows = np.array([0, 1, 1, 1, 2])
    big = small[:, rows][:, :, rows]
    stickers = np.array([FACES.index(letter) for letter in big.ravel()], dtype=np.uint8)
    assert reduced_cube(stickers, 5) == scrambled


@pytest.mark.parametrize("size", [4, 5, 6])
def test_a_cancelled_search_finds_nothing(size, rng):
    solve_many(random_cube(size, rng), request())  # makes the tables
    flag = CancelFlag()
    flag.set()
    with pytest.raises(SearchError, match="stopped"):
        solve_many(random_cube(size, rng), request(cancel=flag))


def test_progress_is_reported(rng):
    heard = []
    solve_many(random_cube(9, rng), request(progress=heard.append))
    shares = [progress.done for progress in heard if not progress.making]
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert all("size 9" in progress.text for progress in heard if not progress.making)


def test_metrics_count_what_they_say(rng, solves):
    cube = random_cube(5, rng)
    for metric in ("obtm", "htm", "qtm", "axial"):
        assert solved(cube, solves, metric=metric).metric == metric
    assert length(parse_moves("Rw 2R 3Rw2 x U M 4Rw'"), "obtm", 5) == 1 + 2 + 1 + 0 + 1 + 2 + 1


def test_small_cubes_and_impossible_stickers_are_refused():
    with pytest.raises(InvalidRequest, match="size 3"):
        solve_many(Cube.solved(), request())
    letters = StickerCube.solved(4).letters
    with pytest.raises(IllegalCube):
        solve_many(StickerCube("R" + letters[1:], 4), request())
