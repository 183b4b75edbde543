"""scan tours, reading, and the fastest way to solve, for one profile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np

from robot.faults import FAULTS, MotionFault
from robot.machine.interfaces import (
    FaceImage,
    Hear,
    InvalidRequest,
    MotionPlan,
    NotReadable,
    Parts,
    Reading,
    RunStopped,
    Tour,
    ViewPoint,
)
from robot.machine.scanner import explanation, odd_view, stored_colours, usual_oddity
from robot.planner import (
    Mechanism,
    Plan,
    ScanStep,
    State,
    Watch,
    plan_scan,
    plan_solve,
    prepare,
    split_at,
    turned,
    where_to_cut_us,
)
from robot.settings.profile import RobotProfile
from solver.cube.cube import Cube, parse_state
from solver.cube.pocket import PocketCube
from solver.errors import CubistError, SearchFailed
from solver.solution import CancelFlag
from vision.decide.consistency import repeated_face
from vision.decide.reader import CubeReading, Unreadable, read_cube
from vision.measure.sticker_colours import FaceColours, StickerColours, merge_looks

CANCEL_POLL_S = 0.02

NICENESS = 10
"""Of the search while the robot turns: it must not keep the link waiting."""


class SolvePlanner:
    """Planning for a profile whose mechanism is already compiled."""

    def __init__(self, profile: RobotProfile, mechanism: Mechanism) -> None:
        self._size = profile.cube.size
        self._policy = profile.policy
        self._mechanism = mechanism
        self._references = stored_colours(profile)
        self._explanation: Callable[[], bytes] = bytes

    def tour(self, state: State | None, faces: Sequence[str] | None) -> Tour:
        """See :meth:`robot.machine.interfaces.SolvePlanner.tour`."""
        scan = plan_scan(self._mechanism, state, faces or "URFDLB")
        views = [view for step in scan.steps for view in _views_of(step)]
        return Tour(tuple(views), scan.end)

    def recognise(self, look: FaceImage) -> None:
        """See :meth:`robot.machine.interfaces.SolvePlanner.recognise`."""
        odd = odd_view(look, self._size) if self._policy.check_view else None
        if odd is not None:
            raise NotReadable(str(odd), look.face, odd.trouble) from odd

    def read(self, looks: Sequence[FaceImage]) -> Reading:
        """See :meth:`robot.machine.interfaces.SolvePlanner.read`."""
        faces: dict[str, list[FaceColours]] = {}
        for look in looks:
            faces.setdefault(look.face, []).append(look.colours)
        merged = {face: merge_looks(seen) for face, seen in faces.items()}
        colours = StickerColours.of_faces(merged)
        try:
            reading = read_cube(colours, self._references)
            self._explanation = partial(explanation, tuple(looks), colours, reading)
        except Unreadable as error:
            self._explanation = partial(explanation, tuple(looks), colours, error)
            raise self._refusal(error, looks, colours) from error
        if reading.corrections and not reading.confident:
            told = "; ".join(reading.corrections)
            reason = f"the faces do not fit together; perhaps {told}"
            raise NotReadable(reason, tuple(reading.look_again or ""))
        if reading.corrections:
            # The robot knows how it holds the cube: a face seen turned means that it does not.
            raise _slipped("; ".join(reading.corrections))
        return _reading(reading)

    def _refusal(
        self, error: Unreadable, looks: Sequence[FaceImage], colours: StickerColours
    ) -> NotReadable | MotionFault:
        """Why the looks could not be read: what is in view instead, if that can be told."""
        again = tuple(error.look_again or "")
        odd = usual_oddity(looks, self._size)
        if odd is not None:
            return NotReadable(str(odd), again, odd.trouble)
        alike = repeated_face(colours)
        if alike is not None and error.look_again in alike:
            return _slipped(error.reason)
        return NotReadable(error.reason, again)

    def explanation(self) -> Callable[[], bytes]:
        """See :meth:`robot.machine.interfaces.SolvePlanner.explanation`."""
        drawing, self._explanation = self._explanation, bytes
        return drawing

    def know(self, facelets: str) -> Reading:
        """See :meth:`robot.machine.interfaces.SolvePlanner.know`."""
        try:
            cube = parse_state(facelets, self._size)
        except CubistError as error:
            raise InvalidRequest(f"facelets: {error}") from error
        detail = {"facelets": facelets, "told": True}
        return Reading(cube, cube.facelets(), True, cube.is_solved, (), detail)

    def prepare(self, cancel: threading.Event, progress: Hear) -> None:
        """See :meth:`robot.machine.interfaces.SolvePlanner.prepare`.

        The threads that make tables take what the link and the cameras leave of the processor.
        """
        with _mirrored(cancel) as flag, ThreadPoolExecutor(1, "tables", _stand_back) as pool:
            pool.submit(prepare, self._mechanism, flag, progress).result()

    def plan(
        self,
        cube: Cube | PocketCube,
        state: State | None,
        cancel: threading.Event,
        progress: Hear,
    ) -> MotionPlan:
        """See :meth:`robot.machine.interfaces.SolvePlanner.plan`."""
        with _mirrored(cancel) as flag, self._watch(flag) as watch:
            try:
                plan = plan_solve(
                    cube,
                    self._mechanism,
                    state,
                    time_limit=self._policy.search_s,
                    threads=self._policy.search_threads,
                    cancel=flag,
                    on_better=watch.better if watch else None,
                    progress=progress,
                )
            except CubistError:
                if cancel.is_set():
                    raise RunStopped from None
                raise
        return motion_plan(plan)

    def split(self, cube: Any, plan: MotionPlan) -> Parts | None:
        """See :meth:`robot.machine.interfaces.SolvePlanner.split`."""
        cut_us = where_to_cut_us(plan.source)
        parts = None if cut_us is None else split_at(plan.source, cut_us)
        if parts is None:
            return None
        head, tail = parts
        return Parts(motion_plan(head), motion_plan(tail), turned(cube, head))

    def improved(self, parts: Parts, enough: threading.Event) -> MotionPlan:
        """See :meth:`robot.machine.interfaces.SolvePlanner.improved`.

        The search takes what the link and the cameras leave of the processor.
        """
        with ThreadPoolExecutor(1, "rest", _stand_back) as pool:
            return pool.submit(self._improved, parts, enough).result()

    def _improved(self, parts: Parts, enough: threading.Event) -> MotionPlan:
        with _mirrored(enough) as flag:
            try:
                plan = plan_solve(
                    parts.cube,
                    self._mechanism,
                    parts.tail.source.start,
                    time_limit=parts.head.duration_us / 1e6,
                    threads=self._policy.search_threads,
                    cancel=flag,
                )
            except SearchFailed:
                return parts.tail
        return motion_plan(plan) if plan.duration_us < parts.tail.duration_us else parts.tail

    def _watch(self, flag: CancelFlag) -> AbstractContextManager[Watch | None]:
        """What ends a search that no longer pays, where the profile wants that."""
        return Watch(flag) if self._policy.stop_early else nullcontext()

    def scrambled(self, moves: str | None) -> Cube | PocketCube:
        """See :meth:`robot.machine.interfaces.SolvePlanner.scrambled`."""
        kind = PocketCube if self._size == 2 else Cube
        if not moves:
            return kind.random(np.random.default_rng())
        try:
            return kind.solved().apply(moves)
        except CubistError as error:
            raise InvalidRequest(f"moves: {error}") from error

    def scramble(self, cube: Cube | PocketCube, state: State | None, progress: Hear) -> MotionPlan:
        """What solves the inverse; see :meth:`robot.machine.interfaces.SolvePlanner.scramble`."""
        return self.plan(cube.inverse, state, threading.Event(), progress)


def _slipped(what: str) -> MotionFault:
    code = "cube-slipped"
    return MotionFault(code, f"{FAULTS[code].about}: {what}")


def _stand_back() -> None:
    """Let every other thread of this computer go before this one."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def motion_plan(plan: Plan) -> MotionPlan:
    """A plan as the jobs handle it."""
    return MotionPlan(
        moves=" ".join(plan.moves),
        duration_us=plan.duration_us,
        schedule=plan.schedule(),
        operations=[operation.as_dict() for operation in plan.operations],
        end=plan.end,
        source=plan,
    )


def _views_of(step: ScanStep) -> Iterator[ViewPoint]:
    """The looks of a step; the first comes after the step's motion, the others from there."""
    schedule = step.plan.schedule() if step.plan.transitions else None
    for look in step.looks:
        yield ViewPoint(schedule, look.face, look, step.plan.end)
        schedule = None


def _reading(reading: CubeReading) -> Reading:
    assert reading.cube is not None, "profiles are of cubes with 2 or 3 layers"
    return Reading(
        cube=reading.cube,
        facelets=reading.facelets,
        confident=reading.confident,
        is_solved=reading.cube.is_solved,
        look_again=tuple(reading.look_again or ""),
        detail={
            "facelets": reading.facelets,
            "confident": reading.confident,
            "margin": round(reading.margin, 2),
            "doubtful": list(reading.doubtful),
            "runner_up": reading.runner_up,
        },
    )


@contextmanager
def _mirrored(cancel: threading.Event) -> Iterator[CancelFlag]:
    """A flag for the native search that follows a Python event."""
    flag, done = CancelFlag(), threading.Event()
    if cancel.is_set():
        flag.set()

    def follow() -> None:
        while not done.is_set():
            if cancel.wait(CANCEL_POLL_S):
                flag.set()
                return

    thread = threading.Thread(target=follow, name="cancel", daemon=True)
    thread.start()
    try:
        yield flag
    finally:
        done.set()
        thread.join()
