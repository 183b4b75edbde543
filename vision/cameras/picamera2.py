"""Raspberry Pi cameras through picamera2: let them settle, then lock exposure, gains and focus.

Only this file imports ``picamera2``, and only when it opens or looks for a camera: the library
comes with Raspberry Pi OS (``python3-picamera2``, 0.3.17 or newer) and does not exist elsewhere.
"""

from __future__ import annotations

import errno
import inspect
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solver.errors import root_sentence
from solver.files import parse_json
from vision.cameras.base import (
    CameraError,
    CameraGuard,
    CameraTrouble,
    Clock,
    Unsettled,
    monotonic_us,
)
from vision.cameras.registry import CameraFinding
from vision.frame import Frame
from vision.reasons import Reason

log = logging.getLogger("cubistd")

T = TypeVar("T")

_FORMAT = "BGR888"
"""libcamera names formats from the highest byte down: this one is R, G, B in memory."""

_AF_MANUAL, _AF_AUTO = 0, 1
"""Values of libcamera's ``AfModeEnum``."""

_AF_CANCEL = 1
"""A value of libcamera's ``AfTriggerEnum``."""

_WAIT_S = 3.0
_FOCUS_S = 6.0
"""Timeout for autofocus: a Camera Module 3 above a bare table may take 25 s, or never finish."""
_SETTLE_FRAMES = 90
_LOCK_FRAMES = 20
_STEADY_FRAMES = 4
_ACTING_FRAMES = 4
_SAME = 0.03
"""Relative difference up to which two exposures or gains count as equal."""

_ROUNDED = 0.05
"""Maximum relative difference between a requested gain and the sensor's nearest step."""

_LINE_US = 35
"""Maximum duration of a line. Sensors expose for a whole number of lines."""

_WHOLE = 0.98
"""Share of the sensor's width and height above which a mode counts as uncropped."""

_DEVICES = ("media*", "dma_heap/linux,cma", "dma_heap/vidbuf_cached")
"""Devices below ``/dev`` that libcamera and picamera2 open."""


class _CompletedRequest(Protocol):
    """The part of ``picamera2.request.CompletedRequest`` that is used here.

    An array is valid until ``release``.
    """

    def make_array(self, name: str) -> NDArray[np.uint8]: ...
    def get_metadata(self) -> dict[str, Any]: ...
    def release(self) -> None: ...


class _PiCamera(Protocol):
    """The part of ``picamera2.Picamera2`` that is used here.

    A sensor mode has a ``size`` and ``crop_limits`` (x, y, width, height). Controls take effect
    some frames after they are set. A request with ``flush`` is exposed after the call.
    """

    camera_controls: Mapping[str, tuple[Any, Any, Any]]

    @property
    def sensor_modes(self) -> list[dict[str, Any]]: ...
    def create_video_configuration(
        self, main: dict[str, Any], *, sensor: dict[str, Any]
    ) -> dict[str, Any]: ...
    def configure(self, camera_config: dict[str, Any]) -> None: ...
    def start(self) -> None: ...
    def set_controls(self, controls: Mapping[str, Any]) -> None: ...
    def autofocus_cycle(self, wait: float) -> bool: ...
    def capture_metadata(self, wait: float) -> dict[str, Any]: ...
    def capture_request(self, wait: float, *, flush: bool) -> _CompletedRequest: ...
    def cancel_all_and_flush(self) -> None: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...


class _CameraLibrary(Protocol):
    """The part of the class ``picamera2.Picamera2`` that is used here."""

    def __call__(self, number: int, **options: object) -> _PiCamera: ...
    def global_camera_info(self) -> list[dict[str, Any]]: ...


def _library() -> _CameraLibrary:
    """Return the class ``Picamera2``. Raise :class:`CameraError`."""
    try:
        from picamera2 import Picamera2
    except Exception as error:  # also ValueError if it was compiled for another numpy
        if isinstance(error, ImportError) and error.name == "picamera2":
            told = (
                "picamera2 is not installed (Raspberry Pi OS: sudo apt install python3-picamera2)"
            )
        else:
            told = f"picamera2 cannot be loaded: {root_sentence(error)}"
        raise CameraError("", CameraTrouble.SOFTWARE, told) from error
    if "allocator" not in inspect.signature(Picamera2).parameters:
        told = "picamera2 is too old: 0.3.17 or newer is needed (sudo apt full-upgrade)"
        raise CameraError("", CameraTrouble.SOFTWARE, told)
    library: _CameraLibrary = Picamera2
    return library


def open_picamera2(number: int) -> _PiCamera:
    """Return the Raspberry Pi camera with this number.

    Raises :class:`CameraError`, PermissionError, or libcamera's own error if the camera is missing
    or in use.
    """
    library = _library()
    _check_permission()
    try:
        # If picamera2 runs out of memory after opening a camera, it never releases the camera.
        return library(number, allocator=_memory())
    except Exception:
        if denied := _denied_device():
            raise denied from None
        raise


def _check_permission() -> None:
    """Raise PermissionError if this user may not open any media device.

    libcamera would then find no camera and never look again in this process.
    """
    media = list(Path("/dev").glob("media*"))
    if media and not any(_may_use(path) for path in media) and (denied := _denied_device()):
        raise denied


def _may_use(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK, effective_ids=True)


def _memory() -> object:
    """Return the picture allocator picamera2 uses itself. Raise :class:`CameraError`."""
    from picamera2.allocators import DmaAllocator

    try:
        return DmaAllocator()
    except Exception as error:
        told = f"no memory for pictures: {root_sentence(error)}"
        raise CameraError("", CameraTrouble.FAILED, told) from error


def _denied_device() -> PermissionError | None:
    """Return an error that names a camera device this user may not open, if there is one.

    libcamera ignores such devices.
    """
    for path in sorted(path for pattern in _DEVICES for path in Path("/dev").glob(pattern)):
        if not _may_use(path):
            return PermissionError(errno.EACCES, f"{path}: {os.strerror(errno.EACCES)}")
    return None


def ask_for_cameras(limit_s: float = 20.0) -> list[str]:
    """Return the models of the cameras that libcamera sees, by number.

    Runs in a separate process because libcamera may hang or crash. Raises ``CameraError`` with the
    last line of that process's errors.
    """
    command = [sys.executable, "-P", "-m", __name__]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired as error:
        raise CameraError(
            "", CameraTrouble.SOFTWARE, f"libcamera does not answer within {limit_s:.0f} s"
        ) from error
    if done.returncode:
        last_words = done.stderr.strip().splitlines()[-1:] or ["no output"]
        crash = f"libcamera crashed (signal {-done.returncode}): " if done.returncode < 0 else ""
        raise CameraError("", CameraTrouble.SOFTWARE, crash + last_words[0])
    found = parse_json(done.stdout.splitlines()[-1], "libcamera")
    if not found and (denied := _denied_device()):
        raise CameraError("", CameraTrouble.REFUSED, root_sentence(denied))
    return [str(model) for model in found] if isinstance(found, list) else []


def _list_cameras() -> None:
    """Print the models as JSON, or exit with the reason."""
    try:
        models = [str(one.get("Model", "?")) for one in _library().global_camera_info()]
    except CameraError as error:
        sys.exit(str(error))
    except Exception as error:
        sys.exit(root_sentence(error))
    sys.stdout.write(f"{json.dumps(models)}\n")


def whole_view(
    modes: Sequence[Mapping[str, Any]], resolution: tuple[int, int]
) -> tuple[int, int] | None:
    """Return the size of the smallest sensor mode that crops nothing and has enough pixels.

    None if no mode has crop limits. By default picamera2 picks the mode nearest to ``resolution``,
    and a Camera Module 2 then shows 39 % of the view's width.
    """
    known = [(mode["size"], mode["crop_limits"][2:]) for mode in modes if "crop_limits" in mode]
    widest, highest = (max((crop[axis] for _, crop in known), default=0) for axis in (0, 1))
    sizes = [size for size, (w, h) in known if w >= _WHOLE * widest and h >= _WHOLE * highest]
    enough = [size for size in sizes if size[0] >= resolution[0] and size[1] >= resolution[1]]
    found = min(enough, default=None) or max(sizes, default=None)
    return None if found is None else (found[0], found[1])


class Picamera2Camera:
    """A Raspberry Pi camera by its number; ``resolution`` is width and height in pixels.

    ``lens_position``: fixed position of the lens in dioptres (default: autofocus).
    ``sensor_size``: size of the sensor mode (default: one that crops nothing).
    ``unsettled``: settings that :meth:`settle` could not find or lock.
    """

    def __init__(
        self,
        number: int,
        resolution: tuple[int, int],
        name: str = "picamera2",
        *,
        lens_position: float | None = None,
        sensor_size: tuple[int, int] | None = None,
        clock: Clock = monotonic_us,
        open_device: Callable[[int], _PiCamera] = open_picamera2,
    ) -> None:
        self.name = name
        self.unsettled: frozenset[Unsettled] = frozenset()
        self._number = number
        self._resolution = resolution
        self._lens_position = lens_position
        self._sensor_size = sensor_size
        self._open_device = open_device
        self._camera: _PiCamera | None = None
        self._locked: dict[str, Any] = {}
        self._guard = CameraGuard(name, clock)

    def settle(self) -> None:
        """Let exposure, white balance and focus adapt, then lock them. Raise CameraError."""
        camera = self._open()
        self._locked = {}
        self._set(camera, {"AeEnable": True, "AwbEnable": True})
        is_focused = self._focus(camera)
        found = self._steady_metadata(camera)
        names = ("ExposureTime", "AnalogueGain", "ColourGains", "LensPosition")
        locked = {n: found[n] for n in names if n in found and n in camera.camera_controls}
        self._set(camera, {"AeEnable": False, "AwbEnable": False, "AfMode": _AF_MANUAL, **locked})
        if not self._shows(camera, locked):
            raise CameraError(
                self.name, CameraTrouble.STALE, "exposure and gains could not be locked"
            )
        self._locked = locked
        missing = {
            Unsettled.EXPOSURE: "ExposureTime" not in locked,
            Unsettled.WHITE_BALANCE: "ColourGains" not in locked,
            Unsettled.LENS: not is_focused,
        }
        self.unsettled = frozenset(one for one, is_missing in missing.items() if is_missing)

    def capture(self) -> Frame:
        """Return a picture exposed after this call. Raise :class:`CameraError`."""
        camera = self._open()
        return self._guard.check(self._call(lambda: self._frame(camera)))

    def capture_at(self, factor: float) -> Frame | None:
        """Return a picture with ``factor`` times the locked exposure, for overexposed stickers.

        None if the camera cannot expose so briefly, or the difference is too small. Restores the
        locked exposure afterwards. Settles first if necessary. Raises :class:`CameraError`.
        """
        if not self._locked:
            self.settle()
        camera = self._open()
        usual = self._locked.get("ExposureTime")
        if usual is None:
            return None
        wanted = round(usual * factor)
        shortest = camera.camera_controls["ExposureTime"][0]
        if wanted < shortest or abs(usual - wanted) <= 2 * _LINE_US:
            return None
        try:
            return self.capture() if self._expose(camera, wanted) else None
        finally:
            # A camera that failed is already closed.
            if self._camera is camera and not self._expose(camera, usual):
                raise CameraError(self.name, CameraTrouble.STALE, "its exposure could not be reset")

    def close(self) -> None:
        """Stop and release the camera."""
        camera, self._camera, self._locked = self._camera, None, {}
        if camera is None:
            return
        # A request that timed out is still first in the queue; stopping would wait behind it.
        for step in (camera.cancel_all_and_flush, camera.stop, camera.close):
            try:
                step()
            except Exception as error:  # try the next step all the same
                log.warning("camera %s: closing it: %s", self.name, root_sentence(error))

    def _open(self) -> _PiCamera:
        if self._camera is not None:
            return self._camera
        try:
            camera = self._open_device(self._number)
        except Exception as error:
            raise self._not_opened(error) from error
        self._camera = camera
        self._call(lambda: self._start(camera), "it did not start", CameraTrouble.FAILED)
        return camera

    def _start(self, camera: _PiCamera) -> None:
        size = self._sensor_size or self._whole_view(camera)
        configuration = camera.create_video_configuration(
            main={"size": self._resolution, "format": _FORMAT},
            sensor={} if size is None else {"output_size": size},
        )
        camera.configure(configuration)
        camera.start()

    def _whole_view(self, camera: _PiCamera) -> tuple[int, int] | None:
        try:
            return whole_view(camera.sensor_modes, self._resolution)
        except Exception as error:  # picamera2 tries each mode, and large ones need much memory
            why = root_sentence(error)
            log.warning("camera %s: its view may be cropped: no sensor modes: %s", self.name, why)
            return None

    def _not_opened(self, error: Exception) -> CameraError:
        """Return the error for a missing library, or a camera that is in use, denied or absent."""
        if isinstance(error, CameraError):
            return CameraError(self.name, error.trouble, str(error))
        if isinstance(error, IndexError):  # of libcamera's list of cameras
            told = f"there is no Raspberry Pi camera {self._number}"
            return CameraError(self.name, CameraTrouble.ABSENT, told)
        trouble = CameraTrouble.ABSENT
        if any("busy" in text or "in use" in text for text in map(str, _chain(error))):
            trouble = CameraTrouble.BUSY
        elif any(isinstance(one, PermissionError) for one in _chain(error)):
            trouble = CameraTrouble.REFUSED
        told = f"Raspberry Pi camera {self._number} did not open: {root_sentence(error)}"
        return CameraError(self.name, trouble, told)

    def _call(
        self,
        ask: Callable[[], T],
        failure: str = "no picture",
        trouble: CameraTrouble = CameraTrouble.VANISHED,
    ) -> T:
        """Call the library. On any exception, close the camera and raise CameraError."""
        try:
            return ask()
        except Exception as error:
            self.close()
            is_late = isinstance(error, TimeoutError) and not str(error)
            why = f" within {_WAIT_S:.0f} s" if is_late else f": {root_sentence(error)}"
            raise CameraError(self.name, trouble, failure + why) from error

    def _frame(self, camera: _PiCamera) -> Frame:
        request = camera.capture_request(wait=_WAIT_S, flush=True)
        try:
            # The camera reuses the buffer: keep a copy.
            image = np.array(request.make_array("main")[:, :, :3], dtype=np.uint8)
            metadata = request.get_metadata()
        finally:
            request.release()
        return Frame(image, self.name, int(metadata["SensorTimestamp"]) // 1000)

    def _focus(self, camera: _PiCamera) -> bool:
        """Focus, or move the lens to the profile's position. Return False if that fails."""
        if "AfMode" not in camera.camera_controls:
            return True
        if self._lens_position is not None:
            lens = {"LensPosition": self._lens_position}
            self._set(camera, {"AfMode": _AF_MANUAL, **lens})
            return self._shows(camera, lens)
        self._set(camera, {"AfMode": _AF_AUTO})
        is_found = self._call(lambda: self._focus_once(camera))
        if not is_found:
            log.warning("camera %s found no focus: its lens keeps its position", self.name)
        return is_found

    @staticmethod
    def _focus_once(camera: _PiCamera) -> bool:
        try:
            return camera.autofocus_cycle(wait=_FOCUS_S)
        except (TimeoutError, KeyError):  # KeyError: metadata without AfState
            camera.cancel_all_and_flush()  # the job would block all later ones
            camera.set_controls({"AfTrigger": _AF_CANCEL})
            return False

    def _set(self, camera: _PiCamera, controls: Mapping[str, Any]) -> None:
        """Set the controls this camera has: picamera2 rejects all if one is unknown."""
        known = {k: v for k, v in controls.items() if k in camera.camera_controls}
        self._call(lambda: camera.set_controls(known), "it takes no settings")

    def _steady_metadata(self, camera: _PiCamera) -> dict[str, Any]:
        """Return the metadata of a picture after exposure and white balance are steady."""
        before: dict[str, Any] = {}
        steady = 0
        for _ in range(_SETTLE_FRAMES):
            now: dict[str, Any] = self._call(lambda: camera.capture_metadata(wait=_WAIT_S))
            steady = steady + 1 if before and _same_exposure(before, now) else 0
            if steady == _STEADY_FRAMES:
                return now
            before = now
        return before

    def _shows(self, camera: _PiCamera, wanted: Mapping[str, Any]) -> bool:
        """Wait until pictures have these settings. Return False after ``_LOCK_FRAMES`` pictures.

        Controls take effect some frames after they are set, and one (``AeEnable``) is not in the
        metadata. Therefore ``_ACTING_FRAMES`` pictures in a row must have the others.
        """
        shown = 0
        for _ in range(_LOCK_FRAMES):
            now = self._call(lambda: camera.capture_metadata(wait=_WAIT_S))
            shown = shown + 1 if all(_is_set(k, now.get(k), v) for k, v in wanted.items()) else 0
            if shown == _ACTING_FRAMES:
                return True
        return False

    def _expose(self, camera: _PiCamera, exposure_us: int) -> bool:
        self._set(camera, {"ExposureTime": exposure_us})
        return self._shows(camera, {"ExposureTime": exposure_us})


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _same_exposure(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    names = ("ExposureTime", "AnalogueGain", "ColourGains")
    return all(_close(before.get(name), now[name], _SAME) for name in names if name in now)


def _is_set(name: str, now: ArrayLike | None, wanted: ArrayLike) -> bool:
    """Return True if a picture has the value that was set, within the sensor's steps."""
    return _close(now, wanted, _ROUNDED, _LINE_US if name == "ExposureTime" else 0.02)


def _close(a: ArrayLike | None, b: ArrayLike, relative: float, absolute: float = 0.02) -> bool:
    if a is None:
        return False
    return bool(np.allclose(np.asarray(a, float), np.asarray(b, float), relative, absolute))


def open_camera(
    device: int | str,
    resolution: tuple[int, int],
    name: str,
    *,
    lens_position: float | None = None,
    sensor_size: tuple[int, int] | None = None,
) -> Picamera2Camera:
    """Return the Raspberry Pi camera with this number."""
    return Picamera2Camera(
        int(device), resolution, name, lens_position=lens_position, sensor_size=sensor_size
    )


_REMEDIES: Mapping[CameraTrouble, str] = {
    CameraTrouble.REFUSED: Reason.of("join-video"),
    CameraTrouble.SOFTWARE: Reason.of("install-picamera2"),
}


def check_camera(
    device: int | str, ask: Callable[[], Sequence[str]] = ask_for_cameras
) -> CameraFinding:
    """Check that libcamera sees the camera with this number."""
    number = int(device)
    try:
        models = ask()
    except CameraError as error:
        return CameraFinding("bad", str(error), _REMEDIES[error.trouble], error.code)
    if number >= len(models):
        text = Reason.of("no-pi-camera", number=number)
        return CameraFinding("bad", text, Reason.of("check-ribbon"))
    return CameraFinding("ok", f"picamera2 {number}: {models[number]}")


if __name__ == "__main__":
    _list_cameras()
