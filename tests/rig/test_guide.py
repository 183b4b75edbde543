"""The fakes for guide sessions do what their docstrings say."""

from __future__ import annotations

import pytest

from robot.api.client import RequestError
from robot.calibration.steps.positions import MOVING
from robot.guide.dialogs import MenuDialog
from tests.rig.guide import DialogRig, FakeCalibrationClient, ManualExecutor

KEY = "actuators.lid.positions_us.open"


def test_kept_values_are_undone_in_turn() -> None:
    client = FakeCalibrationClient(**{KEY: 1340})
    session = client.session
    session.keep({KEY: 1350})
    session.keep({KEY: 1360})
    assert session.calibration.values == {KEY: 1360}
    session.undo()
    assert client.values == {KEY: 1350}


def test_moves_need_a_confirmed_position_and_stay_within_limits() -> None:
    client = FakeCalibrationClient()
    move = {"actuator": "lid", "begin_at": None}
    with pytest.raises(RequestError, match="no confirmed position"):
        client.session.perform(MOVING, to=1500, **move)
    client.values[KEY] = 2090
    assert client.session.perform(MOVING, to=2095, **move).position == 2095
    with pytest.raises(RequestError, match="beyond"):
        client.session.perform(MOVING, to=2101, **move)
    assert client.moves == [1500, 2095, 2101]


def test_tasks_run_at_once_or_when_finished() -> None:
    robot, done = ManualExecutor(), list[str]()
    robot.submit(done.append, "first")
    robot.waits = True
    robot.submit(done.append, "second")
    assert done == ["first"]
    robot.finish()
    assert done == ["first", "second"]


def test_a_rig_shows_the_first_dialog() -> None:
    rig = DialogRig(FakeCalibrationClient().session, MenuDialog)
    assert (rig.state.heading, rig.actions, rig.is_over) == ("Calibrate", ["undo"], False)
