"""All steps of calibration, in the order in which a new robot needs them; a new one goes here."""

from __future__ import annotations

from collections.abc import Sequence

from robot.calibration.camera import CAMERA
from robot.calibration.colours import COLOURS
from robot.calibration.home import HOME
from robot.calibration.positions import POSITIONS
from robot.calibration.step import Step
from robot.calibration.steppers import STEPPERS
from robot.calibration.timing import TIMING
from robot.calibration.travel import TRAVEL
from robot.calibration.trial import AnyTrial
from robot.settings import RobotProfile

STEPS: Sequence[Step] = (POSITIONS, STEPPERS, HOME, CAMERA, TRAVEL, COLOURS, TIMING)

TRIALS: Sequence[AnyTrial] = tuple(trial for step in STEPS for trial in step.trials)
"""Everything that the robot does for them, by an operation of the control socket each."""


def steps_of(profile: RobotProfile) -> list[Step]:
    """The steps that this robot needs: one without steppers, or without servos, needs fewer."""
    return [step for step in STEPS if step.is_needed(profile)]
