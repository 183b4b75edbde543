"""Tests of fakes and models whose mistakes would let other tests pass."""

import pytest

from robot.api.client import RequestError
from robot.calibration.steps.positions import MOVING
from tests.rig.fault_campaign import simulated_run, unplug
from tests.rig.guide import FakeCalibrationClient
from tests.rig.simulated_run import TimedFault
from tests.rig.stickers import replay_moves


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize(("moves", "order"), [("U", 4), ("R U R' U'", 6), ("R2 U2", 6), ("Rw", 4)])
def test_the_model_of_stickers_is_solved_after_all_turns_and_not_before(size, moves, order):
    solved = "".join(face * size * size for face in "URFDLB")
    after = [replay_moves(solved, " ".join([moves] * count), size) for count in range(order + 1)]
    is_solved = [cube.is_solved for cube in after]
    assert is_solved == [True, *[False] * (order - 1), True]


def test_a_fault_that_never_happens_fails_the_test():
    with (
        pytest.raises(AssertionError, match="never happened"),
        simulated_run("six-motor", TimedFault(unplug, after_s=1e6)) as run,
    ):
        run.solve()


def test_the_calibration_client_refuses_what_a_daemon_refuses():
    client = FakeCalibrationClient()
    move = {"actuator": "lid", "begin_at": None}
    with pytest.raises(RequestError, match="no confirmed position"):
        client.session.perform(MOVING, to=1500, **move)
    client.values["actuators.lid.positions_us.open"] = 2090
    assert client.session.perform(MOVING, to=2095, **move).position == 2095
    with pytest.raises(RequestError, match="beyond"):
        client.session.perform(MOVING, to=2101, **move)
