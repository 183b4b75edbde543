"""Maintenance: one person calibrates; at its end, motors that count steps turn back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest

from robot.api.client import ControlClient
from robot.api.endpoints import SESSION_HEADER, Endpoint, RobotState
from robot.api.models import StartRequest
from robot.calibration.step import Bench, Trial
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration
from robot.daemon import main as daemon_main
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.machine.confirmed_range import ConfirmedRange
from robot.records.documents import ApiRequest, Nothing
from robot.settings import load_profile
from robot.text.faults import Conflict, RobotError
from solver.errors import InvalidRequest
from tests.rig.fake_robot import FakeMachine

DIRECTION, STEPS = (f"actuators.table.{key}" for key in ("invert_direction", "steps_per_turn"))
OPEN, CLOSE = (f"actuators.lid.positions_us.{name}" for name in ("open", "close"))
SOLVE = StartRequest()


def code_of(refused: pytest.ExceptionInfo[Conflict]) -> str:
    return str(refused.value.args[0].code)


async def test_maintenance_is_one_person_s_and_ends_unhomed(controller, fake):
    await controller.start(StartRequest(kind="home"))
    await controller.finished()
    assert controller.status().homed
    controller.enter_maintenance("page", 4711, "192.168.1.20")
    assert controller.status().calibrating
    with pytest.raises(Conflict) as refused:
        controller.enter_maintenance()
    assert code_of(refused) == "calibrated-page"
    assert "192.168.1.20" in str(refused.value) and "--take-over" in str(refused.value)
    calibrator = controller.status().calibrator
    assert calibrator is not None and calibrator.at == "192.168.1.20"
    with pytest.raises(Conflict) as refused:
        await controller.start(SOLVE)
    assert code_of(refused) == "calibrated-page"
    fake.motion.done.clear()
    await controller.leave_maintenance()
    status = controller.status()
    assert (status.homed, status.calibrating, status.state) == (False, False, RobotState.IDLE)
    assert fake.motion.done == ["open"]
    controller.enter_maintenance()
    fake.motion.done.clear()
    await controller.leave_maintenance(RobotError("board-absent", "it is gone", "look"))
    assert fake.motion.done == [], "what is in the way is known"
    assert controller.state is RobotState.FAULT
    assert not controller.is_calibrated


class Maintained:
    """Maintenance of a controller whose robot ``make`` builds from a profile."""

    def __init__(self, controller: JobController, fake: Any, folder: Path, profile: str) -> None:
        self.controller, robot = controller, load_profile(profile)
        self.contact, self.store = ConfirmedRange({}), CalibrationStore(folder)
        self.make = Mock(side_effect=lambda _: fake.machine())
        self.mode = Maintenance(controller, robot, self.store, self.contact, self.make)

    @property
    def made(self) -> list[Any]:
        return [call.args[0] for call in self.make.call_args_list]

    async def perform(self, renews: bool = True) -> Bench:
        tried = Mock(return_value=Nothing())
        trial = Trial("try", "", ApiRequest, Nothing, tried, renews=renews)
        await self.mode.perform(trial, ApiRequest())
        return tried.call_args.args[0]


@pytest.fixture
def maintained(controller, fake, tmp_path, profile_name) -> Maintained:
    return Maintained(controller, fake, tmp_path / "state", profile_name)


def pulse(profile: Any, name: str) -> int:
    return int(profile.actuators["lid"].positions_us[name])


async def test_what_is_kept_and_what_is_tried_out_count_for_a_trial(maintained):
    mode = maintained.mode
    mode.enter()
    assert maintained.contact.calibrating
    kept = await mode.save({OPEN: 1340})
    assert kept.values == {OPEN: 1340}
    tried = await mode.try_out({CLOSE: 1510})
    assert tried.values == {OPEN: 1340, CLOSE: 1510}
    bench = await maintained.perform()
    assert (pulse(bench.profile, "open"), pulse(bench.profile, "close")) == (1340, 1510)
    assert (pulse(bench.kept, "open"), pulse(bench.kept, "close")) == (1340, 1500)
    assert bench.machine is maintained.controller.machine
    assert len(maintained.made) == 1
    assert pulse(maintained.made[0], "close") == 1510
    await maintained.perform()
    assert len(maintained.made) == 1, "nothing has changed since"
    both = await mode.save({OPEN: 1345})
    assert both.values == {OPEN: 1345, CLOSE: 1510}
    assert maintained.contact.confirmed == both.values
    await maintained.perform(renews=False)
    assert len(maintained.made) == 1
    await mode.leave()
    assert not maintained.contact.calibrating
    assert (await mode.values()).values == {OPEN: 1345}
    assert maintained.contact.confirmed == {OPEN: 1345}
    assert pulse(maintained.made[-1], "close") == 1500
    assert maintained.controller.state is RobotState.IDLE


async def test_a_robot_that_cannot_be_put_together_is_a_fault(maintained):
    mode = maintained.mode
    mode.enter()
    await mode.save({OPEN: 1340})
    maintained.make.side_effect = BadCalibration("it does not fit")
    await mode.leave()
    fault = maintained.controller.status().fault
    assert fault is not None and "it does not fit" in fault.cause
    assert maintained.controller.state is RobotState.FAULT
    assert not maintained.controller.is_calibrated


async def test_a_correction_at_the_end_of_a_job_is_all_or_nothing(maintained):
    mode = maintained.mode
    before = maintained.controller.machine
    await mode.adjust({OPEN: 1340})
    assert maintained.controller.machine is not before
    assert maintained.contact.confirmed == {}, "nobody has confirmed what was corrected"
    assert pulse(maintained.made[0], "open") == 1340
    await mode.adjust({OPEN: 1345})
    assert (await mode.values()).values == {OPEN: 1345}
    mode.enter()
    assert (await mode.restore()).values == {}, "the version before the first"
    await mode.restore()
    maintained.make.side_effect = BadCalibration("it does not fit")
    with pytest.raises(BadCalibration):
        await mode.adjust({OPEN: 1350})
    assert (await mode.values()).values == {OPEN: 1345}


@pytest.mark.parametrize("profile_name", ["mindcuber"])
@pytest.mark.parametrize(
    ("tried", "guessed"), [({DIRECTION: True}, ["table"]), ({DIRECTION: True, STEPS: 3200}, [])]
)
@pytest.mark.parametrize("lost", [(), ("table",)])
def test_motors_turn_back_while_their_count_is_known(daemon, tried, guessed, lost):
    daemon.motion.lost = lost
    client = ControlClient()
    with client.maintenance():
        client.call(Endpoint("PUT", "/calibration"), {"values": tried, "provisional": True})
        daemon.motion.done.clear()
    assert daemon.motion.done == [f"bring-back {guessed}", "close", "open"]
    assert daemon.motion.doubted == (lost or None)
    with client.maintenance():
        daemon.motion.done.clear()
    assert daemon.motion.done == ["open"], "nothing moves where nothing was tried out"


@pytest.mark.parametrize(("profile_name", "counts"), [("cubotino", False), ("mindcuber", True)])
@pytest.mark.parametrize("lost", [(), ("table",)])
async def test_motors_that_may_stand_askew_are_noted(maintained, fake, counts, lost):
    mode, store = maintained.mode, maintained.store
    fake.motion.lost = lost
    mode.enter()
    await maintained.perform()
    assert (store.broken_off is not None) is counts
    if counts:
        await mode.try_out({DIRECTION: True})
    await mode.leave()
    assert (store.broken_off is not None) == bool(lost and counts)
    fake.motion.has_lost_positions = False
    mode.enter()
    await mode.leave()
    assert store.broken_off is None


@pytest.mark.parametrize("profile_name", ["mindcuber"])
async def test_whatever_cannot_be_done_at_the_end_the_mode_is_over(maintained, fake, monkeypatch):
    """Doubt motors that cannot turn back, and drop the values tried out in any case."""
    unreadable = Mock(side_effect=BadCalibration("line 1: no JSON"))
    mode, controller = maintained.mode, maintained.controller
    mode.enter()
    await mode.try_out({DIRECTION: True})
    fake.motion.bring_back = Mock(side_effect=InvalidRequest("table: 9000 is above its limit"))
    await mode.leave()
    assert "table" in fake.motion.doubted
    assert controller.status().fault is None
    mode.enter()
    await mode.try_out({DIRECTION: True})
    with monkeypatch.context() as broken:
        broken.setattr(CalibrationStore, "load", unreadable)
        await mode.leave()
    fault = controller.status().fault
    assert (fault.code, fault.cause) == ("calibration-unusable", "line 1: no JSON")
    mode.enter()
    assert DIRECTION not in (await mode.values()).values


@pytest.mark.parametrize("emergency", [False, True])
async def test_lost_motors_are_asked_for_by_the_next_robot(controller, fake, tmp_path, emergency):
    """Check the robot rebuilt from saved values. After an emergency stop it waits for people."""
    heir = FakeMachine()
    maintained = Maintained(controller, heir, tmp_path / "state", "mindcuber")
    maintenance, store = maintained.mode, maintained.store
    store.note_under_way()
    fake.motion.has_lost_positions = not emergency
    fake.motion.lost = ("table",) if emergency else ()
    maintenance.enter()
    await maintenance.save({DIRECTION: True})
    if emergency:
        await controller.stop(emergency=True)
    await maintenance.leave()
    assert controller.next_machine.motion is heir.motion and heir.motion.has_lost_positions
    assert (controller.machine is controller.next_machine) is not emergency
    daemon_main.forget_if_resolved(controller, store)
    assert store.broken_off is not None
    heir.motion.has_lost_positions = False
    daemon_main.forget_if_resolved(controller, store)
    assert store.broken_off is None and not store.may_have_note


# Taking over

TAKE_OVER = {"at": "pts/3", "take_over": True}


@pytest.mark.parametrize("profile_name", ["mindcuber"])
async def test_a_take_over_turns_no_motor_back(maintained, fake):
    """Turn no motor back although nothing moved: a person may have their hands in the robot."""
    mode, cancelled = maintained.mode, list[bool]()

    def bring_back(_: object) -> tuple[str, ...]:
        cancelled.append(fake.motion.is_cancelled)
        return ("table",)

    fake.motion.bring_back = bring_back
    told = mode.enter()
    await mode.try_out({DIRECTION: True})
    ended = asyncio.create_task(mode.end_session("pts/3"))
    await mode.leave(await told)
    await ended
    assert (cancelled, fake.motion.doubted) == ([True], ("table",))
    mode.enter()


async def try_out(client: aiohttp.ClientSession, headers: Mapping[str, str]) -> str | None:
    """Return the code of the reason why that program may not try out a value."""
    body = {"values": {OPEN: 1340}, "provisional": True}
    async with client.put("/calibration", json=body, headers=headers) as answer:
        found = await answer.json()
    return None if answer.ok else str(found.get("reason_code") or found["fault"])


def session_of(lease: aiohttp.ClientResponse) -> dict[str, str]:
    return {SESSION_HEADER: lease.headers[SESSION_HEADER]}


async def test_of_two_that_take_over_at_once_one_calibrates(client, controller):
    async with client.post("/maintenance") as first:
        both = await asyncio.gather(
            *(client.post("/maintenance", json=TAKE_OVER | {"at": at}) for at in ("a", "b"))
        )
        assert sorted(one.status for one in both) == [200, 409]
        assert b"taken-over" in await first.read()
        winner, loser = sorted(both, key=lambda one: one.status)
        assert (await loser.json())["reason_code"] == "calibrated-terminal"
        assert controller.is_calibrated
        assert await try_out(client, session_of(winner)) is None
        assert await try_out(client, session_of(first)) == "calibration-stopped"
        winner.close()
