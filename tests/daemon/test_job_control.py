"""One job at a time, from start to a closed record, whatever goes wrong."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.cli.status import tell_status
from robot.daemon.job_control import JobController
from robot.daemon.main import _summary
from robot.records.runs import LinkRecord, RunRecord
from robot.settings.profile import PolicySettings
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


async def test_a_robot_at_rest_that_is_stopped_is_not_homed_any_more(
    controller: JobController,
) -> None:
    await run(controller)
    assert controller.status().homed
    await controller.stop(emergency=True)
    assert not controller.status().homed


async def test_what_systemd_shows_is_the_state_with_its_step_or_its_fault(
    controller: JobController, fake: Any, eventually: Wait
) -> None:
    assert _summary(controller) == "idle"
    fake.motion.hold = threading.Event()
    await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    job = controller.status().job
    assert job is not None and _summary(controller) == f"{controller.state}: {job.step}"
    fake.motion.hold.set()
    await controller.finished()
    await controller.stop(emergency=True)
    fault = controller.status().fault
    assert fault is not None and _summary(controller) == f"fault: {fault.cause}"


async def test_emergency_stop_is_a_fault_until_a_person_homes(
    controller: JobController, fake: Any, eventually: Wait
) -> None:
    fake.motion.hold = threading.Event()
    await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    assert await controller.stop(emergency=True)
    assert "emergency" in fake.motion.done
    status = controller.status()
    assert status.state is RobotState.FAULT
    assert status.fault is not None
    assert status.fault.code == "emergency-stop"
    fake.motion.hold = None
    with pytest.raises(RobotError, match="`cubist home`"):
        await controller.start(SOLVE)
    assert (await run(controller, HOME)).outcome == "done"
    assert (await run(controller)).outcome == "solved"


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


async def test_a_jam_that_stays_is_a_fault_with_a_remedy(
    controller: JobController, fake: Any
) -> None:
    fake.motion.faults = [jam(), jam()]
    record = await run(controller)
    assert record.outcome == "fault"
    assert record.faults[-1].remedy == "Free it"
    status = controller.status()
    assert (status.state, status.homed) == (RobotState.FAULT, False)
    assert status.fault is not None
    assert status.fault.cause == "the table is jammed"


async def test_what_cannot_be_recovered_is_not_tried_again(
    controller: JobController, fake: Any
) -> None:
    fake.motion.faults = [jam(recoverable=False)]
    record = await run(controller)
    assert (record.outcome, record.attempts) == ("fault", 1)


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
    fake.policy = PolicySettings(improve_while_turning=False, end_scan_early=True)
    controller.machine = fake.machine()
    fake.scanner.readings = readings
    assert (await run(controller)).outcome == "solved"
    assert "".join(fake.scanner.seen) == seen + "URFDLB"
    assert fake.planner.planned_from == ["at L" if seen == "URFDL" else "after the tour"]


async def test_doubt_that_stays_is_never_a_guess(controller: JobController, fake: Any) -> None:
    fake.scanner.readings = [("scrambled", "F")] * 3
    record = await run(controller)
    assert record.outcome == "unreadable"
    assert fake.planner.plans == 0
    assert controller.state is RobotState.FAULT


async def test_unreadable_pictures_are_taken_again_then_refused(
    controller: JobController, fake: Any
) -> None:
    fake.scanner.readings = [ScanError("too dark")] * 3
    record = await run(controller)
    assert (record.outcome, record.reason) == ("unreadable", "too dark")
    assert len(fake.scanner.seen) == 18


@pytest.mark.parametrize("code", ["no-cube", "two-cubes", "wrong-size", "face-covered"])
async def test_what_is_in_view_instead_of_a_cube_is_told_and_not_turned(
    controller: JobController, fake: Any, code: str
) -> None:
    fake.scanner.odd = [ScanError("not a cube", "U", code)]
    record = await run(controller)
    assert record.outcome == code
    assert (record.faults[-1].code, fake.scanner.seen) == (code, ["U"])
    assert record.faults[-1].remedy.endswith("then start again")
    assert controller.state is RobotState.FAULT
    assert (await run(controller)).outcome == "solved"


async def test_without_retries_a_person_is_asked_at_once(
    controller: JobController, fake: Any
) -> None:
    fake.policy = PolicySettings(improve_while_turning=False, scan_retries=0, solve_retries=0)
    controller.machine = fake.machine()
    fake.scanner.readings = [ScanError("too dark")]
    assert (await run(controller)).outcome == "unreadable"
    fake.motion.faults = [jam()]
    record = await run(controller)
    assert (record.outcome, record.attempts) == ("fault", 1)


@pytest.mark.parametrize(
    ("code", "outcome"), [("cube-slipped", "slipped"), ("home-missing", "jammed")]
)
async def test_slipping_and_jamming_have_names_of_their_own(
    controller: JobController, fake: Any, code: str, outcome: str
) -> None:
    fake.motion.faults = [RobotError(code, "it went wrong", "See to it", recoverable=True)] * 2
    record = await run(controller)
    assert (record.outcome, record.attempts) == (outcome, 2)
    assert record.faults[-1].remedy == "See to it"


async def test_a_sticker_that_belongs_to_no_cube_is_not_the_motion_s(
    controller: JobController, fake: Any
) -> None:
    """Turning may have gone wrong, so the robot starts over; then it is not read either."""
    fake.scanner.readings = ["scrambled", *[ScanError("not a cube", "U")] * 6]
    record = await run(controller)
    assert (record.outcome, record.attempts) == ("unreadable", 2)
    assert [text.partition(":")[0] for text in record.recoveries] == [
        "looked again",
        "homed and started over after a fault",
        "looked again",
    ]


async def test_no_cube_after_another_fault_is_told_as_it_is(
    controller: JobController, fake: Any
) -> None:
    fake.motion.faults = [None] * 6 + [jam()]
    fake.scanner.readings = ["scrambled", *[ScanError("nothing there", "U", "no-cube")] * 3]
    record = await run(controller)
    assert (record.outcome, record.attempts) == ("no-cube", 2)


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


async def test_without_a_check_the_end_is_not_called_solved(fake: Any, tmp_path: Any) -> None:
    from robot.records.runs import RunStore

    fake.policy = PolicySettings(improve_while_turning=False, check_after=False)
    controller = JobController(fake.machine(), RunStore(tmp_path / "runs"), version="1")
    await controller.open()
    assert (await run(controller)).outcome == "done"
    await controller.close()


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


async def test_home_and_scramble(controller: JobController, fake: Any) -> None:
    assert (await run(controller, StartRequest(kind="home"))).outcome == "done"
    assert (await run(controller, StartRequest(kind="scramble", moves="R2"))).outcome == "done"
    assert fake.motion.done.count("perform") == 1


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


async def test_the_robot_goes_on_while_a_picture_is_written(
    controller: JobController, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes a picture only once the robot has moved on from where it was taken."""
    kept: list[str] = []

    def slow(self: object, name: str, encoded: bytes) -> None:
        del self, encoded
        deadline = time.monotonic() + 60
        while len(kept) < 5 and fake.motion.done.count("perform") < len(kept) + 2:
            assert time.monotonic() < deadline, f"the robot stands still until {name} is written"
        kept.append(name)

    monkeypatch.setattr("robot.records.runs.RunWriter.save_photo", slow)
    await run(controller)
    scanned = [name for name in kept if name.startswith("scanning")]
    assert [name.split("-")[1] for name in scanned] == list("123456")


async def test_a_drawing_that_does_not_fit_costs_no_outcome(
    controller: JobController, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = []
    writer = "robot.records.runs.RunWriter"
    monkeypatch.setattr(f"{writer}.finish", lambda self: order.append(self.record.outcome))
    monkeypatch.setattr(f"{writer}.save_photo", lambda _, name, __: order.append(name))
    monkeypatch.setattr(controller.store, "prune", lambda: order.append("prune"))
    await run(controller)
    outcome = order.index("solved")
    before = [name for name in order[:outcome] if not name.endswith(".jpg")]  # whenever written
    assert before[-1] == "prune"
    assert "reading.png" not in before


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
