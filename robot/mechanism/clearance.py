"""Arms and jaws that open no further than they must while the robot looks at the cube.

A lid that lets the cube lie flat and a jaw that is past it are out of the way before they are
where they rest. Between two looks the robot need not wait for the rest of that way, nor go back
over it: for looking, a mechanism gets such places as positions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from robot.settings.actuators import Servo, TravelRow
from robot.settings.profile import RobotProfile


def clear_place(opened: str) -> str:
    """The name of the place on the way to a position called ``opened``; no profile can use it."""
    return f"nearly {opened}"


def look_place(opened: str) -> str:
    """The name of the place before that, where the cube must not be turned yet."""
    return f"on the way to {opened}"


def with_clear_place(
    profile: RobotProfile, actuator: str, away_from: str, opened: str, part: float
) -> RobotProfile:
    """``profile`` whose servo knows the place that lies so large a part of the way to ``opened``.

    The way is that from the position ``away_from``. Every way of the servo to or from ``opened``
    exists for the new place too and takes as long as its share of it; nothing is touched there, so
    that there is nothing to wait for. Cameras see from there what they see when it is open.
    """
    return _with_place(profile, actuator, (away_from, opened), part, clear_place(opened))


def with_look_place(
    profile: RobotProfile, actuator: str, away_from: str, opened: str, part: float
) -> RobotProfile:
    """Like :func:`with_clear_place`, for a place from which to look before the cube may be turned.

    It is reached from ``away_from`` alone: from elsewhere the cube is seen already.
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
        raise TypeError(f"{actuator} is no servo")
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
    """The two parts into which the new place divides a way to or from ``opened``."""
    (other,) = set(known.between) - {opened}
    share = (places[name] - places[other]) / (places[opened] - places[other])
    for left_out, part in ((opened, share), (other, 1 - share)):
        if 0 < part < 1:
            between = tuple(name if place == left_out else place for place in known.between)
            held_ms = None if known.held_ms is None else known.held_ms * part
            update = {"between": between, "ms": known.ms * part, "held_ms": held_ms}
            yield known.model_copy(update=update)
