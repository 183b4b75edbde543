"""Calibration over the control socket: tried, saved, undone; the mode ends with its connection."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from robot.api.client import ControlClient, RequestError
from robot.api.endpoints import Endpoint, RobotState
from robot.api.models import StartRequest
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration
from robot.cli.main import run
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.machine.assembly import Machine
from robot.machine.confirmed_range import ConfirmedRange
from robot.settings import RobotProfile, load_profile
from robot.text.faults import Conflict, RobotError
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import OddScene, Studio

KEY = "actuators.lid.positions_us.open"
LID_CLOSE = "actuators.lid.positions_us.close"
Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]


def until_idle(client: ControlClient) -> None:
    """The daemon notices within a moment that a connection has gone."""
    while client.status()["state"] == "maintenance":
        pass


def test_a_position_is_tried_and_saved(daemon: Any, ask: Ask, short_folder: Path) -> None:
    code, (told,), _ = ask("calibrate", "servo", "lid", "open", "--to", "1345", "--from", "1335")
    assert code == 0
    assert told == {"key": KEY, "before": 1335, "after": 1345, "saved": True}
    assert "jog lid 1345" in daemon.motion.done
    assert ask("calibration", "show")[1][0]["values"] == {KEY: 1345}
    assert ask("calibration", "diff")[1] == [{"key": KEY, "profile": 1335, "calibrated": 1345}]


def test_restore_export_import(daemon: Any, ask: Ask, tmp_path: Path) -> None:
    code, _, err = ask("calibration", "restore")
    assert code != 0
    assert "no version to go back to" in err
    ask("calibrate", "servo", "lid", "open", "--to", "1345", "--from", "1335")
    assert ask("calibration", "restore")[1][0]["values"] == {}
    assert ask("calibration", "restore")[1][0]["values"] == {KEY: 1345}
    ask("calibrate", "servo", "lid", "open", "--to", "1355")
    assert ask("calibration", "restore")[1][0]["values"] == {KEY: 1345}
    file = tmp_path / "mine.json"
    ask("calibration", "export", str(file))
    assert ask("calibration", "restore")[1][0]["values"] == {KEY: 1355}
    assert ask("calibration", "import", str(file))[1][0]["values"] == {KEY: 1345}
    file.write_text("{}")
    assert ask("calibration", "import", str(file))[0] == 2


@pytest.mark.parametrize(
    ("size", "text"), [("5", "cubes of 5 layers.*set up for 3"), ("[1]", '"size" is not a number')]
)
def test_a_calibration_for_another_cube_is_not_imported(
    daemon: Any, ask: Ask, tmp_path: Path, size: str, text: str
) -> None:
    file = tmp_path / "other.json"
    file.write_text(f'{{"format": 2, "robot": "cubotino", "size": {size}, "values": {{}}}}')
    code, answers, err = ask("calibration", "import", str(file))
    assert (code, answers) == (2, []) and re.search(text, err)


def test_the_mode_ends_when_the_connection_drops(daemon: Any) -> None:
    client = ControlClient()
    with socket.socket(socket.AF_UNIX) as broken:
        broken.connect(str(client.path))
        broken.sendall(b"POST /maintenance HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert broken.recv(100).startswith(b"HTTP/1.1 200")
        assert client.status()["state"] == "maintenance"
        with pytest.raises(RequestError, match="calibrated"):
            client.start("solve")
        with pytest.raises(RequestError, match="calibrated in a terminal"), client.maintenance():
            pass
    until_idle(client)
    client.start("home")


def test_single_steps_need_the_mode(daemon: Any) -> None:
    client = ControlClient()
    for method, path, body in (
        ("POST", "/maintenance/home", {}),
        ("POST", "/maintenance/move", {"actuator": "lid", "to": 1500}),
        ("GET", "/maintenance/picture", None),
        ("PUT", "/calibration", {"values": {}}),
        ("POST", "/calibration/restore", {}),
    ):
        with pytest.raises(RequestError, match="maintenance mode"):
            client.call(Endpoint(method, path), body)


def test_no_maintenance_in_a_job(daemon: Any) -> None:
    client = ControlClient()
    daemon.motion.hold = threading.Event()
    client.start("solve")
    assert daemon.motion.moving.wait(240)
    text = r"the robot is \w+ing \(run 1\): wait for it, or run `cubist stop`"
    with pytest.raises(RequestError, match=text), client.maintenance():
        pass
    client.stop()


def painted(light: float = 1.0, glare: float = 0.0, odd: OddScene | None = None) -> bytes:
    """A JPEG of what the simulated robot's camera sees."""
    studio = Studio(SimulatedRobot(load_profile("cubotino"), scrambled(3, 1)))
    studio.colour_cast((light, light, light))
    studio.glare(glare)
    studio.disturbances.odd = odd
    bgr = cv2.cvtColor(studio.shoot().image, cv2.COLOR_RGB2BGR)
    return bytes(cv2.imencode(".jpg", bgr)[1])


def test_the_camera_s_picture_and_advice(
    daemon: Any,
    ask: Ask,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jpeg = painted()
    daemon.scanner.picture = lambda _: jpeg
    code, (told,), _ = ask("calibrate", "camera", "--save-to", str(tmp_path / "now.jpg"))
    assert code == 0
    assert told == {
        "camera": "top",
        "views": {"U": ["all is well: one face, in focus, evenly lit"]},
    }
    assert (tmp_path / "now.jpg").read_bytes() == jpeg
    assert run(["calibrate", "camera", "--width", "40"]) == 0
    assert "▀" not in capfd.readouterr().out, "without colours all of them are the same"
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert run(["calibrate", "camera", "--width", "40"]) == 0
    shown = capfd.readouterr().out.splitlines()
    assert [line.count("▀") for line in shown] == [40] * 15 + [0]


@pytest.mark.parametrize(
    ("picture", "told"),
    [
        ({"light": 0.04}, "light: the face is dark"),
        ({"glare": 0.8}, "light: there is a reflection at the middle"),
        ({"odd": OddScene.NO_CUBE}, "in view: no cube is in view"),
        ({"odd": OddScene.HAND}, "in view: "),
        ({"odd": OddScene.TWO_CUBES}, "in view: two cubes"),
        ({"odd": OddScene.WRONG_SIZE}, "in view: a 2x2x2"),
    ],
    ids=str,
)
def test_a_view_that_is_not_as_it_should_be_is_no(
    daemon: Any, ask: Ask, picture: dict[str, Any], told: str
) -> None:
    jpeg = painted(**picture)
    daemon.scanner.picture = lambda _: jpeg
    code, (seen,), _ = ask("calibrate", "camera")
    assert code == 1
    assert seen["views"]["U"][0].startswith(told)


def test_the_place_of_a_face_is_found_and_kept(daemon: Any, ask: Ask) -> None:
    jpeg = painted()
    daemon.scanner.picture = lambda _: jpeg
    key = "cameras.top.views.U.quad"
    _, (tried,), _ = ask("calibrate", "camera", "--place", "U", "--try")
    assert (tried["key"], tried["saved"]) == (key, False)
    assert np.abs(np.array(tried["after"]) - np.array(tried["before"])).max() < 0.01
    assert ask("calibrate", "camera", "--place", "U")[1][0]["saved"] is True
    assert ask("calibration", "show")[1][0]["values"] == {key: tried["after"]}
    code, _, err = ask("calibrate", "camera", "--place", "B")
    assert code == 2
    assert "camera top sees U" in err


@pytest.mark.parametrize(
    "arguments", [(), ("servo",), ("servo", "lid", "open"), ("camera", "--live")]
)
def test_without_a_terminal_nobody_is_asked(
    daemon: Any, ask: Ask, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(["calibrate", *arguments]) == 2
    assert "there is no terminal to ask at" in capfd.readouterr().err


MENU: tuple[str, ...] = ()
ALL = ("all", "--robot", "cubotino", "--real")


@pytest.mark.parametrize(
    ("ending", "hang_ups", "screens"),
    [
        ("hang-up", "default", MENU),
        ("hang-up", "ignore", ALL),
        pytest.param("SIGHUP", "default", MENU, marks=pytest.mark.long),
        ("SIGKILL", "default", MENU),
        ("SIGTERM", "default", ALL),
        ("leave", "default", MENU),
    ],
)
def test_the_screens_leave_the_mode_whatever_ends_them(
    daemon: Any, ending: str, hang_ups: str, screens: tuple[str, ...]
) -> None:
    """As over SSH: a terminal of its own, which the command leads, and which may go away."""
    client = ControlClient()
    terminal, theirs = pty.openpty()
    command = ["env", f"--{hang_ups}-signal=HUP", "setsid", "--ctty", sys.executable]
    command += ["-m", "robot.cli.main", "calibrate", *screens]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown, sign = b"", b"step 1" if screens else b"maintenance"
        while sign not in shown:
            shown += os.read(terminal, 65536)
        assert client.status()["state"] == "maintenance"
        end(process, terminal, ending)
    until_idle(client)


def end(process: subprocess.Popen[bytes], terminal: int, how: str) -> None:
    if how == "hang-up":
        os.close(terminal)
        return
    drain = threading.Thread(target=drained, args=(terminal,))
    drain.start()
    if how == "leave":
        os.write(terminal, b"\x11")
    else:
        process.send_signal(getattr(signal, how))
    process.wait()
    drain.join()
    os.close(terminal)


def drained(terminal: int) -> None:
    """Read what a terminal is sent, so that nobody waits for it to be read."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


async def test_saved_values_count_from_the_end_of_the_mode(
    fake: Any, controller: JobController, tmp_path: Path
) -> None:
    made: list[RobotProfile] = []

    def make(profile: RobotProfile) -> Machine:
        made.append(profile)
        return fake.machine()

    store = CalibrationStore(tmp_path / "state")
    profile = load_profile("cubotino")
    maintenance = Maintenance(controller, profile, store, ConfirmedRange({}), make)
    maintenance.enter()
    await maintenance.save({KEY: 1345})
    assert made == []
    await maintenance.leave()
    assert [profile.actuators["lid"].positions_us["open"] for profile in made] == [1345]
    assert fake.motion.done[-2:] == ["close", "open"]


async def test_what_is_tried_out_counts_until_the_mode_ends_and_is_never_stored(
    fake: Any, controller: JobController, tmp_path: Path
) -> None:
    store, contact = CalibrationStore(tmp_path / "state"), ConfirmedRange({})
    profile = load_profile("cubotino")
    made: list[RobotProfile] = []

    def make(calibrated: RobotProfile) -> Machine:
        made.append(calibrated)
        return fake.machine()

    maintenance = Maintenance(controller, profile, store, contact, make)
    maintenance.enter()
    await maintenance.save({KEY: 1340})
    await maintenance.try_out({KEY: 1345, LID_CLOSE: 1510})
    await maintenance.try_out({KEY: 1350})
    assert (await maintenance.values()).values == {KEY: 1350}
    assert contact.confirmed == {KEY: 1350}
    assert store.load(profile).values == {KEY: 1340}
    with pytest.raises(BadCalibration):
        await maintenance.try_out({KEY: 5000})
    assert (await maintenance.values()).values == {KEY: 1350}
    await maintenance.save({LID_CLOSE: 1505})
    assert store.load(profile).values == {KEY: 1340, LID_CLOSE: 1505}
    assert contact.confirmed == {KEY: 1350, LID_CLOSE: 1505}
    await maintenance.leave()
    assert contact.confirmed == {KEY: 1340, LID_CLOSE: 1505}
    assert made[-1].actuators["lid"].places["open"] == 1340


def test_a_client_that_dies_leaves_nothing_of_what_it_tried_out(daemon: Any, ask: Ask) -> None:
    client = ControlClient()
    with client.maintenance():
        client.call(Endpoint("PUT", "/calibration"), {"values": {KEY: 1345}, "provisional": True})
        assert client.call(Endpoint("GET", "/calibration"))["values"] == {KEY: 1345}
    assert ask("calibration", "show")[1][0]["values"] == {}
    with client.maintenance():
        assert client.call(Endpoint("GET", "/calibration"))["values"] == {}


async def test_an_emergency_stop_lets_nobody_else_in_before_the_first_has_left(
    fake: Any, controller: JobController, tmp_path: Path
) -> None:
    """Else the first one's leaving would end the mode of the second, or break into a job."""
    store, contact = CalibrationStore(tmp_path / "state"), ConfirmedRange({})
    made = fake.machine()
    maintenance = Maintenance(controller, load_profile("cubotino"), store, contact, lambda _: made)
    maintenance.enter()
    await controller.stop(emergency=True)
    with pytest.raises(Conflict, match="being calibrated"):
        maintenance.enter()
    with pytest.raises(RobotError, match="emergency stop"):
        await controller.start(StartRequest())
    await maintenance.leave()
    with pytest.raises(RobotError, match="emergency stop"):
        maintenance.enter()
    await controller.acknowledge()
    maintenance.enter()
    assert controller.state is RobotState.MAINTENANCE
