"""USB cameras (V4L2) through OpenCV: let them settle, then lock what the driver allows.

OpenCV reports only that a device "cannot be opened". :func:`examine` asks the kernel and
distinguishes devices that are missing, in use, not permitted or take no pictures.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import math
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from solver.errors import root_sentence
from vision.cameras.base import (
    CameraError,
    CameraGuard,
    CameraTrouble,
    Clock,
    Unsettled,
    monotonic_us,
)
from vision.cameras.registry import CameraFinding
from vision.frame import Floats, Frame
from vision.reasons import Reason

log = logging.getLogger("cubistd")

T = TypeVar("T")

Ioctl = Callable[[int, int, bytearray], object]

QUERYCAP, REQBUFS, QUERYCTRL = 0x8068_5600, 0xC014_5608, 0xC044_5624
"""Requests to the kernel: direction, size of the structure, number."""

_CAPABILITIES = struct.Struct("16s32s32sIII3I")
_BUFFERS = struct.Struct("IIIIB3s")
_CONTROL = struct.Struct("II32s4iI2I")
"""``v4l2_capability``, ``v4l2_requestbuffers`` and ``v4l2_queryctrl``, as on every Linux."""

_CAPTURE, _CAPTURE_PLANES, _OF_DEVICE = 0x1, 0x1000, 0x8000_0000
_VIDEO_CAPTURE, _MMAP = 1, 1
_DISABLED, _READ_ONLY = 0x1, 0x4
"""Numbers and flags of the kernel's ``videodev2.h``."""

_SWITCHES = {Unsettled.EXPOSURE: 0x009A_0901, Unsettled.WHITE_BALANCE: 0x0098_090C}
"""Controls for automatic mode: V4L2_CID_EXPOSURE_AUTO, V4L2_CID_AUTO_WHITE_BALANCE."""


def device_path(device: int | str) -> Path:
    """Return the path of a device given by number or path."""
    return Path(f"/dev/video{device}" if str(device).isdigit() else str(device))


def examine(path: Path, ioctl: Ioctl = fcntl.ioctl) -> frozenset[Unsettled]:
    """Return the settings that a video device's driver cannot lock. Raise :class:`CameraError`.

    Does not disturb other programs that have the device open.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        _check_captures(path, descriptor, ioctl)
        _check_free(path, descriptor, ioctl)
        return frozenset(
            what for what, number in _SWITCHES.items() if not _has(descriptor, number, ioctl)
        )
    finally:
        os.close(descriptor)


def _check_captures(path: Path, descriptor: int, ioctl: Ioctl) -> None:
    answer = bytearray(_CAPABILITIES.size)
    try:
        ioctl(descriptor, QUERYCAP, answer)
    except OSError as error:
        if error.errno == errno.ENOTTY:
            raise CameraError("", CameraTrouble.ABSENT, f"{path} is not a video device") from error
        raise _unusable(path, error) from error
    *_, of_all, of_device, _, _, _ = _CAPABILITIES.unpack(answer)
    able = of_device if of_all & _OF_DEVICE else of_all
    if not able & (_CAPTURE | _CAPTURE_PLANES):
        # A webcam's second node, for example, has only metadata.
        raise CameraError(
            "",
            CameraTrouble.ABSENT,
            f"{path} does not take pictures; see `v4l2-ctl --list-devices`",
        )


def _check_free(path: Path, descriptor: int, ioctl: Ioctl) -> None:
    """Request zero buffers. The driver refuses this while another program has some."""
    try:
        ioctl(descriptor, REQBUFS, bytearray(_BUFFERS.pack(0, _VIDEO_CAPTURE, _MMAP, 0, 0, b"")))
    except OSError as error:
        if error.errno in {errno.EBUSY, errno.ENODEV}:
            raise _unusable(path, error) from error


def _has(descriptor: int, control: int, ioctl: Ioctl) -> bool:
    answer = bytearray(_CONTROL.size)
    struct.pack_into("I", answer, 0, control)
    with contextlib.suppress(OSError):
        ioctl(descriptor, QUERYCTRL, answer)
        return not _CONTROL.unpack(answer)[-3] & (_DISABLED | _READ_ONLY)
    return False


_TROUBLES = {
    errno.EBUSY: CameraTrouble.BUSY,
    errno.EACCES: CameraTrouble.REFUSED,
    errno.EPERM: CameraTrouble.REFUSED,
}


def _unusable(path: Path, error: OSError) -> CameraError:
    trouble = _TROUBLES.get(error.errno or 0, CameraTrouble.ABSENT)
    return CameraError("", trouble, f"video device {path}: {error.strerror or error}")


_AUTO_EXPOSURE, _MANUAL_EXPOSURE = 3.0, 1.0
"""V4L2_EXPOSURE_APERTURE_PRIORITY and V4L2_EXPOSURE_MANUAL, which OpenCV passes through."""

_LOCKS = {
    Unsettled.EXPOSURE: (
        cv2.CAP_PROP_AUTO_EXPOSURE,
        _MANUAL_EXPOSURE,
        cv2.CAP_PROP_EXPOSURE,
        -math.inf,
    ),
    Unsettled.WHITE_BALANCE: (cv2.CAP_PROP_AUTO_WB, 0.0, cv2.CAP_PROP_WB_TEMPERATURE, 1.0),
    Unsettled.FOCUS: (cv2.CAP_PROP_AUTOFOCUS, 0.0, cv2.CAP_PROP_FOCUS, 0.0),
}
"""The automatic mode, the value that turns it off, the setting it controls and that setting's
minimum. Below the minimum the driver does not report the setting, but still keeps it.
"""

_SETTLED = 0.015
"""Relative change of the mean colour between pictures below which it counts as steady."""

_SETTLED_FRAMES = 4
_SETTLE_US = 4_000_000
_FRESH_US = 4_000
"""Duration of a grab above which it waited for the sensor. A shorter one emptied a buffer."""

_BUFFERED = 6
_DAMAGED = 3
"""Attempts to decode a picture: a webcam's first JPEG is often incomplete."""

_MJPG = float(cv2.VideoWriter.fourcc(*"MJPG"))
"""Format in which webcams send 30 pictures a second; uncompressed they reach 5 to 10 at 960x720. A
driver without this format keeps its own.
"""


class _Capture(Protocol):
    """The part of ``cv2.VideoCapture`` that is used here.

    Pictures are B G R; ``set`` returns False if the driver does not know the property.
    """

    def grab(self) -> bool: ...
    def retrieve(self) -> tuple[bool, cv2.typing.MatLike]: ...
    def get(self, propId: int, /) -> float: ...  # noqa: N803  # OpenCV's name
    def set(self, propId: int, value: float, /) -> bool: ...  # noqa: N803  # OpenCV's name
    def release(self) -> None: ...


def open_v4l2(device: int | str) -> _Capture:
    """Open a V4L2 device by number or path. Raise :class:`CameraError`."""
    path = device_path(device)
    examine(path)
    capture = cv2.VideoCapture(str(path), cv2.CAP_V4L2)
    if not capture.isOpened():
        capture.release()
        raise CameraError(
            "", CameraTrouble.FAILED, f"video device {path}: OpenCV finds no format in it"
        )
    return capture


class UsbCamera:
    """A V4L2 camera. ``device`` is its number or path, ``resolution`` width and height in pixels.

    ``unsettled``: settings that the driver did not lock.
    """

    def __init__(
        self,
        device: int | str,
        resolution: tuple[int, int],
        name: str = "usb",
        *,
        clock: Clock = monotonic_us,
        open_device: Callable[[int | str], _Capture] = open_v4l2,
    ) -> None:
        self.name = name
        self.unsettled: frozenset[Unsettled] = frozenset()
        self._device = device
        self._resolution = resolution
        self._clock = clock
        self._open_device = open_device
        self._capture: _Capture | None = None
        self._focuses = False
        self._guard = CameraGuard(name, clock)

    def settle(self) -> None:
        """Let exposure, white balance and focus adapt, then lock them. Raise CameraError."""
        capture = self._open()
        self._call(lambda: self._adapt(capture))
        self._wait_until_steady()
        self.unsettled = self._call(lambda: self._lock(capture))

    def capture(self) -> Frame:
        """Return a picture taken after this call. Raise :class:`CameraError`."""
        frame = self._next(fresh=True)
        return self._guard.check(frame)

    def close(self) -> None:
        """Release the device."""
        capture, self._capture = self._capture, None
        if capture is not None:
            try:
                capture.release()
            except Exception as error:  # nothing else can be done
                log.warning("camera %s: closing it: %s", self.name, root_sentence(error))

    def _open(self) -> _Capture:
        if self._capture is not None:
            return self._capture
        try:
            capture = self._open_device(self._device)
        except CameraError as error:
            raise CameraError(self.name, error.trouble, str(error)) from error
        except Exception as error:
            told = f"video device {self._device} cannot be opened: {root_sentence(error)}"
            raise CameraError(self.name, CameraTrouble.FAILED, told) from error
        self._capture = capture
        self._call(lambda: self._prepare(capture))
        return capture

    def _prepare(self, capture: _Capture) -> None:
        capture.set(cv2.CAP_PROP_FOURCC, _MJPG)
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, float(self._resolution[0]))
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, float(self._resolution[1]))
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1.0)

    def _call(self, ask: Callable[[], T]) -> T:
        """Call the library. On any exception, close the camera and raise CameraError."""
        try:
            return ask()
        except CameraError:
            raise
        except Exception as error:
            raise self._close_as_vanished(f": {root_sentence(error)}") from error

    def _next(self, *, fresh: bool) -> Frame:
        """Return the next picture; ``fresh`` drops those in the driver's buffers."""
        capture = self._open()
        return self._call(lambda: self._take(capture, fresh=fresh))

    def _take(self, capture: _Capture, *, fresh: bool) -> Frame:
        for _ in range(_DAMAGED):
            self._grab(capture, fresh=fresh)
            taken = self._clock()
            got, image = capture.retrieve()
            if got and image.size:
                return Frame(_rgb(_restore_rows(image, capture)), self.name, taken)
        raise self._close_as_vanished()

    def _grab(self, capture: _Capture, *, fresh: bool) -> None:
        for _ in range(_BUFFERED):
            asked = self._clock()
            if not capture.grab():
                raise self._close_as_vanished()
            if not fresh or self._clock() - asked > _FRESH_US:
                break

    def _close_as_vanished(self, why: str = "") -> CameraError:
        self.close()
        told = f"video device {self._device} returns no pictures{why}"
        return CameraError(self.name, CameraTrouble.VANISHED, told)

    def _wait_until_steady(self) -> None:
        """Take pictures until the mean colour is steady, for at most ``_SETTLE_US``."""
        deadline = self._clock() + _SETTLE_US
        before: Floats | None = None
        steady = 0
        while steady < _SETTLED_FRAMES and self._clock() < deadline:
            mean = self._next(fresh=False).image[::8, ::8].mean(axis=(0, 1)) + 1.0
            same = before is not None and bool((np.abs(mean / before - 1) < _SETTLED).all())
            steady = steady + 1 if same else 0
            before = mean

    def _adapt(self, capture: _Capture) -> None:
        capture.set(cv2.CAP_PROP_AUTO_EXPOSURE, _AUTO_EXPOSURE)
        capture.set(cv2.CAP_PROP_AUTO_WB, 1.0)
        self._focuses = capture.set(cv2.CAP_PROP_AUTOFOCUS, 1.0)

    def _lock(self, capture: _Capture) -> frozenset[Unsettled]:
        """Lock the current settings. Return those that the driver refused."""
        refused = set()
        for what, (automatic, manual, setting, least) in _LOCKS.items():
            if what is Unsettled.FOCUS and not self._focuses:
                continue  # a lens that the driver does not move is as good as locked
            found = capture.get(setting)
            if not capture.set(automatic, manual) or (
                found >= least and not capture.set(setting, found)
            ):
                refused.add(what)
        return frozenset(refused)


def _restore_rows(image: cv2.typing.MatLike, capture: _Capture) -> cv2.typing.MatLike:
    """Return the picture, reshaped if OpenCV left it in one row.

    OpenCV 4.11 does that if the driver delivers B G R itself: opencv/opencv#27166.
    """
    sides = cv2.CAP_PROP_FRAME_HEIGHT, cv2.CAP_PROP_FRAME_WIDTH
    height, width = (round(capture.get(side)) for side in sides)
    flat = len(image) == 1 and image.size == height * width * 3
    return image.reshape(height, width, 3) if flat else image


def _rgb(image: cv2.typing.MatLike) -> NDArray[np.uint8]:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), dtype=np.uint8)


def open_camera(device: int | str, resolution: tuple[int, int], name: str) -> UsbCamera:
    """Return the camera with this index or device file."""
    return UsbCamera(device, resolution, name)


_REMEDIES: Mapping[CameraTrouble, str] = {
    CameraTrouble.ABSENT: Reason.of("plug-camera-in"),
    CameraTrouble.REFUSED: Reason.of("join-video"),
}


def check_camera(
    device: int | str, examine: Callable[[Path], frozenset[Unsettled]] = examine
) -> CameraFinding:
    """Check that a device takes pictures and its driver can lock the settings."""
    path = device_path(device)
    try:
        loose = examine(path)
    except CameraError as error:
        if error.trouble is CameraTrouble.BUSY:
            return CameraFinding("ok", Reason.of("camera-in-use", device=path))
        return CameraFinding("bad", str(error), _REMEDIES.get(error.trouble, ""), error.code)
    if loose:
        names = " and ".join(
            what.removesuffix("-not-locked").replace("-", " ") for what in sorted(loose)
        )
        text = Reason.of("camera-unlocked", device=path, settings=names)
        return CameraFinding("warning", text, Reason.of("keep-light-even"))
    return CameraFinding("ok", str(path))
