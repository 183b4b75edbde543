"""A search leaves one processor to the link and the cameras."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from robot.settings import load_profile
from solver.processors import spare_processors


@pytest.mark.parametrize(("there_are", "threads"), [(1, 1), (2, 1), (4, 3), (128, 16)])
def test_all_processors_but_one_search(monkeypatch, there_are, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(there_are)))
    assert spare_processors() == threads
    assert load_profile("cubotino").policy.search_threads == threads


def test_a_process_bound_to_one_processor_searches_on_it():
    bound = (
        "import os, solver.processors as p; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"
    )
    said = subprocess.run(
        [sys.executable, "-c", f"{bound}; print(p.processors(), p.spare_processors())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["1", "1"]
