"""The fastest solution of a 3x3x3 on a robot, with the proof that none is faster.

Two-phase first finds a fast one. Then an IDA* over time proves that none beats it: its limit grows
by a sixteenth until it admits a solution, or until it reaches the time of the best one known.
"""

from __future__ import annotations

from dataclasses import replace

from solver import _native, optimal, two_phase
from solver.cost import CostModel, moves_of, turns_of
from solver.cube.cube import Cube
from solver.cube.metrics import length
from solver.solution import Progress, Request, SearchClock, Solution, seconds_of

LOOK_S = 1.0
"""Maximum seconds for two-phase to find a fast solution."""

GROWTH = 17 / 16
"""Growth of the limit per step: about the time of one turn of a solution."""


def search(cube: Cube, request: Request) -> list[Solution]:
    """Return the fastest solution, or the fastest known if time ran out before a proof.

    ``extra`` has ``proven``, and ``lower_bound_us``, which no solution undercuts. Raises
    SearchError if no solution at all was found in time, ValueError without a robot.
    """
    if request.cost is None:
        raise ValueError("the time on no robot")
    return [_FastestSearch(cube, request, request.cost).run()]


class _FastestSearch:
    def __init__(self, cube: Cube, request: Request, cost: CostModel) -> None:
        self.cube = cube
        self.request = request
        two_phase.ready_kernel(request)
        self.table = optimal.kernel(replace(request, metric="htm"))
        self.model = two_phase.ready_from(cost).model
        self.models = two_phase.models_in("htm", cost)
        self.watch = SearchClock()
        self.bound_us = self.models.least_us(self.table.bound("htm", cube.states))
        self.nodes = 0
        self.best: tuple[int, ...] = ()
        self.best_us = 0

    def run(self) -> Solution:
        self._find()
        while self.bound_us < self.best_us and self._prove():
            pass
        count = length(turns_of(self.best), self.request.metric)
        return Solution(
            state=self.cube.facelets(),
            algorithm="optimal",
            metric=self.request.metric,
            moves=moves_of(self.best),
            length=count,
            optimal=count == 0,
            lower_bound=0,
            search_s=self.watch.clock_s(),
            cpu_s=self.watch.cpu_s(),
            cost_us=self.best_us,
            composites=self.best,
            extra={
                "nodes": self.nodes,
                "proven": self.bound_us >= self.best_us,
                "lower_bound_us": min(self.bound_us, self.best_us),
            },
        )

    def _find(self) -> None:
        """Find a fast solution by two-phase, which chooses its metric itself."""
        seconds = min(LOOK_S, seconds_of(self.request) / 4)
        found = two_phase.search(self.cube, replace(self.request, time_limit=seconds))[0]
        self.best, self.best_us = found.composites or (), found.cost_us or 0

    def _prove(self) -> bool:
        """Prove that no solution is below a limit, or find the fastest one; False if stopped."""
        below_us = min(int(self.bound_us * GROWTH) + 1, self.best_us)
        self._report()
        left_s = seconds_of(self.request) - self.watch.clock_s()
        options = _native.TimeProofOptions(
            below_us, max(left_s, 0.0), self.request.threads, self.request.cancel
        )
        proof = self.table.fastest(self.cube.states, self.models, self.model, options)
        self.nodes += proof.nodes
        if proof.solution is not None:
            self.best = tuple(proof.solution)
            self.best_us = below_us = self.model.cost(proof.solution)
        if proof.proven:
            self.bound_us = below_us
        return proof.proven

    def _report(self) -> None:
        if self.request.progress is None:
            return
        known = f"a solution takes {self.best_us / 1e6:.2f} s"
        text = f"{known}, none takes less than {self.bound_us / 1e6:.2f} s"
        rate = self.nodes / max(self.watch.clock_s(), 1e-3)
        self.request.progress(Progress(text, nodes=self.nodes, rate=rate))
