"""What the daemon is told at its start, and what it tells the service manager and the journal."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robot.daemon.service import (
    JournalFormatter,
    Notifier,
    Options,
    complaint,
    configure_logging,
    ending,
    parse,
)
from robot.text.faults import RobotError


def test_flags_come_before_the_environment() -> None:
    told = {
        "CUBIST_PROFILE": "mindcuber",
        "CUBIST_RUNTIME_DIR": "/r",
        "CUBIST_STATE_DIR": "/s",
        "CUBIST_SIZE": "4",
        "CUBIST_PORT": "/dev/tty",
        "CUBIST_TWIN": "/t",
        "CUBIST_LOG_LEVEL": "debug",
    }
    found = parse([], told)
    assert found == Options(
        profile="mindcuber",
        runtime_dir=Path("/r"),
        state_dir=Path("/s"),
        size=4,
        port="/dev/tty",
        twin="/t",
        log_level="debug",
    )
    assert found.socket_path == Path("/r/control.sock")
    assert found.lock_path == Path("/r/cubistd.lock")
    flags = "--profile v-arms --runtime-dir /a --state-dir /b --size 2 --port /p --twin /q"
    assert parse([*flags.split(), "--log-level", "error"], told) == Options(
        profile="v-arms",
        runtime_dir=Path("/a"),
        state_dir=Path("/b"),
        size=2,
        port="/p",
        twin="/q",
        log_level="error",
    )
    plain = parse([], {"CUBIST_RUNTIME_DIR": "/r", "CUBIST_STATE_DIR": "/s"})
    assert (plain.profile, plain.size, plain.port, plain.twin, plain.log_level) == (
        *("cubotino", None, None, None, "info"),
    )


@pytest.mark.parametrize(
    ("environ", "watchdog_s"),
    [
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "x"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_this_process_s(environ: dict[str, str], watchdog_s: float | None) -> None:
    found = Notifier.from_environment(environ | {"NOTIFY_SOCKET": "/n"})
    assert found == Notifier("/n", watchdog_s)
    assert Notifier.from_environment({}) == Notifier(None, None)


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_hears_how_it_is(abstract: bool, tmp_path: Path) -> None:
    address = f"@cubist-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + address[1:] if abstract else address)
        manager.settimeout(30)
        notifier = Notifier(address)
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
    notifier.alive()  # whose manager has gone
    Notifier(None).alive()


@pytest.mark.parametrize(
    ("level", "priority"),
    [
        (logging.DEBUG, 7),
        (logging.INFO, 6),
        (25, 5),
        (logging.WARNING, 4),
        (logging.ERROR, 3),
        (logging.CRITICAL, 2),
    ],
)
def test_each_line_of_the_journal_has_its_priority(level: int, priority: int) -> None:
    record = logging.LogRecord("a", level, "", 0, "one\ntwo", None, None)
    shown = JournalFormatter("%(message)s").format(record)
    assert shown == f"<{priority}>one\n<{priority}>two"


@pytest.mark.parametrize("journal", ["8:1", ""])
def test_lines_are_for_the_journal_or_for_people(
    journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up: dict[str, Any] = {}
    monkeypatch.setenv("JOURNAL_STREAM", journal)
    monkeypatch.setattr(logging, "basicConfig", lambda **more: set_up.update(more))
    configure_logging("warning")
    (handler,) = set_up["handlers"]
    assert (set_up["level"], set_up["force"]) == ("WARNING", True)
    assert isinstance(handler.formatter, JournalFormatter) is bool(journal)
    assert logging.getLogger("asyncio").level == logging.WARNING


def test_how_a_job_ended_and_what_to_do_about_an_error() -> None:
    record: Any = SimpleNamespace(outcome="stopped", duration_s=3.21, reason="by a person")
    assert ending(record) == "stopped after 3.2 s: by a person"
    record.reason = None
    assert ending(record) == "stopped after 3.2 s"
    assert complaint(ValueError("odd")) == "odd"
    fault = RobotError("overload", "the table is jammed", "Free it.")
    assert complaint(fault) == "the table is jammed. What to do: Free it."
    bare = ValueError("odd")
    bare.remedy = "Look."  # type: ignore[attr-defined]
    assert complaint(bare) == "odd. What to do: Look."
