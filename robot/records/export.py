"""Run records in the formats of other programs: CSV for spreadsheets, JSON of csTimer."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from math import isqrt

from robot.records.run_record import RunRecord
from robot.records.statistics import is_attempt, time_of
from solver.cube.cube import from_facelets
from solver.cube.notation import parse_moves
from solver.errors import CubistError

_STAGES = ("home", "scan", "read", "search", "turn", "check")

_COLUMNS = (
    *("run", "started", "robot", "kind", "to", "outcome", "fault", "layers", "total_s"),
    *(f"{stage}_s" for stage in _STAGES),
    *("planned_s", "executed_s", "moves", "attempts", "state", "solution", "scramble"),
)
"""Names of the columns. Those of times end with their unit, seconds."""

SCRAMBLERS = {2: "222so", 3: "333", 4: "444wca", 5: "555wca", 6: "666wca", 7: "777wca"}
"""csTimer's scramblers by the number of layers (its source, `scramble/`)."""


def size_of(run: RunRecord) -> int | None:
    """Return the number of layers of the cube that a run read."""
    return None if run.facelets is None else isqrt(len(run.facelets) // 6)


def scramble_of(run: RunRecord) -> str:
    """Return moves from a solved cube to the one that the run read, or "" if unknown.

    They are the inverse of the solution. A run that started over has a solution of another cube.
    """
    size = size_of(run)
    if run.facelets is None or run.moves is None or size is None:
        return ""
    try:
        if not from_facelets(run.facelets, size).apply(run.moves).is_solved:
            return ""
        return " ".join(str(move.inverse) for move in reversed(parse_moves(run.moves, size)))
    except CubistError:  # a version with another notation wrote them
        return ""


def to_csv(runs: Iterable[RunRecord]) -> str:
    """Return all runs as CSV (RFC 4180), with the units in the names of the columns."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _COLUMNS)
    writer.writeheader()
    writer.writerows(map(_row_of, runs))
    return text.getvalue()


def _row_of(run: RunRecord) -> dict[str, object]:
    stages = {stage: run.timings_s[stage] for stage in _STAGES if stage in run.timings_s}
    return {
        "run": int(run.id),
        "started": run.started_at.isoformat(timespec="seconds"),
        "robot": run.robot,
        "kind": run.kind,
        "to": run.to,
        "outcome": run.outcome,
        "fault": run.faults[-1].code if run.faults else None,
        "layers": size_of(run),
        "total_s": round(run.duration_s, 3),
        **{f"{stage}_s": round(seconds, 3) for stage, seconds in stages.items()},
        "planned_s": None if run.planned_us is None else run.planned_us / 1e6,
        "executed_s": None if run.executed_us is None else run.executed_us / 1e6,
        "moves": run.move_count or None,
        "attempts": run.attempts,
        "state": run.facelets,
        "solution": run.moves,
        "scramble": scramble_of(run) or None,
    }


def to_cstimer(runs: Iterable[RunRecord]) -> str:
    """Return all attempts as csTimer exports them: a session for each robot and size of cube.

    A solve is ``[[penalty, milliseconds], scramble, comment, seconds since 1970]`` with the penalty
    -1 for a DNF. csTimer recognises such a file by its first key, ``session1``.
    """
    sessions: dict[tuple[str, int], list[object]] = defaultdict(list)
    for run in filter(is_attempt, runs):
        penalty = 0 if time_of(run) is not None else -1
        comment = f"run {int(run.id)}: {run.move_count} moves"
        if penalty:
            comment += f", {run.outcome}"
        time_ms = round(run.duration_s * 1000)
        started = round(run.started_at.timestamp())
        solve = [[penalty, time_ms], scramble_of(run), comment, started]
        sessions[run.robot, size_of(run) or 3].append(solve)
    document: dict[str, object] = {} if sessions else {"session1": []}
    about: dict[str, object] = {}
    for number, ((robot, size), solves) in enumerate(sorted(sessions.items()), start=1):
        document[f"session{number}"] = solves
        name = f"{robot} {size}x{size}x{size}"
        options = {"scrType": SCRAMBLERS[size]} if size in SCRAMBLERS else {}
        about[str(number)] = {"name": name, "opt": options, "rank": number}
    document["properties"] = {"sessionData": json.dumps(about), "sessionN": len(sessions) or 1}
    return json.dumps(document)


def to_json(runs: Iterable[RunRecord]) -> str:
    """Return all runs as JSON Lines: the records without plan, reading, waits and events."""
    return "".join(f"{run.model_dump_json()}\n" for run in runs)


EXPORTS: Mapping[str, tuple[str, Callable[[Iterable[RunRecord]], str]]] = {
    "runs.csv": ("text/csv", to_csv),
    "runs.json": ("application/jsonl", to_json),
    "cstimer.json": ("application/json", to_cstimer),
}
"""Name of an export -> its media type, and the function that makes it."""


def export_runs(name: str, runs: Iterable[RunRecord]) -> tuple[str, bytes]:
    """Return the media type and the content of one of :data:`EXPORTS`; runs are oldest first."""
    media, make = EXPORTS[name]
    return media, make(runs).encode()
