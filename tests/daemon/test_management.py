"""An owner's work on the daemon, which never disturbs a job."""

from __future__ import annotations

import asyncio
import logging
import sys

import pytest

from robot.api.models import StartRequest
from robot.daemon.log_keeper import MOST_LINES, LogKeeper
from robot.settings import BadProfile, profile_file
from robot.text.faults import Conflict
from tests.rig.fake_robot import management_of

TEXT = profile_file("cubotino").read_text()
ENDLESS = (sys.executable, "-c", "import time; time.sleep(1000)")


@pytest.fixture
def logger() -> logging.Logger:
    logger = logging.getLogger("tests.kept")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    return logger


def test_the_log_outlives_the_daemon_and_numbers_go_on(tmp_path, logger):
    keeper = LogKeeper(tmp_path)
    logger.handlers = [keeper]
    logger.info("first")
    logger.warning("a %s", "second\nline")
    assert [one.text for one in keeper.lines("warning", 0, 10)] == ["a second\nline"]
    for _ in range(MOST_LINES):
        logger.debug("more")
    again = LogKeeper(tmp_path)
    assert again.latest == keeper.latest == MOST_LINES + 2
    assert len(again.lines("debug", 0, 2 * MOST_LINES)) == MOST_LINES
    logger.handlers = [again]
    logger.error("after a restart")
    (line,) = again.lines("info", keeper.latest, 10)
    assert (line.level, line.text) == ("error", "after a restart")


async def test_a_check_up_waits_for_the_robot_and_ends_when_it_begins(controller, tmp_path):
    management = management_of(controller, tmp_path / "state")
    found = await management.check_up()
    assert [one.about for one in found.findings] == ["disk"]
    slow = management_of(controller, tmp_path / "state", doctor=ENDLESS)
    checking = asyncio.create_task(slow.check_up())
    await asyncio.sleep(0)
    await controller.start(StartRequest())
    with pytest.raises(Conflict):
        await checking
    await controller.finished()


async def test_nothing_is_checked_or_restarted_while_the_robot_works(controller, tmp_path):
    management = management_of(controller, tmp_path / "state", is_supervised=True)
    await controller.start(StartRequest())
    for work in (
        management.check_up(),
        management.check_profile(TEXT),
        management.keep_profile(TEXT),
        management.restart(force=False),
    ):
        with pytest.raises(Conflict):
            await work
    assert not controller.ended.is_set()
    assert await management.restart(force=True)
    assert controller.ended.is_set() and controller.restarts
    assert (await controller.library.run_record("1")).outcome == "stopped"


async def test_a_daemon_that_nobody_starts_again_does_not_end(controller, tmp_path):
    with pytest.raises(Conflict, match="by hand"):
        await management_of(controller, tmp_path / "state").restart(force=True)
    assert not controller.ended.is_set()


async def test_a_profile_is_kept_for_the_next_start_only_if_it_is_good(controller, tmp_path):
    management = management_of(controller, tmp_path / "state")
    verdict = await management.check_profile(TEXT.replace("title:", "titel:", 1))
    assert not verdict.ok and any(one.line > 0 for one in verdict.complaints)
    with pytest.raises(BadProfile):
        await management.keep_profile("{}")
    kept = await management.keep_profile(TEXT + "# mine\n")
    now = await management.profile()
    assert (kept.version, now.version, now.running) == (1, 1, 0)
    assert now.text.endswith("# mine\n")
    running = await management.running_profile()
    assert running.text == TEXT
    await management.restore_profile(0)
    listed = (await management.versions()).versions
    assert [(one.version, one.is_original) for one in listed] == [(2, True), (1, False), (0, True)]
