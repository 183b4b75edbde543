"""Kinds of cameras by name; a kind is added by one line here or by :func:`register_camera`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from vision.frame import Camera

OpenCamera = Callable[[int | str, tuple[int, int], str], Camera]
"""Makes a camera from its device, its resolution (width, height) and its name.

Touches no hardware before ``settle`` or ``capture``. Raises ``CameraFault``.
"""

_KINDS: dict[str, str | OpenCamera] = {
    "folder": "vision.cameras.folder",
    "picamera2": "vision.cameras.picamera2",
    "usb": "vision.cameras.usb",
}
"""Kind -> the module whose ``open_camera`` makes one, imported when the kind is asked for."""


def register_camera(kind: str, opener: OpenCamera) -> None:
    """Add a kind of camera."""
    _KINDS[kind] = opener


def open_camera(kind: str, device: int | str, resolution: tuple[int, int], name: str) -> Camera:
    """A camera of a registered kind; raises ``CameraFault`` and ValueError for an unknown kind."""
    opener = _KINDS.get(kind)
    if opener is None:
        raise ValueError(f"camera {name}: no such kind of camera: {kind}")
    if isinstance(opener, str):
        opener = import_module(opener).open_camera
    return opener(device, resolution, name)
