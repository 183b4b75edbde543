"""Killing any process of the demo at any moment: nothing stays behind, and the next start works."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from solver.errors import ExitCode

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]

PROCESSES = ("firmware", "cubistd", "demo")
LIMIT_S = 240.0
POLL_S = 0.01


class Cast:
    """The processes of a demo that is under way, held so that their numbers stay theirs."""

    def __init__(self, run: Any) -> None:
        numbers = _children(run) | {"demo": run.process.pid}
        self._handles = {name: os.pidfd_open(number) for name, number in numbers.items()}

    def kill(self, name: str) -> None:
        """Kill one; that it has ended already is what its end will show."""
        try:
            signal.pidfd_send_signal(self._handles[name], signal.SIGKILL)
        except ProcessLookupError:
            return

    def wait(self) -> None:
        """Fail unless all end in time."""
        with selectors.DefaultSelector() as selector:
            for handle in self._handles.values():
                selector.register(handle, selectors.EVENT_READ)
            while selector.get_map():
                ended = selector.select(LIMIT_S)
                assert ended, "a process outlived the demo"
                for key, _ in ended:
                    selector.unregister(key.fileobj)
                    os.close(key.fd)


def _children(run: Any) -> dict[str, int]:
    """Both children, as soon as they are there."""
    while set(found := run.children()) != {"firmware", "cubistd"}:
        assert run.process.poll() is None, run.finish()
        time.sleep(POLL_S)
    return dict(found)


def until(run: Any, states: Collection[str]) -> None:
    """Wait for the daemon to be in one of these states."""
    while run.state() not in states:
        assert run.process.poll() is None, run.finish()
        time.sleep(POLL_S)


def test_next_start_works(start_demo: StartDemo, solved: Solved, demo_folder: Path) -> None:
    for victim in PROCESSES:
        # Slow enough for the robot to be far from done when the victim is killed, however late.
        run = start_demo("--speed", "2")
        until(run, {"homing", "scanning"})
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
    solved(start_demo("--speed", "50"))
    assert list(demo_folder.iterdir()) == []


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(n, marks=pytest.mark.long) for n in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_person_stops_it(start_demo: StartDemo, demo_folder: Path, number: int) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("this run was started to ignore this signal (nohup), as would the demo be")
    run = start_demo("--speed", "2")
    cast = Cast(run)
    run.process.send_signal(number)
    code, document, _ = run.finish()
    assert code == ExitCode.STOPPED
    assert document is None
    cast.wait()
    assert list(demo_folder.iterdir()) == []


def test_a_person_who_presses_again_and_again_does_not_disturb_the_end(
    start_demo: StartDemo, demo_folder: Path
) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        pytest.skip("this run was started to ignore interrupts, as would the demo be")
    run = start_demo("--speed", "2")
    cast = Cast(run)
    for _ in range(200):
        run.process.send_signal(signal.SIGINT)
        if run.ended_within(0.02):
            break
    code, _, log = run.finish()
    assert (code, log.strip()) == (ExitCode.STOPPED, "cubist: stopped")
    cast.wait()
    assert list(demo_folder.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("victim", PROCESSES)
@pytest.mark.parametrize("after_s", [0.05 * 1.5**step for step in range(14)])
def test_any_moment(
    start_demo: StartDemo, solved: Solved, demo_folder: Path, victim: str, after_s: float
) -> None:
    run = start_demo("--speed", "5")
    cast = Cast(run)
    time.sleep(after_s)
    cast.kill(victim)
    run.finish()
    cast.wait()
    solved(start_demo("--speed", "50"))
    assert list(demo_folder.iterdir()) == []
