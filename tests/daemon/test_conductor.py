"""One job at a time, from start to a closed record, whatever goes wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from robot.cli.status import tell_status
from robot.daemon.job_control import Conductor
from robot.daemon.models import StartRequest
from robot.daemon.states import State
from robot.faults import MotionFault, Refused
from robot.machine.interfaces import NotReadable, Policy
from robot.records.runs import LinkRecord, RunRecord
from solver.solution import Progress

SOLVE = StartRequest()
Wait = Callable[[threading.Event], Any]


def jam(recoverable: bool = True) -> MotionFault:
    return MotionFault("overload", "the table is jammed", "Free it", recoverable=recoverable)


async def run(conductor: Conductor, request: StartRequest = SOLVE) -> RunRecord:
    run_id = await conductor.start(request)
    await conductor.finished()
    return await conductor.run_record(run_id)


async def test_a_solve_goes_through_all_states(conductor: Conductor) -> None:
    with conductor.events.listening() as events:
        record = await run(conductor)
        conductor.events.close()
        seen = [event async for event in events]
    states = [event.state for event in seen if event.event == "state"]
    assert states == ["homing", "scanning", "solving", "turning", "checking", "idle"]
    assert seen[-1].event == "finished"
    assert seen[-1].outcome == "solved"
    assert record.outcome == "solved"
    assert (record.moves, record.planned_us, record.executed_us) == ("R U", 1000, 1000)
    assert set(record.timings_s) >= {"home", "scan", "read", "search", "turn", "check"}
    assert len(record.photos) == 13
    assert (conductor.store.directory_of(record.id) / "reading.png").read_bytes() == b"png"
    assert conductor.status().homed


async def test_only_one_job_at_a_time(conductor: Conductor, fake: Any, eventually: Wait) -> None:
    fake.hands.hold = threading.Event()
    first, second = await asyncio.gather(
        conductor.start(SOLVE), conductor.start(SOLVE), return_exceptions=True
    )
    assert isinstance(first, str)
    assert isinstance(second, Refused)
    await eventually(fake.hands.moving)
    with pytest.raises(Refused, match="stop it first"):
        await conductor.start(SOLVE)
    fake.hands.hold.set()
    await conductor.finished()
    assert conductor.state is State.IDLE


async def test_stop_ends_the_motion_and_closes_the_record(
    conductor: Conductor, fake: Any, eventually: Wait
) -> None:
    fake.hands.hold = threading.Event()
    run_id = await conductor.start(SOLVE)
    await eventually(fake.hands.moving)
    assert await conductor.stop()
    assert (await conductor.run_record(run_id)).outcome == "stopped"
    assert conductor.state is State.IDLE
    assert not conductor.status().homed
    assert "stop" in fake.hands.done


async def test_stopping_an_idle_robot_does_nothing(conductor: Conductor, fake: Any) -> None:
    assert not await conductor.stop()
    assert "stop" not in fake.hands.done


async def test_emergency_stop_is_a_fault_until_the_next_start(
    conductor: Conductor, fake: Any, eventually: Wait
) -> None:
    fake.hands.hold = threading.Event()
    await conductor.start(SOLVE)
    await eventually(fake.hands.moving)
    assert await conductor.stop(emergency=True)
    assert "emergency" in fake.hands.done
    status = conductor.status()
    assert status.state is State.FAULT
    assert status.fault is not None
    assert status.fault.code == "emergency-stop"
    fake.hands.hold = None
    assert (await run(conductor)).outcome == "solved"


async def test_a_jam_is_homed_looked_at_and_solved_again(conductor: Conductor, fake: Any) -> None:
    fake.hands.faults = [None] * 6 + [jam()]
    fake.mind.readings = ["scrambled", "scrambled", "solved"]
    record = await run(conductor)
    assert (record.outcome, record.attempts) == ("solved", 2)
    assert fake.hands.done.count("home") == 2
    assert any("recovering" in event.text for event in record.events)
    assert record.recoveries == ["homed and started over after a fault: the table is jammed"]


async def test_a_fault_after_the_last_turn_does_not_make_the_cube_already_solved(
    conductor: Conductor, fake: Any
) -> None:
    fake.hands.faults = [None] * 6 + [jam()]
    fake.mind.readings = ["scrambled", "solved"]
    record = await run(conductor)
    assert (record.outcome, record.attempts, fake.mind.plans) == ("solved", 2, 1)


async def test_a_jam_that_stays_is_a_fault_with_a_remedy(conductor: Conductor, fake: Any) -> None:
    fake.hands.faults = [jam(), jam()]
    record = await run(conductor)
    assert record.outcome == "fault"
    assert record.faults[-1].remedy == "Free it"
    status = conductor.status()
    assert (status.state, status.homed) == (State.FAULT, False)
    assert status.fault is not None
    assert status.fault.cause == "the table is jammed"


async def test_what_cannot_be_recovered_is_not_tried_again(conductor: Conductor, fake: Any) -> None:
    fake.hands.faults = [jam(recoverable=False)]
    record = await run(conductor)
    assert (record.outcome, record.attempts) == ("fault", 1)


async def test_doubtful_faces_are_looked_at_again(conductor: Conductor, fake: Any) -> None:
    fake.mind.readings = [("scrambled", "F"), "scrambled", "solved"]
    assert (await run(conductor)).outcome == "solved"
    assert fake.eyes.seen[:7] == [*"URFDLB", "F"]
    (told,) = conductor.status().last_run.recoveries
    assert told == "looked again at F: the colours leave more than one possible cube"


@pytest.mark.parametrize(
    ("readings", "seen"),
    [
        (["scrambled", "scrambled", "solved"], "URFDL"),
        ([("scrambled", "F"), "scrambled", "solved"], "URFDLB"),
        ([NotReadable("too few"), "scrambled", "solved"], "URFDLB"),
    ],
)
async def test_the_scan_ends_when_one_cube_is_left(
    conductor: Conductor, fake: Any, readings: list[Any], seen: str
) -> None:
    fake.policy = Policy(end_scan_early=True)
    conductor.robot = fake.robot()
    fake.mind.readings = readings
    assert (await run(conductor)).outcome == "solved"
    assert "".join(fake.eyes.seen) == seen + "URFDLB"
    assert fake.mind.planned_from == ["at L" if seen == "URFDL" else "after the tour"]


async def test_doubt_that_stays_is_never_a_guess(conductor: Conductor, fake: Any) -> None:
    fake.mind.readings = [("scrambled", "F")] * 3
    record = await run(conductor)
    assert record.outcome == "unreadable"
    assert fake.mind.plans == 0
    assert conductor.state is State.FAULT


async def test_unreadable_pictures_are_taken_again_then_refused(
    conductor: Conductor, fake: Any
) -> None:
    fake.mind.readings = [NotReadable("too dark")] * 3
    record = await run(conductor)
    assert (record.outcome, record.reason) == ("unreadable", "too dark")
    assert len(fake.eyes.seen) == 18


@pytest.mark.parametrize("code", ["no-cube", "two-cubes", "wrong-size", "face-covered"])
async def test_what_is_in_view_instead_of_a_cube_is_told_and_not_turned(
    conductor: Conductor, fake: Any, code: str
) -> None:
    fake.mind.odd = [NotReadable("not a cube", "U", code)] * 3
    record = await run(conductor)
    assert record.outcome == code
    assert (record.faults[-1].code, fake.eyes.seen) == (code, ["U"] * 3)
    assert record.faults[-1].remedy.endswith("then start again")
    assert conductor.state is State.FAULT
    assert (await run(conductor)).outcome == "solved"


async def test_a_hand_that_is_taken_away_does_not_end_the_job(
    conductor: Conductor, fake: Any
) -> None:
    fake.mind.odd = [NotReadable("a hand", "U", "face-covered")]
    record = await run(conductor)
    assert (record.outcome, record.recoveries) == ("solved", ["looked again: a hand"])
    assert fake.mind.toured_from[:2] == [None, "at U"]


async def test_without_retries_a_person_is_asked_at_once(conductor: Conductor, fake: Any) -> None:
    fake.policy = Policy(scan_retries=0, solve_retries=0)
    conductor.robot = fake.robot()
    fake.mind.odd = [NotReadable("a hand", "U", "face-covered")]
    assert (await run(conductor)).outcome == "face-covered"
    fake.hands.faults = [jam()]
    record = await run(conductor)
    assert (record.outcome, record.attempts) == ("fault", 1)


@pytest.mark.parametrize(
    ("code", "outcome"), [("cube-slipped", "slipped"), ("home-missing", "jammed")]
)
async def test_slipping_and_jamming_have_names_of_their_own(
    conductor: Conductor, fake: Any, code: str, outcome: str
) -> None:
    fake.hands.faults = [MotionFault(code, "it went wrong", "See to it", recoverable=True)] * 2
    record = await run(conductor)
    assert (record.outcome, record.attempts) == (outcome, 2)
    assert record.faults[-1].remedy == "See to it"


async def test_a_cube_lost_from_view_by_turning_has_slipped(
    conductor: Conductor, fake: Any
) -> None:
    """A lid that is stuck over the cube asks for no cube to be put in."""
    gone = NotReadable("no cube is in view", "U", "no-cube")
    fake.mind.readings = ["scrambled", *[gone] * 6]
    record = await run(conductor)
    assert (record.outcome, record.attempts) == ("slipped", 2)
    assert "no cube is in view" in record.reason
    assert "no motor is jammed" in record.faults[-1].remedy


@pytest.mark.parametrize("code", ["face-covered", "unreadable"])
async def test_what_else_is_seen_after_turning_is_told_as_it_is(
    conductor: Conductor, fake: Any, code: str
) -> None:
    """A hand, or a sticker that belongs to no cube, is not the motion's."""
    fake.mind.readings = ["scrambled", *[NotReadable("not a cube", "U", code)] * 6]
    record = await run(conductor)
    assert (record.outcome, record.attempts) == (code, 2)
    assert [text.partition(":")[0] for text in record.recoveries] == [
        "looked again",
        "homed and started over after a fault",
        "looked again",
    ]


async def test_no_cube_after_another_fault_is_told_as_it_is(
    conductor: Conductor, fake: Any
) -> None:
    fake.hands.faults = [None] * 6 + [jam()]
    fake.mind.readings = ["scrambled", *[NotReadable("nothing there", "U", "no-cube")] * 3]
    record = await run(conductor)
    assert (record.outcome, record.attempts) == ("no-cube", 2)


async def test_a_bad_cable_is_told(
    conductor: Conductor, fake: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fake.hands.line = LinkRecord(sent=1000, received=1000, damaged=1)
    run_id = await conductor.start(SOLVE)
    fake.hands.line = LinkRecord(sent=1300, received=1300, damaged=13, resent=9, held=1)
    await conductor.finished()
    record = await conductor.run_record(run_id)
    assert record.link == LinkRecord(sent=300, received=300, damaged=12, resent=9, held=1)
    cable, silence = record.warnings
    assert "damaged 12 of 600 messages (2.0%)" in cable
    assert "paused once because this computer fell silent" in silence
    assert cable in caplog.text
    assert conductor.status().warnings[0].startswith("the serial line damaged 13 of 2600")


async def test_a_solved_cube_is_left_alone(conductor: Conductor, fake: Any) -> None:
    fake.mind.readings = ["solved"]
    assert (await run(conductor)).outcome == "already-solved"
    assert fake.mind.plans == 0


async def test_a_cube_found_unsolved_is_solved_on(conductor: Conductor, fake: Any) -> None:
    fake.mind.readings = ["scrambled", "scrambled", "solved"]
    record = await run(conductor)
    assert (record.outcome, fake.mind.plans) == ("solved", 2)
    assert fake.hands.done.count("home") == 1
    assert record.recoveries == ["the cube was not solved after the turns: solved again from there"]


async def test_without_a_check_the_end_is_not_called_solved(fake: Any, tmp_path: Any) -> None:
    from robot.records.runs import RunStore

    fake.policy = Policy(check_after=False)
    conductor = Conductor(fake.robot(), RunStore(tmp_path / "runs"), version="1")
    await conductor.open()
    assert (await run(conductor)).outcome == "done"
    await conductor.close()


async def test_an_error_of_ours_ends_the_job_not_the_daemon(
    conductor: Conductor, fake: Any
) -> None:
    fake.mind.readings = [ZeroDivisionError("oops")]
    record = await run(conductor)
    assert (record.outcome, record.faults[-1].code) == ("fault", "internal")
    assert "oops" in record.reason
    assert conductor.status().fault is not None
    fake.mind.readings = ["solved"]
    assert (await run(conductor)).outcome == "already-solved"


async def test_home_and_scramble(conductor: Conductor, fake: Any) -> None:
    assert (await run(conductor, StartRequest(kind="home"))).outcome == "done"
    assert (await run(conductor, StartRequest(kind="scramble", moves="R2"))).outcome == "done"
    assert fake.hands.done.count("perform") == 1


async def test_a_robot_that_is_not_there_is_a_fault_and_tried_again(
    conductor: Conductor, fake: Any
) -> None:
    fake.hands.open_fault = jam()
    await conductor.stop(emergency=True)
    with pytest.raises(MotionFault, match="jammed"):
        await conductor.start(SOLVE)
    fake.hands.open_fault = None
    assert (await run(conductor)).outcome == "solved"


async def test_maintenance_keeps_jobs_away(conductor: Conductor) -> None:
    conductor.enter_maintenance()
    with pytest.raises(Refused, match="calibrated"):
        await conductor.start(SOLVE)
    conductor.leave_maintenance()
    assert (await run(conductor)).outcome == "solved"


async def test_no_maintenance_while_working(
    conductor: Conductor, fake: Any, eventually: Wait
) -> None:
    fake.hands.hold = threading.Event()
    await conductor.start(SOLVE)
    await eventually(fake.hands.moving)
    with pytest.raises(Refused):
        conductor.enter_maintenance()
    await conductor.stop()


async def test_a_disk_that_fails_at_the_start_leaves_a_record_in_memory(
    conductor: Conductor,
) -> None:
    conductor.store.directory.write_text("not a directory")
    record = await run(conductor)
    assert (record.id, record.outcome) == ("000000", "solved")


async def test_a_full_disk_does_not_keep_the_cube_unsolved(
    conductor: Conductor, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robot.records.storage import StorageError

    def fail(*_: object) -> None:
        raise StorageError("the disk is full")

    run_id = await conductor.start(SOLVE)
    monkeypatch.setattr("robot.records.runs.RunWriter.save", fail)
    monkeypatch.setattr("robot.records.runs.RunWriter.save_photo", fail)
    await conductor.finished()
    status = conductor.status()
    assert status.last_run is not None
    assert (status.last_run.id, status.last_run.outcome) == (run_id, "solved")
    (listed,) = await conductor.runs(5)
    assert (listed.id, listed.outcome) == (run_id, "solved")


async def test_a_drawing_that_does_not_fit_costs_no_outcome(
    conductor: Conductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = []
    writer = "robot.records.runs.RunWriter"
    monkeypatch.setattr(f"{writer}.finish", lambda self: order.append(self.record.outcome))
    monkeypatch.setattr(f"{writer}.save_photo", lambda _, name, __: order.append(name))
    monkeypatch.setattr(conductor.store, "prune", lambda: order.append("prune"))
    await run(conductor)
    outcome = order.index("solved")
    assert order[outcome - 1] == "prune"
    assert "reading.png" not in order[:outcome]


MAKING = Progress("making tables in /folder", 0.25, making=True, remaining_s=3.0)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_search_that_waits_for_tables_says_so(conductor: Conductor, fake: Any) -> None:
    fake.mind.tables = [replace(MAKING, done=0.0, remaining_s=None), MAKING]
    run_id = await conductor.start(SOLVE)
    await until(lambda: bool((job := conductor.status().job) and job.progress == 0.25))
    status = conductor.status()
    assert status.job is not None
    assert (status.state, status.job.step) == ("solving", "making tables in /folder")
    assert status.job.remaining_s == 3.0
    fake.mind.tables_done.set()
    await conductor.finished()
    steps = [event.text for event in (await conductor.run_record(run_id)).events]
    search = "searching the soonest way"
    at = steps.index(search)
    assert steps[at : at + 3] == [search, "making tables in /folder", search]


async def test_tables_are_made_at_the_start_and_the_status_names_them(
    conductor: Conductor, fake: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.mind.tables = [MAKING]
    conductor.prepare()
    assert conductor.status().preparation is not None
    await until(lambda: bool((one := conductor.status().preparation) and one.progress))
    tell_status(conductor.status().model_dump(mode="json"))
    assert "  making tables in /folder, 25% done, 3 s left\n" in capsys.readouterr().out
    assert conductor.state is State.IDLE
    fake.mind.tables_done.set()
    await until(lambda: conductor.status().preparation is None)
