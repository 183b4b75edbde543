"""Progress of tables in the making: what is made, in which directory, and the remaining time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from robot.planner import build_mechanism, cost_model
from robot.settings import load_profile
from solver import optimal, pocket, tables, thistlethwaite, two_phase
from solver.cost import CostModel
from solver.cube.cube import Cube
from solver.cube.pocket import PocketCube
from solver.errors import SearchError
from solver.nxn.database import load as load_database
from solver.search import make_ready, solve_many
from solver.solution import CancelFlag, Progress, Request
from solver.tables import Bytes, Making

Report = Callable[[float], bool]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is loaded; makers of the kernel fill nothing but report four steps."""

    def make(*arguments: object) -> bool:
        report: Report = arguments[-1]  # type: ignore[assignment]
        return all(map(report, (0.0, 0.25, 0.5, 1.0)))

    for name in ("make_phase1", "make_phase2", "make_optimal", "make_pocket_steps"):
        monkeypatch.setattr(f"solver._native.{name}", make)
    for module in (two_phase, optimal):
        monkeypatch.setattr(module, "_kernels", {})
    caches = (thistlethwaite.kernel, pocket.distances, pocket.kernel)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@cache
def cost_of(name: str) -> tuple[int, CostModel]:
    mechanism = build_mechanism(load_profile(name))
    return mechanism.size, cost_model(mechanism, mechanism.start)


def load_for_robot(name: str, **wanted: object) -> None:
    size, cost = cost_of(name)
    make_ready(size, Request(cost=cost, **wanted))  # type: ignore[arg-type]


def load_by_search(algorithm: str, cube: Cube | PocketCube, **wanted: object) -> None:
    solve_many(cube.apply("R U F"), Request(algorithm=algorithm, **wanted))  # type: ignore[arg-type]


LOADERS: dict[str, tuple[Callable[..., object], bool]] = {
    "the pruning tables of two-phase in axial (61 MB)": (partial(load_for_robot, "four-arm"), True),
    "the pruning table of optimal in htm (41 MB)": (
        lambda **wanted: optimal.kernel(Request(algorithm="optimal", **wanted)),
        True,
    ),
    "the tables of the 2x2x2 for soltvvo": (partial(load_for_robot, "soltvvo"), True),
    "the database of cubes of size 4 in htm": (
        lambda **wanted: load_database(4, Request(depth=2, **wanted)),
        True,
    ),
    "the four tables of": (partial(load_by_search, "thistlethwaite", Cube.solved()), False),
    "the distances of all 2x2x2": (partial(load_by_search, "exact", PocketCube.solved()), False),
    "the tables of the 2x2x2 for two-arm-2x2x2": (partial(load_for_robot, "two-arm-2x2x2"), False),
}
"""By their name the tables, and whether they are stored."""


@pytest.mark.usefixtures("new_process")
@pytest.mark.parametrize("what", LOADERS)
def test_tables_place_and_share_are_reported_once(what: str, directory: Path) -> None:
    load, stored = LOADERS[what]
    heard: list[Progress] = []
    for _ in range(2):
        load(progress=lambda report: heard.append(report) if report.making else None)
    assert {one.text for one in heard} == {heard[0].text}
    assert heard[0].text.startswith(f"making {what}")
    assert heard[0].text.endswith(f" in {directory}" if stored else " in memory")
    done = [one.done for one in heard]
    assert (done[0], done[-1], done.count(1.0)) == (0.0, 1.0, 1)
    assert done == sorted(done)
    assert any(0.0 < one < 1.0 for one in done)


@pytest.mark.usefixtures("new_process", "directory")
@pytest.mark.parametrize("what", LOADERS)
def test_a_cancelled_request_ends_the_making(what: str) -> None:
    flag = CancelFlag()
    flag.set()
    with pytest.raises(SearchError, match="stopped"):
        LOADERS[what][0](cancel=flag)


def test_the_remaining_time_is_estimated() -> None:
    heard: list[Progress] = []
    now = [100.0]
    making = Making("it", Request(progress=heard.append), (3.0, 1.0), clock=lambda: now[0])
    for table, done, at_s in ((0, 0.0, 100), (0, 0.5, 103), (0, 1.0, 106), (1, 0.5, 107)):
        now[0] = at_s
        making.begin_table(table)
        assert making.report(done)
    making.finish()
    assert [one.done for one in heard] == [0.0, 0.375, 0.75, 0.875, 1.0]
    assert [one.remaining_s for one in heard] == [None, 5.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize("reported", [(), (0.0, 0.5)], ids=["not begun", "half"])
def test_two_threads_make_a_table_once_and_both_hear_of_it(
    reported: tuple[float, ...], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    makes: list[str] = []
    begun, waiting = threading.Event(), threading.Event()
    heard: list[Progress] = []

    def make(data: Bytes, report: Report) -> bool:
        makes.append("once")
        data[:] = 1
        for done in reported:
            assert report(done)
        begun.set()
        return waiting.wait(60)

    def load(request: Request) -> None:
        with tables.making("it", request):
            assert np.all(tables.load("it", 1, 1000, make) == 1)

    def wait(seconds: float) -> None:
        waiting.set()
        sleep(seconds)

    first = threading.Thread(target=load, args=(Request(),))
    first.start()
    assert begun.wait(60)
    sleep = time.sleep
    monkeypatch.setattr("solver.tables.time.sleep", wait)
    load(Request(progress=heard.append))
    first.join()
    assert makes == ["once"]
    assert {one.text for one in heard} == ({f"making it in {directory}"} if reported else set())
    assert [one.done for one in heard[:1] + heard[-1:]] == ([0.5, 1.0] if reported else [])


def test_waiting_for_another_process_is_reported_and_can_be_stopped(directory: Path) -> None:
    flag = CancelFlag()
    heard: list[Progress] = []

    def hear(progress: Progress) -> None:
        heard.append(progress)
        flag.set()

    def make(data: Bytes, report: Report) -> bool:
        raise AssertionError

    with tables.hold_lock(directory, Making("another one", Request())):
        stopped = pytest.raises(SearchError, match="Making it was stopped")
        with stopped, tables.making("it", Request(progress=hear, cancel=flag)):
            tables.load("it", 1, 1000, make)
    assert heard[0].text == "waiting for another process that is making tables"
    assert heard[0].making
