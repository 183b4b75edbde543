"""Pictures of the display as a few short texts, chosen from the daemon's documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from robot.api.endpoints import (
    JobStatusJson,
    LiveStateJson,
    RobotState,
    RobotStatusJson,
    RunRecordJson,
)
from robot.display.menu import ENTRIES, MenuPage
from robot.text.languages import Catalogue

Mood = Literal["good", "busy", "bad"]

SOLVED = "solved"


class DisplayText(StrEnum):
    """The display's own texts in English."""

    NOT_RUNNING = "No connection"
    START_IT = "cubistd does not answer"
    LEFT = "Moves left: {count}"
    SOLVES = "Solved: {solved} of {count}"
    TIMES = "Best {best}, mean {mean}"
    INSPECTION = "Inspection"
    AT_REST = "Motors at rest"
    MENU = "Menu"
    NOT_DONE = "Not done"
    CONFIRM = "Press again to shut down"


@dataclass(frozen=True)
class Screenful:
    """One picture: a heading in the colour of a mood, something large, and lines below it.

    ``progress`` is 0..1, None for no bar. ``entries`` are listed below, ``chosen`` stands out.
    """

    heading: str
    mood: Mood
    large: str
    lines: tuple[str, ...] = ()
    progress: float | None = None
    entries: tuple[str, ...] = ()
    chosen: int = 0


def menu_view(page: MenuPage, said: Catalogue) -> Screenful:
    """Return the picture of the menu, or of its notice."""
    if page.notice:
        return Screenful(_text(said, DisplayText.NOT_DONE), "bad", "", (page.notice,))
    if page.confirms:
        heading = said.text("display", ENTRIES[page.chosen])
        return Screenful(heading, "bad", "", (_text(said, DisplayText.CONFIRM),))
    entries = tuple(said.text("display", entry) for entry in ENTRIES)
    heading = _text(said, DisplayText.MENU)
    return Screenful(heading, "good", "", entries=entries, chosen=page.chosen)


def unreachable(said: Catalogue) -> Screenful:
    """Return the picture shown while the daemon does not answer."""
    return Screenful(
        _text(said, DisplayText.NOT_RUNNING),
        "bad",
        "",
        (_text(said, DisplayText.START_IT),),
    )


def view_of(
    now: RobotStatusJson, live: LiveStateJson, runs: Sequence[RunRecordJson], said: Catalogue
) -> Screenful:
    """Return the picture of the robot's status, its motion and the latest records."""
    state = said.state(now["state"])
    if fault := now["fault"]:
        return Screenful(state, "bad", "", (said.fault(fault), said.remedy(fault)))
    if job := now["job"]:
        return _working(state, job, live, said)
    if (left_s := now["inspection_left_s"]) is not None:
        return Screenful(_text(said, DisplayText.INSPECTION), "busy", f"{math.ceil(left_s)}")
    if preparation := now["preparation"]:
        return Screenful(state, "busy", "", (said.step(preparation),), preparation["progress"])
    if now["state"] != RobotState.IDLE:
        return Screenful(state, "busy", "")
    resting = [_text(said, DisplayText.AT_REST)] if now["released"] else []
    return _idle(state, now["last_run"], runs, said, resting)


def moves_left(live: LiveStateJson) -> int | None:
    """Return the number of moves left in the current motion; None if it turns nothing."""
    motion = live["motion"]
    if motion is None or not motion["move_ends_us"]:
        return None
    at_us = live["at_us"] or 0
    return sum(1 for end_us in motion["move_ends_us"] if end_us > at_us)


def _working(state: str, job: JobStatusJson, live: LiveStateJson, said: Catalogue) -> Screenful:
    left = moves_left(live) if job["progress"] is not None else None
    line = said.step(job) if left is None else _text(said, DisplayText.LEFT).format(count=left)
    return Screenful(state, "busy", _seconds(job["elapsed_s"]), (line,), job["progress"])


def _idle(
    state: str,
    last: RunRecordJson | None,
    runs: Sequence[RunRecordJson],
    said: Catalogue,
    resting: Sequence[str],
) -> Screenful:
    if last is None:
        return Screenful(state, "good", "", tuple(resting))
    solves = [run for run in runs if run["kind"] == "solve" and run["outcome"]]
    times = [run["duration_s"] for run in solves if run["outcome"] == SOLVED]
    ended = last["outcome"]
    lines = [said.outcome(ended)] if ended and ended != SOLVED else []
    if times:
        best, mean = _seconds(min(times)), _seconds(sum(times) / len(times))
        lines += [
            _text(said, DisplayText.SOLVES).format(solved=len(times), count=len(solves)),
            _text(said, DisplayText.TIMES).format(best=best, mean=mean),
        ]
    return Screenful(state, "good", _seconds(last["duration_s"]), (*lines, *resting))


def _text(said: Catalogue, text: DisplayText) -> str:
    return said.text("display", text)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s"
