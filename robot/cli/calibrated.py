"""How terminals tell of a calibration: since when, by what, how sure, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robot.documents import JsonMapping

MEANS: Mapping[str, str] = {
    "auto": "measured by auto",
    "person": "set by a person",
    "import": "imported",
    "drift": "corrected by the robot",
    "earlier": "kept by an earlier release",
}
"""How a value was found (:data:`robot.calibration.versions.Means`)."""

MAKERS: Mapping[str, str] = {**MEANS, "restore": "restored"}
"""What made a version (:data:`robot.calibration.versions.Maker`)."""

MOST_NAMED = 4


def day_of(at: str) -> str:
    """A time of a document as a day here."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d}"


def minute_of(at: str) -> str:
    """A time of a document to the minute, here."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M}"


def calibration_lines(status: JsonMapping) -> Iterator[str]:
    """What a status says of the calibration; nothing for a simulated robot that has none."""
    found = status.get("calibration")
    if found is None or (status["simulated"] and found["version"] == 0):
        return
    if found["version"] == 0:
        yield f"nothing is calibrated: {status['robot']} has the values of its profile"
    else:
        made = f"{MAKERS[found['by']]} {minute_of(found['at'])}"
        yield f"calibration: version {found['version']}, {made}, {found['values']} values"
        unsure = [(key, off) for key, off in found["uncertain"].items() if not isinstance(off, str)]
        if unsure:
            # The unit is that of the value, so only values of one kind compare: name a few.
            worst = sorted(unsure, key=lambda one: -one[1])[:MOST_NAMED]
            named = ", ".join(f"{_short(key)} {off:g}" for key, off in worst)
            yield f"least sure, each within: {named}"
    if found["unconfirmed"]:
        named = _listed([_short(key) for key in found["unconfirmed"]])
        yield f"not confirmed on this robot: {named} (`cubist calibrate`)"
    if found["missing"]:
        yield f"steps not done: {', '.join(found['missing'])}"


def _short(key: str) -> str:
    """``actuators.lid.positions_us.open`` as ``lid open``."""
    _, *rest = key.split(".")
    return " ".join(part for part in rest if part not in {"positions_us", "positions_steps"})


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
