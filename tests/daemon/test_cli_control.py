"""The commands that talk to the daemon, against a real control socket of a fake robot."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading

import pytest

from robot.api.client import ControlClient
from robot.cli.main import run
from robot.records.runs import RunStore, utc_now
from robot.text.faults import FAULTS, RobotError, ScanError
from robot.text.outcomes import exit_code
from solver.cube.reading import parse_state
from solver.cube.sticker_cube import StickerCube
from solver.errors import ExitCode
from tests.rig.fake_robot import LIMIT_S

ENTER_SCREEN, LEAVE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


def test_commands_follow_their_jobs_and_print_the_record(daemon, ask, capfd):
    daemon.scanner.readings = ["scrambled", "solved", "solved"]
    code, (status,), _ = ask("status")
    assert (code, status["state"], status["homed"]) == (0, "idle", False)
    assert run(["status"]) == 0
    assert capfd.readouterr().out.startswith("idle  fake, not homed, cubistd 1.2.3")
    for command, expected in (
        (("start",), {"outcome": "solved", "moves": "R U"}),
        (("home",), {"kind": "home", "outcome": "done"}),
        (("scramble", "R U2"), {"kind": "scramble", "moves": "R U2"}),
        (("solve", "--scramble", "R", "--execute"), {"outcome": "solved", "attempts": 1}),
    ):
        code, (record,), err = ask(*command)
        assert (code, expected.items() <= record.items()) == (0, True), record
        assert "starting" not in err
    assert record["facelets"].startswith("UUFUUFUUF")
    assert len(daemon.scanner.seen) == 3 * 6, "a known cube is not looked at first"
    code, answers, err = ask("scramble", "Q")
    assert (code, answers[0]["error"]) == (2, "request-refused")
    assert "moves: 'Q' is no move" in err and "moves: 'Q' is no move" in answers[0]["reason"]
    listed = ask("runs")[1]
    assert [one["kind"] for one in listed] == ["solve", "scramble", "home", "solve"]
    assert ask("runs", "show", "1")[1][0]["outcome"] == "solved"


def test_a_known_cube_comes_to_the_same_goal_with_a_robot_as_without(daemon, ask):
    colours = str.maketrans("URFDLB", "WRGYOB")
    state, wanted = (
        StickerCube.solved(3).apply(moves).letters.translate(colours)
        for moves in ("R U2 x y", "F L D2 z")
    )
    _, (answer,), _ = ask("solve", state, "--to", wanted, "--time-limit", "0.1")
    end = parse_state(state).apply(answer["moves"]).facelets()
    daemon.scanner.readings = [end]
    code, (record,), _ = ask("solve", state, "--execute", "--to", wanted)
    assert (code, record["outcome"], record["to"]) == (0, "done", end)


def test_ctrl_c_before_the_daemon_has_answered_stops_the_robot(daemon, monkeypatch):
    daemon.motion.hold = threading.Event()
    start = ControlClient.start

    def interrupted(client: ControlClient, kind: str) -> str:
        start(client, kind)
        raise KeyboardInterrupt

    monkeypatch.setattr(ControlClient, "start", interrupted)
    assert run(["start"]) == ExitCode.STOPPED
    (ended,) = ControlClient().runs()
    assert ended["outcome"] == "stopped"


def test_a_second_start_is_refused_and_what_ends_a_job_is_printed_once(daemon, ask, capfd):
    daemon.motion.hold = threading.Event()
    assert run(["start", "--no-wait"]) == 0
    assert capfd.readouterr().out.startswith("run 000001 started")
    assert daemon.motion.moving.wait(LIMIT_S)
    code, answers, err = ask("start")
    assert (code, [answer["error"] for answer in answers]) == (1, ["request-refused"])
    assert "run `cubist stop`" in err
    assert ask("stop")[:2] == (0, [{"stopped": True}])
    assert run(["stop"]) == 0
    assert capfd.readouterr().out == "nothing to stop\n"
    daemon.motion.hold = None
    daemon.scanner.readings = [ScanError("U is in the dark")] * 3
    assert run(["start"]) == 1
    ending, remedy = capfd.readouterr().out.splitlines()
    assert ending.startswith("unreadable after ")
    assert ending.endswith("run 000002: U is in the dark")
    assert remedy.startswith("What to do: clean the lens")
    assert ask("shutdown", "--yes")[:2] == (0, [{"stopped": False}])


@pytest.mark.parametrize("is_running", [True, False])
def test_an_unreadable_run_is_named(daemon, ask, short_folder, is_running, monkeypatch, capfd):
    store = RunStore(short_folder / "state" / "runs")
    for _ in range(2):
        store.begin("home", "fake", utc_now()).finish()
    record = store.directory_of("1") / "run.json"
    document = json.loads(record.read_text()) | {"outcome": "solved-by-\x1b[2Jfriend"}
    record.write_text(json.dumps(document))
    if not is_running:
        monkeypatch.setenv("CUBIST_RUNTIME_DIR", "/nonexistent")
    code, (newest, bad), _ = ask("runs")
    assert (code, newest["id"], list(bad)) == (0, "000002", ["id", "unreadable"])
    reason = f"{record}: outcome: this version of Cubist does not know"
    assert bad["unreadable"].startswith(reason)
    assert run(["runs"]) == 0
    shown = capfd.readouterr().out
    assert ["000001", "unreadable"] in [line.split() for line in shown.splitlines()]
    assert f"run 1 cannot be read and stays as it is: {reason}" in shown
    code, _, refused = ask("runs", "show", "1")
    assert code != 0 and reason in refused
    assert "\x1b[2J" not in shown + refused


def test_watching_ends_with_its_reader(daemon):
    """End at once, not at the next event, perhaps hours later."""
    command = [sys.executable, "-m", "robot.cli.main", "status", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        assert watching.stdout.readline().startswith(b"idle")
        watching.stdout.close()
        assert (watching.wait(LIMIT_S), watching.stderr.read()) == (0, b"")


def test_a_terminal_gets_a_live_picture(daemon):
    """Check that the picture follows events, fits, and leaves the terminal as it was."""
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "robot.cli.main", "status", "--watch"]
    surroundings = {**os.environ, "TERM": "xterm-256color"}
    shown = b""
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, env=surroundings) as watching:
        os.close(theirs)
        while b"IDLE" not in shown:
            shown += os.read(terminal, 65536)
        assert ControlClient().start("home")
        while b"000001" not in shown:
            shown += os.read(terminal, 65536)
        watching.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(terminal, 65536):
                shown += part
        assert watching.wait(LIMIT_S) == ExitCode.DONE
    assert shown.index(ENTER_SCREEN) < shown.rindex(LEAVE_SCREEN)


ONE_OF_EACH = {row.outcome: code for code, row in reversed(FAULTS.items())}.values()
"""One fault of each outcome."""


@pytest.mark.parametrize("code", ONE_OF_EACH)
def test_every_fault_ends_a_job_or_a_request_as_the_table_says(daemon, ask, code):
    row = FAULTS[code]
    if code in {"unreadable", "no-cube", "two-cubes", "wrong-size", "face-covered"}:
        daemon.scanner.odd = [ScanError("seen", "U", code)] * 3
    else:
        daemon.motion.faults = [RobotError(code)] * 3
    ended, (record,), _ = ask("start")
    assert (record["outcome"], ended) == (row.outcome, exit_code(row.outcome))
    daemon.motion.open_fault = RobotError(code)
    ask("stop", "--emergency")
    ended, (answer,), err = ask("home")
    assert (ended, answer["error"]) == (exit_code(row.outcome), code)
    assert f"What to do: {row.remedy}" in err
