"""How long stages take, collected from any thread, and told."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.records.latency import Stopwatch, percentile

SECONDS = st.floats(0, 100)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_stages_come_in_the_order_of_a_solve_each_time_they_happened(clock: Clock) -> None:
    watch = Stopwatch(clock)
    watch.add("upload", 0.5)
    for took in (0.25, 0.75):
        with watch.timing("capture"):
            clock.now += took
    assert list(watch.take().items()) == [("capture", [0.25, 0.75]), ("upload", [0.5])]
    assert watch.take() == {}


def test_what_raises_is_no_sample(clock: Clock) -> None:
    watch = Stopwatch(clock)
    with pytest.raises(ValueError), watch.timing("decide"):
        raise ValueError
    assert watch.take() == {}


def test_a_stage_may_end_in_another_room(clock: Clock) -> None:
    watch = Stopwatch(clock)
    watch.end("start")
    watch.begin("start")
    clock.now = 2.0
    watch.end("start")
    watch.end("start")
    assert watch.take() == {"start": [2.0]}


def test_what_a_job_left_open_is_not_the_next_ones(clock: Clock) -> None:
    watch = Stopwatch(clock)
    watch.begin("start")
    watch.take()
    watch.end("start")
    assert watch.take() == {}


def test_threads_lose_nothing() -> None:
    watch = Stopwatch()
    add = [
        threading.Thread(target=lambda: [watch.add("measure", 1) for _ in range(500)])
        for _ in range(2)
    ]
    for thread in add:
        thread.start()
    for thread in add:
        thread.join()
    assert len(watch.take()["measure"]) == 1000


@given(st.lists(SECONDS, min_size=1), st.floats(0, 1))
def test_a_percentile_is_the_least_sample_that_so_many_do_not_exceed(
    samples: list[float], part: float
) -> None:
    found = percentile(samples, part)
    assert found in samples
    assert sum(sample <= found for sample in samples) >= part * len(samples) - 1e-9
    smaller = [sample for sample in samples if sample < found]
    assert not smaller or len(smaller) < part * len(samples) + 1e-9
