"""What the controller says of itself between jobs: faults, maintenance, stops, and what is told."""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.api.models import StartRequest
from robot.calibration.trials.trial import Bench, Trial
from robot.calibration.values import BadCalibration
from robot.daemon import job_control
from robot.daemon.job_control import JobController
from robot.records.documents import ApiDocument, ApiRequest
from robot.records.runs import RunStore
from robot.text.faults import Conflict, RobotError
from robot.text.notes import Note
from solver.cube.cube import Cube
from solver.errors import InvalidRequest

SOLVE = StartRequest()
SCRAMBLED = Cube.solved().apply("R U F2")
OPEN, CLOSE = (f"actuators.lid.positions_us.{name}" for name in ("open", "close"))


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


async def test_a_job_may_start_without_the_panel_and_ends_in_need_of_help(
    controller: JobController,
) -> None:
    controller.report_panel(RobotError("board-absent", "the panel is gone", "Plug it in"))
    fault = controller.status().fault
    assert fault is not None and fault.code == "board-absent"
    await controller.start(SOLVE)
    await controller.finished()
    assert controller.state is RobotState.FAULT
    assert controller.status().homed
    controller.clear_panel("board-absent")
    assert controller.state is RobotState.IDLE


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


async def test_maintenance_is_one_person_s_and_ends_unhomed(
    controller: JobController, fake: Any
) -> None:
    await controller.start(StartRequest(kind="home"))
    await controller.finished()
    assert controller.status().homed
    controller.enter_maintenance("page", 4711)
    assert controller.status().calibrating
    with pytest.raises(Conflict) as refused:
        controller.enter_maintenance()
    assert code_of(refused) == "calibrated-page"
    assert "`sudo kill 4711`" in str(refused.value)
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


async def test_runs_under_way_are_listed_and_found(
    controller: JobController, fake: Any, eventually: Any
) -> None:
    fake.motion.hold = threading.Event()
    first = await controller.start(StartRequest(facelets=SCRAMBLED.facelets()))
    await eventually(fake.motion.moving)
    (listed,) = (await controller.runs(5)).runs
    assert (listed.id, listed.outcome) == (first, None)
    assert (await controller.run_record(first)).moves == "R U"
    assert controller.status().last_run is None
    job = controller.status().job
    assert job is not None
    assert (job.run, job.kind, job.progress) == (first, "solve", 0.5)
    assert 0 <= job.elapsed_s < 60
    fake.motion.hold.set()
    await controller.finished()
    last = controller.status().last_run
    assert last is not None
    assert last.id == first
    assert controller.status().job is None


async def test_what_is_new_is_told_with_its_run_and_time(controller: JobController) -> None:
    with controller.events.listening() as heard:
        run_id = await controller.start(StartRequest(kind="home"))
        await controller.finished()
        controller.events.close()
        told = [event async for event in heard]
    last = told[-1]
    assert (last.event, last.run, last.outcome, last.state) == ("finished", run_id, "done", "idle")
    assert [(one.event, one.state, one.run) for one in told if one.event == "state"] == [
        ("state", "homing", run_id),
        ("state", "idle", None),
    ]
    status = controller.status()
    assert status.since >= told[0].time


async def test_progress_is_told_while_it_turns_only(controller: JobController) -> None:
    assert await told_by(controller, lambda: controller.condition.publish_progress(0.5)) == []
    controller.condition.state = RobotState.TURNING
    (told,) = await told_by(controller, lambda: controller.condition.publish_progress(0.504))
    assert (told.event, told.text, told.progress) == ("progress", "50% turned", 0.504)


async def test_a_job_in_a_robot_at_fault_connects_anew_and_once(
    controller: JobController, fake: Any
) -> None:
    await controller.start(StartRequest(kind="home"))
    await controller.finished()
    assert fake.motion.done.count("open") == 1
    fake.motion.open_fault = RobotError("board-absent", "it is gone", "look")
    await controller.stop(emergency=True)
    with pytest.raises(RobotError, match="it is gone"):
        await controller.start(StartRequest(kind="home"))
    fault = controller.status().fault
    assert fault is not None and fault.code == "board-absent"
    fake.motion.open_fault = None
    await controller.start(StartRequest(kind="home"))
    await controller.finished()
    assert (controller.state, controller.status().fault) == (RobotState.IDLE, None)


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


class Nothing(ApiDocument):
    """Of what is tried."""


class Maintained:
    """Maintenance of a controller, whose robot is put together from the profiles in ``made``."""

    def __init__(self, controller: JobController, fake: Any, maintenance_of: Any) -> None:
        self.controller, self.fake = controller, fake
        self.mode = maintenance_of(controller, fake)
        self.made: list[Any] = []
        self.fails: Exception | None = None
        self.mode._make_machine = self._make
        self.benches: list[Bench] = []
        self.vouched: list[Any] = []

    def _make(self, profile: Any) -> Any:
        self.made.append(profile)
        if self.fails is not None:
            raise self.fails
        return self.fake.machine()

    def trial(self, renews: bool = True) -> Trial[ApiRequest, Nothing]:
        def tried(bench: Bench, _: ApiRequest) -> Nothing:
            self.benches.append(bench)
            return Nothing()

        def vouches(profile: Any, asked: ApiRequest) -> tuple[str, ...]:
            self.vouched.append(asked)
            return ("lid",)

        return Trial("try", "", ApiRequest, Nothing, tried, vouches=vouches, renews=renews)

    async def perform(self, renews: bool = True) -> Bench:
        await self.mode.perform(self.trial(renews), ApiRequest())
        return self.benches[-1]


@pytest.fixture
def maintained(controller: JobController, fake: Any, maintenance_of: Any) -> Maintained:
    return Maintained(controller, fake, maintenance_of)


def pulse(profile: Any, name: str) -> int:
    return int(profile.actuators["lid"].positions_us[name])


async def test_what_is_kept_and_what_is_tried_out_count_for_a_trial(
    maintained: Maintained,
) -> None:
    mode = maintained.mode
    mode.enter()
    assert mode._contact.calibrating
    kept = await mode.save({OPEN: 1340})
    assert kept.values == {OPEN: 1340}
    tried = await mode.try_out({CLOSE: 1510})
    assert tried.values == {OPEN: 1340, CLOSE: 1510}
    bench = await maintained.perform()
    assert (pulse(bench.profile, "open"), pulse(bench.profile, "close")) == (1340, 1510)
    assert bench.kept is not None
    assert (pulse(bench.kept, "open"), pulse(bench.kept, "close")) == (1340, 1500)
    assert bench.machine is maintained.controller.machine
    assert len(maintained.made) == 1
    assert pulse(maintained.made[0], "close") == 1510
    await maintained.perform()
    assert len(maintained.made) == 1, "nothing has changed since"
    both = await mode.save({OPEN: 1345})
    assert both.values == {OPEN: 1345, CLOSE: 1510}
    assert mode._contact.confirmed == both.values
    await maintained.perform(renews=False)
    assert len(maintained.made) == 1
    await mode.leave()
    assert not mode._contact.calibrating
    assert (await mode.values()).values == {OPEN: 1345}
    assert mode._contact.confirmed == {OPEN: 1345}
    assert pulse(maintained.made[-1], "close") == 1500
    assert maintained.controller.state is RobotState.IDLE


async def test_what_was_tried_out_before_gives_way(maintained: Maintained) -> None:
    mode = maintained.mode
    mode.enter()
    await mode.try_out({CLOSE: 1510})
    assert (await mode.try_out({OPEN: 1320})).values == {OPEN: 1320}
    with pytest.raises(BadCalibration):
        await mode.try_out({OPEN: 1})
    assert (await mode.values()).values == {OPEN: 1320}
    with pytest.raises(BadCalibration):
        await mode.save({CLOSE: 1})
    assert (await mode.save({OPEN: 1350, CLOSE: None})).values == {OPEN: 1320}
    await mode.leave()
    assert (await mode.values()).values == {OPEN: 1350}


async def test_outside_of_maintenance_nothing_is_calibrated(maintained: Maintained) -> None:
    mode = maintained.mode
    save, try_out = partial(mode.save, {}), partial(mode.try_out, {})
    for work in (save, try_out, mode.restore, maintained.perform):
        with pytest.raises(Conflict) as refused:
            await work()
        assert code_of(refused) == "not-in-maintenance"
    mode.enter()
    maintained.controller.estop_open = True
    with pytest.raises(Conflict) as refused:
        await maintained.perform()
    assert code_of(refused) == "estop-open"


async def test_the_version_before_comes_back_and_goes_again(maintained: Maintained) -> None:
    mode = maintained.mode
    mode.enter()
    with pytest.raises(Conflict) as refused:
        await mode.restore()
    assert code_of(refused) == "nothing-before"
    await mode.save({OPEN: 1340})
    await mode.leave()
    mode.enter()
    await mode.save({OPEN: 1345})
    await mode.save({OPEN: 1350})
    assert (await mode.restore()).values == {OPEN: 1340}
    assert mode._contact.confirmed == {OPEN: 1340}
    assert (await mode.restore()).values == {OPEN: 1350}
    await mode.leave()
    assert pulse(maintained.made[-1], "open") == 1350


async def test_a_robot_that_cannot_be_put_together_is_a_fault(maintained: Maintained) -> None:
    mode = maintained.mode
    mode.enter()
    await mode.save({OPEN: 1340})
    maintained.fails = BadCalibration("it does not fit")
    await mode.leave()
    fault = maintained.controller.status().fault
    assert fault is not None and "it does not fit" in fault.cause
    assert maintained.controller.state is RobotState.FAULT
    assert not maintained.controller.is_calibrated


async def test_a_correction_at_the_end_of_a_job_is_all_or_nothing(maintained: Maintained) -> None:
    mode = maintained.mode
    before = maintained.controller.machine
    await mode.adjust({OPEN: 1340})
    assert maintained.controller.machine is not before
    assert mode._contact.confirmed == {}, "nobody has confirmed what was corrected"
    assert pulse(maintained.made[0], "open") == 1340
    await mode.adjust({OPEN: 1345})
    assert (await mode.values()).values == {OPEN: 1345}
    mode.enter()
    assert (await mode.restore()).values == {}, "the version before the first"
    await mode.restore()
    maintained.fails = BadCalibration("it does not fit")
    with pytest.raises(BadCalibration):
        await mode.adjust({OPEN: 1350})
    assert (await mode.values()).values == {OPEN: 1345}


@pytest.mark.parametrize(("profile_name", "noted"), [("cubotino", False), ("mindcuber", True)])
async def test_motors_that_may_stand_askew_are_noted_until_the_mode_ends(
    maintained: Maintained, noted: bool
) -> None:
    mode = maintained.mode
    mode.enter()
    await maintained.perform()
    store = mode._store
    assert (store.broken_off is not None) is noted
    await mode.leave()
    assert store.note_over() is False


async def test_after_a_job_there_is_nothing_to_stop(controller: JobController, fake: Any) -> None:
    await controller.start(StartRequest(kind="home"))
    await controller.finished()
    fake.motion.done.clear()
    assert await controller.stop() is False
    assert fake.motion.done == []


async def test_a_picture_is_taken_at_rest_and_is_the_job_s_own_meanwhile(
    controller: JobController, fake: Any, eventually: Any
) -> None:
    assert (await controller.picture(None)).jpeg == b"preview"
    assert fake.scanner.previews == 1
    with pytest.raises(InvalidRequest, match="there is no 'up'"):
        await controller.picture("up")
    fake.motion.hold = threading.Event()
    await controller.start(SOLVE)
    await eventually(fake.motion.moving)
    with contextlib.suppress(Conflict):
        await controller.picture(None)
    assert fake.scanner.previews == 1, "the job is not kept waiting for the camera"


async def test_reading_is_made_ready_before_the_search(
    controller: JobController, fake: Any
) -> None:
    done: list[str] = []
    fake.scanner.prepare = lambda: done.append("reading")
    fake.planner.prepare = lambda *_: done.append("search")
    controller.prepare()
    await controller.preparation.finished()
    assert done == ["reading", "search"]


async def test_what_has_moved_is_among_the_warnings(controller: JobController) -> None:
    note = Note.of("looked-again-unsure", faces=None)
    controller.drift = SimpleNamespace(notes=[note], estimates=[])  # type: ignore[assignment]
    status = controller.status()
    assert status.warnings == [note]
    assert [one.code for one in status.notes] == ["looked-again-unsure"]
    controller.drift = None


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


@pytest.mark.parametrize("failing", [True, False])
async def test_a_record_that_is_not_closed_is_no_reason_to_connect_anew(
    controller: JobController, fake: Any, failing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise FileNotFoundError("gone meanwhile")

    if failing:
        monkeypatch.setattr("robot.records.runs.RunWriter.finish", fail)
    fake.motion.done.clear()
    await controller.start(StartRequest(kind="home"))
    await controller.finished()
    assert controller.status().homed
    assert fake.motion.done == ["home"]


async def test_a_cube_that_was_told_is_in_the_record(controller: JobController) -> None:
    facelets = SCRAMBLED.facelets()
    run_id = await controller.start(StartRequest(facelets=facelets))
    await controller.finished()
    assert (await controller.run_record(run_id)).facelets == facelets
