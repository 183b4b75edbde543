"""What an owner goes through on this machine's own Debian: install, solve, upgrade, uninstall."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def facts(
    wheels: Path,
    run_scenario: Callable[..., Mapping[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, str]:
    """What the scenario found, by name."""
    share = tmp_path_factory.mktemp("owner")
    shutil.copy(HERE / "scenario", share / "scenario")
    for name in ("simulated_robot.py", "broken_wheel.py"):
        shutil.copy(HERE / name, share)
    shutil.copytree(wheels, share / "wheels")
    facts = run_scenario(share)
    return {**facts, **{name: (share / name).read_text() for name in ("journal", "warnings")}}


def test_installing_starts_a_ready_service(facts: Mapping[str, str]) -> None:
    assert (facts["simulated"], facts["install"], facts["active"]) == ("yes", "0", "active")
    assert facts["idle"] == '"state": "idle"'
    assert facts["owner"] == "cubist"


def test_it_is_ready_within_two_seconds_of_processor_time(facts: Mapping[str, str]) -> None:
    assert 0 < float(facts["cpu_s"]) <= 2.0


def test_stopping_in_the_middle_of_a_solve_is_in_order(facts: Mapping[str, str]) -> None:
    assert facts["stop_result"] == "success"  # "timeout" when systemd had to kill it
    assert facts["stopped"] == facts["at_rest"] == "yes"
    assert facts["start_after_stop"] == "0"


def test_a_daemon_killed_or_hung_in_the_middle_of_a_solve_is_started_again(
    facts: Mapping[str, str],
) -> None:
    assert facts["restarted"] == facts["interrupted"] == facts["unhung"] == "yes"


def test_the_button_solves_the_cube(facts: Mapping[str, str]) -> None:
    assert facts["solved"] == facts["verdict"] == "yes"


def test_the_journal_tells_the_story(facts: Mapping[str, str]) -> None:
    told = r"""button: short press
run 000004: solve started
run 000004: finding the home positions
.*run 000004: looking at . \(6 of 6\)
run 000004: searching for the fastest way
run 000004: turning: \d+ moves in [\d.]+ s
.*run 000004: solved after [\d.]+ s
"""
    assert re.search(told, facts["journal"], re.DOTALL)


def test_what_is_amiss_is_a_warning(facts: Mapping[str, str]) -> None:
    assert "run 000002 was interrupted; its record is closed\n" in facts["warnings"]
    assert "solve started" not in facts["warnings"]


def test_nothing_unsafe_happened(facts: Mapping[str, str]) -> None:
    assert facts["violations"] == "violations=[]"


def test_only_the_group_may_talk_to_it(facts: Mapping[str, str]) -> None:
    assert facts["stranger"] == "3"
    assert facts["friend"] == "0"


def test_the_page_is_off_until_it_is_switched_on(facts: Mapping[str, str]) -> None:
    assert facts["web_before"] == "disabled inactive"
    assert (facts["web_enabled"], facts["web_robot"]) == ("0", "cubotino")
    assert (facts["web_same_address"], facts["web_gone"]) == ("yes", "yes")


def test_the_page_has_a_user_of_its_own_who_sees_no_records(facts: Mapping[str, str]) -> None:
    assert facts["web_owner"] not in {"root", "cubist"}
    assert (facts["web_stranger"], facts["web_sees_state"]) == ("3", "no")
    assert facts["web_reaches"].split() == ["page"], "of the daemon's sockets"


def test_a_failed_upgrade_leaves_the_old_version_running(facts: Mapping[str, str]) -> None:
    assert facts["failed_upgrade"] == facts["old_version_stays"] == "yes"
    assert facts["still_active"] == "active"


def test_a_version_that_does_not_start_gives_way_to_the_old_one(facts: Mapping[str, str]) -> None:
    assert facts["broken_upgrade"] == facts["back_again"] == "yes"
    assert facts["back_active"] == "active"


def test_an_upgrade_keeps_what_is_the_owner_s(facts: Mapping[str, str]) -> None:
    assert (facts["upgrade"], facts["new_version"]) == ("0", "yes")
    assert (facts["active_again"], facts["calibration_kept"]) == ("active", "1345")
    assert facts["records_kept"] == "yes"


def test_a_very_long_press_switches_off(facts: Mapping[str, str]) -> None:
    assert (facts["powered_off"], facts["ended_in_order"]) == ("yes", "success")


def test_uninstalling_keeps_what_is_the_owner_s(facts: Mapping[str, str]) -> None:
    assert facts["uninstall"] == "0"
    assert facts["unit_gone"] == facts["state_kept"] == "yes"
