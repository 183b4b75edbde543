"""A simulated CUBOTino, for those that look at it and speak to it."""

from __future__ import annotations

import pytest

from robot.settings import RobotProfile, load_profile


@pytest.fixture(scope="session")
def cubotino() -> RobotProfile:
    return load_profile("cubotino-uno")
