"""One job at a time, from start to a closed record, whatever goes wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.cli.status import tell_status
from robot.daemon import job_control
from robot.daemon.job_control import JobController
from robot.records.runs import LinkRecord, RunRecord, RunStore
from robot.text.faults import Conflict, RobotError, ScanError
from solver.solution import Progress

SOLVE = StartRequest()
HOME = StartRequest(kind="home")
Wait = Callable[[threading.Event], Any]


def jam(recoverable: bool = True) -> RobotError:
    return RobotError("overload", "the table is jammed", "Free it", recoverable=recoverable)


async def run(controller: JobController, request: StartRequest = SOLVE) -> RunRecord:
    run_id = await controller.start(request)
    await controller.finished()
    return await controller.run_record(run_id)


async def test_a_solve_goes_through_all_states(controller: JobController) -> None:
    with controller.events.listening() as events:
        record = await run(controller)
        controller.events.close()
        seen = [event async for event in events]
    states = [event.state for event in seen if event.event == "state"]
    assert states == ["homing", "scanning", "solving", "turning", "checking", "idle"]
    assert [(one.state, one.progress) for one in seen if one.event == "progress"] == [
        ("turning", 0.5)
    ]
    assert seen[-1].event == "finished"
    assert seen[-1].outcome == "solved"
    assert record.outcome == "solved"
    assert (record.moves, record.planned_us, record.executed_us) == ("R U", 1000, 1000)
    assert set(record.timings_s) >= {"home", "scan", "read", "search", "turn", "check"}
    assert len(record.photos) == 13
    assert (controller.store.directory_of(record.id) / "reading.png").read_bytes() == b"png"
    assert controller.status().homed


async def test_only_one_job_at_a_time(
    controller: JobController, fake: Any, eventually: Wait
) -> None:
    fake.motion.hold = threading.Event()
    first, second = await asyncio.gather(
        controller.start(SOLVE), controller.start(SOLVE), return_exceptions=True
    )
    assert isinstance(first, str)
    assert isinstance(second, Conflict)
    await eventually(fake.motion.moving)
    with pytest.raises(Conflict, match="run `cubist stop`"):
        await controller.start(SOLVE)
    fake.motion.hold.set()
    await controller.finished()
    assert controller.state is RobotState.IDLE


async def test_stop_ends_the_motion_and_closes_the_record(
    controller: JobController, fake: Any, eventually: Wait
) -> None:
    fake.motion.hold = threading.Event()
    run_id = await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    assert await controller.stop()
    assert (await controller.run_record(run_id)).outcome == "stopped"
    assert controller.state is RobotState.IDLE
    assert not controller.status().homed
    assert "stop" in fake.motion.done


async def test_an_emergency_stop_that_nobody_confirms_ends_the_job_all_the_same(
    controller: JobController, fake: Any, eventually: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The board's cable was out, so that the job waits for it in order to go on."""
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
    monkeypatch.setattr(fake.motion, "open", lambda: None)
    fake.motion.done.clear()
    await controller.finished()
    assert fake.motion.done == []
    fault = controller.status().fault
    assert (controller.state, fault and fault.code) == (RobotState.FAULT, "emergency-stop")
    assert (await controller.run_record(run_id)).outcome == "stopped"


async def test_what_the_search_reports_after_an_emergency_stop_is_ignored(
    controller: JobController, fake: Any, eventually: Wait
) -> None:
    unexpected: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: unexpected.append(about))
    making = threading.Event()
    plan = fake.planner.plan

    def with_tables(*arguments: Any) -> Any:
        making.set()
        assert fake.planner.tables_done.wait(240)
        return plan(*arguments)

    fake.planner.plan = with_tables
    fake.planner.tables = [Progress("corners", 0.5, making=True)]
    await controller.start(SOLVE)
    await eventually(making)
    stopping = asyncio.create_task(controller.stop(emergency=True))
    await asyncio.sleep(0)
    fake.planner.tables_done.set()
    await stopping
    await controller.finished()
    assert unexpected == []


async def test_a_jam_is_homed_looked_at_and_solved_again(
    controller: JobController, fake: Any
) -> None:
    fake.motion.faults = [None] * 6 + [jam()]
    fake.scanner.readings = ["scrambled", "scrambled", "solved"]
    record = await run(controller)
    assert (record.outcome, record.attempts) == ("solved", 2)
    assert fake.motion.done.count("home") == 2
    assert any("recovering" in event.text for event in record.events)
    assert record.recoveries == ["homed and started over after a fault: the table is jammed"]
    (note,) = record.notes
    assert (note.text, note.code) == (record.recoveries[0], "started-over")
    assert set(note.parameters) == {"fault"}
    coded = {event.step_code for event in record.events}
    assert {"home", "search", "turn-once", "recover"} & coded, "steps keep their codes"


async def test_a_fault_after_the_last_turn_does_not_make_the_cube_already_solved(
    controller: JobController, fake: Any
) -> None:
    fake.motion.faults = [None] * 6 + [jam()]
    fake.scanner.readings = ["scrambled", "solved"]
    record = await run(controller)
    assert (record.outcome, record.attempts, fake.planner.plans) == ("solved", 2, 1)


@pytest.mark.parametrize(
    ("faults", "retries", "outcome", "attempts"),
    [
        ([jam(recoverable=False)], 1, "fault", 1),
        ([jam()], 0, "fault", 1),
        ([jam(), jam()], 1, "fault", 2),
        ([RobotError("cube-slipped", recoverable=True)] * 2, 1, "slipped", 2),
        ([RobotError("home-missing", recoverable=True)] * 2, 1, "jammed", 2),
    ],
)
async def test_a_fault_that_stays_ends_the_job_with_its_remedy(
    controller: JobController,
    fake: Any,
    faults: list[RobotError],
    retries: int,
    outcome: str,
    attempts: int,
) -> None:
    controller.machine = fake.machine_with(solve_retries=retries)
    fake.motion.faults = list(faults)
    record = await run(controller)
    assert (record.outcome, record.attempts) == (outcome, attempts)
    assert record.faults[-1].remedy == faults[0].remedy
    status = controller.status()
    assert (status.state, status.homed) == (RobotState.FAULT, False)
    assert status.fault is not None and status.fault.cause == faults[0].cause


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("reading", [("scrambled", "F"), ScanError("too dark")])
async def test_a_cube_in_doubt_is_looked_at_again_and_never_guessed(
    controller: JobController, fake: Any, reading: Any, retries: int
) -> None:
    controller.machine = fake.machine_with(scan_retries=retries, solve_retries=0)
    fake.scanner.readings = [reading] * (retries + 1)
    record = await run(controller)
    assert (record.outcome, fake.planner.plans) == ("unreadable", 0)
    assert controller.state is RobotState.FAULT


@pytest.mark.parametrize(
    ("code", "outcome", "attempts"), [("", "unreadable", 2), ("no-cube", "no-cube", 1)]
)
async def test_what_the_check_cannot_read_is_not_called_the_motion_s_fault(
    controller: JobController, fake: Any, code: str, outcome: str, attempts: int
) -> None:
    """Stickers of no cube may come from a turn that went wrong: the robot starts over once."""
    unread = ScanError("not a cube", "U", code) if code else ScanError("not a cube", "U")
    fake.scanner.readings = ["scrambled", *[unread] * 6]
    record = await run(controller)
    assert (record.outcome, record.attempts) == (outcome, attempts)


async def test_without_a_check_the_end_is_not_called_solved(
    controller: JobController, fake: Any
) -> None:
    controller.machine = fake.machine_with(check_after=False)
    assert (await run(controller)).outcome == "done"


@pytest.mark.parametrize(
    ("readings", "seen"),
    [
        (["scrambled", "scrambled", "solved"], "URFDL"),
        ([("scrambled", "F"), "scrambled", "solved"], "URFDLB"),
        ([ScanError("too few"), "scrambled", "solved"], "URFDLB"),
    ],
)
async def test_the_scan_ends_when_one_cube_is_left(
    controller: JobController, fake: Any, readings: list[Any], seen: str
) -> None:
    controller.machine = fake.machine_with(end_scan_early=True)
    fake.scanner.readings = readings
    assert (await run(controller)).outcome == "solved"
    assert "".join(fake.scanner.seen) == seen + "URFDLB"
    assert fake.planner.planned_from == ["at L" if seen == "URFDL" else "after the tour"]


async def test_a_bad_cable_is_told(
    controller: JobController, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fake.motion.line = LinkRecord(sent=1000, received=1000, damaged=1)
    run_id = await controller.start(SOLVE)
    fake.motion.line = LinkRecord(sent=1300, received=1300, damaged=13, resent=9, held=1)
    await controller.finished()
    record = await controller.run_record(run_id)
    assert record.link == LinkRecord(sent=300, received=300, damaged=12, resent=9, held=1)
    cable, silence = record.warnings
    assert [note.code for note in record.notes] == ["line-damaged", "paused-once"]
    assert "damaged 12 of 600 messages (2.0%)" in cable
    assert "paused once because this computer fell silent" in silence
    assert cable in caplog.text
    assert controller.status().warnings[0].startswith("the serial line damaged 13 of 2600")
    assert controller.status().notes[0].text == controller.status().warnings[0]


async def test_a_solved_cube_is_left_alone(controller: JobController, fake: Any) -> None:
    fake.scanner.readings = ["solved"]
    assert (await run(controller)).outcome == "already-solved"
    assert fake.planner.plans == 0


async def test_a_cube_found_unsolved_is_solved_on(controller: JobController, fake: Any) -> None:
    fake.scanner.readings = ["scrambled", "scrambled", "solved"]
    record = await run(controller)
    assert (record.outcome, fake.planner.plans) == ("solved", 2)
    assert fake.motion.done.count("home") == 1
    assert record.recoveries == ["the cube was not solved after the turns: solved again from there"]


async def test_an_error_of_ours_ends_the_job_not_the_daemon(
    controller: JobController, fake: Any
) -> None:
    fake.scanner.readings = [ZeroDivisionError("oops")]
    record = await run(controller)
    assert (record.outcome, record.faults[-1].code) == ("fault", "internal")
    assert "oops" in record.reason
    assert controller.status().fault is not None
    fake.scanner.readings = ["solved"]
    assert (await run(controller)).outcome == "already-solved"


async def test_a_robot_that_is_not_there_is_a_fault_and_tried_again(
    controller: JobController, fake: Any
) -> None:
    fake.motion.open_fault = jam()
    await controller.stop(emergency=True)
    with pytest.raises(RobotError, match="jammed"):
        await controller.start(HOME)
    fake.motion.open_fault = None
    assert (await run(controller)).outcome == "solved"


async def test_a_disk_that_fails_at_the_start_leaves_a_record_in_memory(
    controller: JobController,
) -> None:
    controller.store.directory.write_text("not a directory")
    record = await run(controller)
    assert (record.id, record.outcome) == ("000000", "solved")


async def test_a_full_disk_does_not_keep_the_cube_unsolved(
    controller: JobController, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robot.records.storage import StorageError

    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    run_id = await controller.start(SOLVE)
    monkeypatch.setattr("robot.records.runs.RunWriter.save", fail)
    monkeypatch.setattr("robot.records.runs.RunWriter.save_photo", fail)
    await controller.finished()
    status = controller.status()
    assert status.last_run is not None
    assert (status.last_run.id, status.last_run.outcome) == (run_id, "solved")
    (listed,) = (await controller.runs(5)).runs
    assert (listed.id, listed.outcome) == (run_id, "solved")


@pytest.mark.parametrize("failing", ["RunStore.prune", "RunWriter.finish"])
async def test_a_record_that_cannot_be_closed_leaves_the_robot_free(
    controller: JobController, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*_: object) -> None:
        raise FileNotFoundError("gone meanwhile")

    monkeypatch.setattr(f"robot.records.runs.{failing}", fail)
    record = await run(controller)
    assert (record.outcome, controller.state) == ("solved", RobotState.IDLE)


MAKING = Progress("making tables in /folder", 0.25, making=True, remaining_s=3.0)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_tables_are_made_at_the_start_and_the_status_names_them(
    controller: JobController, fake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.planner.tables = [MAKING]
    controller.prepare()
    assert controller.status().preparation is not None
    await until(lambda: bool((one := controller.status().preparation) and one.progress))
    tell_status(controller.status().model_dump(mode="json"))
    assert "  making tables in /folder (25 %, 3 s left)\n" in capsys.readouterr().out
    assert controller.state is RobotState.IDLE
    fake.planner.tables_done.set()
    await until(lambda: controller.status().preparation is None)


def code_of(refused: pytest.ExceptionInfo[Conflict]) -> str:
    return str(refused.value.args[0].code)


async def told_by(controller: JobController, *events: Any) -> list[Any]:
    with controller.events.listening() as heard:
        for event in events:
            event()
        controller.events.close()
        return [event async for event in heard]


async def test_a_panel_out_of_order_needs_help_until_it_is_in_order(
    controller: JobController, caplog: pytest.LogCaptureFixture
) -> None:
    fault = RobotError("board-absent", "the panel is gone", "Plug it in")
    told = await told_by(
        controller,
        lambda: controller.report_panel(fault),
        lambda: controller.clear_panel("board-absent"),
    )
    assert [(one.state, one.text) for one in told] == [
        ("fault", "the panel is gone"),
        ("idle", "the panel is in order again"),
    ]
    assert "fault board-absent: the panel is gone" in caplog.text
    assert controller.status().fault is None


async def test_a_panel_changes_nothing_while_something_else_is_the_matter(
    controller: JobController, fake: Any
) -> None:
    fake.motion.hold = threading.Event()
    await controller.start(SOLVE)
    state = controller.state
    controller.report_panel(RobotError("board-absent", "the panel is gone", "Plug it in"))
    assert controller.state is state
    controller.clear_panel("board-absent")
    await controller.stop(emergency=True)
    controller.report_panel(RobotError("board-absent", "the panel is gone", "Plug it in"))
    controller.clear_panel("board-absent")
    fault = controller.status().fault
    assert (controller.state, fault and fault.code) == (RobotState.FAULT, "emergency-stop")


async def test_in_maintenance_the_panel_is_not_waited_for(controller: JobController) -> None:
    controller.enter_maintenance()
    controller.report_panel(RobotError("board-absent", "the panel is gone", "Plug it in"))
    assert controller.state is RobotState.MAINTENANCE
    await controller.leave_maintenance()
    assert controller.state is RobotState.FAULT


async def test_an_open_emergency_stop_is_in_the_way_of_everything(
    controller: JobController,
) -> None:
    controller.estop_open = True
    with pytest.raises(Conflict) as refused:
        await controller.start(SOLVE)
    assert code_of(refused) == "estop-open"
    with pytest.raises(Conflict):
        controller.check_estop()
    controller.estop_open = False
    controller.check_estop()


async def test_a_stop_without_a_job_is_one_only_in_an_emergency(
    controller: JobController, fake: Any
) -> None:
    assert await controller.stop() is False
    assert await controller.stop(emergency=True) is True
    assert fake.motion.done[-1] == "emergency"


async def test_a_job_that_does_not_stop_in_time_is_halted_at_once(
    controller: JobController,
    fake: Any,
    eventually: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(job_control, "STOP_LIMIT_S", 0.05)
    monkeypatch.setattr(fake.motion, "stop", lambda: fake.motion.done.append("stop"))
    fake.motion.hold = threading.Event()
    await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    assert await controller.stop() is True
    assert fake.motion.done[-2:] == ["stop", "emergency"]
    assert "motion did not stop in 0.05 s: emergency stop" in caplog.text
    await controller.finished()


async def test_shutting_down_says_whether_a_job_ended_and_the_machine_is_to_go_off(
    controller: JobController, fake: Any, eventually: Any
) -> None:
    fake.motion.hold = threading.Event()
    await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    assert await controller.shut_down(power_off=True) is True
    assert controller.power_off
    assert controller.ended.is_set()
    assert await controller.shut_down(power_off=False) is False
    assert not controller.power_off


async def test_closing_gives_everything_back(controller: JobController, fake: Any) -> None:
    closed: list[str] = []
    fake.scanner.close = lambda: closed.append("scanner")
    controller.prepare()
    assert controller.preparation.state is not None
    await controller.close()
    assert controller.preparation.state is None
    assert fake.motion.done[-1] == "close"
    assert closed == ["scanner"]
    await controller.close()


async def test_after_a_crash_records_are_closed_and_positions_doubted(
    fake: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    store = RunStore(tmp_path / "runs")
    run = store.begin("solve", "fake", job_control.utc_now())
    controller = JobController(fake.machine(), store, version="1")
    doubted: list[Any] = []
    fake.motion.mark_positions_lost = doubted.append
    await controller.open()
    assert len(doubted) == 1
    assert f"run {run.record.id} was interrupted; its record is closed" in caplog.text
    last = controller.status().last_run
    assert last is not None and last.id == run.record.id
    await controller.close()


async def test_tables_that_cannot_be_made_are_told_unless_nobody_wants_them(
    controller: JobController, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RobotError("board-absent", "the disk is full", "look")

    fake.planner.prepare = fails
    controller.prepare()
    await controller.preparation.finished()
    assert "the tables of the search are not ready: the disk is full" in caplog.text
    assert controller.preparation.state is None
    caplog.clear()
    controller.preparation.cancel()
    controller.prepare()
    await controller.preparation.finished()
    assert "not ready" not in caplog.text


async def test_reading_is_made_ready_before_the_search(
    controller: JobController, fake: Any
) -> None:
    done: list[str] = []
    fake.scanner.prepare = lambda: done.append("reading")
    fake.planner.prepare = lambda *_: done.append("search")
    controller.prepare()
    await controller.preparation.finished()
    assert done == ["reading", "search"]


@pytest.mark.parametrize("adjusted", [True, False])
async def test_a_robot_that_was_adjusted_connects_anew_and_is_not_homed(
    controller: JobController, fake: Any, adjusted: bool
) -> None:
    async def follow(_: object) -> bool:
        return adjusted

    controller.drift = SimpleNamespace(notes=[], estimates=[], follow=follow)  # type: ignore[assignment]
    fake.motion.done.clear()
    await controller.start(StartRequest(kind="home"))
    await controller.finished()
    assert controller.status().homed is not adjusted
    assert fake.motion.done == ["home", *["open"] * adjusted]
    assert controller.state is RobotState.IDLE
    controller.drift = None
