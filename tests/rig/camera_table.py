"""The behaviour of cameras in each situation: one table for real libraries and for stand-ins.

A *bench* has cameras of one kind. For each row it has a method with the row's name that brings
about the situation: a generator that yields a camera once in the situation and once after it. The
benches of the stand-ins are in ``tests/vision``, that of real USB cameras in
``tests/system/kernel``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from tests.rig.cameras import (
    NO_LIBCAMERA,
    NOT_INSTALLED,
    OTHER_NUMPY,
    TOO_OLD,
    SimulatedSensor,
    shadowed,
)
from vision.cameras.base import CameraError, Clock, monotonic_us
from vision.cameras.picamera2 import Picamera2Camera
from vision.cameras.registry import CameraFinding
from vision.cameras.usb import UsbCamera, open_v4l2

PICTURE, NOTHING = "picture", "nothing"
"""Results of a working camera; the others are codes of faults."""

LOOKS = 3
"""Pictures taken in each situation: a camera needs three to detect that it is frozen."""


Stage = Iterator[Any]


class Bench:
    """Cameras of one kind. Its methods are the situations; those here are the same for both."""

    def check(self) -> CameraFinding:
        """Return the check-up's finding about the camera now."""
        raise NotImplementedError

    def camera(self) -> Any:
        """Return a camera that is not open yet."""
        raise NotImplementedError

    def plugged_in(self, *formats: str, locks: bool = True) -> AbstractContextManager[Path]:
        """Plug a camera in for a while and yield its device. A Raspberry Pi's is always there."""
        return nullcontext(Path())

    def settled(self) -> Any:
        camera = self.camera()
        camera.settle()
        return camera

    def usual(self) -> Stage:
        with self.plugged_in():
            yield (camera := self.camera())
            yield camera

    def settled_twice(self) -> Stage:
        with self.plugged_in():
            yield (camera := self.settled())
            yield camera

    def closed_and_opened(self) -> Stage:
        with self.plugged_in():
            camera = self.settled()
            camera.close()
            camera.close()
            yield camera
            yield camera


class StandIn(Bench):
    """A bench whose ``device`` is a fake."""

    device: Any

    def while_used(self, name: str, value: object) -> Stage:
        with self.plugged_in():
            camera = self.settled()
            with patch.object(self.device, name, value):
                yield camera
            yield camera

    black = partialmethod(while_used, "dark", True)
    frozen = partialmethod(while_used, "frozen", True)


class PiBench(Bench):
    """A Raspberry Pi's camera with its ``sensor``.

    These situations come about in the same way with the library and with its stand-in.
    """

    size = (64, 48)
    clock: Clock = staticmethod(monotonic_us)

    def __init__(self, sensor: SimulatedSensor) -> None:
        self.sensor = sensor
        self.number = 0

    def open(self, number: int) -> Any:
        """Open a camera as the library does."""
        raise NotImplementedError

    def camera(self, number: int = 0, **options: Any) -> Picamera2Camera:
        """Return a camera that is not open yet."""
        self.number = number
        options = {"clock": self.clock, "open_device": self.open} | options
        return Picamera2Camera(number, self.size, "top", **options)

    def no_such_number(self) -> Stage:
        yield self.camera(7)
        yield self.camera(0)

    def with_sensor(self, name: str, value: object) -> Stage:
        with patch.object(self.sensor, name, value):
            yield (camera := self.camera())
        yield camera

    focus_never_ends = partialmethod(with_sensor, "focus_s", 1e6)
    focus_fails = partialmethod(with_sensor, "finds", False)
    focus_not_told = partialmethod(with_sensor, "unsaid", {"AfState"})
    exposure_not_told = partialmethod(with_sensor, "unsaid", {"ExposureTime"})
    does_not_obey = partialmethod(with_sensor, "bends", {"ExposureTime": 99})
    too_dark = partialmethod(with_sensor, "ideal_us", 130)

    def lens_fixed(self) -> Stage:
        yield (camera := self.camera(lens_position=6.5))
        assert self.sensor.state["LensPosition"] == 6.5
        yield camera

    def not_lockable(self) -> Stage:
        controls = self.sensor.camera_controls
        lens = {name: limits for name, limits in controls.items() if name.startswith("Af")}
        return self.with_sensor("camera_controls", lens)

    def darker(self) -> Stage:
        camera = self.settled()
        usual_us = self.sensor.state["ExposureTime"]
        yield camera
        assert self.sensor.state["ExposureTime"] == usual_us
        yield camera

    def without(self, modules: Mapping[str, str]) -> Stage:
        """Yield a camera whose library cannot be loaded, then a usual one."""
        with TemporaryDirectory() as folder, shadowed(modules, Path(folder)):
            yield Picamera2Camera(0, self.size, "top")
        yield self.camera()

    def not_installed(self) -> Stage:
        return self.without(NOT_INSTALLED)

    def no_libcamera(self) -> Stage:
        return self.without(NO_LIBCAMERA)

    def other_numpy(self) -> Stage:
        return self.without(OTHER_NUMPY)

    def too_old(self) -> Stage:
        return self.without(TOO_OLD)


class UsbBench(Bench):
    """A USB webcam; ``asked`` is the device that receives the requests."""

    clock: Clock = staticmethod(monotonic_us)
    open: Callable[[int | str], Any] = staticmethod(open_v4l2)
    asked = Path()

    @property
    def format(self) -> str:
        raise NotImplementedError

    def camera(self, path: Path | None = None, size: tuple[int, int] = (320, 240)) -> UsbCamera:
        """Return a camera that is not open yet."""
        self.asked = path or self.asked
        return UsbCamera(str(self.asked), size, "side", clock=self.clock, open_device=self.open)

    def usual(self) -> Stage:
        with self.plugged_in():
            yield (camera := self.camera())
            assert self.format == "MJPG"
            yield camera

    def only_uncompressed(self) -> Stage:
        with self.plugged_in("YUYV"):
            yield (camera := self.camera())
            assert self.format == "YUYV"
            yield camera

    def other_size(self) -> Stage:
        with self.plugged_in():
            yield (camera := self.camera(size=(1280, 960)))
            yield camera

    def no_such_number(self) -> Stage:
        with self.plugged_in() as path:
            yield self.camera(path.with_name("video77"))
            yield self.camera(path)

    def not_lockable(self) -> Stage:
        with self.plugged_in(locks=False):
            yield (camera := self.camera())
            yield camera


@dataclass(frozen=True, slots=True)
class Row:
    """A situation, and the camera's behaviour in it.

    ``ask``: the method to call. ``result``: a picture, or a fault's code; its message contains
    ``words``. ``unsettled``: the result of :meth:`settle`. ``doctor``: the verdict of the check-up
    before that, if requested, and words of its text or remedy. ``again``: the result afterwards.
    """

    kind: str
    situation: str
    result: str = PICTURE
    words: str = ""
    unsettled: frozenset[str] = frozenset()
    doctor: tuple[str, str] | None = None
    again: str = PICTURE
    ask: str = "capture"

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.situation.replace('_', ' ')}"


def _rows(kind: str, *rows: tuple[Any, ...]) -> list[Row]:
    return [
        Row(kind, *row[:-1], **row[-1]) if isinstance(row[-1], dict) else Row(kind, *row)
        for row in rows
    ]


_LENS = {"ask": "settle", "unsettled": frozenset({"focus-not-found"})}
_LOOSE = frozenset({"exposure-not-locked", "white-balance-not-locked"})
_APT = ("bad", "apt install python3-picamera2")
_CABLE, _PLUG = ("bad", "ribbon cable"), ("bad", "Plug the camera in")

TABLE = (
    *_rows(
        "picamera2",
        ("usual", {"doctor": ("ok", "picamera2 0: ")}),
        ("settled_twice", {"ask": "settle"}),
        ("closed_and_opened",),
        ("in_use", "camera-busy", "resource busy", {"doctor": ("ok", "picamera2 0: ")}),
        ("user_killed",),
        ("no_such_number", "camera-absent", "did not open: No camera number 7", {"doctor": _CABLE}),
        ("absent", "camera-absent", "did not open", {"doctor": _CABLE}),
        ("no_permission", "camera-refused", "Permission denied", {"doctor": ("bad", "-aG video")}),
        ("pulled_out", "camera-vanished", "no picture within 3 s"),
        ("no_memory", "camera-failed", "did not start: Cannot allocate memory"),
        ("no_heap", "camera-failed", "dmaHeap"),
        ("focus_never_ends", _LENS),
        ("focus_fails", _LENS),
        ("focus_not_told", _LENS),
        ("lens_fixed", {"ask": "settle"}),
        ("no_sensor_modes",),
        ("not_lockable", {"ask": "settle", "unsettled": _LOOSE}),
        ("exposure_not_told", "camera-vanished", "KeyError 'ExposureTime'"),
        ("does_not_obey", "camera-stale", "could not be locked", {"ask": "settle"}),
        ("darker", {"ask": "capture_at"}),
        ("too_dark", NOTHING, {"ask": "capture_at", "again": NOTHING}),
        ("black", "camera-black", "is black"),
        ("frozen", "camera-frozen", "one picture 3 times"),
        ("late", "camera-stale", "s old"),
        ("not_installed", "camera-software", "picamera2 is not installed", {"doctor": _APT}),
        ("no_libcamera", "camera-software", "No module named 'libcamera'", {"doctor": _APT}),
        ("other_numpy", "camera-software", "loaded: numpy.dtype size changed", {"doctor": _APT}),
        ("too_old", "camera-software", "0.3.17 or newer is needed", {"doctor": _APT}),
    ),
    *_rows(
        "usb",
        ("usual", {"doctor": ("ok", "/video")}),
        ("settled_twice", {"ask": "settle"}),
        ("closed_and_opened",),
        ("only_uncompressed",),
        ("other_size",),
        ("in_use", "camera-busy", "resource busy", {"doctor": ("ok", "in use")}),
        ("user_killed",),
        ("no_permission", "camera-refused", "Permission denied", {"doctor": ("bad", "-aG video")}),
        ("no_such_number", "camera-absent", "No such file", {"doctor": _PLUG}),
        ("no_video_device", "camera-absent", "is not a video device", {"doctor": _PLUG}),
        ("other_node", "camera-absent", "does not take pictures", {"doctor": _PLUG}),
        ("pulled_out", "camera-vanished", "returns no pictures", {"doctor": _PLUG}),
        # Its number differs while the old one is open; names in /dev/v4l/by-id do not.
        ("plugged_in_again", "camera-vanished", "returns no pictures", {"again": "camera-absent"}),
        ("sends_nothing", "camera-vanished", "returns no pictures", {"doctor": ("ok", "in use")}),
        ("cut_short",),  # OpenCV shows the part of an incomplete JPEG
        (
            "not_lockable",
            {"ask": "settle", "unsettled": _LOOSE, "doctor": ("warning", "does not lock")},
        ),
        ("black", "camera-black", "is black"),
        ("frozen", "camera-frozen", "one picture 3 times"),
    ),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """Result of a row on a bench; ``text`` is the message of a fault."""

    result: str
    text: str
    unsettled: tuple[str, ...]
    doctor: tuple[str, str, str] | None
    again: str
    text_again: str = ""


def observe(row: Row, bench: Bench) -> Seen:
    """Bring about a situation; return the camera's behaviour in it and afterwards."""
    stage: Stage = getattr(bench, row.situation)()
    camera = next(stage)
    doctor = bench.check() if row.doctor else None
    result, text = _ask(camera, row.ask)
    unsettled = tuple(sorted(camera.unsettled))
    after = next(stage)
    again, text_again = _ask(after, row.ask)
    camera.close()
    after.close()
    for _ in stage:
        raise AssertionError("a situation yields twice")
    found = doctor and (doctor.verdict, str(doctor.text), str(doctor.remedy))
    return Seen(result, text, unsettled, found, again, text_again)


def _ask(camera: Any, ask: str) -> tuple[str, str]:
    try:
        if ask == "settle":
            camera.settle()
        if ask == "capture_at":
            return (NOTHING if camera.capture_at(0.4) is None else PICTURE), ""
        for _ in range(LOOKS):
            red, _, blue = camera.capture().image[::8, ::8].reshape(-1, 3).mean(axis=0)
    except CameraError as fault:
        return str(fault.trouble), str(fault)
    return (PICTURE if red > blue else "blue"), ""


def judge(row: Row, seen: Seen) -> dict[str, object]:
    """Return the differences from the table, empty if there are none."""
    verdict, words = row.doctor or ("", "")
    doctor = seen.doctor or ("", "", "")
    is_right = {
        "result": seen.result == row.result,
        "text": row.words in seen.text,
        "unsettled": set(seen.unsettled) == row.unsettled,
        "doctor": doctor[0] == verdict and words in " ".join(doctor),
        "again": seen.again == row.again,
    }
    return {name: getattr(seen, name) for name, right in is_right.items() if not right}
