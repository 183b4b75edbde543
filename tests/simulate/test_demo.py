"""Whole demos, from the start button to a solved cube: real firmware, real daemon, simulated robot.

Killing any of its processes at any moment leaves nothing behind, and the next start works.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from robot.settings import list_profiles, load_profile
from robot.settings.profile import sizes_of
from solver.errors import ExitCode

LIMIT_S = 240.0
POLL_S = 0.01
PROCESSES = ("firmware", "cubistd", "demo")
long = functools.partial(pytest.param, marks=pytest.mark.long)
IMAGES = Path(__file__).resolve().parents[3] / "shared" / "data" / "vision" / "images"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("profile", list_profiles())
def test_every_robot_solves_every_cube(start_demo, demo_folder, profile, seed):
    # Boards that start together cannot run much faster than real time.
    speed = "1" if load_profile(profile).boards else "50"
    document = start_demo("--robot", profile, "--seed", str(seed), "--speed", speed).assert_solved()
    assert document["outcome"] == "solved"
    assert list(demo_folder.iterdir()) == []


def test_the_log_tells_every_step_though_the_cable_is_pulled(demo_folder):
    """Run without a terminal, and without ``--json``."""
    options = ("--seed", "1", "--speed", "20", "--fault", "unplug@turn")
    command = [sys.executable, "-m", "robot.cli.main", "demo", *options]
    environment = os.environ | {"TMPDIR": str(demo_folder)}
    ended = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert ended.returncode == 0, ended.stderr
    steps = [line.split(" s  ")[-1] for line in ended.stderr.splitlines()]
    looks = [f"looking at {face} ({n} of 6)" for n, face in enumerate("UDBRFL", 1)]
    expected = ["finding the home positions", "planning the looks", *looks]
    first = steps.index(expected[0])
    assert steps[first : first + len(expected)] == expected
    assert "What went wrong" in ended.stdout


@pytest.mark.parametrize(
    ("profile", "firmware", "speed"),
    [
        # An Arduino's servos can be driven by the Pi.
        ("two-arm-2x2x2", "linux", "50"),
        long("two-arm-2x2x2", "maestro", "50"),
        # The shortest plan of a stepper robot keeps the everyday run short.
        ("six-motor", "avr", "2"),
        long("cubotino-uno", "avr", "2"),
        long("mindcuber", "avr", "2"),
        long("six-motor-pico", "rp2040", "1"),
        long("cubotino-pico", "rp2040", "4"),
        long("four-arm-skr-pico", "rp2040", "1"),
    ],
)
def test_another_board_solves_too(start_demo, profile, firmware, speed):
    options = ("--robot", profile, "--firmware", firmware, "--speed", speed)
    assert start_demo(*options).assert_solved()["planned_us"]


@pytest.mark.parametrize(
    ("size", "seed"),
    [long(size, seed) for size in sizes_of(load_profile("crane")) for seed in range(1, 6)],
)
def test_a_crane_takes_cubes_of_every_size(start_demo, size, seed):
    options = ("--robot", "crane", "--size", str(size), "--seed", str(seed), "--speed", "20")
    document = start_demo(*options).assert_solved()
    assert len(document["facelets"]) == 6 * size * size
    assert document["executed_us"] == document["planned_us"]
    assert not any("again from there" in text for text in document["recoveries"])


FOLDERS = [*sorted(IMAGES.glob("3x3x3*")), *sorted(IMAGES.glob("2x2x2*"))]
"""Sets of photographs, if the checkout has them."""


@pytest.mark.long
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_photographed_cube_is_solved(start_demo, folder):
    truth = str(json.loads((folder / "expected.json").read_text())["expected"])
    start_demo("--speed", "50", "--faces", str(folder), "--state", truth).assert_solved()


class Cast:
    """The processes of a running demo, held so that their numbers are not reused."""

    def __init__(self, run: Any) -> None:
        while set(numbers := run.children()) != {"firmware", "cubistd"}:
            assert run.process.poll() is None, run.finish()
            time.sleep(POLL_S)
        numbers |= {"demo": run.process.pid}
        self._handles = {name: os.pidfd_open(number) for name, number in numbers.items()}

    def kill(self, name: str) -> None:
        """Kill a process. If it has already ended, the demo's outcome shows that."""
        try:
            signal.pidfd_send_signal(self._handles[name], signal.SIGKILL)
        except ProcessLookupError:
            return

    def wait(self) -> None:
        with selectors.DefaultSelector() as selector:
            for handle in self._handles.values():
                selector.register(handle, selectors.EVENT_READ)
            while selector.get_map():
                ended = selector.select(LIMIT_S)
                assert ended, "a process outlived the demo"
                for key, _ in ended:
                    selector.unregister(key.fileobj)
                    os.close(key.fd)


def test_next_start_works(start_demo, demo_folder):
    for victim in PROCESSES[1:]:
        # Slow enough for the robot to be far from done when the victim is killed, however late.
        run = start_demo("--speed", "2")
        while run.state() not in {"homing", "scanning"}:
            assert run.process.poll() is None, run.finish()
            time.sleep(POLL_S)
        cast = Cast(run)
        cast.kill(victim)
        code, _, log = run.finish()
        cast.wait()
        if victim == "demo":
            assert code == -signal.SIGKILL
        else:
            assert code == ExitCode.FAILED
            assert f"{victim} ended unexpectedly (killed by SIGKILL)" in log
            assert list(demo_folder.iterdir()) == []
    assert start_demo("--robot", "four-arm", "--speed", "50").assert_solved()["outcome"] == "solved"
    assert list(demo_folder.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "presses"),
    [
        (signal.SIGINT, 200),
        *(long(number, 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_person_stops_it_however_often_they_press(start_demo, demo_folder, number, presses):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("this run was started to ignore this signal (nohup), as would the demo be")
    run = start_demo("--speed", "2")
    cast = Cast(run)
    for _ in range(presses):
        run.process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.process.wait(0.02)
            break
    code, document, log = run.finish()
    assert (code, log.strip()) == (ExitCode.STOPPED, "cubist: stopped")
    assert document["error"] == "stopped"
    cast.wait()
    assert list(demo_folder.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("victim", PROCESSES)
@pytest.mark.parametrize("after_s", [0.05 * 1.5**step for step in range(14)])
def test_a_process_killed_at_any_moment_ends_the_demo_safely(
    start_demo, demo_folder, victim, after_s
):
    run = start_demo("--speed", "5")
    cast = Cast(run)
    time.sleep(after_s)
    cast.kill(victim)
    run.finish()
    cast.wait()
    start_demo("--speed", "50").assert_solved()
    assert list(demo_folder.iterdir()) == []
