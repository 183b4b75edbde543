"""The end of maintenance: motors that only count steps stand at their starts, or are doubted."""

from __future__ import annotations

from typing import Any

import pytest

from robot.client import ControlClient

DIRECTION, STEPS = (f"actuators.table.{key}" for key in ("invert_direction", "steps_per_turn"))

pytestmark = pytest.mark.parametrize("profile_name", ["mindcuber"])


@pytest.mark.parametrize(
    ("tried", "guessed"),
    [({DIRECTION: True}, ["table"]), ({DIRECTION: True, STEPS: 3200}, [])],
)
@pytest.mark.parametrize("lost", [(), ("table",)])
def test_they_turn_back_while_their_count_is_known(
    daemon: Any, tried: dict[str, object], guessed: list[str], lost: tuple[str, ...]
) -> None:
    daemon.motion.lost = lost
    client = ControlClient()
    with client.maintenance():
        client.call("PUT", "/calibration", {"values": tried, "provisional": True})
        daemon.motion.done.clear()
    assert daemon.motion.done == [f"bring-back {guessed}", "close", "open"]
    assert daemon.motion.doubted == (lost or None)


def test_nothing_moves_where_nothing_was_tried_out(daemon: Any) -> None:
    with ControlClient().maintenance():
        daemon.motion.done.clear()
    assert daemon.motion.done == ["open"]
