"""Stand-ins for camera libraries that keep to what the real ones do, faults included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


class FakeClock:
    """Microseconds that pass only when told to."""

    def __init__(self) -> None:
        self.now_us = 1_000_000

    def __call__(self) -> int:
        return self.now_us

    def advance(self, microseconds: int) -> None:
        self.now_us += microseconds


def scene(level: float, seed: int = 0, size: tuple[int, int] = (64, 48)) -> NDArray[np.uint8]:
    """A picture R G B of a red patch on grey with a sensor's noise; ``level`` is its exposure."""
    width, height = size
    linear = np.full((height, width, 3), 0.2)
    linear[height // 4 : -height // 4, width // 4 : -width // 4] = (0.6, 0.1, 0.05)
    noise = np.random.default_rng(seed).normal(0, 1.5, linear.shape)
    srgb = np.clip(linear * level, 0, 1) ** (1 / 2.2) * 255
    return np.clip(srgb + noise, 0, 255).astype(np.uint8)


class FakeRequest:
    """A completed request; its buffer is overwritten once it was released."""

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


class FakePicamera2:
    """Picamera2 0.3 as far as it is used: controls act three frames after they are set, exposure
    and white balance adapt while automatic, unknown controls are refused, waiting may time out.
    """

    DELAY = 3
    FRAME_US = 33_000

    def __init__(
        self, clock: FakeClock, *, focus: bool = True, ideal_us: int = 20_000, steps: int = 12
    ) -> None:
        self.camera_controls: dict[str, tuple[Any, Any, Any]] = {
            "AeEnable": (False, True, None),
            "AwbEnable": (False, True, None),
            "ExposureTime": (75, 11_766_829, None),
            "AnalogueGain": (1.0, 16.0, None),
            "ColourGains": (0.0, 32.0, None),
        }
        if focus:
            self.camera_controls |= {"AfMode": (0, 2, 0), "LensPosition": (0.0, 32.0, 1.0)}
        self.clock = clock
        self.ideal_us = ideal_us
        self.steps = steps
        self.state: dict[str, Any] = {"AeEnable": True, "AwbEnable": True, "ExposureTime": 1000}
        self.state |= {"AnalogueGain": 4.0, "ColourGains": (1.0, 1.0)}
        self.state |= {"AfMode": 0, "LensPosition": 0.0} if focus else {}
        self.pending: list[tuple[int, dict[str, Any]]] = []
        self.configured: dict[str, Any] | None = None
        self.started = self.closed = False
        self.hangs = self.frozen = False
        self.lag_us = 0
        self.frames = 0
        self.requests: list[FakeRequest] = []
        self.jobs_hanging = 0

    def create_video_configuration(self, main: dict[str, Any]) -> dict[str, Any]:
        return {"use_case": "video", "main": dict(main), "controls": {}}

    def configure(self, camera_config: dict[str, Any]) -> None:
        assert not self.started
        self.configured = camera_config

    def start(self) -> None:
        assert self.configured is not None
        self.started = True

    def set_controls(self, controls: Mapping[str, Any]) -> None:
        for name in controls:
            if name not in self.camera_controls:
                raise RuntimeError(f"Control {name} is not advertised by libcamera")
        self.pending.append((self.frames + self.DELAY, dict(controls)))

    def autofocus_cycle(self, wait: float) -> bool:
        self._frame(wait)
        assert self.state["AfMode"] is not None
        self.state["LensPosition"] = 4.2
        return True

    def capture_metadata(self, wait: float) -> dict[str, Any]:
        return self._frame(wait)

    def capture_request(self, wait: float, *, flush: bool) -> FakeRequest:
        assert flush
        metadata = self._frame(wait)
        light = metadata["ExposureTime"] * metadata["AnalogueGain"] / 40_000
        seed = 0 if self.frozen else self.frames
        image = scene(light, seed, self.configured["main"]["size"])  # type: ignore[index] # set
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
        if self.hangs:
            self.clock.advance(round(wait * 1e6))
            self.jobs_hanging += 1
            raise TimeoutError
        self.clock.advance(self.FRAME_US)
        self.frames += 1
        for due, controls in list(self.pending):
            if due <= self.frames:
                self.state |= controls
                self.pending.remove((due, controls))
        self._adapt()
        names = ("ExposureTime", "AnalogueGain", "ColourGains", "LensPosition")
        metadata = {name: self.state[name] for name in names if name in self.state}
        # Sensors time in lines: what is set is not quite what is got.
        metadata["ExposureTime"] = int(metadata["ExposureTime"] * 0.998)
        return metadata | {"SensorTimestamp": (self.clock.now_us - self.lag_us) * 1000}

    def _adapt(self) -> None:
        share = min(1.0, self.frames / self.steps)
        if self.state["AeEnable"]:
            self.state["ExposureTime"] = round(1000 + share * (self.ideal_us - 1000))
            self.state["AnalogueGain"] = 4.0 - 2.0 * share
        if self.state["AwbEnable"]:
            self.state["ColourGains"] = (1.0 + share, 1.0 + 0.5 * share)


class FakeV4l2:
    """cv2.VideoCapture on a V4L2 device: buffers old pictures, knows only some properties."""

    FRAME_US = 33_000

    def __init__(self, clock: FakeClock, *, unknown: frozenset[int] = frozenset()) -> None:
        self.clock = clock
        self.unknown = unknown
        self.properties: dict[int, float] = {
            cv2.CAP_PROP_AUTO_EXPOSURE: 3.0,
            cv2.CAP_PROP_EXPOSURE: 20.0,
            cv2.CAP_PROP_AUTO_WB: 1.0,
            cv2.CAP_PROP_WB_TEMPERATURE: 3000.0,
            cv2.CAP_PROP_AUTOFOCUS: 1.0,
            cv2.CAP_PROP_FOCUS: 30.0,
            cv2.CAP_PROP_BUFFERSIZE: 4.0,
        }
        self.opened = True
        self.released = self.gone = self.dark = self.frozen = False
        self.buffered = 0
        self.frames = 0

    def isOpened(self) -> bool:
        return self.opened

    def grab(self) -> bool:
        if self.gone:
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

    def retrieve(self) -> tuple[bool, NDArray[np.uint8]]:
        level = 0.0 if self.dark else self.properties[cv2.CAP_PROP_EXPOSURE] / 100
        image = scene(level, 0 if self.frozen else self.frames)
        return True, np.ascontiguousarray(image[..., ::-1])

    def get(self, prop: int, /) -> float:
        return -1.0 if prop in self.unknown else self.properties.get(prop, 0.0)

    def set(self, prop: int, value: float, /) -> bool:
        if prop in self.unknown:
            return False
        self.properties[prop] = value
        return True

    def release(self) -> None:
        self.released = True
