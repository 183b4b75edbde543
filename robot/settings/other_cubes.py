"""One robot for cubes of several sizes: what its profile changes for each of the others."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from robot.settings.complaints import complaints_of
from robot.settings.document import BadProfile, ProfileDocument
from robot.settings.profile import RobotProfile
from solver.errors import CubistError, ExitCode
from solver.files import JsonMapping, JsonObject

OTHER_CUBES = "other_cubes"


class UnsupportedSize(CubistError, ValueError):
    """A robot has no settings for a cube of that many layers; the text says for which it has."""

    code = "not-its-cube"
    exit_code = ExitCode.USAGE


def sizes_of(profile: RobotProfile) -> tuple[int, ...]:
    """Layers of the cubes that the robot can take, ascending."""
    return tuple(sorted({profile.cube.size, *profile.other_cubes}))


def for_cube(profile: RobotProfile, size: int | None) -> RobotProfile:
    """The robot as it takes a cube of ``size`` layers (None: the one it is set up for).

    Raises :class:`UnsupportedSize`, or BadProfile when what is changed for it makes no sense.
    """
    if size is None or size == profile.cube.size:
        return profile
    if size not in profile.other_cubes:
        *most, last = (str(one) for one in sizes_of(profile))
        known = f"{', '.join(most)} and {last}" if most else last
        raise UnsupportedSize(
            f"{profile.name} takes cubes of {known} layers, not of {size}: its profile has no "
            f"{OTHER_CUBES} for it"
        )
    document = profile.model_dump(mode="json", exclude_unset=True)
    changed = changed_by(document, document.pop(OTHER_CUBES)[str(size)])
    changed["cube"] = changed["cube"] | {"size": size}
    try:
        return RobotProfile.model_validate(changed)
    except ValidationError as error:
        source = ProfileDocument(f"{profile.name} for {size} layers", changed, {})
        raise BadProfile(complaints_of(error, source, RobotProfile)) from None


def changed_by(document: JsonObject, changes: JsonMapping) -> JsonObject:
    """``document`` with ``changes``: mappings key by key, all else replaced."""
    changed = dict(document)
    for key, value in changes.items():
        old = changed.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            changed[key] = changed_by(dict(old), value)
        else:
            changed[key] = value
    return changed
