"""The 3x3x3 as a Gymnasium environment: ``pip install '.[learning]'`` in a checkout."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from solver.cube.cube import Cube
from solver.learning import batch as learning

Observation = NDArray[np.uint8]


class CubeEnv(gymnasium.Env[Observation, np.int64]):
    """Solve a scrambled cube by quarter turns.

    Observations are ``one_hot``, uint8[20, 24]; actions are the twelve of
    :data:`solver.learning.batch.ACTIONS`. The reward is 1 for solving, which ends the episode, and
    otherwise 0; an episode is cut off after ``most_turns``. ``reset(options={"turns": k})``
    scrambles by k turns, else by ``scramble_turns``.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - the base class declares it like this

    def __init__(
        self, scramble_turns: int = 20, most_turns: int = 100, render_mode: str | None = None
    ) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 1, (20, 24), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(learning.ACTIONS))
        self.render_mode = render_mode
        self._scramble_turns = scramble_turns
        self._most_turns = most_turns
        self._turns = 0
        self._states = learning.reset(1)

    @property
    def cube(self) -> Cube:
        """The current cube."""
        return Cube(self._states[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Scramble a solved cube, and return its observation."""
        super().reset(seed=seed)
        self._turns = 0
        self._states = learning.reset(1)
        turns = int((options or {}).get("turns", self._scramble_turns))
        learning.scramble(self._states, turns, self.np_random)
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Turn one face by a quarter."""
        learning.move(self._states, np.array([action]))
        self._turns += 1
        solved = bool(learning.is_solved(self._states)[0])
        cut_off = not solved and self._turns >= self._most_turns
        return self._observation(), float(solved), solved, cut_off, {}

    def render(self) -> str:
        """Return the facelet string."""
        return self.cube.facelets()

    def _observation(self) -> Observation:
        hot: Observation = learning.one_hot(self._states)[0]
        return hot
