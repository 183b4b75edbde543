"""Planning for one robot: scan tours, and the fastest solution of the cube that was read."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robot.planner import (
    ANY_SOLVED,
    Aim,
    Mechanism,
    Plan,
    PlanningError,
    ScanPlan,
    State,
    Watch,
    greedy_us,
    plan_scan,
    plan_scramble,
    plan_solve,
    prepare,
    split_at,
    turn_cube,
    where_to_cut_us,
)
from robot.planner.solve import LAYERED_SIZES
from robot.planner.survey import random_cube
from robot.records.latency import Stopwatch
from robot.settings.profile import RobotProfile
from robot.text.faults import Stopped
from solver.cost import merge_moves
from solver.cube.centres import count_turns
from solver.cube.cube import AnyCube, from_scramble
from solver.cube.facelets import FACES
from solver.cube.notation import parse_moves
from solver.cube.reading import SCRAMBLE, parse_state, read_state
from solver.cube.sticker_cube import StickerCube
from solver.errors import CubistError, InvalidRequest, SearchError
from solver.goal import Goal, read_goal
from solver.solution import CancelFlag, Progress

CANCEL_POLL_S = 0.02

NICENESS = 10
"""Niceness of searches and table generation, so that they never delay the link or the cameras."""

ProgressListener = Callable[[Progress], None]
"""Callback for progress while tables are built. Called on any thread."""


class SplitPlan(NamedTuple):
    """A plan cut in two at a point where the robot rests, and the cube at that point."""

    head: Plan
    tail: Plan
    cube: AnyCube


class SolvePlanner:
    """Plans for a profile whose mechanism is already compiled. All methods block.

    A state is the mechanism's and includes how the cube is held; ``None`` means homed. Plans are
    returned with their schedules computed, so that the robot does not wait for these.
    """

    def __init__(
        self, profile: RobotProfile, mechanism: Mechanism, stopwatch: Stopwatch | None = None
    ) -> None:
        self._size = profile.cube.size
        self._policy = profile.policy
        self._mechanism = mechanism
        self._stopwatch = stopwatch or Stopwatch()

    @property
    def start_positions(self) -> Mapping[str, str | int]:
        """The actuators' positions after homing: a position's name or quarter turns."""
        start = self._mechanism.start.configuration
        return self._mechanism.configurations[start].positions

    def scan(self, state: State | None, faces: Sequence[str] | None) -> ScanPlan:
        """Plan the tour that shows these faces (default: all) to the cameras."""
        tour = plan_scan(self._mechanism, state, faces or FACES)
        for step in tour.steps:
            if step.moves:
                step.plan.schedule()
        return tour

    def parse_cube(self, facelets: str) -> AnyCube:
        """Return the cube with these facelets. Raise :class:`InvalidRequest` if they are wrong."""
        try:
            return parse_state(facelets, self._size)
        except CubistError as error:
            raise InvalidRequest(f"facelets: {error}") from error

    def read_goal(self, text: str, facelets: str | None = None) -> Goal:
        """Return the goal that a text describes. Raise :class:`InvalidRequest`.

        The goal is oriented like the cube in the robot, with faces named by its centres, or like
        ``facelets``, if a person has given legal ones.
        """
        try:
            goal = read_goal(text, read_state(facelets or SCRAMBLE, self._size))
        except CubistError as error:
            raise InvalidRequest(f"to: {error}") from error
        # Every scan names the colours of a 2x2x2 anew, by its corner DLB.
        return replace(goal, in_colours=goal.in_colours and self._size != 2)

    def read_aim(
        self,
        to: str | None,
        facelets: str | None = None,
        *,
        centres: bool = False,
        centres_turned: str | None = None,
    ) -> Aim:
        """Return the aim of a solve. Raise :class:`InvalidRequest`.

        ``centres``: they must end upright, and are upright now except for the moves
        ``centres_turned``.
        """
        goal = None if to is None else self.read_goal(to, facelets)
        if not centres:
            return Aim(goal)
        if self._size != 3 or (goal is not None and goal.mask is not None):
            raise InvalidRequest(
                "centres: they stay upright only on a 3x3x3, with a goal that is a whole cube"
            )
        try:
            return Aim(goal, count_turns(parse_moves(centres_turned or "")))
        except CubistError as error:
            raise InvalidRequest(f"centres_turned: {error}") from error

    def scramble_cube(self, moves: str | None) -> AnyCube:
        """Return a cube scrambled by these moves, or at random. Raise :class:`InvalidRequest`."""
        if not moves:
            return random_cube(self._size, np.random.default_rng())
        try:
            return from_scramble(moves, self._size)
        except CubistError as error:
            raise InvalidRequest(f"moves: {error}") from error

    def prepare(self, cancel: threading.Event, progress: ProgressListener) -> None:
        """Make the tables that plans need and that do not exist yet.

        Its threads have a lower priority than the link and the cameras. Raise SearchError if
        ``cancel`` is set meanwhile.
        """
        with _mirror(cancel) as flag, ThreadPoolExecutor(1, "tables", _stand_back) as pool:
            pool.submit(prepare, self._mechanism, flag, progress).result()

    def plan(
        self,
        cube: AnyCube,
        state: State | None,
        cancel: threading.Event,
        progress: ProgressListener,
        aim: Aim = ANY_SOLVED,
    ) -> Plan:
        """Plan the fastest path from ``cube`` in this state to ``aim``, in the profile's time.

        The search has a lower priority than the link and the cameras.
        """
        begun = time.monotonic()
        with (
            _cancelled_by(cancel) as flag,
            self._watch(flag) as watch,
            ThreadPoolExecutor(1, "search", _stand_back) as pool,
        ):
            plan = pool.submit(
                plan_solve,
                cube,
                self._mechanism,
                state,
                time_limit=self._policy.search_s,
                threads=self._policy.search_threads,
                cancel=flag,
                on_better=watch.better if watch else None,
                progress=progress,
                goal=aim.goal,
                centres=aim.centres_of(cube),
            ).result()
        plan.schedule()
        self._stopwatch.add("search", plan.search_s)
        self._stopwatch.add("retrace", time.monotonic() - begun - plan.search_s)
        self._stopwatch.begin("start")
        return plan

    def plan_scramble(
        self,
        cube: AnyCube,
        state: State | None,
        cancel: threading.Event,
        progress: ProgressListener,
    ) -> Plan:
        """Plan the scramble that turns a solved cube into ``cube``."""
        if isinstance(cube, StickerCube):
            with _cancelled_by(cancel) as flag:
                return plan_scramble(cube, self._mechanism, state, cancel=flag, progress=progress)
        return self.plan(cube.inverse, state, cancel, progress)

    def greedy_us(self, parts: Sequence[Plan]) -> int | None:
        """Return the microseconds that the moves of ``parts`` take if each is planned by itself.

        Return None if the robot cannot do them that way.
        """
        moves = merge_moves([move for part in parts for move in part.moves])
        with suppress(PlanningError):
            return greedy_us(self._mechanism, parts[0].start, moves)
        return None

    def split(self, cube: AnyCube, plan: Plan, *, again: bool) -> SplitPlan | None:
        """Return the plan for ``cube``, cut to improve its tail; None if that does not pay.

        ``again``: the plan is the tail of an earlier cut.
        """
        cut_us = where_to_cut_us(plan, again=again)
        parts = None if cut_us is None else split_at(plan, cut_us)
        if parts is None:
            return None
        head, tail = parts
        head.schedule()
        tail.schedule()
        return SplitPlan(head, tail, turn_cube(cube, head))

    def improve(self, parts: SplitPlan, enough: threading.Event, aim: Aim = ANY_SOLVED) -> Plan:
        """Search for a faster tail until ``enough`` is set. Return it, or the present tail.

        The search has a lower priority than the link and the cameras.
        """
        with ThreadPoolExecutor(1, "rest", _stand_back) as pool:
            return pool.submit(self._improve, parts, enough, aim).result()

    def _improve(self, parts: SplitPlan, enough: threading.Event, aim: Aim) -> Plan:
        with _mirror(enough) as flag:
            try:
                plan = plan_solve(
                    parts.cube,
                    self._mechanism,
                    parts.tail.start,
                    time_limit=parts.head.duration_us / 1e6,
                    threads=self._policy.search_threads,
                    cancel=flag,
                    goal=aim.goal,
                    centres=aim.centres_of(parts.cube),
                )
            except SearchError:
                return parts.tail
        if plan.duration_us >= parts.tail.duration_us:
            return parts.tail
        plan.schedule()
        return replace(plan, search_s=parts.tail.search_s)

    def _watch(self, flag: CancelFlag) -> AbstractContextManager[Watch | None]:
        """Return a watch that ends a search that no longer pays, if the profile asks for it.

        Large cubes get none: their search finds a quick solution first and good ones at the end of
        its time, so its early results predict nothing.
        """
        is_layered = self._size in LAYERED_SIZES
        return Watch(flag) if self._policy.stop_early and not is_layered else nullcontext()


@contextmanager
def _cancelled_by(cancel: threading.Event) -> Iterator[CancelFlag]:
    """Yield a flag for the search of a run. Raise ``Stopped`` if ``cancel`` left no solution."""
    try:
        with _mirror(cancel) as flag:
            yield flag
    except CubistError:
        if cancel.is_set():
            raise Stopped from None
        raise


def _stand_back() -> None:
    """Give every other thread of this computer precedence over this one."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


@contextmanager
def _mirror(cancel: threading.Event) -> Iterator[CancelFlag]:
    """Provide a flag for the native search that follows a Python event."""
    flag, done = CancelFlag(), threading.Event()
    if cancel.is_set():
        flag.set()

    def follow() -> None:
        # Ends at once with the search: the robot waits to turn.
        while not done.wait(CANCEL_POLL_S):
            if cancel.is_set():
                flag.set()
                return

    thread = threading.Thread(target=follow, name="cancel", daemon=True)
    thread.start()
    try:
        yield flag
    finally:
        done.set()
        thread.join()
