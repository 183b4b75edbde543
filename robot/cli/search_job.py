"""A search with fixed options for any number of cubes; Ctrl-C ends the native search at once."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO, TypedDict, TypeVar

from solver.cube.centres import (
    CentreTurns,
    add_turns,
    count_turns,
    name_turns,
    turn_upright,
)
from solver.cube.cube import AnyCube, Cube
from solver.cube.facelets import FACES
from solver.cube.metrics import length
from solver.cube.notation import parse_moves, signed_quarters
from solver.cube.reading import UPRIGHT, GivenCube, read_state, scramble_in
from solver.errors import CubistError, IllegalCube, InvalidRequest
from solver.goal import Goal, read_goal
from solver.search import ALGORITHMS, algorithm_for, solve_many
from solver.solution import CancelFlag, Progress, Request, Solution

if TYPE_CHECKING:
    from robot.mechanism.graph import Mechanism
    from solver.files import JsonObject

EVERY_S = 0.1
BAR = 20
"""Width of a progress bar in characters."""

WORTH_A_LINE_S = 0.5
"""Minimum seconds of table generation for which a line stays on the screen."""


class ProgressLine:
    """A context manager that shows progress on a line, which appears with the first report."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._shown_at: float | None = None
        self._making_since: float | None = None
        self._told = False

    def __enter__(self) -> Self:
        """Return this line, still invisible."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the line."""
        if self._shown_at is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def report(self, progress: Progress) -> None:
        """Show a report, unless the last one was less than :data:`EVERY_S` ago."""
        is_terminal = self._stream.isatty()
        if progress.making:
            self._tell(progress, is_terminal)
        if is_terminal:
            self._show(progress)

    def _show(self, progress: Progress) -> None:
        now = self._clock()
        recent = self._shown_at is not None and now - self._shown_at < EVERY_S
        if recent and progress.done != 1.0:
            return
        self._shown_at = now
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{_cut(text_of(progress), width)}")
        self._stream.flush()

    def _tell(self, progress: Progress, is_terminal: bool) -> None:
        now = self._clock()
        if self._making_since is None:
            self._making_since = now
        spent_s = now - self._making_since
        if progress.done == 1.0:
            if self._told and not is_terminal:
                self._say(f"{progress.text}: done in {spent_s:.1f} s")
            self._making_since, self._told = None, False
        elif not self._told and spent_s >= WORTH_A_LINE_S:
            self._told = True
            left = "" if progress.remaining_s is None else f", about {_duration(progress)} left"
            self._say(f"\r\x1b[K{progress.text}" if is_terminal else f"{progress.text}{left}")

    def _say(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


def text_of(progress: Progress) -> str:
    """Return ``[#####...............]  25 %, 3 s left: making the pruning tables ...``, or
    ``depth 15, 1.2 G nodes, 30 M/s``.
    """
    if progress.making:
        return _bar(progress)
    parts = [progress.text]
    if progress.done is not None:
        parts[0] += f" {progress.done:.0%}"
    if progress.depth is not None:
        parts.append(f"depth {progress.depth}")
    if progress.nodes is not None:
        parts.append(f"{_short(progress.nodes)} nodes")
    if progress.rate is not None:
        parts.append(f"{_short(progress.rate)}/s")
    return ", ".join(parts)


def _bar(progress: Progress) -> str:
    if progress.done is None:
        return progress.text
    full = int(BAR * progress.done)
    left = "" if progress.remaining_s is None else f", {_duration(progress)} left"
    bar = "#" * full + "." * (BAR - full)
    return f"[{bar}] {100 * progress.done:3.0f} %{left}: {progress.text}"


def _duration(progress: Progress) -> str:
    seconds = progress.remaining_s or 0.0
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def _short(number: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.1f} {unit}"
    return f"{number:.0f}"


T = TypeVar("T")

USUAL = {1: "heuristic-db", 2: "ida-star", 3: "two-phase"}
"""Default algorithms by size; ``reduction`` for all larger cubes."""

LIMIT_S = {"two-phase": 1.0, "heuristic-db": 30.0}
"""Default time limits in seconds: for the search that improves its answer until its time is up, and
for the one that cannot reach most cubes. The others end by themselves."""

REDUCTION_LIMIT_S = {4: 1.0, 5: 5.0, 6: 10.0}
"""Default time limits of ``reduction`` in seconds by size, while better answers are likely."""
LARGE_LIMIT_S = 20.0
"""Default time limit of ``reduction`` for larger cubes."""

NO_LIMIT_S = 1e6


SearchJob = Callable[[str], "list[JsonObject]"]
"""Return the solutions of one state, best first, as documents of the command's contract.

Raises BadNotation, IllegalCube and SearchError.
"""


class Wanted(TypedDict):
    """The search options of ``cubist solve``; None means the default."""

    size: int | None
    algorithm: str | None
    metric: str | None
    time_limit: float | None
    threads: int
    solutions: int
    target: int | None
    tables: str
    depth: int | None
    notation: str
    to: str | None
    centres: bool
    centres_turned: str | None


def make_job(profile: str | None, wanted: Wanted) -> SearchJob:
    """Return the job for a command's options; raises an error if profile or algorithm is unfit."""
    return RobotSearch(profile, wanted).answers if profile else MetricSearch(wanted).answers


class MetricSearch:
    """A search for few moves in a metric."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted

    def answers(self, text: str) -> list[JsonObject]:
        """See :data:`SearchJob`."""
        given = read_state(text, self._wanted["size"])
        cube, goal = given.cube, find_goal(given, self._wanted)
        turned = find_turned_centres(text, given, self._wanted)
        centres = _plan_centres(cube, goal, turned, self._wanted)
        with ProgressLine() as line:
            found = interruptible(
                lambda flag: solve_many(
                    cube,
                    replace(self._request(cube.size, goal, flag, line.report), centres=centres),
                )
            )
        return [
            self._document(given, solution) | _tell_centres(turned, solution.moves)
            for solution in found
        ]

    def _request(
        self,
        size: int,
        goal: Goal | None,
        flag: CancelFlag,
        progress: Callable[[Progress], None],
    ) -> Request:
        wanted = self._wanted
        name = wanted["algorithm"] or usual_algorithm(size)
        return Request(
            algorithm=name,
            metric=wanted["metric"] or usual_metric(name),
            time_limit=wanted["time_limit"] or usual_limit_s(name, size),
            threads=wanted["threads"],
            solutions=wanted["solutions"],
            target=wanted["target"],
            tables=wanted["tables"],
            depth=wanted["depth"],
            cancel=flag,
            progress=progress,
            goal=goal,
        )

    def _document(self, given: GivenCube, solution: Solution) -> JsonObject:
        """Return a solution as a document of the command's contract."""
        answer = _state_of(given, self._wanted) | {
            "algorithm": solution.algorithm,
            "metric": solution.metric,
            "moves": self._write_moves(solution.moves),
            "length": solution.length,
            "optimal": solution.optimal,
            "lower_bound": solution.lower_bound,
            "search_s": round(solution.search_s, 6),
            "cpu_s": round(solution.cpu_s, 6),
            "cut_by_clock": solution.cut_by_clock,
        }
        if solution.phases is not None:
            moves = [self._write_moves(phase) for phase in solution.phases]
            answer["phases"] = _name_phases(moves, solution.phase_names)
        return answer | dict(solution.extra)

    def _write_moves(self, moves: tuple[str, ...]) -> str:
        notation = self._wanted["notation"]
        return signed_quarters(" ".join(moves)) if notation == "sign" else " ".join(moves)


class RobotSearch:
    """A search for the shortest time on a robot."""

    def __init__(self, profile: str, wanted: Wanted) -> None:
        from robot.settings import load_profile

        self._wanted = wanted
        self._profile = load_profile(profile)
        self._setups: dict[int, RobotSetup] = {}
        self._setup(wanted["size"] or self._profile.cube.size)

    def answers(self, text: str) -> list[JsonObject]:
        """Return one plan, see :data:`SearchJob`."""
        from robot.planner import plan_solve

        given = read_state(text, self._wanted["size"])
        cube, goal = given.cube, find_goal(given, self._wanted)
        turned = find_turned_centres(text, given, self._wanted)
        centres = _plan_centres(cube, goal, turned, self._wanted)
        setup = self._setup(cube.size)
        with ProgressLine() as line:
            plan = interruptible(
                lambda flag: plan_solve(
                    cube,
                    setup.mechanism,
                    algorithm=setup.algorithm,
                    time_limit=setup.limit_s,
                    threads=self._wanted["threads"],
                    cancel=flag,
                    progress=line.report,
                    goal=goal,
                    centres=centres,
                )
            )
        moves = " ".join(plan.moves)
        answer = _state_of(given, self._wanted) | {
            "algorithm": setup.algorithm if goal is None or goal.mask is None else "partial",
            "metric": setup.metric,
            "moves": moves,
            "length": length(parse_moves(moves), setup.metric, cube.size),
            "optimal": plan.optimal,
            "lower_bound": int(bool(moves)),
            "search_s": round(plan.search_s, 6),
            "cpu_s": round(plan.cpu_s, 6),
            "cut_by_clock": plan.cut_by_clock,
            "exhausted": plan.exhausted,
            "robot": self._profile.name,
            "duration_us": plan.duration_us,
            "lower_bound_us": plan.lower_bound_us or 0,
            "initial_orientation": plan.initial_orientation.name,
            "operations": [operation.as_dict() for operation in plan.operations],
        }
        return [answer | _tell_centres(turned, plan.moves)]

    def _setup(self, size: int) -> RobotSetup:
        """Return the search for cubes of ``size``, prepared once."""
        if size not in self._setups:
            self._setups[size] = self._prepare_robot(size)
        return self._setups[size]

    def _prepare_robot(self, size: int) -> RobotSetup:
        from robot.planner import build_mechanism
        from robot.planner.solve import ALGORITHM, METRIC
        from robot.settings.profile import UnsupportedSize, for_cube

        try:
            profile = for_cube(self._profile, size)
        except UnsupportedSize as error:
            raise IllegalCube(str(error), {"kind": "count", "size": size}) from None
        usual, metric = ALGORITHM[size], METRIC[size]
        algorithm = self._wanted["algorithm"] or usual
        algorithm_for(algorithm, size, metric=metric, timed=True)
        proof = algorithm != usual  # a proof runs to completion
        limit_s = self._wanted["time_limit"] or (NO_LIMIT_S if proof else profile.policy.search_s)
        return RobotSetup(build_mechanism(profile), algorithm, metric, limit_s)


@dataclass(frozen=True)
class RobotSetup:
    """A robot set up for cubes of one size, and the search that solves them."""

    mechanism: Mechanism
    algorithm: str
    metric: str
    limit_s: float


def _state_of(given: GivenCube, wanted: Wanted) -> JsonObject:
    """Return the state of an answer, how it is held unless every face is at its own place, and its
    goal unless that is the solved cube."""
    held = {} if given.held == UPRIGHT else {"held": given.held.name}
    return {"state": given.facelets} | held | ({"to": wanted["to"]} if wanted["to"] else {})


def find_turned_centres(text: str, given: GivenCube, wanted: Wanted) -> CentreTurns | None:
    """Return the current turns of the centres of a 3x3x3, in the order of the given faces.

    They come from the options, else from the moves of a scramble. Otherwise centres are upright.
    """
    if given.cube.size != 3:
        return None
    told = wanted["centres_turned"]
    if told is not None:
        return count_turns(parse_moves(told))
    own = dict(zip(FACES, count_turns(parse_moves(scramble_in(text) or "")), strict=True))
    return tuple(own[face] for face in given.held.faces)


def _plan_centres(
    cube: AnyCube, goal: Goal | None, turned: CentreTurns | None, wanted: Wanted
) -> CentreTurns | None:
    if not wanted["centres"]:
        return None
    if goal is not None and goal.mask is not None:
        raise InvalidRequest(f"--centres needs a goal that is a whole cube, not {goal.name!r}")
    other = cube if goal is None else goal.cube_to_solve(cube)
    if turned is None or not isinstance(other, Cube):
        raise InvalidRequest("--centres is for a 3x3x3")
    return turn_upright(other, turned)


def _tell_centres(turned: CentreTurns | None, moves: Sequence[str]) -> JsonObject:
    """Return the centres of a 3x3x3 that end up turned, which shows on some cubes."""
    if turned is None:
        return {}
    ends = add_turns(turned, count_turns(parse_moves(" ".join(moves))))
    return {"centres_turned": name_turns(ends)}


def find_goal(given: GivenCube, wanted: Wanted) -> Goal | None:
    """Return the goal for the cube; raises InvalidRequest if it cannot be read."""
    if wanted["to"] is None:
        return None
    try:
        return read_goal(wanted["to"], given)
    except CubistError as error:
        raise InvalidRequest(f"--to: {error}") from error


def _name_phases(
    moves: list[str], names: tuple[str, ...] | None
) -> list[str] | list[dict[str, str]]:
    if names is None:
        return moves
    return [{"name": name, "moves": own} for name, own in zip(names, moves, strict=True)]


def usual_algorithm(size: int) -> str:
    """Return the default algorithm for cubes of a size."""
    return USUAL.get(size, "reduction")


def usual_metric(algorithm: str) -> str:
    """Return an algorithm's default metric; an unknown algorithm is rejected later."""
    entry = ALGORITHMS.get(algorithm)
    return entry.metrics[0] if entry else "htm"


def usual_limit_s(algorithm: str, size: int) -> float:
    """Return the default time limit of a search in seconds."""
    if algorithm == "reduction":
        return REDUCTION_LIMIT_S.get(size, LARGE_LIMIT_S)
    return LIMIT_S.get(algorithm, NO_LIMIT_S)


def interruptible(search: Callable[[CancelFlag], T]) -> T:
    """Run a native search on a thread: the main thread stays free for Ctrl-C, which cancels it."""
    flag, result = CancelFlag(), Future[T]()

    def work() -> None:
        try:
            result.set_result(search(flag))
        except BaseException as error:
            result.set_exception(error)

    try:
        threading.Thread(target=work, name="search").start()
        return result.result()
    except KeyboardInterrupt:
        # Not Thread.join: once interrupted, it regards the thread as ended (bpo-45274), and
        # Python would shut down during a native search.
        flag.set()
        wait([result])
        raise
