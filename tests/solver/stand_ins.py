"""A clock, a robot's costs and requests for tests of a reduction's search without the kernel."""

from __future__ import annotations

from typing import Any

from solver.solution import Request


class FakeClock:
    """Processor time that passes when told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def cpu_s(self) -> float:
        return self.now_s

    def clock_s(self) -> float:
        return 2 * self.now_s


class FakeCosts:
    """A robot on which every turn takes 10 us, and where the 3x3x3 begins."""

    def time_us(self, moves: Any) -> int:
        return 10 * len(tuple(moves))

    def after(self, moves: Any) -> tuple[int, str]:
        return 10 * len(tuple(moves)), f"model after {len(tuple(moves))}"


def request(**more: Any) -> Request:
    return Request(algorithm="reduction", metric="obtm", **more)
