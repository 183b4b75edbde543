"""How long stages take, collected from any thread, and summed up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.records.latency import Stopwatch, percentile


def test_a_stopwatch_collects_the_stages_of_one_job_from_any_thread() -> None:
    now = 0.0
    watch = Stopwatch(lambda: now)
    watch.add("upload", 0.5)
    watch.end("start")  # nobody has begun it
    for took in (0.25, 0.75):
        with watch.timing("capture"):
            now += took
    with pytest.raises(ValueError), watch.timing("decide"):
        raise ValueError
    watch.begin("start")  # it ends in another room
    now += 2.0
    for _ in range(2):
        watch.end("start")
    expected = [("capture", [0.25, 0.75]), ("start", [2.0]), ("upload", [0.5])]
    assert list(watch.take().items()) == expected, "in the order of a solve"
    watch.begin("start")
    assert watch.take() == {}
    watch.end("start")
    assert watch.take() == {}, "what a job left open is not the next one's"
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: watch.add("measure", 1), range(1000)))
    assert len(watch.take()["measure"]) == 1000


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0, 1))
def test_a_percentile_is_the_least_sample_that_so_many_do_not_exceed(
    samples: list[float], part: float
) -> None:
    found = percentile(samples, part)
    assert found in samples
    assert sum(sample <= found for sample in samples) >= part * len(samples) - 1e-9
    smaller = [sample for sample in samples if sample < found]
    assert not smaller or len(smaller) < part * len(samples) + 1e-9
