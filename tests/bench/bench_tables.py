"""What it takes to make the tables a first solve waits for: processor time, in all and serial."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from solver import _native
from tests.bench.figures import Emit

METRICS = ("htm", "qtm", "axial", "axial-qtm")
THREADS = 2


def main(emit: Emit) -> None:
    """Every table in memory, with two threads."""
    for metric in METRICS:
        measure(emit, f"phase1-{metric}", _native.phase1_size(metric), _native.make_phase1, metric)
        measure(emit, f"phase2-{metric}", _native.phase2_size(metric), _native.make_phase2, metric)
    shape = _native.OptimalShape(1, 0)
    for metric in METRICS[:2]:
        size = _native.optimal_size(shape)
        measure(emit, f"optimal-{metric}-1", size, _native.make_optimal, metric, shape)


def measure(emit: Emit, name: str, size: int, make: Callable[..., bool], *arguments: Any) -> None:
    """``value``: of the processor. ``first_thread``: the share of the thread that also does what
    is not shared out; on two idle processors it takes that long by the clock.
    """
    data = np.zeros(size, np.uint8)
    clock, all_threads, first = time.perf_counter(), time.process_time(), time.thread_time()
    assert make(*arguments, data, THREADS, lambda _: True)
    detail = {
        "first_thread_s": round(time.thread_time() - first, 2),
        "clock_s": round(time.perf_counter() - clock, 2),
        "threads": THREADS,
        "bytes": size,
    }
    emit(f"making {name}", round(time.process_time() - all_threads, 2), "s", 1, detail)
