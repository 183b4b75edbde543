"""Raspberry Pi cameras through picamera2: settled, then exposure, gains and focus locked.

The only file that imports ``picamera2``, and only when a camera is opened: the library comes with
Raspberry Pi OS (``python3-picamera2``, 0.3.13 or newer) and does not exist elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vision.cameras.base import CameraFault, CameraTrouble, Clock, FrameGuard, monotonic_us
from vision.frame import Frame

T = TypeVar("T")

_FORMAT = "BGR888"
"""libcamera names formats from the highest byte down: this one is R, G, B in memory."""

_AF_MANUAL, _AF_AUTO = 0, 1
"""Values of libcamera's ``AfModeEnum``."""

_WAIT_S = 3.0
_SETTLE_FRAMES = 90
_LOCK_FRAMES = 20
_STEADY_FRAMES = 4
_ACTING_FRAMES = 4
_SAME = 0.03
"""Relative difference between two exposures or gains that counts as none: sensors round them."""


class CompletedRequest(Protocol):
    """What is used of ``picamera2.request.CompletedRequest``."""

    def make_array(self, name: str) -> NDArray[np.uint8]:
        """Pixels of a stream, valid until ``release``."""

    def get_metadata(self) -> dict[str, Any]:
        """What the camera says about the picture."""

    def release(self) -> None:
        """Give the buffer back."""


class PiCamera(Protocol):
    """What is used of ``picamera2.Picamera2``."""

    camera_controls: Mapping[str, tuple[Any, Any, Any]]

    def create_video_configuration(self, main: dict[str, Any]) -> dict[str, Any]:
        """A configuration for a stream of pictures."""

    def configure(self, camera_config: dict[str, Any]) -> None:
        """Take a configuration."""

    def start(self) -> None:
        """Begin to take pictures."""

    def set_controls(self, controls: Mapping[str, Any]) -> None:
        """Set controls; they act some frames later."""

    def autofocus_cycle(self, wait: float) -> bool:
        """Focus once; False if that failed."""

    def capture_metadata(self, wait: float) -> dict[str, Any]:
        """Metadata of the next picture."""

    def capture_request(self, wait: float, *, flush: bool) -> CompletedRequest:
        """The next picture, with ``flush`` one exposed after the call."""

    def cancel_all_and_flush(self) -> None:
        """Forget what was asked for and is not done."""

    def stop(self) -> None:
        """Stop taking pictures."""

    def close(self) -> None:
        """Give the camera back."""


def open_picamera2(number: int) -> PiCamera:
    """The Raspberry Pi camera of a number; ImportError off a Pi, RuntimeError if it is not free."""
    from picamera2 import Picamera2

    camera: PiCamera = Picamera2(number)
    return camera


class Picamera2Camera:
    """A Raspberry Pi camera by its number; ``resolution`` is width and height in pixels."""

    def __init__(
        self,
        number: int,
        resolution: tuple[int, int],
        name: str = "picamera2",
        *,
        clock: Clock = monotonic_us,
        open_device: Callable[[int], PiCamera] = open_picamera2,
    ) -> None:
        self.name = name
        self._number = number
        self._resolution = resolution
        self._open_device = open_device
        self._camera: PiCamera | None = None
        self._locked: dict[str, Any] = {}
        self._guard = FrameGuard(name, clock)

    def settle(self) -> None:
        """Let exposure, white balance and focus adapt, then lock them; raises CameraFault."""
        camera = self._opened()
        self._locked = {}
        self._set(camera, {"AeEnable": True, "AwbEnable": True, "AfMode": _AF_AUTO})
        if "AfMode" in camera.camera_controls:
            self._asked(lambda: camera.autofocus_cycle(wait=_WAIT_S))
        found = self._steady_metadata(camera)
        names = ("ExposureTime", "AnalogueGain", "ColourGains", "LensPosition")
        locked = {name: found[name] for name in names if name in found}
        self._set(camera, {"AeEnable": False, "AwbEnable": False, "AfMode": _AF_MANUAL, **locked})
        self._wait_for(camera, locked)
        self._locked = locked

    def capture(self) -> Frame:
        """A picture whose exposure began after this call; raises :class:`CameraFault`."""
        camera = self._opened()
        request = self._asked(lambda: camera.capture_request(wait=_WAIT_S, flush=True))
        try:
            # The buffer goes back to the camera: what is kept must be a copy.
            image = np.array(request.make_array("main")[:, :, :3], dtype=np.uint8)
            metadata = request.get_metadata()
        finally:
            request.release()
        return self._guard.checked(
            Frame(image, self.name, int(metadata["SensorTimestamp"]) // 1000)
        )

    def capture_at(self, factor: float) -> Frame:
        """A picture with ``factor`` times the locked exposure, for stickers that are too bright.

        The lock is as before afterwards. Raises :class:`CameraFault`, also if not settled.
        """
        if "ExposureTime" not in self._locked:
            self.settle()
        camera = self._opened()
        usual = self._locked["ExposureTime"]
        try:
            self._expose(camera, max(1, round(usual * factor)))
            return self.capture()
        finally:
            if self._camera is camera:  # one that failed was given back
                self._expose(camera, usual)

    def close(self) -> None:
        """Stop the camera and give it back."""
        camera, self._camera, self._locked = self._camera, None, {}
        if camera is not None:
            # A request that timed out still heads the queue; stopping would wait behind it.
            camera.cancel_all_and_flush()
            camera.stop()
            camera.close()

    def _opened(self) -> PiCamera:
        if self._camera is not None:
            return self._camera
        try:
            camera = self._open_device(self._number)
        except ImportError as error:
            raise CameraFault(
                self.name,
                CameraTrouble.ABSENT,
                "picamera2 is not installed (on Raspberry Pi OS: apt install python3-picamera2)",
            ) from error
        except (RuntimeError, IndexError) as error:
            raise self._not_opened(error) from error
        size = {"size": self._resolution, "format": _FORMAT}
        camera.configure(camera.create_video_configuration(main=size))
        camera.start()
        self._camera = camera
        return camera

    def _not_opened(self, error: BaseException) -> CameraFault:
        """picamera2 tells in the error behind its own whether another program has the camera."""
        texts, link = [], [error]
        while link:
            texts.append(str(link[-1]))
            cause = link.pop().__context__
            link += [cause] if cause is not None else []
        busy = any("busy" in text or "in use" in text for text in texts)
        trouble = CameraTrouble.BUSY if busy else CameraTrouble.ABSENT
        return CameraFault(self.name, trouble, f"Raspberry Pi camera {self._number} did not open")

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except (TimeoutError, RuntimeError, OSError) as error:
            self.close()
            raise CameraFault(
                self.name, CameraTrouble.VANISHED, f"no picture within {_WAIT_S:.0f} s"
            ) from error

    def _set(self, camera: PiCamera, controls: Mapping[str, Any]) -> None:
        """Set the controls this camera has: picamera2 refuses all if it does not know one."""
        camera.set_controls({k: v for k, v in controls.items() if k in camera.camera_controls})

    def _steady_metadata(self, camera: PiCamera) -> dict[str, Any]:
        """Metadata of a picture after exposure and white balance came to rest."""
        before: dict[str, Any] = {}
        steady = 0
        for _ in range(_SETTLE_FRAMES):
            now: dict[str, Any] = self._asked(lambda: camera.capture_metadata(wait=_WAIT_S))
            steady = steady + 1 if before and _same_exposure(before, now) else 0
            if steady == _STEADY_FRAMES:
                return now
            before = now
        return before

    def _wait_for(self, camera: PiCamera, wanted: Mapping[str, Any]) -> None:
        """Controls act some frames after they were set, and one (``AeEnable``) is not in the
        metadata: wait until enough pictures in a row show the others.
        """
        shown = 0
        for _ in range(_LOCK_FRAMES):
            now = self._asked(lambda: camera.capture_metadata(wait=_WAIT_S))
            shown = shown + 1 if all(_close(now.get(k), v) for k, v in wanted.items()) else 0
            if shown == _ACTING_FRAMES:
                return
        raise CameraFault(self.name, CameraTrouble.STALE, "exposure and gains could not be locked")

    def _expose(self, camera: PiCamera, exposure_us: int) -> None:
        self._set(camera, {"ExposureTime": exposure_us})
        self._wait_for(camera, {"ExposureTime": exposure_us})


def _same_exposure(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    names = ("ExposureTime", "AnalogueGain", "ColourGains")
    return all(_close(before.get(name), now[name]) for name in names if name in now)


def _close(a: ArrayLike | None, b: ArrayLike) -> bool:
    if a is None:
        return False
    return bool(np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=_SAME, atol=0.02))


def open_camera(device: int | str, resolution: tuple[int, int], name: str) -> Picamera2Camera:
    """The Raspberry Pi's camera of this number."""
    return Picamera2Camera(int(device), resolution, name)
