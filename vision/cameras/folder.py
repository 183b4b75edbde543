"""A camera that shows the photographs of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vision.cameras.base import CameraFault, CameraTrouble, Clock, monotonic_us
from vision.cameras.photographs import SUFFIXES, BadPhoto, load_photo
from vision.frame import Frame
from vision.measure.sticker_colours import FACES


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
            raise CameraFault(self.name, CameraTrouble.ABSENT, f"{self._folder} is not a folder")
        files = [p for p in self._folder.iterdir() if p.suffix.lower() in SUFFIXES]
        if not files:
            raise CameraFault(self.name, CameraTrouble.EMPTY, f"{self._folder} has no photographs")
        return sorted(files, key=_place)


def _place(path: Path) -> tuple[int, str]:
    stem = path.stem.upper()
    return (FACES.index(stem) if len(stem) == 1 and stem in FACES else len(FACES), path.name)


def open_camera(device: int | str, _resolution: tuple[int, int], name: str) -> FolderCamera:
    """The photographs of the folder ``device``; it must be there."""
    return FolderCamera(Path(str(device)), name)
