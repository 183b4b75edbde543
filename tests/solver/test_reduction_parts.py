"""How a reduction's search goes on: which ways are tried and which answers are told.

The kernel's searches are stood in for; ``test_reduction.py`` has the whole.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from solver import two_phase
from solver.cube.cube import Cube
from solver.cube.notation import Move, parse_moves
from solver.cube.sticker_cube import StickerCube
from solver.errors import BadNotation, IllegalCube, SearchError
from solver.reduction import phased, search
from solver.reduction.last_phase import Fastest, Shortest
from solver.solution import CancelFlag, Request, Solution
from tests.solver.stand_ins import FakeClock, FakeCosts, request

SCRAMBLED = StickerCube.solved(8).apply("R 2U F")

Found = list[tuple[str, int | None]]


def told(
    monkeypatch: pytest.MonkeyPatch, found: Found, cube: StickerCube = SCRAMBLED, **asked: Any
) -> tuple[Solution, list[Solution], int]:
    """What a search answers and tells that finds these moves, each costing about so much (None:
    as much as it does); and how many it took."""
    better: list[Solution] = []
    taken = 0

    def finds(cube: Any, request: Any, goal: Any, watch: Any) -> Any:
        nonlocal taken
        for text, about in found:
            taken += 1
            moves = parse_moves(text)
            yield (text,), (moves[:1], moves[1:]), goal.cost(moves) if about is None else about

    monkeypatch.setattr(search, "_make_ready", lambda cube, request: None)
    monkeypatch.setattr(search, "_found", finds)
    (solution,) = search.search(cube, request(on_better=better.append, **asked))
    return solution, better, taken


def test_each_better_answer_is_told_and_the_last_is_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: Found = [("R U F D", None), ("R U F D L", None), ("R U", None), ("B L", None)]
    solution, better, taken = told(monkeypatch, found)
    assert [one.moves for one in better] == [("R", "U", "F", "D"), ("R", "U")]
    assert (solution.moves, solution.phases) == (("R", "U"), (("R",), ("U",)))
    assert (solution.phase_names, solution.length, taken) == (("R U",), 2, 4)
    assert (solution.lower_bound, solution.optimal, solution.cost_us) == (1, False, None)
    assert solution.search_s >= 0 and solution.cpu_s >= 0


def test_what_is_about_as_dear_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    solution, better, _ = told(monkeypatch, [("R U F", None), ("R U", 3), ("L U", 2)])
    assert solution.moves == ("L", "U") and len(better) == 2


@pytest.mark.parametrize(("target", "taken"), [(None, 4), (0, 4), (2, 3), (3, 2), (9, 1)])
def test_a_target_ends_it(monkeypatch: pytest.MonkeyPatch, target: int | None, taken: int) -> None:
    found: Found = [("R U F D", None), ("R U F", None), ("R U", None), ("R D", None)]
    assert told(monkeypatch, found, target=target)[2] == taken


def test_a_cube_that_is_not_solved_takes_one_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solution, _, taken = told(monkeypatch, [("R U", None), ("R", None), ("U", None)])
    assert (solution.length, solution.optimal, solution.lower_bound, taken) == (1, True, 1, 2)
    solution, _, taken = told(monkeypatch, [("", None), ("R", None)], StickerCube.solved(8))
    assert (solution.moves, solution.optimal, solution.lower_bound, taken) == ((), True, 0, 1)


def test_on_a_robot_the_fastest_is_kept_whatever_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: Found = [("R U F D", None), ("R", None), ("U", None)]
    solution, better, taken = told(monkeypatch, found, target=9, block_costs=FakeCosts())
    assert (solution.cost_us, taken) == (10, 3)
    assert [one.cost_us for one in better] == [40, 10]


def test_nothing_found_is_a_search_that_was_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SearchError, match="was stopped before it found a solution"):
        told(monkeypatch, [])


def test_a_hundred_layers_are_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(monkeypatch, [("R", None)], StickerCube.solved(100))[0].moves == ("R",)
    with pytest.raises(BadNotation, match="size 101 is too large: up to 100 can be solved"):
        told(monkeypatch, [("R", None)], StickerCube.solved(101))


@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_few_turns_are_taken_back_at_once(size: int) -> None:
    heard: list[Solution] = []
    cube = StickerCube.solved(size).apply("R Uw")
    (solution,) = search.search(cube, request(on_better=heard.append))
    assert cube.apply(" ".join(solution.moves)).is_solved
    assert (solution.length, solution.optimal, solution.lower_bound) == (2, True, 2)
    assert solution.phases == (solution.moves,) and solution.phase_names == ("few turns",)
    assert (heard, solution.cost_us) == ([solution], None)
    quarters = replace(request(), metric="qtm", block_costs=FakeCosts())
    (solution,) = search.search(cube, quarters)
    assert (solution.lower_bound, solution.cost_us) == (1, 20)
    deeper = StickerCube.solved(size).apply("R 2U F 2R D L 2F")
    assert search._in_few_turns(deeper, request(), search.SearchClock()) is None


def test_the_kernels_turns_are_written_as_people_do() -> None:
    turns = [(0, 1, 1, 1), (1, 1, 3, 2), (5, 2, 2, 3), (2, 1, 6, 1), (3, 2, 6, 2)]
    assert search.moves_from(turns, 6) == (
        Move("U"),
        Move("R", 2, 1, 3),
        Move("B", 3, 2, 2),
        Move("F", 1, 1, 0),
        Move("D", 2, 2, 0),
    )


def ways(size: int, time_limit: float, costs: Any = None) -> list[tuple[str, float]]:
    """Number of phases' way and until when, of each way that is tried."""
    asked = request(time_limit=time_limit, block_costs=costs)
    cube = StickerCube.solved(size).apply("R 2U F 2R D L 2F")
    found = []
    for names, find, until_s in search._ways(cube, asked):
        is_last = find is search._finished
        assert names == (search.PHASES if is_last else phased.SIZES[size].names)
        assert is_last or find is phased.reductions
        found.append(("exchanges" if is_last else "phases", until_s))
    return found


def test_quick_ways_come_first_and_exchanges_last() -> None:
    assert ways(8, 9.0) == [("exchanges", 1.0)]
    assert ways(8, 0.5) == [("exchanges", 0.5)]
    assert ways(5, 0.3) == [("phases", 0.3), ("exchanges", 0.3)]
    assert ways(5, 1.59) == [("phases", 0.8), ("exchanges", 1.0)]
    assert ways(5, 1.6) == [("phases", 0.8), ("phases", 1.6), ("exchanges", 1.0)]
    costs = FakeCosts()
    assert ways(5, 1.59, costs) == [("phases", 0.8), ("exchanges", 1.0)]
    assert ways(5, 9.0, costs) == [
        *(("phases", 0.8), ("phases", 9.0), ("phases", 9.0)),
        ("exchanges", 1.0),
    ]
    solved = list(search._ways(StickerCube.solved(5), request(time_limit=9.0)))
    assert [find for _, find, _ in solved] == [search._finished]


class Trying:
    """The ways of a search, each with what it finds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: int) -> None:
        self.clock = FakeClock()
        self.limits: list[tuple[float, float]] = []
        self.left: list[Any] = []
        self._answers = iter(answers)
        monkeypatch.setattr(search, "_reductions", self._reductions)
        monkeypatch.setattr(search, "solved", self._solved)
        monkeypatch.setattr(two_phase, "leave_tables", lambda: self.left.append("two-phase"))
        monkeypatch.setattr(phased, "leave_tables", self.left.append)

    def _reductions(self, cube: Any, part: Request, goal: Any, find: Any, left_s: float) -> Any:
        self.limits.append((part.time_limit, left_s))
        return find

    def _solved(self, part: Request, goal: Any, reductions: Any, watch: Any) -> Any:
        self.clock.now_s += 0.5
        for number in range(next(self._answers)):
            yield ((),), number

    def of(self, size: int, **asked: Any) -> list[int]:
        cube = StickerCube.solved(size).apply("R 2U F 2R D L 2F")
        found = search._found(cube, request(**asked), Shortest(request(), size), self.clock)  # type: ignore[arg-type] # as far as it is used
        return [cost for _, _, cost in found]


def test_exchanges_are_for_what_no_phases_have_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    trying = Trying(monkeypatch, 0, 0, 1)
    assert trying.of(5, time_limit=3.0) == [0]
    assert trying.limits == [(0.8, 0.8), (3.0, 2.5), (1.0, 0.0)]
    assert trying.left == ["two-phase", 5, "two-phase", 5, "two-phase"]
    trying = Trying(monkeypatch, 0, 2)
    assert trying.of(5, time_limit=3.0) == [0, 1]
    assert len(trying.limits) == 2
    trying = Trying(monkeypatch, 1, 3)
    assert trying.of(5, time_limit=3.0) == [0, 0, 1, 2]


def test_what_little_time_is_left_is_not_worth_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    trying = Trying(monkeypatch, 1, 1)
    trying.clock.now_s = 0.75
    assert trying.of(5, time_limit=2.0) == [0]  # 0.75 s are left: less than 0.8
    trying = Trying(monkeypatch, 1, 1)
    trying.clock.now_s = 0.75
    assert trying.of(5, time_limit=2.0, threads=2) == [0, 0]
    assert trying.limits[1] == (2.0, 2.0 - 1.25 / 2)
    trying = Trying(monkeypatch, 0, 1)
    trying.clock.now_s = 1.75
    assert trying.of(5, time_limit=2.0) == [0], "nothing was found yet"


def test_a_cancelled_search_tries_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = CancelFlag()
    cancel.set()
    trying = Trying(monkeypatch, 1)
    assert trying.of(5, time_limit=3.0, cancel=cancel) == [] and not trying.limits


def test_tables_for_the_3x3x3_come_first_then_those_of_the_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[Any] = []
    monkeypatch.setattr(two_phase, "ready_kernel", done.append)
    monkeypatch.setattr(two_phase, "leave_tables", lambda: done.append("left"))
    monkeypatch.setattr(phased, "load", lambda size, asked: done.append(size))
    scrambled = StickerCube.solved(5).apply("R")
    search._make_ready(scrambled, request())
    assert done[1:] == ["left", 5] and (done[0].metric, done[0].cost) == ("htm", None)
    done.clear()
    search._make_ready(scrambled, request(block_costs=FakeCosts()))
    assert done[0].cost == "model after 0"
    for cube in (StickerCube.solved(5), StickerCube.solved(8).apply("R")):
        done.clear()
        search._make_ready(cube, request())
        assert len(done) == 1


def test_reductions_come_with_the_cheapest_first_and_different_3x3x3s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    turn = {name: (face, 1, 1, 1) for face, name in enumerate("URFDLB")}

    def find(size: int, stickers: Any, left_s: float, part: Any, choice: int) -> Any:
        asked.append((size, left_s, choice))
        return [[[turn["U"]], [turn["D"], turn["R"]]], [[turn["D"], turn["U"]], [turn["R"]]],
                [[turn["F"]], []]]  # fmt: skip

    cube = StickerCube.solved(4)
    goal = Fastest(FakeCosts())  # type: ignore[arg-type] # as far as it is used
    found = list(search._reductions(cube, request(), goal, find, 1.5))
    assert asked == [(4, 1.5, 4)]
    assert [" ".join(map(str, one.moves)) for one in found] == ["F", "U D R", "D U R"]
    assert [len(one.phases) for one in found] == [2, 2, 2]
    assert found[1].cube == Cube.from_moves("U D R") == found[2].cube
    monkeypatch.setattr(phased, "are_sorted", lambda size, request: True)
    found = list(search._reductions(cube, request(), goal, find, 1.5))
    assert [" ".join(map(str, one.moves)) for one in found] == ["U D R", "F"]

    def refuse(*_: Any) -> Any:
        raise ValueError("no such stickers")

    with pytest.raises(IllegalCube, match="no turns reach these stickers"):
        search._reductions(cube, request(), goal, refuse, 1.5)
    assert Shortest(request(), 4).choice == 1


def test_progress_is_told_until_it_is_cancelled() -> None:
    heard: list[Any] = []
    cancel = CancelFlag()
    listen = search._listener(9, request(progress=heard.append, cancel=cancel))
    assert listen(0.25) is True
    assert (heard[0].text, heard[0].done) == ("reducing a cube of size 9", 0.25)
    cancel.set()
    assert listen(0.5) is False and len(heard) == 2
    assert search._listener(9, request())(0.5) is True


@pytest.mark.parametrize(
    ("size", "left_s", "threads", "timed", "told"),
    [
        (4, 4.0, 1, False, (2.4, 400, 240)),
        (4, 4.0, 4, False, (2.4, 800, 960)),
        (4, 4.0, 4, True, (2.4, 400, 3840)),
        (4, 0.01, 1, False, (0.03, 44, 3)),
        (4, 1e9, 1, False, (36.0, 1549, 3600)),
        (4, 30.0, 4, False, (18.0, 1549, 3600)),
        (5, 4.0, 1, False, (2.4, 560, 60)),
        (6, 4.0, 4, False, (3.4, 400, 32)),
        (7, 1.0, 2, False, (0.85, 6, 4)),
        (7, 0.05, 1, False, (0.0425, 1, 1)),
    ],
)
def test_the_kernel_is_told_how_many_candidates_and_how_long(
    size: int,
    left_s: float,
    threads: int,
    timed: bool,
    told: tuple[float, int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {}

    class Reducer:
        def reductions(self, stickers: Any, **options: Any) -> list[Any]:
            given.update(options)
            return []

    monkeypatch.setattr(phased, "load", lambda size, request: Reducer())
    costs = FakeCosts() if timed else None
    asked = request(threads=threads, block_costs=costs, cancel=CancelFlag())
    choice = 4 if timed else 1
    assert phased.reductions(size, np.zeros(6, np.uint8), left_s, asked, choice) == []
    assert (given["time_limit"], given["candidates"], given["count"]) == pytest.approx(told)
    assert (given["threads"], given["cancel"]) == (threads, asked.cancel)


def test_what_tables_take_is_told_with_their_headers() -> None:
    four, five = (phased._native.four_size(), phased._native.five_size())
    assert [phased.table_bytes(size) for size in (4, 5, 6, 7)] == [
        four + 4096,
        five + 4096,
        four + five + 2 * 4096,
        five + 4096,
    ]
    assert phased._four._what() == (f"the tables of 4x4x4 reduction ({four / 1e6:.0f} MB)")


def test_a_table_is_loaded_once_and_left_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Any] = []
    loaded: list[Any] = []
    monkeypatch.setattr(phased.tables, "leave", left.append)

    def load(name: str, version: int, size: int, fill: Any) -> Any:
        loaded.append((name, version, size))
        data = np.zeros(2, np.uint8)
        assert fill(data, lambda done: True)
        return data

    monkeypatch.setattr(phased.tables, "load", load)
    made: list[Any] = []

    def make(data: Any, threads: int, progress: Any) -> bool:
        made.append((threads, progress(0.5)))
        return True

    table = phased._Loaded(4, 3, lambda: 1_000_000, make, lambda data: f"built of {len(data)}")
    table.leave()
    assert table(request()) == table(request()) == "built of 2"
    assert loaded == [("reduction-4", 3, 1_000_000)]
    assert made == [(phased.processors(), True)]
    table.leave()
    assert len(left) == 1 and left[0] is table.table
