"""Cameras: what can go wrong with them, pictures from a folder, opening one by its kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from solver.errors import CubistError
from vision.cameras.photographs import SUFFIXES, BadPhoto, load_photo
from vision.frame import Camera, Frame
from vision.measure.sticker_colours import FACES

Clock = Callable[[], int]
"""Tells microseconds since some fixed moment."""


def monotonic_us() -> int:
    """Microseconds of the system's steady clock."""
    return time.monotonic_ns() // 1000


class CameraTrouble(StrEnum):
    """Kinds of camera faults; the values are stable names for programs."""

    ABSENT = "camera-absent"
    BUSY = "camera-busy"
    VANISHED = "camera-vanished"
    BLACK = "camera-black"
    FROZEN = "camera-frozen"
    STALE = "camera-stale"
    EMPTY = "camera-empty"


class CameraFault(CubistError):
    """A camera gave no usable picture: which camera, what kind of trouble, what happened."""

    def __init__(self, camera: str, trouble: CameraTrouble, what: str) -> None:
        super().__init__(f"camera {camera}: {what}")
        self.camera = camera
        self.trouble = trouble


def open_camera(kind: str, device: int | str, resolution: tuple[int, int], name: str) -> Camera:
    """A camera by kind (``picamera2``, ``usb``, ``folder``); nothing is touched before ``settle``
    or ``capture``, but a folder must be there. Raises :class:`CameraFault`, ValueError.
    """
    if kind == "folder":
        return FolderCamera(Path(str(device)), name)
    if kind == "usb":
        from vision.cameras.usb import UsbCamera

        return UsbCamera(device, resolution, name)
    if kind == "picamera2":
        from vision.cameras.picamera2 import Picamera2Camera

        return Picamera2Camera(int(device), resolution, name)
    raise ValueError(f"camera {name}: no such kind of camera: {kind}")


class FolderCamera:
    """Shows the photographs of a folder one after the other, beginning again at ``settle``.

    ``U.*`` .. ``B.*`` come in that order; other names in the order of the alphabet.
    """

    def __init__(self, folder: Path, name: str = "folder", clock: Clock = monotonic_us) -> None:
        self.name = name
        self._folder = folder
        self._clock = clock
        self._files = self._sorted_files()
        self._shown = 0

    def settle(self) -> None:
        """Start over with the first photograph."""
        self._shown = 0

    def capture(self) -> Frame:
        """The next photograph; raises :class:`CameraFault` after the last and for bad files."""
        if self._shown == len(self._files):
            raise CameraFault(
                self.name,
                CameraTrouble.EMPTY,
                f"all {self._shown} photographs of {self._folder} were shown",
            )
        path = self._files[self._shown]
        try:
            image = load_photo(path)
        except BadPhoto as error:
            raise CameraFault(self.name, CameraTrouble.VANISHED, str(error)) from error
        self._shown += 1
        return Frame(image, self.name, self._clock())

    def close(self) -> None:
        """Nothing to give back."""

    def _sorted_files(self) -> Sequence[Path]:
        if not self._folder.is_dir():
            raise CameraFault(self.name, CameraTrouble.ABSENT, f"{self._folder} is no folder")
        files = [p for p in self._folder.iterdir() if p.suffix.lower() in SUFFIXES]
        if not files:
            raise CameraFault(self.name, CameraTrouble.EMPTY, f"{self._folder} has no photographs")
        return sorted(files, key=_place)


def _place(path: Path) -> tuple[int, str]:
    stem = path.stem.upper()
    return (FACES.index(stem) if len(stem) == 1 and stem in FACES else len(FACES), path.name)
