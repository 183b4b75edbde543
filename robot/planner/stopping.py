"""When to stop searching and start turning, and when to search on while the robot turns.

The best plan gets faster roughly by the same amount each time the search has run e times as long,
``a`` seconds: after ``t`` seconds the next second is expected to save ``a / t``. Searching on costs
as much as it saves when ``t = a``. ``a`` is learnt from the improvements found until then; before
there are any it is taken from experience as a part of the plan's duration (``StoppingRule``).

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
"""Part of a plan's duration saved by searching e times as long, as measured (1.2 to 2.9 %)."""
USUAL_WEIGHT = 2.0
"""How many e-foldings of own experience the usual gain counts for."""
EARLIEST_S = 0.02
"""Improvements before this time say little about later ones."""

HEAD_SHARE = 1 / 16
"""Part of a plan after which it is cut. Measured: after a later cut the rest is mostly as soon as
it can be, before an earlier one there is little time to search."""
LAYERED_HEAD_SHARE = 1 / 7
"""The same for cubes of 4 and more layers, of what is left each time."""
LEAST_LAYERED_HEAD_S = 8.0
"""So long a head of theirs at least."""
LAYERED_REST_GAIN = 0.003
"""Part of the rest that is saved by searching e times as long meanwhile: of four 4x4x4 one gained
4 %, and only by its first two cuts."""
REST_GAIN = 0.3
"""Part of what searching on would have saved that is still to be had with the head fixed."""
PAUSE_S = 0.08
"""What a cut costs: until the controller has noticed the end of the head and sent the tail."""


class StoppingRule:
    """Follows a search's improvements and says until when searching on is worth it. Seconds."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None
        self._latest: tuple[float, float] | None = None

    def better(self, elapsed_s: float, duration_s: float) -> None:
        """Note that a plan of that duration was found after this much searching."""
        seen = (max(elapsed_s, EARLIEST_S), duration_s)
        if self._first is None or elapsed_s < EARLIEST_S:
            self._first = seen
        self._latest = seen

    def gain_s(self, elapsed_s: float) -> float:
        """Seconds that searching e times as long is expected to save."""
        if self._first is None or self._latest is None:
            return math.inf
        usual = USUAL_GAIN * self._latest[1]
        folds = math.log(max(elapsed_s, self._first[0]) / self._first[0])
        saved = self._first[1] - self._latest[1]
        return (usual * USUAL_WEIGHT + saved) / (USUAL_WEIGHT + folds)

    def worth_it(self, elapsed_s: float) -> bool:
        """Return true if the next moment of searching should save more than it takes."""
        return elapsed_s < self.gain_s(elapsed_s)


class Watch:
    """Sets a cancel flag when a search, running on another thread, stops being worth it.

    Use as a context manager around the search and pass ``better`` on as its ``on_better``.
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
        """A plan of that many microseconds was found."""
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
    """Head and tail of ``plan``, cut at the first transition that starts at ``time_us`` or later.

    None when no transition starts so late: nothing is left to improve. A cut is only made where
    all is at rest, so that head and tail can be executed as two schedules.
    """
    state = plan.start
    for number, (start_us, step) in enumerate(plan.timed_transitions()):
        resting = not plan.mechanism.configurations[state.configuration].residual_motion_us
        if number and start_us >= time_us and resting:
            return _cut(plan, number, state)
        state = state_after(plan.mechanism, state, step)
    return None


def where_to_cut_us(plan: Plan, *, again: bool = False) -> int | None:
    """When to cut ``plan`` for its rest to be searched meanwhile; None where that does not pay.

    It pays when the rest is expected to get faster by more than the cut costs. ``again``: the plan
    is itself the rest of one that was cut; the same then pays for large cubes alone.
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
    # What is searched for the tail meanwhile is searched on top of what was for the whole.
    return head, replace(tail, search_s=plan.search_s + head.duration_us / 1e6)


def turn_cube(cube: AnyCube, plan: Plan) -> AnyCube:
    """``cube`` (in its own frame) after the turns of ``plan``."""
    return cube.apply(" ".join(moves_made(plan.mechanism, plan.start, plan.transitions)))
