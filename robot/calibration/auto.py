"""The step "auto": the robot finds positions, times and colours itself, by watching the cube."""

from __future__ import annotations

from robot.calibration.finding.film import FILMING
from robot.calibration.finding.flow import AutomaticCalibration, can_find
from robot.calibration.finding.proof import PROVING
from robot.calibration.step import STEPS, Step

STEPS["auto"] = Step(
    name="auto",
    title="By itself: positions, times and colours, found by watching the cube",
    trials=[FILMING, PROVING],
    begin=AutomaticCalibration,
    on_request=True,
    is_needed=can_find,
)
