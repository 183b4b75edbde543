"""The drift watch after a job: it records the deviations, warns, and adjusts if it may."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from robot.api.calibrations import Calibration
from robot.calibration.drift import FIRST_SOLVES, DriftRecord, DriftStore
from robot.calibration.sighting import PoseDeviation
from robot.calibration.store import CalibrationStore
from robot.daemon.drift_watch import DriftWatch
from robot.settings import RobotProfile, load_profile
from robot.text.outcomes import Outcome
from solver.errors import CubistError

TODAY = date(2026, 5, 3)
CUBOTINO = load_profile("cubotino")
POSITIONS = ("home", "cw")


def deviations(degrees: float) -> list[PoseDeviation]:
    return [PoseDeviation("holder", position, degrees, 0.0, 0.0) for position in POSITIONS]


class WatchedRobot:
    """A table that has turned by 3 degrees since the first solves, and its watch."""

    def __init__(self, folder: Path, *, self_adjust: bool) -> None:
        policy = CUBOTINO.policy.model_copy(update={"self_adjust": self_adjust})
        self.profile: RobotProfile = CUBOTINO.model_copy(update={"policy": policy})
        self.calibrations, self.drifts = CalibrationStore(folder), DriftStore(folder)
        record = DriftRecord.begin(self.profile, TODAY)
        for degrees in [0.0] * FIRST_SOLVES + [3.0] * 20:
            record = record.add_solve(deviations(degrees))
        self.drifts.save(record)
        self.adjust, self.add_notes = AsyncMock(), AsyncMock()
        self.restart()

    def restart(self) -> None:
        """Make a watch that has loaded nothing yet."""
        self.watch = DriftWatch(
            self.profile, self.calibrations, self.drifts, self.adjust, lambda: TODAY
        )

    @property
    def notes(self) -> list[str]:
        return [note.code for call in self.add_notes.call_args_list for note in call.args[0]]

    def solves_seen(self) -> int:
        """Return the number of solves in the stored record."""
        return max(one.solves for one in self.drifts.load(self.profile, TODAY).positions)

    def follow(self, looks: list[PoseDeviation], outcome: Outcome) -> bool:
        record = SimpleNamespace(id=7, outcome=outcome)
        job: Any = SimpleNamespace(looks=looks, record=record, add_notes=self.add_notes)
        done = asyncio.run(self.watch.follow(job))
        assert job.looks == [], "they hold pictures"
        return done


@pytest.fixture(autouse=True)
def _looks_are_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a job's looks be the deviations that the pictures would show."""
    monkeypatch.setattr("robot.daemon.drift_watch.sightings", lambda profile, looks: list(looks))


@pytest.mark.parametrize(
    ("self_adjust", "outcome", "notes"),
    [
        (True, Outcome.SOLVED, ["adjusted"]),
        (True, Outcome.SLIPPED, ["moved", "moved"]),
        (False, Outcome.SOLVED, ["moved", "moved"]),
    ],
)
def test_the_robot_adjusts_itself_if_it_may(tmp_path, *, self_adjust, outcome, notes):
    robot = WatchedRobot(tmp_path, self_adjust=self_adjust)
    is_adjusted = notes == ["adjusted"]
    assert robot.follow(deviations(3.0), outcome) is is_adjusted
    assert robot.notes == notes
    assert robot.adjust.call_count == is_adjusted
    # An adjusted robot no longer matches the calibration described here.
    assert (robot.solves_seen() == FIRST_SOLVES + 21) is not is_adjusted
    moved = {one.position: (one.degrees, one.corrected_degrees) for one in robot.watch.estimates}
    corrected = 3.0 if is_adjusted else 0.0
    assert moved == {one: pytest.approx((3.0, corrected), abs=0.2) for one in POSITIONS}


@pytest.mark.parametrize("trouble", [CubistError("the link broke"), ValueError("a defect")])
def test_a_correction_that_fails_leaves_the_job_as_it_ended(tmp_path, trouble, caplog):
    robot = WatchedRobot(tmp_path, self_adjust=True)
    robot.adjust.side_effect = trouble
    assert not robot.follow(deviations(3.0), Outcome.SOLVED)
    assert "run 7: the robot's drift was not tracked" in caplog.text
    assert ("Traceback" in caplog.text) is isinstance(trouble, ValueError)
    assert robot.notes == []
    assert robot.drifts.load(robot.profile, TODAY).corrections == []


def test_without_a_usable_calibration_nothing_is_followed(tmp_path):
    robot = WatchedRobot(tmp_path, self_adjust=True)
    asyncio.run(robot.watch.begin())
    assert len(robot.watch.estimates) == len(POSITIONS)
    robot.calibrations.save(Calibration(robot=robot.profile.name))
    robot.calibrations.path_of(robot.profile.name).write_text("{")
    robot.restart()
    asyncio.run(robot.watch.begin())
    assert not robot.follow(deviations(3.0), Outcome.SOLVED)
    assert (robot.watch.estimates, robot.watch.notes, robot.notes) == ([], [], [])
