"""Kinds of cameras by name. Add one with a line in ``KINDS`` or by :func:`register_camera`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from solver.errors import InvalidRequest

if TYPE_CHECKING:  # importers that only need the names of kinds do not load numpy
    from vision.frame import Camera


Options = Mapping[str, object]
"""Options of one kind of camera, by their keys in the profile."""


class CameraFinding(NamedTuple):
    """The result of checking one camera; ``remedy`` says what to do unless it is ``ok``.

    ``error`` is the code of the error if one occurred, ``text`` then its message.
    """

    verdict: Literal["ok", "warning", "bad"]
    text: str
    remedy: str = ""
    error: str = ""


CheckCamera = Callable[[int | str], CameraFinding]
"""Function that checks a device without taking a picture, even if another program uses it."""


class OpenCamera(Protocol):
    """Makes a camera from its device, its resolution (width, height) and its name.

    Options of its kind are passed by name if given. Touches no hardware before ``settle`` or
    ``capture``. Raises ``CameraError``.
    """

    def __call__(
        self, device: int | str, resolution: tuple[int, int], name: str, /, **options: object
    ) -> Camera:
        """Return the camera."""


@dataclass(frozen=True)
class CameraKind:
    """Everything that other parts need to know about a kind of camera.

    ``opener``, ``check``: functions, or the module that has them as ``open_camera`` and
    ``check_camera``, imported on first use. Without ``check`` its cameras always pass.
    ``plugged_in``: each camera is a device with a single user. ``options``: profile keys that only
    this kind has. ``numbered``: its devices are numbers.
    """

    opener: OpenCamera | str
    check: CheckCamera | str | None = None
    plugged_in: bool = True
    options: frozenset[str] = frozenset()
    numbered: bool = False


def _refuse_simulated(
    device: int | str, resolution: tuple[int, int], name: str, /, **options: object
) -> Camera:
    """Raise :class:`InvalidRequest`: only a simulated robot has pictures of such a camera."""
    del device, resolution, options
    raise InvalidRequest(
        f"camera {name} is simulated: set `kind: picamera2` or `kind: usb` in the profile, or "
        "start cubistd with --twin and the socket of a simulated robot"
    )


_PICAMERA2, _USB, _FOLDER = (
    f"vision.cameras.{module}" for module in ("picamera2", "usb", "photographs")
)

KINDS: dict[str, CameraKind] = {
    "picamera2": CameraKind(
        _PICAMERA2,
        _PICAMERA2,
        options=frozenset({"lens_position", "sensor_size"}),
        numbered=True,
    ),
    "usb": CameraKind(_USB, _USB),
    "folder": CameraKind(_FOLDER, _FOLDER, plugged_in=False),
    "simulated": CameraKind(_refuse_simulated, plugged_in=False),
}


def register_camera(
    kind: str,
    opener: OpenCamera,
    *,
    check: CheckCamera | None = None,
    plugged_in: bool = True,
    options: frozenset[str] = frozenset(),
    numbered: bool = False,
) -> None:
    """Add a kind of camera (see :class:`CameraKind`) for use in profiles."""
    KINDS[kind] = CameraKind(opener, check, plugged_in, options, numbered)


def camera_kinds() -> tuple[str, ...]:
    """Return the names of all kinds."""
    return tuple(KINDS)


def camera_kind(name: str) -> CameraKind:
    """Return the kind of this name, or a placeholder if it is not registered."""
    return KINDS.get(name, CameraKind(name, plugged_in=False))


def open_camera(
    kind: str,
    device: int | str,
    resolution: tuple[int, int],
    name: str,
    options: Options = MappingProxyType({}),
) -> Camera:
    """Open a camera of a registered kind. Raise ``CameraError`` or :class:`InvalidRequest`."""
    if kind not in KINDS:
        raise InvalidRequest(f"camera {name}: no such kind of camera: {kind}")
    opener = KINDS[kind].opener
    if isinstance(opener, str):
        opener = import_module(opener).open_camera
    return opener(device, resolution, name, **options)


def check_camera(kind: str, device: int | str) -> CameraFinding:
    """Check a camera of a registered kind without taking a picture."""
    check = KINDS[kind].check
    if isinstance(check, str):
        check = import_module(check).check_camera
    return CameraFinding("ok", f"{kind} {device}") if check is None else check(device)
