"""A camera that shows painted pictures, and stand-ins for camera libraries with their faults."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cameras import usb
from vision.cameras.base import Unsettled
from vision.frame import Frame, Image


class FakeClock:
    """Microseconds that pass only on command."""

    def __init__(self) -> None:
        self.now_us = 1_000_000

    def __call__(self) -> int:
        return self.now_us

    def advance(self, microseconds: int) -> None:
        self.now_us += microseconds


def scene(level: float, seed: int = 0, size: tuple[int, int] = (64, 48)) -> NDArray[np.uint8]:
    """Return a picture R G B of a red patch on grey with noise; ``level`` is its exposure."""
    width, height = size
    linear = np.full((height, width, 3), 0.2)
    linear[height // 4 : -height // 4, width // 4 : -width // 4] = (0.6, 0.1, 0.05)
    noise = np.random.default_rng(seed).normal(0, 1.5, linear.shape)
    srgb = np.clip(linear * level, 0, 1) ** (1 / 2.2) * 255
    return np.clip(srgb + noise, 0, 255).astype(np.uint8)


class SceneCamera:
    """A camera that shows what ``paint(time_us, factor)`` draws; ``factor`` is the exposure.

    It takes a picture every ``period_us``. ``taken`` are its frames, ``factors`` the exposures.
    """

    live = True

    def __init__(
        self,
        paint: Callable[[int, float], Image],
        name: str = "top",
        *,
        period_us: int = 33_333,
        unsettled: frozenset[Unsettled] = frozenset(),
    ) -> None:
        self.name, self.unsettled = name, unsettled
        self.taken: list[Frame] = []
        self.factors: list[float] = []
        self._paint, self._period_us = paint, period_us

    def settle(self) -> None:
        """Do nothing: the light does not change."""

    def capture(self) -> Frame:
        return self.capture_at(1.0)

    def capture_at(self, factor: float) -> Frame:
        time_us = len(self.taken) * self._period_us
        self.factors.append(factor)
        self.taken.append(Frame(self._paint(time_us, factor), self.name, time_us))
        return self.taken[-1]

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class _Library:
    def fail(self, call: str, error: Exception) -> None:
        """Make this method raise from now on, without effect."""

        def fails(*_: object, **__: object) -> None:
            raise error

        setattr(self, call, fails)


NOT_INSTALLED, NO_LIBCAMERA, OTHER_NUMPY, TOO_OLD = (
    {"picamera2": "raise ImportError(\"No module named 'picamera2'\", name='picamera2')"},
    {"libcamera": "raise ImportError(\"No module named 'libcamera'\", name='libcamera')"},
    {"simplejpeg": "raise ValueError('numpy.dtype size changed')"},
    {"picamera2": "class Picamera2:\n    def __init__(self, camera_num=0, tuning=None): ..."},
)
"""Modules for the cases in which picamera2 cannot be used."""


@contextmanager
def shadowed(modules: Mapping[str, str], folder: Path) -> Iterator[None]:
    """Make Python find these modules before all others, also in programs that it starts."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    with (
        patch.dict(sys.modules),
        patch.object(sys, "path", [str(folder), *sys.path]),
        patch.dict(os.environ, PYTHONPATH=path),
    ):
        for name in list(sys.modules):
            if name.split(".")[0] in {"picamera2", "libcamera", "simplejpeg"}:
                del sys.modules[name]
        yield


class FakeRequest:
    """A completed request whose buffer is overwritten once it is released."""

    def __init__(self, image: NDArray[np.uint8], metadata: dict[str, Any]) -> None:
        self._image = image
        self._metadata = metadata
        self.released = False

    def make_array(self, name: str) -> NDArray[np.uint8]:
        assert name == "main"
        assert not self.released
        return self._image

    def get_metadata(self) -> dict[str, Any]:
        assert not self.released
        return dict(self._metadata)

    def release(self) -> None:
        assert not self.released, "released twice"
        self.released = True
        self._image[:] = 0


Mode = tuple[tuple[int, int], tuple[int, int, int, int], int]

SENSORS: dict[str, list[Mode]] = {
    "imx219": [
        *(
            (size, crop, bits)
            for bits in (8, 10)
            for size, crop in (
                ((640, 480), (1000, 752, 1280, 960)),
                ((1640, 1232), (0, 0, 3280, 2464)),
                ((1920, 1080), (680, 692, 1920, 1080)),
                ((3280, 2464), (0, 0, 3280, 2464)),
            )
        )
    ],
    "imx708": [
        ((1536, 864), (768, 432, 3072, 1728), 10),
        ((2304, 1296), (0, 0, 4608, 2592), 10),
        ((4608, 2592), (0, 0, 4608, 2592), 10),
    ],
}
"""Modes of Camera Modules 2 and 3: size, crop on the sensor, bits per pixel."""


_GONE = RuntimeError("Camera frontend has timed out!")
_NO_MEMORY = OSError(12, "Cannot allocate memory")

PICAMERA2_RAISES: dict[str, tuple[Exception, ...]] = {
    "create_video_configuration": (RuntimeError("Camera not opened"),),
    "configure": (_NO_MEMORY, RuntimeError("Failed to configure camera: Invalid argument")),
    "start": (RuntimeError("Failed to start camera: Broken pipe"), _NO_MEMORY),
    "set_controls": (RuntimeError("Control AfTrigger is not advertised by libcamera"),),
    "autofocus_cycle": (_GONE,),
    "capture_metadata": (TimeoutError(), _GONE, CancelledError("cancelled"), KeyError("Lux")),
    "capture_request": (TimeoutError(), _GONE, KeyError("ExposureTime"), OSError(5, "I/O error")),
    "cancel_all_and_flush": (_GONE,),
    "stop": (RuntimeError("Failed to stop camera: No such device"),),
    "close": (RuntimeError("Failed to release camera: Device or resource busy"),),
}
"""Errors that methods of Picamera2 have raised on some computer."""


_IDLE, _SCANNING, _FOCUSED, _FAILED = range(4)
"""Values of libcamera's ``AfStateEnum``."""

AF_AUTO, AF_START, AF_CANCEL = 1, 0, 1
"""Values of libcamera's ``AfModeEnum`` and ``AfTriggerEnum``."""


class SimulatedSensor:
    """A camera module's controls, and the metadata of its pictures.

    Controls act three pictures after they are set. Exposure and white balance adapt while they are
    automatic; exposure is a whole number of lines. ``focus_s``: time that the lens searches;
    ``finds``: whether it ends in focus; without ``focus`` the lens is fixed. ``unsaid``: keys
    missing from the metadata. ``bends``: values that it uses instead of others.
    """

    DELAY = 3
    FRAME_US = 33_000
    LINE_US = 20

    def __init__(self, *, focus: bool = True, focus_s: float = 1.0, ideal_us: int = 20_000) -> None:
        self.camera_controls: dict[str, tuple[Any, Any, Any]] = {
            "AeEnable": (False, True, None),
            "AwbEnable": (False, True, None),
            "ExposureTime": (75, 11_766_829, None),
            "AnalogueGain": (1.0, 16.0, None),
            "ColourGains": (0.0, 32.0, None),
        }
        if focus:
            self.camera_controls |= {"AfMode": (0, 2, 0), "LensPosition": (0.0, 32.0, 1.0)}
            self.camera_controls |= {"AfTrigger": (0, 1, 0)}
        self.focus_s, self.finds = focus_s, True
        self.ideal_us = ideal_us
        self.state: dict[str, Any] = {"AeEnable": True, "AwbEnable": True, "ExposureTime": 1000}
        self.state |= {"AnalogueGain": 4.0, "ColourGains": (1.0, 1.0)}
        self.state |= {"AfMode": 0, "LensPosition": 0.0} if focus else {}
        self.focusing = _IDLE
        self.pending: list[tuple[int, dict[str, Any]]] = []
        self.unsaid: set[str] = set()
        self.bends: dict[str, Any] = {}
        self.frames = 0
        self._looks_until = 0

    def take_controls(self, controls: Mapping[str, Any]) -> None:
        """Let controls act in three pictures. Reject all if one is unknown, as picamera2 does."""
        for name in controls:
            if name not in self.camera_controls:
                raise RuntimeError(f"Control {name} is not advertised by libcamera")
        heard = {name: self.bends.get(name, value) for name, value in controls.items()}
        self.pending.append((self.frames + self.DELAY, heard))

    def expose(self) -> dict[str, Any]:
        self.frames += 1
        for due, controls in list(self.pending):
            if due <= self.frames:
                self._act(controls)
                self.pending.remove((due, controls))
        self._adapt()
        names = ("ExposureTime", "AnalogueGain", "ColourGains", "LensPosition")
        metadata = {name: self.state[name] for name in names if name in self.state}
        metadata |= {"AfState": self.focusing} if "AfMode" in self.state else {}
        # Sensors time in lines, so the actual value differs slightly from the one set.
        metadata["ExposureTime"] = int(metadata["ExposureTime"]) // self.LINE_US * self.LINE_US
        return {name: value for name, value in metadata.items() if name not in self.unsaid}

    def _act(self, controls: dict[str, Any]) -> None:
        trigger = controls.get("AfTrigger")
        self.state |= {name: value for name, value in controls.items() if name != "AfTrigger"}
        if controls.get("AfMode", AF_AUTO) != AF_AUTO or trigger == AF_CANCEL:
            self.focusing = _IDLE
        elif trigger == AF_START and self.state["AfMode"] == AF_AUTO:
            self.focusing = _SCANNING
            self._looks_until = self.frames + round(self.focus_s * 1e6 / self.FRAME_US)

    def _adapt(self) -> None:
        share = min(1.0, self.frames / 12)
        if self.state["AeEnable"]:
            self.state["ExposureTime"] = round(1000 + share * (self.ideal_us - 1000))
            self.state["AnalogueGain"] = 4.0 - 2.0 * share
        if self.state["AwbEnable"]:
            self.state["ColourGains"] = (1.0 + share, 1.0 + 0.5 * share)
        if self.focusing == _SCANNING and self.frames >= self._looks_until:
            self.focusing = _FOCUSED if self.finds else _FAILED
            if self.finds:
                self.state["LensPosition"] = 4.2


class FakePicamera2(_Library, SimulatedSensor):
    """Picamera2 0.3 as far as Cubist uses it.

    A job without an end blocks the queue of jobs, waiting may time out, and a sensor mode is chosen
    as in the original.
    """

    def __init__(self, clock: FakeClock, *, sensor: str = "imx219", **options: Any) -> None:
        super().__init__(**options)
        self.clock = clock
        self.modes = SENSORS[sensor]
        self.mode: Mode | None = None
        self.configured: dict[str, Any] = {}
        self.started = self.closed = False
        self.gone = self.dark = self.frozen = False
        self.tells_modes = True
        self.lag_us = 0
        self.requests: list[FakeRequest] = []
        self.jobs_hanging = 0

    @property
    def sensor_modes(self) -> list[dict[str, Any]]:
        assert not self.started, "it configures the camera to find them out"
        if not self.tells_modes:
            return [{"format": "BGR888"}]
        return [
            {"size": size, "crop_limits": crop, "bit_depth": bits, "fps": 30.0}
            for size, crop, bits in self.modes
        ]

    @property
    def seen_share(self) -> float:
        """The fraction of the sensor's width that pictures show."""
        return self.mode[1][2] / max(crop[2] for _, crop, _ in self.modes)

    def create_video_configuration(
        self, main: dict[str, Any], *, sensor: dict[str, Any]
    ) -> dict[str, Any]:
        return {"use_case": "video", "main": dict(main), "controls": {}, "sensor": dict(sensor)}

    def configure(self, camera_config: dict[str, Any]) -> None:
        assert not self.started
        self.configured = camera_config
        wanted = camera_config["sensor"].get("output_size", camera_config["main"]["size"])
        most_bits = max(bits for _, _, bits in self.modes)
        self.mode = min(self.modes, key=lambda mode: self._score(mode, wanted, most_bits))

    @staticmethod
    def _score(mode: Mode, wanted: tuple[int, int], bits: int) -> float:
        """Return the score of Picamera2._make_libcamera_config: the lowest wins."""

        def apart(desired: float, actual: float) -> float:
            return (actual - desired) / 4 if actual > desired else (desired - actual) * 2

        size = mode[0]
        ratio = 1500 * apart(wanted[0] / wanted[1], size[0] / size[1])
        return sum(map(apart, wanted, size)) + ratio + 500 * abs(bits - mode[2])

    def start(self) -> None:
        assert self.configured
        self.started = True

    def set_controls(self, controls: Mapping[str, Any]) -> None:
        self.take_controls(controls)

    def autofocus_cycle(self, wait: float) -> bool:
        self.take_controls({"AfMode": AF_AUTO, "AfTrigger": AF_START})
        until_us = self.clock.now_us + round(wait * 1e6)
        for awaited in ({_SCANNING}, {_FOCUSED, _FAILED, _IDLE}):
            state = None
            while state not in awaited:
                if self.clock.now_us >= until_us:
                    self.jobs_hanging += 1
                    raise TimeoutError
                state = self._frame(wait)["AfState"]
        return state == _FOCUSED

    def capture_metadata(self, wait: float) -> dict[str, Any]:
        return self._frame(wait)

    def capture_request(self, wait: float, *, flush: bool) -> FakeRequest:
        assert flush
        metadata = self._frame(wait)
        if "ExposureTime" in self.unsaid:
            raise KeyError("ExposureTime")  # it computes when the exposure began
        light = self.state["ExposureTime"] * self.state["AnalogueGain"] / 40_000 * (not self.dark)
        seed = 0 if self.frozen else self.frames
        image = scene(light, seed, self.configured["main"]["size"])
        self.requests.append(FakeRequest(image, metadata))
        return self.requests[-1]

    def cancel_all_and_flush(self) -> None:
        self.jobs_hanging = 0

    def stop(self) -> None:
        assert not self.jobs_hanging, "the real one would wait for ever"
        self.started = False

    def close(self) -> None:
        self.closed = True

    def _frame(self, wait: float) -> dict[str, Any]:
        assert self.started
        if self.gone or self.jobs_hanging:
            self.clock.advance(round(wait * 1e6))
            self.jobs_hanging += 1
            raise TimeoutError
        self.clock.advance(self.FRAME_US)
        return self.expose() | {"SensorTimestamp": (self.clock.now_us - self.lag_us) * 1000}


_OPENCV = (
    cv2.error("OpenCV(4.11.0) error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'"),
    cv2.error("Unknown C++ exception from OpenCV code"),
    MemoryError("std::bad_alloc"),
)

V4L2_RAISES: dict[str, tuple[Exception, ...]] = dict.fromkeys(
    ("grab", "retrieve", "get", "set", "release"), _OPENCV
)
"""Errors that methods of cv2.VideoCapture have raised on some computer."""


class FakeV4l2(_Library):
    """cv2.VideoCapture on a V4L2 device with some ``formats``, which buffers old pictures."""

    FRAME_US = 33_000
    YUYV, MJPG = (float(cv2.VideoWriter.fourcc(*name)) for name in ("YUYV", "MJPG"))

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.properties: dict[int, float] = {
            cv2.CAP_PROP_AUTO_EXPOSURE: 3.0,
            cv2.CAP_PROP_EXPOSURE: 20.0,
            cv2.CAP_PROP_AUTO_WB: 1.0,
            cv2.CAP_PROP_WB_TEMPERATURE: 3000.0,
            cv2.CAP_PROP_AUTOFOCUS: 1.0,
            cv2.CAP_PROP_FOCUS: 30.0,
            cv2.CAP_PROP_BUFFERSIZE: 4.0,
            cv2.CAP_PROP_FRAME_WIDTH: 64.0,
            cv2.CAP_PROP_FRAME_HEIGHT: 48.0,
        }
        self.formats = {self.YUYV, self.MJPG}
        self.format = self.YUYV
        self.closed = self.gone = self.dark = self.frozen = False
        self.cut_short = False
        self.buffered = 0
        self.frames = 0
        self.damaged = 0

    def grab(self) -> bool:
        assert not self.closed
        if self.gone:
            self.clock.advance(10_000_000)  # OpenCV's timeout
            return False
        if self.buffered:
            self.buffered -= 1
            self.clock.advance(100)
        else:
            self.clock.advance(self.FRAME_US)
        self.frames += 1
        if self.properties.get(cv2.CAP_PROP_AUTO_EXPOSURE) == 3.0:
            exposure = self.properties[cv2.CAP_PROP_EXPOSURE]
            self.properties[cv2.CAP_PROP_EXPOSURE] = exposure + 0.4 * (120.0 - exposure)
        return True

    def retrieve(self) -> tuple[bool, NDArray[np.uint8] | None]:
        if self.damaged:
            self.damaged -= 1
            return False, None
        exposure = self.properties.get(cv2.CAP_PROP_EXPOSURE, 100.0)
        level = 0.0 if self.dark else exposure / 100
        image = scene(level, 0 if self.frozen else self.frames)
        if self.cut_short:
            image[len(image) * 2 // 3 :] = 128
        pixels = np.ascontiguousarray(image[..., ::-1])
        return True, pixels

    def get(self, prop: int, /) -> float:
        return self.properties.get(prop, 0.0)

    def set(self, prop: int, value: float, /) -> bool:
        if prop == cv2.CAP_PROP_FOURCC:
            if value in self.formats:
                self.format = value
            return value in self.formats
        if prop not in self.properties:
            return False
        self.properties[prop] = value
        return True

    def release(self) -> None:
        self.closed = True


class FakeDriver:
    """A video device's answers to ioctl: capabilities, controls, a failing request."""

    def __init__(
        self, able: int = 0x1, controls: frozenset[int] | None = None, **fails: int
    ) -> None:
        self.able, self.controls = able, controls
        self.fails = {getattr(usb, name): number for name, number in fails.items()}

    def __call__(self, descriptor: int, request: int, answer: bytearray) -> None:
        if request in self.fails:
            raise OSError(self.fails[request], os.strerror(self.fails[request]))
        if request == usb.QUERYCAP:  # capabilities of the whole device, then of this node
            struct.pack_into("II", answer, 84, 0x8000_0000 | 0x1, self.able)
        if request == usb.QUERYCTRL and self.controls is not None:
            (control,) = struct.unpack_from("I", answer)
            if control not in self.controls:
                raise OSError(errno.EINVAL, "Invalid argument")
