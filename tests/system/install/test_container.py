"""An owner's story on this machine's own Debian: install, solve, fail to upgrade, uninstall."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.system.conftest import RunScenario
from tests.system.install.debian_root import assert_story

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.timeout(900)


def break_wheel(wheel: Path, folder: Path) -> None:
    """Copy a wheel, with a daemon that does not start."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(folder / wheel.name, "w") as new:
        for entry in old.infolist():
            is_broken = entry.filename == "robot/daemon/main.py"
            new.writestr(entry, b"raise SystemExit(1)\n" if is_broken else old.read(entry))


@pytest.fixture(scope="module")
def facts(
    wheels: Path, run_scenario: RunScenario, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str]:
    share = tmp_path_factory.mktemp("owner")
    shutil.copy(HERE / "scenario", share / "scenario")
    shutil.copytree(wheels, share / "wheels")
    (share / "broken").mkdir()
    break_wheel(next(wheels.glob("cubist_robot-*.whl")), share / "broken")
    facts = run_scenario(share)
    return {**facts, **{name: (share / name).read_text() for name in ("journal", "warnings")}}


STORY = {
    "installing starts a ready service": (
        'simulated=yes, install=0, active=active, idle="state": "idle", owner=cubist'
    ),
    "only the group may talk to it": "stranger=3, friend=0",
    "stopping in mid-solve is in order, not by a kill": (
        "stop_result=success, stopped=yes, at_rest=yes, start_after_stop=0"
    ),
    "killed or hung in mid-solve it is started again": "restarted=yes, interrupted=yes, unhung=yes",
    "the button solves the cube": "solved=yes, verdict=yes",
    "nothing unsafe happened": "violations=violations=[]",
    "the page is off until it is switched on": (
        "web_before=disabled inactive, web_enabled=0, web_robot=cubotino, "
        "web_same_address=yes, web_gone=yes"
    ),
    "the page's user reaches one socket and sees no records": (
        "web_stranger=3, web_sees_state=no, web_reaches=page"
    ),
    "the owner restarts the service on the page, at work only by force": (
        "owner_stopped=False, owner_restarted=yes, owner_run=000005, owner_refused=409, "
        "owner_forced=True, owner_ended=yes, owner_left=yes"
    ),
    "a version that does not start gives way to the old one and keeps what is the owner's": (
        "import=0, broken_upgrade=yes, back_again=yes, back_active=active, "
        "calibration_kept=1345, records_kept=yes"
    ),
    "a very long press switches off": "powered_off=yes, ended_in_order=success",
    "uninstalling keeps what is the owner's": "uninstall=0, unit_gone=yes, state_kept=yes",
}
"""Facts of the scenario, by what they show."""


@pytest.mark.parametrize("expected", STORY.values(), ids=STORY)
def test_an_owner_s_story(facts, expected):
    assert_story(facts, expected)


def test_it_is_ready_within_two_seconds_of_processor_time(facts):
    assert 0 < float(facts["cpu_s"]) <= 2.0
    assert facts["web_owner"] not in {"root", "cubist"}


def test_the_journal_tells_the_story_and_warns_of_what_is_amiss(facts):
    told = r"""button: short press
run 000004: solve started
run 000004: finding the home positions
.*run 000004: looking at . \(6 of 6\)
run 000004: searching for the fastest way
run 000004: turning: \d+ moves in [\d.]+ s
.*run 000004: solved after [\d.]+ s
"""
    assert re.search(told, facts["journal"], re.DOTALL)
    assert "run 000002 was interrupted; its record is closed\n" in facts["warnings"]
    assert "solve started" not in facts["warnings"]
