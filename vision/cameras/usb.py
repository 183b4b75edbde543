"""USB cameras (V4L2) through OpenCV: settled, then locked as far as the driver allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cameras.base import CameraFault, CameraTrouble, Clock, FrameGuard, monotonic_us
from vision.frame import Frame

_AUTO_EXPOSURE, _MANUAL_EXPOSURE = 3.0, 1.0
"""V4L2_EXPOSURE_APERTURE_PRIORITY and V4L2_EXPOSURE_MANUAL, which OpenCV passes through."""

_SETTLED = 0.015
"""Relative change of the mean colour from picture to picture that counts as none."""

_SETTLED_FRAMES = 4
_SETTLE_US = 4_000_000
_FRESH_US = 4_000
"""A grab that takes longer than this has waited for the sensor; a shorter one emptied a buffer."""

_BUFFERED = 6


class Capture(Protocol):
    """What is used of ``cv2.VideoCapture``."""

    def isOpened(self) -> bool:  # noqa: N802  # OpenCV's name
        """Whether there is a device."""

    def grab(self) -> bool:
        """Take the next picture out of the driver."""

    def retrieve(self) -> tuple[bool, cv2.typing.MatLike]:
        """Decode the picture taken, B G R."""

    def get(self, propId: int, /) -> float:  # noqa: N803  # OpenCV's name
        """A property of the device."""

    def set(self, propId: int, value: float, /) -> bool:  # noqa: N803  # OpenCV's name
        """Set a property; False if the driver does not know it."""

    def release(self) -> None:
        """Give the device back."""


def open_v4l2(device: int | str) -> Capture:
    """A V4L2 device by number or path."""
    return cv2.VideoCapture(device, cv2.CAP_V4L2)


class UsbCamera:
    """A V4L2 camera. ``device`` is its number or path, ``resolution`` width and height in pixels.

    ``locked`` names what the driver let us lock: ``exposure``, ``white balance``, ``focus``.
    """

    def __init__(
        self,
        device: int | str,
        resolution: tuple[int, int],
        name: str = "usb",
        *,
        clock: Clock = monotonic_us,
        open_device: Callable[[int | str], Capture] = open_v4l2,
    ) -> None:
        self.name = name
        self.locked: frozenset[str] = frozenset()
        self._device = device
        self._resolution = resolution
        self._clock = clock
        self._open_device = open_device
        self._capture: Capture | None = None
        self._guard = FrameGuard(name, clock)

    def settle(self) -> None:
        """Let exposure, white balance and focus adapt, then lock them; raises CameraFault."""
        capture = self._opened()
        self.locked = frozenset()
        capture.set(cv2.CAP_PROP_AUTO_EXPOSURE, _AUTO_EXPOSURE)
        capture.set(cv2.CAP_PROP_AUTO_WB, 1.0)
        capture.set(cv2.CAP_PROP_AUTOFOCUS, 1.0)
        self._wait_until_steady()
        self.locked = frozenset(
            name
            for name, locked in (
                ("exposure", self._lock_exposure(capture)),
                ("white balance", self._lock_white_balance(capture)),
                ("focus", self._lock_focus(capture)),
            )
            if locked
        )

    def capture(self) -> Frame:
        """A picture taken after this call; raises :class:`CameraFault`."""
        frame = self._next(fresh=True)
        return self._guard.checked(frame)

    def close(self) -> None:
        """Give the device back."""
        if self._capture is not None:
            self._capture.release()
            self._capture = None

    def _opened(self) -> Capture:
        if self._capture is not None:
            return self._capture
        capture = self._open_device(self._device)
        if not capture.isOpened():
            capture.release()
            raise CameraFault(
                self.name, CameraTrouble.ABSENT, f"video device {self._device} cannot be opened"
            )
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, float(self._resolution[0]))
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, float(self._resolution[1]))
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1.0)
        self._capture = capture
        return capture

    def _next(self, *, fresh: bool) -> Frame:
        """The next picture; ``fresh`` drops those that waited in the driver's buffers."""
        capture = self._opened()
        for _ in range(_BUFFERED):
            asked = self._clock()
            if not capture.grab():
                raise self._vanished()
            if not fresh or self._clock() - asked > _FRESH_US:
                break
        taken = self._clock()
        got, image = capture.retrieve()
        if not got or image.size == 0:
            raise self._vanished()
        return Frame(_rgb(image), self.name, taken)

    def _vanished(self) -> CameraFault:
        self.close()
        return CameraFault(
            self.name, CameraTrouble.VANISHED, f"video device {self._device} returns no pictures"
        )

    def _wait_until_steady(self) -> None:
        """Look until the mean colour stays the same, or for as long as that may take."""
        deadline = self._clock() + _SETTLE_US
        before: NDArray[np.float64] | None = None
        steady = 0
        while steady < _SETTLED_FRAMES and self._clock() < deadline:
            mean = self._next(fresh=False).image[::8, ::8].mean(axis=(0, 1)) + 1.0
            same = before is not None and bool((np.abs(mean / before - 1) < _SETTLED).all())
            steady = steady + 1 if same else 0
            before = mean

    @staticmethod
    def _lock_exposure(capture: Capture) -> bool:
        exposure = capture.get(cv2.CAP_PROP_EXPOSURE)
        return capture.set(cv2.CAP_PROP_AUTO_EXPOSURE, _MANUAL_EXPOSURE) and capture.set(
            cv2.CAP_PROP_EXPOSURE, exposure
        )

    @staticmethod
    def _lock_white_balance(capture: Capture) -> bool:
        temperature = capture.get(cv2.CAP_PROP_WB_TEMPERATURE)
        if not capture.set(cv2.CAP_PROP_AUTO_WB, 0.0):
            return False
        # Some drivers know no temperature, but keep the gains they have found.
        return temperature <= 0 or capture.set(cv2.CAP_PROP_WB_TEMPERATURE, temperature)

    @staticmethod
    def _lock_focus(capture: Capture) -> bool:
        position = capture.get(cv2.CAP_PROP_FOCUS)
        if not capture.set(cv2.CAP_PROP_AUTOFOCUS, 0.0):
            return False
        return position < 0 or capture.set(cv2.CAP_PROP_FOCUS, position)


def _rgb(image: cv2.typing.MatLike) -> NDArray[np.uint8]:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), dtype=np.uint8)


def open_camera(device: int | str, resolution: tuple[int, int], name: str) -> UsbCamera:
    """The camera at an index or a device file."""
    return UsbCamera(device, resolution, name)
