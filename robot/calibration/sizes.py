"""One robot, cubes of several sizes: which calibrated values count for the cube of one size only.

Where a row stands in the turntable, where a face is in the picture and what colours its stickers
have are another for each cube; how fast a motor can be is not. The file has the values for the cube
that the profile is written for beside those common to all; what belongs to another has its own
place::

    {"values":  {"actuators.turntable.max_speed_steps_per_s": 2700,   common
                 "cameras.top.views.U.quad": [...]},                  3x3x3, as the profile
     "of_size": {"5": {"cameras.top.views.U.quad": [...]}}}           5x5x5
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from robot.settings import RobotProfile
from robot.settings.other_cubes import for_cube
from solver.files import JsonMapping, JsonObject


@dataclass(frozen=True)
class CubeSizes:
    """The sizes of cube that a robot takes, and the one that it is set up for.

    ``written``: its profile; ``size``: layers of the cube (None: the one of the profile).
    """

    written: RobotProfile
    size: int | None = None
    _changed: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note what the profile changes for any size."""
        document = self.written.model_dump(mode="json", exclude_unset=True)
        changes = document.get("other_cubes", {}).values()
        keys = frozenset(key for change in changes for key in _leaves(change))
        object.__setattr__(self, "_changed", keys)

    @property
    def profile(self) -> RobotProfile:
        """The robot as it is set up; raises ``UnsupportedSize`` and ``BadProfile``."""
        return for_cube(self.written, self.size)

    @property
    def layers(self) -> int:
        """Of the cube it is set up for."""
        return self.size or self.written.cube.size

    @property
    def other(self) -> str | None:
        """Where values for the present size have their own place: its name there."""
        return None if self.layers == self.written.cube.size else str(self.layers)

    def split(self, values: JsonMapping) -> tuple[JsonObject, JsonObject]:
        """What is common to all sizes, and what belongs to one."""
        own = {key: value for key, value in values.items() if self._is_own(key)}
        return {key: value for key, value in values.items() if key not in own}, own

    def _is_own(self, key: str) -> bool:
        room, *rest = key.split(".")
        seen = room == "colours" or (room == "cameras" and rest[-1:] == ["quad"])
        return seen or key in self._changed


def _leaves(document: Mapping[str, object], above: str = "") -> Iterator[str]:
    """Dotted keys of all that is no mapping."""
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"
