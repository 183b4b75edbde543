"""Each part that gets its first pulse leaves the others as they are: they may hold the cube."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from robot.calibration.auto.motors import let_turn
from robot.calibration.steps.positions import MOVING
from robot.machine.motion_controller import MotionController
from robot.settings import load_profile
from robot.settings.profile import RobotProfile
from robot.twin.cube import scrambled
from robot.twin.misadjustment import BUILT_AS_DRAWN
from tests.rig.simulated_calibration import SimulatedCalibration, SimulatedMotion
from tests.rig.simulated_run import SimulatedRun

FOUR_ARM = load_profile("four-arm")
JAWS = ("front-jaw", "back-jaw", "left-jaw")
STEPS = 20


@contextmanager
def woken(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[MotionController, SimulatedRun]]:
    """A robot whose right motor has turned by some steps and whose jaws have opened since, each
    with a first pulse of its own."""
    motions: list[MotionController] = []
    made = SimulatedMotion.__init__

    def noted(
        self: SimulatedMotion, run: SimulatedRun, profile: RobotProfile, *rest: object
    ) -> None:
        made(self, run, profile, *rest)  # type: ignore[arg-type]
        motions.append(self)

    monkeypatch.setattr(SimulatedMotion, "__init__", noted)
    with SimulatedRun(FOUR_ARM, scrambled(3, 1), misadjusted=BUILT_AS_DRAWN) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            let_turn(session, ["right"])
            session.perform(MOVING, actuator="right", to=None)
            session.perform(MOVING, actuator="right", to=STEPS)
            for number, jaws in enumerate(JAWS):
                first = 1600 + 10 * number
                session.perform(MOVING, actuator=jaws, to=first + 5, begin_at=first)
            with session.contact.trusting(tuple(FOUR_ARM.actuators)):
                yield motions[-1], run


def test_a_first_pulse_leaves_the_others_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with woken(monkeypatch) as (motion, run):
        places = {name: motion.position(name) for name in ("right", *JAWS)}
        assert places == {
            "right": STEPS,
            **{jaws: 1605 + 10 * number for number, jaws in enumerate(JAWS)},
        }
        assert run.robot.violations == []


def test_everything_goes_to_its_start_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what was taken up elsewhere; what is unknown again is taken to be at its start."""
    with woken(monkeypatch) as (motion, run):
        motion.home()
        places = {name: motion.position(name) for name in FOUR_ARM.actuators}
        starts = {name: 1250 if "jaw" in name else 0 for name in FOUR_ARM.actuators}
        assert places == starts
        assert run.robot.violations == []
        motion.jog("right", 0)
        motion.assume_start_positions()
        motion.home()
        assert {name: motion.position(name) for name in FOUR_ARM.actuators} == starts
