"""A motor on every face, or on most of them: each turns its layer and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from robot.twin.cube import CubeBody
from robot.twin.pose import Pose
from robot.twin.twisting import Slipping, TwistingCube


class DirectDrive:
    """Motors by name and the site each is fixed to; positions are quarters clockwise."""

    def __init__(self, cube: TwistingCube, motors: Mapping[str, str]) -> None:
        self.slips = Slipping()
        self._cube = cube
        self._motors = dict(motors)
        self._at: dict[str, float] = {}

    @property
    def body(self) -> CubeBody:
        """The cube held by the motors."""
        return self._cube.body

    def update(self, positions: Mapping[str, float]) -> None:
        """The motors are now at ``positions``."""
        for motor, site in self._motors.items():
            moved = positions[motor] - self._at.setdefault(motor, positions[motor])
            if moved:
                self._at[motor] = positions[motor]
                self._cube.turn_layer(site, self.slips.carried(site, moved))

    def place(self, actuator: str, position: float) -> str | None:
        """A motor has no named places."""
        del actuator, position
        return None

    def interrupted(self) -> None:
        """See :meth:`robot.twin.registry.Mechanism.interrupted`: layers stay as they are."""

    def set_square(self) -> None:
        """See :meth:`robot.twin.registry.Mechanism.set_square`."""
        self._cube.set_square()

    def pose(self) -> Pose:
        """Where the layers are."""
        return self._cube.pose()
