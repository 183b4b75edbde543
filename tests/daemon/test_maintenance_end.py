"""The end of maintenance: motors that only count steps stand at their starts, or are doubted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from robot.api.client import ControlClient
from robot.api.endpoints import Endpoint
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration
from robot.daemon.job_control import JobController
from solver.errors import InvalidRequest

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
        client.call(Endpoint("PUT", "/calibration"), {"values": tried, "provisional": True})
        daemon.motion.done.clear()
    assert daemon.motion.done == [f"bring-back {guessed}", "close", "open"]
    assert daemon.motion.doubted == (lost or None)


@pytest.mark.parametrize("lost", [(), ("table",)])
async def test_the_note_stays_until_lost_motors_are_found(
    controller: JobController, fake: Any, maintenance_of: Any, tmp_path: Path, lost: tuple[str, ...]
) -> None:
    maintenance, store = maintenance_of(controller, fake), CalibrationStore(tmp_path / "state")
    fake.motion.lost = lost
    maintenance.enter()
    await maintenance.try_out({DIRECTION: True})
    store.note_under_way()
    await maintenance.leave()
    assert (store.broken_off is not None) == bool(lost)
    fake.motion.has_lost_positions = False
    maintenance.enter()
    await maintenance.leave()
    assert store.broken_off is None


def test_nothing_moves_where_nothing_was_tried_out(daemon: Any) -> None:
    with ControlClient().maintenance():
        daemon.motion.done.clear()
    assert daemon.motion.done == ["open"]


async def test_values_that_were_tried_out_are_over_also_where_the_rest_cannot_be_read(
    controller: JobController, fake: Any, maintenance_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    maintenance = maintenance_of(controller, fake)
    maintenance.enter()
    await maintenance.try_out({DIRECTION: True})

    def unreadable(*_: object) -> None:
        raise BadCalibration("line 1: no JSON")

    with monkeypatch.context() as broken:
        broken.setattr(CalibrationStore, "load", unreadable)
        await maintenance.leave()
    fault = controller.status().fault
    assert fault is not None and (fault.code, fault.cause) == (
        "calibration-unusable",
        "line 1: no JSON",
    )
    maintenance.enter()
    assert DIRECTION not in (await maintenance.values()).values


async def test_motors_that_could_not_turn_back_are_doubted(
    controller: JobController, fake: Any, maintenance_of: Any
) -> None:
    def out_of_reach(_: object) -> None:
        raise InvalidRequest("table: 9000 is above its limit")

    maintenance = maintenance_of(controller, fake)
    maintenance.enter()
    await maintenance.try_out({DIRECTION: True})
    fake.motion.bring_back = out_of_reach
    await maintenance.leave()
    assert "table" in fake.motion.doubted
    assert controller.status().fault is None
