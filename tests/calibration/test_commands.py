"""The commands of calibration: values kept, imported, restored; screens that end; the wizard."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot.api.client import ControlClient, RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.step import Session
from robot.calibration.versions import VersionFiles
from robot.cli.main import run
from robot.machine.confirmed_range import confirmable
from robot.machine.scanner import as_jpeg
from robot.settings import load_profile
from robot.text.faults import Stopped
from robot.twin.studio import OddScene
from solver.cube.cube import Cube
from solver.errors import ExitCode
from tests.calibration.conftest import keep, painted, show_cube
from vision.frame import Frame

ALL_OF_IT = confirmable(load_profile("cubotino"))
LID = "actuators.lid.positions_us"

SOLVED = Cube.solved().facelets()
MENU: tuple[str, ...] = ()
ALL = ("all", "--robot", "cubotino", "--real")
FILE = {"format": 2, "robot": "cubotino", "size": 3, "values": {}}


def test_a_position_is_tried_kept_exported_and_imported(daemon, ask, tmp_path):
    key, file = f"{LID}.open", tmp_path / "mine.json"
    code, (last,), err = ask("calibration", "restore")
    assert code != 0 and "no version to go back to" in err and last["reason"] in err
    code, (told,), _ = ask("calibrate", "servo", "lid", "open", "--to", "1345", "--from", "1335")
    assert (code, told) == (0, {"key": key, "before": 1335, "after": 1345, "saved": True})
    assert "jog lid 1345" in daemon.motion.done
    assert ask("calibration", "diff")[1] == [{"key": key, "profile": 1335, "calibrated": 1345}]
    ask("calibration", "export", str(file))
    ask("calibrate", "servo", "lid", "open", "--to", "1355")
    assert ask("calibration", "import", str(file))[1][0]["values"] == {key: 1345}


def test_the_camera_s_picture_is_saved_drawn_and_judged(daemon, ask, tmp_path, capfd, monkeypatch):
    jpeg, covered = painted("cubotino"), painted("cubotino", OddScene.HAND)
    daemon.scanner.picture = lambda _: jpeg
    code, (told,), _ = ask("calibrate", "camera", "--save-to", str(tmp_path / "now.jpg"))
    assert (code, told["camera"], list(told["views"])) == (0, "top", ["U"])
    assert (tmp_path / "now.jpg").read_bytes() == jpeg
    assert run(["calibrate", "camera", "--width", "40"]) == 0
    assert "▀" not in capfd.readouterr().out, "without colours all of them are the same"
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert run(["calibrate", "camera", "--width", "40"]) == 0
    shown = capfd.readouterr().out.splitlines()
    assert [line.count("▀") for line in shown] == [40] * 15 + [0]
    daemon.scanner.picture = lambda _: covered
    code, (told,), _ = ask("calibrate", "camera")
    assert (code, told["views"]["U"][0].partition(":")[0]) == (1, "in view")


@pytest.mark.parametrize(
    ("ending", "hang_ups", "screens"),
    [
        pytest.param("hang-up", "default", MENU, marks=pytest.mark.long),
        ("hang-up", "ignore", ALL),
        pytest.param("SIGHUP", "default", MENU, marks=pytest.mark.long),
        pytest.param("SIGKILL", "default", MENU, marks=pytest.mark.long),
        ("SIGTERM", "default", ALL),
        pytest.param("leave", "default", MENU, marks=pytest.mark.long),
    ],
)
def test_the_screens_leave_the_mode_whatever_ends_them(daemon, ending, hang_ups, screens):
    """Run the command as over SSH: it leads its own terminal, which may go away."""
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
    while client.status()["state"] == "maintenance":
        pass  # until the daemon notices, within a moment, that the connection has closed


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
    """Read a terminal's output, so that no writer blocks."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


def exported(folder: Path, **changes: Any) -> str:
    """Write a file of an earlier release; return its path."""
    file = folder / "mine.json"
    file.write_text(json.dumps(FILE | changes))
    return str(file)


def unconfirmed() -> list[str]:
    return list(ControlClient().status()["calibration"]["unconfirmed"])


def test_a_file_confirms_only_what_was_confirmed_here(daemon, ask, tmp_path):
    file = exported(tmp_path, robot="mindcuber", values=ALL_OF_IT)
    code, _, err = ask("calibration", "import", file)
    assert code == 2 and "--from-another mindcuber" in err
    code, _, err = ask("calibration", "import")
    assert code == 2 and "give a FILE" in err
    code, _, err = ask("calibration", "import", file, "--from-another", "two-arm")
    assert code == 2 and "a calibration of mindcuber" in err
    assert ask("calibration", "show")[1][0]["values"] == {}
    code, (taken,), _ = ask("calibration", "import", file, "--from-another", "mindcuber")
    assert (code, taken["values"]) == (0, ALL_OF_IT)
    assert {one["robot"] for one in taken["sources"].values()} == {"mindcuber"}
    assert unconfirmed() == list(ALL_OF_IT)
    keep(ALL_OF_IT)
    assert unconfirmed() == []
    other = f"{LID}.open"
    file = exported(tmp_path, values=ALL_OF_IT | {other: 1345})
    code, (taken,), _ = ask("calibration", "import", file)
    assert (code, taken["values"][other], unconfirmed()) == (0, 1345, [other])
    client = ControlClient()
    with client.maintenance():
        client.call(Endpoint("PUT", "/calibration"), {"values": {other: 1345}})
        assert unconfirmed() == []
        client.call(Endpoint("POST", "/calibration/undo"), {})
        assert unconfirmed() == [other]
        with pytest.raises(RequestError, match="nothing was kept"):
            client.call(Endpoint("POST", "/calibration/undo"), {})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"robot": None}, ""),
        ({"values": {"policy.search_s": math.nan}}, ""),
        ({"format": 9}, "format 9"),
        ({"size": 5}, "cubes of 5 layers.*set up for 3"),
        ({"size": [1]}, '"size" is not a number'),
        ({"values": ALL_OF_IT | {f"{LID}.close": 1345}}, "lid.*close"),
        ({"values": {"colours.linear_rgb.U": ["white"] * 3}}, "colours"),
    ],
)
def test_what_no_calibration_of_this_robot_can_be_is_refused(changes, said, daemon, ask, tmp_path):
    code, (last,), err = ask("calibration", "import", exported(tmp_path, **changes))
    assert (code, last.keys()) == (2, {"error", "reason"}) and re.search(said, err)
    if values := changes.get("values"):
        with pytest.raises(RequestError, match=said or "."):
            keep(values)
    assert ask("calibration", "show")[1][0]["values"] == {}


def test_a_session_is_one_version_whose_values_say_where_they_come_from(
    daemon, ask, capfd, tmp_path
):
    session = Session()
    keep(ALL_OF_IT)
    with session.maintenance():
        for place in (1340, 1345, 1350):
            session.keep({f"{LID}.open": place})
        session.keep({f"{LID}.flip": 1060}, "auto", {f"{LID}.flip": 14})
    listed = ask("calibration", "versions")[1]
    assert [(one["version"], one["changed"]) for one in listed] == [(1, 6), (2, 2)]
    (now,) = ask("calibration", "show")[1]
    flip = now["sources"][f"{LID}.flip"]
    assert (flip["how"], flip["uncertain"], flip["confirmed"]) == ("auto", 14, True)
    assert run(["status"]) == 0
    said = capfd.readouterr().out
    assert "version 2" in said and "colours" in said
    assert run(["calibration", "show"]) == 0
    shown = capfd.readouterr()
    assert f"{LID}.flip: 1060  # measured by `auto`" in shown.out and "version 2" in shown.err
    code, (restored,), _ = ask("calibration", "restore")
    assert code == 0 and restored["values"] == ALL_OF_IT
    changes = {one["key"]: (one["before"], one["after"]) for one in restored["changes"]}
    assert changes == {f"{LID}.open": (1350, 1335), f"{LID}.flip": (1060, 1050)}
    assert ask("calibration", "restore")[1][0]["values"][f"{LID}.open"] == 1350
    assert ask("calibration", "restore", "0")[1][0]["values"] == {}
    assert unconfirmed() == list(ALL_OF_IT)
    assert ask("calibration", "restore", "1")[1][0]["values"] == ALL_OF_IT
    code, _, err = ask("calibration", "restore", "77")
    assert code == 2 and "no version 77" in err
    VersionFiles(tmp_path / "state").path("cubotino", 1).write_text("{")
    assert run(["calibration", "versions"]) == 0
    first, *_, last = capfd.readouterr().out.splitlines()
    assert first.split()[:4] == ["1", "cannot", "be", "read:"]
    assert "6 values" in last and last.split()[0].endswith("*")


def test_who_breaks_a_session_off_is_told_what_stays(daemon, ask):
    keep(ALL_OF_IT)
    daemon.motion.home = lambda *_: os.kill(child.pid, signal.SIGINT)
    with subprocess.Popen(
        [sys.executable, "-m", "robot.cli.main", "calibrate", *ALL, "--yes", "--set=lid.open=1340"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        _, said = child.communicate()
    assert child.returncode == 4
    assert "1 value that was kept" in said and "calibration restore" in said
    assert ask("calibration", "show")[1][0]["values"] == ALL_OF_IT | {f"{LID}.open": 1340}
    assert ask("calibration", "restore")[1][0]["values"] == ALL_OF_IT


def test_who_takes_over_ends_the_other_s_motion_and_the_other_is_told(daemon, ask, monkeypatch):
    moving = threading.Event()

    def homes_until_stopped(*_: Any) -> None:
        moving.set()
        assert daemon.motion.cancelled.wait(60)
        raise Stopped

    monkeypatch.setattr(daemon.motion, "home", homes_until_stopped)
    command = [sys.executable, "-m", "robot.cli.main", "calibrate", "home", "--as-profile"]
    other = subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True)
    with other:
        assert moving.wait(60)
        calibrator = ControlClient().status()["calibrator"]
        assert calibrator is not None and calibrator["process"] == other.pid
        place = ("servo", "lid", "open", "--to", "1345", "--from", "1335")
        (refused,) = ask("calibrate", *place)[1]
        assert refused["error"] == "request-refused" and f"pid {other.pid}" in refused["reason"]
        code, (told,), _ = ask("calibrate", "--take-over", *place)
        assert (code, told["saved"]) == (0, True)
        (last,) = map(json.loads, other.communicate()[0].splitlines())
    assert other.returncode == ExitCode.STOPPED
    assert last["error"] == "calibration-stopped" and f"pid {os.getpid()}" in last["reason"]
    assert ControlClient().status()["calibrator"] is None


def test_steps_of_the_wizard_can_be_left_out_and_answer_for_it(daemon, ask):
    show_cube(daemon, SOLVED)
    daemon.scanner.readings = [SOLVED]
    command = ("calibrate", "all", "--robot", "cubotino")
    steps = [f"--skip={step}" for step in ("home", "positions", "camera")]
    code, told, err = ask(*command, "--yes", *steps)
    assert code == 0 and "shows the values kept" in err
    assert [document["step"] for document in told] == ["colours", "timing"]
    steps = [f"--skip={step}" for step in ("home", "positions", "colours", "timing")]
    for grey, why in ((128, "no cube"), (0, "the picture is too dark")):
        empty = as_jpeg(Frame(np.full((480, 640, 3), grey, np.uint8), "top", 0))
        daemon.scanner.picture = lambda _, empty=empty: empty
        code, told, _ = ask(*command, "--yes", *steps)
        assert code == 1
        assert told[-1]["views"]["U"][0].startswith(f"in view: {why}")
    for wrong, why in (
        (command, "--yes"),
        ((*command, "--yes", "--set", "lid.ajar=1"), "lid.open"),
        (("calibrate", "all", "--robot", "two-arm", "--yes"), "cubistd controls cubotino, not two"),
    ):
        code, _, err = ask(*wrong)
        assert code == 2 and why in err


def test_the_wizard_practises_on_a_simulated_robot_where_no_daemon_runs(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    code, told, err = ask("calibrate", "all", "--robot", "cubotino", "--yes", "--set=lid.open=1345")
    assert code == 0, err
    kept = next(one["values"] for one in told if one.get("step") == "positions")
    assert kept == ALL_OF_IT | {"actuators.lid.positions_us.open": 1345}
    order = list(dict.fromkeys(document["step"] for document in told if "step" in document))
    assert order == ["positions", "home", "camera", "colours", "timing"]
    assert [document["saved"] for document in told if document.get("step") == "colours"] == [True]
    timing = next(one for one in told if one.get("step") == "timing")
    assert all(row["planned_us"] == row["measured_us"] for row in timing["operations"])
    assert "practising" in err
    assert "all steps are done; nothing was kept" in err
