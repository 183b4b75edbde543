"""A motor on every face, or on most of them: each turns its layer and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from robot.settings import RobotProfile
from robot.twin.cube import CubeBody, Pose, Slipping, TwistingCube
from robot.twin.misadjustment import Misadjustment
from robot.twin.registry import SIMULATED_MECHANISMS, MechanismParts, SettingsReading

PLAY_DEGREES = 10.0
"""Maximum deviation from square at which a crossing layer can still turn all the way: any cube has
that much play."""


class DirectDrive:
    """Motors by name, each fixed to a site; positions are quarters clockwise."""

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
        """Turn the layers to the motors' new ``positions``."""
        for motor, site in self._motors.items():
            moved = positions[motor] - self._at.setdefault(motor, positions[motor])
            if moved:
                self._at[motor] = positions[motor]
                self._cube.turn_layer(site, self.slips.carry(site, moved))

    def place(self, actuator: str, position: float) -> str | None:
        """Return None: a motor has no named places."""
        del actuator, position
        return None

    def note_reset(self) -> None:
        """See :meth:`SimulatedMechanism.note_reset`: layers stay as they are."""

    def set_square(self) -> None:
        """See :meth:`SimulatedMechanism.set_square`."""
        self._cube.set_square()

    def pose(self) -> Pose:
        """Return the positions of the layers."""
        return self._cube.pose()


class DirectReading(SettingsReading):
    """The settings of a robot with a motor on each face."""

    motors: dict[str, str]


def direct_parts(profile: RobotProfile, misadjusted: Misadjustment | None) -> MechanismParts:
    """Return the motors of a profile, each on its face. Misadjustment does not matter here."""
    del misadjusted
    settings = DirectReading.model_validate(profile.mechanism)
    cutting = profile.simulation.corner_cutting_degrees / 90
    play = min(PLAY_DEGREES / 90, cutting)
    sites = {name: site for site, name in settings.motors.items()}
    return MechanismParts(
        rotations={name: {} for name in sites},
        start_places={},
        around=lambda body, report: DirectDrive(TwistingCube(body, cutting, report, play), sites),
    )


SIMULATED_MECHANISMS["direct"] = direct_parts
