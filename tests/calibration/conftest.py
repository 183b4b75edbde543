"""The fake robot and its daemon for tests of calibration, and the cube its scanner sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import cv2

from robot.api.client import ControlClient
from robot.api.endpoints import Endpoint
from robot.machine.confirmed_range import confirmable
from robot.settings import RobotProfile, load_profile
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import OddScene, Studio
from tests.daemon.conftest import controller, daemon, fake, maintenance_of, profile_name
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun
from vision.measure.colour_space import USUAL
from vision.measure.sticker_colours import FACES, FaceColours

__all__ = ["controller", "daemon", "fake", "maintenance_of", "profile_name", "show_cube"]


def show_cube(fake: Any, facelets: str) -> None:
    """Make a fake robot's scanner see the usual colours of these facelets, where given."""
    take = fake.scanner.take

    def colours_of(face: str) -> FaceColours:
        colours, first = FaceColours.unseen(3), FACES.index(face) * 9
        if seen := facelets[first : first + 9]:
            colours.linear_rgb[:] = [USUAL[FACES.index(one)] for one in seen]
            colours.valid[:] = True
        return colours

    fake.scanner.take = lambda looks, **_: [
        replace(image, colours=colours_of(image.face)) for image in take(looks)
    ]


def painted(robot: str, odd: OddScene | None = None) -> bytes:
    """Return a JPEG of a simulated robot's camera."""
    studio = Studio(SimulatedRobot(load_profile(robot), scrambled(3, 1)))
    studio.disturbances.odd = odd
    return bytes(cv2.imencode(".jpg", cv2.cvtColor(studio.shoot().image, cv2.COLOR_RGB2BGR))[1])


@contextmanager
def calibrating(
    profile: RobotProfile, *, confirmed: bool = False, seed: int = 1, **truth: Any
) -> Iterator[tuple[SimulatedRun, SimulatedCalibration]]:
    """Hold a simulated robot in maintenance. ``seed``: its scramble; ``truth``: see the run."""
    with SimulatedRun(profile, scrambled(profile.cube.size, seed), **truth) as run:
        session = SimulatedCalibration(run)
        session.keep(confirmable(profile) if confirmed else {})
        with session.maintenance():
            yield run, session


def keep(values: dict[str, Any]) -> None:
    """Let the daemon keep values as confirmed by a person."""
    client = ControlClient()
    with client.maintenance():
        client.call(Endpoint("PUT", "/calibration"), {"values": values})
