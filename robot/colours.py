"""The colours of a robot's cube between its profile and the reader."""

from __future__ import annotations

import json
from typing import Any

from robot.settings import RobotProfile
from vision.calibrate import references_from_json, references_to_json
from vision.colours import ColourReferences

KEY = "colours"
"""Where a profile, and so a calibration, keeps them."""


def stored_colours(profile: RobotProfile) -> ColourReferences | None:
    """What the profile says of its cube's colours; None when it says nothing."""
    if profile.colours is None:
        return None
    return references_from_json(profile.colours.model_dump_json())


def as_values(references: ColourReferences) -> dict[str, Any]:
    """The colours as calibrated values."""
    return {KEY: json.loads(references_to_json(references))}
