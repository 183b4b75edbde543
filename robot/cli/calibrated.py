"""Lines about a calibration for a terminal: its date, maker, accuracy and missing steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from robot.cli.texts import TerminalText, say

if TYPE_CHECKING:
    from robot.api.endpoints import CalibrationReportJson

MAKERS: Mapping[str, TerminalText] = {
    "auto": TerminalText.MEASURED,
    "person": TerminalText.SET,
    "import": TerminalText.IMPORTED,
    "drift": TerminalText.SELF_CORRECTED,
    "earlier": TerminalText.KEPT_EARLIER,
    "restore": TerminalText.RESTORED,
}
"""Texts for those who made a value or a version (:data:`robot.calibration.versions.Maker`)."""

MOST_NAMED = 4


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
    if found is None or (simulated and found["version"] == 0):
        return
    if found["version"] == 0 or found["by"] is None or found["at"] is None:
        yield say(TerminalText.NOT_CALIBRATED, robot=robot)
    else:
        yield say(
            TerminalText.CALIBRATED,
            version=found["version"],
            made=say(MAKERS[found["by"]]),
            at=minute_of(found["at"]),
            count=found["values"],
        )
        # In the unit of each value: only a few are named, and all are in `show`.
        unsure = [(key, off) for key, off in found["uncertain"].items() if not isinstance(off, str)]
        worst = sorted(unsure, key=lambda one: -one[1])[:MOST_NAMED]
        if worst:
            named = ", ".join(f"{_short(key)} {off:g}" for key, off in worst)
            yield say(TerminalText.LEAST_SURE, values=named)
    if found["unconfirmed"]:
        places = _list_names([_short(key) for key in found["unconfirmed"]])
        yield say(TerminalText.NOT_CONFIRMED, places=places)
    if found["missing"]:
        yield say(TerminalText.STEPS_LEFT, steps=", ".join(found["missing"]))


def _short(key: str) -> str:
    """Return ``lid open`` for ``actuators.lid.positions_us.open``."""
    _, *rest = key.split(".")
    return " ".join(part for part in rest if part not in {"positions_us", "positions_steps"})


def _list_names(names: list[str]) -> str:
    named, more = ", ".join(names[:MOST_NAMED]), len(names) - MOST_NAMED
    return say(TerminalText.AND_MORE, places=named, count=more) if more > 0 else named
