"""Kinds of cameras by name; a kind is added by one line here or by :func:`register_camera`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # names of kinds are asked for where no picture is taken
    from vision.frame import Camera


Options = Mapping[str, object]
"""Options of one kind of camera, by their key in the profile."""


class OpenCamera(Protocol):
    """Makes a camera from its device, its resolution (width, height) and its name.

    The options of its kind are arguments by name, those given. Touches no hardware before
    ``settle`` or ``capture``. Raises ``CameraFault``.
    """

    def __call__(
        self, device: int | str, resolution: tuple[int, int], name: str, /, **options: object
    ) -> Camera:
        """The camera."""


@dataclass(frozen=True)
class CameraKind:
    """The way to open cameras of a kind; ``plugged_in``: each is a device that has one user;
    ``options``: the keys of a profile that only this kind has; ``numbered``: its devices are
    numbers.

    ``opener`` may name a module instead, imported when the kind is asked for, with the function
    ``open_camera``.
    """

    opener: OpenCamera | str
    plugged_in: bool = True
    options: frozenset[str] = frozenset()
    numbered: bool = False


_KINDS: dict[str, CameraKind] = {
    "picamera2": CameraKind(
        "vision.cameras.picamera2",
        options=frozenset({"lens_position", "sensor_size"}),
        numbered=True,
    ),
    "usb": CameraKind("vision.cameras.usb"),
    "folder": CameraKind("vision.cameras.photographs", plugged_in=False),
}


def register_camera(kind: str, opener: OpenCamera, *, plugged_in: bool = True) -> None:
    """Add a kind of camera; profiles may name it from then on."""
    _KINDS[kind] = CameraKind(opener, plugged_in)


def camera_kinds() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(_KINDS)


def plugged_in(kind: str) -> bool:
    """Whether cameras of this kind are devices, each of which has one user."""
    return kind in _KINDS and _KINDS[kind].plugged_in


def options_of(kind: str) -> frozenset[str]:
    """The keys that a profile may give cameras of this kind beyond those that all have."""
    return _KINDS[kind].options if kind in _KINDS else frozenset()


def numbered(kind: str) -> bool:
    """Return whether the device of such a camera is a number."""
    return kind in _KINDS and _KINDS[kind].numbered


def open_camera(
    kind: str,
    device: int | str,
    resolution: tuple[int, int],
    name: str,
    options: Options = MappingProxyType({}),
) -> Camera:
    """A camera of a registered kind; raises ``CameraFault`` and ValueError for an unknown kind."""
    if kind not in _KINDS:
        raise ValueError(f"camera {name}: no such kind of camera: {kind}")
    opener = _KINDS[kind].opener
    if isinstance(opener, str):
        opener = import_module(opener).open_camera
    return opener(device, resolution, name, **options)
