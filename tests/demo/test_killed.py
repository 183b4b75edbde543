"""Killing any process of the demo at any moment: nothing stays behind, and the next start works."""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.cli.output import ExitCode

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]

PROCESSES = ("firmware", "cubistd", "demo")


class Victim:
    """A process of a demo, found as soon as it exists."""

    def __init__(self, run: Any, name: str) -> None:
        while name != "demo" and name not in run.children():
            assert run.process.poll() is None, run.finish()
        self.number = run.process.pid if name == "demo" else run.children()[name]


def wait_for_end(processes: list[int], limit_s: float) -> None:
    """Fail unless all processes end in time."""
    with selectors.DefaultSelector() as selector:
        for process in processes:
            try:
                selector.register(os.pidfd_open(process), selectors.EVENT_READ)
            except ProcessLookupError:
                continue
        while selector.get_map():
            ended = selector.select(limit_s)
            assert ended, "a process outlived the demo"
            for key, _ in ended:
                selector.unregister(key.fileobj)
                os.close(key.fd)


def kill_in_the_middle(run: Any, victim: str, after_s: float) -> tuple[int, str, list[int]]:
    """Kill a process ``after_s`` after all exist; exit code, log and the other processes."""
    number = Victim(run, "cubistd").number if victim == "demo" else Victim(run, victim).number
    children = list(run.children().values())
    with selectors.DefaultSelector() as nothing:
        nothing.select(after_s)
    os.kill(run.process.pid if victim == "demo" else number, signal.SIGKILL)
    code, _, log = run.finish()
    return code, log, children


def test_next_start_works(start_demo: StartDemo, solved: Solved, demo_folder: Path) -> None:
    for victim in PROCESSES:
        code, log, children = kill_in_the_middle(start_demo("--speed", "20"), victim, 2.0)
        wait_for_end(children, 20.0)
        if victim == "demo":
            assert code == -signal.SIGKILL
        else:
            assert code == ExitCode.FAILED
            assert f"{victim} ended unexpectedly (killed by SIGKILL)" in log
            assert list(demo_folder.iterdir()) == []
    solved(start_demo("--speed", "50"))
    assert list(demo_folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_person_stops_it(start_demo: StartDemo, demo_folder: Path, number: int) -> None:
    run = start_demo("--speed", "2")
    Victim(run, "cubistd")
    children = list(run.children().values())
    os.kill(run.process.pid, number)
    code, document, _ = run.finish()
    assert code == ExitCode.STOPPED
    assert document is None
    wait_for_end(children, 20.0)
    assert list(demo_folder.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("victim", PROCESSES)
@pytest.mark.parametrize("after_s", [0.05 * 1.5**step for step in range(14)])
def test_any_moment(
    start_demo: StartDemo, solved: Solved, demo_folder: Path, victim: str, after_s: float
) -> None:
    _, _, children = kill_in_the_middle(start_demo("--speed", "5"), victim, after_s)
    wait_for_end(children, 20.0)
    solved(start_demo("--speed", "50"))
    assert list(demo_folder.iterdir()) == []
