"""One job at a time, from start to a closed record, despite any failure."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.cli.status import tell_status
from robot.records.run_record import LinkRecord
from robot.records.storage import StorageError
from robot.text.faults import Conflict, RobotError, ScanError
from solver.errors import InvalidRequest
from solver.solution import Progress
from tests.rig.fake_robot import run_job

SOLVE = StartRequest()
HOME = StartRequest(kind="home")
GONE = RobotError("board-absent", "the panel is gone", "Plug it in")


def jam(recoverable: bool = True) -> RobotError:
    return RobotError("overload", "the table is jammed", "Free it", recoverable=recoverable)


async def test_only_one_job_at_a_time(controller, fake, eventually):
    fake.motion.hold = threading.Event()
    first, second = await asyncio.gather(
        controller.start(SOLVE), controller.start(SOLVE), return_exceptions=True
    )
    assert isinstance(first, str)
    assert isinstance(second, Conflict)
    await eventually(fake.motion.moving)
    with pytest.raises(Conflict, match="run `cubist stop`"):
        await controller.start(SOLVE)
    assert await controller.stop()
    assert (await controller.library.run_record(first)).outcome == "stopped"
    assert (controller.state, controller.status().homed) == (RobotState.IDLE, False)
    assert "stop" in fake.motion.done
    assert await controller.stop() is False
    assert await controller.stop(emergency=True) is True, "whether or not anything moves"


async def test_an_unconfirmed_emergency_stop(controller, fake, eventually, monkeypatch, caplog):
    waits = threading.Event()

    def gone() -> None:
        fake.motion.done.append("open")
        waits.set()
        raise RobotError("link-lost")

    def unconfirmed() -> None:
        assert controller.state is RobotState.FAULT, "nothing may begin meanwhile"
        raise RobotError("no-answer")

    fake.motion.faults = [None, RobotError("link-lost")]
    monkeypatch.setattr(fake.motion, "open", gone)
    monkeypatch.setattr(fake.motion, "emergency_stop", unconfirmed)
    run_id = await controller.start(SOLVE)
    await eventually(waits)
    with pytest.raises(RobotError, match="answer"):
        await controller.stop(emergency=True)
    assert "emergency stop" in caplog.messages
    monkeypatch.setattr(fake.motion, "open", lambda: None)
    fake.motion.done.clear()
    await controller.finished()
    assert fake.motion.done == []
    fault = controller.status().fault
    assert (controller.state, fault and fault.code) == (RobotState.FAULT, "emergency-stop")
    assert (await controller.library.run_record(run_id)).outcome == "stopped"


@pytest.mark.parametrize(
    ("readings", "plans"), [(["scrambled", "scrambled", "solved"], 2), (["scrambled", "solved"], 1)]
)
async def test_after_a_jam_the_robot_homes_and_looks_again(controller, fake, readings, plans):
    """Check that a cube solved by the turn before the jam does not count as already solved."""
    fake.motion.faults = [None] * 6 + [jam()]
    fake.scanner.readings = readings
    record = await run_job(controller)
    assert (record.outcome, record.attempts, fake.planner.plans) == ("solved", 2, plans)
    assert fake.motion.done.count("home") == 2
    assert record.recoveries == ["homed and started over after a fault: the table is jammed"]
    (note,) = record.notes
    assert (note.text, note.code) == (record.recoveries[0], "started-over")
    assert set(note.parameters) == {"fault"}
    assert "recover" in {event.step_code for event in record.events}


@pytest.mark.parametrize(
    ("faults", "retries", "outcome", "attempts"),
    [
        ([jam(recoverable=False)], 1, "fault", 1),
        ([jam()], 0, "fault", 1),
        ([RobotError("cube-slipped", recoverable=True)] * 2, 1, "slipped", 2),
        ([RobotError("home-missing", recoverable=True)] * 2, 1, "jammed", 2),
    ],
)
async def test_a_fault_that_stays(controller, fake, faults, retries, outcome, attempts):
    controller.machine = fake.machine_with(solve_retries=retries)
    fake.motion.faults = list(faults)
    record = await run_job(controller)
    assert (record.outcome, record.attempts) == (outcome, attempts)
    assert record.faults[-1].remedy == faults[0].remedy
    status = controller.status()
    assert (status.state, status.homed) == (RobotState.FAULT, False)
    assert status.fault is not None and status.fault.cause == faults[0].cause


@pytest.mark.parametrize(
    ("readings", "policy", "outcome", "attempts", "plans"),
    [
        (["solved"], {}, "already-solved", 1, 0),
        (["scrambled"], {"check_after": False}, "done", 1, 1),
        ([("scrambled", "F")], {"scan_retries": 0}, "unreadable", 1, 0),
        ([ScanError("too dark")] * 3, {"scan_retries": 2}, "unreadable", 1, 0),
        # Stickers of no cube may come from a turn that failed: the robot starts over once.
        (["scrambled", *[ScanError("not a cube", "U")] * 6], {}, "unreadable", 2, 1),
        (["scrambled", *[ScanError("no cube", "U", "no-cube")] * 6], {}, "no-cube", 1, 1),
    ],
)
async def test_ends_of_a_solve(controller, fake, readings, policy, outcome, attempts, plans):
    controller.machine = fake.machine_with(**policy)
    fake.scanner.readings = readings
    record = await run_job(controller)
    assert (record.outcome, record.attempts, fake.planner.plans) == (outcome, attempts, plans)
    is_fault = outcome in {"unreadable", "no-cube"}
    assert controller.state is (RobotState.FAULT if is_fault else RobotState.IDLE)


@pytest.mark.parametrize(
    ("readings", "seen"),
    [
        (["scrambled", "scrambled", "solved"], "URFDL"),
        ([("scrambled", "F"), "scrambled", "solved"], "URFDLB"),
        ([ScanError("too few"), "scrambled", "solved"], "URFDLB"),
    ],
)
async def test_the_scan_ends_when_one_cube_is_left(controller, fake, readings, seen):
    controller.machine = fake.machine_with(end_scan_early=True)
    fake.scanner.readings = readings
    assert (await run_job(controller)).outcome == "solved"
    assert "".join(fake.scanner.seen) == seen + "URFDLB"
    assert fake.planner.planned_from == ["at L" if seen == "URFDL" else "after the tour"]


async def test_a_bad_cable_is_reported(controller, fake, caplog):
    fake.motion.line = LinkRecord(sent=1000, received=1000, damaged=1)
    run_id = await controller.start(SOLVE)
    fake.motion.line = LinkRecord(sent=1300, received=1300, damaged=13, resent=9, held=1)
    await controller.finished()
    record = await controller.library.run_record(run_id)
    assert record.link == LinkRecord(sent=300, received=300, damaged=12, resent=9, held=1)
    cable, _ = record.warnings
    assert [note.code for note in record.notes] == ["line-damaged", "paused-once"]
    assert "damaged 12 of 600 messages (2.0%)" in cable
    assert cable in caplog.text
    status = controller.status()
    assert status.warnings[0].startswith("the serial line damaged 13 of 2600")
    assert status.notes[0].text == status.warnings[0]


async def test_an_error_of_ours_ends_the_job_not_the_daemon(controller, fake):
    fake.scanner.readings = [ZeroDivisionError("oops")]
    record = await run_job(controller)
    assert (record.outcome, record.faults[-1].code) == ("fault", "internal")
    assert "oops" in record.reason
    assert controller.status().fault is not None
    fake.scanner.readings = ["solved"]
    assert (await run_job(controller)).outcome == "already-solved"


async def test_a_robot_that_is_not_there_is_a_fault_and_tried_again(controller, fake):
    fake.motion.open_fault = jam()
    await controller.stop(emergency=True)
    with pytest.raises(RobotError, match="jammed"):
        await controller.start(HOME)
    fake.motion.open_fault = None
    assert (await run_job(controller)).outcome == "solved"


async def test_a_disk_that_fails_does_not_keep_the_cube_unsolved(controller, monkeypatch):
    """Check that the daemon keeps the record in memory; without a folder its number is 0."""
    fail = Mock(side_effect=StorageError("the disk is full"))
    run_id = await controller.start(SOLVE)
    with monkeypatch.context() as full:
        full.setattr("robot.records.runs.RunWriter.save", fail)
        full.setattr("robot.records.runs.RunWriter.save_photo", fail)
        await controller.finished()
    last = controller.status().last_run
    (listed,) = (await controller.library.runs(5)).runs
    assert (last.id, last.outcome) == (listed.id, listed.outcome) == (run_id, "solved")
    controller.store.directory = controller.store.directory / run_id / "run.json"
    controller.machine.scanner.readings = ["solved"]
    record = await run_job(controller)
    assert (record.id, record.outcome) == ("000000", "already-solved")


@pytest.mark.parametrize("failing", ["RunStore.prune", "RunWriter.finish"])
async def test_a_record_that_cannot_be_closed_blocks_no_job(controller, monkeypatch, failing):
    fail = Mock(side_effect=FileNotFoundError("gone meanwhile"))
    monkeypatch.setattr(f"robot.records.runs.{failing}", fail)
    record = await run_job(controller)
    assert (record.outcome, controller.state) == ("solved", RobotState.IDLE)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_start_that_was_accepted_is_told_before_its_job_runs(controller, fake):
    told = []

    def read_aim(*_: object, **__: object) -> None:
        status = controller.status()
        told.append((status.starting, status.job))
        raise InvalidRequest("no such pattern")

    fake.planner.read_aim = read_aim
    with pytest.raises(InvalidRequest):
        await controller.start(StartRequest(to="nothing"))
    assert told == [(True, None)]
    assert not controller.status().starting


async def test_reading_and_search_are_prepared_and_the_status_says_so(controller, fake, capsys):
    fake.scanner.prepare = Mock()
    fake.planner.tables = [Progress("making tables in /folder", 0.25, True, remaining_s=3.0)]
    controller.prepare()
    assert controller.status().preparation is not None
    await until(lambda: bool((one := controller.status().preparation) and one.progress))
    fake.scanner.prepare.assert_called_once()
    tell_status(controller.status().model_dump(mode="json"))
    assert "  making tables in /folder (25 %, 3 s left)\n" in capsys.readouterr().out
    assert controller.state is RobotState.IDLE
    fake.planner.tables_done.set()
    await until(lambda: controller.status().preparation is None)


async def test_a_panel_out_of_order_needs_help_until_it_is_in_order(controller):
    with controller.events.listening() as heard:
        controller.report_panel(GONE)
        controller.clear_panel("board-absent")
        controller.events.close()
        told = [(one.state, one.text) async for one in heard]
    assert told == [("fault", "the panel is gone"), ("idle", "the panel is in order again")]
    assert controller.status().fault is None
    controller.enter_maintenance()
    controller.report_panel(GONE)
    assert controller.state is RobotState.MAINTENANCE
    await controller.leave_maintenance()
    assert controller.state is RobotState.FAULT


async def test_shutting_down_and_closing(controller, fake, eventually):
    fake.scanner.close = Mock()
    fake.motion.hold = threading.Event()
    fake.planner.tables = [Progress("making tables", 0.25)]
    controller.prepare()
    await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    assert await controller.shut_down(power_off=True) is True
    assert (controller.power_off, controller.ended.is_set()) == (True, True)
    assert await controller.shut_down(power_off=False) is False
    assert not controller.power_off
    await controller.close()
    assert controller.preparation.state is None
    assert fake.planner.is_cancelled
    assert fake.motion.done[-1] == "close"
    fake.scanner.close.assert_called_once()
    await controller.close()


@pytest.mark.parametrize("adjusted", [True, False])
async def test_a_robot_that_was_adjusted_connects_anew_and_is_not_homed(controller, fake, adjusted):
    follow = AsyncMock(return_value=adjusted)
    controller.drift = SimpleNamespace(notes=[], estimates=[], follow=follow)
    fake.motion.done.clear()
    await run_job(controller, HOME)
    assert controller.status().homed is not adjusted
    assert fake.motion.done == ["home", *["open"] * adjusted]
    assert controller.state is RobotState.IDLE
    controller.drift = None
