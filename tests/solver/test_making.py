"""Whoever waits for tables is told what is made, where it is kept, and how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from robot.planner import build_mechanism, cost_model
from robot.settings import load_profile
from solver import optimal, tables, thistlethwaite, two_phase
from solver import pocket as pocket_robot
from solver import pocket as pocket_search
from solver.cost import CostModel
from solver.cube.cube import Cube
from solver.cube.pocket import PocketCube
from solver.errors import SearchError
from solver.nxn.database import load as load_database
from solver.search import make_ready, solve_many
from solver.solution import CancelFlag, Progress, Request
from solver.tables import Bytes, Making

ProgressListener = Callable[[Progress], None]
Report = Callable[[float], bool]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUBIST_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a new process; what the test makes is forgotten again."""
    caches = (thistlethwaite.kernel, pocket_search.distances, pocket_robot.kernel)
    monkeypatch.setattr(two_phase, "_kernels", {})
    monkeypatch.setattr(optimal, "_kernels", {})
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def small(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Makers of the kernel that fill nothing but tell of it in four steps."""

    def make(*arguments: object) -> bool:
        report: Report = arguments[-1]  # type: ignore[assignment]
        return all(map(report, (0.0, 0.25, 0.5, 1.0)))

    for name in names:
        monkeypatch.setattr(f"solver._native.{name}", make)


def two_phase_tables(hear: ProgressListener) -> None:
    two_phase.kernel("axial", Request(progress=hear))


def optimal_tables(hear: ProgressListener) -> None:
    optimal.kernel(Request(algorithm="optimal", progress=hear))


@cache
def cost_of(name: str) -> tuple[int, CostModel]:
    mechanism = build_mechanism(load_profile(name))
    return mechanism.size, cost_model(mechanism, mechanism.start)


def of_robot(name: str) -> Callable[[ProgressListener], None]:
    def load(hear: ProgressListener) -> None:
        size, cost = cost_of(name)
        make_ready(size, Request(cost=cost, progress=hear))

    return load


def of_search(algorithm: str, cube: Cube | PocketCube) -> Callable[[ProgressListener], None]:
    def load(hear: ProgressListener) -> None:
        solve_many(cube.apply("R U F"), Request(algorithm=algorithm, progress=hear))

    return load


def database(depth: int | None) -> Callable[[ProgressListener], None]:
    def load(hear: ProgressListener) -> None:
        load_database(4, Request(depth=depth, progress=hear))

    return load


KEPT = {
    "two-phase": (two_phase_tables, "the pruning tables of two-phase in axial (61 MB)"),
    "optimal": (optimal_tables, "the pruning table of optimal in htm (41 MB)"),
    "four-arm": (of_robot("four-arm"), "the pruning tables of two-phase in axial (61 MB)"),
    "soltvvo": (of_robot("soltvvo"), "the tables of the 2x2x2 for soltvvo"),
    "nxn": (database(2), "the database of cubes of size 4 in htm"),
}
IN_MEMORY = {
    "thistlethwaite": (of_search("thistlethwaite", Cube.solved()), "the four tables of"),
    "exact": (of_search("exact", PocketCube.solved()), "the distances of all 2x2x2"),
    "two-arm-2x2x2": (of_robot("two-arm-2x2x2"), "the tables of the 2x2x2 for two-arm-2x2x2"),
}


@pytest.mark.usefixtures("nothing_loaded")
@pytest.mark.parametrize("kind", [*KEPT, *IN_MEMORY])
def test_what_where_and_how_far(
    kind: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch, "make_phase1", "make_phase2", "make_optimal", "make_pocket_steps")
    heard: list[Progress] = []
    load, what = (KEPT | IN_MEMORY)[kind]
    load(heard.append)
    place = f" in {directory}" if kind in KEPT else " in memory"
    heard = [one for one in heard if one.making]
    assert {one.text for one in heard} == {heard[0].text}
    assert heard[0].text.startswith(f"making {what}")
    assert heard[0].text.endswith(place)
    done = [one.done for one in heard]
    assert (done[0], done[-1]) == (0.0, 1.0)
    assert done == sorted(done)
    assert done.count(1.0) == 1
    assert any(0.0 < one < 1.0 for one in done)
    told = len(heard)
    load(heard.append)
    assert not any(one.making for one in heard[told:])


@pytest.mark.usefixtures("nothing_loaded", "directory")
@pytest.mark.parametrize("kind", [*KEPT, *IN_MEMORY])
def test_a_cancelled_request_ends_the_making(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, "make_phase1", "make_phase2", "make_optimal", "make_pocket_steps")
    flag = CancelFlag()
    flag.set()
    original = Request.__init__
    monkeypatch.setattr(
        Request, "__init__", lambda self, **given: original(self, **given | {"cancel": flag})
    )
    load, _ = (KEPT | IN_MEMORY)[kind]
    with pytest.raises(SearchError, match="stopped"):
        load(lambda _: None)


def test_how_much_longer_it_takes() -> None:
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
def test_another_thread_that_waits_hears_how_far_the_first_one_is(
    reported: tuple[float, ...], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both want the same tables: they are made once, and both hear of it."""
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

    def wanted(request: Request) -> None:
        with tables.making("it", request):
            assert np.all(tables.load("it", 1, 1000, make) == 1)

    def wait(seconds: float) -> None:
        waiting.set()
        sleep(seconds)

    first = threading.Thread(target=wanted, args=(Request(),))
    first.start()
    assert begun.wait(60)
    sleep = time.sleep
    monkeypatch.setattr("solver.tables.time.sleep", wait)
    wanted(Request(progress=heard.append))
    first.join()
    assert makes == ["once"]
    assert {one.text for one in heard} == ({f"making it in {directory}"} if reported else set())
    assert [one.done for one in heard[:1] + heard[-1:]] == ([0.5, 1.0] if reported else [])


def test_who_waits_for_another_process_is_told_so_and_can_be_stopped(directory: Path) -> None:
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
