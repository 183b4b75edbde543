"""The models of cubes and of their orientation, compared with the independent one."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.cube.cube import SINGMASTER_SLOTS, Cube, from_scramble
from solver.cube.facelets import FACES, slot_facelets
from solver.cube.notation import parse_moves
from solver.cube.orientation import all_orientations, site_facelets
from solver.cube.pocket import REFERENCE, PocketCube, whole_rotations
from solver.cube.reading import parse_state
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation
from solver.learning import batch as learning
from solver.nxn.turns import scrambled

FACE_MOVES = [face + suffix for face in "URFDLB" for suffix in ("", "2", "'")]
ANY_MOVES = [
    *FACE_MOVES,
    *(letter + suffix for letter in "xyzMES" for suffix in ("", "2", "'")),
    *(f"{face}w{suffix}" for face in "URFDLB" for suffix in ("", "2", "'")),
]


def held_alike(facelets: str, replay) -> set[str]:
    """Return the cube in all 24 orientations."""
    size = round((len(facelets) / 6) ** 0.5)
    ways = [a + b for a in ("", "x ", "x2 ", "x' ", "z ", "z' ") for b in ("", "y", "y2", "y'")]
    return {replay(facelets, way, size) for way in ways}


@settings(max_examples=30)
@given(st.lists(st.sampled_from(FACE_MOVES)), st.lists(st.sampled_from(ANY_MOVES), max_size=15))
def test_turns_of_a_cube_move_the_stickers_of_the_independent_model(replay, turns, moves):
    """Include slices, wide turns and rotations, which also turn the cube as a whole."""
    text = " ".join(turns)
    shown = replay(Cube.solved().facelets(), text, 3)
    assert Cube.from_moves(text).facelets() == shown
    text = " ".join([*turns, *moves])
    assert Cube.from_moves(text).facelets() in held_alike(replay(shown, " ".join(moves), 3), replay)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_sticker_cubes_of_any_size_follow_the_independent_model(size, replay, rng):
    cube, moves = scrambled(size, 30, rng)
    text = " ".join(map(str, moves)) + (" Rw 2U' x y2 z'" if size > 1 else " x y2 z'")
    shown = StickerCube.solved(size).apply(text)
    assert str(shown) == replay(str(StickerCube.solved(size)), text, size)
    assert StickerCube.from_facelets(str(cube), size) == cube


@settings(max_examples=50)
@given(st.lists(st.sampled_from([*FACE_MOVES, "x", "y'", "z2"]), max_size=20))
def test_pocket_cubes_follow_the_independent_model(replay, moves):
    text = " ".join(moves)
    cube = PocketCube.from_moves(text)
    assert cube.facelets() == replay(PocketCube.solved().facelets(), text, 2)
    assert PocketCube.from_facelets(cube.facelets()) == cube


def test_renaming_colours_brings_the_reference_corner_home(rng, replay):
    for held in whole_rotations():
        cube = held * PocketCube.random(rng)
        relative = cube.relative
        assert tuple(relative.states[REFERENCE]) == (REFERENCE, 0)
        assert relative.move(parse_moves("R")[0]) == cube.move(parse_moves("R")[0]).relative


def test_composition_inverse_and_equality(rng):
    for kind in (Cube, PocketCube):
        cubes = [kind.random(rng) for _ in range(5)]
        for a, b in pairwise(cubes):
            assert (a * b).inverse == b.inverse * a.inverse
            assert a * a.inverse == kind.solved() == a.inverse * a
            assert hash(kind(a.states)) == hash(a)
            assert a != b
            assert pickle.loads(pickle.dumps(a)) == a


def test_all_notations_say_the_same():
    text = "RU LF UB DR DL BL UL FU BD RF BR FD LDF LBD FUL RFD UFR RDB UBL RBU"
    cube = parse_state(text)
    letters = cube.facelets()
    shown = ["".join(letters[i] for i in slot_facelets(slot, 3)) for slot in SINGMASTER_SLOTS]
    assert shown == text.split()
    assert parse_state(letters) == cube
    assert parse_state('--scramble "R U2 F\'"') == Cube.from_moves("R U2 F'")
    assert parse_state("--scramble") == Cube.solved()
    assert from_scramble("R U", 2) == PocketCube.from_moves("R U")


CUBIES = "UF UR UB UL DF DR DB DL FR FL BR BL UFR URB UBL ULF DRF DFL DLB DBR"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CUBIES.removesuffix(" DBR"), "20 words, not 19; missing: DBR"),
        (CUBIES + " FU", "20 words, not 21; more than once: UF"),
        (CUBIES.replace("DRF", "DR") + " DRX", "missing: DRF; more than once: DR; no piece: DRX"),
        (CUBIES[:35], "not 12; missing: UFR, URB, UBL, ULF, DRF, DFL, DLB, DBR"),
        *((text, None) for text in ("", "UUU", "X" * 54)),
    ],
)
def test_texts_that_are_no_states_are_refused_and_wrong_words_named(text, said):
    with pytest.raises(BadNotation, match=said):
        parse_state(text, 3)


# ---- orientations -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3])
def test_what_is_seen_is_what_the_independent_model_shows_after_rotating(size, replay):
    letters = "".join(chr(65 + number) for number in range(6 * size * size))
    for orientation, axis in product(all_orientations(), "xyz"):
        turned = orientation.rotated(axis, 1)
        before = "".join(letters[i] for i in site_facelets(orientation, size))
        after = "".join(letters[i] for i in site_facelets(turned, size))
        assert after == replay(before, axis, size)
        assert orientation.rotated(axis, 2) == turned.rotated(axis, 1)
        assert turned.rotated(axis, -1) == orientation


def test_sites_and_faces_are_each_others_inverse():
    drawn = Cube.solved().facelets()
    for orientation in all_orientations():
        assert orientation.name == orientation.face_at("U") + orientation.face_at("F")
        assert all(orientation.face_at(orientation.site_of(face)) == face for face in FACES)
        shown = "".join(drawn[i] for i in site_facelets(orientation, 3))
        assert [shown[9 * k + 4] for k in range(6)] == [orientation.face_at(s) for s in FACES]
        assert orientation.then(orientation.inverse).index == 0


# ---- batches and the environment for reinforcement learning ------------------------------------


def test_batches_turn_and_show_like_single_cubes(rng):
    names = ["U", "U'", "D", "D'", "F", "F'", "B", "B'", "L", "L'", "R", "R'"]
    assert [str(learning.move_of(action)) for action in range(12)] == names
    states = learning.reset(16)
    cubes = [Cube.solved()] * 16
    assert learning.is_solved(states).all()
    for _ in range(30):
        actions = rng.integers(0, 12, 16)
        learning.move(states, actions)
        cubes = [cube.apply(names[n]) for cube, n in zip(cubes, actions, strict=True)]
    assert [Cube(one) for one in states] == cubes
    assert not learning.is_solved(states).any()
    hot = np.full((16, 20, 24), 7, dtype=np.uint8)
    assert learning.one_hot(states, hot) is hot
    assert (hot == [cube.one_hot() for cube in cubes]).all()
    for slot, (cubie, turned) in enumerate(states[0].tolist()):
        assert np.flatnonzero(hot[0, slot]).tolist() == [cubie + (8 if slot < 8 else 12) * turned]


@pytest.mark.long
def test_the_worked_example_prints_what_the_page_shows():
    page = (Path(__file__).parents[3] / "docs" / "learning.md").read_text(encoding="utf-8")
    _, example = page.split("## A worked example")
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", example, re.DOTALL)[:2]
    printed = subprocess.check_output([sys.executable, "-c", code], text=True)
    number = re.compile(r"[\d.]*\d")
    assert number.sub("#", printed) == number.sub("#", shown)
    found, expected = (np.array(number.findall(text), dtype=float) for text in (printed, shown))
    assert found == pytest.approx(expected, rel=0.05, abs=0.3)


def test_an_episode_is_what_gymnasium_expects_and_ends_when_solved_or_cut_off():
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from solver.learning.env import CubeEnv

    env = CubeEnv(render_mode="ansi")
    check_env(env, skip_render_check=True)
    assert isinstance(env.observation_space, gymnasium.spaces.Box)
    env = CubeEnv(most_turns=3, scramble_turns=0)
    env.reset(seed=1)
    assert env.cube == Cube.solved(), "as many turns as asked for"
    first, again = (env.reset(seed=4, options={"turns": 1})[0] for _ in range(2))
    assert (first == again).all()
    ends = []
    for action in range(12):
        env.reset(seed=4, options={"turns": 1})
        _, reward, ended, _, _ = env.step(np.int64(action))
        ends.append((reward, ended))
    assert ends.count((1.0, True)) == 1
    env.reset(seed=4, options={"turns": 0})
    cut = [env.step(np.int64(action))[3] for action in (0, 4, 8)]
    assert cut == [False, False, True]
    assert env.render() == env.cube.facelets()
