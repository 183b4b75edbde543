"""Walking an actuator to a position, and keeping it, over the control socket."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from robot.api.endpoints import Endpoint
from robot.calibration.step import Session
from robot.calibration.steps.positions import AllPositions, Placing, named_position
from robot.cli.measuring import conduct, finish
from robot.machine.confirmed_range import direction_key
from robot.settings import load_profile
from solver.errors import InvalidRequest
from tests.rig.state_folder import answered
from tests.rig.state_folder import kept as made

KEY = "actuators.lid.positions_us.open"


class Daemon:
    """A servo that stands at 1500 and is confirmed from there to where it has been."""

    def __init__(self, **values: int) -> None:
        self.values: dict[str, Any] = values
        self.low = self.high = 1500
        self.asked: list[tuple[Any, Any]] = []

    def call(self, endpoint: Endpoint[Any], body: Any = None, **more: Any) -> dict[str, Any]:
        method, path = endpoint.method, endpoint.target(**more)
        if path == "/calibration":
            if method == "PUT":
                self.values |= body["values"]
            return answered("cubotino", self.values)
        target = body["to"]
        self.asked.append((target, body["begin_at"]))
        place = 1500 if target is None else target
        self.low, self.high = min(self.low, place), max(self.high, place)
        return {"actuator": "lid", "position": place, "low": self.low, "high": self.high}


def session_of(daemon: Any, profile: str | None = None) -> Session:
    return Session(daemon, load_profile(profile) if profile else None)


@pytest.mark.parametrize(
    ("target", "steps"),
    [
        (1500, []),
        (1530, [1530]),
        (1550, [1550]),
        (1620, [1550, 1600, 1620]),
        (1390, [1450, 1400, 1390]),
    ],
)
def test_it_walks_there_in_steps(target: int, steps: list[int]) -> None:
    daemon = Daemon()
    session = session_of(daemon)
    position = named_position(session, "lid", "open", "servo")
    conduct(Placing(session, position, target, 1510, gently=True), as_json=False)
    assert daemon.asked == [(None, 1510), *((step, None) for step in steps)]


def test_the_calibrated_value_counts_before_the_profile_s() -> None:
    daemon = Daemon()
    assert named_position(session_of(daemon), "lid", "open", "servo").value == 1335
    jaw = named_position(session_of(daemon, "four-arm"), "right-jaw", "open", "servo")
    assert jaw.value == 1600
    daemon.values[KEY] = 1340
    assert named_position(session_of(daemon), "lid", "open", "servo").value == 1340
    for actuator, position, known in (
        ("hat", "open", "there is no hat; there is holder, lid"),
        ("lid", "up", "there is no up; there is open, close, flip"),
    ):
        with pytest.raises(InvalidRequest, match=known):
            named_position(session_of(daemon), actuator, position, "servo")


def test_values_are_kept_where_there_are_any() -> None:
    daemon = Daemon()
    assert not session_of(daemon).keep({})
    assert daemon.values == {}
    assert session_of(daemon).keep({KEY: 1})
    assert daemon.values == {KEY: 1}


@pytest.mark.parametrize(
    ("before", "after", "saved", "told"),
    [
        (1400, 1400, True, f"{KEY}: 1400, as it was"),
        (1400, 1410, True, f"{KEY}: 1400 -> 1410"),
        (1400, 1410, False, f"{KEY}: 1400 -> 1410 (not saved)"),
    ],
)
def test_what_was_done_is_told(
    before: int, after: int, saved: bool, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = Daemon()
    daemon.values[KEY] = before
    session = session_of(daemon)
    placing = Placing(session, named_position(session, "lid", "open", "servo"), after)
    conduct(placing, as_json=False)
    finish(placing, saved, as_json=False)
    assert capsys.readouterr().err == f"{told}\n"


def test_unattended_a_direction_that_was_kept_stays() -> None:
    """Somebody has looked which way that motor turns: nobody does now."""
    profile = load_profile("six-motor")
    kept: list[Any] = []
    calibration = made("six-motor", {direction_key("up"): True})
    session: Any = SimpleNamespace(
        profile=profile, calibrated=profile, calibration=calibration, keep=kept.append
    )
    assert list(AllPositions(session, {}).measure()) == []
    others = [name for name in profile.actuators if name != "up"]
    assert kept == [{direction_key(name): False} for name in others]
