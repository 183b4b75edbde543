"""Kinds of cameras by name; a kind is added by one line here or by :func:`register_camera`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # names of kinds are asked for where no picture is taken
    from vision.frame import Camera


class OpenCamera(Protocol):
    """Makes a camera from its device, its resolution (width, height) and its name.

    Touches no hardware before ``settle`` or ``capture``. Raises ``CameraFault``.
    """

    def __call__(self, device: int | str, resolution: tuple[int, int], name: str, /) -> Camera:
        """The camera."""


@dataclass(frozen=True)
class CameraKind:
    """How to open cameras of a kind; ``plugged_in``: each is a device that has one user.

    ``opener`` may name a module instead, imported when the kind is asked for, with the function
    ``open_camera``.
    """

    opener: OpenCamera | str
    plugged_in: bool = True


_KINDS: dict[str, CameraKind] = {
    "picamera2": CameraKind("vision.cameras.picamera2"),
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


def open_camera(kind: str, device: int | str, resolution: tuple[int, int], name: str) -> Camera:
    """A camera of a registered kind; raises ``CameraFault`` and ValueError for an unknown kind."""
    if kind not in _KINDS:
        raise ValueError(f"camera {name}: no such kind of camera: {kind}")
    opener = _KINDS[kind].opener
    if isinstance(opener, str):
        opener = import_module(opener).open_camera
    return opener(device, resolution, name)
