"""``cubistd`` as a service: flags, lock and journal; its start and end around a fake robot."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import aiohttp
import pytest

from robot.api.endpoints import SESSION_HEADER, RobotState
from robot.api.models import StartRequest
from robot.calibration.drift import FIRST_SOLVES, DriftRecord, DriftStore
from robot.calibration.sighting import PoseDeviation
from robot.calibration.store import CalibrationStore
from robot.calibration.versions import CubeSizes
from robot.daemon import main as daemon_main
from robot.daemon.job_control import JobController
from robot.daemon.main import POWER_OFF_MARK, LoadedProfile, keep_manager_informed, main, serve
from robot.daemon.service import (
    END_SIGNALS,
    ON_PURPOSE,
    EndSignals,
    Notifier,
    hold_lock,
    make_parser,
    parse,
)
from robot.panel.gpio import PanelError
from robot.records.profile_versions import ProfileVersions
from robot.records.runs import RunStore, utc_now
from robot.records.storage import TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from robot.settings import load_profile, profile_path
from robot.text.faults import RobotError
from solver.errors import InvalidRequest
from tests.rig.profiles import kept

MAY = date(2026, 5, 3)
CUBOTINO = load_profile("cubotino")


def start(folder: Path, *more: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["--runtime-dir", str(folder / "run"), "--state-dir", str(folder / "state"), *more])
    return ended.value.code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("size: 3", "sise: 3"),
        ("kind: picamera2", "kind: simulated"),  # without --twin
        (None, None),
    ],
)
def test_bad_configuration_is_for_a_person(tmp_path, monkeypatch, capsys, before, after):
    monkeypatch.setenv("JOURNAL_STREAM", "8:1234")
    mine = tmp_path / "mine.yaml"
    if before is not None:
        mine.write_text(profile_path("cubotino").read_text().replace(before, after))
    assert start(tmp_path, "--profile", str(mine)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(line.startswith("<3>") for line in lines)


def test_a_simulated_robot_that_is_not_there_is_the_robot_s_failure(tmp_path):
    assert start(tmp_path, "--twin", str(tmp_path / "twin.sock"), "--port", "/dev/null") == 3


def test_an_empty_setting_has_its_default_and_a_wrong_one_is_refused(tmp_path, capsys):
    empty = dict.fromkeys(re.findall(r"CUBIST_\w+", make_parser({}).epilog or ""), "")
    places = ["--runtime-dir", str(tmp_path), "--state-dir", str(tmp_path)]
    assert empty and parse(places, empty) == parse(places, {})
    assert parse(places, {"CUBIST_LOG_LEVEL": "INFO"}) == parse(places, {})
    with pytest.raises(SystemExit) as ended:
        parse(places, {"CUBIST_LOG_LEVEL": "loud"})
    assert ended.value.code == 2 and "CUBIST_LOG_LEVEL" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "make"), [("run", Path.touch), ("run/cubistd.lock", Path.mkdir)])
def test_a_file_in_place_of_the_state_directory_or_lock_is_named(tmp_path, name, make, capsys):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    make(path)
    assert start(tmp_path) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert " ERROR   " in line and f"{path}: " in line


HOLDER = """
import sys, time
from pathlib import Path
from robot.daemon.service import hold_lock
with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_owner_is_told_who_holds_the_lock_and_a_killed_one_leaves_none(tmp_path):
    path = tmp_path / "cubistd.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(InvalidRequest, match=f"process {holder.pid}"), hold_lock(path):
            pass
        holder.kill()
        holder.wait()
    for _ in range(2):
        with hold_lock(path):
            pass


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_hears_how_it_is(abstract, tmp_path):
    address = f"@cubist-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    notifier = Notifier(address)
    notifier.alive()  # the manager is not there yet
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + address[1:] if abstract else address)
        manager.settimeout(30)
        notifier.ready("two\nlines  here")
        notifier.status("idle")
        notifier.alive()
        notifier.stopping("bye")
        heard = [manager.recv(1000).decode() for _ in range(4)]
    assert heard == [
        "READY=1\nSTATUS=two lines here",
        "STATUS=idle",
        "WATCHDOG=1",
        "STOPPING=1\nSTATUS=bye",
    ]
    Notifier(None).alive()


class Served:
    """A daemon of the fake robot; ``then`` is called once it is ready."""

    def __init__(self, fake: Any, folder: Path) -> None:
        self.fake, state = fake, folder / "state"
        places = ["--runtime-dir", str(folder), "--state-dir", str(state), "--port", "/p"]
        self.options = parse(places, {})
        self.options.state_dir.mkdir()
        self.then: Callable[[], object] = lambda: os.kill(os.getpid(), signal.SIGTERM)
        self.manager = Mock(watchdog_s=None, address=None)
        self.manager.ready.side_effect = lambda _: asyncio.get_running_loop().call_soon(self.then)
        self.signals = EndSignals()
        self.make = Mock(side_effect=lambda *_, **__: fake.machine())
        self.controllers: list[JobController] = []

    async def run(self) -> JobController:
        async with asyncio.timeout(60):
            loaded = LoadedProfile(CUBOTINO)
            versions = ProfileVersions(self.options.state_dir, "cubotino")
            await serve(loaded, versions, self.options, self.manager, self.signals)
        return self.controllers[-1]


@pytest.fixture
def served(fake: Any, short_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Return the daemon's parts. ``fake.distrusted`` records the reasons to distrust positions."""
    served = Served(fake, short_folder)
    fake.distrusted = []

    def distrust(why: Any) -> None:
        fake.distrusted.append(why)
        fake.motion.has_lost_positions = True

    def make_controller(*arguments: Any, **more: Any) -> JobController:
        served.controllers.append(JobController(*arguments, **more))
        return served.controllers[-1]

    no_gpio = Mock(side_effect=PanelError("no chip of GPIOs"))
    monkeypatch.setattr(fake.motion, "mark_positions_lost", distrust)
    monkeypatch.setattr(daemon_main, "make_machine", served.make)
    monkeypatch.setattr(daemon_main, "JobController", make_controller)
    monkeypatch.setattr(daemon_main, "make_gpio", no_gpio)
    return served


async def test_motion_is_stopped_before_the_socket_closes(served, fake, eventually, monkeypatch):
    was_open: list[bool] = []
    stop, begun = fake.motion.stop, []

    def noted() -> None:
        was_open.append(served.options.socket_path.exists())
        stop()

    async def end_a_job() -> None:
        await served.controllers[-1].start(StartRequest())
        await eventually(fake.motion.moving)
        os.kill(os.getpid(), signal.SIGTERM)

    fake.motion.hold = threading.Event()
    monkeypatch.setattr(fake.motion, "stop", noted)
    served.then = lambda: begun.append(asyncio.create_task(end_a_job()))
    controller = await served.run()
    assert was_open[0]
    (ended,) = (await controller.library.runs(1)).runs
    assert ended.outcome == "stopped"


async def test_motors_turn_back_before_a_calibrating_daemon_ends(served, fake):
    path, cancelled = served.options.socket_path, list[bool]()

    def bring_back(_: object) -> tuple[str, ...]:
        while path.exists() and not fake.motion.cancelled.wait(0.01):
            pass
        cancelled.append(fake.motion.cancelled.wait(0.3))
        return ()

    async def calibrate() -> None:
        connector = aiohttp.UnixConnector(str(path))
        async with (
            aiohttp.ClientSession("http://localhost", connector=connector) as client,
            client.post("/maintenance") as lease,
        ):
            body = {"values": {"actuators.lid.positions_us.open": 1340}}
            session = {SESSION_HEADER: lease.headers[SESSION_HEADER]}
            async with client.put("/calibration", json=body, headers=session) as answer:
                assert answer.ok
            os.kill(os.getpid(), signal.SIGTERM)
            with suppress(aiohttp.ClientError):
                await lease.read()

    begun: list[asyncio.Task[None]] = []
    fake.motion.bring_back = bring_back
    served.then = lambda: begun.append(asyncio.create_task(calibrate()))
    controller = await served.run()
    await begun[0]
    assert (cancelled, controller.is_calibrated) == ([False], False)


@pytest.mark.parametrize("number", sorted({*END_SIGNALS} - {signal.SIGALRM}))  # the time limit's
async def test_a_signal_ends_the_daemon_in_order(served, number, caplog):
    caplog.set_level("INFO")
    served.then = lambda: os.kill(os.getpid(), number)
    controller = await served.run()
    told = [what for what, *_ in served.manager.method_calls if what != "alive"]
    assert list(dict.fromkeys(told)) == ["status", "ready", "stopping"], "a status for each change"
    (status,) = served.manager.ready.call_args.args
    assert status.startswith("idle"), "perhaps still loading tables"
    assert served.manager.alive.called
    assert served.fake.motion.done[0] == "open" and served.fake.motion.done[-1] == "close"
    assert not served.options.socket_path.exists()
    assert not (served.options.runtime_dir / POWER_OFF_MARK).exists()
    assert (controller.state, controller.preparation.state) == (RobotState.IDLE, None)
    assert controller.store.directory == served.options.state_dir / "runs"
    assert "no panel: no chip of GPIOs" in caplog.messages
    assert served.fake.distrusted == []
    served.make.assert_called_once()
    (profile,), options = served.make.call_args
    assert (profile, options["port"], options["twin"]) == (CUBOTINO, "/p", None)
    assert (options["contact"].confirmed, controller.status().simulated) == ({}, False)
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing goes on"
    # systemd restarts a process that did not end on purpose.
    assert served.signals.exit_code == (0 if number in ON_PURPOSE else 128 + number)


async def test_what_is_calibrated_and_what_has_moved_is_known_from_the_start(served, caplog):
    key, store = "actuators.lid.positions_us.open", served.options.state_dir
    sizes = CubeSizes(CUBOTINO)
    values = CalibrationStore(store, sizes)
    values.save(kept(CUBOTINO.name, {key: 1340}))
    values.note_under_way()
    record = DriftRecord.begin(CUBOTINO, MAY)
    for degrees in [0.0] * FIRST_SOLVES + [3.0] * 20:
        record = record.add_solve([PoseDeviation("holder", "home", degrees, 0.0, 0.0)])
    DriftStore(store).save(record)
    left = store / f"{TEMPORARY_PREFIX}calibration.json.1{TEMPORARY_SUFFIX}"
    left.touch()
    status: list[Any] = []

    def then() -> None:
        status.append(served.controllers[-1].status())
        os.kill(os.getpid(), signal.SIGTERM)

    served.then = then
    await served.run()
    (profile,), options = served.make.call_args
    assert profile.actuators["lid"].positions_us["open"] == 1340
    assert options["contact"].confirmed == {key: 1340}
    (distrust,) = served.fake.distrusted
    assert distrust.names is None and "calibration was interrupted" in distrust.cause.cause
    assert values.broken_off is not None, "nobody was told, and nothing is homed"
    assert "calibration was interrupted: motors may be out of position" in caplog.messages
    assert not left.exists()
    (moved,) = status[0].drift
    assert (moved.actuator, moved.position, moved.since) == ("holder", "home", MAY)
    assert "holder home has moved 3.0 degrees" in status[0].warnings[0]


async def test_what_broke_off_is_known_until_it_is_resolved(served, monkeypatch):
    monkeypatch.setattr(daemon_main, "STATUS_EVERY_S", 0.01)
    values = CalibrationStore(served.options.state_dir)
    RunStore(served.options.state_dir / "runs").begin("home", "cubotino", utc_now())
    for _ in range(3):  # it restarts before anybody has asked for anything
        await served.run()
        assert values.broken_off == "a job"
    assert len(served.fake.distrusted) == 3
    assert len({distrust.cause.code for distrust in served.fake.distrusted}) == 1

    def resolve() -> None:
        served.fake.motion.has_lost_positions = False
        asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGTERM)

    served.then = resolve
    await served.run()
    assert values.broken_off is None
    served.fake.distrusted.clear()
    await served.run()
    assert served.fake.distrusted == []


async def test_a_robot_that_is_not_there_is_no_reason_not_to_start(served):
    served.fake.motion.open_fault = RobotError("board-absent", "it is gone", "Plug it in")
    await served.run()
    served.manager.ready.assert_called_once_with("fault: it is gone")


@pytest.mark.parametrize(("watchdog_s", "period_s"), [(None, 1.0), (2.4, 0.8), (60.0, 1.0)])
async def test_the_manager_hears_in_time(controller, monkeypatch, watchdog_s, period_s):
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:
            controller.enter_maintenance()
        if len(slept) == 3:
            raise asyncio.CancelledError

    manager = Mock(watchdog_s=watchdog_s)
    monkeypatch.setattr(daemon_main.asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await keep_manager_informed(controller, manager)
    assert slept == [pytest.approx(period_s)] * 3
    assert manager.method_calls == [
        *(call.status("idle"), call.alive(), call.alive()),
        *(call.status("maintenance"), call.alive()),
    ]
