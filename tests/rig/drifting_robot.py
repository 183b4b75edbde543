"""A whole robot in simulated time that solves one cube after another and drifts meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import cv2
import numpy as np

from robot.api.models import StartRequest
from robot.calibration.drift import DriftStore
from robot.calibration.store import CalibrationStore
from robot.calibration.values import apply
from robot.daemon.colour_watch import ColourWatch
from robot.daemon.drift_watch import IN_ORDER, DriftWatch
from robot.daemon.job_control import JobController
from robot.daemon.maintenance import Maintenance
from robot.machine.assembly import Machine
from robot.records.run_record import RunRecord
from robot.records.runs import RunStore
from robot.settings import RobotProfile
from robot.simulate.simulation import cube_after
from robot.twin.cube import scrambled
from robot.twin.render import Image
from tests.rig.simulated_calibration import SimulatedMotion, cameras_of, machine_of
from tests.rig.simulated_run import FirstSolutionPlanner, SimulatedRun, kept_memory

FIRST_DAY = date(2026, 5, 3)


class DriftingRobot(SimulatedRun):
    """One robot, its daemon's parts and its state directory.

    ``records`` are those of its solves, a day apart; ``in_force`` the positions of its servos.
    """

    def __init__(self, profile: RobotProfile, state_dir: Path) -> None:
        # Simulated time would continue, or wait forever, while a picture of a time-lapse is
        # painted.
        policy = profile.policy.model_copy(update={"time_lapse": False})
        profile = profile.model_copy(update={"policy": policy})
        super().__init__(profile, scrambled(profile.cube.size, 1))
        self.today = FIRST_DAY
        self.records: list[RunRecord] = []
        self.calibrations = CalibrationStore(state_dir)
        self.drifts = DriftStore(state_dir)
        self._state_dir = state_dir
        self._cameras = cameras_of(self)

    @property
    def in_force(self) -> dict[str, dict[str, int]]:
        document = apply(self.profile, self.calibrations.load(self.profile)).model_dump()
        return {name: dict(one["positions_us"]) for name, one in document["actuators"].items()}

    def turn_camera(self, degrees: float) -> None:
        def turned(image: Image) -> Image:
            size = image.shape[1], image.shape[0]
            turning = cv2.getRotationMatrix2D((size[0] / 2, size[1] / 2), -degrees, 1.0)
            picture = cv2.warpAffine(image, turning, size, borderMode=cv2.BORDER_REPLICATE)
            return np.asarray(picture, dtype=np.uint8)

        self.see_through(turned)

    def see_through(self, lens: Callable[[Image], Image]) -> None:
        for camera in self._cameras.values():
            camera.lens = lens

    def solve_and_drift(self, cubes: int, degrees: float, moves: str | None = None) -> int:
        """Solve cubes with one daemon and drift by some degrees after each.

        Return the number solved without a violation up to the first failure. ``moves`` scramble
        each cube (default: each is random).
        """
        with kept_memory():
            return asyncio.run(self._solve_all(cubes, degrees, moves))

    def daemon(self) -> tuple[JobController, DriftWatch, Maintenance]:
        controller = JobController(
            self._machine(apply(self.profile, self.calibrations.load(self.profile))),
            RunStore(self._state_dir / "runs"),
            version="drifting",
        )
        maintenance = Maintenance(
            controller, self.profile, self.calibrations, self.contact, self._machine
        )
        watch = DriftWatch(
            self.profile, self.calibrations, self.drifts, maintenance.adjust, lambda: self.today
        )
        controller.drift = watch
        controller.colours = ColourWatch(
            self.profile, self.calibrations, maintenance.learn, lambda: self.today
        )
        return controller, watch, maintenance

    async def _solve_all(self, cubes: int, degrees: float, moves: str | None) -> int:
        size = self.profile.cube.size
        controller, watch, _ = self.daemon()
        await watch.begin()
        await controller.open()
        try:
            for solved in range(cubes):
                random = scrambled(size, len(self.records) + 1)
                self.robot.insert(random if moves is None else cube_after(size, moves))
                run = await controller.start(StartRequest(kind="solve"))
                await controller.finished()
                self.records.append(await controller.library.run_record(run))
                in_order = self.records[-1].outcome in IN_ORDER and self.robot.solved
                if not in_order or self.robot.violations:
                    return solved
                self.today += timedelta(days=1)
                self.robot.drift(degrees)
            return cubes
        finally:
            await controller.close()

    def _machine(self, calibrated: RobotProfile) -> Machine:
        motion = SimulatedMotion(self, calibrated, self.contact, [])
        return machine_of(calibrated, motion, self._cameras, FirstSolutionPlanner)
