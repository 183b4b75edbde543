"""Arms and jaws that open only as far as necessary while the robot scans the cube.

A lid or a jaw is clear of the cube before it reaches its open position. Between two pictures the
robot need not wait for the rest of that travel, nor go back over it. So for scanning, a mechanism
gets such places as additional positions.
"""

from __future__ import annotations

from collections.abc import Iterator

from robot.settings.actuators import Servo, TravelRow
from robot.settings.profile import RobotProfile


def clear_place(opened: str) -> str:
    """Return the name of the clear place before position ``opened``; no profile can use it."""
    return f"nearly {opened}"


def look_place(opened: str) -> str:
    """Return the name of the place before that, where the cube must not be turned yet."""
    return f"on the way to {opened}"


def with_clear_place(
    profile: RobotProfile, actuator: str, away_from: str, opened: str, part: float
) -> RobotProfile:
    """Return ``profile`` with a clear place for a servo, at ``part`` of the path to ``opened``.

    The path begins at position ``away_from``. Every travel of the servo to or from ``opened`` also
    exists for the new place and takes its share of the time. The servo touches nothing there, so it
    need not settle. Cameras see the same as when it is open.
    """
    return _with_place(profile, actuator, (away_from, opened), part, clear_place(opened))


def with_look_place(
    profile: RobotProfile, actuator: str, away_from: str, opened: str, part: float
) -> RobotProfile:
    """Return ``profile`` with a place for pictures before the cube may be turned.

    See :func:`with_clear_place`. The place is reached only from ``away_from``: elsewhere the
    camera sees the cube already.
    """
    place = look_place(opened)
    profile = _with_place(profile, actuator, (away_from, opened), part, place)
    servo = profile.actuators[actuator]
    assert isinstance(servo, Servo)
    rows = tuple(
        row.model_copy(update={"between": (place, opened), "one_way": True})
        if set(row.between) == {place, opened}
        else row
        for row in servo.travel
        if place not in row.between or {away_from, opened} & set(row.between)
    )
    updated = servo.model_copy(update={"travel": rows})
    return profile.model_copy(update={"actuators": profile.actuators | {actuator: updated}})


def _with_place(
    profile: RobotProfile, actuator: str, way: tuple[str, str], part: float, name: str
) -> RobotProfile:
    away_from, opened = way
    servo = profile.actuators[actuator]
    if not isinstance(servo, Servo):
        raise TypeError(f"{actuator} is not a servo")
    at = servo.positions_us
    places = at | {name: round(at[away_from] + part * (at[opened] - at[away_from]))}
    rows = [
        row
        for known in servo.travel
        if opened in known.between
        for row in _rows_of(known, opened, name, places)
    ]
    updated = servo.model_copy(update={"positions_us": places, "travel": (*servo.travel, *rows)})
    cameras = []
    for camera in profile.cameras:
        views = []
        for view in camera.views:
            allowed = view.when.get(actuator, ())
            more = {actuator: (*allowed, name)} if opened in allowed else {}
            views.append(view.model_copy(update={"when": view.when | more}))
        cameras.append(camera.model_copy(update={"views": tuple(views)}))
    changed = {"actuators": profile.actuators | {actuator: updated}, "cameras": tuple(cameras)}
    return profile.model_copy(update=changed)


def _rows_of(
    known: TravelRow, opened: str, name: str, places: dict[str, int]
) -> Iterator[TravelRow]:
    """Yield the two parts into which the new place divides a travel to or from ``opened``."""
    (other,) = set(known.between) - {opened}
    share = (places[name] - places[other]) / (places[opened] - places[other])
    for left_out, part in ((opened, share), (other, 1 - share)):
        if 0 < part < 1:
            between = tuple(name if place == left_out else place for place in known.between)
            held_ms = None if known.held_ms is None else known.held_ms * part
            update = {"between": between, "ms": known.ms * part, "held_ms": held_ms}
            yield known.model_copy(update=update)
