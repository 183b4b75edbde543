"""What a person reads with ``journalctl -u cubistd``."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from robot.daemon.service import complaint, ending
from robot.records.runs import Outcome, RunRecord
from robot.text.fault_table import Fault
from robot.text.faults import RobotError, ScanError

PROGRAM = """
import logging
from robot.daemon.service import configure_logging
configure_logging("info")
log = logging.getLogger("cubistd")
log.debug("hidden")
log.info("said")
log.warning("warned")
try:
    raise ValueError("reason")
except ValueError:
    log.exception("failed")
"""


def logged(environment: dict[str, str]) -> list[str]:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_the_journal_gets_a_level_with_every_line() -> None:
    lines = logged({"JOURNAL_STREAM": "8:1234"})
    assert lines[:3] == ["<6>said", "<4>warned", "<3>failed"]
    assert lines[-1] == "<3>ValueError: reason"
    assert all(line.startswith("<3>") for line in lines[2:])


def test_elsewhere_lines_are_for_the_eye() -> None:
    first, second, *_ = logged({})
    assert first.endswith("INFO    said")
    assert second.endswith("WARNING warned")


@pytest.mark.parametrize(
    ("outcome", "reason", "told"),
    [
        ("solved", "", "solved after 3.2 s"),
        ("stopped", "stopped by a person", "stopped after 3.2 s: stopped by a person"),
    ],
)
def test_how_a_job_ended(outcome: Outcome, reason: str, told: str) -> None:
    record = RunRecord(
        id="000001",
        kind="solve",
        robot="cubotino",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        outcome=outcome,
        reason=reason,
        duration_s=3.21,
    )
    assert ending(record) == told


def test_every_complaint_names_its_remedy_once() -> None:
    unreadable = complaint(ScanError("two centres are red"))
    assert unreadable.startswith("two centres are red. What to do: clean the lens")
    fault = RobotError(Fault.EMERGENCY_STOP)
    assert complaint(fault) == str(fault)
    assert complaint(ValueError("nothing to add")) == "nothing to add"
