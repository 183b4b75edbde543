"""Walking an actuator to a position, and keeping it, over the control socket."""

from __future__ import annotations

from typing import Any

import pytest

from robot.cli.positions import NoSuchActuator, keep, present, tell, walk_to

KEY = "actuators.lid.positions_us.open"


class Daemon:
    """A servo that stands at 1500 and is confirmed from there to where it has been."""

    def __init__(self, **values: int) -> None:
        self.values: dict[str, Any] = values
        self.low = self.high = 1500
        self.asked: list[tuple[Any, Any]] = []

    def call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        if path == "/calibration":
            if method == "PUT":
                self.values |= body["values"]
            return {"robot": "cubotino", "values": dict(self.values)}
        target = body["to"]
        self.asked.append((target, body["begin_at"]))
        place = 1500 if target is None else target
        self.low, self.high = min(self.low, place), max(self.high, place)
        return {"position": place, "low": self.low, "high": self.high}


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
    daemon: Any = Daemon()
    walk_to(daemon, "lid", target, 1510, 50)
    assert daemon.asked == [(None, 1510), *((step, None) for step in steps)]


def test_the_calibrated_value_counts_before_the_profile_s() -> None:
    daemon: Any = Daemon()
    assert present(daemon, KEY, None) == 1335
    assert present(daemon, "actuators.right-jaw.positions_us.open", "four-arm") == 1600
    daemon.values[KEY] = 1340
    assert present(daemon, KEY, None) == 1340
    for key, known in (
        ("actuators.hat.positions_us.open", "there is no hat; there is holder, lid"),
        ("actuators.lid.positions_us.up", "there is no up; there is open, close, flip"),
    ):
        with pytest.raises(NoSuchActuator, match=known):
            present(daemon, key, None)


def test_values_are_kept_where_that_is_wanted() -> None:
    daemon: Any = Daemon()
    assert not keep(daemon, {KEY: 1}, save=False)
    assert not keep(daemon, {})
    assert daemon.values == {}
    assert keep(daemon, {KEY: 1})
    assert daemon.values == {KEY: 1}


@pytest.mark.parametrize(
    ("before", "after", "saved", "told"),
    [
        (1500, 1500, True, f"{KEY}: 1500, as it was"),
        (1500, 1510, True, f"{KEY}: 1500 -> 1510"),
        (1500, 1510, False, f"{KEY}: 1500 -> 1510 (not saved)"),
    ],
)
def test_what_was_done_is_told(
    before: int, after: int, saved: bool, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tell({"key": KEY, "before": before, "after": after, "saved": saved}, as_json=False)
    assert capsys.readouterr().err == f"{told}\n"
