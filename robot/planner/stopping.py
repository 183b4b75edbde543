"""Rules for when to stop searching and start turning, and when to search on meanwhile.

Each time the search has run e times as long, the best plan gets faster by roughly the same amount,
``a`` seconds. So after ``t`` seconds, the next second is expected to save ``a / t``. At ``t = a``
searching on costs as much as it saves. ``a`` is estimated from the improvements found so far. As
long as there are none, it is an empirical fraction of the plan's duration (``StoppingRule``).

A plan may be cut between any two transitions. The cube and the mechanism's state there are known,
so the rest can be searched again while the robot performs the head. If a faster rest is found in
time, it replaces the old one: the head ends exactly where it starts (``split_at``). The plan for a
large cube takes so long that its rest is cut again and again.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self

from robot.mechanism.graph import State
from robot.planner.plan import Plan, make_plan, moves_made, state_after
from robot.planner.solve import LAYERED_SIZES
from solver.cube.cube import AnyCube
from solver.solution import CancelFlag

USUAL_GAIN = 0.015
"""Fraction of a plan's duration saved by searching e times as long (measured: 1.2 to 2.9 %)."""
USUAL_WEIGHT = 2.0
"""Weight of the usual gain, in e-foldings of the search at hand."""
EARLIEST_S = 0.02
"""Time before which improvements say little about later ones."""

HEAD_SHARE = 1 / 16
"""Fraction of a plan after which it is cut. Measured: a later cut mostly leaves a rest that is
already as fast as possible, an earlier one leaves little time to search."""
LAYERED_HEAD_SHARE = 1 / 7
"""Fraction of the remaining plan for cubes of 4 and more layers, which may be cut repeatedly."""
LEAST_LAYERED_HEAD_S = 8.0
"""Minimum duration of the head for cubes of 4 and more layers."""
LAYERED_REST_GAIN = 0.003
"""Fraction of the rest saved by searching e times as long meanwhile. Measured: one 4x4x4 out of
four gained 4 %, and only from its first two cuts."""
REST_GAIN = 0.3
"""Fraction of the saving from searching on that remains available once the head is fixed."""
PAUSE_S = 0.08
"""Cost of a cut: the controller must notice the end of the head and send the tail."""


class StoppingRule:
    """A rule that decides from a search's improvements how long to search on. In seconds."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None
        self._latest: tuple[float, float] | None = None

    def better(self, elapsed_s: float, duration_s: float) -> None:
        """Record that the search found a plan of this duration at ``elapsed_s``."""
        seen = (max(elapsed_s, EARLIEST_S), duration_s)
        if self._first is None or elapsed_s < EARLIEST_S:
            self._first = seen
        self._latest = seen

    def gain_s(self, elapsed_s: float) -> float:
        """Return the seconds that searching e times as long is expected to save."""
        if self._first is None or self._latest is None:
            return math.inf
        usual = USUAL_GAIN * self._latest[1]
        folds = math.log(max(elapsed_s, self._first[0]) / self._first[0])
        saved = self._first[1] - self._latest[1]
        return (usual * USUAL_WEIGHT + saved) / (USUAL_WEIGHT + folds)

    def worth_it(self, elapsed_s: float) -> bool:
        """Return true if searching on is expected to save more time than it takes."""
        return elapsed_s < self.gain_s(elapsed_s)


class Watch:
    """A watchdog that sets a cancel flag when a search on another thread stops being worth it.

    Use it as a context manager around the search and pass ``better`` as the search's ``on_better``.
    """

    PERIOD_S = 0.01
    _start: float

    def __init__(self, cancel: CancelFlag, clock: Callable[[], float] = time.monotonic) -> None:
        self._cancel, self._clock = cancel, clock
        self._rule, self._lock = StoppingRule(), threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="search watch", daemon=True)

    def __enter__(self) -> Self:
        self._start = self._clock()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def better(self, duration_us: int) -> None:
        """Record that the search found a plan of ``duration_us``."""
        with self._lock:
            self._rule.better(self._clock() - self._start, duration_us / 1e6)

    def _watch(self) -> None:
        while not self._over.wait(self.PERIOD_S):
            with self._lock:
                worth_it = self._rule.worth_it(self._clock() - self._start)
            if not worth_it:
                self._cancel.set()
                return


def split_at(plan: Plan, time_us: int) -> tuple[Plan, Plan] | None:
    """Return head and tail of ``plan``, cut at the first transition at or after ``time_us``.

    Return None if no transition starts so late: nothing is left to improve. A cut is only made
    where nothing moves, so that head and tail can be executed as two schedules.
    """
    state = plan.start
    for number, (start_us, step) in enumerate(plan.timed_transitions()):
        resting = not plan.mechanism.configurations[state.configuration].residual_motion_us
        if number and start_us >= time_us and resting:
            return _cut(plan, number, state)
        state = state_after(plan.mechanism, state, step)
    return None


def where_to_cut_us(plan: Plan, *, again: bool = False) -> int | None:
    """Return when to cut ``plan`` so that its rest is searched meanwhile; None if not worthwhile.

    It is worthwhile if the rest is expected to get faster by more than the cut costs. ``again``:
    the plan is itself the rest of one that was cut; then only large cubes are worth another cut.
    """
    is_layered = plan.mechanism.size in LAYERED_SIZES
    if plan.optimal or (again and not is_layered):
        return None
    head_s = plan.duration_us * (LAYERED_HEAD_SHARE if is_layered else HEAD_SHARE) / 1e6
    if is_layered:
        head_s = max(head_s, LEAST_LAYERED_HEAD_S)
    folds = math.log(1 + head_s / max(plan.search_s, EARLIEST_S))
    if is_layered:
        saved_s = LAYERED_REST_GAIN * folds * (plan.duration_us / 1e6 - head_s)
    else:
        saved_s = REST_GAIN * USUAL_GAIN * folds * plan.duration_us / 1e6
    return round(head_s * 1e6) if saved_s > PAUSE_S else None


def _cut(plan: Plan, number: int, state: State) -> tuple[Plan, Plan]:
    steps = plan.transitions[:number], plan.transitions[number:]
    head = make_plan(
        plan.mechanism, plan.start, steps[0], moves_made(plan.mechanism, plan.start, steps[0])
    )
    tail = make_plan(plan.mechanism, state, steps[1], moves_made(plan.mechanism, state, steps[1]))
    # The search for the tail while the head runs adds to the search for the whole plan.
    return head, replace(tail, search_s=plan.search_s + head.duration_us / 1e6)


def turn_cube(cube: AnyCube, plan: Plan) -> AnyCube:
    """Return ``cube`` (in its own frame) after the turns of ``plan``."""
    return cube.apply(" ".join(moves_made(plan.mechanism, plan.start, plan.transitions)))
