"""Averages as speedcubers count them, exports that other programs read, and times of stages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.records.export import EXPORTS, export_runs
from robot.records.latency import Stopwatch, percentile
from robot.records.run_record import RunRecord
from robot.records.statistics import compute_statistics
from robot.text.outcomes import Outcome
from solver.cube.cube import Cube
from solver.cube.sticker_cube import StickerCube
from tests.rig.documents import NOON

DNF = None
STATE = Cube.solved().apply("R U2 F'").facelets()


def solves(times: Sequence[float | None], **more: Any) -> list[RunRecord]:
    """Return attempts one minute apart, the first at noon. None is a failed one."""
    return [
        RunRecord(
            id=f"{number:06}",
            kind="solve",
            started_at=NOON + timedelta(minutes=number),
            outcome=Outcome.NOT_SOLVED if time is None else Outcome.SOLVED,
            duration_s=9.0 if time is None else time,
            **({"robot": "cubotino", "facelets": STATE, "moves": "F U2 R'"} | more),
        )
        for number, time in enumerate(times, start=1)
    ]


@pytest.mark.parametrize(
    ("times", "mo3", "ao5"),
    [
        ([10, 20, 30], 20, None),
        ([1, 2, 3, 4, 5], 4, 3),
        ([1, 2, 3, 4, DNF], None, 3),
        ([DNF, 2, 3, 4, DNF], None, None),
        ([DNF, DNF, 1, 2, 3, 4, 98], 35, 3),
    ],
)
def test_averages_follow_the_regulations(times, mo3, ao5):
    found = compute_statistics(solves(times))
    assert (found.mo3_s, found.ao5_s) == (mo3, ao5)


@given(st.lists(st.none() | st.floats(0.1, 1000), min_size=12, max_size=30))
def test_the_best_average_is_one_of_all_in_a_row(times):
    whole = compute_statistics(solves(times))
    rows = [compute_statistics(solves(times[:end])).ao12_s for end in range(12, len(times) + 1)]
    counted = [row for row in rows if row is not None]
    assert whole.best_ao12_s == min(counted, default=None)
    assert whole.ao12_s == rows[-1]
    if whole.ao12_s is not None:
        assert sum(time is None for time in times[-12:]) <= 1


def test_only_attempts_count_and_days_begin_with_the_latest():
    runs = solves([5.0, DNF])
    runs += [run.model_copy(update={"started_at": NOON + timedelta(days=2)}) for run in runs]
    ignored: list[dict[str, Any]] = [
        {"kind": "scramble", "outcome": Outcome.DONE},
        {"outcome": Outcome.ALREADY_SOLVED},
        {"outcome": Outcome.DONE},  # without a check
        {"outcome": Outcome.NO_CUBE, "moves": None},
        {"to": "checkerboard"},
        {"outcome": None},
    ]
    runs += [runs[0].model_copy(update=change) for change in ignored]
    found = compute_statistics(runs)
    assert (found.attempts, found.solved, found.best_s) == (4, 2, 5.0)
    assert [(day.attempts, day.solved) for day in found.days] == [(2, 1), (2, 1)]
    assert found.days[0].day > found.days[1].day


READERS = {
    "text/csv": lambda text: list(csv.DictReader(io.StringIO(text))),
    "application/jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    "application/json": json.loads,
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_can_be_read_as_its_media_type(name):
    media, data = export_runs(name, solves([12.3, 45.6]))
    assert len(READERS[media](data.decode())) == 2


def test_spreadsheets_read_the_table():
    runs = solves([12.3456, DNF], timings_s={"turn": 7.0})
    _, data = export_runs("runs.csv", runs)
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert [row["total_s"] for row in rows] == ["12.346", "9.0"]
    assert (rows[0]["outcome"], rows[0]["turn_s"], rows[0]["check_s"]) == ("solved", "7.0", "")
    assert Cube.solved().apply(rows[0]["scramble"]).facelets() == rows[0]["state"]


def test_a_scramble_of_any_size_leads_to_its_cube():
    state = StickerCube.solved(4).apply("Rw U2 3Fw'").letters
    _, data = export_runs("runs.csv", solves([1.0], facelets=state, moves="3Fw U2 Rw'"))
    row = next(csv.DictReader(io.StringIO(data.decode())))
    assert (row["layers"], row["scramble"]) == ("4", "Rw U2 3Fw'")


def test_cstimer_reads_the_sessions():
    runs = solves([12.3456, DNF]) + solves([7.0], robot="two-arm")
    _, data = export_runs("cstimer.json", runs)
    # csTimer recognizes its own files by this beginning, and reads texts in `sessionData`.
    assert data.startswith(b'{"session1"')
    document = json.loads(data)
    first = document["session1"]
    assert [solve[0] for solve in first] == [[0, 12346], [-1, 9000]]
    assert (first[0][1], first[0][3]) == ("R U2 F'", int(NOON.timestamp()) + 60)
    about = json.loads(document["properties"]["sessionData"])
    assert [about[key]["name"] for key in ("1", "2")] == ["cubotino 3x3x3", "two-arm 3x3x3"]
    assert {one["opt"]["scrType"] for one in about.values()} == {"333"}
    assert len(document["session2"]) == 1 and document["properties"]["sessionN"] == 2


def test_a_stopwatch_collects_the_stages_of_one_job_from_any_thread():
    now = 0.0
    watch = Stopwatch(lambda: now)
    watch.add("upload", 0.5)
    watch.end("start")  # nothing began it
    for took in (0.25, 0.75):
        with watch.timing("capture"):
            now += took
    with pytest.raises(ValueError), watch.timing("decide"):
        raise ValueError
    watch.begin("start")  # it ends in another module
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
def test_a_percentile_is_the_least_sample_that_so_many_do_not_exceed(samples, part):
    found = percentile(samples, part)
    assert found in samples
    assert sum(sample <= found for sample in samples) >= part * len(samples) - 1e-9
    smaller = [sample for sample in samples if sample < found]
    assert not smaller or len(smaller) < part * len(samples) + 1e-9
