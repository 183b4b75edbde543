"""Translated texts of the terminal, and its formats of times.

English is the source; :mod:`robot.text.languages` has the others, in the section ``terminal``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from robot.text.languages import ENGLISH, chosen_catalogue
from robot.text.messages import Note
from robot.text.outcomes import before_the_end, is_success
from solver.errors import Coded

if TYPE_CHECKING:
    from robot.api.endpoints import (
        CalibrationReportJson,
        DriverReportJson,
        FaultRecordJson,
        JobStatusJson,
        PreparationJson,
        RobotStatusJson,
        RunRecordJson,
    )
    from robot.computer.computer import CheckResult
    from solver.files import JsonObject


class TerminalText(StrEnum):
    """The terminal's own texts in English."""

    DRIVERS = "stepper drivers: {drivers}"
    DRIVER_READY = "{part} ready"
    DRIVER_WARM = "{part} above {celsius} °C"
    DRIVER_NOT_READY = "{part} not ready"
    HOMED = "homed"
    NOT_HOMED = "not homed"
    AT_REST = "at rest ({parts} without power)"
    SIMULATED = "simulated"
    PROCESS = "cubistd {version} (process {process})"
    RUN = "run {run}"
    LAST_RUN = "last run: {run} {ended}"
    ENDED_WELL = "{outcome} in {time}"
    ENDED = "{outcome} after {time}"
    LEFT = "{time} left"
    MOVES = "moves {done} of {count}"
    WHAT_TO_DO = "What to do: {remedy}"
    ON_THE_WAY = "On the way: {text}"
    JOURNAL = "see the journal (`cubist logs`)"
    LEAVE = "Ctrl-C closes this screen; the robot continues"
    CARD_WRITTEN = "{folder}: changed {files}"
    CARD_KEPT = "original contents: {files}"
    CARD_RIGHT = "{folder}: nothing to change"
    CARD_TRIED = "nothing was written, as --dry-run asks"
    CARD_NEXT = (
        "Eject the card, put it into the Pi and switch it on. After a few minutes "
        "`ssh {user}@{host}.local` works; `{report}` on the card is the installation log"
    )


def say(text: TerminalText, /, **values: object) -> str:
    """Return a text in the chosen language, its placeholders filled."""
    return chosen_catalogue().text("terminal", text).format(**values)


def state_name(state: str) -> str:
    """Return a daemon's state as terminals show it: its code, or its name in another language."""
    said = chosen_catalogue()
    return state if said.language == ENGLISH else said.state(state)


def outcome_name(outcome: str | None) -> str:
    """Return an outcome likewise; None is the outcome of a run under way."""
    said = chosen_catalogue()
    return str(outcome) if outcome is None or said.language == ENGLISH else said.outcome(outcome)


def duration_text(seconds: float) -> str:
    """Return a duration: ``31.9 s``."""
    return f"{seconds:.1f} s"


def moment_text(moment: datetime) -> str:
    """Return date and time in this computer's time zone: ``2026-11-25 21:45:40``."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def ending_text(outcome: str | None, duration_s: float) -> str:
    """Return how a run ended and when: ``solved in 31.9 s``, ``slipped after 4.7 s``."""
    ended_well = is_success(outcome)
    text = TerminalText.ENDED_WELL if ended_well else TerminalText.ENDED
    time = duration_text(duration_s)
    return say(text, outcome=outcome_name(outcome), time=time)


def progress_text(work: JobStatusJson | PreparationJson) -> str:
    """Return the progress of work, as far as it is known: ``64 %, 23 s left``."""
    share, left_s = work["progress"], work["remaining_s"]
    words = [] if share is None else [f"{100 * share:.0f} %"]
    words += [] if left_s is None else [say(TerminalText.LEFT, time=f"{left_s:.0f} s")]
    return ", ".join(words)


def drift_lines(now: RobotStatusJson) -> list[str]:
    """Return a line for each position that has moved since the robot was calibrated."""
    return [chosen_catalogue().translate(told) for told in drift_notes(now)]


def drift_notes(now: RobotStatusJson) -> list[Note]:
    """Return the same as notes with codes.

    Drift below a twentieth of a degree is left out: faces do not show it that accurately.
    """
    return [
        Note.of(
            "drifted-corrected" if _is_visible(one["corrected_degrees"]) else "drifted",
            actuator=one["actuator"],
            position=one["position"],
            degrees=f"{one['degrees']:+.1f}",
            since=one["since"],
            solves=one["solves"],
            corrected=f"{one['corrected_degrees']:+.1f}",
        )
        for one in now["drift"]
        if _is_visible(one["degrees"]) or _is_visible(one["corrected_degrees"])
    ]


def _is_visible(degrees: float) -> bool:
    return round(abs(degrees), 1) > 0


def remedy_of(fault: FaultRecordJson) -> str:
    """Return what to do about a fault."""
    said = chosen_catalogue().remedy(fault)
    return say(TerminalText.WHAT_TO_DO, remedy=said or say(TerminalText.JOURNAL))


def calibrator_text(now: RobotStatusJson) -> str:
    """Return who calibrates, and how to end that; empty if nobody does."""
    if (found := now["calibrator"]) is None:
        return ""
    return chosen_catalogue().note(found["who"]["text"], [found["who"]])


def fault_lines(now: RobotStatusJson) -> list[str]:
    """Return what is wrong with the robot and what to do about it; nothing without a fault."""
    fault = now["fault"]
    return [chosen_catalogue().cause(fault), remedy_of(fault)] if fault else []


def driver_lines(now: RobotStatusJson) -> list[str]:
    """Return a line about the stepper drivers on the board's UART, if there are any."""
    states = ", ".join(map(_driver_text, now["drivers"]))
    return [say(TerminalText.DRIVERS, drivers=states)] if states else []


def _driver_text(driver: DriverReportJson) -> str:
    part, celsius = chosen_catalogue().part(driver["actuator"]), driver["threshold_celsius"]
    if not driver["ready"]:
        return say(TerminalText.DRIVER_NOT_READY, part=part)
    if celsius is not None:
        return say(TerminalText.DRIVER_WARM, part=part, celsius=celsius)
    return say(TerminalText.DRIVER_READY, part=part)


def warning_lines(now: RobotStatusJson) -> list[str]:
    """Return the warnings of a status."""
    said, notes = chosen_catalogue(), now.get("notes", [])
    return [said.note(warning, notes) for warning in now["warnings"]]


def homed_text(now: RobotStatusJson) -> str:
    """Return whether the robot is homed, or its parts without power; empty while it homes."""
    if now["state"] == "homing":
        return ""
    if now["released"]:
        parts = ", ".join(map(chosen_catalogue().part, now["released"]))
        return say(TerminalText.AT_REST, parts=parts)
    return say(TerminalText.HOMED if now["homed"] else TerminalText.NOT_HOMED)


def last_run_text(now: RobotStatusJson) -> str:
    """Return the last run and how it ended; empty if there was none."""
    last = now["last_run"]
    if not last:
        return ""
    ended = ending_text(last["outcome"], last["duration_s"])
    return say(TerminalText.LAST_RUN, run=last["id"], ended=ended)


def events_on_the_way(record: RunRecordJson) -> Sequence[str]:
    """Return the problems before the end of a run, each once, without the one that ended it."""
    said, notes = chosen_catalogue(), record["notes"]
    found = before_the_end((*record["recoveries"], *record["warnings"]), record["reason"])
    return [say(TerminalText.ON_THE_WAY, text=said.note(text, notes)) for text in found]


MOST_NAMED = 4
CALIBRATION_GAPS = frozenset({"places-unconfirmed", "places-unconfirmed-more", "steps-left"})
"""Codes of :func:`calibration_notes` about unfinished work."""


def translate_finding(finding: CheckResult) -> tuple[str, str]:
    """Return text and remedy of a finding of the check-up in the chosen language."""
    said = chosen_catalogue()
    notes = list(note_documents(finding))
    fault = {
        "code": finding.fault,
        "cause": finding.text,
        "remedy": finding.remedy,
        "detail": finding.detail,
        "notes": notes,
    }
    text = said.cause(fault) if finding.fault else said.note(finding.text, notes)
    return text, said.remedy(fault)


def note_documents(finding: CheckResult) -> Iterator[JsonObject]:
    """Yield the codes of a finding's text and remedy, if they have any, for its JSON document."""
    for text in (finding.text, finding.remedy):
        if isinstance(text, Coded):
            yield {"text": str(text), "code": text.code, "parameters": text.parameters}


def value_text(value: object) -> str:
    """Return a calibrated value for people."""
    return "as in the profile" if value is None else str(value)


def day_of(at: str) -> str:
    """Return the local day of a document's time."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d}"


def minute_of(at: str) -> str:
    """Return the local day and minute of a document's time."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}"


def calibration_lines(
    found: CalibrationReportJson | None, robot: str, *, simulated: bool = False
) -> Iterator[str]:
    """Yield lines about the calibration of ``robot``; none for a simulated robot without one."""
    notes = calibration_notes(found, robot, simulated=simulated)
    yield from map(chosen_catalogue().translate, notes)


def calibration_notes(
    found: CalibrationReportJson | None, robot: str, *, simulated: bool = False
) -> Iterator[Note]:
    """Yield the same as notes with codes."""
    if found is None or (simulated and found["version"] == 0):
        return
    if found["version"] == 0 or found["by"] is None or found["at"] is None:
        yield Note.of("not-calibrated", robot=robot)
    else:
        yield Note.nest(
            "calibrated-version",
            version=found["version"],
            what=f"made-{found['by']}",
            at=minute_of(found["at"]),
            count=found["values"],
        )
        # Each in the unit of its value. Only a few are named; `show` lists all.
        unsure = [(key, off) for key, off in found["uncertain"].items() if not isinstance(off, str)]
        worst = sorted(unsure, key=lambda one: -one[1])[:MOST_NAMED]
        if worst:
            named = ", ".join(f"{_short(key)} {off:g}" for key, off in worst)
            yield Note.of("least-sure", values=named)
    if found["unconfirmed"]:
        names = [_short(key) for key in found["unconfirmed"]]
        places, more = ", ".join(names[:MOST_NAMED]), len(names) - MOST_NAMED
        if more > 0:
            yield Note.of("places-unconfirmed-more", places=places, count=more)
        else:
            yield Note.of("places-unconfirmed", places=places)
    if found["missing"]:
        yield Note.of("steps-left", steps=", ".join(found["missing"]))


def _short(key: str) -> str:
    """Return ``lid open`` for ``actuators.lid.positions_us.open``."""
    _, *rest = key.split(".")
    return " ".join(part for part in rest if part not in {"positions_us", "positions_steps"})
