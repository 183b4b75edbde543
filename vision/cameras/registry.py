"""Kinds of cameras by name; a kind is added by one line here or by :func:`register_camera`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from solver.errors import InvalidRequest

if TYPE_CHECKING:  # importers that only need names of kinds take no pictures
    from vision.frame import Camera


Options = Mapping[str, object]
"""Options of one kind of camera, by their key in the profile."""


class CameraFinding(NamedTuple):
    """The result of a check-up of one camera; ``remedy`` says what to do unless it is ``ok``."""

    verdict: Literal["ok", "warning", "bad"]
    text: str
    remedy: str = ""


CheckCamera = Callable[[int | str], CameraFinding]
"""Checks a device without taking a picture, also while another program uses it."""


class OpenCamera(Protocol):
    """Makes a camera from its device, its resolution (width, height) and its name.

    The options of its kind are arguments by name, those given. Touches no hardware before
    ``settle`` or ``capture``. Raises ``CameraError``.
    """

    def __call__(
        self, device: int | str, resolution: tuple[int, int], name: str, /, **options: object
    ) -> Camera:
        """The camera."""


@dataclass(frozen=True)
class CameraKind:
    """Everything that other parts need to know of a kind of camera.

    ``opener``, ``check``: functions, or the module that has them as ``open_camera`` and
    ``check_camera``, imported when first needed; without ``check`` its cameras pass every check-up.
    ``plugged_in``: each camera is a device that has one user. ``options``: keys of a profile that
    only this kind has. ``numbered``: its devices are numbers.
    """

    opener: OpenCamera | str
    check: CheckCamera | str | None = None
    plugged_in: bool = True
    options: frozenset[str] = frozenset()
    numbered: bool = False

    @classmethod
    def from_module(
        cls,
        module: str,
        *,
        plugged_in: bool = True,
        options: frozenset[str] = frozenset(),
        numbered: bool = False,
    ) -> CameraKind:
        """Return a kind whose functions are in ``module``."""
        return cls(module, module, plugged_in, options, numbered)


def _refuse_simulated(
    device: int | str, resolution: tuple[int, int], name: str, /, **options: object
) -> Camera:
    """Raise :class:`InvalidRequest`: only a simulated robot shows the pictures of such a camera."""
    del device, resolution, options
    raise InvalidRequest(
        f"camera {name} is simulated: say `kind: picamera2` or `kind: usb` in the profile, or "
        "start cubistd with --twin and the socket of a simulated robot"
    )


_KINDS: dict[str, CameraKind] = {
    "picamera2": CameraKind.from_module(
        "vision.cameras.picamera2",
        options=frozenset({"lens_position", "sensor_size"}),
        numbered=True,
    ),
    "usb": CameraKind.from_module("vision.cameras.usb"),
    "folder": CameraKind.from_module("vision.cameras.photographs", plugged_in=False),
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
    """Add a kind of camera, see :class:`CameraKind`; profiles may name it from then on."""
    _KINDS[kind] = CameraKind(opener, check, plugged_in, options, numbered)


def camera_kinds() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(_KINDS)


def is_plugged_in(kind: str) -> bool:
    """Return whether cameras of this kind are devices, each of which has one user."""
    return kind in _KINDS and _KINDS[kind].plugged_in


def options_of(kind: str) -> frozenset[str]:
    """Return the keys that a profile may give cameras of this kind beyond those that all have."""
    return _KINDS[kind].options if kind in _KINDS else frozenset()


def has_number(kind: str) -> bool:
    """Return whether the device of such a camera is a number."""
    return kind in _KINDS and _KINDS[kind].numbered


def open_camera(
    kind: str,
    device: int | str,
    resolution: tuple[int, int],
    name: str,
    options: Options = MappingProxyType({}),
) -> Camera:
    """Open a camera of a registered kind; raises ``CameraError`` and :class:`InvalidRequest`."""
    if kind not in _KINDS:
        raise InvalidRequest(f"camera {name}: no such kind of camera: {kind}")
    opener = _KINDS[kind].opener
    if isinstance(opener, str):
        opener = import_module(opener).open_camera
    return opener(device, resolution, name, **options)


def check_camera(kind: str, device: int | str) -> CameraFinding:
    """Check a camera of a registered kind, without taking a picture."""
    check = _KINDS[kind].check
    if isinstance(check, str):
        check = import_module(check).check_camera
    return CameraFinding("ok", f"{kind} {device}") if check is None else check(device)
