"""The environment for reinforcement learning, and batches of cubes."""

from __future__ import annotations

import numpy as np
import pytest

from solver import _native
from solver.cube.cube import Cube
from solver.errors import BadNotation
from solver.learning import batch as learning


def test_actions_are_named_by_face_and_direction():
    assert [str(learning.move_of(a)) for a in range(12)] == (
        ["U", "U'", "D", "D'", "F", "F'", "B", "B'", "L", "L'", "R", "R'"]
    )
    assert dict(zip(learning.FACES, learning.COLOURS, strict=True))["U"] == "yellow"


def test_batches_turn_like_single_cubes(rng, replay):
    states = learning.reset(16)
    drawn = [Cube.solved().facelets()] * 16
    for _ in range(30):
        actions = rng.integers(0, 12, 16)
        learning.move(states, actions)
        moves = [str(learning.move_of(int(action))) for action in actions]
        drawn = [replay(letters, move, 3) for letters, move in zip(drawn, moves, strict=True)]
    assert [Cube(one).facelets() for one in states] == drawn


def test_one_hot_and_solved_by_batch(rng):
    states = learning.reset(5)
    learning.scramble(states[2:], 7, rng)
    assert learning.is_solved(states).tolist()[:2] == [True, True]
    hot = learning.one_hot(states)
    assert hot.shape == (5, 20, 24)
    for one, row in zip(states, hot, strict=True):
        assert (Cube(one).one_hot() == row).all()


def test_wrong_actions_and_arrays_are_refused():
    with pytest.raises(BadNotation):
        learning.move(learning.reset(1), np.array([12]))
    with pytest.raises(ValueError, match="one turn for each"):
        _native.turn_batch(learning.reset(2), np.zeros(1, dtype=np.uint8))
    with pytest.raises(ValueError, match="0 to 17"):
        _native.turn_batch(learning.reset(1), np.array([18], dtype=np.uint8))
    with pytest.raises(TypeError):
        _native.turn_batch(learning.reset(2)[:, ::2], np.zeros(2, dtype=np.uint8))


def test_the_environment_is_what_gymnasium_expects():
    gymnasium = pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from solver.learning.env import CubeEnv

    env = CubeEnv(render_mode="ansi")
    check_env(env, skip_render_check=True)
    assert isinstance(env.observation_space, gymnasium.spaces.Box)


def test_an_episode_ends_when_solved_or_cut_off():
    pytest.importorskip("gymnasium")
    from solver.learning.env import CubeEnv

    env = CubeEnv(most_turns=3, scramble_turns=0)
    env.reset(seed=1)
    assert env.cube == Cube.solved(), "as many turns as asked for"
    first, _ = env.reset(seed=4, options={"turns": 1})
    again, _ = env.reset(seed=4, options={"turns": 1})
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
