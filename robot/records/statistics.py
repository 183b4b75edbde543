"""Statistics of solves as speedcubers count them: best, mean, averages of 3, 5 and 12, by day.

An attempt is a solve that succeeded, or that failed after it had moves for its cube: a DNF ("did
not finish"). A solve without a check afterwards does not count: nothing shows whether it succeeded.
Averages follow the regulations of the World Cube Association (9f8, 9f9): ``mo3`` is
the mean of three attempts. ``ao5`` and ``ao12`` leave out the best and the worst attempt; a DNF
counts as the worst. An average that includes a DNF is a DNF itself, here None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date

from robot.records.documents import ApiDocument
from robot.records.run_record import RunRecord
from robot.text.outcomes import Outcome

NOT_ATTEMPTED = frozenset({None, Outcome.ALREADY_SOLVED, Outcome.DONE})


class DayStatistics(ApiDocument):
    """The attempts of one day, by the computer's own calendar; times in seconds."""

    day: date
    attempts: int
    solved: int
    best_s: float | None
    mean_s: float | None


class Statistics(ApiDocument):
    """Attempts so far; times in seconds, None if there are too few attempts or too many DNFs.

    ``best_run``: number of the fastest run. ``mo3_s``, ``ao5_s`` and ``ao12_s`` are of the latest
    attempts; with ``best_``, the lowest of any successive attempts. ``days`` begins with the
    latest.
    """

    attempts: int
    solved: int
    best_s: float | None
    best_run: str | None
    mean_s: float | None
    mo3_s: float | None
    ao5_s: float | None
    ao12_s: float | None
    best_mo3_s: float | None
    best_ao5_s: float | None
    best_ao12_s: float | None
    days: list[DayStatistics]


def is_attempt(run: RunRecord) -> bool:
    """Return whether a run counts: a solve that succeeded, or failed after it had moves."""
    if run.kind != "solve" or run.to is not None or run.outcome in NOT_ATTEMPTED:
        return False
    return run.outcome is Outcome.SOLVED or run.moves is not None


def time_of(attempt: RunRecord) -> float | None:
    """Return the seconds from the start of an attempt to its end, or None for a DNF."""
    return attempt.duration_s if attempt.outcome is Outcome.SOLVED else None


def average(times: Sequence[float | None], *, trimmed: bool) -> float | None:
    """Return the mean of times in seconds; None (a DNF) if it includes a DNF.

    ``trimmed``: without the best and the worst.
    """
    ordered = sorted(float("inf") if time is None else time for time in times)
    counted = ordered[1:-1] if trimmed else ordered
    mean = sum(counted) / len(counted)
    return None if mean == float("inf") else mean


def compute_statistics(runs: Iterable[RunRecord]) -> Statistics:
    """Return the statistics of all attempts among ``runs``, which are in order, oldest first."""
    attempts = [run for run in runs if is_attempt(run)]
    solved = [run for run in attempts if time_of(run) is not None]
    best = min(solved, key=lambda run: run.duration_s, default=None)
    times = [time_of(run) for run in attempts]
    rolling = {
        "mo3": _averages(times, 3, trimmed=False),
        "ao5": _averages(times, 5, trimmed=True),
        "ao12": _averages(times, 12, trimmed=True),
    }
    latest = {f"{name}_s": found[-1] if found else None for name, found in rolling.items()}
    lowest = {f"best_{name}_s": _lowest(found) for name, found in rolling.items()}
    return Statistics(
        attempts=len(attempts),
        solved=len(solved),
        best_s=None if best is None else best.duration_s,
        best_run=None if best is None else best.id,
        mean_s=_mean(times),
        days=_group_by_day(attempts),
        **latest,
        **lowest,
    )


def _averages(times: Sequence[float | None], count: int, *, trimmed: bool) -> list[float | None]:
    ends = range(count, len(times) + 1)
    return [average(times[end - count : end], trimmed=trimmed) for end in ends]


def _lowest(times: Sequence[float | None]) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _mean(times: Sequence[float | None]) -> float | None:
    """Return the mean of the attempts that were solved."""
    solved = [time for time in times if time is not None]
    return sum(solved) / len(solved) if solved else None


def _group_by_day(attempts: Iterable[RunRecord]) -> list[DayStatistics]:
    days: dict[date, list[float | None]] = defaultdict(list)
    for run in attempts:
        days[run.started_at.astimezone().date()].append(time_of(run))
    return [
        DayStatistics(
            day=day,
            attempts=len(times),
            solved=sum(time is not None for time in times),
            best_s=_lowest(times),
            mean_s=_mean(times),
        )
        for day, times in sorted(days.items(), reverse=True)
    ]
