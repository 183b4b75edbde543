"""The kernel's own answers about a video device, which OpenCV hides.

OpenCV reports only that a device "cannot be opened". This module distinguishes missing devices,
devices in use, devices without permission and devices that take no pictures.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from collections.abc import Callable
from pathlib import Path

from vision.cameras.base import CameraError, CameraTrouble, Unsettled

Ioctl = Callable[[int, int, bytearray], object]

QUERYCAP, REQBUFS, QUERYCTRL = 0x8068_5600, 0xC014_5608, 0xC044_5624
_CAPABILITIES = struct.Struct("16s32s32sIII3I")
_BUFFERS = struct.Struct("IIIIB3s")
_CONTROL = struct.Struct("II32s4iI2I")
"""``v4l2_capability``, ``v4l2_requestbuffers`` and ``v4l2_queryctrl``, as on every Linux."""

_CAPTURE, _CAPTURE_PLANES, _OF_DEVICE = 0x1, 0x1000, 0x8000_0000
_VIDEO_CAPTURE, _MMAP = 1, 1
_DISABLED, _READ_ONLY = 0x1, 0x4

_SWITCHES = {Unsettled.EXPOSURE: 0x009A_0901, Unsettled.WHITE_BALANCE: 0x0098_090C}
"""Controls that switch the automatic off: V4L2_CID_EXPOSURE_AUTO, V4L2_CID_AUTO_WHITE_BALANCE."""


def device_path(device: int | str) -> Path:
    """Return the device of a number, or of a path as it is."""
    return Path(f"/dev/video{device}" if str(device).isdigit() else str(device))


def examine(path: Path, ioctl: Ioctl = fcntl.ioctl) -> frozenset[Unsettled]:
    """Return what the driver of a video device cannot lock; raises :class:`CameraError`.

    Nobody else who has the device open is disturbed.
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
            raise CameraError("", CameraTrouble.ABSENT, f"{path} is no video device") from error
        raise _unusable(path, error) from error
    *_, of_all, of_device, _, _, _ = _CAPABILITIES.unpack(answer)
    able = of_device if of_all & _OF_DEVICE else of_all
    if not able & (_CAPTURE | _CAPTURE_PLANES):
        # A webcam's second node, for one, gives only data about its pictures.
        raise CameraError(
            "", CameraTrouble.ABSENT, f"{path} takes no pictures; see `v4l2-ctl --list-devices`"
        )


def _check_free(path: Path, descriptor: int, ioctl: Ioctl) -> None:
    """Ask for no buffers, which the driver refuses while another program has some."""
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
