"""Setting an actuator's named position over the control socket: moved there, then kept or not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from robot.cli.output import emit, note
from robot.client import ControlClient
from solver.errors import CubistError

LONGEST_STEP_S = 600.0
"""A scan by a slow robot takes a minute, timing its operations a few."""


class NoSuchActuator(CubistError, ValueError):
    """The robot has no actuator, or no position, of that name."""


@contextlib.contextmanager
def maintenance() -> Iterator[ControlClient]:
    """The daemon in maintenance mode; it leaves the mode with us, whatever happens to us."""
    client = ControlClient(timeout_s=LONGEST_STEP_S)
    with client.maintenance():
        yield client


def set_position(
    key: str, target: int, save: bool, profile: str | None, begin_at: int | None = None
) -> dict[str, Any]:
    """Move to a position, and keep it if wanted: from then on it counts as confirmed.

    ``key`` as in a calibration: ``actuators.lid.positions_us.open``. ``begin_at`` is the first
    pulse of a servo that has no confirmed position. Returns what was done.
    """
    actuator = key.split(".")[1]
    with maintenance() as client:
        now = present(client, key, profile)
        move_to(client, actuator, target, begin_at)
        confirmed = key in client.call("GET", "/calibration")["values"]
        kept = keep(client, {key: target}, save and (target != now or not confirmed))
    return {"key": key, "before": now, "after": target, "saved": kept}


def move_to(
    client: ControlClient, actuator: str, target: int | None, begin_at: int | None = None
) -> dict[str, Any]:
    """Move there slowly (None: stay, or wake up); where it is then and how far it is confirmed."""
    body = {"actuator": actuator, "to": target, "begin_at": begin_at}
    return client.call("POST", "/maintenance/move", body)


def walk_to(client: ControlClient, actuator: str, target: int, begin_at: int, step: int) -> None:
    """Move there, in steps of this size beyond what is confirmed."""
    moved = move_to(client, actuator, None, begin_at)
    while moved["position"] != target:
        low, high = moved["low"] - step, moved["high"] + step
        moved = move_to(client, actuator, max(low, min(high, target)))


def keep(client: ControlClient, values: Mapping[str, Any], save: bool = True) -> bool:
    """Keep values, if there are any and that is wanted; whether they were."""
    kept = save and bool(values)
    if kept:
        client.call("PUT", "/calibration", {"values": dict(values)})
    return kept


def tell(done: dict[str, Any], as_json: bool) -> None:
    """Say what :func:`set_position` did."""
    if as_json:
        emit(done)
    elif done["before"] == done["after"]:
        note(f"{done['key']}: {done['before']}, as it was")
    else:
        text = f"{done['key']}: {done['before']} -> {done['after']}"
        note(text + ("" if done["saved"] else " (not saved)"))


def present(client: ControlClient, key: str, profile: str | None) -> int:
    """The value that counts now: the calibrated one, else the profile's.

    Raises :class:`NoSuchActuator`.
    """
    from robot.settings import load_profile

    calibrated = client.call("GET", "/calibration")
    if key in calibrated["values"]:
        return int(calibrated["values"][key])
    document: Any = load_profile(profile or calibrated["robot"]).model_dump(mode="json")
    for part in key.split("."):
        if not isinstance(document, dict) or part not in document:
            known = ", ".join(document) if isinstance(document, dict) and document else "none"
            raise NoSuchActuator(f"{key}: there is no {part}; there is {known}")
        document = document[part]
    return int(document)
